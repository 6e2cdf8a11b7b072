package main

import (
	"bytes"
	"fmt"
	"go/constant"
	"go/format"
	"go/types"
	"maps"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strings"
)

const listingPath = "cancha/internal/symbols/listing"

// emitter writes the table of one package.
type emitter struct {
	pkg     *types.Package
	into    string            // name of the package that the table becomes part of
	imports map[string]string // path → the name it has in the file
	taken   map[string]bool   // names of imports

	values, constants, variables, typeNames, wrappers []string
	declarations                                      bytes.Buffer // the wrapper types
}

// emit returns the Go source of pkg's table, a variable of the generated package into. A package without anything to
// list gives a table with its path and name.
func emit(pkg *types.Package, into string) ([]byte, error) {
	e := &emitter{pkg: pkg, into: into, imports: map[string]string{}, taken: map[string]bool{"all": true}}
	e.importName("cancha/internal/symbols/listing", "listing")
	for _, name := range pkg.Scope().Names() {
		if o := pkg.Scope().Lookup(name); o.Exported() {
			e.object(o)
		}
	}
	src, err := format.Source(e.file())
	if err != nil {
		return nil, fmt.Errorf("format the table of %s: %w", pkg.Path(), err)
	}
	return src, nil
}

func (e *emitter) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		e.constant(o)
	case *types.Func:
		if o.Signature().TypeParams().Len() == 0 {
			e.values = append(e.values, fmt.Sprintf("{%q, %s}", o.Name(), e.name(o)))
		}
	case *types.Var:
		e.variables = append(e.variables, fmt.Sprintf("{%q, &%s}", o.Name(), e.name(o)))
	case *types.TypeName:
		e.typeName(o)
	}
}

// constant keeps an untyped constant as text: as a Go value it would get the default type, and math.MaxUint64 overflow.
func (e *emitter) constant(o *types.Const) {
	kind, text := "", ""
	switch v := constant.ToInt(o.Val()); {
	case !untyped(o.Type()):
	case o.Val().Kind() == constant.String:
		kind, text = "STRING", o.Val().ExactString()
	case o.Type().(*types.Basic).Kind() != types.UntypedFloat && v.Kind() == constant.Int:
		kind, text = "INT", v.ExactString()
	case o.Val().Kind() == constant.Int || o.Val().Kind() == constant.Float:
		kind, text = "FLOAT", floatText(o.Val())
	}
	if kind == "" {
		e.values = append(e.values, fmt.Sprintf("{%q, %s}", o.Name(), e.name(o)))
		return
	}
	e.constants = append(e.constants, fmt.Sprintf("{%q, %s.%s, %q}", o.Name(), e.importName("go/token", "token"), kind, text))
}

func untyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// floatText writes a constant with the digits that tell it apart at the compiler's own precision, an integral one as a
// float too.
func floatText(v constant.Value) string {
	const precision = 512 // bits, as go/constant
	f := new(big.Float).SetPrec(precision)
	switch v := constant.Val(constant.ToFloat(v)).(type) {
	case *big.Float:
		f.Set(v)
	case *big.Rat:
		f.SetRat(v)
	}
	text := f.Text('g', -1)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func (e *emitter) typeName(o *types.TypeName) {
	if generic(o.Type()) {
		return
	}
	iface, ok := o.Type().Underlying().(*types.Interface)
	if ok && !iface.IsMethodSet() {
		return // a constraint is no type of values
	}
	e.typeNames = append(e.typeNames, fmt.Sprintf("{%q, (*%s)(nil)}", o.Name(), e.name(o)))
	if ok {
		e.wrapper(o.Name(), iface)
	}
}

func generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0
	}
	return false
}

// wrapper declares a struct that has an interface's methods, each calling a func field: in this form yaegi hands an
// interpreted value to compiled code. Unexported methods cannot be written here; such an interface gets a wrapper
// without them, which then does not implement it.
func (e *emitter) wrapper(name string, iface *types.Interface) {
	typ := "_" + identifier(e.pkg.Path()) + "_" + name
	var fields, methods strings.Builder
	for f := range iface.Methods() {
		if !f.Exported() {
			continue
		}
		params, args, results, ok := e.signature(f.Signature())
		if !ok {
			return
		}
		fmt.Fprintf(&fields, "W%s func%s %s\n", f.Name(), params, results)
		fmt.Fprintf(&methods, "\nfunc (w %s) %s%s %s {\n", typ, f.Name(), params, results)
		if f.Name() == "String" && results == "(string)" {
			methods.WriteString("if w.WString == nil {\nreturn \"\"\n}\n")
		}
		if f.Signature().Results().Len() > 0 {
			methods.WriteString("return ")
		}
		fmt.Fprintf(&methods, "w.W%s%s\n}\n", f.Name(), args)
	}
	e.wrappers = append(e.wrappers, fmt.Sprintf("{%q, (*%s)(nil)}", name, typ))
	fmt.Fprintf(&e.declarations, "\ntype %s struct {\nIValue any\n%s}\n%s", typ, fields.String(), methods.String())
}

// unnameable matches a type that no other package can write.
var unnameable = regexp.MustCompile(`\.[a-z_]\w*|/internal/`)

// signature returns a method's parameters (named a0, a1, … so that none hides a package), the arguments that pass them
// on, and its results; ok is false where one of the types cannot be named from outside its package.
func (e *emitter) signature(s *types.Signature) (params, args, results string, ok bool) {
	var ps, as, rs []string
	for i := range s.Params().Len() {
		t := types.TypeString(s.Params().At(i).Type(), e.qualify)
		a := fmt.Sprintf("a%d", i)
		if s.Variadic() && i == s.Params().Len()-1 {
			ps, as = append(ps, a+" ..."+strings.TrimPrefix(t, "[]")), append(as, a+"...")
			continue
		}
		ps, as = append(ps, a+" "+t), append(as, a)
	}
	for i := range s.Results().Len() {
		rs = append(rs, types.TypeString(s.Results().At(i).Type(), e.qualify))
	}
	params, args, results = "("+strings.Join(ps, ", ")+")", "("+strings.Join(as, ", ")+")", "("+strings.Join(rs, ", ")+")"
	if len(rs) == 0 {
		results = ""
	}
	return params, args, results, !unnameable.MatchString(strings.ReplaceAll(params+results, "...", ""))
}

func (e *emitter) qualify(p *types.Package) string {
	if strings.Contains("/"+p.Path()+"/", "/internal/") {
		return "/internal/" // caught by unnameable
	}
	return e.importName(p.Path(), p.Name())
}

func (e *emitter) name(o types.Object) string { return e.qualify(o.Pkg()) + "." + o.Name() }

// importName imports a package and returns its name in the file, with a number where two have the same.
func (e *emitter) importName(path, name string) string {
	if n, ok := e.imports[path]; ok {
		return n
	}
	n := name
	for i := 2; e.taken[n]; i++ {
		n = fmt.Sprintf("%s%d", name, i)
	}
	e.imports[path], e.taken[n] = n, true
	return n
}

func (e *emitter) file() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by internal/symbols/generate. DO NOT EDIT.\n\npackage %s\n\nimport (\n", e.into)
	for _, p := range slices.Sorted(maps.Keys(e.imports)) {
		if name := e.imports[p]; name == path.Base(p) {
			fmt.Fprintf(&b, "%q\n", p)
		} else {
			fmt.Fprintf(&b, "%s %q\n", name, p)
		}
	}
	fmt.Fprintf(&b, ")\n\nvar %s = listing.Package{\nPath: %q,\nName: %q,\n", tableName(e.pkg.Path()), e.pkg.Path(), e.pkg.Name())
	list(&b, "Values: []listing.Symbol", e.values)
	list(&b, "Constants: []listing.Literal", e.constants)
	list(&b, "Variables: []listing.Symbol", e.variables)
	list(&b, "Types: []listing.Symbol", e.typeNames)
	list(&b, "Wrappers: []listing.Symbol", e.wrappers)
	b.WriteString("}\n")
	b.Write(e.declarations.Bytes())
	return b.Bytes()
}

func list(b *bytes.Buffer, head string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "%s{\n%s,\n},\n", head, strings.Join(lines, ",\n"))
	}
}

// tableName is the variable that holds a package's table.
func tableName(path string) string { return "table_" + identifier(path) }

var notIdentifier = regexp.MustCompile(`[^A-Za-z0-9]+`)

func identifier(path string) string { return notIdentifier.ReplaceAllString(path, "_") }

// emitAll returns the source of the two functions by which a generated package is read: one lists its tables, the other
// hands out the archive of their export data.
func emitAll(into, function, of, archive string, paths []string) ([]byte, error) {
	var b bytes.Buffer
	lower := strings.ToLower(function)
	fmt.Fprintf(&b, "// Code generated by internal/symbols/generate. DO NOT EDIT.\n\npackage %s\n\nimport (\n%q\n_ \"embed\"\n)\n\n", into, listingPath)
	fmt.Fprintf(&b, "// %s returns the tables of %s.\nfunc %s() []listing.Package {\nreturn []listing.Package{\n", function, of, function)
	for _, p := range slices.Sorted(slices.Values(paths)) {
		fmt.Fprintf(&b, "%s,\n", tableName(p))
	}
	fmt.Fprintf(&b, "}\n}\n\n//go:embed %s\nvar %sExports string\n\n", archive, lower)
	fmt.Fprintf(&b, "// %sExports returns the export data of %s, a zip archive with a file for each import path.\n", function, of)
	fmt.Fprintf(&b, "func %sExports() string { return %sExports }\n", function, lower)
	return format.Source(b.Bytes())
}
