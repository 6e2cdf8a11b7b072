// Package aggregate computes the statistics of a group of rows, in parts that can be merged.
package aggregate

import (
	"fmt"
	"reflect"
	"slices"

	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Column is a column of results.
type Column struct {
	Name string
	Kind value.Kind
}

// Set is a list of statistics, compiled for the rows of one scope. It is read only.
type Set struct {
	Columns []Column
	counts  []func(row eval.Row) bool // nil: all rows
	sums    []sampled
	samples []sampled
	others  []other
	Shares  []Share
	outputs []output
}

type sampled struct {
	numbers   numbers
	of        func(row eval.Row) (float64, bool)
	condition func(row eval.Row) bool
}

// numbers are what a statistic is taken of. Statistics of the same numbers share what is kept of them.
type numbers struct{ expr, condition plan.Expr }

func numbersOf(a plan.Aggregate) numbers { return numbers{a.Expr, a.Condition} }

type other struct {
	condition func(row eval.Row) bool
	new       func() accumulator
}

// Share is the part of a group's rows whose value is the group's key number Per.
type Share struct {
	Of        eval.Node
	Per       int
	Condition func(row eval.Row) bool
}

// output is where a column comes from.
type output struct {
	from  source
	index int
}

type source uint8

const (
	fromCount source = iota
	fromSum
	fromLeast
	fromGreatest
	fromSize
	fromMin
	fromMax
	fromMean
	fromVariance
	fromOther
	fromShare
)

// Compile compiles statistics. keys are the paths of GroupBy, for shares.
func Compile(list []plan.Aggregate, keys []string, scope eval.Scope) (*Set, error) {
	s := &Set{}
	for _, a := range list {
		if err := s.compile(a, list, keys, scope); err != nil {
			return nil, fmt.Errorf("statistic %s: %w", a.Name, err)
		}
	}
	return s, nil
}

func (s *Set) compile(a plan.Aggregate, list []plan.Aggregate, keys []string, scope eval.Scope) error {
	if a.Name == "" {
		return fmt.Errorf("stream: a statistic without a name: %s", a)
	}
	condition, err := eval.Condition(a.Condition, scope)
	if err != nil {
		return err
	}
	switch a.Kind {
	case "count":
		s.put(a.Name, value.Int, fromCount, len(s.counts))
		s.counts = append(s.counts, condition)
		return nil
	case "sum", "min", "max", "mean", "variance", "stats":
		return s.numeric(a, list, condition, scope)
	case "share":
		return s.share(a, keys, condition, scope)
	}
	return s.other(a, condition, scope)
}

func (s *Set) put(name string, kind value.Kind, from source, index int) {
	s.Columns = append(s.Columns, Column{name, kind})
	s.outputs = append(s.outputs, output{from, index})
}

// numeric compiles a statistic of numbers. The least and the greatest are also told of texts and times.
func (s *Set) numeric(a plan.Aggregate, list []plan.Aggregate, condition func(eval.Row) bool, scope eval.Scope) error {
	if k := eval.Kind(a.Expr, scope); (a.Kind == "min" || a.Kind == "max") && (k == value.Text || k == value.Time) {
		return s.bound(a, k, condition, scope)
	}
	n, err := eval.Compile(a.Expr, scope, value.Float)
	if err != nil {
		return err
	}
	of := sampled{numbersOf(a), n.Number, condition}
	switch moments := isSampled(a, list); {
	case a.Kind == "stats":
		i := once(&s.samples, of)
		for k, name := range a.Columns() {
			from, kind := []source{fromSize, fromMin, fromMax, fromMean, fromVariance}[k], value.Float
			if from == fromSize {
				kind = value.Int
			}
			s.put(name, kind, from, i)
		}
	case moments:
		from := map[string]source{"min": fromMin, "max": fromMax, "mean": fromMean, "variance": fromVariance}[a.Kind]
		s.put(a.Name, value.Float, from, once(&s.samples, of))
	default:
		from := map[string]source{"sum": fromSum, "min": fromLeast, "max": fromGreatest}[a.Kind]
		s.put(a.Name, value.Float, from, once(&s.sums, of))
	}
	return nil
}

// isSampled tells whether a statistic is one of a sample: its mean or variance, or its extremes where one of these is wanted too.
func isSampled(a plan.Aggregate, list []plan.Aggregate) bool {
	switch a.Kind {
	case "mean", "variance":
		return true
	case "min", "max":
		return slices.ContainsFunc(list, func(b plan.Aggregate) bool {
			return (b.Kind == "mean" || b.Kind == "variance" || b.Kind == "stats") && reflect.DeepEqual(numbersOf(a), numbersOf(b))
		})
	}
	return false
}

// once returns the place of what is taken of the same numbers, added where there is none.
func once(list *[]sampled, of sampled) int {
	if i := slices.IndexFunc(*list, func(o sampled) bool { return reflect.DeepEqual(o.numbers, of.numbers) }); i >= 0 {
		return i
	}
	*list = append(*list, of)
	return len(*list) - 1
}

func (s *Set) bound(a plan.Aggregate, kind value.Kind, condition func(eval.Row) bool, scope eval.Scope) error {
	n, err := eval.Compile(a.Expr, scope, kind)
	sign := 1
	if a.Kind == "min" {
		sign = -1
	}
	s.add(a.Name, kind, condition, func() accumulator { return &bound{of: n, sign: sign} })
	return err
}

func (s *Set) add(name string, kind value.Kind, condition func(eval.Row) bool, make func() accumulator) {
	s.put(name, kind, fromOther, len(s.others))
	s.others = append(s.others, other{condition, make})
}

func (s *Set) other(a plan.Aggregate, condition func(eval.Row) bool, scope eval.Scope) error {
	want := value.Any
	if a.Kind == "quantile" {
		want = value.Float
	}
	n, err := eval.Compile(a.Expr, scope, want)
	if err != nil {
		return err
	}
	switch a.Kind {
	case "first", "last":
		s.add(a.Name, n.Kind, condition, func() accumulator { return &edge{of: n, last: a.Kind == "last"} })
	case "distinct":
		s.add(a.Name, value.Int, condition, func() accumulator { return &distinct{of: n, exact: map[uint64]struct{}{}} })
	case "quantile":
		if !(a.Quantile >= 0 && a.Quantile <= 1) {
			return fmt.Errorf("stream: quantile %v: want one from 0 to 1, such as 0.99", a.Quantile)
		}
		s.add(a.Name, value.Float, condition, func() accumulator {
			return &quantile{of: n, q: a.Quantile, above: map[int]int64{}, below: map[int]int64{}}
		})
	case "top":
		if a.N < 1 || a.N > 1000 {
			return fmt.Errorf("stream: the top %d: want 1 to 1000", a.N)
		}
		s.add(a.Name, value.JSON, condition, func() accumulator { return &top{of: n, n: a.N, counts: map[string]*counted{}} })
	case "collect":
		if a.N < 1 || a.N > 1_000_000 {
			return fmt.Errorf("stream: collect at most %d: want 1 to 1,000,000", a.N)
		}
		s.add(a.Name, value.JSON, condition, func() accumulator { return &collection{of: n, limit: a.N} })
	default:
		return fmt.Errorf("stream: there is no statistic %q", a.Kind)
	}
	return nil
}

func (s *Set) share(a plan.Aggregate, keys []string, condition func(eval.Row) bool, scope eval.Scope) error {
	per := slices.Index(keys, a.Per)
	if per < 0 {
		return fmt.Errorf("stream: %q is not among the paths of GroupBy, which are %q", a.Per, keys)
	}
	n, err := eval.Compile(a.Expr, scope, value.Any)
	s.put(a.Name, value.Float, fromShare, len(s.Shares))
	s.Shares = append(s.Shares, Share{n, per, condition})
	return err
}

// Grows tells whether a cell can take more room with each row.
func (s *Set) Grows() bool { return len(s.others) > 0 }

// Cell is what is known of one group.
type Cell struct {
	Shares  []int64 // rows that count for this group in each share
	counts  []int64
	sums    []sum
	samples []Moments
	others  []accumulator
}

// sum is the sum of numbers, the least and the greatest. Sums of integers are exact up to 2^53.
type sum struct {
	n                    int64
	sum, least, greatest float64
}

// New returns the cell of a group without rows.
func (s *Set) New() *Cell {
	c := &Cell{counts: make([]int64, len(s.counts)), sums: make([]sum, len(s.sums)), samples: make([]Moments, len(s.samples)),
		Shares: make([]int64, len(s.Shares))}
	for _, o := range s.others {
		c.others = append(c.others, o.new())
	}
	return c
}

// Add takes a row of event time t into all statistics but the shares.
func (s *Set) Add(c *Cell, row eval.Row, t int64) {
	for i, condition := range s.counts {
		if condition == nil || condition(row) {
			c.counts[i]++
		}
	}
	for i := range s.sums {
		if m := &s.sums[i]; m.condition == nil || m.condition(row) {
			if x, ok := m.of(row); ok {
				c.sums[i].add(x)
			}
		}
	}
	for i := range s.samples {
		if m := &s.samples[i]; m.condition == nil || m.condition(row) {
			if x, ok := m.of(row); ok {
				c.samples[i].Add(x)
			}
		}
	}
	for i := range s.others {
		if condition := s.others[i].condition; condition == nil || condition(row) {
			c.others[i].add(row, t)
		}
	}
}

func (s *sum) add(x float64) {
	if s.n++; s.n == 1 {
		s.sum, s.least, s.greatest = x, x, x
		return
	}
	s.sum += x
	s.least, s.greatest = min(s.least, x), max(s.greatest, x)
}

func (s *sum) merge(o sum) {
	switch {
	case o.n == 0:
	case s.n == 0:
		*s = o
	default:
		s.n, s.sum = s.n+o.n, s.sum+o.sum
		s.least, s.greatest = min(s.least, o.least), max(s.greatest, o.greatest)
	}
}

// Merge takes the rows of another cell of the same group into c.
func (c *Cell) Merge(o *Cell) {
	for i := range c.counts {
		c.counts[i] += o.counts[i]
	}
	for i := range c.sums {
		c.sums[i].merge(o.sums[i])
	}
	for i := range c.samples {
		c.samples[i].Merge(o.samples[i])
	}
	for i := range c.others {
		c.others[i].merge(o.others[i])
	}
	for i := range c.Shares {
		c.Shares[i] += o.Shares[i]
	}
}

// Clone returns a copy that changes alone.
func (c *Cell) Clone() *Cell {
	d := &Cell{Shares: slices.Clone(c.Shares), counts: slices.Clone(c.counts), sums: slices.Clone(c.sums), samples: slices.Clone(c.samples)}
	for _, o := range c.others {
		d.others = append(d.others, o.clone())
	}
	return d
}

// Size is about how many bytes the cell takes.
func (c *Cell) Size() int64 {
	n := int64(120 + 8*len(c.counts) + 32*len(c.sums) + 48*len(c.samples) + 8*len(c.Shares))
	for _, o := range c.others {
		n += 16 + o.size()
	}
	return n
}

// Results appends the cell's columns. totals are, for each share, the rows of all groups that the share is a part of.
func (s *Set) Results(dst []value.Value, c *Cell, totals []int64) []value.Value {
	for _, o := range s.outputs {
		dst = append(dst, o.of(c, totals))
	}
	return dst
}

func (o output) of(c *Cell, totals []int64) value.Value {
	switch o.from {
	case fromCount:
		return value.IntOf(c.counts[o.index])
	case fromOther:
		return c.others[o.index].result()
	case fromShare:
		if totals[o.index] == 0 {
			return value.Value{}
		}
		return value.FloatOf(float64(c.Shares[o.index]) / float64(totals[o.index]))
	case fromSum, fromLeast, fromGreatest:
		return c.sums[o.index].value(o.from)
	}
	return c.samples[o.index].value(o.from)
}

func (s *sum) value(from source) value.Value {
	switch {
	case s.n == 0:
		return value.Value{}
	case from == fromSum:
		return value.FloatOf(s.sum)
	case from == fromLeast:
		return value.FloatOf(s.least)
	}
	return value.FloatOf(s.greatest)
}

func (m *Moments) value(from source) value.Value {
	switch {
	case from == fromSize:
		return value.IntOf(m.n)
	case m.n == 0:
		return value.Value{}
	case from == fromMin:
		return value.FloatOf(m.min)
	case from == fromMax:
		return value.FloatOf(m.max)
	case from == fromMean:
		return value.FloatOf(m.Mean())
	}
	return value.FloatOf(m.Variance()) // absent below two values
}
