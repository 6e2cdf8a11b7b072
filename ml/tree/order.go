package tree

import "slices"

// order sorts the rows of a node by their codes. It owns its scratch space.
type order struct {
	keys   []uint64 // code<<32 | row
	counts [256]uint32
}

// few is up to how many rows sorting by insertion is fastest.
const few = 24

// sort returns code<<32 | row of each row, ascending. The rows of a node ascend, so those of one code keep their order.
func (o *order) sort(c *column, rows []uint32) []uint64 {
	if cap(o.keys) < len(rows) {
		o.keys = make([]uint64, len(rows), 2*len(rows))
	}
	keys := o.keys[:len(rows)]
	switch {
	case len(rows) <= few:
		o.insert(keys, c, rows)
	case c.narrow != nil:
		o.count(keys, c.narrow, rows)
	default:
		for i, r := range rows {
			keys[i] = uint64(c.wide[r])<<32 | uint64(r)
		}
		slices.Sort(keys)
	}
	return keys
}

// insert sorts a few rows by insertion.
func (o *order) insert(keys []uint64, c *column, rows []uint32) {
	for i, r := range rows {
		key := uint64(c.code(r))<<32 | uint64(r)
		k := i
		for ; k > 0 && keys[k-1]>>32 > key>>32; k-- {
			keys[k] = keys[k-1]
		}
		keys[k] = key
	}
}

// count sorts rows by codes of a byte: it counts them, and so knows where each goes.
func (o *order) count(keys []uint64, codes []uint8, rows []uint32) {
	clear(o.counts[:])
	for _, r := range rows {
		o.counts[codes[r]]++
	}
	at := uint32(0)
	for code, n := range o.counts {
		o.counts[code] = at
		at += n
	}
	for _, r := range rows {
		code := codes[r]
		keys[o.counts[code]] = uint64(code)<<32 | uint64(r)
		o.counts[code]++
	}
}
