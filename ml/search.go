package ml

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"cancha/internal/running"
	"cancha/runtime/grid"
)

// Grid lists values to try for fields of a settings struct, by the fields' names: {"MaxDepth": {4, 8, 0}, "MaxFeatures": {forest.Sqrt, 0.5}}. A dot leads into
// a struct: "Forest.MaxDepth".
type Grid map[string][]any

// Draws says from what values of fields are drawn, by the fields' names as in a Grid.
type Draws map[string]Draw

// Draw draws one value. OneOf, Uniform, LogUniform and Whole make some.
type Draw func(r *rand.Rand) any

// OneOf draws one of the values, each with the same chance. Without values the search is refused.
func OneOf(values ...any) Draw {
	if len(values) == 0 {
		return nil
	}
	return func(r *rand.Rand) any { return values[r.IntN(len(values))] }
}

// Uniform draws a number from low up to but without high. Unless low is less than high, and both are finite, the search is refused.
func Uniform(low, high float64) Draw {
	if !(high-low > 0) || math.IsInf(high-low, 0) {
		return nil
	}
	return func(r *rand.Rand) any { return low + (high-low)*r.Float64() }
}

// LogUniform draws a number whose logarithm is uniform, from low up to but without high: for what is tried by orders of magnitude, such as a penalty.
// Unless 0 < low < high, the search is refused.
func LogUniform(low, high float64) Draw {
	if !(low > 0 && high > low) || math.IsInf(high, 0) {
		return nil
	}
	return func(r *rand.Rand) any { return low * math.Pow(high/low, r.Float64()) }
}

// Whole draws a whole number from low to high, both included. Unless low is at most high, the search is refused.
func Whole(low, high int) Draw {
	if high < low || high-low+1 <= 0 {
		return nil
	}
	return func(r *rand.Rand) any { return low + r.IntN(high-low+1) }
}

// SettingsLearner fits a model to rows by settings, which are of the type of those that the search began with:
//
//	func(ctx context.Context, train *ml.Dataset, settings any) (ml.Model, error) {
//		return forest.FitClassifier(ctx, train, settings.(forest.Config))
//	}
type SettingsLearner func(ctx context.Context, train *Dataset, settings any) (Model, error)

// SearchConfig says how settings are compared. The zero value asks the model's own Score and fits the best settings once more, to all rows.
type SearchConfig struct {
	Scorer  Scorer // nil: the model's own Score
	NoRefit bool   // leaves out the last fit, and Search.Model with it
	// Progress, if set, is called after each fit to a fold, from one goroutine, with the number of fits done. The last fit to all rows counts.
	Progress func(done, total int)
}

// Search is what a search has found. It shows itself as a table, the best first.
type Search struct {
	Candidates []Candidate // in the order in which they were tried
	Best       int         // place of the best among the candidates: the first with the greatest mean
	Model      Model       // fitted to all rows by the best settings
	fields     []string
}

// Candidate is settings that were tried.
type Candidate struct {
	Settings any            // of the type of those that the search began with
	Values   map[string]any // what was tried in them, by the fields' names
	Score    CrossScore
	FitTime  time.Duration // mean over the folds
	Rank     int           // from 1; equal means have equal ranks
}

// mostCandidates is far above what is ever waited for, and low enough that a slip of the keyboard does not take all memory.
const mostCandidates = 100_000

// GridSearch tries base, a struct of settings, with all combinations of the grid's values: each is scored on the folds, as [CrossValidate] does. It is scikit-learn's
// GridSearchCV. A combination that learn refuses ends the search with an error that names it. When ctx is done, so is the search; then, and after any error of
// a fit, what was scored before is returned with the error.
func GridSearch(ctx context.Context, d *Dataset, folds []Split, base any, values Grid,
	learn SettingsLearner, c SearchConfig) (*Search, error) {
	fields, total := slices.Sorted(maps.Keys(values)), 1
	for _, name := range fields {
		if total *= len(values[name]); total == 0 || total > mostCandidates {
			return nil, fmt.Errorf("ml: the grid has %q with %d values and so 0 combinations, or more than %d; take RandomSearch for many", name, len(values[name]), mostCandidates)
		}
	}
	combinations := make([]map[string]any, total)
	for i := range combinations {
		combinations[i] = map[string]any{}
		rest := i
		for _, name := range slices.Backward(fields) { // the last name's values alternate fastest, as in ParameterGrid
			combinations[i][name] = values[name][rest%len(values[name])]
			rest /= len(values[name])
		}
	}
	return search(ctx, d, folds, base, fields, combinations, learn, c)
}

// RandomSearch tries base with n draws of values, as scikit-learn's RandomizedSearchCV; else it is as [GridSearch]. A seed always draws the same.
func RandomSearch(ctx context.Context, d *Dataset, folds []Split, base any, draws Draws, n int, seed uint64,
	learn SettingsLearner, c SearchConfig) (*Search, error) {
	if n < 1 || n > mostCandidates {
		return nil, fmt.Errorf("ml: %d draws of settings; from 1 to %d are possible", n, mostCandidates)
	}
	fields := slices.Sorted(maps.Keys(draws))
	for _, name := range fields {
		if draws[name] == nil {
			return nil, fmt.Errorf("ml: nothing can be drawn for %q: OneOf needs values, Uniform, LogUniform and Whole a low end below the high one", name)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x647261777321))
	drawn := make([]map[string]any, n)
	for i := range drawn {
		drawn[i] = map[string]any{}
		for _, name := range fields {
			drawn[i][name] = draws[name](rng)
		}
	}
	return search(ctx, d, folds, base, fields, drawn, learn, c)
}

// search makes the candidates and has them run.
func search(ctx context.Context, d *Dataset, folds []Split, base any, fields []string, tried []map[string]any,
	learn SettingsLearner, c SearchConfig) (*Search, error) {
	s := &Search{fields: fields}
	all := make([]Candidate, len(tried))
	for i, values := range tried { // all of them before the first fit, so that a slip shows at once
		settings, err := adapt(base, fields, values)
		if err != nil {
			return nil, err
		}
		all[i] = Candidate{Settings: settings, Values: values}
	}
	if c.Scorer == nil {
		c.Scorer = OwnScore{}
	}
	steps := &progress{report: c.Progress, total: len(all) * len(folds)}
	if !c.NoRefit {
		steps.total++
	}
	steps.listed = running.NewJob(running.Fit, fmt.Sprintf("search of %d settings", len(all)), steps.total, "fits")
	err := steps.listed.Do(func() error { return s.run(ctx, d, folds, all, learn, c, steps) })
	return s, err
}

// run scores candidates and fits the best.
func (s *Search) run(ctx context.Context, d *Dataset, folds []Split, all []Candidate, learn SettingsLearner, c SearchConfig, steps *progress) error {
	for _, candidate := range all {
		scores, err := CrossValidate(ctx, d, folds, func(ctx context.Context, train *Dataset) (Model, error) {
			return steps.fit(func() (Model, error) { return learn(ctx, train, candidate.Settings) })
		}, c.Scorer)
		if err != nil {
			s.rank()
			return fmt.Errorf("ml: search: settings %s: %w", describe(s.fields, candidate.Values), err)
		}
		candidate.Score, candidate.FitTime = scores.Scores[0], meanTime(scores.FitTime)
		s.Candidates = append(s.Candidates, candidate)
	}
	s.rank()
	if c.NoRefit {
		return nil
	}
	best := s.Candidates[s.Best]
	m, err := steps.fit(func() (Model, error) { return learn(ctx, d, best.Settings) })
	if err != nil {
		return fmt.Errorf("ml: search: fit the best settings %s to all rows: %w", describe(s.fields, best.Values), err)
	}
	s.Model = m
	return nil
}

// progress counts fits.
type progress struct {
	report      func(done, total int)
	done, total int
	listed      *running.Job
}

// fit counts one that has not failed.
func (p *progress) fit(learn func() (Model, error)) (Model, error) {
	m, err := learn()
	p.done++
	p.listed.Advance(1)
	if err == nil && p.report != nil {
		p.report(p.done, p.total)
	}
	return m, err
}

// rank orders the candidates there are.
func (s *Search) rank() {
	order := permutation(len(s.Candidates), 0)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Candidates[b].Score.Mean, s.Candidates[a].Score.Mean) })
	for n, i := range order {
		if c := &s.Candidates[i]; n > 0 && c.Score.Mean == s.Candidates[order[n-1]].Score.Mean {
			c.Rank = s.Candidates[order[n-1]].Rank
		} else {
			c.Rank = n + 1
		}
	}
	if len(order) > 0 {
		s.Best = order[0]
	}
}

// adapt returns a copy of settings, a struct, with values for some fields.
func adapt(base any, fields []string, values map[string]any) (any, error) {
	from := reflect.ValueOf(base)
	if from.Kind() != reflect.Struct {
		return nil, fmt.Errorf("ml: settings are a struct, such as forest.Config{}, and no %T", base)
	}
	settings := reflect.New(from.Type()).Elem()
	settings.Set(from)
	for _, name := range fields {
		if err := set(settings, name, values[name]); err != nil {
			return nil, err
		}
	}
	return settings.Interface(), nil
}

// set gives a field of a struct a value: one of its type, or a number or text that the type holds without loss.
func set(settings reflect.Value, name string, value any) error {
	field := settings
	for part := range strings.SplitSeq(name, ".") {
		if field.Kind() == reflect.Struct {
			if f, ok := field.Type().FieldByName(part); ok && f.IsExported() {
				field = field.FieldByIndex(f.Index)
				continue
			}
		}
		return fmt.Errorf("ml: the settings, a %s, have no field %q; names are those of its exported fields", settings.Type(), name)
	}
	v := reflect.ValueOf(value)
	switch {
	case v.IsValid() && v.Type().AssignableTo(field.Type()):
		field.Set(v)
		return nil
	case v.IsValid() && (v.Kind() == field.Kind() || v.CanInt() && field.CanFloat()) && v.CanConvert(field.Type()):
		if to := v.Convert(field.Type()); to.Comparable() && to.Convert(v.Type()).Equal(v) {
			field.Set(to)
			return nil
		}
	}
	return fmt.Errorf("ml: field %q is a %s, which %v, a %T, is not", name, field.Type(), value, value)
}

// describe writes what was tried in settings.
func describe(fields []string, values map[string]any) string {
	var all []string
	for _, name := range fields {
		all = append(all, fmt.Sprintf("%s=%s", name, shown(values[name])))
	}
	return strings.Join(all, ", ")
}

// shown writes a value as a table has room for it.
func shown(v any) string {
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%.4g", f)
	}
	return fmt.Sprint(v)
}

// mostShown is how many candidates a table has.
const mostShown = 20

// MIMEBundle shows the candidates, the best first: at most 20 of them.
func (s *Search) MIMEBundle() map[string]any {
	g := grid.Grid{Caption: fmt.Sprintf("%d settings", len(s.Candidates)), Header: append([]string{"rank"}, s.fields...)}
	name := "score"
	if len(s.Candidates) > 0 {
		name = s.Candidates[0].Score.Name
	}
	g.Header = append(g.Header, name+", mean ± std", "fit")
	order := permutation(len(s.Candidates), 0)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Candidates[a].Rank, s.Candidates[b].Rank) })
	for _, i := range order[:min(len(order), mostShown)] {
		c := s.Candidates[i]
		row := []string{fmt.Sprint(c.Rank)}
		for _, name := range s.fields {
			row = append(row, shown(c.Values[name]))
		}
		g.Rows = append(g.Rows, append(row, c.Score.String(), c.FitTime.String()))
	}
	if more := len(order) - len(g.Rows); more > 0 {
		g.Note = fmt.Sprintf("and %d more", more)
	}
	return g.MIMEBundle()
}

// String is the table's text.
func (s *Search) String() string { return s.MIMEBundle()["text/plain"].(string) }
