package tree

import (
	"math"
	"math/bits"
)

// splitter searches the best split of a node over some columns drawn without replacement.
type splitter struct {
	ground    *ground
	criterion criterion
	columns   []int // all columns, in order between searches
	swaps     []int // of the search going on
	draw      int   // how many columns a split looks at
}

// newSplitter resolves how many columns a split looks at.
func newSplitter(g *ground, c Config, crit criterion) (*splitter, error) {
	draw, err := c.columns(g.bins.Columns())
	if err != nil {
		return nil, err
	}
	s := &splitter{ground: g, criterion: crit, draw: draw, columns: make([]int, g.bins.Columns())}
	for i := range s.columns {
		s.columns[i] = i
	}
	return s, nil
}

// split is the answer to a search: rows whose code of column is at or below last go left, and those without a number
// where missingLeft says. Score is the sum of both sides' scores; -Inf where no split is allowed.
type split struct {
	column      int
	last        uint32
	missingLeft bool
	score       float64
}

// best looks at columns in random order until it has seen as many as it should and one of them could be split; like
// scikit-learn it goes on while all columns seen are constant in the node. The first of equally good splits stays. Which
// columns it draws depends on the seed alone, and not on any search before it.
func (s *splitter) best(rows []uint32, seed uint64) split {
	best := split{score: math.Inf(-1)}
	constant := 0
	s.swaps = s.swaps[:0]
	for seen := 0; seen < len(s.columns) && (seen < s.draw || constant == seen); seen++ {
		seed = next(seed)
		c := s.ground.column(s.pick(seen, seed))
		if !s.criterion.try(&c, rows, &best) {
			constant++
		}
	}
	s.restore()
	return best
}

// drawn returns the columns that best looks at unless all of them are constant, in its order.
func (s *splitter) drawn(seed uint64) []int {
	s.swaps = s.swaps[:0]
	columns := make([]int, s.draw)
	for seen := range columns {
		seed = next(seed)
		columns[seen] = s.pick(seen, seed)
	}
	s.restore()
	return columns
}

// restore puts all columns back in order.
func (s *splitter) restore() {
	for seen := len(s.swaps) - 1; seen >= 0; seen-- {
		k := s.swaps[seen]
		s.columns[seen], s.columns[k] = s.columns[k], s.columns[seen]
	}
}

// pick draws one of the columns that were not seen yet and puts it in its place among those that were.
func (s *splitter) pick(seen int, random uint64) int {
	k, _ := bits.Mul64(mix(random), uint64(len(s.columns)-seen))
	at := seen + int(k)
	s.columns[seen], s.columns[at] = s.columns[at], s.columns[seen]
	s.swaps = append(s.swaps, at)
	return s.columns[seen]
}

// next and mix are SplitMix64 (Steele, Lea, Flood 2014): next steps its state, mix makes a random number of a state.
func next(state uint64) uint64 { return state + 0x9e3779b97f4a7c15 }

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// seedOf returns the seed of a node's left or right child. A node's seed depends on its way down from the root alone, so
// nodes may be grown in any order.
func seedOf(parent uint64, right bool) uint64 {
	if right {
		return mix(parent ^ 0x7269676874) // "right"
	}
	return mix(parent ^ 0x6c656674) // "left"
}
