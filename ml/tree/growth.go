package tree

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Growth is a tree in the making in which others take part: goroutines that grow its subtrees, or a GPU that counts the
// histograms of its large nodes. Nodes may be split in any order; the tree is always the one that Grow gives.
type Growth struct {
	builder *Builder
	nodes   []grown
	open    []int // nodes that are still to be grown

	mu   sync.Mutex // guards nodes and open while Finish runs, and the fields below
	wake *sync.Cond // an open node was added, or there will be none
	busy int        // workers that may add open nodes
	err  error
}

// grown is a node: still open, split, or a subtree that was grown on its own.
type grown struct {
	at          pending
	found       split
	threshold   float64
	missingLeft bool
	decrease    float64
	left, right int // positions in nodes; 0: not split
	part        *part
	counted     bool // its histograms did not split it
}

// part is a subtree, and where it has the answers of leaves of one class.
type part struct {
	tree *Tree
	pure []int32
}

func newGrowth(b *Builder, root pending) *Growth {
	g := &Growth{builder: b, nodes: []grown{{at: root}}, open: []int{0}}
	g.wake = sync.NewCond(&g.mu)
	return g
}

// Finish grows all nodes that are open on the builder's workers and returns the tree.
func (g *Growth) Finish(ctx context.Context) (*Tree, error) {
	builders := []*Builder{g.builder}
	for len(builders) < g.builder.config.Workers {
		builders = append(builders, g.builder.helper())
	}
	var workers sync.WaitGroup
	for _, b := range builders {
		workers.Go(func() { g.work(ctx, b) })
	}
	workers.Wait()
	if g.err != nil {
		return nil, g.err
	}
	return g.assemble(), nil
}

// work grows open nodes until there are none.
func (g *Growth) work(ctx context.Context, b *Builder) {
	for {
		id, at, ok := g.take()
		if !ok {
			return
		}
		g.done(g.grow(ctx, b, id, at))
	}
}

// take waits for an open node. It returns false when there will be none any more.
func (g *Growth) take() (int, pending, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.open) == 0 && g.busy > 0 && g.err == nil {
		g.wake.Wait()
	}
	if len(g.open) == 0 || g.err != nil {
		return 0, pending{}, false
	}
	id := g.open[len(g.open)-1]
	g.open = g.open[:len(g.open)-1]
	g.busy++
	return id, g.nodes[id].at, true
}

// done takes note that a worker has grown what it took.
func (g *Growth) done(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	if g.err == nil {
		g.err = err
	}
	g.wake.Broadcast()
}

// grow splits a node of many rows, and grows all that is below one of few.
func (g *Growth) grow(ctx context.Context, b *Builder, id int, at pending) error {
	if ctx.Err() != nil {
		return fmt.Errorf("tree: growing stopped: %w", context.Cause(ctx))
	}
	at.parent = -1 // of the part that begins here
	if at.end-at.start <= blockRows {
		t := b.empty()
		err := b.depthFirst(ctx, t, at)
		g.set(b, id, t)
		return err
	}
	b.stand(&at)
	found, ok := b.search(&at)
	if !ok {
		t := b.empty()
		b.close(t, b.link(t, at), at)
		g.set(b, id, t)
		return nil
	}
	g.split(b, id, at, found)
	return nil
}

// set makes a tree that b has just grown the subtree of a node.
func (g *Growth) set(b *Builder, id int, t *Tree) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nodes[id].part = &part{t.clone(), slices.Clone(b.pure)}
}

// split divides the rows of a node and opens its two sides. The criterion of b is about the node.
func (g *Growth) split(b *Builder, id int, at pending, found split) {
	rows := b.rows[at.start:at.end]
	decrease := found.score - b.criterion.score()
	n := b.ground.partition(rows, &found)
	threshold, missingLeft := b.ground.threshold(&found, rows[n:]), b.ground.missingLeft(&found, rows, n)
	left, right := at.sides(n)
	g.mu.Lock()
	defer g.mu.Unlock()
	next := len(g.nodes)
	g.nodes = append(g.nodes, grown{at: left}, grown{at: right})
	g.open = append(g.open, next+1, next)
	node := &g.nodes[id]
	node.at, node.found, node.threshold, node.missingLeft, node.decrease, node.left, node.right = at, found, threshold, missingLeft, decrease, next, next+1
	g.wake.Broadcast()
}

// helper returns a builder that grows parts of the same tree at the same time: it shares what is read, and the rows, of which
// every node has its own.
func (b *Builder) helper() *Builder {
	h := *b
	h.ground = newGround(b.ground.bins)
	h.criterion = b.criterion.helper()
	h.splitter = &splitter{ground: h.ground, criterion: h.criterion, draw: b.splitter.draw, columns: slices.Clone(b.splitter.columns)}
	h.stack, h.values, h.scratch, h.pure = nil, nil, Tree{}, slices.Clone(b.pure)
	return &h
}

// assemble puts the nodes into the order of a depth-first walk.
func (g *Growth) assemble() *Tree {
	b := g.builder
	t := b.empty()
	type link struct {
		node   int
		parent int32
		right  bool
	}
	for todo := []link{{0, -1, false}}; len(todo) > 0; {
		top := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := &g.nodes[top.node]
		if n.part != nil {
			b.graft(t, n.part, top.parent, top.right)
			continue
		}
		at := n.at
		at.parent, at.right = top.parent, top.right
		id := b.link(t, at)
		t.set(id, n.found.column, n.threshold)
		t.decrease[id] = n.decrease
		if t.MissingLeft != nil {
			t.MissingLeft[id] = n.missingLeft
		}
		todo = append(todo, link{n.right, id, true}, link{n.left, id, false})
	}
	return t.finished()
}

// graft hangs a part into a tree.
func (b *Builder) graft(t *Tree, p *part, parent int32, right bool) {
	first := int32(len(t.Nodes))
	if parent >= 0 && right {
		t.Nodes[parent].Right = first
	} else if parent >= 0 {
		t.Nodes[parent].Left = first
	}
	t.Exact, t.MissingLeft = append(t.Exact, p.tree.Exact...), append(t.MissingLeft, p.tree.MissingLeft...)
	t.decrease = append(t.decrease, p.tree.decrease...)
	for _, n := range p.tree.Nodes {
		if n.Feature < 0 {
			n.Left = b.carry(t, p, n.Left)
		} else {
			n.Left, n.Right = n.Left+first, n.Right+first
		}
		t.Nodes = append(t.Nodes, n)
	}
}

// carry copies an answer of a part into a tree, unless the tree has it: that of leaves of one class.
func (b *Builder) carry(t *Tree, p *part, start int32) int32 {
	to := int32(len(t.Values))
	for class, at := range p.pure {
		if at != start {
			continue
		}
		if b.pure[class] >= 0 {
			return b.pure[class]
		}
		b.pure[class] = to
	}
	end := start + int32(p.tree.Outputs)
	if p.tree.Classes != nil {
		for end = start + 1; p.tree.Classes[end-1] >= 0; end++ {
		}
		t.Classes = append(t.Classes, p.tree.Classes[start:end]...)
	}
	t.Values = append(t.Values, p.tree.Values[start:end]...)
	return to
}
