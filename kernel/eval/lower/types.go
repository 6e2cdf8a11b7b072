package lower

import (
	"fmt"
	"go/token"
	"go/types"
	"sort"
	"strconv"
	"strings"
)

// env maps the type parameters of a generic declaration to the arguments of the instance at hand.
type env map[*types.TypeParam]types.Type

// sub replaces type parameters.
func (l *Lowerer) sub(t types.Type, e env) types.Type {
	if len(e) == 0 || t == nil {
		return t
	}
	switch t := t.(type) {
	case *types.TypeParam:
		if r, ok := e[t]; ok {
			return r
		}
	case *types.Alias:
		return l.sub(types.Unalias(t), e)
	case *types.Pointer:
		return types.NewPointer(l.sub(t.Elem(), e))
	case *types.Slice:
		return types.NewSlice(l.sub(t.Elem(), e))
	case *types.Array:
		return types.NewArray(l.sub(t.Elem(), e), t.Len())
	case *types.Map:
		return types.NewMap(l.sub(t.Key(), e), l.sub(t.Elem(), e))
	case *types.Chan:
		return types.NewChan(t.Dir(), l.sub(t.Elem(), e))
	case *types.Tuple:
		return l.subTuple(t, e)
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, l.subTuple(t.Params(), e), l.subTuple(t.Results(), e), t.Variadic())
	case *types.Struct:
		return l.subStruct(t, e)
	case *types.Interface:
		return l.subInterface(t, e)
	case *types.Named:
		return l.subNamed(t, e)
	}
	return t
}

func (l *Lowerer) subTuple(t *types.Tuple, e env) *types.Tuple {
	vars := make([]*types.Var, t.Len())
	for i := range vars {
		v := t.At(i)
		vars[i] = types.NewParam(v.Pos(), v.Pkg(), v.Name(), l.sub(v.Type(), e))
	}
	return types.NewTuple(vars...)
}

func (l *Lowerer) subStruct(t *types.Struct, e env) types.Type {
	fields := make([]*types.Var, t.NumFields())
	tags := make([]string, t.NumFields())
	for i := range fields {
		v := t.Field(i)
		fields[i] = types.NewField(v.Pos(), v.Pkg(), v.Name(), l.sub(v.Type(), e), v.Embedded())
		tags[i] = t.Tag(i)
	}
	return types.NewStruct(fields, tags)
}

func (l *Lowerer) subInterface(t *types.Interface, e env) types.Type {
	if t.NumEmbeddeds() > 0 && !t.IsMethodSet() || t.NumMethods() == 0 {
		return t
	}
	var methods []*types.Func
	for m := range t.Methods() {
		methods = append(methods, types.NewFunc(m.Pos(), m.Pkg(), m.Name(), l.sub(m.Signature(), e).(*types.Signature)))
	}
	return types.NewInterfaceType(methods, nil).Complete()
}

func (l *Lowerer) subNamed(t *types.Named, e env) types.Type {
	if t.TypeArgs().Len() == 0 {
		return t
	}
	args := make([]types.Type, t.TypeArgs().Len())
	for i := range args {
		args[i] = l.sub(t.TypeArgs().At(i), e)
	}
	r, err := types.Instantiate(l.context, t.Origin(), args, false)
	if err != nil {
		return t
	}
	return r
}

// key is a text that equal types, and only they, have in common.
func (l *Lowerer) key(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Path() }) + l.identities(t)
}

// identities are the numbers of the declared types in t, in order: two declarations of one name differ in them.
func (l *Lowerer) identities(t types.Type) string {
	var b strings.Builder
	var walk func(t types.Type)
	walk = func(t types.Type) {
		switch t := types.Unalias(t).(type) {
		case *types.Named:
			if o := t.Obj(); o.Pkg() != nil {
				fmt.Fprintf(&b, ".%d", l.id(t.Origin().Obj()))
			}
			for a := range t.TypeArgs().Types() {
				walk(a)
			}
		case *types.Pointer:
			walk(t.Elem())
		case *types.Slice:
			walk(t.Elem())
		case *types.Array:
			walk(t.Elem())
		case *types.Chan:
			walk(t.Elem())
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case *types.Signature:
			walk(t.Params())
			walk(t.Results())
		case *types.Tuple:
			for v := range t.Variables() {
				walk(v.Type())
			}
		case *types.Struct:
			for v := range t.Fields() {
				walk(v.Type())
			}
		case *types.Interface:
			for m := range t.Methods() {
				walk(m.Type())
			}
		}
	}
	walk(t)
	return b.String()
}

// typ writes a type of the lowered program.
func (l *Lowerer) typ(t types.Type) string { return l.typeText(t, token.NoPos) }

func (l *Lowerer) typeText(t types.Type, pos token.Pos) string {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			refuse(pos, "unsafe.Pointer is not supported by the interpreter")
		}
		return types.Default(t).String()
	case *types.Alias:
		return l.typeText(types.Unalias(t), pos)
	case *types.Pointer:
		return "*" + l.typeText(t.Elem(), pos)
	case *types.Slice:
		return "[]" + l.typeText(t.Elem(), pos)
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), l.typeText(t.Elem(), pos))
	case *types.Map:
		l.refuseWrapped(t.Key(), "a key", pos)
		return "map[" + l.typeText(t.Key(), pos) + "]" + l.typeText(t.Elem(), pos)
	case *types.Chan:
		return map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + "(" + l.typeText(t.Elem(), pos) + ")"
	case *types.Signature:
		return "func" + l.signatureText(t, pos)
	case *types.Struct:
		l.refuseOwnForm(t, pos)
		text := l.structText(t, l.structMark(t), nil, pos)
		l.declareAnonymous(t, text)
		return text
	case *types.Interface:
		l.refuseOwnForm(t, pos)
		return "interface{}"
	case *types.Named:
		r := l.named(t, pos)
		if r.text == "" && r.kind == compiled {
			refuse(pos, "type %s.%s is not exported: the interpreter cannot keep a value of it in a variable", t.Obj().Pkg().Path(), t.Obj().Name())
		}
		return r.text
	case *types.TypeParam:
		refuse(pos, "type parameter %s is not bound", t)
	}
	refuse(pos, "type %s is not supported by the interpreter", t)
	return ""
}

func (l *Lowerer) signatureText(t *types.Signature, pos token.Pos) string {
	params := make([]string, t.Params().Len())
	for i := range params {
		params[i] = l.paramText(t, i, pos)
	}
	results := make([]string, t.Results().Len())
	for i := range results {
		results[i] = l.typeText(t.Results().At(i).Type(), pos)
	}
	return "(" + strings.Join(params, ", ") + ") (" + strings.Join(results, ", ") + ")"
}

func (l *Lowerer) paramText(t *types.Signature, i int, pos token.Pos) string {
	p := t.Params().At(i).Type()
	if t.Variadic() && i == t.Params().Len()-1 {
		if s, ok := p.(*types.Slice); ok {
			return "..." + l.typeText(s.Elem(), pos)
		}
		return "...byte" // append([]byte, string...)
	}
	return l.typeText(p, pos)
}

// structText writes a struct type. mark, if any, goes into the first field's tag and makes the type one of a kind; fields
// in erased are kept as interface{}.
func (l *Lowerer) structText(t *types.Struct, mark string, erased map[int]bool, pos token.Pos) string {
	var fields []string
	if t.NumFields() == 0 && mark != "" {
		fields = append(fields, "Blankᐧ [0]int "+tag("", mark, false))
	}
	for i := range t.NumFields() {
		v := t.Field(i)
		text := "interface{}"
		if !erased[i] {
			text = l.typeText(v.Type(), pos)
		}
		own := ""
		if i == 0 {
			own = mark
		}
		fields = append(fields, fieldName(t, i)+" "+text+" "+tag(t.Tag(i), own, !v.Exported()))
	}
	return "struct{ " + strings.Join(fields, "; ") + " }"
}

// tag writes a field tag. Fields that are not exported have to be hidden from encoders, since reflection sees them exported.
func tag(old, mark string, hide bool) string {
	parts := strings.TrimSpace(old)
	if hide {
		parts += ` json:"-" xml:"-" yaml:"-"`
	}
	if mark != "" {
		parts += " cancha:" + strconv.Quote(mark)
	}
	if parts = strings.TrimSpace(parts); parts == "" {
		return ""
	}
	return strconv.Quote(parts)
}

// fieldName is a field's name in the lowered program. Blank fields need one each.
func fieldName(t *types.Struct, i int) string {
	if name := t.Field(i).Name(); name != "_" {
		return name
	}
	return fmt.Sprintf("Blankᐧ%d", i)
}

// rep is how a declared type is represented.
type rep struct {
	text string // the type of its variables
	kind repKind
	// identity is the type that its values have while they are in an interface: text itself, or a struct around it.
	// It is empty for interfaces and for compiled types, which need none.
	identity string
	pointer  string // the same for pointers to boxed values
	erased   map[int]bool
	fields   *types.Struct
	declared *types.Named // nil for a type that the back end has
}

type repKind int

const (
	compiled   repKind = iota // the back end's own
	compiledIf                // a compiled interface
	openIf                    // an interface of the cells: interface{}
	marked                    // told apart by its own reflection type
	boxed                     // told apart only while in an interface
)

// named returns the representation of a declared type, emitting its declaration the first time.
func (l *Lowerer) named(t *types.Named, pos token.Pos) *rep {
	o := t.Obj()
	if o.Pkg() == nil { // error; comparable is a constraint and has no values
		return &rep{text: o.Name(), kind: compiledIf}
	}
	key := l.key(t)
	if r, ok := l.reps[key]; ok {
		return r
	}
	if l.isCompiled(t) {
		r := l.compiledRep(t, pos)
		set(l, l.reps, key, r)
		return r
	}
	if t.TypeArgs().Len() > 0 && l.ofCompiledCell(t.Origin().Obj()) {
		refuse(pos, "the interpreter has no instance of the compiled type %s", o.Name())
	}
	if o.Pkg().Path() == "main" && l.only() && l.decls[t.Origin().Obj()] == nil {
		refuse(pos, "type %s is not known to the interpreter", o.Name())
	}
	l.refuseOwnForm(t, pos)
	defer l.blaming(o, pos)()
	r := &rep{}
	set(l, l.reps, key, r)
	if o.Pkg().Path() == "main" || l.decls[t.Origin().Obj()] != nil {
		l.declareType(t, r, pos)
		return r
	}
	if t.NumMethods() == 0 && !isStruct(t) { // iter.Seq and its like
		r.text = l.typeText(t.Underlying(), pos)
		return r
	}
	*r = *l.named(l.sourceType(t, pos), pos)
	return r
}

// isCompiled tells a type that the back end has from one whose source is lowered.
func (l *Lowerer) isCompiled(t *types.Named) bool {
	path := t.Obj().Pkg().Path()
	if path == "main" && t.TypeArgs().Len() == 0 && l.ofCompiledCell(t.Obj()) {
		return true
	}
	if path == "main" || t.TypeArgs().Len() > 0 || l.decls[t.Origin().Obj()] != nil {
		return false
	}
	return true
}

func (l *Lowerer) compiledRep(t *types.Named, pos token.Pos) *rep {
	o := t.Obj()
	if text, ok := l.compiledSymbol(o); ok {
		r := &rep{text: text, kind: compiled}
		if types.IsInterface(t) {
			r.kind = compiledIf
		}
		return r
	}
	if !o.Exported() { // its values can be used where they are, but not be named
		return &rep{kind: compiled}
	}
	r := &rep{text: l.compiledName(o, pos), kind: compiled}
	if types.IsInterface(t) {
		r.kind = compiledIf
	}
	return r
}

// declareType emits a type of the cells, or of a package whose source is lowered.
func (l *Lowerer) declareType(t *types.Named, r *rep, pos token.Pos) {
	o := t.Obj()
	shown := shownName(t)
	r.declared = t
	switch u := t.Underlying().(type) {
	case *types.Interface:
		r.text, r.kind = "interface{}", openIf
		return
	case *types.Struct:
		l.declareStruct(t, u, r, shown, pos)
	case *types.Basic:
		l.declareBasic(u, r, o.Name(), shown)
	default:
		l.declareBoxed(t, r, shown, pos)
	}
	l.declaredIn(o, r)
	for m := range t.Methods() {
		l.queueMethod(t, r, m)
	}
}

// declaredIn tells the primitives which cell declared a type, since a later one may give its name another meaning.
func (l *Lowerer) declaredIn(o *types.TypeName, r *rep) {
	cell := l.cell.DeclaredIn(o)
	if cell == "" || o.Parent() != o.Pkg().Scope() {
		return // of a function, or of a package whose source is lowered
	}
	for _, identity := range []string{r.identity, r.pointer} {
		if identity != "" {
			l.setup("%s.DeclaredIn(new(%s), %q, %q)", runtimeAlias, identity, o.Name(), cell)
		}
	}
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

func (l *Lowerer) declareStruct(t *types.Named, u *types.Struct, r *rep, shown string, pos token.Pos) {
	for v := range u.Fields() {
		if !v.Exported() && v.Pkg() != nil && v.Pkg().Path() != t.Obj().Pkg().Path() {
			refuse(pos, "type %s is declared as a struct of package %s with fields that are not exported: the interpreter cannot build it", t.Obj().Name(), v.Pkg().Path())
		}
	}
	name := l.unique(t.Obj().Name())
	r.text, r.identity, r.kind, r.fields = name, name, marked, u
	r.erased = l.erase(t, u, pos)
	text := l.structText(u, name, r.erased, pos)
	l.out.types = append(l.out.types, "type "+name+" "+text)
	l.setup("%s.Declare(new(%s), %q, %s)", runtimeAlias, name, shown, fieldList(u))
	l.queue = append(l.queue, func() { l.fieldShapes(u, name, r.erased); l.promotions(u, name, r.erased) })
}

func (l *Lowerer) declareBasic(u *types.Basic, r *rep, name, shown string) {
	n := l.pool[u.Kind()]
	if n >= l.cfg.Pool(u.Kind()) {
		l.out.note("type %s: too many types of kind %s in this program; values of it in an interface are taken for %s", shown, u.Name(), u.Name())
		r.text, r.kind = u.Name(), boxed
		l.box(r, name, u.Name(), shown)
		return
	}
	set(l, l.pool, u.Kind(), n+1)
	r.text = fmt.Sprintf("%s.%s", runtimeAlias, PoolName(u.Kind(), n))
	r.identity, r.kind = r.text, marked
	l.setup("%s.Declare(new(%s), %q, nil)", runtimeAlias, r.text, shown)
}

// PoolName is the name of the n-th type that the back end has for declared types of a basic kind.
func PoolName(kind types.BasicKind, n int) string {
	name := types.Typ[kind].Name()
	return fmt.Sprintf("%s%s%d", strings.ToUpper(name[:1]), name[1:], n)
}

// declareBoxed represents a declared slice, map, array, pointer, channel or function by its underlying type, and by a
// marked struct around it while it is in an interface.
func (l *Lowerer) declareBoxed(t *types.Named, r *rep, shown string, pos token.Pos) {
	if l.mentions(t.Underlying(), t.Obj(), map[types.Type]bool{}) {
		refuse(pos, "type %s refers to itself without a struct in between: the interpreter cannot build it", t.Obj().Name())
	}
	r.kind = boxed
	r.text = l.typeText(t.Underlying(), pos)
	l.box(r, t.Obj().Name(), r.text, shown)
	l.queue = append(l.queue, func() { l.boxShape(r, t.Underlying()) })
}

func (l *Lowerer) box(r *rep, name, text, shown string) {
	r.identity, r.pointer = l.unique(name), l.unique(name)
	l.out.types = append(l.out.types,
		fmt.Sprintf("type %s struct{ V %s `cancha:%q` }", r.identity, text, r.identity),
		fmt.Sprintf("type %s struct{ V *%s `cancha:%q` }", r.pointer, text, r.pointer))
	l.setup("%s.DeclareBox(new(%s), new(%s), %q)", runtimeAlias, r.identity, r.pointer, shown)
}

func (l *Lowerer) setup(format string, args ...any) {
	l.out.setup = append(l.out.setup, fmt.Sprintf(format, args...))
}

// alias returns the name of a compiled package in the lowered program and imports it the first time.
func (l *Lowerer) alias(p *types.Package) string { return l.aliasOf(p.Path(), p.Name()) }

func (l *Lowerer) aliasOf(path, name string) string {
	if a, ok := l.aliases[path]; ok {
		return a
	}
	a := l.unique(name)
	set(l, l.aliases, path, a)
	set(l, l.texts, a, Declaration{Name: a, Text: fmt.Sprintf("import %s %q", a, path), Path: path})
	return a
}

// qualified is a compiled package's exported name in the lowered program.
func (l *Lowerer) qualified(o types.Object, pos token.Pos) string {
	path := o.Pkg().Path()
	if !l.cfg.Has(path, o.Name()) {
		refuse(pos, "%s.%s is not among the compiled symbols of the interpreter", path, o.Name())
	}
	return l.alias(o.Pkg()) + "." + o.Name()
}

// compiledName is a compiled package's exported type in the lowered program: where it is declared, or by an alias.
func (l *Lowerer) compiledName(o types.Object, pos token.Pos) string {
	path := o.Pkg().Path()
	if l.cfg.Has(path, o.Name()) {
		return l.alias(o.Pkg()) + "." + o.Name()
	}
	if l.cfg.Alias != nil {
		if from, name, ok := l.cfg.Alias(path, o.Name()); ok {
			return l.aliasOf(from, from[strings.LastIndexByte(from, '/')+1:]) + "." + name
		}
	}
	refuse(pos, "type %s.%s is not among the compiled symbols", path, o.Name())
	return ""
}

// sortedKeys are the keys of a set in order.
func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
