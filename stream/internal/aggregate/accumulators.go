package aggregate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
)

// accumulator keeps what a statistic has to know of the rows so far, where that is more than a few numbers.
type accumulator interface {
	add(row eval.Row, t int64)
	merge(o accumulator)
	result() value.Value
	clone() accumulator
	size() int64
	append(dst []byte) []byte // all that it holds
	load(b *changelog.Bytes)  // what append has written, into an empty one
}

// edge is the value of the first or of the last row by event time; of rows of one time the one that came first, or last.
type edge struct {
	of   eval.Node
	last bool
	at   int64
	v    value.Value
	any  bool
}

func (e *edge) add(row eval.Row, t int64) {
	if e.any && (e.last && t < e.at || !e.last && t >= e.at) {
		return
	}
	if v := e.of.Value(row); !v.IsNull() {
		e.v, e.at, e.any = v.Clone(), t, true
	}
}

func (e *edge) merge(o accumulator) {
	if b := o.(*edge); b.any && (!e.any || e.last && b.at >= e.at || !e.last && b.at < e.at) {
		e.v, e.at, e.any = b.v, b.at, true
	}
}

func (e *edge) result() value.Value { return e.v }
func (e *edge) clone() accumulator  { c := *e; return &c }
func (e *edge) size() int64         { return 48 + e.v.Size() }

// bound is the least or the greatest of values that are no numbers.
type bound struct {
	of   eval.Node
	sign int
	v    value.Value
}

func (b *bound) add(row eval.Row, _ int64) { b.take(b.of.Value(row)) }

func (b *bound) take(v value.Value) {
	if !v.IsNull() && (b.v.IsNull() || b.sign*value.Compare(v, b.v) > 0) {
		b.v = v.Clone()
	}
}

func (b *bound) merge(o accumulator) { b.take(o.(*bound).v) }
func (b *bound) result() value.Value { return b.v }
func (b *bound) clone() accumulator  { c := *b; return &c }
func (b *bound) size() int64         { return 32 + b.v.Size() }

// Distinct values are counted exactly up to exactDistinct, and beyond by HyperLogLog with 2^registerBits registers, whose standard error is
// 1.04 / sqrt(2^14) = 0.81 % (Flajolet, Fusy, Gandouet, Meunier, HyperLogLog, 2007).
const (
	exactDistinct = 4096
	registerBits  = 14
)

type distinct struct {
	of        eval.Node
	exact     map[uint64]struct{} // hashes of the values; nil once there are too many
	registers []uint8
	scratch   []byte
}

func (d *distinct) add(row eval.Row, _ int64) {
	v := d.of.Value(row)
	if v.IsNull() {
		return
	}
	d.scratch = v.AppendKey(d.scratch[:0])
	d.take(hash(d.scratch))
}

// hash is FNV-1a, with the last steps of MurmurHash3, which spread it over all bits: the same in all partitions.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (d *distinct) take(h uint64) {
	if d.registers == nil {
		d.exact[h] = struct{}{}
		if len(d.exact) <= exactDistinct {
			return
		}
		d.estimate()
		return
	}
	i := h >> (64 - registerBits)
	rank := uint8(bits.LeadingZeros64(h<<registerBits|1<<(registerBits-1))) + 1
	d.registers[i] = max(d.registers[i], rank)
}

// estimate goes over from counting to estimating.
func (d *distinct) estimate() {
	d.registers = make([]uint8, 1<<registerBits)
	for h := range d.exact {
		d.take(h)
	}
	d.exact = nil
}

func (d *distinct) merge(o accumulator) {
	b := o.(*distinct)
	if b.registers == nil {
		for h := range b.exact {
			d.take(h)
		}
		return
	}
	if d.registers == nil {
		d.estimate()
	}
	for i, r := range b.registers {
		d.registers[i] = max(d.registers[i], r)
	}
}

func (d *distinct) result() value.Value {
	if d.registers == nil {
		return value.IntOf(int64(len(d.exact)))
	}
	m := float64(len(d.registers))
	sum, zeros := 0.0, 0.0
	for _, r := range d.registers {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zeros++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && zeros > 0 {
		estimate = m * math.Log(m/zeros) // linear counting
	}
	return value.IntOf(int64(math.Round(estimate)))
}

func (d *distinct) clone() accumulator {
	c := *d
	c.registers = slices.Clone(d.registers)
	if d.exact != nil {
		c.exact = make(map[uint64]struct{}, len(d.exact))
		for h := range d.exact {
			c.exact[h] = struct{}{}
		}
	}
	return &c
}

func (d *distinct) size() int64 { return 64 + 16*int64(len(d.exact)) + int64(len(d.registers)) }

// quantile keeps counts in buckets whose bounds grow by a constant factor, so that the value of any rank is told with a relative error of at
// most quantileError (Masson, Rim, Lee, DDSketch, 2019).
const quantileError = 0.005

type quantile struct {
	of      eval.Node
	q       float64
	n, zero int64
	above   map[int]int64 // by bucket, of positive numbers
	below   map[int]int64 // of negative numbers
}

// growth is the logarithm of the factor between two bounds.
func growth() float64 { return math.Log((1 + quantileError) / (1 - quantileError)) }

func (s *quantile) add(row eval.Row, _ int64) {
	x, ok := s.of.Number(row)
	if !ok {
		return
	}
	s.n++
	switch {
	case x > 0:
		s.above[bucketOf(x)]++
	case x < 0:
		s.below[bucketOf(-x)]++
	default:
		s.zero++
	}
}

func bucketOf(x float64) int { return int(math.Ceil(math.Log(x) / growth())) }

// middle is the number whose relative distance to both ends of a bucket is the same.
func middle(bucket int) float64 {
	return 2 * math.Exp(growth()*float64(bucket)) / (1 + math.Exp(growth()))
}

func (s *quantile) merge(o accumulator) {
	b := o.(*quantile)
	s.n, s.zero = s.n+b.n, s.zero+b.zero
	for k, n := range b.above {
		s.above[k] += n
	}
	for k, n := range b.below {
		s.below[k] += n
	}
}

func (s *quantile) result() value.Value {
	if s.n == 0 {
		return value.Value{}
	}
	rank := int64(math.Floor(s.q * float64(s.n-1)))
	for _, k := range slices.Backward(sortedKeys(s.below)) {
		if rank -= s.below[k]; rank < 0 {
			return value.FloatOf(-middle(k))
		}
	}
	if rank -= s.zero; rank < 0 {
		return value.FloatOf(0)
	}
	keys := sortedKeys(s.above)
	for _, k := range keys {
		if rank -= s.above[k]; rank < 0 {
			return value.FloatOf(middle(k))
		}
	}
	return value.Value{} // unreachable: the counts sum to n
}

func sortedKeys(m map[int]int64) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *quantile) clone() accumulator {
	c := *s
	c.above, c.below = map[int]int64{}, map[int]int64{}
	for k, n := range s.above {
		c.above[k] = n
	}
	for k, n := range s.below {
		c.below[k] = n
	}
	return &c
}

func (s *quantile) size() int64 { return 96 + 16*int64(len(s.above)+len(s.below)) }

// top counts how often each value comes. Up to topCapacity different values that is exact; beyond, the rarest are forgotten, and a count is
// too low by at most a part of 2/topCapacity of all rows (Misra, Gries, Finding repeated elements, 1982, in batches).
const topCapacity = 16384

type top struct {
	of      eval.Node
	n       int
	counts  map[string]*counted
	bytes   int64 // of the values and their keys
	scratch []byte
}

type counted struct {
	v value.Value
	n int64
}

// know begins to count a value.
func (s *top) know(key string, c *counted) {
	s.counts[key] = c
	s.bytes += c.bytes(key)
}

func (c *counted) bytes(key string) int64 { return int64(len(key)) + c.v.Size() }

func (s *top) add(row eval.Row, _ int64) {
	v := s.of.Value(row)
	if v.IsNull() {
		return
	}
	s.scratch = v.AppendKey(s.scratch[:0])
	c := s.counts[string(s.scratch)]
	if c == nil {
		c = &counted{v: v.Clone()}
		s.know(string(s.scratch), c)
	}
	c.n++
	s.thin()
}

// thin forgets the rarer half of the values once there are too many.
func (s *top) thin() {
	if len(s.counts) <= topCapacity {
		return
	}
	ns := make([]int64, 0, len(s.counts))
	for _, c := range s.counts {
		ns = append(ns, c.n)
	}
	slices.Sort(ns)
	by := ns[len(ns)/2]
	for k, c := range s.counts {
		if c.n -= by; c.n <= 0 {
			delete(s.counts, k)
			s.bytes -= c.bytes(k)
		}
	}
}

func (s *top) merge(o accumulator) {
	for k, c := range o.(*top).counts {
		if mine := s.counts[k]; mine != nil {
			mine.n += c.n
			continue
		}
		s.know(k, &counted{c.v, c.n})
	}
	s.thin()
}

func (s *top) result() value.Value {
	all := make([]*counted, 0, len(s.counts))
	for _, c := range s.counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *counted) int { return cmp.Or(cmp.Compare(b.n, a.n), value.Compare(a.v, b.v)) })
	text := []byte{'['}
	for i, c := range all[:min(len(all), s.n)] {
		if i > 0 {
			text = append(text, ',')
		}
		text = c.v.AppendJSON(append(text, `{"value":`...))
		text = value.IntOf(c.n).AppendJSON(append(text, `,"count":`...))
		text = append(text, '}')
	}
	return value.JSONOf(string(append(text, ']')))
}

func (s *top) clone() accumulator {
	c := &top{of: s.of, n: s.n, bytes: s.bytes, counts: make(map[string]*counted, len(s.counts))}
	for k, each := range s.counts {
		c.counts[k] = &counted{each.v, each.n}
	}
	return c
}

func (s *top) size() int64 { return 64 + 88*int64(len(s.counts)) + s.bytes }

// collection keeps the first values, up to a limit.
type collection struct {
	of     eval.Node
	limit  int
	values []value.Value
	bytes  int64
}

func (s *collection) add(row eval.Row, _ int64) {
	if len(s.values) < s.limit {
		if v := s.of.Value(row); !v.IsNull() {
			s.values = append(s.values, v.Clone())
			s.bytes += v.Size()
		}
	}
}

func (s *collection) merge(o accumulator) {
	b := o.(*collection)
	for _, v := range b.values[:min(len(b.values), s.limit-len(s.values))] {
		s.values = append(s.values, v)
		s.bytes += v.Size()
	}
}

func (s *collection) result() value.Value {
	text := []byte{'['}
	for i, v := range s.values {
		if i > 0 {
			text = append(text, ',')
		}
		text = v.AppendJSON(text)
	}
	return value.JSONOf(string(append(text, ']')))
}

func (s *collection) clone() accumulator {
	c := *s
	c.values = slices.Clone(s.values)
	return &c
}

func (s *collection) size() int64 { return 64 + s.bytes }
