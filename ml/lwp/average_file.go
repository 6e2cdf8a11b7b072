package lwp

import (
	"errors"
	"fmt"

	"cancha/ml/linear"
	"cancha/ml/modelfile"
)

// poissonMeta is what a file's header says of an average's regressions: Poisson + xG, then one for each measure of strength.
type poissonMeta struct {
	Features   [2][]string            `json:"features"` // of the first, of the others
	Intercepts [1 + strengths]float64 `json:"intercepts"`
}

// store writes the forest and the regressions; the weight stands in Info.
func (a *average) store(f *modelfile.File) error {
	meta := poissonMeta{Features: [2][]string{a.plain.Features, a.poissons[0].Features}}
	var coefficients []float64
	for k, p := range append([]*linear.Poisson{a.plain}, a.poissons[:]...) {
		meta.Intercepts[k] = p.Intercept
		coefficients = append(coefficients, p.Coefficient...)
	}
	f.SetFloat64("poisson.coefficient", coefficients)
	if err := f.SetMeta("poisson", meta); err != nil {
		return err
	}
	return a.forest.Store(f, "forest")
}

// loadAverage reads what store wrote.
func loadAverage(f *modelfile.File, i Info) (*average, error) {
	if i.ForestWeight == nil || !(*i.ForestWeight >= 0 && *i.ForestWeight <= 1) {
		return nil, fmt.Errorf("an average without a forest's weight between 0 and 1: %w", modelfile.ErrDamaged)
	}
	a := &average{weight: *i.ForestWeight}
	var err error
	if a.forest, err = loadGoals(f); err != nil {
		return nil, err
	}
	return a, a.loadPoissons(f)
}

func (a *average) loadPoissons(f *modelfile.File) error {
	var meta poissonMeta
	if err := f.Meta("poisson", &meta); err != nil {
		return err
	}
	if err := errors.Join(sameColumns(meta.Features[0], published().columns), sameColumns(meta.Features[1], richColumns())); err != nil {
		return err
	}
	rest, err := f.Float64("poisson.coefficient")
	if err != nil {
		return err
	}
	if len(rest) != len(published().columns)+strengths*len(richColumns()) || !within(mostCoefficient, rest...) || !within(mostCoefficient, meta.Intercepts[:]...) {
		return fmt.Errorf("%d coefficients of an average's regressions, or values out of range: %w", len(rest), modelfile.ErrDamaged)
	}
	next := func(features []string, intercept float64) *linear.Poisson {
		p := &linear.Poisson{Features: features, Intercept: intercept, Coefficient: rest[:len(features)]}
		rest = rest[len(features):]
		return p
	}
	a.plain = next(meta.Features[0], meta.Intercepts[0])
	for k := range a.poissons {
		a.poissons[k] = next(meta.Features[1], meta.Intercepts[1+k])
	}
	return nil
}

// mostCoefficient is far beyond what matches lead to; with more, rates would be infinite or NaN.
const mostCoefficient = 1e3

// levels are the averages of the strengths, and the day of the ratings in days since 1970.
type levels struct {
	Of    [strengths]level `json:"of"`
	Today int32            `json:"today"`
}

// storeStrengths writes what the ratings know of strengths.
func (r *Ratings) storeStrengths(f *modelfile.File) error {
	var values []float64
	var seen []int32
	for _, t := range r.Teams() {
		seen = append(seen, t.seen)
		for _, s := range t.Strengths {
			values = append(values, s.Attack, s.Defence, s.AttackVariance, s.DefenceVariance)
		}
	}
	f.SetFloat64("ratings.strengths", values)
	f.SetInt32("ratings.seen", seen)
	return f.SetMeta("levels", levels{r.levels, r.today})
}

// strengthNumbers is how many numbers a file has of one strength.
const strengthNumbers = 4

// loadStrengths reads them for the teams in this order. A file of an older program has none; its models do not ask for them.
func (r *Ratings) loadStrengths(f *modelfile.File, team []int32) error {
	values, err := f.Float64("ratings.strengths")
	if errors.Is(err, modelfile.ErrDamaged) && f.Version < averageVersion {
		return nil
	}
	if err != nil {
		return err
	}
	seen, err := f.Int32("ratings.seen")
	if err != nil {
		return err
	}
	var l levels
	if err := f.Meta("levels", &l); err != nil {
		return err
	}
	r.levels, r.today = l.Of, l.Today
	if len(seen) != len(team) || len(values) != strengths*strengthNumbers*len(team) || !within(mostRate, values...) {
		return fmt.Errorf("%d numbers of the strengths of %d teams: %w", len(values), len(team), modelfile.ErrDamaged)
	}
	for _, l := range r.levels {
		if !within(mostRate, l.Base, l.Advantage) {
			return fmt.Errorf("averages of the strengths of %v and %v: %w", l.Base, l.Advantage, modelfile.ErrDamaged)
		}
	}
	for i, id := range team {
		r.teams[int(id)].seen = seen[i]
		for k := range strengths {
			r.teams[int(id)].Strengths[k] = Strength{values[0], values[1], values[2], values[3]}
			values = values[strengthNumbers:]
		}
	}
	return nil
}
