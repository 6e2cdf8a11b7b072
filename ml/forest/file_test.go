package forest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cancha/ml"
	"cancha/ml/modelfile"
	"cancha/ml/tree"
)

// stored returns a file with a small classifier under "c" and a regressor under "r".
func stored(t *testing.T) (*Classifier, *Regressor, *modelfile.File) {
	t.Helper()
	train, _ := table()
	c, err := FitClassifier(t.Context(), train, Config{Trees: 3, MaxDepth: 4})
	if err != nil {
		t.Fatal(err)
	}
	r, err := FitRegressor(t.Context(), train, Config{Trees: 2, MaxDepth: 3})
	if err != nil {
		t.Fatal(err)
	}
	return c, r, encoded(t, c, r)
}

// TestStoreWithoutGain: importances of splits that gain nothing may be a rounding error below 0, and the model is read again all the same.
func TestStoreWithoutGain(t *testing.T) {
	var rows [][]float64
	d := &ml.Dataset{}
	for cell := range 4 {
		for range 5 {
			rows = append(rows, []float64{float64(cell & 1), float64(cell >> 1)})
			d.Labels, d.Weights = append(d.Labels, cell&1^cell>>1), append(d.Weights, 0.3)
		}
	}
	table, err := ml.FromRows([]string{"a", "b"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	table.Labels, table.Weights, table.Classes = d.Labels, d.Weights, []string{"no", "yes"}
	for seed := range uint64(40) {
		c, err := FitClassifier(t.Context(), table, Config{Trees: 3, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(c.Importance(), func(v float64) bool { return v < 0 }); i >= 0 {
			t.Errorf("seed %d: the importance of column %d is %v", seed, i, c.Importance()[i])
		}
		file := &modelfile.File{Kind: "test", Version: 1}
		if err := c.Store(file, "c"); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadClassifier(file, "c"); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// encoded returns a file that went through bytes.
func encoded(t *testing.T, c *Classifier, r *Regressor) *modelfile.File {
	t.Helper()
	file := &modelfile.File{Kind: "test", Version: 1}
	if err := errors.Join(c.Store(file, "c"), r.Store(file, "r")); err != nil {
		t.Fatal(err)
	}
	data, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if file, err = modelfile.Decode(data); err != nil {
		t.Fatal(err)
	}
	return file
}

// stow returns what is read back from a file of two forests.
func stow(t *testing.T, c *Classifier, r *Regressor) (*Classifier, *Regressor) {
	t.Helper()
	file := encoded(t, c, r)
	c, err := LoadClassifier(file, "c")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = LoadRegressor(file, "r"); err != nil {
		t.Fatal(err)
	}
	return c, r
}

func TestStoredForestAnswersTheSame(t *testing.T) {
	c, r, file := stored(t)
	_, test := table()
	c2, err := LoadClassifier(file, "c")
	if err != nil {
		t.Fatal(err)
	}
	r2, err := LoadRegressor(file, "r")
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]float64, 3), make([]float64, 3)
	for i := range test.Rows() {
		c2.ProbaTo(got, test.Row(i))
		c.ProbaTo(want, test.Row(i))
		if !slices.Equal(got, want) || r.Value(test.Row(i)) != r2.Value(test.Row(i)) {
			t.Fatalf("row %d: got %v, want %v", i, got, want)
		}
	}
	if !slices.Equal(c2.Classes, c.Classes) || !slices.Equal(c2.Features, c.Features) || !slices.Equal(c2.Importance(), c.Importance()) {
		t.Error("classes, features or importance differ")
	}
}

func TestLoadRefusesWhatDoesNotFit(t *testing.T) {
	_, _, file := stored(t)
	if _, err := LoadClassifier(file, "r"); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("a regression read as classes: got %v", err)
	}
	if _, err := LoadRegressor(file, "absent"); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("absent forest: got %v", err)
	}
	if _, err := LoadRegressor(file, "c"); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("classes read as a regression: got %v", err)
	}
	left, err := file.Int32("r.left")
	if err != nil {
		t.Fatal(err)
	}
	left[0] = 0 // the root leads to itself
	if _, err := LoadRegressor(file, "r"); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("a tree that never ends: got %v", err)
	}
}

// TestLoadRefusesNumbersThatAreNone spoils one number of a stored forest at a time.
func TestLoadRefusesNumbersThatAreNone(t *testing.T) {
	nan := math.NaN()
	for name, spoil := range map[string]func(*tree.Tree, *ensemble){
		"threshold":  func(tr *tree.Tree, _ *ensemble) { tr.Nodes[0].Threshold = float32(nan) },
		"answer":     func(tr *tree.Tree, _ *ensemble) { tr.Values[0] = nan },
		"shares":     func(tr *tree.Tree, _ *ensemble) { clear(tr.Values) },
		"negative":   func(tr *tree.Tree, _ *ensemble) { tr.Values[0], tr.Values[1], tr.Values[2] = -1, 1, 1 },
		"importance": func(_ *tree.Tree, e *ensemble) { e.importance[0] = nan },
		"most of it": func(_ *tree.Tree, e *ensemble) { e.importance[0] = 7 },
	} {
		c, r, _ := stored(t)
		spoil(c.trees[1], &c.ensemble)
		if _, err := LoadClassifier(encoded(t, c, r), "c"); !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	c, r, _ := stored(t)
	c.Features = slices.Repeat([]string{"a"}, 8)
	if _, err := LoadClassifier(encoded(t, c, r), "c"); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("features of one name: got %v", err)
	}
}

// TestLoadReadsOlderFiles reads leaves that were written as float32.
func TestLoadReadsOlderFiles(t *testing.T) {
	file := &modelfile.File{Kind: "test", Version: 1}
	if err := file.SetMeta("r", fileMeta{Features: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]int32{"nodes": 1, "values": 1, "feature": -1, "left": 0, "right": 0} {
		file.SetInt32("r."+name, []int32{v})
	}
	file.SetFloat32("r.threshold", []float32{0})
	file.SetFloat32("r.value", []float32{1.5})
	file.SetFloat64("r.importance", []float64{0})
	r, err := LoadRegressor(file, "r")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Value([]float32{7}); got != 1.5 {
		t.Errorf("got %v, want 1.5", got)
	}
}

// FuzzLoad puts foreign numbers into the arrays of a forest: what is accepted must answer, and end.
func FuzzLoad(f *testing.F) {
	f.Add([]byte{0, 255, 255}, []byte{1, 0, 1}, []byte{2, 0, 0}, byte(3), byte(2))
	f.Add([]byte{255}, []byte{0}, []byte{0}, byte(1), byte(1))
	f.Fuzz(func(t *testing.T, feature, left, right []byte, nodes, values byte) {
		file := &modelfile.File{Kind: "test", Version: 1}
		if err := file.SetMeta("f", fileMeta{Features: []string{"a", "b"}}); err != nil {
			t.Fatal(err)
		}
		file.SetInt32("f.nodes", []int32{int32(int8(nodes))})
		file.SetInt32("f.values", []int32{int32(int8(values))})
		file.SetInt32("f.feature", signed(feature))
		file.SetInt32("f.left", signed(left))
		file.SetInt32("f.right", signed(right))
		file.SetFloat32("f.threshold", make([]float32, len(feature)))
		file.SetFloat64("f.value", make([]float64, max(int(int8(values)), 0)))
		file.SetFloat64("f.importance", make([]float64, 2))
		forest, err := LoadRegressor(file, "f")
		if err != nil {
			return
		}
		for _, row := range [][]float32{{-1, -1}, {1, 1}, {-1, 1}} {
			forest.Value(row)
		}
		if _, err := forest.Predict(t.Context(), &ml.Dataset{Features: []string{"a", "b"}, Values: []float32{1, -1}}); err != nil {
			t.Fatal(err)
		}
	})
}

func signed(b []byte) []int32 {
	out := make([]int32, len(b))
	for i, v := range b {
		out[i] = int32(int8(v))
	}
	return out
}
