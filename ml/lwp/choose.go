package lwp

import (
	"context"
	"errors"
	"fmt"

	"cancha/ml/metric"
	"cancha/runtime/grid"
)

// Learner is one kind of model that [Choose] tries.
type Learner struct {
	Name string // in tables; of the model that Fit returns, if that is to be found in a [Report]
	Fit  func(ctx context.Context, train *Matches) (*Model, error)
}

// Choice is which of several kinds of models foretells best, judged inside the training matches alone. It shows as a table.
type Choice struct {
	Name    string  // of the learner with the least log loss; of the first where there were too few matches to try
	Tried   []Trial // in the order of the learners; none where there were too few matches
	matches int     // that were foretold
	of      int     // training matches
}

// Trial is how one learner did.
type Trial struct {
	Name         string
	LogLoss, RPS float64         // means over the minutes of all matches that were foretold
	Difference   metric.Interval // of the log loss, less the chosen one's, 95 %, matches drawn
}

// Choose tries learners on the training matches by forward chaining: each is fitted to the earlier half and foretells the next eighth,
// then to five eighths, and so on, four times. The least mean log loss decides. Whoever is chosen so may be judged by later matches, which
// had no say. Fewer than 40 matches are too few: then the first learner is chosen, and the table says so. It returns early with ctx's error when ctx is done.
func Choose(ctx context.Context, train *Matches, learners ...Learner) (*Choice, error) {
	if len(learners) == 0 {
		return nil, errors.New("lwp: choose among no learners")
	}
	c := &Choice{Name: learners[0].Name, of: len(train.Matches)}
	if len(train.Matches) < chainLeast {
		return c, nil
	}
	losses := make([][]float64, len(learners)) // log losses of the rows that were foretold
	rps := make([][]float64, len(learners))
	var groups []int64
	for part := chainFirst; part < chainParts; part++ {
		earlier, next := train.part(0, part), train.part(part, part+1)
		for i, l := range learners {
			m, err := l.Fit(ctx, earlier)
			if err != nil {
				return nil, fmt.Errorf("lwp: try %s on part %d of %d of the training matches: %w", l.Name, part+1, chainParts, err)
			}
			p := m.Predict(next)
			losses[i] = append(losses[i], metric.LogLosses(p.P, next.Labels())...)
			rps[i] = append(rps[i], metric.RPSs(p.P, next.Labels())...)
		}
		groups = append(groups, next.Groups()...)
		c.matches += len(next.Matches)
	}
	c.decide(learners, losses, rps, groups)
	return c, nil
}

func (c *Choice) decide(learners []Learner, losses, rps [][]float64, groups []int64) {
	best := 0
	for i := range learners {
		if metric.Mean(losses[i]) < metric.Mean(losses[best]) {
			best = i
		}
	}
	c.Name = learners[best].Name
	for i, l := range learners {
		c.Tried = append(c.Tried, Trial{Name: l.Name, LogLoss: metric.Mean(losses[i]), RPS: metric.Mean(rps[i]),
			Difference: metric.Paired(losses[i], losses[best], groups, resamples, 1)})
	}
}

// MIMEBundle shows the trials as a table.
func (c *Choice) MIMEBundle() map[string]any {
	g := grid.Grid{Header: []string{"model", "log loss", "more than the chosen one's, 95 %", "RPS"}}
	if len(c.Tried) == 0 {
		g.Caption = fmt.Sprintf("Not tried: %d training matches are too few, %d would do", c.of, chainLeast)
		g.Note = "Chosen as the first: " + c.Name + "."
		return g.MIMEBundle()
	}
	g.Caption = fmt.Sprintf("Tried inside the %s training matches: fitted to earlier ones, %s later ones foretold", count(c.of), count(c.matches))
	g.Note = "Chosen by the least log loss: " + c.Name + "."
	for _, t := range c.Tried {
		difference := "chosen"
		if t.Name != c.Name {
			difference = t.Difference.String()
		}
		g.Rows = append(g.Rows, []string{t.Name, four(t.LogLoss), difference, four(t.RPS)})
	}
	return g.MIMEBundle()
}
