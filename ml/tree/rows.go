package tree

// table is where the rows of a node find their codes: those of a whole dataset, or those of a block of it.
type table struct {
	narrow [][]uint8  // narrow[column][row], where no column has more than 256 bins; else nil
	wide   [][]uint32 // wide[column][row], where one has
}

// column is one column of a table, as a search for splits sees it.
type column struct {
	index  int
	narrow []uint8  // code of each row, or nil
	wide   []uint32 // the same in a table with more bins
	bins   int      // codes of numbers are below it
	// missing: rows without a number have the code bins. Without it there are none in the whole dataset.
	missing bool
}

// code returns the code of a row.
func (c *column) code(row uint32) uint32 {
	if c.narrow != nil {
		return uint32(c.narrow[row])
	}
	return c.wide[row]
}

// blockRows is how many rows a node may have for its part of the table to be copied together. All nodes below it then
// read codes that lie side by side, where those of a great table are a miss of the cache each.
const blockRows = 4096

// ground is the rows that a tree grows on, node by node: those of a node are a range, and a split orders the range.
type ground struct {
	bins    *Bins
	whole   table
	block   table
	columns [][]uint8 // memory of a block
	spare   []uint32  // scratch of partition
	inside  bool      // rows are those of the block
}

// newGround makes the memory for the blocks of a table.
func newGround(b *Bins) *ground {
	g := &ground{bins: b, whole: b.codes}
	for range b.codes.narrow {
		g.columns = append(g.columns, make([]uint8, blockRows))
	}
	g.block.narrow = make([][]uint8, len(g.columns))
	return g
}

// canBlock reports whether a node of these rows becomes a block. Wide codes stay where they are.
func (g *ground) canBlock(rows int) bool {
	return !g.inside && g.whole.narrow != nil && rows <= blockRows && g.bins.rows > blockRows
}

// enter copies the codes of rows together. From here on they are numbered from 0, in their order, until leave.
func (g *ground) enter(rows []uint32) {
	for c, codes := range g.whole.narrow {
		to := g.columns[c][:len(rows)]
		for i, r := range rows {
			to[i] = codes[r]
		}
		g.block.narrow[c] = to
	}
	for i := range rows {
		rows[i] = uint32(i)
	}
	g.inside = true
}

// leave goes back to the whole table.
func (g *ground) leave() { g.inside = false }

// column returns a column of the table that the rows are of.
func (g *ground) column(index int) column {
	e := &g.bins.edges[index]
	c := column{index: index, bins: len(e.low), missing: e.missing}
	switch {
	case g.inside:
		c.narrow = g.block.narrow[index]
	case g.whole.narrow != nil:
		c.narrow = g.whole.narrow[index]
	default:
		c.wide = g.whole.wide[index]
	}
	return c
}

// partition moves the rows that a split sends left to the front and returns how many there are. Both sides keep their
// order: rows that ascend are read from memory one after the other.
func (g *ground) partition(rows []uint32, s *split) int {
	c := g.column(s.column)
	if cap(g.spare) < len(rows) {
		g.spare = make([]uint32, len(rows))
	}
	missing := noCode // the code that goes left though it is above s.last
	if s.missingLeft {
		missing = uint32(c.bins)
	}
	if c.narrow != nil {
		return divide(rows, g.spare[:len(rows)], c.narrow, s.last, missing)
	}
	return divide(rows, g.spare[:len(rows)], c.wide, s.last, missing)
}

// noCode is the code of no bin.
const noCode = ^uint32(0)

// divide is partition for one width of codes. It has no branch that depends on a row: half of them would be foretold wrong.
func divide[C uint8 | uint32](rows, spare []uint32, codes []C, last, missing uint32) int {
	left, right := 0, 0
	for _, r := range rows {
		code, goes := uint32(codes[r]), 0
		if code <= last {
			goes = 1
		}
		if code == missing {
			goes = 1
		}
		rows[left], spare[right] = r, r
		left += goes
		right += 1 - goes
	}
	copy(rows[left:], spare[:right])
	return left
}

// threshold returns the value that separates the two sides of a split: rows with a number at or below it go left. It lies
// between the last bin on the left and the first on the right that has rows of the node, as scikit-learn's does; where
// only rows without a number go right, above all that there are.
func (g *ground) threshold(s *split, right []uint32) float64 {
	c := g.column(s.column)
	first := noCode
	for _, r := range right {
		if code := c.code(r); code < uint32(c.bins) {
			first = min(first, code)
		}
	}
	if first == noCode {
		return aboveAll
	}
	return g.bins.threshold(s.column, int(s.last), int(first))
}

// aboveAll is the greatest number that rounds to a float32: exact values of a dataset may lie a little above its greatest.
const aboveAll = 0x1.fffffefffffffp+127

// missingLeft tells where a node sends rows without a number: to the better side if it had any, and else to the side of
// more rows, as scikit-learn does. Left is how many rows go left.
func (g *ground) missingLeft(s *split, rows []uint32, left int) bool {
	c := g.column(s.column)
	for _, r := range rows {
		if c.missing && c.code(r) == uint32(c.bins) {
			return s.missingLeft
		}
	}
	return left > len(rows)-left
}
