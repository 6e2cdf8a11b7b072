package inspect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"cancha/ml"
	"cancha/ml/metric"
	"cancha/runtime/grid"
)

// PermuteConfig says how importances are measured. The zero value is scikit-learn's default: each feature alone, five times, by the model's own Score.
type PermuteConfig struct {
	Scorer  ml.Scorer  // nil: the model's own Score
	Repeats int        // n_repeats, up to 10000; 0: 5
	Seed    uint64     // random_state
	Sets    [][]string // features that are shuffled together, as those that say the same should be; nil: each alone
	// ByGroup shuffles whole groups: each gets the values of another one, row by row (from the first again if that has fewer rows). What
	// is the same in all rows of a group, such as a team's strength in a match, is only so lost as it would be with another match.
	ByGroup bool
	// Progress, if set, is called after each score but the first, with the number of those.
	Progress func(done, total int)
}

// mostRepeats is far above what any interval needs, and low enough that a slip of the keyboard does not take forever.
const mostRepeats = 10_000

// Importances tell by how much a model's score falls when features are shuffled. They show themselves as a table, the greatest first.
type Importances struct {
	Score    string  // what was measured
	Baseline float64 // with nothing shuffled
	Sets     []Importance
}

// Importance is that of a set of features.
type Importance struct {
	Features []string
	Falls    []float64 // of the score, in each repeat; below 0 the score rose
	Mean     float64
	Std      float64 // standard deviation over the repeats, as numpy's std
}

// Permute measures permutation importance (Breiman 2001), as scikit-learn's permutation_importance does: how much worse the model's score is on rows in
// which a feature's values have been shuffled among the rows, so that they say nothing any more. Rows that the model has not learned from tell what it
// will rest on; training rows tell what it has rested on. Of two features that say the same, each alone counts little: see Sets.
func Permute(ctx context.Context, m ml.Model, d *ml.Dataset, c PermuteConfig) (*Importances, error) {
	c, sets, err := c.normalize(d)
	if err != nil {
		return nil, err
	}
	base, err := c.Scorer.Score(ctx, m, d)
	if err != nil {
		return nil, fmt.Errorf("inspect: score: %w", err)
	}
	out := &Importances{Score: c.Scorer.Name(), Baseline: base}
	rng := rand.New(rand.NewPCG(c.Seed, 0x7065726d757465))
	draw := shuffler(d, c.ByGroup, rng)
	for i, columns := range sets {
		falls := make([]float64, c.Repeats)
		for k := range falls {
			score, err := c.Scorer.Score(ctx, m, shuffled(d, columns, draw()))
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("inspect: score with %q shuffled: %w", c.Sets[i], err)
			}
			falls[k] = base - score
			if c.Progress != nil {
				c.Progress(i*c.Repeats+k+1, len(sets)*c.Repeats)
			}
		}
		mean := metric.Mean(falls)
		out.Sets = append(out.Sets, Importance{Features: c.Sets[i], Falls: falls, Mean: mean, Std: deviation(falls, mean)})
	}
	return out, nil
}

// normalize fills what was left 0 and returns the columns of each set.
func (c PermuteConfig) normalize(d *ml.Dataset) (PermuteConfig, [][]int, error) {
	if err := d.Validate(); err != nil {
		return c, nil, fmt.Errorf("inspect: %w", err)
	}
	if c.Repeats == 0 {
		c.Repeats = 5
	}
	switch {
	case d.Rows() == 0:
		return c, nil, fmt.Errorf("inspect: the dataset has no rows")
	case c.Repeats < 0 || c.Repeats > mostRepeats:
		return c, nil, fmt.Errorf("inspect: %d repeats; from 1 to %d are possible, and 0 means 5", c.Repeats, mostRepeats)
	case c.ByGroup && d.Groups == nil:
		return c, nil, fmt.Errorf("inspect: ByGroup shuffles groups of rows, and the dataset names none; set its Groups, or leave ByGroup out")
	}
	if c.Scorer == nil {
		c.Scorer = ml.OwnScore{}
	}
	if c.Sets == nil {
		for _, name := range d.Features {
			c.Sets = append(c.Sets, []string{name})
		}
	}
	sets := make([][]int, len(c.Sets))
	for i, names := range c.Sets {
		if len(names) == 0 {
			return c, nil, fmt.Errorf("inspect: set %d has no features to shuffle", i)
		}
		for _, name := range names {
			k := d.Column(name)
			if k < 0 {
				return c, nil, fmt.Errorf("inspect: there is no feature %q to shuffle; the dataset has %q", name, d.Features)
			}
			sets[i] = append(sets[i], k)
		}
	}
	return c, sets, nil
}

// shuffler returns what draws, for each row, the row from which it gets its values.
func shuffler(d *ml.Dataset, byGroup bool, rng *rand.Rand) func() []int {
	if !byGroup {
		return func() []int { return rng.Perm(d.Rows()) }
	}
	at := map[int64]int{}
	var groups [][]int
	for i := range d.Rows() {
		g, ok := at[d.Group(i)]
		if !ok {
			g = len(groups)
			at[d.Group(i)], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return func() []int {
		from := make([]int, d.Rows())
		for g, other := range rng.Perm(len(groups)) {
			for k, row := range groups[g] {
				from[row] = groups[other][k%len(groups[other])]
			}
		}
		return from
	}
}

// shuffled is the dataset with the values of some columns taken from other rows.
func shuffled(d *ml.Dataset, columns, from []int) *ml.Dataset {
	out, p := *d, len(d.Features)
	out.Values, out.Exact = slices.Clone(d.Values), slices.Clone(d.Exact)
	for row, other := range from {
		for _, k := range columns {
			out.Values[row*p+k] = d.Values[other*p+k]
			if d.Exact != nil {
				out.Exact[row*p+k] = d.Exact[other*p+k]
			}
		}
	}
	return &out
}

// deviation is the standard deviation of numbers with this mean, as numpy's std.
func deviation(values []float64, mean float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)))
}

// MIMEBundle shows the importances, the greatest first.
func (m *Importances) MIMEBundle() map[string]any {
	g := grid.Grid{Header: []string{"feature", "fall of " + m.Score, "std"},
		Caption: fmt.Sprintf("Permutation importance: %s is %.4f with nothing shuffled", m.Score, m.Baseline)}
	order := slices.SortedStableFunc(slices.Values(m.Sets), func(a, b Importance) int { return cmp.Compare(b.Mean, a.Mean) })
	for _, i := range order {
		g.Rows = append(g.Rows, []string{strings.Join(i.Features, ", "), fmt.Sprintf("%.4f", i.Mean), fmt.Sprintf("%.4f", i.Std)})
	}
	return g.MIMEBundle()
}

// String is the table's text.
func (m *Importances) String() string { return m.MIMEBundle()["text/plain"].(string) }
