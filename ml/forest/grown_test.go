package forest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/tree"
)

// TestOutOfBag does by hand what OOB does: each row is answered by the trees that did not draw its group.
func TestOutOfBag(t *testing.T) {
	train, test := table()
	c := Config{Trees: 20, ByGroup: true, OOB: true, Seed: 3}
	f, err := FitClassifier(t.Context(), train, c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGrower(t.Context(), train, must(c.normalize(true)))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.adopt(t, f); err != nil {
		t.Fatal(err)
	}
	sums := make([][]float64, train.Rows())
	for i, tr := range f.Trees() {
		draws := g.bootstrap.draw(make([]uint16, train.Rows()), make([]uint16, g.bootstrap.units), g.seeds[i])
		for row, n := range draws {
			if n == 0 {
				sums[row] = add(sums[row], tr.Leaf(train.Row(row)))
			}
		}
	}
	right, answered := 0, 0
	for row, p := range f.OOBProba {
		if sums[row] == nil {
			if !math.IsNaN(p[0]) {
				t.Fatalf("row %d, seen by all trees, has %v", row, p)
			}
			continue
		}
		normalize(sums[row])
		if !slices.Equal(p, sums[row]) {
			t.Fatalf("row %d: got %v, want %v", row, p, sums[row])
		}
		answered++
		if slices.Index(p, slices.Max(p)) == train.Labels[row] {
			right++
		}
	}
	if want := float64(right) / float64(answered); f.OOBScore != want || answered < 3900 {
		t.Errorf("score %v of %d rows, want %v", f.OOBScore, answered, want)
	}
	if score, err := f.Score(t.Context(), test); err != nil || math.Abs(score-f.OOBScore) > 0.05 {
		t.Errorf("out of bag %v, on other rows %v (%v)", f.OOBScore, score, err)
	}
	r, err := FitRegressor(t.Context(), train, Config{Trees: 30, OOB: true})
	if err != nil {
		t.Fatal(err)
	}
	if score, err := r.Score(t.Context(), test); err != nil || math.Abs(score-r.OOBScore) > 0.05 {
		t.Errorf("numbers: out of bag %v, on other rows %v (%v)", r.OOBScore, score, err)
	}
	if _, err := FitClassifier(t.Context(), train, Config{NoBootstrap: true, OOB: true}); err == nil {
		t.Error("a forest that sees all rows was asked out of bag")
	}
}

// adopt has the grower take the forest's trees, and know their seeds.
func (g *grower) adopt(t *testing.T, f *Classifier) error {
	g.builder, g.tree, g.from = tree.NewClassifier, g.config.tree(nil), f.trees
	return g.fit(t.Context(), "classifier")
}

func add(sums, answer []float64) []float64 {
	if sums == nil {
		sums = make([]float64, len(answer))
	}
	for k, v := range answer {
		sums[k] += v
	}
	return sums
}

// TestExtend: a forest that is extended, from memory or from a file, is the one that is grown at once.
func TestExtend(t *testing.T) {
	train, _ := table()
	c := Config{Trees: 12, MaxDepth: 6, Seed: 2, OOB: true}
	want := must(FitClassifier(t.Context(), train, c))
	few := c
	few.Trees = 5
	first := must(FitClassifier(t.Context(), train, few))
	got := must(first.Extend(t.Context(), train, c))
	if !reflect.DeepEqual(got.trees, want.trees) || !slices.Equal(got.Importance(), want.Importance()) || got.OOBScore != want.OOBScore || len(first.trees) != 5 {
		t.Error("the extended forest is another one")
	}
	path := filepath.Join(t.TempDir(), "forest")
	if err := first.Save(path); err != nil {
		t.Fatal(err)
	}
	got = must(must(OpenClassifier(path)).Extend(t.Context(), train, c))
	for i, tr := range got.trees {
		if !slices.Equal(tr.Nodes, want.trees[i].Nodes) || !slices.Equal(tr.Values, want.trees[i].Values) {
			t.Fatalf("tree %d of the forest from a file is another one", i)
		}
	}
	for k, v := range got.Importance() {
		if math.Abs(v-want.Importance()[k]) > 1e-12 {
			t.Errorf("importance %d is %v, want %v", k, v, want.Importance()[k])
		}
	}
	for _, tt := range []struct {
		change func(d *ml.Dataset, c *Config)
		want   string
	}{
		{func(d *ml.Dataset, c *Config) { c.Trees = 3 }, "5 trees cannot be extended to 3"},
		{func(d *ml.Dataset, c *Config) { d.Features = slices.Clone(d.Features); d.Features[0] = "z" }, "has features"},
		{func(d *ml.Dataset, c *Config) { d.Classes = []string{"x", "y", "z"} }, "has classes"},
	} {
		d, c := *train, c
		tt.change(&d, &c)
		if _, err := first.Extend(t.Context(), &d, c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
}

// TestExtendSharesWorkers: workers that are more than the trees still to grow share them, and whoever watches sees all trees done in the end.
func TestExtendSharesWorkers(t *testing.T) {
	train, _ := table()
	c := Config{Trees: 3, MaxDepth: 4, Workers: 6, Seed: 2}
	f := must(FitClassifier(t.Context(), train, c))
	c.Trees = 5
	g := must(newGrower(t.Context(), train, must(c.normalize(true))))
	if err := g.adopt(t, f); err != nil {
		t.Fatal(err)
	}
	if done := g.job.Work().Done; g.tree.Workers != 3 || done != 5 {
		t.Errorf("%d workers a tree, want 3; %d trees done, want 5", g.tree.Workers, done)
	}
	if want := must(FitClassifier(t.Context(), train, c)); !reflect.DeepEqual(g.trees, want.trees) {
		t.Error("the trees are others")
	}
}

// TestExtendWithOtherTrees: a forest whose trees grew on complete rows, and on rows that lack numbers, or elsewhere, is saved and opened as any other;
// the first trees answer as before.
func TestExtendWithOtherTrees(t *testing.T) {
	complete, test := table()
	holes, many := *complete, *complete
	holes.Missing, holes.Values = true, slices.Clone(complete.Values)
	for i := 0; i < len(holes.Values); i += 9 {
		holes.Values[i] = float32(math.NaN())
	}
	for k := range 40 {
		many.Classes = append(slices.Clip(many.Classes), fmt.Sprint("class ", k))
	}
	c := Config{Trees: 3, MaxDepth: 5}
	dense := &tree.Tree{Nodes: []tree.Node{{Feature: -1}}, Values: slices.Repeat([]float64{1. / 43}, 43), Columns: 8, Outputs: 43}
	for name, tt := range map[string]struct {
		first *Classifier
		then  *ml.Dataset
	}{
		"holes later": {must(FitClassifier(t.Context(), complete, c)), &holes}, "holes first": {must(FitClassifier(t.Context(), &holes, c)), complete},
		"dense leaves first": {must(NewClassifier(many.Features, many.Classes, []*tree.Tree{dense, dense})), &many},
	} {
		more := c
		more.Trees = 6
		f := must(tt.first.Extend(t.Context(), tt.then, more))
		path := filepath.Join(t.TempDir(), "forest")
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		again, err := OpenClassifier(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(must(again.PredictProba(t.Context(), test)), must(f.PredictProba(t.Context(), test))) {
			t.Errorf("%s: the forest answers otherwise once opened", name)
		}
		for i, tr := range tt.first.Trees() {
			if row := holes.Row(i); !slices.Equal(f.Trees()[i].Leaf(row), tr.Leaf(row)) {
				t.Errorf("%s: tree %d answers otherwise once extended", name, i)
			}
		}
	}
	rows := make([][]float64, 300)
	for i := range rows {
		rows[i] = []float64{1.7e9 + float64(i), 0, 0, 0, 0, 0, 0, 0}
	}
	exact := must(ml.FromRows(complete.Features, rows))
	exact.Classes, exact.Labels = complete.Classes, complete.Labels[:300]
	_, there := must(FitClassifier(t.Context(), complete, c)).Extend(t.Context(), exact, c)
	_, back := must(FitClassifier(t.Context(), exact, c)).Extend(t.Context(), complete, c)
	for _, err := range []error{there, back} {
		if err == nil || !strings.Contains(err.Error(), "grow all trees anew") {
			t.Errorf("exact values: got %v", err)
		}
	}
}

// TestManyClasses: leaves of many classes hold those that they have, in memory and on disk.
func TestManyClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	d := &ml.Dataset{Features: []string{"x", "y"}}
	for k := range 10_000 {
		d.Classes = append(d.Classes, fmt.Sprint("class ", k))
	}
	for range 20_000 {
		x, y := rng.Float64()*100, rng.Float64()*100
		d.Values = append(d.Values, float32(x), float32(y))
		d.Labels = append(d.Labels, 100*int(x)+int(y))
	}
	f := must(FitClassifier(t.Context(), d, Config{Trees: 3, MaxDepth: 8, MaxFeatures: All}))
	numbers := 0
	for _, tr := range f.Trees() {
		numbers += len(tr.Values)
	}
	if most := 3 * 20_000; numbers > most {
		t.Errorf("leaves hold %d numbers; of %d rows they can hold %d", numbers, d.Rows(), most)
	}
	path := filepath.Join(t.TempDir(), "forest")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	again := must(OpenClassifier(path))
	some := d.Select([]int{1, 500, 19_999})
	got, want := must(again.PredictProba(t.Context(), some)), must(f.PredictProba(t.Context(), some))
	one := make([]float64, len(d.Classes))
	for i := range want {
		again.ProbaTo(one, some.Row(i))
		if !slices.Equal(got[i], want[i]) || !slices.Equal(one, want[i]) {
			t.Errorf("row %d has other probabilities", i)
		}
		if want[i][some.Labels[i]] == 0 {
			t.Errorf("row %d: its own class has no share", i)
		}
	}
}

// TestMissing: a forest that learned from rows without some numbers answers them, after a file too.
func TestMissing(t *testing.T) {
	train, test := table()
	rng := rand.New(rand.NewPCG(7, 8))
	for _, d := range []*ml.Dataset{train, test} {
		d.Missing = true
		for i := range d.Values {
			if rng.Float64() < 0.2 {
				d.Values[i] = float32(math.NaN())
			}
		}
	}
	f := must(FitClassifier(t.Context(), train, Config{Trees: 30}))
	if score := must(f.Score(t.Context(), test)); score < 0.6 {
		t.Errorf("accuracy %.3f, want above .6", score)
	}
	path := filepath.Join(t.TempDir(), "forest")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	again := must(OpenClassifier(path))
	want, one := must(f.PredictProba(t.Context(), test)), make([]float64, 3)
	for i, p := range must(again.PredictProba(t.Context(), test)) {
		again.ProbaTo(one, test.Row(i))
		if !slices.Equal(p, want[i]) || !slices.Equal(one, p) || math.IsNaN(p[0]) {
			t.Fatalf("row %d: got %v and %v, want %v", i, p, one, want[i])
		}
	}
	again.ProbaTo(one, []float32{0, float32(math.Inf(1)), 0, 0, 0, 0, 0, 0})
	if !math.IsNaN(one[0]) {
		t.Error("an infinity has probabilities")
	}
}

// TestWalkersAgree compares the walk of eight rows, in instructions and in Go, with that of a tree as it is.
func TestWalkersAgree(t *testing.T) {
	train, test := table()
	for _, c := range []Config{{Trees: 11}, {Trees: 9, MaxDepth: 1}, {Trees: 8, MaxDepth: 12, MaxLeafNodes: 40}} {
		f := must(FitClassifier(t.Context(), train, c))
		for _, rows := range []int{1, 7, 8, 9, 100} {
			values := test.Values[:rows*len(test.Features)]
			want, got, plain := make([]float64, 3*rows), make([]float64, 3*rows), make([]float64, 3*rows)
			for _, tr := range f.trees {
				tr.Add(want, values)
			}
			f.walker.add(got, values)
			defer func(was bool) { fast = was }(fast)
			fast = false
			f.walker.add(plain, values)
			fast = true
			if !slices.Equal(got, want) || !slices.Equal(plain, want) {
				t.Errorf("%+v, %d rows: the walks differ", c, rows)
			}
		}
	}
}
