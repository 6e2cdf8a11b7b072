package tree

import "cancha/ml"

// weightedClasses judges classes by any criterion, any weights and any number of classes. A set's stats are the weight of
// each class. Rows are sorted and moved from the right side to the left one by one, so a split by Gini costs what its rows
// do, and not a sum over bins and classes; entropy sums up the classes at each.
type weightedClasses struct {
	kind   Criterion
	least  int // MinSamplesLeaf
	weigh  []float64
	labels []int

	of, whole, block weightedRows
	order            order
	node             []float64 // weight of each class in the node
	rows             int       // of the node
	left, right      side
}

// weightedRows are the weight and class of each row of a table.
type weightedRows struct {
	weight []float64
	class  []int32
}

// side is one side of a split: the weight of each class, and for Gini, which needs no more, sums of them.
type side struct {
	weights      []float64
	sum, squares float64
	enough       float64 // sum and squares are precise while the sum is not below
	rows         int
}

// precise is how far a sum may shrink before it is added up anew: its squares are rounded by less than 1e-11 of the node's score until then. It is so
// little that most nodes are never added up again; and where weights are whole numbers nothing is rounded at all.
const precise = 0x1p-16

func newWeightedClasses(d *ml.Dataset, c Config) *weightedClasses {
	k := len(d.Classes)
	w := &weightedClasses{kind: c.Criterion, least: c.MinSamplesLeaf, weigh: c.rowWeights(d), labels: d.Labels, node: make([]float64, k)}
	w.whole = weightedRows{make([]float64, d.Rows()), make([]int32, d.Rows())}
	w.block = weightedRows{make([]float64, blockRows), make([]int32, blockRows)}
	w.left.weights, w.right.weights = make([]float64, k), make([]float64, k)
	return w
}

func (w *weightedClasses) helper() criterion {
	k := len(w.node)
	h := &weightedClasses{kind: w.kind, least: w.least, weigh: w.weigh, labels: w.labels, of: w.whole, whole: w.whole, node: make([]float64, k)}
	h.block = weightedRows{make([]float64, blockRows), make([]int32, blockRows)}
	h.left.weights, h.right.weights = make([]float64, k), make([]float64, k)
	return h
}

func (w *weightedClasses) load(draws []uint16) {
	w.of = w.whole
	for i, n := range draws {
		w.whole.weight[i], w.whole.class[i] = float64(n)*weightOf(w.weigh, i), int32(w.labels[i])
	}
}

func (w *weightedClasses) enter(rows []uint32) {
	for i, r := range rows {
		w.block.weight[i], w.block.class[i] = w.whole.weight[r], w.whole.class[r]
	}
	w.of = w.block
}

func (w *weightedClasses) leave() { w.of = w.whole }

func (w *weightedClasses) sum(rows []uint32) {
	clear(w.node)
	for _, r := range rows {
		w.node[w.of.class[r]] += w.of.weight[r]
	}
	w.rows = len(rows)
}

func (w *weightedClasses) uniform([]uint32) bool {
	classes := 0
	for _, v := range w.node {
		if v > 0 {
			classes++
		}
	}
	return classes <= 1
}

func (w *weightedClasses) center([]uint32, float64) float64 { return 0 }

func (w *weightedClasses) score() float64 {
	if w.kind == Gini {
		return giniScore(w.node)
	}
	return entropyScore(w.node)
}

func (w *weightedClasses) answer(dst []float64, _ []uint32, _ float64) []float64 {
	sum := 0.0
	for _, v := range w.node {
		sum += v
	}
	for _, v := range w.node {
		dst = append(dst, v/sum)
	}
	return dst
}

func (w *weightedClasses) try(c *column, rows []uint32, best *split) bool {
	keys := w.order.sort(c, rows)
	if keys[0]>>32 == keys[len(keys)-1]>>32 {
		return false
	}
	numbers := len(keys)
	for c.missing && numbers > 0 && uint32(keys[numbers-1]>>32) == uint32(c.bins) {
		numbers--
	}
	w.scan(c, keys[:numbers], nil, best)
	if numbers < len(keys) {
		w.scan(c, keys[:numbers], keys[numbers:], best)
	}
	return true
}

// scan moves rows to the left in the order of their codes, those of missing first, and scores each split between two
// codes, and the one between all rows moved and those that stay.
func (w *weightedClasses) scan(c *column, keys, missing []uint64, best *split) {
	w.left.reset()
	w.right.fill(w.node, w.rows)
	for _, key := range missing {
		w.move(uint32(key))
	}
	for i, key := range keys {
		w.move(uint32(key))
		if i+1 < len(keys) && keys[i+1]>>32 == key>>32 || w.left.rows < w.least {
			continue
		}
		if w.right.rows < w.least {
			return
		}
		if w.right.sum < w.right.enough && !w.right.mend() {
			return
		}
		if score := w.left.score(w.kind) + w.right.score(w.kind); score > best.score {
			*best = split{column: c.index, last: uint32(key >> 32), score: score, missingLeft: missing != nil}
		}
	}
}

// move takes a row from the right to the left.
func (w *weightedClasses) move(row uint32) {
	class, weight := w.of.class[row], w.of.weight[row]
	w.left.add(class, weight)
	w.right.add(class, -weight)
	w.left.rows++
	w.right.rows--
}

func (s *side) reset() {
	clear(s.weights)
	s.sum, s.squares, s.rows = 0, 0, 0
}

// fill makes the side a whole node.
func (s *side) fill(node []float64, rows int) {
	copy(s.weights, node)
	s.rows = rows
	s.addUp()
}

// mend makes the sums anew of weights that were moved away; one below 0 is what rounding left of a class. It returns false where nothing is left: all
// rows weigh less than the other side's weight is rounded by, and are no side of a split.
func (s *side) mend() bool {
	for k, v := range s.weights {
		s.weights[k] = max(v, 0)
	}
	s.addUp()
	return s.sum > 0
}

// addUp makes the sums of the weights.
func (s *side) addUp() {
	s.sum, s.squares = 0, 0
	for _, v := range s.weights {
		s.sum += v
		s.squares += v * v
	}
	s.enough = s.sum * precise
}

// add adds weight to a class. Squares follow by (v + w)² = v² + w (2v + w).
func (s *side) add(class int32, weight float64) {
	v := s.weights[class]
	s.weights[class] = v + weight
	s.sum += weight
	s.squares += weight * (2*v + weight)
}

// score judges the side, which is not empty.
func (s *side) score(kind Criterion) float64 {
	if kind == Gini {
		return s.squares / s.sum
	}
	return entropyScore(s.weights)
}
