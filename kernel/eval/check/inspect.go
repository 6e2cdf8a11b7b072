package check

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/cell"
)

// Inspect explains the name at a cursor, or the function whose arguments the cursor stands among: its declaration, where it was declared
// and its doc comment; with detail 1 also its source, if that is at hand. An unknown name is not found.
func (s *Scope) Inspect(code string, cursor, detail int) cell.Inspection {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.nameCells()()
	at := locate(code, ByteOffset(code, cursor))
	if at.text || at.number {
		return cell.Inspection{}
	}
	names := []call{{start: at.start, end: at.end}}
	for i := len(at.open) - 1; i >= 0; i-- {
		if at.open[i].tok == token.LPAREN {
			names = append(names, at.open[i])
		}
	}
	for _, name := range names {
		if name.start == name.end {
			continue
		}
		if in := s.inspectName(code, at, name, detail); in.Found {
			return in
		}
	}
	return cell.Inspection{}
}

func (s *Scope) inspectName(code string, at place, name call, detail int) cell.Inspection {
	b := s.sketch(at.with(code, code[at.start:at.end]))
	if b == nil {
		return cell.Inspection{}
	}
	id, around := b.find(name.start)
	if id == nil {
		return cell.Inspection{}
	}
	o := b.object(id, around)
	if o == nil {
		o = b.unimportedObject(id, around)
	}
	if o == nil {
		return s.explainWaiting(id.Name, detail)
	}
	from := owner(b.cell.Info, id, around)
	declaration := s.plainNames(declarationOf(o, from), func(name string) bool { return b.declared[name] })
	return s.explain(declaration+b.toImport(o), o, s.written(o, from, b), detail)
}

// owner is the type whose own field or method a selected name is, "" where that is not known.
func owner(info *types.Info, id *ast.Ident, around []ast.Node) string {
	sel, ok := around[len(around)-1].(*ast.SelectorExpr)
	if !ok || sel.Sel != id {
		return ""
	}
	t := info.TypeOf(sel.X)
	if t == nil {
		return ""
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// explain writes what is known of an object, as plain text and as Markdown: its declaration first, unless that is of many
// lines, which would push the words out of a small tooltip.
func (s *Scope) explain(declaration string, o types.Object, written written, detail int) cell.Inspection {
	plain, markdown := []string{declaration}, []string{"```go\n" + declaration + "\n```"}
	if written.cell != "" {
		where := fmt.Sprintf("declared in %s, line %d", written.cell, written.line)
		plain[0] += "\n" + where
		markdown = append(markdown, "*"+where+"*")
	}
	if text := strings.TrimSpace(written.doc); text != "" {
		text, marked := docTexts(text)
		if strings.Contains(declaration, "\n") {
			plain, markdown = slices.Insert(plain, 0, text), slices.Insert(markdown, 0, marked)
		} else {
			plain, markdown = append(plain, text), append(markdown, marked)
		}
	}
	if detail > 0 {
		if source := s.source(o, written); source != "" {
			plain, markdown = append(plain, source), append(markdown, "```go\n"+source+"\n```")
		}
	}
	return cell.Inspection{Found: true, Data: map[string]any{
		"text/plain": strings.Join(plain, "\n\n"), "text/markdown": strings.Join(markdown, "\n\n"),
	}}
}

// docTexts is a doc comment as plain text and as Markdown.
func docTexts(doc string) (plain, markdown string) {
	var parser comment.Parser
	var printer comment.Printer
	printer.DocLinkURL = func(l *comment.DocLink) string { return l.DefaultURL("https://pkg.go.dev") }
	tree := parser.Parse(doc)
	return strings.TrimSpace(string(printer.Text(tree))), strings.TrimSpace(string(printer.Markdown(tree)))
}

// declarationOf is an object's declaration as one would write it, without bodies and without what a cell cannot name. A
// method promoted from an unexported type is shown as one of its owner's.
func declarationOf(o types.Object, owner string) string {
	switch o := o.(type) {
	case *types.PkgName:
		return fmt.Sprintf("package %s // import %q", o.Imported().Name(), o.Imported().Path())
	case *types.Const:
		return types.ObjectString(o, qualifier) + " = " + o.Val().String()
	case *types.Builtin:
		return builtinSignatures()[o.Name()]
	case *types.TypeName:
		return typeDeclaration(o)
	case *types.Func:
		if name, _, ok := Known(o); ok {
			return knownSignatures[name]
		}
		if o.Signature().Recv() == nil {
			break
		}
		if r := receiver(o); owner != "" && !token.IsExported(r) && !accessible(o.Signature().Recv()) {
			return strings.Replace(types.ObjectString(o, qualifier), "."+r+")", "."+owner+")", 1)
		}
	}
	return types.ObjectString(o, qualifier)
}

// typeDeclaration is a type with its exported fields, or the methods that it asks for, and below it the methods it has.
func typeDeclaration(o *types.TypeName) string {
	if o.Pkg() == nil {
		return "type " + o.Name()
	}
	t := o.Type()
	var b strings.Builder
	b.WriteString("type " + types.TypeString(t, qualifier))
	if o.IsAlias() {
		b.WriteString(" =")
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		b.WriteString(" struct {" + structBody(u) + "}")
	case *types.Interface:
		b.WriteString(" interface {" + interfaceBody(u) + "}")
		return b.String()
	default:
		b.WriteString(" " + types.TypeString(u, qualifier))
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		for m := range named.Methods() {
			if accessible(m) {
				b.WriteString("\n" + types.ObjectString(m, qualifier))
			}
		}
	}
	return b.String()
}

func structBody(s *types.Struct) string {
	var b strings.Builder
	hidden := false
	for f := range s.Fields() {
		if !accessible(f) {
			hidden = true
			continue
		}
		text := f.Name() + " " + types.TypeString(f.Type(), qualifier)
		if f.Embedded() {
			text = types.TypeString(f.Type(), qualifier)
		}
		b.WriteString("\n\t" + text)
	}
	if hidden {
		b.WriteString("\n\t// and unexported fields")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func interfaceBody(i *types.Interface) string {
	var b strings.Builder
	for t := range i.EmbeddedTypes() {
		b.WriteString("\n\t" + types.TypeString(t, qualifier))
	}
	for m := range i.ExplicitMethods() {
		b.WriteString("\n\t" + m.Name() + brief(m))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// builtinSignatures are those of package builtin, which documents what the language knows by itself.
func builtinSignatures() map[string]string {
	return map[string]string{
		"append": "func append(slice []Type, elems ...Type) []Type", "cap": "func cap(v Type) int",
		"clear": "func clear[T ~[]Type | ~map[Type]Type1](t T)", "close": "func close(c chan<- Type)",
		"complex": "func complex(r, i FloatType) ComplexType", "copy": "func copy(dst, src []Type) int",
		"delete": "func delete(m map[Type]Type1, key Type)", "imag": "func imag(c ComplexType) FloatType",
		"len": "func len(v Type) int", "make": "func make(t Type, size ...IntegerType) Type",
		"max": "func max[T cmp.Ordered](x T, y ...T) T", "min": "func min[T cmp.Ordered](x T, y ...T) T",
		"new": "func new(Type) *Type", "panic": "func panic(v any)", "print": "func print(args ...Type)",
		"println": "func println(args ...Type)", "real": "func real(c ComplexType) FloatType", "recover": "func recover() any",
	}
}
