package native

import (
	"go/token"
	"go/types"
	"strings"

	"cancha/kernel/eval/check"
)

// A name in a cell's package means what it means in the cell. What has lost its name to a later declaration may be needed there too, since text
// of earlier cells is written again. It gets another name, so that no two objects ever have the same one.

// names are the names of objects of cells in one cell's package.
type names struct {
	dropped
	cell   *check.Cell
	aside  map[types.Object]string
	number map[string]int // how many objects have lost a name
}

func newNames(c *check.Cell, d dropped) *names {
	return &names{dropped: d, cell: c, aside: map[types.Object]string{}, number: map[string]int{}}
}

// nameOf is the name of a type, constant or function. Marks stand before one that its object has lost, as before that of a hidden method:
// nothing shows them.
func (n *names) nameOf(o types.Object) string {
	if name, ok := n.aside[o]; ok {
		return name
	}
	if o.Pkg() == nil || o.Pkg().Path() != "main" || o.Pkg() == n.cell.Pkg || o.Parent() != o.Pkg().Scope() || n.cell.Current(o) {
		return o.Name()
	}
	n.number[o.Name()]++
	n.aside[o] = strings.Repeat(hiddenMark, n.number[o.Name()]) + o.Name()
	return n.aside[o]
}

// embeddedName is nameOf for the type of an embedded field, which gets its own name from it.
func (n *names) embeddedName(o *types.TypeName, pos token.Pos) string {
	name := n.nameOf(o)
	if name != o.Name() {
		refuse(pos, "two declarations of %s are needed in one package: declare what embeds the older one again", o.Name())
	}
	return name
}

// refuseAside refuses to write a struct type that embeds a type which has lost its name.
func (n *names) refuseAside(s *types.Struct, pos token.Pos) {
	for v := range s.Fields() {
		if !v.Embedded() {
			continue
		}
		t := v.Type()
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := t.(interface{ Obj() *types.TypeName }); ok {
			n.embeddedName(named.Obj(), pos)
		}
	}
}

// makerName is the name of the function that makes a struct of all its fields.
func makerName(owner string) string { return "L" + mark + owner }
