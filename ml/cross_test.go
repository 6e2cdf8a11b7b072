package ml_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/linear"
)

// sklearn is testdata/folds.json, which testdata/folds.py wrote with scikit-learn 1.9.1.
type sklearn struct {
	K             int
	X             [][]float64
	Labels        []int
	Scores        map[string][]float64
	Cs, Mean, Std []float64
	Rank          []int
	Probabilities [][]float64
}

// binary is the table with two classes, and what scikit-learn says of it.
func binary(t *testing.T) (*ml.Dataset, sklearn) {
	t.Helper()
	text, err := os.ReadFile("testdata/folds.json")
	if err != nil {
		t.Fatal(err)
	}
	var want sklearn
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	d, err := ml.FromRows([]string{"a", "b", "c"}, want.X)
	if err != nil {
		t.Fatal(err)
	}
	d.Classes = []string{"no", "yes"}
	for _, label := range want.Labels {
		d.Labels = append(d.Labels, min(label, 1))
		d.Targets = append(d.Targets, float64(label))
	}
	return d, want
}

func logistic(_ context.Context, train *ml.Dataset) (ml.Model, error) {
	return linear.FitLogistic(train, linear.Config{})
}

// near tells whether figures are those of scikit-learn, whose solver stops a little earlier than ours.
func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
}

func TestCrossValidateAgainstSklearn(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.StratifiedKFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	scorers := []ml.Scorer{ml.Accuracy, ml.NegLogLoss, ml.ROCAUC, ml.AveragePrecision, ml.F1Macro, ml.NegBrier}
	cv, err := ml.CrossValidate(t.Context(), d, folds, logistic, scorers...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range cv.Scores {
		if !near(s.Folds, want.Scores[s.Name]) {
			t.Errorf("%s: got %v, want %v", s.Name, s.Folds, want.Scores[s.Name])
		}
	}
	if len(cv.Scores) != len(want.Scores) || len(cv.FitTime) != want.K {
		t.Errorf("%d scores, %d folds", len(cv.Scores), len(cv.FitTime))
	}
	text := cv.String()
	for _, part := range []string{"4 folds", "score", "mean ± std", "fold 4", "neg_log_loss", "-0.5734 ± 0.0169"} {
		if !strings.Contains(text, part) {
			t.Errorf("the table lacks %q:\n%s", part, text)
		}
	}
}

func TestCrossPredictAgainstSklearn(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ml.CrossPredictProba(t.Context(), d, folds, logistic)
	if err != nil || !slices.EqualFunc(p, want.Probabilities, near) {
		t.Errorf("got %v, %v, want %v", p, err, want.Probabilities)
	}
	if _, err := ml.CrossPredictProba(t.Context(), d, folds[1:], logistic); err == nil || !strings.Contains(err.Error(), "row 0 is on 0 test sides") {
		t.Errorf("not all rows: got %v", err)
	}
	if _, err := ml.CrossPredict(t.Context(), d, folds, logistic); err == nil || !strings.Contains(err.Error(), "does not answer with numbers") {
		t.Errorf("numbers of classes: got %v", err)
	}
	rates, err := ml.CrossPredict(t.Context(), d, folds, poisson)
	if err != nil {
		t.Fatal(err)
	}
	train := d.Select(folds[2].Train)
	m, err := linear.FitPoisson(train, nil, linear.Config{})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := m.Predict(t.Context(), d.Select(folds[2].Test))
	if err != nil || !slices.Equal(alone, pick(rates, folds[2].Test)) {
		t.Errorf("fold 3: got %v, want %v, %v", pick(rates, folds[2].Test), alone, err)
	}
}

func poisson(_ context.Context, train *ml.Dataset) (ml.Model, error) {
	return linear.FitPoisson(train, nil, linear.Config{})
}

func pick(values []float64, rows []int) (out []float64) {
	for _, i := range rows {
		out = append(out, values[i])
	}
	return out
}

// TestCrossValidateNumbers: a regressor has its own metrics, and without any its own score.
func TestCrossValidateNumbers(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 1)
	if err != nil {
		t.Fatal(err)
	}
	cv, err := ml.CrossValidate(t.Context(), d, folds, poisson, ml.R2, ml.D2Poisson, ml.NegMeanSquaredError, ml.NegRootMeanSquaredError, ml.NegMeanAbsoluteError, ml.NegPoissonDeviance)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ml.CrossValidate(t.Context(), d, folds, poisson)
	if err != nil {
		t.Fatal(err)
	}
	if s := plain.Scores[0]; s.Name != "score" || !slices.Equal(s.Folds, cv.Scores[1].Folds) {
		t.Errorf("own score: got %v, want D² %v", s, cv.Scores[1])
	}
	for _, s := range cv.Scores[2:] {
		if !(s.Mean < 0) || !(s.Std > 0) {
			t.Errorf("%s: got %v", s.Name, s)
		}
	}
	if mse, rmse := cv.Scores[2].Folds[0], cv.Scores[3].Folds[0]; math.Abs(mse+rmse*rmse) > 1e-12 {
		t.Errorf("squared error %v and its root %v", mse, rmse)
	}
}

func TestCrossValidateRefuses(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	grouped, oneClass := *d, *d
	grouped.Groups = make([]int64, d.Rows())
	oneClass.Labels = make([]int, d.Rows())
	oneClass.Labels[0] = 1
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		d      *ml.Dataset
		folds  []ml.Split
		learn  ml.Learner
		metric ml.Metric
		want   string
	}{
		{"no folds", t.Context(), d, nil, logistic, ml.Accuracy, "no folds"},
		{"a row on both sides", t.Context(), d, []ml.Split{{Train: []int{0, 1}, Test: []int{1}}}, logistic, ml.Accuracy, "row 1, or its group 1, is on both sides"},
		{"a group on both sides", t.Context(), &grouped, folds, logistic, ml.Accuracy, "group 0, is on both sides"},
		{"no such row", t.Context(), d, []ml.Split{{Train: []int{0}, Test: []int{1000}}}, logistic, ml.Accuracy, "there is no row 1000"},
		{"an empty side", t.Context(), d, []ml.Split{{Test: []int{1}}}, logistic, ml.Accuracy, "0 rows to learn from"},
		{"a metric of numbers", t.Context(), d, folds, logistic, ml.R2, `"r2" is no metric of classifiers`},
		{"a metric of classes", t.Context(), d, folds, poisson, ml.Accuracy, `"accuracy" is no metric of regressors`},
		{"no such metric", t.Context(), d, folds, func(context.Context, *ml.Dataset) (ml.Model, error) { panic("a fit before the metric was looked at") },
			"auroc", `no metric "auroc"; there are`},
		{"a fold of one class", t.Context(), &oneClass, folds, forests, ml.ROCAUC, "the rows have no roc_auc"},
		{"a context that is done", stopped, d, folds, logistic, ml.Accuracy, "fold 1 of 4: context canceled"},
		{"a learner that fails", t.Context(), d, folds, func(context.Context, *ml.Dataset) (ml.Model, error) { return nil, errors.New("oh") }, ml.Accuracy, "fold 1 of 4: oh"},
		{"no model", t.Context(), d, folds, func(context.Context, *ml.Dataset) (ml.Model, error) { return nil, nil }, ml.Accuracy, "neither Classifier nor Regressor"},
	} {
		if _, err := ml.CrossValidate(tt.ctx, tt.d, tt.folds, tt.learn, tt.metric); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// foreign is a model of somebody else's.
type foreign struct {
	ml.Classifier
	p [][]float64
}

func (f foreign) PredictProba(context.Context, *ml.Dataset) ([][]float64, error) { return f.p, nil }

// foreignNumbers is one of numbers.
type foreignNumbers struct {
	ml.Regressor
	v []float64
}

func (f foreignNumbers) Predict(context.Context, *ml.Dataset) ([]float64, error) { return f.v, nil }

// TestForeignModels: what is no answer is an error that says so, and no panic.
func TestForeignModels(t *testing.T) {
	d, _ := binary(t)
	two, nan := d.Slice(0, 2), math.NaN()
	for _, tt := range []struct {
		m    ml.Model
		by   ml.Metric
		want string
	}{
		{foreign{p: [][]float64{{0.5, 0.5}, {1, 0}}}, ml.Accuracy, ""},
		{foreign{p: [][]float64{{0.5, 0.5}}}, ml.Accuracy, "1 rows for a dataset of 2"},
		{foreign{p: [][]float64{{1}, {1}}}, ml.NegLogLoss, "the model has 1 classes, the dataset 2"},
		{foreign{p: [][]float64{{nan, 1}, {0, 1}}}, ml.ROCAUC, "a probability of NaN"},
		{foreign{p: [][]float64{{0.5, 0.5}, {2, -1}}}, ml.ROCAUC, `class "no" of row 1 a probability of 2`},
		{foreign{p: [][]float64{{0.5, 0.5}, {0.1, 0.1}}}, ml.ROCAUC, "row 1 sum to 0.2"},
		{foreignNumbers{v: []float64{1, 2}}, ml.NegMeanSquaredError, ""},
		{foreignNumbers{v: []float64{1}}, ml.R2, "answers 1 rows of a dataset of 2"},
		{foreignNumbers{v: []float64{1, nan}}, ml.R2, "answers row 1 with NaN"},
	} {
		_, err := tt.by.Score(t.Context(), tt.m, two)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want an error with %q", tt.m, err, tt.want)
		}
	}
	if _, err := ml.ScoreClassifier(t.Context(), outside{}, two.Classes, two); err == nil || !strings.Contains(err.Error(), "classes that it has not") {
		t.Errorf("a class outside: got %v", err)
	}
}

// outside predicts classes that there are not.
type outside struct{ ml.Classifier }

func (outside) Predict(context.Context, *ml.Dataset) ([]int, error) { return []int{0, 2}, nil }

func forests(ctx context.Context, train *ml.Dataset) (ml.Model, error) {
	return forest.FitClassifier(ctx, train, forest.Config{Trees: 3})
}

// TestGridSearchAgainstSklearn: GridSearchCV over the penalty of a logistic regression.
func TestGridSearchAgainstSklearn(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := ml.Grid{"Ridge": nil}
	for _, c := range want.Cs {
		values["Ridge"] = append(values["Ridge"], 1/c)
	}
	done := 0
	s, err := ml.GridSearch(t.Context(), d, folds, linear.Config{}, values,
		func(_ context.Context, train *ml.Dataset, c any) (ml.Model, error) {
			return linear.FitLogistic(train, c.(linear.Config))
		},
		ml.SearchConfig{Scorer: ml.NegLogLoss, Progress: func(n, total int) {
			if done++; n != done || total != len(want.Cs)*want.K+1 {
				t.Errorf("progress %d of %d, want %d", n, total, done)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range s.Candidates {
		if !near([]float64{c.Score.Mean, c.Score.Std}, []float64{want.Mean[i], want.Std[i]}) || c.Rank != want.Rank[i] || c.Settings.(linear.Config).Ridge != 1/want.Cs[i] {
			t.Errorf("C=%v: got %v, rank %d, want %v ± %v, rank %d", want.Cs[i], c.Score, c.Rank, want.Mean[i], want.Std[i], want.Rank[i])
		}
	}
	if s.Candidates[s.Best].Rank != 1 || done != len(want.Cs)*want.K+1 {
		t.Errorf("best %d, %d fits", s.Best, done)
	}
	if got, err := s.Model.Score(t.Context(), d); err != nil || got < 0.5 {
		t.Errorf("the model: got %v, %v", got, err)
	}
	lines := strings.Split(s.String(), "\n")
	if len(lines) != 6 || !strings.Contains(lines[1], "neg_log_loss, mean ± std") || !strings.HasPrefix(lines[2], "1 ") || !strings.HasPrefix(lines[5], "4 ") {
		t.Errorf("the table:\n%s", s)
	}
}

// TestGridOrder: all combinations, the last name's values alternating fastest, into fields of other types where nothing is lost.
func TestGridOrder(t *testing.T) {
	type deep struct{ Depth int }
	type settings struct {
		B     float64
		Inner deep
		Name  string
	}
	type word string
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	learn := func(ctx context.Context, train *ml.Dataset, _ any) (ml.Model, error) {
		return logistic(ctx, train)
	}
	s, err := ml.GridSearch(t.Context(), d, folds, settings{Name: "base"}, ml.Grid{"B": {1, 2.5}, "Inner.Depth": {3, 4}, "Name": {word("x")}}, learn, ml.SearchConfig{NoRefit: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []settings
	for _, c := range s.Candidates {
		got = append(got, c.Settings.(settings))
	}
	if want := []settings{{1, deep{3}, "x"}, {1, deep{4}, "x"}, {2.5, deep{3}, "x"}, {2.5, deep{4}, "x"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s.Model != nil || s.Best != 0 || s.Candidates[3].Rank != 1 {
		t.Errorf("of equals the first is best: got %d, %v", s.Best, s.Candidates)
	}
	for _, values := range []ml.Grid{
		{"C": {1}}, {"Inner.C": {1}}, {"B.C": {1}}, {"": {1}}, {"B": {}}, {"B": {"x"}}, {"Inner.Depth": {1.5}}, {"Name": {3}}, {"B": {nil}}, {"B": {true}},
	} {
		if _, err := ml.GridSearch(t.Context(), d, folds, settings{}, values, learn, ml.SearchConfig{}); err == nil {
			t.Errorf("%v: no error", values)
		}
	}
	if _, err := ml.GridSearch(t.Context(), d, folds, &settings{}, ml.Grid{"B": {1}}, learn, ml.SearchConfig{}); err == nil {
		t.Error("settings by pointer: no error")
	}
}

// TestRandomSearch: a seed draws the same, values within their ends.
func TestRandomSearch(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	learn := func(_ context.Context, train *ml.Dataset, c any) (ml.Model, error) {
		return linear.FitLogistic(train, c.(linear.Config))
	}
	draws := ml.Draws{"Ridge": ml.LogUniform(0.01, 100), "Iterations": ml.Whole(30, 32)}
	run := func(seed uint64) (all []linear.Config) {
		s, err := ml.RandomSearch(t.Context(), d, folds, linear.Config{}, draws, 30, seed, learn, ml.SearchConfig{NoRefit: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Candidates {
			all = append(all, c.Settings.(linear.Config))
		}
		if !strings.Contains(s.String(), "and 10 more") {
			t.Errorf("the table:\n%s", s)
		}
		return all
	}
	first, low := run(1), 0
	if !slices.Equal(first, run(1)) || slices.Equal(first, run(2)) {
		t.Error("the seed decides nothing, or not alone")
	}
	for _, c := range first {
		if c.Ridge < 0.01 || c.Ridge >= 100 || c.Iterations < 30 || c.Iterations > 32 {
			t.Errorf("drawn: %v", c)
		}
		if c.Ridge < 1 {
			low++
		}
	}
	if low < 8 || low > 22 {
		t.Errorf("%d of 30 are below the middle of the magnitudes", low)
	}
	for name, draw := range map[string]ml.Draw{"no values": ml.OneOf(), "ends": ml.Uniform(2, 1), "logs": ml.LogUniform(0, 1), "whole": ml.Whole(2, 1)} {
		if _, err := ml.RandomSearch(t.Context(), d, folds, linear.Config{}, ml.Draws{"Ridge": draw}, 3, 1, learn, ml.SearchConfig{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestSearchEnds with its context, and keeps what was scored before.
func TestSearchEnds(t *testing.T) {
	d, want := binary(t)
	folds, err := ml.KFold(d, want.K, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := ml.GridSearch(ctx, d, folds, linear.Config{}, ml.Grid{"Ridge": {1.0, 2.0, 3.0}},
		func(ctx context.Context, train *ml.Dataset, c any) (ml.Model, error) {
			return linear.FitLogistic(train, c.(linear.Config))
		},
		ml.SearchConfig{Progress: func(done, _ int) {
			if done == want.K+1 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "settings Ridge=2") || len(s.Candidates) != 1 {
		t.Errorf("got %v, %d candidates", err, len(s.Candidates))
	}
}

// TestMissingValues: a forest learns from them, is scored over folds, and what needs complete rows says so.
func TestMissingValues(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("a,b,y\n")
	for i := range 90 {
		a := strconv.Itoa(i % 10)
		if i%3 == 0 {
			a = "NA"
		}
		text.WriteString(a + "," + strconv.Itoa(i%3) + "," + strconv.FormatBool(i%3 == 0 || i%10 > 6) + "\n")
	}
	path := filepath.Join(t.TempDir(), "holes.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := ml.OpenCSV(path, ml.Roles{Label: "y", Missing: true})
	if err != nil {
		t.Fatal(err)
	}
	folds, err := ml.StratifiedKFold(d, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	cv, err := ml.CrossValidate(t.Context(), d, folds, forests)
	if err != nil || cv.Scores[0].Mean < 0.95 {
		t.Errorf("forests: got %v, %v", cv, err)
	}
	if _, err := ml.CrossValidate(t.Context(), d, folds, logistic); err == nil || !strings.Contains(err.Error(), "is missing, and this model takes complete rows") {
		t.Errorf("regressions: got %v", err)
	}
}
