package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/linear"
)

// sklearn is testdata/inspected.json, which testdata/inspected.py wrote with scikit-learn 1.9.1.
type sklearn struct {
	X                 [][]float64
	Labels            []int
	Counts, Weights   []float64
	Logistic, Poisson []struct{ Values, Average, Weighted, Row []float64 }
	Importance        struct{ Mean, Std []float64 }
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fitted are the table, two regressions of it, and what scikit-learn says.
func fitted(t testing.TB) (*ml.Dataset, *linear.Logistic, *linear.Poisson, sklearn) {
	t.Helper()
	var want sklearn
	if err := json.Unmarshal(must(os.ReadFile("testdata/inspected.json")), &want); err != nil {
		t.Fatal(err)
	}
	d := must(ml.FromRows([]string{"a", "b", "c"}, want.X))
	d.Labels, d.Classes, d.Targets = want.Labels, []string{"no", "yes"}, want.Counts
	return d, must(linear.FitLogistic(d, linear.Config{})), must(linear.FitPoisson(d, nil, linear.Config{})), want
}

func near(got, want []float64, off float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= off })
}

func TestDependAgainstSklearn(t *testing.T) {
	d, logistic, poisson, want := fitted(t)
	weighted := *d
	weighted.Weights = want.Weights
	for k, feature := range d.Features {
		for i, m := range []ml.Model{logistic, poisson} {
			expect, class := want.Logistic[k], 1
			if i == 1 {
				expect, class = want.Poisson[k], 0
			}
			got := must(Depend(t.Context(), m, d, feature, DependConfig{Points: 20, Rows: true}))
			with := must(Depend(t.Context(), m, &weighted, feature, DependConfig{Points: 20}))
			if !near(got.Values, expect.Values, 1e-12) {
				t.Errorf("%T, %s: values %v, want %v", m, feature, got.Values, expect.Values)
			}
			for name, pair := range map[string][2][]float64{"average": {got.Average[class], expect.Average}, "weighted": {with.Average[class], expect.Weighted}, "row": {got.Rows[class][7], expect.Row}} {
				if !near(pair[0], pair[1], 2e-5) {
					t.Errorf("%T, %s, %s: got %v, want %v", m, feature, name, pair[0], pair[1])
				}
			}
			if with.Rows != nil || len(got.Rows[class]) != d.Rows() {
				t.Errorf("%T: rows kept unasked, or not all", m)
			}
		}
	}
	text := must(Depend(t.Context(), logistic, d, "b", DependConfig{})).String()
	if lines := strings.Split(text, "\n"); len(lines) != 7 || !strings.Contains(lines[0], "dependence on b") || !strings.Contains(lines[1], "yes") {
		t.Errorf("the table:\n%s", text)
	}
}

// TestPermuteAgainstSklearn: draws differ, so the means of 2000 repeats may, by five of their standard errors.
func TestPermuteAgainstSklearn(t *testing.T) {
	d, logistic, _, want := fitted(t)
	const repeats = 2000
	got := must(Permute(t.Context(), logistic, d, PermuteConfig{Scorer: ml.NegLogLoss, Repeats: repeats}))
	for i, s := range got.Sets {
		mean, std := want.Importance.Mean[i], want.Importance.Std[i]
		if off := 5 * std * math.Sqrt(2.0/repeats); math.Abs(s.Mean-mean) > off || math.Abs(s.Std/std-1) > 0.1 {
			t.Errorf("%v: got %v ± %v, want %v ± %v", s.Features, s.Mean, s.Std, mean, std)
		}
	}
	lines := strings.Split(got.String(), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], "neg_log_loss is -0.") || !strings.HasPrefix(lines[2], "a ") || !strings.HasPrefix(lines[4], "c ") {
		t.Errorf("the table:\n%s", got)
	}
}

// TestPermuteSeed: a seed always shuffles the same; the model's own score is asked without a scorer.
func TestPermuteSeed(t *testing.T) {
	d, _, poisson, _ := fitted(t)
	calls := 0
	falls := func(seed uint64) (all []float64) {
		m := must(Permute(t.Context(), poisson, d, PermuteConfig{Seed: seed, Progress: func(done, total int) {
			if calls++; done != (calls-1)%15+1 || total != 15 {
				t.Errorf("progress %d of %d", done, total)
			}
		}}))
		if score := must(poisson.Score(t.Context(), d)); m.Baseline != score || m.Score != "score" {
			t.Errorf("baseline %v of %s, want %v", m.Baseline, m.Score, score)
		}
		for _, s := range m.Sets {
			all = append(all, s.Falls...)
		}
		return all
	}
	if a := falls(1); !slices.Equal(a, falls(1)) || slices.Equal(a, falls(2)) || calls != 45 {
		t.Error("the seed decides nothing, or not alone")
	}
}

// TestSets: of two features that say the same, a forest loses little with either, and all with both.
func TestSets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var rows [][]float64
	d := &ml.Dataset{Classes: []string{"low", "high"}}
	for range 300 {
		v := r.Float64()
		rows = append(rows, []float64{v, v, r.Float64()})
		d.Labels = append(d.Labels, int(2*v))
	}
	table := must(ml.FromRows([]string{"a", "same", "noise"}, rows))
	table.Labels, table.Classes = d.Labels, d.Classes
	f := must(forest.FitClassifier(t.Context(), table, forest.Config{Trees: 30, MaxFeatures: 1}))
	got := must(Permute(t.Context(), f, table, PermuteConfig{Sets: [][]string{{"a"}, {"a", "same"}, {"noise"}}}))
	if a, both, noise := got.Sets[0].Mean, got.Sets[1].Mean, got.Sets[2].Mean; both < 0.4 || a > both-0.1 || noise > 0.1 {
		t.Errorf("alone %.3f, together %.3f, noise %.3f", a, both, noise)
	}
}

// TestByGroup: each group gets all values of one other, in their order, and what is one value in a group stays one.
func TestByGroup(t *testing.T) {
	d := must(ml.FromRows([]string{"team", "minute"}, [][]float64{{7, 0}, {7, 1}, {7, 2}, {8, 10}, {9, 20}, {9, 21}}))
	d.Groups = []int64{7, 7, 7, 8, 9, 9}
	draw := shuffler(d, true, rand.New(rand.NewPCG(1, 2)))
	moved := false
	for range 50 {
		s := shuffled(d, []int{0, 1}, draw())
		for i, want := range []int{0, 1, 2} {
			from := s.At(i, 0)
			moved = moved || from != 7
			start, size := map[float64]float64{7: 0, 8: 10, 9: 20}[from], map[float64]int{7: 3, 8: 1, 9: 2}[from]
			if from != s.At(0, 0) || s.At(i, 1) != start+float64(want%size) {
				t.Fatalf("the first group got %v", s.Values[:6])
			}
		}
		if s.At(4, 0) != s.At(5, 0) || s.Group(0) != 7 {
			t.Fatalf("the last group got %v", s.Values[8:])
		}
	}
	if !moved {
		t.Error("nothing was ever moved")
	}
	if s := shuffled(d, []int{1}, []int{5, 4, 3, 2, 1, 0}); s.At(0, 0) != 7 || s.At(0, 1) != 21 || d.At(0, 1) != 0 {
		t.Errorf("one column alone: got %v", s.Values)
	}
}

// TestRefuses what cannot be asked, each with its name.
func TestRefuses(t *testing.T) {
	d, logistic, poisson, _ := fitted(t)
	unlabelled, unnamed, empty := *d, *d, d.Slice(0, 0)
	unlabelled.Labels = nil
	unnamed.Classes, unnamed.Labels = nil, nil
	reason := errors.New("enough")
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	permute := func(ctx context.Context, m ml.Model, d *ml.Dataset, c PermuteConfig) func() error {
		return func() error { _, err := Permute(ctx, m, d, c); return err }
	}
	depend := func(ctx context.Context, m ml.Model, d *ml.Dataset, feature string, c DependConfig) func() error {
		return func() error { _, err := Depend(ctx, m, d, feature, c); return err }
	}
	ctx, nan := t.Context(), math.NaN()
	for want, f := range map[string]func() error{
		"no labels":                       permute(ctx, logistic, &unlabelled, PermuteConfig{}),
		"-1 repeats":                      permute(ctx, logistic, d, PermuteConfig{Repeats: -1}),
		"the dataset names none":          permute(ctx, logistic, d, PermuteConfig{ByGroup: true}),
		`no feature "x" to shuffle`:       permute(ctx, logistic, d, PermuteConfig{Sets: [][]string{{"x"}}}),
		"set 0 has no features":           permute(ctx, logistic, d, PermuteConfig{Sets: [][]string{{}}}),
		"no rows":                         permute(ctx, logistic, empty, PermuteConfig{}),
		"no metric of regressors":         permute(ctx, poisson, d, PermuteConfig{Scorer: ml.Accuracy}),
		"predict: enough":                 permute(stopped, logistic, d, PermuteConfig{}),
		`no feature "x" to ask about`:     depend(ctx, poisson, d, "x", DependConfig{}),
		"1 points":                        depend(ctx, poisson, d, "a", DependConfig{Points: 1}),
		"from quantile 0.9 to 0.1":        depend(ctx, poisson, d, "a", DependConfig{Low: 0.9, High: 0.1}),
		"from quantile 0.05 to 0.06":      depend(ctx, poisson, d, "b", DependConfig{Points: 3, Low: 0.05, High: 0.06}),
		"Values say all":                  depend(ctx, poisson, d, "a", DependConfig{Points: 3, Values: []float64{1}}),
		"cannot be asked at NaN":          depend(ctx, poisson, d, "a", DependConfig{Values: []float64{nan}}),
		"0 values":                        depend(ctx, poisson, d, "a", DependConfig{Values: []float64{}}),
		"names no classes":                depend(ctx, logistic, &unnamed, "a", DependConfig{}),
		`with "a" at 1: linear: predict`:  depend(stopped, poisson, d, "a", DependConfig{Values: []float64{1}}),
		"neither Classifier nor Regresso": depend(ctx, nil, d, "a", DependConfig{}),
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// TestDependValues: given ones, sorted, and those of a feature some of whose values are missing.
func TestDependValues(t *testing.T) {
	d, _, poisson, _ := fitted(t)
	got := must(Depend(t.Context(), poisson, d, "a", DependConfig{Values: []float64{2, -1}}))
	if !slices.Equal(got.Values, []float64{-1, 2}) || got.Classes != nil || !(got.Average[0][0] < got.Average[0][1]) || !strings.Contains(got.String(), "average") {
		t.Errorf("got %v", got)
	}
	holed := must(ml.FromRowsMissing([]string{"a"}, [][]float64{{3}, {math.NaN()}, {1}}))
	if _, values, err := (DependConfig{}).values(holed, "a"); err != nil || !slices.Equal(values, []float64{1, 3}) {
		t.Errorf("missing values: got %v, %v", values, err)
	}
}
