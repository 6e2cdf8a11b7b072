package tree

import (
	"math"
	"slices"

	"cancha/ml"
)

// numbers judges splits of rows with a target, by squared error or Poisson deviance.
type numbers struct {
	kind   Criterion
	least  float64 // MinSamplesLeaf
	weigh  []float64
	target []float64
	// furthest is how far from 0 a target may lie: offsets are rounded by that where they were counted from 0.
	furthest float64

	of, whole, block numberRows
	order            order
	node             sums
	bins             []sums // of a column of bytes; zero between searches
	codes            []uint32
	stats            []sums // of codes, the bins with rows
	behind           []sums // of a scan that ends on light rows: of the bins from each on
}

// sums are the stats of a set of rows; those of disjoint sets add up.
type sums struct {
	rows   float64
	weight float64
	offset float64 // Σ weight × (target − origin of the node)
}

// numberRows are, of each row of a table, the weight, the weight × (target − origin of its node), and the target.
type numberRows struct{ weight, offset, target []float64 }

func newNumbers(d *ml.Dataset, c Config) *numbers {
	return &numbers{kind: c.Criterion, least: float64(c.MinSamplesLeaf), weigh: c.rowWeights(d), target: d.Targets, bins: make([]sums, 256),
		whole: newNumberRows(d.Rows()), block: newNumberRows(blockRows)}
}

func newNumberRows(rows int) numberRows {
	return numberRows{make([]float64, rows), make([]float64, rows), make([]float64, rows)}
}

func (n *numbers) helper() criterion {
	return &numbers{kind: n.kind, least: n.least, weigh: n.weigh, target: n.target, furthest: n.furthest, of: n.whole, whole: n.whole, bins: make([]sums, 256),
		block: newNumberRows(blockRows)}
}

func (n *numbers) load(draws []uint16) {
	n.of, n.furthest = n.whole, 0
	for i, times := range draws {
		weight := float64(times) * weightOf(n.weigh, i)
		n.whole.weight[i], n.whole.offset[i], n.whole.target[i] = weight, weight*n.target[i], n.target[i]
		n.furthest = max(n.furthest, math.Abs(n.target[i]))
	}
}

func (n *numbers) enter(rows []uint32) {
	for i, r := range rows {
		n.block.weight[i], n.block.offset[i], n.block.target[i] = n.whole.weight[r], n.whole.offset[r], n.whole.target[r]
	}
	n.of = n.block
}

func (n *numbers) leave() { n.of = n.whole }

func (n *numbers) sum(rows []uint32) {
	n.node = sums{}
	for _, r := range rows {
		n.node.add(sums{1, n.of.weight[r], n.of.offset[r]})
	}
}

func (s *sums) add(o sums) {
	s.rows += o.rows
	s.weight += o.weight
	s.offset += o.offset
}

// uniform reports whether the targets of all rows are equal.
func (n *numbers) uniform(rows []uint32) bool {
	first := n.of.target[rows[0]]
	return !slices.ContainsFunc(rows, func(r uint32) bool { return n.of.target[r] != first })
}

// center: the squares of targets that count from the mean hold nothing but what a split can change. Those of Unix times,
// 1e18, leave no digits for differences of seconds. The logarithm of Poisson's needs the targets as they are.
func (n *numbers) center(rows []uint32, origin float64) float64 {
	if n.kind == Poisson {
		return origin
	}
	mean := n.node.offset / n.node.weight
	n.node.offset = 0
	for _, r := range rows {
		n.of.offset[r] -= n.of.weight[r] * mean
		n.node.offset += n.of.offset[r]
	}
	origin += mean
	if n.lost(rows, origin) {
		n.count(rows, origin)
	}
	return origin
}

// lost reports whether the targets of the node lie so close to their mean that offsets which once were counted from an origin as far away as the furthest
// target have lost half of the digits that tell them apart. Mostly the first row says no.
func (n *numbers) lost(rows []uint32, mean float64) bool {
	enough, spread := n.furthest*0x1p-24*n.node.weight, 0.0
	for _, r := range rows {
		if spread += n.of.weight[r] * math.Abs(n.of.target[r]-mean); spread >= enough {
			return false
		}
	}
	return true
}

// count counts the targets of the node from an origin anew.
func (n *numbers) count(rows []uint32, origin float64) {
	n.node.offset = 0
	for _, r := range rows {
		n.of.offset[r] = n.of.weight[r] * (n.of.target[r] - origin)
		n.node.offset += n.of.offset[r]
	}
}

func (n *numbers) score() float64 { return n.judge(n.node) }

// judge scores a set that is not empty.
func (n *numbers) judge(s sums) float64 {
	if n.kind == Poisson {
		return poissonScore(s.weight, s.offset)
	}
	return s.offset * s.offset / s.weight
}

// answer: the mean of equal targets is the target, with no rounding.
func (n *numbers) answer(dst []float64, rows []uint32, origin float64) []float64 {
	if n.uniform(rows) {
		return append(dst, n.of.target[rows[0]])
	}
	mean := origin + n.node.offset/n.node.weight
	if n.lost(rows, mean) {
		n.count(rows, mean)
		mean += n.node.offset / n.node.weight
	}
	return append(dst, mean)
}

func (n *numbers) try(c *column, rows []uint32, best *split) bool {
	n.codes, n.stats = n.codes[:0], n.stats[:0]
	if c.narrow != nil && len(rows) >= sparse {
		n.fill(c.narrow, rows)
	} else {
		n.runs(c, rows)
	}
	last := len(n.codes) - 1
	if last == 0 {
		return false
	}
	if c.missing && n.codes[last] == uint32(c.bins) {
		n.scan(c, n.codes[:last], n.stats, sums{}, best)
		n.scan(c, n.codes[:last-1], n.stats[:last], n.stats[last], best)
		return true
	}
	n.scan(c, n.codes[:last], n.stats, sums{}, best)
	return true
}

// fill sums up rows by the bins of a column of bytes. This is where a forest of numbers spends its time.
func (n *numbers) fill(codes []uint8, rows []uint32) {
	weight, offset := n.of.weight, n.of.offset
	for _, r := range rows {
		bin := &n.bins[codes[r]]
		bin.rows++
		bin.weight += weight[r]
		bin.offset += offset[r]
	}
	for code := range n.bins {
		if bin := n.bins[code]; bin.rows > 0 {
			n.codes, n.stats = append(n.codes, uint32(code)), append(n.stats, bin)
			n.bins[code] = sums{}
		}
	}
}

// runs sorts the rows by code and sums up each run of one code.
func (n *numbers) runs(c *column, rows []uint32) {
	for i, key := range n.order.sort(c, rows) {
		code, row := uint32(key>>32), uint32(key)
		if i == 0 || code != n.codes[len(n.codes)-1] {
			n.codes, n.stats = append(n.codes, code), append(n.stats, sums{})
		}
		n.stats[len(n.stats)-1].add(sums{1, n.of.weight[row], n.of.offset[row]})
	}
}

// scan scores the split behind each of the codes, with the bins up to it and those in left on the left side. Where left
// has rows, they are the missing ones. Stats are of the codes and of the bins behind them.
func (n *numbers) scan(c *column, codes []uint32, stats []sums, left sums, best *split) {
	missing := left.rows > 0
	heavy := n.heavy(stats)
	for i, code := range codes[:heavy] {
		left.add(stats[i])
		right := sums{n.node.rows - left.rows, n.node.weight - left.weight, n.node.offset - left.offset}
		if left.rows < n.least {
			continue
		}
		if right.rows < n.least {
			return
		}
		if score := n.judge(left) + n.judge(right); score > best.score {
			*best = split{column: c.index, last: code, score: score, missingLeft: missing}
		}
	}
	if heavy < len(codes) {
		n.scanLight(c, codes[heavy:], stats[heavy:], left, missing, best)
	}
}

// heavy returns how many of the splits behind each bin but the last have a right side that may be taken as what the left leaves of the node. Where it is
// too light, or of Poisson has too few events, what the left's sums are rounded by would be much of it, or all.
func (n *numbers) heavy(stats []sums) int {
	var right sums
	i := len(stats) - 1
	for ; i > 0; i-- {
		right.add(stats[i])
		if right.weight >= precise*n.node.weight && (n.kind != Poisson || right.offset >= precise*n.node.offset) {
			break
		}
	}
	return i
}

// scanLight is scan where right sides are light: it adds up each.
func (n *numbers) scanLight(c *column, codes []uint32, stats []sums, left sums, missing bool, best *split) {
	n.behind = append(n.behind[:0], stats...)
	for i := len(stats) - 2; i >= 0; i-- {
		n.behind[i].add(n.behind[i+1])
	}
	for i, code := range codes {
		left.add(stats[i])
		right := n.behind[i+1]
		if left.rows < n.least || right.rows < n.least {
			continue
		}
		if score := n.judge(left) + n.judge(right); score > best.score {
			*best = split{column: c.index, last: code, score: score, missingLeft: missing}
		}
	}
}
