package forest

import (
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/modelfile"
	"cancha/ml/tree"
)

// A forest in a model file, under a prefix of its owner's choice:
//
//	meta   prefix               {"features", "classes" (absent for a regression), and "exact", "missing" and "sparse", true where there are
//	                            such thresholds, such directions and such leaves}
//	int32  prefix.nodes         number of nodes of each tree
//	int32  prefix.values        number of leaf values of each tree
//	int32  prefix.feature       of each node, tree after tree; -1 in leaves
//	f32    prefix.threshold     of each node
//	int32  prefix.left          of each node, within its tree; in leaves the position of its values
//	int32  prefix.right         of each node
//	f64    prefix.exact         threshold of each node with all digits; only of a forest that learned from exact values
//	int32  prefix.missing       1 where a node sends rows without a number left, else 0; only of a forest that learned from such rows
//	int32  prefix.class         class of each leaf value, as in tree.Tree.Classes; only of a forest with sparse leaves
//	f64    prefix.value         leaf values, tree after tree; float32 in files of older programs
//	f64    prefix.importance    of each feature
type fileMeta struct {
	Features []string `json:"features"`
	Classes  []string `json:"classes,omitempty"`
	Exact    bool     `json:"exact,omitempty"`
	Missing  bool     `json:"missing,omitempty"`
	Sparse   bool     `json:"sparse,omitempty"`
}

// Store writes the forest into a model file under a prefix.
func (f *Classifier) Store(file *modelfile.File, prefix string) error {
	return f.store(file, prefix, fileMeta{Features: f.Features, Classes: f.Classes})
}

// Store writes the forest into a model file under a prefix.
func (f *Regressor) Store(file *modelfile.File, prefix string) error {
	return f.store(file, prefix, fileMeta{Features: f.Features})
}

func (e *ensemble) store(file *modelfile.File, prefix string, meta fileMeta) error {
	var nodes, values, feature, left, right, missing, class []int32
	var threshold []float32
	var exact, value []float64
	for _, t := range e.trees {
		nodes, values = append(nodes, int32(len(t.Nodes))), append(values, int32(len(t.Values)))
		for _, n := range t.Nodes {
			feature, threshold = append(feature, n.Feature), append(threshold, n.Threshold)
			left, right = append(left, n.Left), append(right, n.Right)
		}
		for _, goes := range t.MissingLeft {
			missing = append(missing, int32(map[bool]int{true: 1}[goes]))
		}
		exact, class, value = append(exact, t.Exact...), append(class, t.Classes...), append(value, t.Values...)
	}
	file.SetInt32(prefix+".nodes", nodes)
	file.SetInt32(prefix+".values", values)
	file.SetInt32(prefix+".feature", feature)
	file.SetFloat32(prefix+".threshold", threshold)
	file.SetInt32(prefix+".left", left)
	file.SetInt32(prefix+".right", right)
	if meta.Exact = exact != nil; meta.Exact {
		file.SetFloat64(prefix+".exact", exact)
	}
	if meta.Missing = missing != nil; meta.Missing {
		file.SetInt32(prefix+".missing", missing)
	}
	if meta.Sparse = class != nil; meta.Sparse {
		file.SetInt32(prefix+".class", class)
	}
	file.SetFloat64(prefix+".value", value)
	file.SetFloat64(prefix+".importance", e.importance)
	return file.SetMeta(prefix, meta)
}

// LoadClassifier reads a forest of classes that Store wrote under a prefix.
func LoadClassifier(file *modelfile.File, prefix string) (*Classifier, error) {
	var meta fileMeta
	if err := file.Meta(prefix, &meta); err != nil {
		return nil, err
	}
	if len(meta.Classes) == 0 {
		return nil, fmt.Errorf("forest: %q has no classes: %w", prefix, modelfile.ErrDamaged)
	}
	e, err := load(file, prefix, meta)
	if err != nil {
		return nil, err
	}
	return &Classifier{Features: meta.Features, Classes: meta.Classes, ensemble: e}, nil
}

// LoadRegressor reads a forest of numbers that Store wrote under a prefix.
func LoadRegressor(file *modelfile.File, prefix string) (*Regressor, error) {
	var meta fileMeta
	if err := file.Meta(prefix, &meta); err != nil {
		return nil, err
	}
	if len(meta.Classes) > 0 {
		return nil, fmt.Errorf("forest: %q answers with classes, not with a number: %w", prefix, modelfile.ErrKind)
	}
	e, err := load(file, prefix, meta)
	if err != nil {
		return nil, err
	}
	return &Regressor{Features: meta.Features, ensemble: e}, nil
}

// columns are the arrays of a stored forest; reading one after a failure does nothing.
type columns struct {
	file   *modelfile.File
	prefix string
	err    error
}

// read returns an array by the method of the file for its type.
func read[T any](c *columns, get func(string) ([]T, error), name string) []T {
	if c.err != nil {
		return nil
	}
	v, err := get(c.prefix + "." + name)
	c.err = err
	return v
}

// answers reads the values of the leaves.
func (c *columns) answers() []float64 {
	old, err := c.file.Float32(c.prefix + ".value")
	if err != nil {
		return read(c, c.file.Float64, "value")
	}
	out := make([]float64, len(old))
	for i, v := range old {
		out[i] = float64(v)
	}
	return out
}

// load reads the trees and checks that walking them is safe, and that their answers can be averaged.
func load(file *modelfile.File, prefix string, meta fileMeta) (ensemble, error) {
	if err := (&ml.Dataset{Features: meta.Features, Classes: meta.Classes}).Validate(); err != nil {
		return ensemble{}, fmt.Errorf("forest: %q (%v): %w", prefix, err, modelfile.ErrDamaged)
	}
	c := &columns{file: file, prefix: prefix}
	nodes, values := read(c, file.Int32, "nodes"), read(c, file.Int32, "values")
	all := arrays{
		feature: read(c, file.Int32, "feature"), left: read(c, file.Int32, "left"), right: read(c, file.Int32, "right"),
		threshold: read(c, file.Float32, "threshold"), value: c.answers(),
	}
	importance := read(c, file.Float64, "importance")
	if meta.Exact {
		all.exact = read(c, file.Float64, "exact")
	}
	if meta.Missing {
		all.missing = read(c, file.Int32, "missing")
	}
	if meta.Sparse {
		all.class = read(c, file.Int32, "class")
	}
	if c.err != nil {
		return ensemble{}, fmt.Errorf("forest: %w", c.err)
	}
	if len(nodes) == 0 || len(values) != len(nodes) || !all.fit(meta) || len(importance) != len(meta.Features) {
		return ensemble{}, fmt.Errorf("forest: the arrays of %q do not fit together: %w", prefix, modelfile.ErrDamaged)
	}
	var trees []*tree.Tree
	for i := range nodes {
		t, err := all.take(int(nodes[i]), int(values[i]), meta)
		if err != nil {
			return ensemble{}, fmt.Errorf("forest: tree %d of %q (%v): %w", i, prefix, err, modelfile.ErrDamaged)
		}
		trees = append(trees, t)
	}
	if len(all.feature) > 0 || len(all.value) > 0 {
		return ensemble{}, fmt.Errorf("forest: %q holds nodes of no tree: %w", prefix, modelfile.ErrDamaged)
	}
	for i, v := range importance {
		if !(v >= -rounding && v <= 1+rounding) {
			return ensemble{}, fmt.Errorf("forest: importance of column %d of %q is %v: %w", i, prefix, v, modelfile.ErrDamaged)
		}
	}
	return readyEnsemble(trees, importance), nil
}

// rounding is by how much shares that were written as float32 may miss their sum.
const rounding = 1e-3

// arrays are nodes and answers of the trees that are still to be taken.
type arrays struct {
	feature, left, right, missing, class []int32
	threshold                            []float32
	exact, value                         []float64
}

// fit reports whether there is one entry per node, or per value, in each array.
func (a *arrays) fit(meta fileMeta) bool {
	n := len(a.feature)
	return len(a.left) == n && len(a.right) == n && len(a.threshold) == n && (!meta.Exact || len(a.exact) == n) &&
		(!meta.Missing || len(a.missing) == n) && (!meta.Sparse || len(a.class) == len(a.value))
}

// take makes a tree of the next nodes and values.
func (a *arrays) take(nodes, values int, meta fileMeta) (*tree.Tree, error) {
	if nodes < 0 || values < 0 || nodes > len(a.feature) || values > len(a.value) {
		return nil, fmt.Errorf("%d nodes and %d values of %d and %d", nodes, values, len(a.feature), len(a.value))
	}
	t := &tree.Tree{Columns: len(meta.Features), Outputs: max(len(meta.Classes), 1), Values: a.value[:values:values]}
	t.Nodes = make([]tree.Node, 0, nodes)
	for i := range nodes {
		t.Nodes = append(t.Nodes, tree.Node{Feature: a.feature[i], Threshold: a.threshold[i], Left: a.left[i], Right: a.right[i]})
	}
	if meta.Exact {
		t.Exact, a.exact = a.exact[:nodes:nodes], a.exact[nodes:]
	}
	if meta.Missing {
		for _, goes := range a.missing[:nodes] {
			t.MissingLeft = append(t.MissingLeft, goes != 0)
		}
		a.missing = a.missing[nodes:]
	}
	if meta.Sparse {
		t.Classes, a.class = a.class[:values:values], a.class[values:]
	}
	a.feature, a.left, a.right = a.feature[nodes:], a.left[nodes:], a.right[nodes:]
	a.threshold, a.value = a.threshold[nodes:], a.value[values:]
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if len(meta.Classes) > 0 {
		return t, checkShares(t)
	}
	return t, nil
}

// checkShares refuses leaves whose answers are no shares of classes: averaged and scaled to a sum of 1 they would look like
// probabilities all the same. Leaves may share an answer, which is looked at once.
func checkShares(t *tree.Tree) error {
	seen := map[int32]bool{}
	for i, n := range t.Nodes {
		if n.Feature >= 0 || seen[n.Left] {
			continue
		}
		seen[n.Left] = true
		sum := 0.0
		for _, v := range answerOf(t, n.Left) {
			if v < 0 {
				return fmt.Errorf("leaf %d gives a class a share of %v", i, v)
			}
			sum += v
		}
		if math.Abs(sum-1) > rounding {
			return fmt.Errorf("the shares of leaf %d sum to %v", i, sum)
		}
	}
	return nil
}

// answerOf returns the numbers of an answer, all of a dense one or those that a sparse one has.
func answerOf(t *tree.Tree, start int32) []float64 {
	if t.Classes == nil {
		return t.Values[start:][:t.Outputs]
	}
	end := start
	for t.Classes[end] >= 0 {
		end++
	}
	return t.Values[start : end+1]
}
