package tree

import (
	"math"
	"math/rand/v2"
)

// splitter searches the best split of a node over some columns drawn without replacement.
type splitter struct {
	config      Config
	criterion   criterion
	partitioner *partitioner
	columns     []int     // all columns; drawn ones are swapped to the front
	draw        int       // how many columns a split looks at
	left, right []float64 // scratch: stats of the two sides
}

// newSplitter resolves how many columns a split looks at.
func newSplitter(b *Bins, c Config, crit criterion) (*splitter, error) {
	draw, err := c.columns(b.Columns())
	if err != nil {
		return nil, err
	}
	s := &splitter{config: c, criterion: crit, partitioner: newPartitioner(b, crit), draw: draw}
	s.columns = make([]int, b.Columns())
	s.left, s.right = make([]float64, crit.width), make([]float64, crit.width)
	return s, nil
}

// reset puts the columns back in order, so that a tree does not depend on the tree that was grown before it.
func (s *splitter) reset() {
	for i := range s.columns {
		s.columns[i] = i
	}
}

// split is the answer to a search: rows whose code of column is at or below last go left. Score is the sum of both
// sides' scores; -Inf where no split is allowed.
type split struct {
	column, last int
	threshold    float64
	score        float64
}

// best looks at columns in random order until it has seen as many as it should and one of them could be split; like
// scikit-learn it goes on while all columns seen are constant in the node. The first of equally good splits stays.
func (s *splitter) best(samples []sample, stats []float64, rng *rand.Rand) split {
	best := split{score: math.Inf(-1)}
	constant := 0
	for seen := 0; seen < len(s.columns) && (seen < s.draw || constant == seen); seen++ {
		k := seen + rng.IntN(len(s.columns)-seen)
		s.columns[seen], s.columns[k] = s.columns[k], s.columns[seen]
		column := s.columns[seen]
		p := s.partitioner.profile(column, samples)
		if !s.scan(p, column, stats, &best) {
			constant++
		}
	}
	return best
}

// scan tries a split before every bin with rows, keeps the best, and reports whether there was one to try: false means
// that the column is constant in the node.
func (s *splitter) scan(p profile, column int, node []float64, best *split) bool {
	width, least := s.criterion.width, float64(s.config.MinSamplesLeaf)
	left := s.left
	clear(left)
	before, varies := -1, false
	for i := range p.bins {
		bin := p.stats[i*width : (i+1)*width]
		if bin[0] == 0 {
			continue
		}
		if before >= 0 {
			varies = true
			if node[0]-left[0] < least {
				break
			}
			if left[0] >= least {
				s.try(p, column, before, i, node, best)
			}
		}
		for k, v := range bin {
			left[k] += v
		}
		before = i
	}
	return varies
}

// try scores the split between two neighbouring bins with rows.
func (s *splitter) try(p profile, column, before, after int, node []float64, best *split) {
	for k, v := range s.left {
		s.right[k] = node[k] - v
	}
	score := s.criterion.score(s.left) + s.criterion.score(s.right)
	if score > best.score {
		a, b := p.code(before), p.code(after)
		*best = split{column, a, s.partitioner.bins.threshold(column, a, b), score}
	}
}
