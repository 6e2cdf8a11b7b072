package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"cancha/kernel/eval/check"
)

// arg lowers an argument. Compiled code that takes any value sees declared slices, maps and functions as they are, unless
// it only stores them; functions that it may call on a goroutine of its own are guarded.
func (f *fn) arg(a ast.Expr, t types.Type, callee *types.Func) string {
	path := ""
	if callee != nil && callee.Pkg() != nil {
		path = callee.Pkg().Path()
	}
	foreign := path != "" && path != "main" && f.l.decls[callee.Origin()] == nil
	if !foreign {
		return f.conv(a, t)
	}
	if t := f.l.sub(t, f.env); f.l.isCompiledIf(t) {
		if s := f.standardStream(a, t); s != "" {
			return s
		}
	}
	f.noteMethods(a, t, callee)
	f.refuseFileNames(a, callee)
	from := f.typeOf(a)
	if path == "fmt" && strings.Contains(strings.ToLower(callee.Name()), "scan") && f.l.ownMethods(from) && types.NewMethodSet(from).Lookup(nil, "Scan") != nil {
		refuse(a.Pos(), "fmt.%s does not see the method Scan of a type that a cell declares: call it, or scan into a string and parse that", callee.Name())
	}
	if types.IsInterface(t) && f.l.isOpen(t) && !types.IsInterface(from) && f.l.boxOf(from) != "" && !stores[path] && replaced[path+"."+callee.Name()] == "" && shownBy(callee) == "" {
		return "interface{}(" + f.expr(a) + ")"
	}
	text := f.conv(a, t)
	if f.l.isOpen(t) && types.IsInterface(from) && passesOver(callee) { // whose type is known only when the cell runs
		return fmt.Sprintf("%s.Exported(%s, %q)", runtimeAlias, text, callee.Pkg().Name()+"."+callee.Name())
	}
	if primitive := shownBy(callee); primitive != "" && !isNil(from) && !plainType(from) {
		if f.l.isOpen(t) {
			return fmt.Sprintf("%s.%s(%s)", runtimeAlias, primitive, text)
		}
		if s, ok := t.(*types.Slice); ok && f.l.isOpen(s.Elem()) { // args...
			return fmt.Sprintf("%s.%ss(%s)", runtimeAlias, primitive, text)
		}
	}
	sig, ok := f.l.sub(t, f.env).Underlying().(*types.Signature)
	switch {
	case !ok || isNil(from):
		return text
	case check.StartsGoroutines(callee):
		return fmt.Sprintf("%s.Guard(%s).(%s)", runtimeAlias, text, f.l.typ(sig))
	case check.CallsBack(callee):
		return fmt.Sprintf("%s.Counted(%s).(%s)", runtimeAlias, text, f.l.typ(sig))
	}
	return text
}

// shownBy is the primitive that prepares values of type any for a compiled function which prints or encodes them, "" for any
// other function.
func shownBy(callee *types.Func) string {
	switch path := callee.Pkg().Path(); {
	case replaced[path+"."+callee.Name()] != "" && callee.Signature().Recv() == nil, replacedMethods[callee.FullName()] != "":
		return ""
	case path == "log" || path == "log/slog" || path == "testing":
		return "Printable"
	case path == "cancha/runtime/session" && callee.Name() == "Export":
		return "Encodable"
	}
	return ""
}

// shows reports whether callee is a compiled function that shows values of any type among its arguments.
func (f *fn) shows(callee *types.Func) bool {
	if callee.Pkg() == nil || shownBy(callee) == "" {
		return false
	}
	for v := range callee.Signature().Params().Variables() {
		if f.isShown(v.Type()) {
			return true
		}
	}
	return false
}

// isShown reports whether t is the type of a parameter that takes values of any type, or a list of them.
func (f *fn) isShown(t types.Type) bool {
	if s, ok := t.(*types.Slice); ok {
		t = s.Elem()
	}
	return f.l.isOpen(t)
}

// showArgs prepares the parameters of a function that hands them on to callee, as arg does what stands in a call.
func (f *fn) showArgs(callee *types.Func, args []string) {
	if !f.shows(callee) {
		return
	}
	for i, v := range slices.Collect(callee.Signature().Params().Variables()) {
		if !f.isShown(v.Type()) {
			continue
		}
		if text, variadic := strings.CutSuffix(args[i], "..."); variadic || !types.IsInterface(v.Type()) {
			args[i] = fmt.Sprintf("%s.%ss(%s)%s", runtimeAlias, shownBy(callee), text, strings.TrimPrefix(args[i], text))
		} else {
			args[i] = fmt.Sprintf("%s.%s(%s)", runtimeAlias, shownBy(callee), text)
		}
	}
}

// refuseBlind refuses as a value a function that looks for methods which it cannot see: what it will be given is not known here.
func (f *fn) refuseBlind(pos token.Pos, callee *types.Func) {
	if callee.Pkg() == nil || len(encoders[callee.Pkg().Path()]) == 0 || replacedMethods[callee.FullName()] != "" || replaced[callee.FullName()] != "" {
		return
	}
	for v := range callee.Signature().Params().Variables() {
		if f.l.isOpen(v.Type()) {
			refuse(pos, "%s.%s used as a value does not see the methods of types that cells declare: call it", callee.Pkg().Name(), callee.Name())
		}
	}
}

// plainType reports whether t is a predeclared type, whose values show themselves.
func plainType(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Basic)
	return ok
}

// stores are packages whose functions keep values of type any without looking into them.
var stores = map[string]bool{
	"reflect": true, "container/heap": true, "container/list": true, "container/ring": true, "context": true, "sync": true, "sync/atomic": true,
}

// encoders look for methods of the values that they get as any, and cannot see those of the cells' types.
var encoders = map[string][]string{
	"encoding/xml": {"MarshalXML", "UnmarshalXML", "MarshalText", "UnmarshalText"},
	"encoding/gob": {"GobEncode", "GobDecode", "MarshalBinary", "UnmarshalBinary"},
	"flag":         {"MarshalText", "UnmarshalText"},
}

// noteMethods refuses what would be silently wrong: values whose methods compiled code looks for by reflection.
func (f *fn) noteMethods(a ast.Expr, t types.Type, callee *types.Func) {
	path := callee.Pkg().Path()
	if !types.IsInterface(t) {
		return
	}
	from := f.typeOf(a)
	if path == "encoding/json" && callee.Signature().Recv() == nil || replacedMethods[callee.FullName()] == "JSONEncode" || replacedMethods[callee.FullName()] == "JSONDecode" {
		f.refuseErasedIn(a, from, callee)
		return
	}
	if names, ok := encoders[path]; ok {
		f.l.visitTypes(from, func(n *types.Named) {
			for _, name := range names {
				if hasMethod(n, name) {
					refuse(a.Pos(), "%s.%s does not see method %s of type %s, which is interpreted; compile the type in a package, or convert the value first", callee.Pkg().Name(), callee.Name(), name, n.Obj().Name())
				}
			}
			if embeds(n) {
				refuse(a.Pos(), "%s.%s does not see that type %s embeds a struct, because it is interpreted; name the field", callee.Pkg().Name(), callee.Name(), n.Obj().Name())
			}
		})
	}
	if passesOver(callee) {
		f.refuseHidden(a, from, callee)
	}
	if looksInto(callee) {
		f.refuseDisguised(a, from)
	}
}

// passesOver reports whether a function leaves out unexported fields of structs, or fails for them: the interpreter exports all fields. For
// encoding/json and encoding/xml, tags say so.
func passesOver(callee *types.Func) bool {
	switch callee.Pkg().Path() {
	case "encoding/gob", "encoding/asn1":
		return true
	case "encoding/binary":
		return callee.Name() == "Read" || callee.Name() == "Decode"
	}
	return false
}

// refuseHidden refuses to hand such a function values with fields that are not exported.
func (f *fn) refuseHidden(a ast.Expr, from types.Type, callee *types.Func) {
	if name := f.l.hiddenIn(from, map[types.Type]bool{}); name != "" {
		refuse(a.Pos(), "%s.%s does not see that field %s is not exported, because its type is interpreted; export it, or use a type without it", callee.Pkg().Name(), callee.Name(), name)
	}
}

// hiddenIn names a field in t that is not exported, of a type that is interpreted, "" for none.
func (l *Lowerer) hiddenIn(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	if n, ok := types.Unalias(t).(*types.Named); ok && (n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != "main" || l.isCompiled(n)) {
		return ""
	}
	switch t := t.Underlying().(type) {
	case *types.Struct:
		for v := range t.Fields() {
			if !v.Exported() && v.Name() != "_" {
				return v.Name()
			}
			if name := l.hiddenIn(v.Type(), seen); name != "" {
				return name
			}
		}
	case *types.Map:
		return l.hiddenIn(t.Key(), seen) + l.hiddenIn(t.Elem(), seen)
	case interface{ Elem() types.Type }: // a pointer, slice or array
		return l.hiddenIn(t.Elem(), seen)
	}
	return ""
}

// refuseErasedIn refuses to decode into types with fields that are not kept in their own type.
func (f *fn) refuseErasedIn(a ast.Expr, from types.Type, callee *types.Func) {
	if callee.Name() != "Unmarshal" && callee.Name() != "Decode" {
		return
	}
	f.l.visitTypes(from, func(n *types.Named) {
		if len(f.l.named(n, a.Pos()).erased) > 0 {
			refuse(a.Pos(), "json.%s cannot decode type %s, which refers to itself through another type, while it is interpreted; decode into map[string]any", callee.Name(), n.Obj().Name())
		}
	})
}

func hasMethod(n *types.Named, name string) bool {
	o, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, n.Obj().Pkg(), name)
	_, ok := o.(*types.Func)
	return ok
}

func embeds(n *types.Named) bool {
	u, ok := n.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for v := range u.Fields() {
		if v.Embedded() && isStruct(deref(v.Type())) {
			return true
		}
	}
	return false
}

// visitTypes calls visit for each type of the cells that t is made of, looking into their structs.
func (l *Lowerer) visitTypes(t types.Type, visit func(*types.Named)) {
	seen := map[*types.TypeName]bool{}
	var walk func(t types.Type)
	walk = func(t types.Type) {
		l.parts(t, func(n *types.Named) {
			if n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != "main" || seen[n.Obj()] || types.IsInterface(n) || l.isCompiled(n) {
				return
			}
			seen[n.Obj()] = true
			visit(n)
			walk(n.Underlying())
		})
	}
	walk(t)
}
