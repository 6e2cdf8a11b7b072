package lwp

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/linear"
	"cancha/ml/metric"

	"gonum.org/v1/gonum/stat"
)

// average answers by the rates of remaining goals in the middle, on the logarithmic scale, between Poisson regressions and a
// forest: a logarithmic opinion pool (Genest and Zidek 1986). One half of the regressions' say is Poisson + xG, the other that
// of one regression for each measure of strength. The forest learns by how many times a side outscores what they promise, so
// it is asked only for what they miss.
type average struct {
	plain    *linear.Poisson
	poissons [strengths]*linear.Poisson
	forest   *forest.Regressor
	weight   float64 // of the forest, from 0 to 1
}

// plainShare is what Poisson + xG has of the regressions' say. Its Elo suits teams that are known for long, the strengths suit
// new ones. At four cuts inside the matches before July 2020 the strengths alone gain .0179 [.0061, .0297] of log loss against
// Poisson + xG and lose nothing at any; half and half gains .0143 [.0084, .0202]: four fifths of it with half of the scatter,
// which is what other teams in later matches ask for.
const plainShare = 0.5

// leastRatio is the least ratio of goals that a tree is believed.
const leastRatio = 1e-3

// promised returns the mean of the regressions' rates for both sides. Row is room for one row, and returned for the next time.
func (a *average) promised(row []float32, s *State, p Prior) (home, away float64, room []float32) {
	var logs [2]float64
	for side, v := range sides(views(s, p)) {
		row = appendPublishedRow(row[:0], v)
		logs[side] = plainShare * math.Log(a.plain.Rate(row, v.logLeft()))
	}
	for measure, fit := range a.poissons {
		q := p
		q.Home, q.Away = p.goals(measure)
		for side, v := range sides(views(s, q)) {
			row = appendRichRow(row[:0], v)
			logs[side] += (1 - plainShare) / strengths * math.Log(fit.Rate(row, v.logLeft()))
		}
	}
	return math.Exp(logs[0]), math.Exp(logs[1]), row
}

func (a *average) look(b *batch, s *State, p Prior) (home, away float64) {
	home, away, b.row = a.promised(b.row, s, p)
	for _, v := range sides(views(s, p.middle())) {
		b.values = appendGoalRow(b.values, v)
	}
	return home, away
}

func (a *average) answer(b *batch, dst [][]float64) {
	b.raw = resize(b.raw, 2*len(b.rests))
	if b.ask(a.forest.ValuesTo) {
		a.scale(b, dst)
	}
}

// scale turns promises and the forest's ratios into probabilities.
func (a *average) scale(b *batch, dst [][]float64) {
	for i, r := range b.rests {
		outcomeTo(dst[i], r.lead, r.home*a.share(b.raw[2*i]), r.away*a.share(b.raw[2*i+1]))
	}
}

// share is what the forest's ratio multiplies a rate by.
func (a *average) share(ratio float64) float64 { return math.Pow(max(ratio, leastRatio), a.weight) }

// averageStep is at which minutes an average learns: every third, for a row says hardly more than its neighbours. With all
// of them the log loss at the four cuts moves by .0004 either way, and fitting takes three times as long.
const averageStep = 3

// Forward chaining: four cuts inside the training matches, each tested on the next eighth of them.
const (
	chainParts = 8
	chainFirst = 4
	chainLeast = 40 // matches; with fewer the weight is one half
	chainTrees = 25 // enough to tell a weight from the next
)

// chainWeights are the weights of the forest that are tried.
func chainWeights() []float64 { return []float64{0, .25, .5, .75, 1} }

// fitAverage fits the regressions and the forest and chooses the forest's weight by forward chaining inside the matches.
func fitAverage(ctx context.Context, train *Matches, c forest.Config) (*average, error) {
	weight, err := chooseWeight(ctx, train, c)
	if err != nil {
		return nil, err
	}
	a, err := fitMembers(ctx, train, averageStep, c)
	if err != nil {
		return nil, err
	}
	a.weight = weight
	return a, nil
}

// chooseWeight returns the weight of the forest that is most surely ahead of Poisson + xG on matches later than those that the
// members were fitted on: whose upper end of the 95 % interval of the difference in log loss, by match, is least. The least
// mean would let chance decide, for means of neighbours differ by less than their errors.
func chooseWeight(ctx context.Context, train *Matches, c forest.Config) (float64, error) {
	if len(train.Matches) < chainLeast {
		return .5, nil
	}
	c.Progress, c.Trees = nil, chainTrees
	differences := make([][]float64, len(chainWeights())) // of each match
	for part := chainFirst; part < chainParts; part++ {
		a, err := fitMembers(ctx, train.part(0, part), averageStep, c)
		if err != nil {
			return 0, fmt.Errorf("part %d of %d of the matches: %w", part, chainParts, err)
		}
		if err := a.compare(train.part(part, part+1), differences); err != nil {
			return 0, err
		}
	}
	best, least := 0, math.Inf(1)
	for k, d := range differences {
		mean, deviation := stat.MeanStdDev(d, nil)
		if upper := mean + 1.96*deviation/math.Sqrt(float64(len(d))); upper < least {
			best, least = k, upper
		}
	}
	return chainWeights()[best], nil
}

// compare appends to differences, for each of chainWeights, the mean log loss in each match less that of Poisson + xG.
func (a *average) compare(ms *Matches, differences [][]float64) error {
	for i := range ms.Matches {
		one := *ms
		one.Matches = ms.Matches[i : i+1]
		with, plain, err := a.losses(&one)
		if err != nil {
			return err
		}
		for k, loss := range with {
			differences[k] = append(differences[k], loss-plain)
		}
	}
	return nil
}

// losses returns the mean log loss with each of chainWeights, and that of Poisson + xG. The trees are walked once.
func (a *average) losses(ms *Matches) (with []float64, plain float64, err error) {
	b, alone, labels := batch{of: a}, batch{of: rates{a.plain, published()}}, []int(nil)
	eachState(ms, averageStep, func(m *Match, s *State) {
		b.add(s, m.Prior)
		alone.add(s, m.Prior)
		labels = append(labels, m.Label())
	})
	dst := make([][]float64, len(labels))
	for i := range dst {
		dst[i] = make([]float64, 3)
	}
	if err := alone.run(dst); err != nil {
		return nil, 0, err
	}
	plain = metric.LogLoss(dst, labels)
	b.raw = resize(b.raw, 2*len(b.rests))
	a.forest.ValuesTo(b.raw, b.values)
	for _, weight := range chainWeights() {
		a.weight = weight
		a.scale(&b, dst)
		with = append(with, metric.LogLoss(dst, labels))
	}
	return with, plain, nil
}

// part returns the matches between two eighths, each moved to the first match of its day.
func (ms *Matches) part(from, to int) *Matches {
	border := func(part int) int {
		k := part * len(ms.Matches) / chainParts
		for k > 0 && k < len(ms.Matches) && ms.Matches[k].Date == ms.Matches[k-1].Date {
			k--
		}
		return k
	}
	out := *ms
	out.Matches = ms.Matches[border(from):border(to)]
	return &out
}

// fitMembers fits the regressions and then the forest on what they miss, on every step-th minute; the weight stays 0.
func fitMembers(ctx context.Context, train *Matches, step int, c forest.Config) (*average, error) {
	a := &average{}
	plain, err := fitPoisson(train, published(), step)
	if err != nil {
		return nil, err
	}
	a.plain = plain.fit
	for k := range a.poissons {
		d, offset := rateDatasets(train, step, richColumns(), by(k), appendRichRow)
		if a.poissons[k], err = linear.FitPoisson(d, offset, linear.Config{}); err != nil {
			return nil, fmt.Errorf("fit the Poisson regression on measure %d: %w", k+1, err)
		}
	}
	d := a.missed(train, step)
	c.MinSamplesLeaf = leaves(c, d.Rows())
	a.forest, err = forest.FitRegressor(ctx, d, c)
	return a, err
}

// missed returns two rows a state: by how many times a side outscored what the regressions promise, weighted by the promise.
func (a *average) missed(ms *Matches, step int) *ml.Dataset {
	d, row := &ml.Dataset{Features: goalColumns()}, []float32(nil)
	eachState(ms, step, func(m *Match, s *State) {
		var promised [2]float64
		promised[0], promised[1], row = a.promised(row, s, m.Prior)
		for side, v := range sides(views(s, m.Prior.middle())) {
			d.Values = appendGoalRow(d.Values, v)
			d.Targets = append(d.Targets, m.remaining(s, side)/promised[side])
			d.Weights = append(d.Weights, promised[side])
			d.Groups = append(d.Groups, m.ID)
		}
	})
	return d
}
