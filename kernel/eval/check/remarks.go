package check

import (
	"fmt"

	"cancha/kernel/eval/check/vet"
)

// mostRemarks is how many remarks a cell gets: a table of texts may have the same fault in each row.
const mostRemarks = 10

// findRemarks fills the cell's Remarks. They are in vet's words, with the line in front, as errors have it: "cell 3:2:1: …". A cell that the
// analysis is not made for gets none.
func (b *builder) findRemarks() {
	c := b.cell
	if !b.printers.Called(c.Info.Uses) {
		return
	}
	restore := b.nameCells()
	remarks, _ := b.printers.Remarks(vet.Cell{FileSet: b.fset, Decls: append(c.Decls[:len(c.Decls):len(c.Decls)], c.Body), Pkg: c.Pkg, Info: c.Info, GoVersion: GoVersion})
	restore()
	for local, global := range c.Local {
		b.printers.Alias(global, local)
	}
	told := collector{text: c.text}
	for _, r := range remarks {
		told.add(c.text.offset(b.fset, r.Pos), mustVariant.ReplaceAllString(b.plainNames(r.Text), mustName))
	}
	for i, d := range told.list {
		if i == mostRemarks {
			c.Remarks = append(c.Remarks, fmt.Sprintf("%s: %d more remarks of this kind", c.Name, len(told.list)-i))
			return
		}
		c.Remarks = append(c.Remarks, c.Name+d.String())
	}
}
