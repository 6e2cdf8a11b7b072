package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/ml/tree"
)

// tolerance is by how much an answer may be off: float32 has seven digits, and onnxruntime adds up in float32.
const tolerance = 1e-6

// answer is what testdata/models.py writes of a model.
type answer struct {
	Kind  string
	Rows  [][]*float64 // nil: missing
	Want  [][]float64  // by onnxruntime
	Error string       // why the model is refused; empty: it is read
}

func readAnswers(t testing.TB, dir string) map[string]answer {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "answers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]answer
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// ask opens a model and returns its answers for some rows.
func ask(path, kind string, rows [][]*float64) (got [][]float64, err error) {
	var classifier *forest.Classifier
	var regressor *forest.Regressor
	if kind == "classifier" {
		classifier, err = OpenClassifier(path)
	} else {
		regressor, err = OpenRegressor(path)
	}
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		narrow := make([]float32, len(row))
		for k, v := range row {
			if narrow[k] = float32(math.NaN()); v != nil {
				narrow[k] = float32(*v)
			}
		}
		if regressor != nil {
			got = append(got, []float64{regressor.Value(narrow)})
			continue
		}
		p := make([]float64, len(classifier.Classes))
		classifier.ProbaTo(p, narrow)
		got = append(got, p)
	}
	return got, nil
}

// compare compares answers row by row.
func compare(t *testing.T, name string, got, want [][]float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Errorf("%s: %d answers, want %d", name, len(got), len(want))
		return
	}
	for i := range want {
		if !slices.EqualFunc(got[i], want[i], func(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(b)) }) {
			t.Errorf("%s: row %d: got %v, want %v", name, i, got[i], want[i])
			return
		}
	}
}

// checkModels reads each model of a folder that models.py has filled.
func checkModels(t *testing.T, dir string) {
	all := readAnswers(t, dir)
	if len(all) < 25 {
		t.Errorf("%d models: answers.json is not whole", len(all))
	}
	for name, a := range all {
		got, err := ask(filepath.Join(dir, name+".onnx"), a.Kind, a.Rows)
		switch {
		case a.Error == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case a.Error == "":
			compare(t, name, got, a.Want)
		case err == nil || !strings.Contains(err.Error(), a.Error) || !strings.Contains(err.Error(), name+".onnx"):
			t.Errorf("%s: got %v, want an error with %q and the file's name", name, err, a.Error)
		}
	}
}

// TestModels: what scikit-learn has trained and skl2onnx has written answers as onnxruntime does, at thresholds too; what no forest equals is
// refused with the reason.
func TestModels(t *testing.T) { checkModels(t, "testdata") }

// TestNames: labels and names of columns come from where the model has them.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, classes, features string
	}{
		{"forest", "[0 1 2]", "[x0 x1 x2 x3]"},
		{"forest-words", "[away draw home]", "[x0 x1 x2 x3]"},
		{"columns", "[0 1 2]", "[a b c d]"},
	} {
		f, err := OpenClassifier(filepath.Join("testdata", test.name+".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(f.Classes) != test.classes || fmt.Sprint(f.Features) != test.features {
			t.Errorf("%s: got %v of %v", test.name, f.Classes, f.Features)
		}
	}
}

// grown returns forests of our own, by kind: of three, of two classes, whole numbers as names, thresholds of float64, numbers; and rows to ask.
func grown(t testing.TB, trees int) (classifiers map[string]*forest.Classifier, regressors map[string]*forest.Regressor, rows [][]float64) {
	t.Helper()
	const day = 1_700_000_000.0 // Unix times, a second apart: float32 does not tell them apart
	var plain, exact [][]float64
	var labels []int
	var targets []float64
	state := uint64(7)
	draw := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>40) / (1 << 24)
	}
	for range 300 {
		a, b, c := 4*draw()-2, math.Round(20*draw()), draw()
		plain, exact = append(plain, []float64{float64(float32(a)), b, float64(float32(c))}), append(exact, []float64{day + math.Round(200*draw()), b, c})
		labels = append(labels, min(2, int(math.Abs(a+b/10+draw()/2))))
		targets = append(targets, 100*a+b*c)
	}
	data := func(rows [][]float64, classes ...string) *ml.Dataset {
		d, err := ml.FromRows([]string{"shots", "minute", `a "b", é`}, rows)
		if err != nil {
			t.Fatal(err)
		}
		d.Targets = targets
		for _, k := range labels {
			d.Labels = append(d.Labels, min(k, len(classes)-1))
		}
		if d.Classes = classes; len(classes) == 0 {
			d.Labels = nil
		}
		return d
	}
	classifiers, regressors = map[string]*forest.Classifier{}, map[string]*forest.Regressor{}
	for name, d := range map[string]*ml.Dataset{
		"three": data(plain, "home", "draw", "away"), "two": data(plain, "lost", "won"), "numbered": data(plain, "-1", "0", "7"), "exact": data(exact, "home", "draw", "away"),
	} {
		f, err := forest.FitClassifier(t.Context(), d, forest.Config{Trees: trees, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		classifiers[name] = f
	}
	holes := data(plain, "home", "draw", "away")
	holes.Values, holes.Missing = slices.Clone(holes.Values), true
	for i := range holes.Rows() {
		if k := holes.Labels[i]; k < 2 && i%3 != 0 { // what is missing tells something
			holes.Row(i)[k] = float32(math.NaN())
		}
	}
	f, err := forest.FitClassifier(t.Context(), holes, forest.Config{Trees: trees, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	classifiers["missing"] = f
	for name, d := range map[string]*ml.Dataset{"numbers": data(plain), "exact-numbers": data(exact)} {
		f, err := forest.FitRegressor(t.Context(), d, forest.Config{Trees: trees, MinSamplesLeaf: 2, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		regressors[name] = f
	}
	return classifiers, regressors, plain
}

// rowsFor are the rows to ask a forest of grown for: of exact ones as it learned, of one that knows missing values some that lack a number.
func rowsFor(name string, rows [][]float64) [][]float64 {
	switch {
	case strings.HasPrefix(name, "exact"):
		return exactRows(rows)
	case name == "missing":
		rows = slices.Clone(rows)
		for i := range rows {
			if rows[i] = slices.Clone(rows[i]); i%4 < 2 {
				rows[i][i%4] = math.NaN()
			}
		}
	}
	return rows
}

// exactRows are rows like those that the exact forests learned from.
func exactRows(rows [][]float64) (out [][]float64) {
	for i, row := range rows {
		out = append(out, []float64{1_700_000_000 + float64(i%200), row[1], row[2]})
	}
	return out
}

// answers returns a forest's answers for rows with all their digits.
func classifierAnswers(t testing.TB, f *forest.Classifier, rows [][]float64) (out [][]float64) {
	t.Helper()
	for _, row := range rows {
		p := make([]float64, len(f.Classes))
		for _, tr := range f.Trees() {
			for k, v := range tr.LeafExact(row) {
				p[k] += v / float64(len(f.Trees()))
			}
		}
		out = append(out, p)
	}
	return out
}

func regressorAnswers(t testing.TB, f *forest.Regressor, rows [][]float64) (out [][]float64) {
	t.Helper()
	for _, row := range rows {
		sum := 0.0
		for _, tr := range f.Trees() {
			sum += tr.LeafExact(row)[0] / float64(len(f.Trees()))
		}
		out = append(out, []float64{sum})
	}
	return out
}

// TestRoundTrip: a forest of ours that was saved is read with its names, and answers the same.
func TestRoundTrip(t *testing.T) {
	classifiers, regressors, rows := grown(t, 20)
	dir := t.TempDir()
	for name, f := range classifiers {
		path := filepath.Join(dir, "models", name+".onnx")
		if err := SaveClassifier(path, f); err != nil {
			t.Fatal(err)
		}
		back, err := OpenClassifier(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(back.Classes, f.Classes) || !slices.Equal(back.Features, f.Features) || back.Nodes() != f.Nodes() {
			t.Errorf("%s: got %v of %v, %d nodes", name, back.Classes, back.Features, back.Nodes())
		}
		if (back.Trees()[0].Exact != nil) != (name == "exact") || (back.Trees()[0].MissingLeft != nil) != (name == "missing") {
			t.Errorf("%s: exact thresholds %v, missing values %v", name, back.Trees()[0].Exact != nil, back.Trees()[0].MissingLeft != nil)
		}
		rows := rowsFor(name, rows)
		compare(t, name, classifierAnswers(t, back, rows), classifierAnswers(t, f, rows))
	}
	for name, f := range regressors {
		path := filepath.Join(dir, name+".onnx")
		if err := SaveRegressor(path, f); err != nil {
			t.Fatal(err)
		}
		back, err := OpenRegressor(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows := rowsFor(name, rows)
		compare(t, name, regressorAnswers(t, back, rows), regressorAnswers(t, f, rows))
		if _, err := OpenClassifier(path); err == nil || !strings.Contains(err.Error(), "open it as the other kind") {
			t.Errorf("%s as classes: got %v", name, err)
		}
	}
}

// TestSaveRefuses: a forest of one class, or of numbers beyond float32, has no form in ONNX.
func TestSaveRefuses(t *testing.T) {
	d := &ml.Dataset{Features: []string{"a"}, Values: []float32{1, 2}, Classes: []string{"only"}, Labels: []int{0, 0}}
	f, err := forest.FitClassifier(t.Context(), d, forest.Config{Trees: 2})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "one.onnx")
	if err := SaveClassifier(path, f); err == nil || !strings.Contains(err.Error(), "one class") {
		t.Errorf("got %v", err)
	}
	large := &tree.Tree{Nodes: []tree.Node{{Feature: -1}}, Values: []float64{1e39}, Columns: 1, Outputs: 1}
	r, err := forest.NewRegressor([]string{"a"}, []*tree.Tree{large})
	if err != nil {
		t.Fatal(err)
	}
	if err := SaveRegressor(path, r); err == nil || !strings.Contains(err.Error(), "answers with 1e+39") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
}

// TestRuntime: scikit-learn's forests of full depth, by skl2onnx of today, answer here as in onnxruntime, and ours answer there as here. make
// onnx fetches them.
func TestRuntime(t *testing.T) {
	python := os.Getenv("CANCHA_ONNX_PYTHON")
	if python == "" {
		t.Skip("CANCHA_ONNX_PYTHON names no Python with testdata/requirements.txt; make onnx makes one")
	}
	theirs := t.TempDir()
	run(t, python, "testdata/models.py", theirs, "40", "0")
	checkModels(t, theirs)

	classifiers, regressors, rows := grown(t, 100)
	ours := t.TempDir()
	want := map[string][][]float64{}
	save := func(name string, rows [][]float64, err error) {
		if err != nil {
			t.Fatal(err)
		}
		asked := make([][]*float64, len(rows)) // nil: missing
		for i, row := range rows {
			asked[i] = make([]*float64, len(row))
			for k := range row {
				if row[k] == row[k] {
					asked[i][k] = &row[k]
				}
			}
		}
		text, err := json.Marshal(asked)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(ours, name+".json"), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range classifiers {
		want[name] = classifierAnswers(t, f, rowsFor(name, rows))
		save(name, rowsFor(name, rows), SaveClassifier(filepath.Join(ours, name+".onnx"), f))
	}
	for name, f := range regressors {
		want[name] = regressorAnswers(t, f, rowsFor(name, rows))
		save(name, rowsFor(name, rows), SaveRegressor(filepath.Join(ours, name+".onnx"), f))
	}
	var got map[string]struct {
		Labels  []string
		Answers [][]float64
	}
	if err := json.Unmarshal(run(t, python, "testdata/runtime.py", ours), &got); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		compare(t, "onnxruntime, "+name, got[name].Answers, want[name])
	}
	for name, f := range classifiers {
		for i, p := range got[name].Answers {
			if k := slices.Index(f.Classes, got[name].Labels[i]); k < 0 || p[k] < slices.Max(p)-tolerance { // two may be equal but for rounding
				t.Errorf("onnxruntime, %s: row %d is %q of %v", name, i, got[name].Labels[i], p)
				break
			}
		}
	}
}

// run runs a script and returns what it prints.
func run(t *testing.T, python string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), python, append([]string{"-W", "ignore"}, args...)...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said.String())
	}
	t.Logf("%.200s", out)
	return out
}
