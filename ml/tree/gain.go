package tree

import (
	"container/heap"
	"context"
	"fmt"
)

// candidate is a leaf that could be split, and by how much that would lower the impurity.
type candidate struct {
	at       pending
	id       int32
	found    split
	decrease float64
}

// candidates is a heap: the split that lowers the impurity most comes first; among equals, the node that was made first.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
func (c candidates) Less(i, j int) bool {
	if c[i].decrease != c[j].decrease {
		return c[i].decrease > c[j].decrease
	}
	return c[i].id < c[j].id
}

// bestFirst grows a tree of at most MaxLeafNodes leaves: it splits the leaf that gains most from it, again and again.
func (b *Builder) bestFirst(ctx context.Context, t *Tree, root pending) error {
	var open candidates
	b.consider(t, &open, root)
	for leaves := 1; len(open) > 0; leaves++ {
		if ctx.Err() != nil {
			return fmt.Errorf("tree: growing stopped: %w", context.Cause(ctx))
		}
		if leaves == b.config.MaxLeafNodes {
			break
		}
		c := heap.Pop(&open).(candidate)
		b.criterion.sum(b.rows[c.at.start:c.at.end])
		left, right := b.divide(t, c.id, c.at, c.found)
		b.consider(t, &open, left)
		b.consider(t, &open, right)
	}
	for _, c := range open {
		b.criterion.sum(b.rows[c.at.start:c.at.end])
		b.close(t, c.id, c.at)
	}
	return nil
}

// consider adds a node, as a leaf or among those that could be split.
func (b *Builder) consider(t *Tree, open *candidates, at pending) {
	id := b.link(t, at)
	found, ok := b.search(&at)
	if !ok {
		b.close(t, id, at)
		return
	}
	heap.Push(open, candidate{at, id, found, found.score - b.criterion.score()})
}
