package tree

import (
	"fmt"
	"math"
)

// Wide is a node of a [Growth] that waits for its histograms: so many rows that counting them is work for a GPU.
type Wide struct {
	Rows    []uint32 // rows of the dataset, ascending; a view that is valid until the node is split
	Columns []int    // columns to count, in the order of SplitWide's counts
	node    int
}

// WideRows is how many rows the nodes have that no [Wide] is of; the rows of such a node are in the cache.
const WideRows = blockRows

// Counted reports why trees of these settings cannot take histograms of counts, or nil: they judge two or three classes
// by Gini's impurity, without weights, in up to 256 bins, without MaxLeafNodes.
func (b *Builder) Counted() error {
	switch {
	case b.ground.whole.narrow == nil:
		return fmt.Errorf("tree: a column has more than %d bins", byteBins)
	case b.config.MaxLeafNodes > 0:
		return fmt.Errorf("tree: with MaxLeafNodes, nodes are split one by one, the best first")
	}
	if _, ok := b.criterion.(*packedGini); !ok {
		return fmt.Errorf("tree: only up to %d classes without weights are counted, by Gini's impurity", packedClasses)
	}
	return nil
}

// Begin begins a tree as Grow does, for others to take part in: take Wide nodes and split them by SplitWide until there are
// none, then Finish. The builder is the Growth's until then.
func (b *Builder) Begin(draws []uint16, seed uint64) (*Growth, error) {
	if err := b.Counted(); err != nil {
		return nil, err
	}
	root, err := b.begin(draws, seed)
	if err != nil {
		return nil, err
	}
	return newGrowth(b, root), nil
}

// Wide returns the open nodes of more than WideRows rows that may be split, and leaves the others to Finish. Each has to be
// split by SplitWide.
func (g *Growth) Wide() []Wide {
	var wide []Wide
	narrow := g.open[:0:0]
	for _, id := range g.open {
		at := &g.nodes[id].at
		rows := g.builder.rows[at.start:at.end]
		if len(rows) > blockRows && !g.nodes[id].counted {
			g.builder.stand(at)
			g.builder.criterion.sum(rows)
			if g.builder.divisible(at) {
				wide = append(wide, Wide{rows, g.builder.splitter.drawn(at.seed), id})
				continue
			}
		}
		narrow = append(narrow, id)
	}
	g.open = narrow
	return wide
}

// MaxFeatures is how many columns a node looks at: max_features of the settings as a count, scikit-learn's max_features_.
func (b *Builder) MaxFeatures() int { return b.splitter.draw }

// SplitWide splits a node by its histograms: counts[j][code][class] is how many draws the rows of that code in column
// Columns[j] and of that class have, and counts[j][code][classes] how many rows of that code there are; 256 codes a
// column, those of [Bins.Codes]. A node that its columns cannot split is left to Finish.
func (g *Growth) SplitWide(w Wide, counts []uint32) {
	b, at := g.builder, g.nodes[w.node].at
	p := b.criterion.(*packedGini)
	b.stand(&at)
	p.sum(w.Rows)
	best := split{score: math.Inf(-1)}
	varies := false
	for _, index := range w.Columns {
		c := b.ground.column(index)
		size := byteBins * (p.classes + 1)
		varies = p.tryCounts(&c, counts[:size], &best) || varies
		counts = counts[size:]
	}
	if !varies || !b.worthwhile(best) {
		g.nodes[w.node].counted, g.open = true, append(g.open, w.node)
		return
	}
	g.split(b, w.node, at, best)
}

// Codes returns the code of each row in a column, a byte each; nil where some column has more than 256 bins. It is read-only.
func (b *Bins) Codes(column int) []uint8 {
	if b.codes.narrow == nil {
		return nil
	}
	return b.codes.narrow[column]
}
