package check

import (
	"go/token"
	"sort"
	"strings"
)

// text is a cell's code and the files that were made of it. Each file is a prefix and then the cell, byte for byte (see
// [keep]), so an offset in a file less the prefix is an offset in the cell.
type text struct {
	cell  string // "cell 3"
	code  string
	lines []int          // offsets at which lines start
	files map[string]int // file name → length of the prefix
	head  int            // bytes in front of the first line that nobody has written
}

func newText(cell, code string) *text {
	t := &text{cell: cell, code: code, lines: []int{0}, files: map[string]int{}}
	for i := range len(code) {
		if code[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// position returns the line and column, from 1, of a byte offset.
func (t *text) position(offset int) (line, column int) {
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

// offset returns the place in the cell of a position in one of its files, 0 for any other position.
func (t *text) offset(fset *token.FileSet, pos token.Pos) int {
	file := fset.File(pos)
	if file == nil {
		return 0
	}
	prefix, ok := t.files[file.Name()]
	if !ok {
		return 0
	}
	return min(max(file.Offset(pos)-prefix, 0), len(t.code))
}
