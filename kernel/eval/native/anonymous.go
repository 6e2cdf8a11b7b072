package native

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// A struct type without a name that has fields which are not exported is another type in each package that writes it. So the first
// cell that writes one exports it under a name, with its mirror, and later cells use that.

// anonymous are the struct types without a name that a declaration or statement writes, the innermost first: those that are
// made of what the whole package can name.
func anonymous(info *types.Info, pkg *types.Package, n ast.Node) []*types.Struct {
	var list []*types.Struct
	named := map[*ast.StructType]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && !n.Assign.IsValid() {
				named[s] = true
			}
			return n.TypeParams == nil
		case *ast.FuncDecl:
			return n.Type.TypeParams == nil && (n.Recv == nil || !genericReceiver(n.Recv))
		case *ast.StructType:
			s, ok := info.TypeOf(n).(*types.Struct)
			if ok && !named[n] && hasHidden(s) && nameable(info, pkg, n) {
				list = append([]*types.Struct{s}, list...)
			}
		}
		return true
	})
	return list
}

func genericReceiver(recv *ast.FieldList) bool {
	found := false
	ast.Inspect(recv, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.IndexExpr, *ast.IndexListExpr:
			found = true
		}
		return !found
	})
	return found
}

func hasHidden(s *types.Struct) bool {
	for v := range s.Fields() {
		if !v.Exported() && v.Name() != "_" {
			return true
		}
	}
	return false
}

// nameable reports whether n is a type expression without types that are declared in a function or in a cell's block.
func nameable(info *types.Info, pkg *types.Package, n ast.Node) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		if id, isIdent := n.(*ast.Ident); isIdent {
			if t, isType := info.Uses[id].(*types.TypeName); isType && t.Pkg() != nil && t.Pkg().Path() == pkg.Path() && t.Parent() != t.Pkg().Scope() {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// borrow finds the struct types without a name in this cell, and makes those that an earlier cell has exported the same.
func (w *writer) borrow() {
	for _, d := range w.cell.Decls {
		w.borrowIn(anonymous(w.info, w.cell.Pkg, d))
	}
	w.borrowIn(anonymous(w.info, w.cell.Pkg, w.cell.Body))
}

func (w *writer) borrowIn(list []*types.Struct) {
	for _, s := range list {
		if !w.borrowed(s) {
			w.structs = append(w.structs, s)
		}
	}
}

func (w *writer) borrowed(s *types.Struct) bool {
	for _, o := range w.engine.structs {
		if types.Identical(o.Type(), s) {
			for i := range s.NumFields() {
				if at, ok := w.engine.fields[o.Type().(*types.Struct).Field(i)]; ok {
					w.engine.fields[s.Field(i)] = at
				}
			}
			return true
		}
	}
	return false
}

// exportStructs writes the names of the cell's struct types without a name.
func (w *writer) exportStructs(b, bind *strings.Builder) {
	list := w.structsAgain
	for i, s := range w.structs {
		o := types.NewTypeName(0, w.cell.Pkg, fmt.Sprintf("%ss%d", mark, len(w.engine.structs)+i), s)
		w.out.structs = append(w.out.structs, o)
		list = append(list, o)
	}
	for _, o := range list {
		s, name := o.Type().(*types.Struct), typeExport(o.Name())
		fmt.Fprintf(b, "type %s = %s\n", name, w.structText(s, 0))
		fmt.Fprintf(bind, "h%s.Symbol(%q, (*%s)(nil))\n", mark, name, name)
		w.out.exports = append(w.out.exports, export{o, name})
		w.exportFields(b, bind, o, s, name, "")
	}
}

// structsOf finds the struct types without a name that are made of a type that is declared again: they are, too.
func (w *writer) structsOf(retyped func(types.Type) bool) {
	for _, o := range w.engine.structs {
		if !retyped(o.Type()) {
			continue
		}
		w.structsAgain = append(w.structsAgain, o)
		for v, at := range w.engine.fields { // of those that borrow its name, too
			if at.owner == o {
				w.ownField[v] = true
			}
		}
	}
}

// structName is the name under which an earlier cell has exported a struct type without one, "" where none has.
func (w *writer) structName(s *types.Struct) string {
	for v := range s.Fields() {
		if !w.hidden(v) {
			continue
		}
		at, ok := w.engine.fields[v.Origin()]
		if !ok {
			return ""
		}
		if _, anonymous := at.owner.Type().(*types.Struct); !anonymous {
			return ""
		}
		x := w.earlier(at.owner, v.Pos())
		return w.packageName(x.unit) + "." + x.name
	}
	return ""
}
