package tree

import (
	"math/bits"

	"cancha/ml"
)

// packedGini judges by Gini's impurity where rows weigh as often as they were drawn and there are at most three classes:
// most forests. A set's stats are one number of 64 bits, the draws of each class and the distinct rows in 16 bits each,
// so one addition adds a row, and one load tells whether a bin has rows. It counts in whole numbers: no rounding, and the
// same sums in any order.
type packedGini struct {
	classes int
	least   uint64 // MinSamplesLeaf
	of      []uint64
	whole   []uint64 // stats of each row of the tree's table
	block   []uint64 // of each row of a block
	labels  []int
	order   order
	node    [4]uint64 // of the node: draws of classes 0, 1 and 2, and distinct rows
	total   uint64    // the same packed, where it fits: see small
	bins    [256]uint64
	large   [256][2]uint64 // where draws may exceed 16 bits: classes 0 and 1, class 2 and rows, 32 bits each
	codes   [256]uint32    // bins with rows, ascending, and their stats
	stats   [256]uint64
	// The same of columns with more bins, and of nodes with more draws.
	wideCodes []uint32
	wideStats []uint64
	pairs     [][2]uint64
}

// packedClasses is how many classes fit into a number beside the rows.
const packedClasses = 3

// field is the width of a count, and small is how many draws a node may have for counts to fit into it.
const (
	field = 16
	mask  = 1<<field - 1
	small = 1 << field
)

func newPackedGini(d *ml.Dataset, c Config) *packedGini {
	return &packedGini{classes: len(d.Classes), least: uint64(c.MinSamplesLeaf), whole: make([]uint64, d.Rows()), block: make([]uint64, blockRows),
		labels: d.Labels}
}

func (p *packedGini) helper() criterion {
	return &packedGini{classes: p.classes, least: p.least, of: p.whole, whole: p.whole, block: make([]uint64, blockRows), labels: p.labels}
}

// load sets how often each row was drawn.
func (p *packedGini) load(draws []uint16) {
	p.of = p.whole
	for i, n := range draws {
		p.whole[i] = uint64(n)<<(p.labels[i]*field) | 1<<(3*field)
	}
}

func (p *packedGini) enter(rows []uint32) {
	for i, r := range rows {
		p.block[i] = p.whole[r]
	}
	p.of = p.block
}

func (p *packedGini) leave() { p.of = p.whole }

func (p *packedGini) sum(rows []uint32) {
	p.node = [4]uint64{}
	for _, r := range rows {
		s := p.of[r]
		p.node[0] += s & mask
		p.node[1] += s >> field & mask
		p.node[2] += s >> (2 * field) & mask
	}
	p.node[3] = uint64(len(rows))
	p.total = p.node[0] | p.node[1]<<field | p.node[2]<<(2*field) | p.node[3]<<(3*field)
}

func (p *packedGini) draws() uint64 { return p.node[0] + p.node[1] + p.node[2] }

func (p *packedGini) uniform([]uint32) bool {
	most := max(p.node[0], p.node[1], p.node[2])
	return most == p.draws()
}

func (p *packedGini) center([]uint32, float64) float64 { return 0 }

func (p *packedGini) score() float64 {
	return float64(int64(p.node[0]*p.node[0]+p.node[1]*p.node[1]+p.node[2]*p.node[2])) / float64(int64(p.draws()))
}

func (p *packedGini) answer(dst []float64, _ []uint32, _ float64) []float64 {
	all := float64(int64(p.draws()))
	for _, n := range p.node[:p.classes] {
		dst = append(dst, float64(int64(n))/all)
	}
	return dst
}

func (p *packedGini) try(c *column, rows []uint32, best *split) bool {
	if p.draws() >= small {
		return p.tryLarge(c, rows, best)
	}
	var codes []uint32
	var stats []uint64
	if c.narrow == nil {
		codes, stats = p.runs(c, rows)
	} else if len(rows) < sparse {
		codes, stats = p.sparse(c.narrow, rows)
	} else {
		codes, stats = p.dense(c.narrow, rows)
	}
	return p.scan(c, codes, stats, p.total, best)
}

// scan searches the bins of a column that have rows, given their codes and stats. Total is of the node.
func (p *packedGini) scan(c *column, codes []uint32, stats []uint64, total uint64, best *split) bool {
	if len(codes) < 2 {
		return false
	}
	missing := uint64(0)
	if last := len(codes) - 1; c.missing && codes[last] == uint32(c.bins) {
		missing = stats[last]
		codes, stats = codes[:last], stats[:last+1]
	}
	score, at := scanGini(stats, 0, total, p.least, best.score)
	if at >= 0 {
		*best = split{column: c.index, last: codes[at], score: score}
	}
	if missing != 0 {
		score, at := scanGini(stats[:len(codes)], missing, total, p.least, best.score)
		if at >= 0 {
			*best = split{column: c.index, last: codes[at], score: score, missingLeft: true}
		}
	}
	return true
}

// scanGini scores the split behind each set of stats but the last, with the sets before it and those in left on the left
// side, and returns the greatest score above the one given and where it is; -1 where there is none. The score is that
// of giniScore, of both sides.
func scanGini(stats []uint64, left, total, least uint64, score float64) (float64, int) {
	at := -1
	l := left
	for i, s := range stats[:len(stats)-1] {
		l += s
		r := total - l
		if l>>(3*field) < least {
			continue
		}
		if r>>(3*field) < least {
			break
		}
		l0, l1, l2 := l&mask, l>>field&mask, l>>(2*field)&mask
		r0, r1, r2 := r&mask, r>>field&mask, r>>(2*field)&mask
		s := float64(int64(l0*l0+l1*l1+l2*l2))/float64(int64(l0+l1+l2)) + float64(int64(r0*r0+r1*r1+r2*r2))/float64(int64(r0+r1+r2))
		if s > score {
			score, at = s, i
		}
	}
	return score, at
}

// sparse is below how many rows bins with rows are found by a bit each.
const sparse = 128

// sparse sums up rows by bins, and finds the bins with rows by a bit each.
func (p *packedGini) sparse(codes []uint8, rows []uint32) ([]uint32, []uint64) {
	var touched [4]uint64
	of := p.of
	for _, r := range rows {
		code := codes[r]
		touched[code>>6] |= 1 << (code & 63)
		p.bins[code] += of[r]
	}
	n := 0
	for w, word := range touched {
		for ; word != 0; word &= word - 1 {
			code := uint8(w<<6 | bits.TrailingZeros64(word))
			p.codes[n&255], p.stats[n&255] = uint32(code), p.bins[code]
			p.bins[code] = 0
			n++
		}
	}
	return p.codes[:n], p.stats[:n]
}

// dense sums up rows by bins and looks at all bins.
func (p *packedGini) dense(codes []uint8, rows []uint32) ([]uint32, []uint64) {
	of := p.of
	for _, r := range rows {
		p.bins[codes[r]] += of[r]
	}
	n := 0
	for code, s := range p.bins {
		p.codes[n&255], p.stats[n&255] = uint32(code), s
		p.bins[code] = 0
		if s != 0 {
			n++
		}
	}
	return p.codes[:n], p.stats[:n]
}

// runs sorts the rows by codes that are wider than a byte.
func (p *packedGini) runs(c *column, rows []uint32) ([]uint32, []uint64) {
	p.wideCodes, p.wideStats = p.wideCodes[:0], p.wideStats[:0]
	for i, key := range p.order.sort(c, rows) {
		code := uint32(key >> 32)
		if i == 0 || code != p.wideCodes[len(p.wideCodes)-1] {
			p.wideCodes, p.wideStats = append(p.wideCodes, code), append(p.wideStats, 0)
		}
		p.wideStats[len(p.wideStats)-1] += p.of[uint32(key)]
	}
	return p.wideCodes, p.wideStats
}

// tryLarge is try for a node with more draws than fit into a field of 16 bits.
func (p *packedGini) tryLarge(c *column, rows []uint32, best *split) bool {
	if c.narrow == nil {
		p.largeRuns(c, rows)
	} else {
		p.largeBins(c.narrow, rows)
	}
	total := [2]uint64{p.node[0] | p.node[1]<<32, p.node[2] | p.node[3]<<32}
	return p.scanPairs(c, total, best)
}

// scanPairs is scan for the stats in pairs.
func (p *packedGini) scanPairs(c *column, total [2]uint64, best *split) bool {
	codes, pairs := p.wideCodes, p.pairs
	if len(codes) < 2 {
		return false
	}
	var missing [2]uint64
	if last := len(codes) - 1; c.missing && codes[last] == uint32(c.bins) {
		missing = pairs[last]
		codes = codes[:last]
	}
	if score, at := scanLarge(pairs, [2]uint64{}, total, p.least, best.score); at >= 0 {
		*best = split{column: c.index, last: codes[at], score: score}
	}
	if missing[1] != 0 {
		if score, at := scanLarge(pairs[:len(codes)], missing, total, p.least, best.score); at >= 0 {
			*best = split{column: c.index, last: codes[at], score: score, missingLeft: true}
		}
	}
	return true
}

// wider returns stats with 32 bits a field.
func wider(s uint64) (low, high uint64) {
	return s&mask | s>>field&mask<<32, s>>(2*field)&mask | s>>(3*field)<<32
}

// largeBins sums up rows by bins of a byte.
func (p *packedGini) largeBins(codes []uint8, rows []uint32) {
	for _, r := range rows {
		low, high := wider(p.of[r])
		bin := &p.large[codes[r]]
		bin[0] += low
		bin[1] += high
	}
	p.wideCodes, p.pairs = p.wideCodes[:0], p.pairs[:0]
	for code := range p.large {
		if bin := p.large[code]; bin[1] != 0 {
			p.wideCodes, p.pairs = append(p.wideCodes, uint32(code)), append(p.pairs, bin)
			p.large[code] = [2]uint64{}
		}
	}
}

// largeRuns sorts the rows by codes that are wider than a byte.
func (p *packedGini) largeRuns(c *column, rows []uint32) {
	p.wideCodes, p.pairs = p.wideCodes[:0], p.pairs[:0]
	for i, key := range p.order.sort(c, rows) {
		code := uint32(key >> 32)
		if i == 0 || code != p.wideCodes[len(p.wideCodes)-1] {
			p.wideCodes, p.pairs = append(p.wideCodes, code), append(p.pairs, [2]uint64{})
		}
		low, high := wider(p.of[uint32(key)])
		pair := &p.pairs[len(p.pairs)-1]
		pair[0] += low
		pair[1] += high
	}
}

// scanLarge is scanGini for pairs of stats.
func scanLarge(pairs [][2]uint64, left, total [2]uint64, least uint64, score float64) (float64, int) {
	const half = 1<<32 - 1
	at := -1
	a, b := left[0], left[1]
	for i, s := range pairs[:len(pairs)-1] {
		a, b = a+s[0], b+s[1]
		if b>>32 < least {
			continue
		}
		if (total[1]-b)>>32 < least {
			break
		}
		ra, rb := total[0]-a, total[1]-b
		l0, l1, l2 := a&half, a>>32, b&half
		r0, r1, r2 := ra&half, ra>>32, rb&half
		s := float64(int64(l0*l0+l1*l1+l2*l2))/float64(int64(l0+l1+l2)) + float64(int64(r0*r0+r1*r1+r2*r2))/float64(int64(r0+r1+r2))
		if s > score {
			score, at = s, i
		}
	}
	return score, at
}

// tryCounts is try for a column whose rows were counted elsewhere: by code, the draws of each class and behind them the rows.
func (p *packedGini) tryCounts(c *column, counts []uint32, best *split) bool {
	p.wideCodes, p.wideStats, p.pairs = p.wideCodes[:0], p.wideStats[:0], p.pairs[:0]
	for code := 0; len(counts) > 0; code, counts = code+1, counts[p.classes+1:] {
		rows := uint64(counts[p.classes])
		if rows == 0 {
			continue
		}
		var n [packedClasses]uint64
		for k, draws := range counts[:p.classes] {
			n[k] = uint64(draws)
		}
		p.wideCodes = append(p.wideCodes, uint32(code))
		p.wideStats = append(p.wideStats, n[0]|n[1]<<field|n[2]<<(2*field)|rows<<(3*field))
		p.pairs = append(p.pairs, [2]uint64{n[0] | n[1]<<32, n[2] | rows<<32})
	}
	if p.draws() < small {
		return p.scan(c, p.wideCodes, p.wideStats, p.total, best)
	}
	return p.scanPairs(c, [2]uint64{p.node[0] | p.node[1]<<32, p.node[2] | p.node[3]<<32}, best)
}
