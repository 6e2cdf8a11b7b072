package onnx

import (
	"fmt"
	"math"
)

// mode is how a node compares a column with its threshold; what is true goes to the true branch.
type mode uint8

// The modes, by their numbers in TreeEnsemble of ai.onnx.ml 5; leaf is a mode of the older operators.
const (
	branchLEQ mode = iota
	branchLT
	branchGTE
	branchGT
	branchEQ
	branchNEQ
	branchMember
	leaf
	modes
)

// modeNames are the modes as texts.
func modeNames() [modes]string {
	return [modes]string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"}
}

// ensemble is what the attributes of an operator hold: the nodes of all trees, one entry each, and the votes of their leaves.
type ensemble struct {
	tree, id      []int64 // of each node; ids are told apart within a tree
	feature       []int64
	mode          []mode
	threshold     []float64
	yes, no       []int64 // ids of the children, where the comparison is true and where not
	tracks        []int64 // 1 where missing values go to the true branch; nil: they go nowhere
	exact         bool    // whether thresholds are float64
	voteTree      []int64
	voteNode      []int64
	voteFor       []int64 // class or target
	vote          []float64
	base          []float64 // what is added to each class or target
	postTransform string
	aggregate     string
	outputs       int64 // targets; 0 for classes, which are named
	trees         int   // how many trees there are; set when they are built
	columns       int   // numbers in a row
}

// attributes reads an operator's attributes; kind is how those of votes begin: class or target.
func attributes(n *node, kind string) (*ensemble, error) {
	e := &ensemble{}
	var tracks []int64
	err := n.list(map[string]*[]int64{
		"nodes_treeids": &e.tree, "nodes_nodeids": &e.id, "nodes_featureids": &e.feature, "nodes_truenodeids": &e.yes, "nodes_falsenodeids": &e.no,
		"nodes_missing_value_tracks_true": &tracks, kind + "_treeids": &e.voteTree, kind + "_nodeids": &e.voteNode, kind + "_ids": &e.voteFor,
	})
	if err != nil {
		return nil, err
	}
	if e.threshold, e.exact, err = n.numbers("nodes_values"); err != nil {
		return nil, err
	}
	if e.vote, _, err = n.numbers(kind + "_weights"); err != nil {
		return nil, err
	}
	if e.base, _, err = n.numbers("base_values"); err != nil {
		return nil, err
	}
	if err := e.settings(n); err != nil {
		return nil, err
	}
	if err := e.modes(n); err != nil {
		return nil, err
	}
	if err := e.lengths(n); err != nil {
		return nil, err
	}
	return e, e.missing(n, tracks)
}

// settings reads how answers are made of votes.
func (e *ensemble) settings(n *node) (err error) {
	if e.postTransform, err = n.text("post_transform", "NONE"); err != nil {
		return err
	}
	if e.aggregate, err = n.text("aggregate_function", "SUM"); err != nil {
		return err
	}
	e.outputs, err = n.int("n_targets", 0)
	return err
}

// modes reads how each node compares.
func (e *ensemble) modes(n *node) error {
	message := n.attributes["nodes_modes"]
	count, err := count(message, 9)
	if err != nil {
		return n.about("nodes_modes", err)
	}
	e.mode = make([]mode, 0, count)
	names := modeNames()
	return n.texts("nodes_modes", func(s string) error {
		for k, name := range names {
			if s == name {
				e.mode = append(e.mode, mode(k))
				return nil
			}
		}
		return fmt.Errorf("node %d has mode %q, which ONNX does not have; export it again", len(e.mode), s)
	})
}

// lengths checks that what belongs together is there for each node, and for each vote.
func (e *ensemble) lengths(n *node) error {
	nodes, votes := len(e.tree), len(e.vote)
	if nodes == 0 {
		return fmt.Errorf("%v has no nodes_treeids: no trees", n)
	}
	if nodes > math.MaxInt32 {
		return fmt.Errorf("%v has %d nodes; no more than %d are read", n, nodes, math.MaxInt32)
	}
	for _, a := range []struct {
		name      string
		got, want int
	}{
		{"nodes_nodeids", len(e.id), nodes}, {"nodes_featureids", len(e.feature), nodes}, {"nodes_modes", len(e.mode), nodes},
		{"nodes_values", len(e.threshold), nodes}, {"nodes_truenodeids", len(e.yes), nodes}, {"nodes_falsenodeids", len(e.no), nodes},
		{"the treeids of votes", len(e.voteTree), votes}, {"the nodeids of votes", len(e.voteNode), votes}, {"the ids of votes", len(e.voteFor), votes},
	} {
		if a.got != a.want {
			return fmt.Errorf("%v: %s has %d entries where others have %d; export it again", n, a.name, a.got, a.want)
		}
	}
	return nil
}

// missing keeps where missing values go, if a node that splits has learned it: it sends them to the true branch, or splits at infinity, which
// tells those that are missing from all others. Exporters write down a 0 for all nodes that have not.
func (e *ensemble) missing(n *node, tracks []int64) error {
	if len(tracks) == 0 {
		tracks = make([]int64, len(e.tree))
	}
	if len(tracks) != len(e.tree) {
		return fmt.Errorf("%v: nodes_missing_value_tracks_true has %d entries for %d nodes; export it again", n, len(tracks), len(e.tree))
	}
	for i, track := range tracks {
		if e.mode[i] != leaf && (track != 0 || math.IsInf(e.threshold[i], 1)) {
			e.tracks = tracks
		}
	}
	return nil
}

// aboveAll is the greatest number that rounds to a float32, as those of a dataset's rows do.
const aboveAll = 0x1.fffffefffffffp+127

// split turns a comparison into "at most threshold goes left": it returns that threshold, and whether what is true goes left. Numbers have
// neighbours, so x < t is x <= the one before t; x >= t and x > t are the opposites.
func (e *ensemble) split(i int) (threshold float64, trueLeft bool, err error) {
	t := e.threshold[i]
	switch e.mode[i] {
	case branchLEQ, branchGT:
		if math.IsInf(t, 1) { // every number is below
			if t = math.MaxFloat32; e.exact {
				t = aboveAll
			}
		}
	case branchLT, branchGTE:
		if t = math.Nextafter(t, math.Inf(-1)); !e.exact {
			t = float64(math.Nextafter32(float32(e.threshold[i]), float32(math.Inf(-1))))
		}
	default:
		return 0, false, fmt.Errorf("node %d of tree %d compares by %s, and trees of a forest split at thresholds; encode the column as one column for each value",
			e.id[i], e.tree[i], modeNames()[e.mode[i]])
	}
	if t-t != 0 {
		return 0, false, fmt.Errorf("node %d of tree %d splits at %v by %s, and a forest's thresholds are finite", e.id[i], e.tree[i], e.threshold[i], modeNames()[e.mode[i]])
	}
	return t, e.mode[i] == branchLEQ || e.mode[i] == branchLT, nil
}
