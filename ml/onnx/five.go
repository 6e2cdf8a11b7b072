package onnx

import (
	"fmt"
	"math"
)

// five holds the attributes of TreeEnsemble, which tells nodes that split and leaves apart and has no ids: they are positions.
type five struct {
	roots, feature, yes, no, yesLeaf, noLeaf, target []int64
	mode, threshold, weight                          []float64
}

// attributes5 reads TreeEnsemble of ai.onnx.ml 5 as if it were the older operator for numbers.
func attributes5(n *node, operator string) (*ensemble, error) {
	if operator != "TreeEnsembleRegressor" {
		return nil, fmt.Errorf("it holds a TreeEnsemble, which answers with numbers and knows no classes; export a TreeEnsembleClassifier, or open it as a regressor")
	}
	v, e := &five{}, &ensemble{}
	var tracks []int64
	err := n.list(map[string]*[]int64{
		"tree_roots": &v.roots, "nodes_featureids": &v.feature, "nodes_truenodeids": &v.yes, "nodes_falsenodeids": &v.no, "nodes_trueleafs": &v.yesLeaf,
		"nodes_falseleafs": &v.noLeaf, "nodes_missing_value_tracks_true": &tracks, "leaf_targetids": &v.target,
	})
	if err != nil {
		return nil, err
	}
	if v.mode, _, err = n.tensor("nodes_modes"); err != nil {
		return nil, err
	}
	var elem int64
	if v.threshold, elem, err = n.tensor("nodes_splits"); err != nil {
		return nil, err
	}
	e.exact = elem == typeDouble
	if v.weight, _, err = n.tensor("leaf_weights"); err != nil {
		return nil, err
	}
	if err := v.settings(n, e); err != nil {
		return nil, err
	}
	if err := v.lengths(n, tracks); err != nil {
		return nil, err
	}
	if err := v.list(e); err != nil {
		return nil, err
	}
	listed := make([]int64, len(e.id)) // what tracks says, in the order of the list
	for i, id := range e.id {
		if id < int64(len(tracks)) {
			listed[i] = tracks[id]
		}
	}
	return e, e.missing(n, listed)
}

// settings reads how answers are made of leaves; the older operators have names where this one has numbers.
func (v *five) settings(n *node, e *ensemble) error {
	transform, err := n.int("post_transform", 0)
	if err != nil {
		return err
	}
	aggregate, err := n.int("aggregate_function", 1)
	if err != nil {
		return err
	}
	e.postTransform = named(transform, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
	e.aggregate = named(aggregate, "AVERAGE", "SUM", "MIN", "MAX")
	e.outputs, err = n.int("n_targets", 1)
	return err
}

// named returns the name of a number; one that has none is its own.
func named(n int64, names ...string) string {
	if n >= 0 && n < int64(len(names)) {
		return names[n]
	}
	return fmt.Sprint(n)
}

// lengths checks that what belongs together is there for each node, and for each leaf.
func (v *five) lengths(n *node, tracks []int64) error {
	nodes, leaves := len(v.feature), len(v.weight)
	for _, a := range []struct {
		name      string
		got, want int
	}{
		{"nodes_modes", len(v.mode), nodes}, {"nodes_splits", len(v.threshold), nodes}, {"nodes_truenodeids", len(v.yes), nodes},
		{"nodes_falsenodeids", len(v.no), nodes}, {"nodes_trueleafs", len(v.yesLeaf), nodes}, {"nodes_falseleafs", len(v.noLeaf), nodes},
		{"leaf_targetids", len(v.target), leaves},
	} {
		if a.got != a.want {
			return fmt.Errorf("%v: %s has %d entries where others have %d; export it again", n, a.name, a.got, a.want)
		}
	}
	if len(tracks) != 0 && len(tracks) != nodes {
		return fmt.Errorf("%v: nodes_missing_value_tracks_true has %d entries for %d nodes; export it again", n, len(tracks), nodes)
	}
	if nodes == 0 || leaves == 0 || len(v.roots) == 0 || nodes+leaves > math.MaxInt32 {
		return fmt.Errorf("%v has %d nodes, %d leaves and %d tree_roots; each needs one or more", n, nodes, leaves, len(v.roots))
	}
	return nil
}

// list writes the nodes of each tree down as the older operators have them: the root first, nodes by their positions, leaves by theirs behind
// the last node's.
func (v *five) list(e *ensemble) error {
	total := len(v.feature) + len(v.weight)
	e.tree, e.id, e.feature, e.mode = make([]int64, 0, total), make([]int64, 0, total), make([]int64, 0, total), make([]mode, 0, total)
	e.yes, e.no, e.threshold = make([]int64, 0, total), make([]int64, 0, total), make([]float64, 0, total)
	e.voteTree, e.voteNode = make([]int64, 0, len(v.weight)), make([]int64, 0, len(v.weight))
	e.voteFor, e.vote = make([]int64, 0, len(v.weight)), make([]float64, 0, len(v.weight))
	seen := make([]bool, total)
	for k, root := range v.roots {
		if root < 0 || root >= int64(len(v.feature)) {
			return fmt.Errorf("the root of tree %d is node %d of %d; export it again", k, root, len(v.feature))
		}
		for todo := []int64{root}; len(todo) > 0; {
			id := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[id] {
				return fmt.Errorf("two branches lead to node %d: these are no trees; export it again", id)
			}
			seen[id] = true
			children, err := v.add(e, int64(k), id)
			if err != nil {
				return err
			}
			todo = append(todo, children...)
		}
	}
	return nil
}

// add writes one node or leaf down, and returns its children. A node both of whose branches are one leaf is that leaf: a tree without a split.
func (v *five) add(e *ensemble, tree, id int64) (children []int64, err error) {
	nodes := int64(len(v.feature))
	if id < nodes && v.yesLeaf[id] != 0 && v.noLeaf[id] != 0 && v.yes[id] == v.no[id] {
		leafAt, err := v.child(v.yes[id], 1)
		if err != nil {
			return nil, err
		}
		e.leaf(tree, id, v.target[leafAt-nodes], v.weight[leafAt-nodes])
		return nil, nil
	}
	if id >= nodes {
		e.leaf(tree, id, v.target[id-nodes], v.weight[id-nodes])
		return nil, nil
	}
	yes, err := v.child(v.yes[id], v.yesLeaf[id])
	if err != nil {
		return nil, err
	}
	no, err := v.child(v.no[id], v.noLeaf[id])
	if err != nil {
		return nil, err
	}
	if m := v.mode[id]; !(m >= 0 && m < float64(leaf)) {
		return nil, fmt.Errorf("node %d has mode %v, which ONNX does not have; export it again", id, m)
	}
	e.tree, e.id, e.feature, e.mode = append(e.tree, tree), append(e.id, id), append(e.feature, v.feature[id]), append(e.mode, mode(v.mode[id]))
	e.yes, e.no, e.threshold = append(e.yes, yes), append(e.no, no), append(e.threshold, v.threshold[id])
	return []int64{no, yes}, nil
}

// child returns the number under which a child is written down.
func (v *five) child(id, isLeaf int64) (int64, error) {
	most := int64(len(v.feature))
	if isLeaf != 0 {
		most = int64(len(v.weight))
	}
	if id < 0 || id >= most {
		return 0, fmt.Errorf("a branch leads to node or leaf %d of %d; export it again", id, most)
	}
	if isLeaf != 0 {
		id += int64(len(v.feature))
	}
	return id, nil
}

// leaf writes a leaf down, with its vote.
func (e *ensemble) leaf(tree, id, target int64, weight float64) {
	e.tree, e.id, e.feature, e.mode = append(e.tree, tree), append(e.id, id), append(e.feature, 0), append(e.mode, leaf)
	e.yes, e.no, e.threshold = append(e.yes, 0), append(e.no, 0), append(e.threshold, 0)
	e.voteTree, e.voteNode, e.voteFor, e.vote = append(e.voteTree, tree), append(e.voteNode, id), append(e.voteFor, target), append(e.vote, weight)
}
