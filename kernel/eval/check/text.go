package check

import (
	"go/token"
	"slices"
	"sort"
	"strings"
)

// text is a cell's code and the files that were made of it. Each file is a prefix and then the cell, byte for byte (see
// [keep]), so an offset in a file less the prefix is an offset in the cell. Only a list of expressions at the end of the
// statements has a call around it.
type text struct {
	cell  string // "cell 3"
	code  string
	lines []int           // offsets at which lines start
	files map[string]file // by name
	head  int             // bytes in front of the first line that nobody has written
	shown int             // bytes of code that are the cell's own; expressions that the check has added stand behind them
	added []added         // these expressions, in order
	parts []part          // of other cells, which stand behind the cell's own code
}

// part is a piece of another cell's text, from one of its bytes on.
type part struct {
	start int // in the code that it stands behind
	text  *text
	from  int
}

// added is an expression that the check has put behind a cell's code. Errors about it are told where it comes from.
type added struct {
	start  int // in the code
	origin int
}

// file tells where the cell is in a file.
type file struct {
	prefix int
	list   *piece // what has a call of valuesName around it
}

// offset is the place in the cell of an offset in the file.
func (f file) offset(at int) int {
	at -= f.prefix
	switch head := len(valuesName) + 1; {
	case f.list == nil || at <= f.list.start:
		return at
	case at <= f.list.stop+head:
		return max(at-head, f.list.start)
	default:
		return at - head - 1
	}
}

// enclose puts the call around a list.
func enclose(code string, list *piece) string {
	if list == nil {
		return code
	}
	return code[:list.start] + valuesName + "(" + code[list.start:list.stop] + ")" + code[list.stop:]
}

func newText(cell, code string) *text {
	t := &text{cell: cell, code: code, lines: []int{0}, files: map[string]file{}, shown: len(code)}
	for i := range len(code) {
		if code[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// written is the code without what the check has put behind it.
func (t *text) written() string { return t.code[:t.shown] }

// append puts a piece of another cell's text behind the code, before anything is added.
func (t *text) append(other *text, from, to int) {
	t.code += "\n"
	t.parts = append(t.parts, part{len(t.code), other, from})
	t.code += other.code[from:to]
	t.shown = len(t.code)
}

// home is the cell in which a byte was written, and its offset there.
func (t *text) home(offset int) (*text, int) {
	offset = t.origin(offset)
	for _, p := range slices.Backward(t.parts) {
		if offset >= p.start {
			return p.text, offset - p.start + p.from
		}
	}
	return t, offset
}

// add puts an expression behind the code and returns where it begins. Origin is the offset that it is told to be at.
func (t *text) add(expression string, origin int) (start int) {
	t.code += "\n"
	start = len(t.code)
	t.code += expression
	t.added = append(t.added, added{start, origin})
	return start
}

// origin is the offset itself, or where an expression that stands behind the code comes from.
func (t *text) origin(offset int) int {
	for _, a := range slices.Backward(t.added) {
		if offset >= a.start {
			return a.origin
		}
	}
	return min(offset, t.shown)
}

// position returns the line and column, from 1, of a byte offset, in the cell that it belongs to.
func (t *text) position(offset int) (line, column int) {
	t, offset = t.home(offset)
	line = sort.Search(len(t.lines), func(i int) bool { return t.lines[i] > offset })
	column = offset - t.lines[line-1] + 1
	if line == 1 {
		column = max(column-t.head, 1)
	}
	return line, column
}

// line returns the text of a line, counted from 1.
func (t *text) line(number int) string {
	line, _, _ := strings.Cut(t.code[t.lines[number-1]:], "\n")
	return line
}

// own is the cell's code without what stands behind it.
func (t *text) own() string {
	if len(t.parts) > 0 {
		return t.code[:t.parts[0].start-1]
	}
	return t.written()
}

// offset returns the place in the cell of a position in one of its files, 0 for any other position.
func (t *text) offset(fset *token.FileSet, pos token.Pos) int {
	file := fset.File(pos)
	if file == nil {
		return 0
	}
	f, ok := t.files[file.Name()]
	if !ok {
		return 0
	}
	return min(max(f.offset(file.Offset(pos)), 0), len(t.code))
}
