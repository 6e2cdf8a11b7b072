package mllib

import (
	"fmt"
	"io/fs"

	"cancha/spark/internal/trees"
	"cancha/spark/mllib/internal/parquet"
)

// mostPart is how large a file of nodes may be: Spark makes them of 7,280,000 nodes, about 128 MB.
const mostPart = 4 << 30

// readTable reads the nodes of a model, of so many classes.
func readTable(dir fs.FS, numClasses int, single bool) (*trees.Table, error) {
	t := trees.New(numClasses)
	names, err := parts(dir, "data")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := readFile(dir, name, mostPart)
		if err == nil {
			err = readPart(t, data, single)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return t, t.Divide()
}

// readPart reads the nodes of a file. Where the model is a single tree, its columns stand by themselves.
func readPart(t *trees.Table, data []byte, single bool) error {
	f, err := parquet.Open(data)
	if err != nil {
		return err
	}
	nodes, prefix := t.Grow(f.Rows()), "nodeData."
	if single {
		prefix = ""
	} else if err := f.Int32("treeID", func(row int, v int32) { nodes[row].Tree = v }); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		of   func(*trees.Node) *int32
	}{
		{"id", func(n *trees.Node) *int32 { return &n.ID }}, {"leftChild", func(n *trees.Node) *int32 { return &n.Left }}, {"rightChild", func(n *trees.Node) *int32 { return &n.Right }},
		{"split.featureIndex", func(n *trees.Node) *int32 { return &n.Feature }}, {"split.numCategories", func(n *trees.Node) *int32 { return &n.Categories }},
	} {
		if err := f.Int32(prefix+c.name, func(row int, v int32) { *c.of(&nodes[row]) = v }); err != nil {
			return err
		}
	}
	if err := f.Float64(prefix+"prediction", func(row int, v float64) { nodes[row].Prediction = v }); err != nil {
		return err
	}
	if err := f.Float64(prefix+"gain", func(row int, v float64) { nodes[row].Gain = v }); err != nil {
		return err
	}
	if err := f.List(prefix+"split.leftCategoriesOrThreshold", trees.MostCategories, func(row int, list []float64) error { return nodes[row].Split(list) }); err != nil {
		return err
	}
	return f.List(prefix+"impurityStats", t.Width(), func(row int, list []float64) error { return t.Statistics(&nodes[row], list) })
}
