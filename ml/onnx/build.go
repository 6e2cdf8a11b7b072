package onnx

import (
	"fmt"
	"slices"

	"cancha/ml/tree"
)

// builder makes trees of an ensemble's nodes. Positions are those in the ensemble's arrays.
type builder struct {
	*ensemble
	number  map[int64]int32 // of each tree, by its id, in the order in which they come
	start   []int32         // where the nodes of each tree begin in sorted; one more for the end
	sorted  []int32         // positions of the nodes, tree after tree, in the file's order within a tree
	index   []index         // of each tree
	width   int             // numbers in an answer
	sparse  bool            // whether leaves name their classes
	visited []bool          // nodes that a walk has reached
	voter   []int32         // position of the leaf of each vote
	votes   []int32         // how many each leaf has
	slot    []int32         // where a leaf's answer begins in the Values of its tree
}

// sparseClasses is from how many classes on leaves name those that they have, as those that are grown here do: a file that names none for most
// of its leaves does not take more memory than it says.
const sparseClasses = 32

// index finds a node of a tree by its id.
type index struct {
	first int64           // id of the first node, where ids count up
	ids   map[int64]int32 // else: the place of each id within the tree
}

// build makes the trees. Their leaves answer with width numbers, to which place says where each vote counts and how much.
func (e *ensemble) build(width int, place func(vote int) (at int, weight float64)) ([]*tree.Tree, error) {
	b := &builder{ensemble: e, width: width, sparse: width >= sparseClasses, visited: make([]bool, len(e.tree)), slot: make([]int32, len(e.tree))}
	b.sort()
	b.index = make([]index, e.trees)
	for k := range b.index {
		if err := b.find(k); err != nil {
			return nil, err
		}
	}
	if err := b.count(); err != nil {
		return nil, err
	}
	trees := make([]*tree.Tree, e.trees)
	for k := range trees {
		t, err := b.walk(k)
		if err != nil {
			return nil, err
		}
		trees[k] = t
	}
	b.fill(trees, place)
	return trees, nil
}

// sort puts the nodes of each tree together.
func (b *builder) sort() {
	b.number = map[int64]int32{}
	of, counts := make([]int32, len(b.tree)), []int32{}
	for i, id := range b.tree {
		k, ok := b.number[id]
		if !ok {
			k = int32(len(counts))
			b.number[id], counts = k, append(counts, 0)
		}
		of[i] = k
		counts[k]++
	}
	b.start = make([]int32, len(counts)+1)
	for k, n := range counts {
		b.start[k+1] = b.start[k] + n
	}
	b.trees = len(counts)
	next := slices.Clone(b.start)
	b.sorted = make([]int32, len(b.tree))
	for i, k := range of {
		b.sorted[next[k]] = int32(i)
		next[k]++
	}
}

// nodes returns the positions of a tree's nodes; the first is the root.
func (b *builder) nodes(k int) []int32 { return b.sorted[b.start[k]:b.start[k+1]] }

// find makes the index of a tree: none where ids count up from the root's, as most writers have them.
func (b *builder) find(k int) error {
	nodes := b.nodes(k)
	first, up := b.id[nodes[0]], true
	for place, i := range nodes {
		up = up && b.id[i] == first+int64(place)
	}
	b.index[k] = index{first: first}
	if up {
		return nil
	}
	ids := make(map[int64]int32, len(nodes))
	for place, i := range nodes {
		if _, twice := ids[b.id[i]]; twice {
			return fmt.Errorf("tree %d has two nodes %d; export it again", b.tree[i], b.id[i])
		}
		ids[b.id[i]] = int32(place)
	}
	b.index[k].ids = ids
	return nil
}

// node returns the position of a node of a tree by its id, or -1.
func (b *builder) node(k int, id int64) int32 {
	place, nodes := id-b.index[k].first, b.nodes(k)
	if ids := b.index[k].ids; ids != nil {
		at, ok := ids[id]
		if !ok {
			return -1
		}
		place = int64(at)
	}
	if place < 0 || place >= int64(len(nodes)) {
		return -1
	}
	return nodes[place]
}

// step is a node that the walk has still to reach.
type step struct {
	node   int32 // position
	parent int32 // in the new tree; -1 for the root
	right  bool
}

// walk makes a tree in the order of a depth-first walk from its root. A node that is reached twice, or never, is refused: the file is then no
// tree.
func (b *builder) walk(k int) (*tree.Tree, error) {
	nodes := b.nodes(k)
	t, err := b.empty(nodes)
	if err != nil {
		return nil, err
	}
	used := 0 // numbers of answers that have their place
	for todo := []step{{node: nodes[0], parent: -1}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.visited[s.node] {
			return nil, fmt.Errorf("two branches of tree %d lead to node %d: this is no tree; export it again", b.tree[s.node], b.id[s.node])
		}
		b.visited[s.node] = true
		at := int32(len(t.Nodes))
		link(t, s, at)
		if b.mode[s.node] == leaf {
			b.slot[s.node] = int32(used)
			add(t, tree.Node{Feature: -1, Left: int32(used)}, 0, false)
			used += b.room(s.node)
			continue
		}
		left, right, err := b.branch(k, t, s.node)
		if err != nil {
			return nil, err
		}
		todo = append(todo, step{right, at, true}, step{left, at, false}) // the left one is next
	}
	if len(t.Nodes) != len(nodes) {
		i := nodes[slices.IndexFunc(nodes, func(i int32) bool { return !b.visited[i] })]
		return nil, fmt.Errorf("no branch of tree %d leads to node %d; its root is the first that is listed, node %d; export it again", b.tree[i], b.id[i], b.id[nodes[0]])
	}
	return t, nil
}

// empty returns a tree with room for some nodes and their answers, and with lists for what the ensemble has beside them.
func (b *builder) empty(nodes []int32) (*tree.Tree, error) {
	leaves, room := 0, 0
	for _, i := range nodes {
		if b.mode[i] == leaf {
			leaves++
			room += b.room(i)
		}
	}
	if 2*leaves != len(nodes)+1 {
		return nil, fmt.Errorf("tree %d has %d leaves of %d nodes, and two branches at each other one need one more leaf than that; export it again", b.tree[nodes[0]], leaves, len(nodes))
	}
	t := &tree.Tree{Columns: b.columns, Outputs: b.width, Nodes: make([]tree.Node, 0, len(nodes)), Values: make([]float64, room)}
	if b.sparse {
		t.Classes = make([]int32, room)
	}
	if b.tracks != nil {
		t.MissingLeft = make([]bool, 0, len(nodes))
	}
	if b.exact {
		t.Exact = make([]float64, 0, len(nodes))
	}
	return t, nil
}

// link lets a node's parent point at it.
func link(t *tree.Tree, s step, at int32) {
	switch {
	case s.parent < 0:
	case s.right:
		t.Nodes[s.parent].Right = at
	default:
		t.Nodes[s.parent].Left = at
	}
}

// add appends a node, and what the tree keeps of it beside.
func add(t *tree.Tree, n tree.Node, threshold float64, missingLeft bool) {
	t.Nodes = append(t.Nodes, n)
	if t.Exact != nil {
		t.Exact = append(t.Exact, threshold)
	}
	if t.MissingLeft != nil {
		t.MissingLeft = append(t.MissingLeft, missingLeft)
	}
}

// branch appends a node that splits, and returns the positions of its children.
func (b *builder) branch(k int, t *tree.Tree, i int32) (left, right int32, err error) {
	threshold, trueLeft, err := b.split(int(i))
	if err != nil {
		return 0, 0, err
	}
	if f := b.feature[i]; f < 0 || f >= int64(b.columns) {
		return 0, 0, fmt.Errorf("node %d of tree %d asks for column %d, and rows have %d; export it again", b.id[i], b.tree[i], f, b.columns)
	}
	if left, err = b.child(k, i, b.yes[i]); err != nil {
		return 0, 0, err
	}
	if right, err = b.child(k, i, b.no[i]); err != nil {
		return 0, 0, err
	}
	add(t, tree.Node{Feature: int32(b.feature[i]), Threshold: float32(threshold)}, threshold, b.tracks != nil && (b.tracks[i] != 0) == trueLeft)
	if !trueLeft {
		left, right = right, left
	}
	return left, right, nil
}

// child returns the position of a child of node i by its id.
func (b *builder) child(k int, i int32, id int64) (int32, error) {
	child := b.node(k, id)
	if child < 0 {
		return 0, fmt.Errorf("node %d of tree %d leads to node %d, which is not there; export it again", b.id[i], b.tree[i], id)
	}
	return child, nil
}

// room is how many numbers of Values a leaf needs.
func (b *builder) room(i int32) int {
	if b.sparse {
		return max(int(b.votes[i]), 1)
	}
	return b.width
}

// count finds the leaf of each vote.
func (b *builder) count() error {
	b.voter, b.votes = make([]int32, len(b.voteTree)), make([]int32, len(b.tree))
	for v, id := range b.voteTree {
		k, ok := b.number[id]
		if !ok {
			return fmt.Errorf("a leaf of tree %d votes, which has no nodes; export it again", id)
		}
		i := b.node(int(k), b.voteNode[v])
		if i < 0 {
			return fmt.Errorf("node %d of tree %d votes, which is not there; export it again", b.voteNode[v], id)
		}
		if b.mode[i] != leaf {
			return fmt.Errorf("node %d of tree %d votes, and is no leaf; export it again", b.voteNode[v], id)
		}
		b.voter[v] = i
		b.votes[i]++
	}
	return nil
}

// fill writes the votes into the leaves.
func (b *builder) fill(trees []*tree.Tree, place func(vote int) (at int, weight float64)) {
	for _, t := range trees {
		for i := range t.Classes {
			t.Classes[i] = -1 // class 0, and the last: what a leaf without votes has
		}
	}
	given := make([]int32, len(b.tree)) // votes that are written
	for v, i := range b.voter {
		t := trees[b.number[b.voteTree[v]]]
		at, weight := place(v)
		if !b.sparse {
			t.Values[int(b.slot[i])+at] += weight
			continue
		}
		to, class := b.slot[i]+given[i], int32(at)
		if given[i]++; given[i] == b.votes[i] {
			class = ^class
		}
		t.Values[to], t.Classes[to] = weight, class
	}
}
