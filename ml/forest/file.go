package forest

import (
	"fmt"

	"cancha/ml/modelfile"
	"cancha/ml/tree"
)

// A forest in a model file, under a prefix of its owner's choice:
//
//	meta   prefix               {"features", "classes" (absent for a regression)}
//	int32  prefix.nodes         number of nodes of each tree
//	int32  prefix.values        number of leaf values of each tree
//	int32  prefix.feature       of each node, tree after tree; -1 in leaves
//	f32    prefix.threshold     of each node
//	int32  prefix.left          of each node, within its tree; in leaves the position of its values
//	int32  prefix.right         of each node
//	f32    prefix.value         leaf values, tree after tree
//	f64    prefix.importance    of each feature
type fileMeta struct {
	Features []string `json:"features"`
	Classes  []string `json:"classes,omitempty"`
}

// Store writes the forest into a model file under a prefix.
func (f *Classifier) Store(file *modelfile.File, prefix string) error {
	return f.store(file, prefix, fileMeta{f.Features, f.Classes})
}

// Store writes the forest into a model file under a prefix.
func (f *Regressor) Store(file *modelfile.File, prefix string) error {
	return f.store(file, prefix, fileMeta{Features: f.Features})
}

func (e *ensemble) store(file *modelfile.File, prefix string, meta fileMeta) error {
	var nodes, values, feature, left, right []int32
	var threshold, value []float32
	for _, t := range e.trees {
		nodes, values = append(nodes, int32(len(t.Nodes))), append(values, int32(len(t.Values)))
		for _, n := range t.Nodes {
			feature, threshold = append(feature, n.Feature), append(threshold, n.Threshold)
			left, right = append(left, n.Left), append(right, n.Right)
		}
		value = append(value, t.Values...)
	}
	file.SetInt32(prefix+".nodes", nodes)
	file.SetInt32(prefix+".values", values)
	file.SetInt32(prefix+".feature", feature)
	file.SetFloat32(prefix+".threshold", threshold)
	file.SetInt32(prefix+".left", left)
	file.SetInt32(prefix+".right", right)
	file.SetFloat32(prefix+".value", value)
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
	e, err := load(file, prefix, len(meta.Features), len(meta.Classes))
	return &Classifier{Features: meta.Features, Classes: meta.Classes, ensemble: e}, err
}

// LoadRegressor reads a forest of numbers that Store wrote under a prefix.
func LoadRegressor(file *modelfile.File, prefix string) (*Regressor, error) {
	var meta fileMeta
	if err := file.Meta(prefix, &meta); err != nil {
		return nil, err
	}
	e, err := load(file, prefix, len(meta.Features), 1)
	return &Regressor{Features: meta.Features, ensemble: e}, err
}

// columns are the arrays of a stored forest; reading one after a failure does nothing.
type columns struct {
	file   *modelfile.File
	prefix string
	err    error
}

func (c *columns) int32(name string) []int32 {
	if c.err != nil {
		return nil
	}
	v, err := c.file.Int32(c.prefix + "." + name)
	c.err = err
	return v
}

func (c *columns) float32(name string) []float32 {
	if c.err != nil {
		return nil
	}
	v, err := c.file.Float32(c.prefix + "." + name)
	c.err = err
	return v
}

// load reads the trees and checks that walking them is safe.
func load(file *modelfile.File, prefix string, features, outputs int) (ensemble, error) {
	c := &columns{file: file, prefix: prefix}
	nodes, values := c.int32("nodes"), c.int32("values")
	feature, left, right := c.int32("feature"), c.int32("left"), c.int32("right")
	threshold, value := c.float32("threshold"), c.float32("value")
	if c.err != nil {
		return ensemble{}, fmt.Errorf("forest: %w", c.err)
	}
	importance, err := file.Float64(prefix + ".importance")
	if err != nil {
		return ensemble{}, fmt.Errorf("forest: %w", err)
	}
	n := len(feature)
	if len(nodes) == 0 || len(values) != len(nodes) || len(left) != n || len(right) != n || len(threshold) != n || len(importance) != features {
		return ensemble{}, fmt.Errorf("forest: the arrays of %q do not fit together: %w", prefix, modelfile.ErrDamaged)
	}
	e := ensemble{importance: importance}
	for i := range nodes {
		t := &tree.Tree{Columns: features, Outputs: outputs}
		k, v := int(nodes[i]), int(values[i])
		if k < 0 || v < 0 || k > len(feature) || v > len(value) {
			return ensemble{}, fmt.Errorf("forest: tree %d of %q has %d nodes and %d values: %w", i, prefix, k, v, modelfile.ErrDamaged)
		}
		for j := range k {
			t.Nodes = append(t.Nodes, tree.Node{Feature: feature[j], Threshold: threshold[j], Left: left[j], Right: right[j]})
		}
		t.Values = value[:v:v]
		feature, threshold, left, right, value = feature[k:], threshold[k:], left[k:], right[k:], value[v:]
		if err := t.Validate(); err != nil {
			return ensemble{}, fmt.Errorf("forest: tree %d of %q (%v): %w", i, prefix, err, modelfile.ErrDamaged)
		}
		e.trees = append(e.trees, t)
	}
	if len(feature) > 0 || len(value) > 0 {
		return ensemble{}, fmt.Errorf("forest: %q holds nodes of no tree: %w", prefix, modelfile.ErrDamaged)
	}
	return e, nil
}
