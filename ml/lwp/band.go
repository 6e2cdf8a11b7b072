package lwp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cancha/ml/forest"
)

// BandConfig says how a band is made.
type BandConfig struct {
	Refits int     // how often the model is fitted again, at least 10; 0: 30. Each costs about a tenth of the model's own fit
	Share  float64 // of the refits that lie within the band, below 1; 0: 0.9
	Seed   uint64
	// Forest is the forest of each refit; 10 trees if Trees is 0, for what single trees scatter is no part of the band. They are small and many, and grown here: a
	// Trainer is an error.
	Forest   forest.Config
	Progress func(done, total int) // if set, called after each refit
}

func (c BandConfig) normalize() (BandConfig, error) {
	if c.Refits == 0 {
		c.Refits = 30
	}
	if c.Share == 0 {
		c.Share = 0.9
	}
	if c.Forest.Trees == 0 {
		c.Forest.Trees = 10
	}
	c.Forest.Progress = nil
	if c.Forest.Trainer != nil {
		return c, fmt.Errorf("lwp: a band with a Trainer (%s): its %d refits are small and grown here; leave Trainer out", c.Forest.Trainer, c.Refits)
	}
	if c.Refits < 10 || !(c.Share > 0 && c.Share < 1) {
		return c, fmt.Errorf("lwp: a band of %v of %d refits; a share between 0 and 1 of 10 or more makes one", c.Share, c.Refits)
	}
	return c, nil
}

// Band tells how far the probabilities of a model depend on which matches it was trained on: the model is fitted again to
// samples of whole matches, drawn with replacement (the bootstrap by group of Efron and Tibshirani 1993, section 8.3). It holds
// what the regressions and the trees do not know for lack of matches. It does not hold how far the teams' ratings are off, which are the
// same in all refits, nor the luck of the match, which the probability itself is about.
type Band struct {
	refits []estimator
	share  float64
}

// FitBand fits a model of Fit again and again to samples of its training matches. A model that FitClassifier trained is refused. It
// returns early with ctx's error when ctx is done.
func FitBand(ctx context.Context, train *Matches, m *Model, c BandConfig) (*Band, error) {
	c, err := c.normalize()
	if err != nil {
		return nil, err
	}
	if m.Info.Kind != "" {
		return nil, fmt.Errorf("lwp: a band of a %s: only models of Fit can be fitted again", m.Info.Kind)
	}
	b, rng := &Band{share: c.Share}, rand.New(rand.NewPCG(c.Seed, 0x62616e64))
	for i := range c.Refits {
		c.Forest.Seed = rng.Uint64()
		e, err := refit(ctx, resample(train, rng), m, c.Forest)
		if err != nil {
			return nil, fmt.Errorf("lwp: refit %d of a band: %w", i+1, err)
		}
		b.refits = append(b.refits, e)
		if c.Progress != nil {
			c.Progress(i+1, c.Refits)
		}
	}
	return b, nil
}

// resample draws as many matches with replacement as there are.
func resample(ms *Matches, rng *rand.Rand) *Matches {
	out := *ms
	out.Matches = make([]Match, len(ms.Matches))
	for i := range out.Matches {
		out.Matches[i] = ms.Matches[rng.IntN(len(ms.Matches))]
	}
	return &out
}

// bandStep is at which minutes the refits of an average learn: how much they scatter depends on the matches, not on the rows.
const bandStep = 9

// refit fits what a model answers by to other matches; an average keeps its weight.
func refit(ctx context.Context, sample *Matches, m *Model, f forest.Config) (estimator, error) {
	rows := 2 * len(sample.Matches) * (LastMinute + 1)
	if m.Info.Target == Outcome {
		rows /= 2
	}
	c, err := Config{Target: m.Info.Target, Calibrate: m.Info.Calibrated, Forest: f}.normalize(rows)
	if err != nil {
		return nil, err
	}
	a, ok := m.of.(*average)
	if !ok {
		return learn(ctx, sample, c)
	}
	again, err := fitMembers(ctx, sample, bandStep, c.Forest)
	if err != nil {
		return nil, err
	}
	again.weight = a.weight
	return again, nil
}

// Add gives a curve its band: Low and High, by class and minute. The refits' differences from their own mean, in the logarithm of
// the probabilities, are laid around the curve's, for a refit of few trees is not quite the model.
func (b *Band) Add(c *Curve) {
	all := make([]*Predictions, len(b.refits))
	for k, e := range b.refits {
		all[k] = predict("", e, &Matches{Matches: []Match{*c.Match}})
	}
	classes := [][]float64{c.Home, c.Draw, c.Away}
	c.Low, c.High = make([][]float64, len(classes)), make([][]float64, len(classes))
	for minute := range c.Minutes {
		low, high := b.around([3]float64{c.Home[minute], c.Draw[minute], c.Away[minute]}, all, minute)
		for k := range classes {
			c.Low[k], c.High[k] = append(c.Low[k], low[k]), append(c.High[k], high[k])
		}
	}
}

// leastChance is the least probability whose logarithm is taken.
const leastChance = 1e-9

// around returns between what each of p lies.
func (b *Band) around(p [3]float64, all []*Predictions, row int) (low, high [3]float64) {
	var mean [3]float64
	for _, q := range all {
		for k := range mean {
			mean[k] += math.Log(max(q.P[row][k], leastChance)) / float64(len(all))
		}
	}
	var values [3][]float64
	for _, q := range all {
		moved, sum := p, 0.0
		for k := range moved {
			moved[k] *= math.Exp(math.Log(max(q.P[row][k], leastChance)) - mean[k])
			sum += moved[k]
		}
		for k := range moved {
			values[k] = append(values[k], moved[k]/sum)
		}
	}
	for k, v := range values {
		slices.Sort(v)
		low[k] = min(quantile(v, (1-b.share)/2), p[k])
		high[k] = max(quantile(v, (1+b.share)/2), p[k])
	}
	return low, high
}

// quantile interpolates linearly in sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
