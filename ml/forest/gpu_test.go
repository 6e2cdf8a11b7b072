package forest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/tree"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/gputest"
	"cancha/runtime/gpu/host"
)

// gpuCases are random calls of the funcs that forests bring, with what the forest itself answers, or a count of its own.
func gpuCases() map[string]gputest.Case {
	return map[string]gputest.Case{
		"forest_predict": predictCase, "forest_predict_exact": exactCase, "forest_clear": clearCase,
		"forest_histograms": func(r *rand.Rand, size func() int) gputest.Call {
			return histogramCase(r, size, []int{1, 2, 3, 47, 48}[r.IntN(5)], false)
		},
		"forest_histograms_of_many": func(r *rand.Rand, size func() int) gputest.Call {
			return histogramCase(r, size, []int{2, 48, 300}[r.IntN(3)], true)
		},
	}
}

func TestLibraryOnCPU(t *testing.T) {
	gputest.TestLibrary(t, func(t *testing.T) driver.Device {
		d, err := host.Driver{}.Open(t.Context(), 0, driver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}, must(library()), gpuCases())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// randomTree grows a tree with no sense in it.
func randomTree(r *rand.Rand, columns, outputs, splits int, exact, missing bool) *tree.Tree {
	t := &tree.Tree{Columns: columns, Outputs: outputs}
	var grow func(splits int) int32
	grow = func(splits int) int32 {
		at := int32(len(t.Nodes))
		t.Nodes = append(t.Nodes, tree.Node{Feature: -1, Left: int32(len(t.Values))})
		if exact {
			t.Exact = append(t.Exact, onGrid(r))
		}
		if missing {
			t.MissingLeft = append(t.MissingLeft, r.IntN(2) == 0)
		}
		if splits == 0 {
			t.Values = append(t.Values, shares(r, outputs)...)
			return at
		}
		left := r.IntN(splits)
		n := tree.Node{Feature: int32(r.IntN(columns)), Threshold: float32(onGrid(r)), Left: grow(left), Right: grow(splits - 1 - left)}
		t.Nodes[at] = n
		return at
	}
	grow(splits)
	return t
}

func shares(r *rand.Rand, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = r.Float64()
	}
	return all
}

// sparseLeaves has a tree's leaves name some of their classes.
func sparseLeaves(r *rand.Rand, t *tree.Tree) {
	t.Values, t.Classes = nil, []int32{}
	for i := range t.Nodes {
		if t.Nodes[i].Feature >= 0 {
			continue
		}
		t.Nodes[i].Left = int32(len(t.Values))
		some := r.Perm(t.Outputs)[:1+r.IntN(t.Outputs)]
		for _, class := range some {
			t.Values, t.Classes = append(t.Values, r.Float64()), append(t.Classes, int32(class))
		}
		t.Classes[len(t.Classes)-1] = ^t.Classes[len(t.Classes)-1]
	}
}

// onGrid is a number that often comes again: rows meet thresholds exactly.
func onGrid(r *rand.Rand) float64 { return float64(r.IntN(7)-3) / 3 }

// randomRows are numbers of the grid and others, among which a few are none.
func randomRows(r *rand.Rand, n int) []float64 {
	rows := make([]float64, n)
	for i := range rows {
		rows[i] = onGrid(r)
		if r.IntN(2) == 0 {
			rows[i] = r.NormFloat64()
		}
		if r.IntN(500) == 0 {
			rows[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0}[r.IntN(4)]
		}
	}
	return rows
}

func randomTrees(r *rand.Rand, size func() int, columns, outputs int, exact, missing bool) (trees []*tree.Tree) {
	sparse := outputs > 1 && r.IntN(3) == 0
	for range 1 + size()%50 {
		t := randomTree(r, columns, outputs, size(), exact, missing)
		if sparse && r.IntN(4) > 0 { // others beside them are dense
			sparseLeaves(r, t)
		}
		trees = append(trees, t)
	}
	return trees
}

// predictCase takes its answers from the forest itself where all numbers are there.
func predictCase(r *rand.Rand, size func() int) gputest.Call {
	n, columns, outputs, missing := size(), 1+r.IntN(12), []int{1, 2, 3, 4, 8, 9, 14}[r.IntN(7)], r.IntN(3) == 0
	trees, rows := randomTrees(r, size, columns, outputs, false, missing), make([]float32, n*columns)
	for i, v := range randomRows(r, len(rows)) {
		rows[i] = float32(v)
	}
	want := make([]float64, n*outputs)
	mean := outputs == 1 && r.IntN(2) == 0
	switch {
	case missing:
		want = plainAnswers(trees, rows, columns, outputs, mean)
	case mean:
		(&Regressor{Features: make([]string, columns), ensemble: newEnsemble(trees)}).ValuesTo(want, rows)
	default:
		(&Classifier{Features: make([]string, columns), Classes: make([]string, outputs), ensemble: newEnsemble(trees)}).ProbasTo(want, rows)
	}
	return predictCall(r, trees, n, columns, outputs, mean, missing, rows, want)
}

func exactCase(r *rand.Rand, size func() int) gputest.Call {
	n, columns, outputs, missing := size(), 1+r.IntN(12), 1+r.IntN(10), r.IntN(2) == 0
	trees, rows := randomTrees(r, size, columns, outputs, true, missing), randomRows(r, n*columns)
	return predictCall(r, trees, n, columns, outputs, false, missing, rows, plainAnswers(trees, rows, columns, outputs, false))
}

// plainAnswers walks trees in the plainest way.
func plainAnswers[X float32 | float64](trees []*tree.Tree, rows []X, columns, outputs int, mean bool) (out []float64) {
	for ; len(rows) > 0; rows = rows[columns:] {
		row, sums := rows[:columns], make([]float64, outputs)
		for _, t := range trees {
			for k, v := range t.Answer(plainLeaf(t, row)) {
				sums[k] += v
			}
		}
		for _, v := range row {
			if math.IsInf(float64(v), 0) || v != v && trees[0].MissingLeft == nil {
				sums[0] = math.NaN()
			}
		}
		if mean {
			sums[0] /= float64(len(trees))
		} else {
			normalize(sums)
		}
		if math.IsNaN(sums[0]) {
			for k := range sums {
				sums[k] = math.NaN()
			}
		}
		out = append(out, sums...)
	}
	return out
}

func plainLeaf[X float32 | float64](t *tree.Tree, row []X) int {
	at := int32(0)
	for t.Nodes[at].Feature >= 0 {
		n, v := t.Nodes[at], float64(row[t.Nodes[at].Feature])
		threshold := float64(n.Threshold)
		if t.Exact != nil {
			threshold = t.Exact[at]
		}
		if missing := v != v && t.MissingLeft != nil; v <= threshold || missing && t.MissingLeft[at] || v != v && !missing {
			at = n.Left
		} else {
			at = n.Right
		}
	}
	return int(at)
}

func predictCall(r *rand.Rand, trees []*tree.Tree, n, columns, outputs int, mean, missing bool, rows any, want []float64) gputest.Call {
	f := must(layFlat(trees))
	args := []any{make([]float64, n*outputs), rows, f.nodes, f.roots, f.values, f.classes, n, columns, outputs, len(trees), f.depth, len(f.nodes) / 2, len(f.values), flag(mean), flag(missing), flag(f.classes != nil)}
	if f.thresholds != nil {
		args = append(args, f.thresholds)
	}
	if r.IntN(6) == 0 {
		want = damage(r, f, args)
	}
	return gputest.Call{Args: args, Want: map[int]any{0: want}}
}

// damage changes nodes and classes at random, and returns what the CPU answers then: a GPU must not read elsewhere either, nor go in circles.
func damage(r *rand.Rand, f flatTrees, args []any) []float64 {
	for range 1 + r.IntN(4) {
		f.nodes[r.IntN(len(f.nodes))] = pair(r.Int32N(20)-5, r.Int32N(20)-5)
		if len(f.classes) > 0 {
			f.classes[r.IntN(len(f.classes))] = r.Int32N(20)
		}
	}
	out := make([]float64, len(args[0].([]float64)))
	values := append([]any{out}, args[1:]...)
	for i, v := range values {
		if n, ok := v.(int); ok {
			values[i] = int32(n)
		}
	}
	one := func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	}
	if rows, ok := args[1].([]float32); ok {
		answerRows(newHostForest(values), one, out, rows)
	} else {
		answerRows(newHostForest(values), one, out, args[1].([]float64))
	}
	return out
}

func clearCase(r *rand.Rand, size func() int) gputest.Call {
	n := size() * size()
	counts := make([]uint32, n)
	for i := range counts {
		counts[i] = r.Uint32()
	}
	return gputest.Call{Args: []any{counts, n}, Want: map[int]any{0: make([]uint32, n)}}
}

// histogramCase has nodes whose positions lie one behind the other, some of them cut into two tasks, and now and then what is not there.
func histogramCase(r *rand.Rand, size func() int, classes int, many bool) gputest.Call {
	rows, columns, nodes, most := 1+size(), 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(3)
	if classes > 100 {
		nodes, most = 1, 1 // enough to compare
	}
	codes := make([]uint8, columns*rows)
	for i := range codes {
		codes[i] = uint8(r.Uint32())
	}
	drawn := make([]int32, nodes*most)
	for i := range drawn {
		drawn[i] = int32(r.IntN(columns + 1)) // one column too many
	}
	var order, draws []uint32
	var few []uint8
	var wide []uint16
	var tasks []int32
	counts, counted := make([]uint32, nodes*most*histogramBins*(classes+1)), make([]uint32, nodes*most*histogramBins*(classes+1))
	for i := range counts {
		counts[i] = uint32(i % 7)
		counted[i] = counts[i]
	}
	for node := range nodes {
		start := len(order)
		for range size() * 10 {
			row, label, draw := r.IntN(rows), r.IntN(classes), 1+r.IntN(5)
			order, draws, few, wide = append(order, uint32(row)), append(draws, uint32(draw)), append(few, uint8(label)), append(wide, uint16(label))
			for j := range most {
				if column := int(drawn[node*most+j]); column < columns {
					at := ((node*most+j)*histogramBins + int(codes[column*rows+row])) * (classes + 1)
					counted[at+label] += uint32(draw)
					counted[at+classes]++
				}
			}
		}
		middle := start + r.IntN(len(order)-start+1)
		tasks = append(tasks, int32(node), int32(start), int32(middle), int32(node), int32(middle), int32(len(order)))
	}
	tasks = append(tasks, int32(nodes), 0, 1, 0, -1, 1, 0, 0, int32(len(order)+1)) // tasks that are not there
	labels := any(few)
	if many {
		labels = wide
	}
	return gputest.Call{
		Args: []any{counts, codes, order, labels, draws, tasks, drawn, len(tasks) / 3, most, len(order), rows, columns, classes, nodes},
		Want: map[int]any{0: counted},
	}
}

// onDevice is a session in which forests run on a device, be it the CPU, and not in their own way.
func onDevice(t *testing.T, c gpu.Config) *gpu.Session {
	t.Helper()
	s, err := gpu.NewSession(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fitted are a classifier and a regressor on a few columns; of exact ones float32 does not tell the values apart.
func fitted(t *testing.T, exact bool) (*ml.Dataset, *Classifier, *Regressor) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	d := &ml.Dataset{Features: []string{"a", "b", "c"}, Classes: []string{"x", "y", "z"}}
	var rows [][]float64
	for range 700 {
		row := []float64{r.NormFloat64(), r.NormFloat64(), float64(r.IntN(5))}
		if exact {
			row[2] += 1e9
		}
		rows = append(rows, row)
		d.Labels, d.Targets = append(d.Labels, r.IntN(3)), append(d.Targets, r.NormFloat64())
	}
	table := must(ml.FromRows(d.Features, rows))
	d.Values, d.Exact = table.Values, table.Exact
	c := must(FitClassifier(t.Context(), d, Config{Trees: 20, Seed: 1}))
	return d, c, must(FitRegressor(t.Context(), d, Config{Trees: 20, Seed: 1, MaxDepth: 5}))
}

// equalBits compares answers.
func equalBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d answers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s: answer %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// samePlaced compares what forests answer in a session, and by themselves.
func samePlaced(t *testing.T, s *gpu.Session) {
	t.Helper()
	for _, exact := range []bool{false, true} {
		d, c, r := fitted(t, exact)
		pc, pr := must(c.On(s)), must(r.On(s))
		equalBits(t, "probabilities", slices.Concat(must(pc.PredictProba(t.Context(), d))...), slices.Concat(must(c.PredictProba(t.Context(), d))...))
		equalBits(t, "numbers", must(pr.Predict(t.Context(), d)), must(r.Predict(t.Context(), d)))
		if got, want := must(pc.Predict(t.Context(), d)), must(c.Predict(t.Context(), d)); !slices.Equal(got, want) {
			t.Errorf("classes: got %v, want %v", got, want)
		}
		for name, scores := range map[string][2]float64{
			"accuracy": {must(pc.Score(t.Context(), d)), must(c.Score(t.Context(), d))}, "R²": {must(pr.Score(t.Context(), d)), must(r.Score(t.Context(), d))},
		} {
			if scores[0] != scores[1] {
				t.Errorf("%s: got %v, want %v", name, scores[0], scores[1])
			}
		}
		got, want := make([]float64, 3*d.Rows()), make([]float64, 3*d.Rows())
		c.ProbasTo(want, d.Values)
		if err := pc.ProbasTo(t.Context(), got, d.Values); err != nil {
			t.Fatal(err)
		}
		equalBits(t, "probabilities of rows", got, want)
		r.ValuesTo(want[:d.Rows()], d.Values)
		if err := pr.ValuesTo(t.Context(), got[:d.Rows()], d.Values); err != nil {
			t.Fatal(err)
		}
		equalBits(t, "numbers of rows", got[:d.Rows()], want[:d.Rows()])
		if err := errors.Join(pc.Close(), pr.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestOnCPU(t *testing.T) {
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	samePlaced(t, s)
	if d := s.Explain().Decisions; len(d) != 14 || d[0].Operation != "forest predict" || d[0].Place != "CPU" {
		t.Errorf("got %+v", d)
	}
}

// TestFuncsInSession: chunk by chunk, the funcs answer as the forest does: here on the CPU, by the way of a GPU.
func TestFuncsInSession(t *testing.T) {
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	for _, exact := range []bool{false, true} {
		d, c, _ := fitted(t, exact)
		p := placed{session: s, columns: 3, outputs: 3}
		if err := p.settle(c.Trees()); err != nil {
			t.Fatal(err)
		}
		out := make([]float64, 3*d.Rows())
		if err := p.predict(t.Context(), d, func() []float64 { return out }, nil); err != nil {
			t.Fatal(err)
		}
		equalBits(t, fmt.Sprintf("exact %v", exact), out, slices.Concat(must(c.PredictProba(t.Context(), d))...))
	}
}

func TestOnRefuses(t *testing.T) {
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	d, c, r := fitted(t, false)
	pc, pr := must(c.On(s)), must(r.On(s))
	other := *d
	other.Features = []string{"a", "b", "d"}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"features": {second(pc.PredictProba(t.Context(), &other)), "forest: "}, "lengths": {pc.ProbasTo(t.Context(), make([]float64, 2), make([]float32, 3)), "no whole number of rows of 3 and 3"},
		"numbers": {pr.ValuesTo(t.Context(), make([]float64, 2), make([]float32, 3)), "no whole number of rows of 3 and 1"},
		"ended":   {second(pr.Predict(ctx, d)), "stop"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want that it has %q", name, c.err, c.want)
		}
	}
	if _, err := layFlat([]*tree.Tree{randomTree(rand.New(rand.NewPCG(1, 1)), 1, 1, 1, true, false), randomTree(rand.New(rand.NewPCG(1, 1)), 1, 1, 1, false, false)}); err == nil {
		t.Error("trees of two kinds were laid flat")
	}
}

func second[T any](_ T, err error) error { return err }

// TestLostNodes: what nodes lead to that is not there is NaN, and ends.
func TestLostNodes(t *testing.T) {
	f := hostForest{roots: []int32{0}, values: []float64{1}, columns: 1, outputs: 1, depth: 3}
	for name, nodes := range map[string][]int64{
		"a circle": {pair(0, 0), pair(0, 0)}, "beyond": {pair(0, 0), pair(1, 1)}, "below 0": {pair(0, 0), pair(-1, -1)}, "no answer": {pair(-1, 0), pair(1, 0)},
		"no such column": {pair(1, 0), pair(0, 0)},
	} {
		f.nodes = nodes
		if got := leafOf(f, 0, []float32{1}); got != -1 {
			t.Errorf("%s: got %v", name, got)
		}
	}
	f.nodes = []int64{pair(-1, 0), pair(0, 0)}
	if got := leafOf(f, 0, []float32{1}); got != 0 {
		t.Errorf("a leaf: got %v", got)
	}
}
