package stream

import (
	"math"
	"slices"
)

// rowsOf turns parts of one window, one for each partition that has some, in the order of the partitions, into rows sorted
// by key. Cells are merged in that order, so that the same parts always give the same bits.
func (p *plan) rowsOf(parts []*openWindow) []Row {
	cells := mergeCells(parts)
	totals := p.shareTotals(cells)
	var rows []Row
	for _, c := range cells {
		if c.events > 0 {
			rows = append(rows, p.row(c, parts[0].start, totals))
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// mergeCells returns the cells of a window. Cells of a single part are handed on as they are; those that come in several
// parts are merged into copies.
func mergeCells(parts []*openWindow) []*cell {
	if len(parts) == 1 {
		return parts[0].order
	}
	var cells []*cell
	merged := map[groupKey]*cell{}
	for _, part := range parts {
		for _, c := range part.order {
			m := merged[c.key]
			if m == nil {
				m = c.clone()
				merged[c.key] = m
				cells = append(cells, m)
				continue
			}
			m.merge(c)
		}
	}
	return cells
}

func (c *cell) clone() *cell {
	d := *c
	d.counts, d.samples, d.shares = slices.Clone(c.counts), slices.Clone(c.samples), slices.Clone(c.shares)
	return &d
}

func (c *cell) merge(o *cell) {
	c.events += o.events
	c.epoch = max(c.epoch, o.epoch)
	for i := range c.counts {
		c.counts[i] += o.counts[i]
	}
	for i := range c.samples {
		c.samples[i].merge(o.samples[i])
	}
	for i := range c.shares {
		c.shares[i] += o.shares[i]
	}
}

// shareTotals sums, for each share, the events of all rows that differ in the share's own key alone.
func (p *plan) shareTotals(cells []*cell) []map[groupKey]int64 {
	totals := make([]map[groupKey]int64, len(p.shares))
	for i, s := range p.shares {
		totals[i] = map[groupKey]int64{}
		for _, c := range cells {
			totals[i][s.others(c.key)] += c.shares[i]
		}
	}
	return totals
}

// others is a key without the share's own part.
func (s *part) others(key groupKey) groupKey {
	key[s.per] = 0
	return key
}

func (p *plan) row(c *cell, start int64, totals []map[groupKey]int64) Row {
	row := Row{Start: instant(start), End: instant(start + p.width), Keys: make([]Key, len(p.keys)),
		Values: make([]float64, len(p.outputs))}
	for i := range p.keys {
		row.Keys[i] = p.dict.key(c.key[i])
	}
	for i, o := range p.outputs {
		row.Values[i] = p.value(c, o, totals)
	}
	return row
}

func (p *plan) value(c *cell, o output, totals []map[groupKey]int64) float64 {
	switch o.from {
	case fromCount:
		return float64(c.counts[o.index])
	case fromSize:
		return float64(c.samples[o.index].n)
	case fromVariance:
		return c.samples[o.index].variance()
	case fromShare:
		total := totals[o.index][p.shares[o.index].others(c.key)]
		if total == 0 {
			return math.NaN()
		}
		return float64(c.shares[o.index]) / float64(total)
	}
	m := c.samples[o.index]
	if m.n == 0 {
		return math.NaN()
	}
	switch o.from {
	case fromMin:
		return m.min
	case fromMax:
		return m.max
	default:
		return m.mean
	}
}
