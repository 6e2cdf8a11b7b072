package mllib

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
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

// tolerance is by how much an answer may differ from Spark's: sums are rounded in another order. Answers are about 1, or up to some thousands.
const tolerance = 1e-12

// answered is what testdata/models.py says of a model.
type answered struct {
	Kind       string
	Error      string
	Rows       [][]float64
	Want       [][]float64
	Prediction []float64
	Importance []float64
}

// ask returns the answers of a forest for rows, with all their digits, and its class or number for each.
func ask(t testing.TB, f any, rows [][]float64) (answers [][]float64, prediction []float64) {
	t.Helper()
	var features []string
	switch f := f.(type) {
	case *forest.Classifier:
		features = f.Features
	case *forest.Regressor:
		features = f.Features
	}
	d, err := ml.FromRows(features, rows)
	if err != nil {
		t.Fatal(err)
	}
	switch f := f.(type) {
	case *forest.Classifier:
		if answers, err = f.PredictProba(t.Context(), d); err == nil {
			for _, k := range ml.MostProbable(answers) {
				prediction = append(prediction, float64(k))
			}
		}
	case *forest.Regressor:
		if prediction, err = f.Predict(t.Context(), d); err == nil {
			for _, v := range prediction {
				answers = append(answers, []float64{v})
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return answers, prediction
}

// compare reports the largest difference between answers, and fails where it is above the tolerance or a prediction is another class.
func compare(t testing.TB, name string, kind string, got, want [][]float64, gotPrediction, wantPrediction []float64) {
	t.Helper()
	worst, other := 0.0, 0
	for i := range want {
		for k := range want[i] {
			worst = max(worst, math.Abs(got[i][k]-want[i][k])/max(1, math.Abs(want[i][k])))
		}
		if kind == "classifier" && gotPrediction[i] != wantPrediction[i] {
			other++
		}
	}
	if len(got) != len(want) || len(want) == 0 || !(worst <= tolerance) || other > 0 {
		t.Errorf("%s: %d answers for %d, the largest difference %.3g, %d other classes", name, len(got), len(want), worst, other)
	}
	t.Logf("%s: %d rows, the largest difference %.3g, %d other classes", name, len(want), worst, other)
}

// openKind opens a model by its kind.
func openKind(dir, kind string) (any, error) {
	if kind == "classifier" {
		return OpenClassifier(dir)
	}
	return OpenRegressor(dir)
}

// checkModels opens the models of a directory, which models.py has made, and compares their answers.
func checkModels(t *testing.T, dir string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(all) < 10 {
		t.Fatalf("%d models in %s: %v", len(all), dir, err)
	}
	for _, path := range all {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		var a answered
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		f, err := openKind(strings.TrimSuffix(path, ".json"), a.Kind)
		switch {
		case a.Error == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case a.Error == "":
			got, prediction := ask(t, f, a.Rows)
			compare(t, name, a.Kind, got, a.Want, prediction, a.Prediction)
			checkImportance(t, name, f, a.Importance)
			logSize(t, strings.TrimSuffix(path, ".json"), f)
		case err == nil || !strings.Contains(err.Error(), a.Error) || !strings.Contains(err.Error(), name):
			t.Errorf("%s: got %v, want an error with %q and the directory's name", name, err, a.Error)
		}
	}
}

// logSize says how much larger a forest has become by thresholds in place of sets of categories.
func logSize(t *testing.T, dir string, f any) {
	t.Helper()
	m, err := readMetadata(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := readTable(os.DirFS(dir), m.NumClasses, m.Class == treeClassification || m.Class == treeRegression)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d nodes in Spark, %d here", filepath.Base(dir), theirs.Nodes(), f.(interface{ Nodes() int }).Nodes())
}

// checkImportance compares importances with Spark's featureImportances.
func checkImportance(t *testing.T, name string, f any, want []float64) {
	t.Helper()
	got := f.(interface{ Importance() []float64 }).Importance()
	for k, v := range want {
		if !(math.Abs(got[k]-v) <= tolerance) {
			t.Errorf("%s: importances %v, want %v", name, got, want)
			return
		}
	}
}

// TestModels: what Spark 4.0.0 has trained and saved answers as it does in Spark, at thresholds too; what no forest equals is refused with the reason.
func TestModels(t *testing.T) { checkModels(t, "testdata/saved") }

// grown returns forests of our own: by rows of float32, by rows that need float64, of classes and of numbers; and rows to ask.
func grown(t testing.TB, trees int) (classifiers map[string]*forest.Classifier, regressors map[string]*forest.Regressor, rows map[string][][]float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	const day = 1_700_000_000.0 // Unix times, a second apart: float32 does not tell them apart
	plain, exact := [][]float64{}, [][]float64{}
	var labels []int
	var targets []float64
	for range 400 {
		a, b := float64(float32(r.NormFloat64())), float64(r.IntN(20))
		plain, exact = append(plain, []float64{a, b, float64(float32(r.Float64()))}), append(exact, []float64{day + float64(r.IntN(200)), a, b})
		labels, targets = append(labels, min(2, int(math.Abs(a+b/10)))), append(targets, 100*a+b)
	}
	data := func(rows [][]float64, classes ...string) *ml.Dataset {
		d, err := ml.FromRows([]string{"shots", "minute", `a "b", é`}, rows)
		if err != nil {
			t.Fatal(err)
		}
		d.Classes, d.Targets = classes, targets
		for _, k := range labels {
			if classes != nil {
				d.Labels = append(d.Labels, k*len(classes)/3)
			}
		}
		return d
	}
	many := make([]string, 40)
	for k := range many {
		many[k] = "class " + string(rune('A'+k))
	}
	classifiers, regressors = map[string]*forest.Classifier{}, map[string]*forest.Regressor{}
	rows = map[string][][]float64{}
	for name, d := range map[string]*ml.Dataset{"three": data(plain, "home", "draw", "away"), "two": data(plain, "lost", "won"), "many": data(plain, many...), "exact": data(exact, "home", "draw", "away")} {
		f, err := forest.FitClassifier(t.Context(), d, forest.Config{Trees: trees, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		classifiers[name], rows[name] = f, near(f.Trees(), r, plain)
	}
	for name, d := range map[string]*ml.Dataset{"numbers": data(plain), "exact-numbers": data(exact)} {
		f, err := forest.FitRegressor(t.Context(), d, forest.Config{Trees: trees, MinSamplesLeaf: 2, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		regressors[name], rows[name] = f, near(f.Trees(), r, plain)
	}
	for _, name := range []string{"exact", "exact-numbers"} {
		rows[name] = exact
	}
	return classifiers, regressors, rows
}

// near returns rows and others that have the thresholds of splits in them, and what rounds to them.
func near(trees []*tree.Tree, r *rand.Rand, rows [][]float64) (all [][]float64) {
	all = slices.Clone(rows)
	for _, t := range trees {
		for i, n := range t.Nodes {
			if n.Feature < 0 {
				continue
			}
			low := n.Threshold
			high := math.Nextafter32(low, float32(math.Inf(1)))
			half := float64(low)/2 + float64(high)/2
			for _, v := range []float64{float64(low), half, math.Nextafter(half, math.Inf(1)), math.Nextafter(half, math.Inf(-1)), float64(high)} {
				row := slices.Clone(rows[r.IntN(len(rows))])
				row[n.Feature] = v
				all = append(all, row)
			}
			if i > 30 {
				break
			}
		}
	}
	return all
}

// direct are a forest's answers by its trees alone. Trees without exact thresholds round rows to float32.
func direct(trees []*tree.Tree, rows [][]float64) (out [][]float64) {
	for _, row := range rows {
		sum := make([]float64, trees[0].Outputs)
		for _, tr := range trees {
			for k, v := range tr.LeafExact(row) {
				sum[k] += v / float64(len(trees))
			}
		}
		out = append(out, sum)
	}
	return out
}

// TestRoundTrip: a forest of ours that was saved is read with its names, and gives the same answers to rows that float32 would round.
func TestRoundTrip(t *testing.T) {
	classifiers, regressors, rows := grown(t, 10)
	dir := t.TempDir()
	for name, f := range classifiers {
		path := filepath.Join(dir, "models", name)
		if err := SaveClassifier(path, f); err != nil {
			t.Fatal(err)
		}
		back, err := OpenClassifier("file://" + path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(back.Classes, f.Classes) || !slices.Equal(back.Features, f.Features) || back.Nodes() != f.Nodes() {
			t.Errorf("%s: got %v of %v, %d nodes", name, back.Classes, back.Features, back.Nodes())
		}
		got, want := direct(back.Trees(), rows[name]), direct(f.Trees(), rows[name])
		compare(t, name, "", got, want, nil, nil)
	}
	for name, f := range regressors {
		path := filepath.Join(dir, name)
		if err := SaveRegressor("file://"+path, f); err != nil {
			t.Fatal(err)
		}
		back, err := OpenRegressor("file:" + path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compare(t, name, "", direct(back.Trees(), rows[name]), direct(f.Trees(), rows[name]), nil, nil)
		if m, err := readMetadata(os.DirFS(path)); err != nil || string(m.ParamMap["numTrees"]) != "10" || string(m.ParamMap["impurity"]) != `"variance"` {
			t.Errorf("%s: Spark divides by the parameter numTrees, and finds %s; %v", name, m.ParamMap, err)
		}
		if _, err := OpenClassifier(path); err == nil || !strings.Contains(err.Error(), "open it as the other kind") {
			t.Errorf("%s as classes: got %v", name, err)
		}
	}
}

// TestThreshold: a split that compares what was rounded to float32 sends each float64 where the threshold that is written does.
func TestThreshold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 16777216}
	for range 1000 {
		if v := math.Float32frombits(r.Uint32()); v-v == 0 {
			values = append(values, v)
		}
	}
	for _, low := range values {
		tr := &tree.Tree{Nodes: []tree.Node{{Threshold: low, Left: 1, Right: 2}, {Feature: -1}, {Feature: -1, Left: 1}}, Values: []float64{0, 1}, Columns: 1, Outputs: 1}
		v := threshold(tr, 0)
		for _, x := range []float64{v, math.Nextafter(v, math.Inf(1)), math.Nextafter(v, math.Inf(-1)), float64(low)} {
			if got, want := x > v, tr.LeafExact([]float64{x})[0] == 1; got != want {
				t.Errorf("threshold %v becomes %v: %v goes right %v, want %v", low, v, x, got, want)
			}
		}
	}
}

// TestSaveRefuses: what Spark would answer otherwise, and what is in the way; nothing is left behind.
func TestSaveRefuses(t *testing.T) {
	dir := t.TempDir()
	stump := &tree.Tree{Nodes: []tree.Node{{Threshold: 1, Left: 1, Right: 2}, {Feature: -1}, {Feature: -1, Left: 1}}, Values: []float64{0, 1}, Columns: 1, Outputs: 1}
	lacking := *stump
	lacking.MissingLeft = []bool{true, false, false}
	save := func(tr *tree.Tree, path string) error {
		f, err := forest.NewRegressor([]string{"shots"}, []*tree.Tree{tr})
		if err != nil {
			t.Fatal(err)
		}
		return SaveRegressor(path, f)
	}
	if err := save(&lacking, filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), `lack "shots"`) {
		t.Errorf("missing numbers to the left: got %v", err)
	}
	lacking.MissingLeft = make([]bool, 3)
	if err := save(&lacking, filepath.Join(dir, "b")); err != nil {
		t.Errorf("missing numbers to the right: got %v", err)
	}
	if err := save(stump, filepath.Join(dir, "b")); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("twice: got %v", err)
	}
	if err := SaveRegressor(filepath.Join(dir, "c"), &forest.Regressor{}); err == nil || !strings.Contains(err.Error(), "without trees") {
		t.Errorf("no trees: got %v", err)
	}
	t.Chdir(t.TempDir())
	if err := save(stump, "s3a://bucket/d"); err == nil || !strings.Contains(err.Error(), "hadoop fs -put DIRECTORY s3a://bucket/d") {
		t.Errorf("another file system: got %v", err)
	}
	if here, err := os.ReadDir("."); err != nil || len(here) != 0 {
		t.Errorf("another file system: %v is here, %v", here, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := save(stump, filepath.Join(dir, "file", "d")); err == nil {
		t.Error("below a file: no error")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// TestWriteFails: a disk that takes no more leaves no model.
func TestWriteFails(t *testing.T) {
	m := model{metadata: metadata{Class: forestRegression, FeatureNames: []string{"a"}}, impurity: "variance", kind: "rfr", leaf: meanOf, trees: []*tree.Tree{
		{Nodes: []tree.Node{{Feature: -1}}, Values: []float64{1}, Columns: 1, Outputs: 1}}}
	full := filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(full, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(full, "data"), nil, 0o666); err != nil { // where a folder is to be
		t.Fatal(err)
	}
	if err := m.write(full); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
}

// TestSpark: models of Spark of today, of full size, answer here as there, and ours answer there as here. make mllib fetches PySpark.
func TestSpark(t *testing.T) {
	python := os.Getenv("CANCHA_SPARK_PYTHON")
	if python == "" {
		t.Skip("CANCHA_SPARK_PYTHON names no Python with testdata/requirements.txt; make mllib makes one")
	}
	t.Run("theirs", func(t *testing.T) {
		dir := t.TempDir()
		script(t, python, "testdata/models.py", dir, "20", "8", "20000")
		checkModels(t, dir)
	})
	t.Run("ours", func(t *testing.T) { checkOurs(t, python) })
}

// checkOurs has Spark load our forests, answer by them and save them, and opens what it has saved.
func checkOurs(t *testing.T, python string) {
	classifiers, regressors, rows := grown(t, 30)
	dir := t.TempDir()
	kinds, trees := map[string]string{}, map[string][]*tree.Tree{}
	for name, f := range classifiers {
		kinds[name], trees[name] = "classifier", f.Trees()
		saveRows(t, dir, name, "classifier", rows[name], SaveClassifier(filepath.Join(dir, name), f))
	}
	for name, f := range regressors {
		kinds[name], trees[name] = "regressor", f.Trees()
		saveRows(t, dir, name, "regressor", rows[name], SaveRegressor(filepath.Join(dir, name), f))
	}
	var got map[string]struct{ Answers [][]float64 }
	if err := json.Unmarshal(script(t, python, "testdata/load.py", dir), &got); err != nil {
		t.Fatal(err)
	}
	for name, kind := range kinds {
		want := direct(trees[name], rows[name])
		compare(t, "Spark, "+name, "", got[name].Answers, want, nil, nil)
		again, err := openKind(filepath.Join(dir, name+".again"), kind)
		if err != nil {
			t.Errorf("%s, written by Spark: %v", name, err)
			continue
		}
		compare(t, "written by Spark, "+name, "", direct(again.(interface{ Trees() []*tree.Tree }).Trees(), rows[name]), want, nil, nil)
	}
}

// saveRows writes the rows that a model is asked for beside it.
func saveRows(t *testing.T, dir, name, kind string, rows [][]float64, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"kind": kind, "rows": rows})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// script runs a script and returns what it prints.
func script(t *testing.T, python string, args ...string) []byte {
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
