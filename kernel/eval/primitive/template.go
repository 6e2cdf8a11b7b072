package primitive

import (
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// Package text/template looks for methods by reflection, which sees none on types of the cells. So templates that are executed
// over such values are rewritten: what they select is selected by a function, and what they print passes through another.
const (
	templateSelect = "canchaSelect"
	templateShow   = "canchaShow"
	templateOpen   = "canchaOpen"
)

// TemplateExecute is the method Execute of a text/template.Template.
func (m *Machine) TemplateExecute(t any, w io.Writer, data any) error {
	tmpl := t.(*template.Template)
	return m.executeText(tmpl, tmpl.Name(), w, data)
}

// TemplateExecuteTemplate is the method ExecuteTemplate of a text/template.Template.
func (m *Machine) TemplateExecuteTemplate(t any, w io.Writer, name string, data any) error {
	return m.executeText(t.(*template.Template), name, w, data)
}

// HTMLTemplateExecute is the method Execute of an html/template.Template.
func (m *Machine) HTMLTemplateExecute(t any, w io.Writer, data any) error {
	tmpl := t.(*htmltemplate.Template)
	return m.executeHTML(tmpl, tmpl.Name(), w, data)
}

// HTMLTemplateExecuteTemplate is the method ExecuteTemplate of an html/template.Template.
func (m *Machine) HTMLTemplateExecuteTemplate(t any, w io.Writer, name string, data any) error {
	return m.executeHTML(t.(*htmltemplate.Template), name, w, data)
}

// TemplateFuncs is the method Funcs of a text/template.Template.
func (m *Machine) TemplateFuncs(t *template.Template, funcs template.FuncMap) *template.Template {
	return t.Funcs(m.openFuncs(funcs))
}

// HTMLTemplateFuncs is the method Funcs of an html/template.Template.
func (m *Machine) HTMLTemplateFuncs(t *htmltemplate.Template, funcs htmltemplate.FuncMap) *htmltemplate.Template {
	return t.Funcs(m.openFuncs(funcs))
}

// openFuncs takes functions out of their wrappers.
func (m *Machine) openFuncs(funcs map[string]any) map[string]any {
	open := make(map[string]any, len(funcs))
	for name, f := range funcs {
		open[name] = m.templateOpen(f)
	}
	return open
}

func (m *Machine) executeText(t *template.Template, name string, w io.Writer, data any) error {
	data = m.openPlain(m.unwrap(data))
	if !m.wants(data) || t.Lookup(name) == nil {
		return t.ExecuteTemplate(w, name, data)
	}
	c, err := t.Clone()
	if err != nil {
		return err
	}
	c.Funcs(m.templateFuncs())
	for _, part := range c.Templates() {
		if part.Tree == nil {
			continue
		}
		if _, err := c.AddParseTree(part.Name(), rewrite(part.Tree)); err != nil {
			return err
		}
	}
	return selectError(c.ExecuteTemplate(w, name, data))
}

func (m *Machine) executeHTML(t *htmltemplate.Template, name string, w io.Writer, data any) error {
	data = m.openPlain(m.unwrap(data))
	if !m.wants(data) || t.Lookup(name) == nil {
		return t.ExecuteTemplate(w, name, data)
	}
	c, err := t.Clone()
	if err != nil {
		return err
	}
	c.Funcs(htmltemplate.FuncMap(m.templateFuncs()))
	for _, part := range c.Templates() {
		if part.Tree == nil {
			continue
		}
		if _, err := c.AddParseTree(part.Name(), rewrite(part.Tree)); err != nil {
			return err
		}
	}
	return selectError(c.ExecuteTemplate(w, name, data))
}

func (m *Machine) templateFuncs() template.FuncMap {
	return template.FuncMap{
		templateSelect: m.templateSelect, templateShow: m.templateShow, templateOpen: m.templateOpen,
		"print": m.Sprint, "println": m.Sprintln, "printf": m.Sprintf,
	}
}

// templateShow returns a value as it prints.
func (m *Machine) templateShow(v any) any {
	if v = m.unwrap(v); v != nil && m.wants(v) {
		return m.Sprint(v)
	}
	return v
}

// templateOpen returns what a wrapper of a declared slice, map or function holds.
func (m *Machine) templateOpen(v any) any {
	v = m.unwrap(v)
	if d := m.ofValue(reflect.ValueOf(v)); d != nil && d.box != nil {
		return reflect.ValueOf(v).Field(0).Interface()
	}
	return v
}

// selection is an error of templateSelect with the text of the node that it was made of.
type selection struct {
	node string
	err  error
}

func (s *selection) Error() string { return s.err.Error() }
func (s *selection) Unwrap() error { return s.err }

// selectError gives an error of an execution the text that it would have without the rewriting.
func selectError(err error) error {
	var s *selection
	var exec template.ExecError
	if !errors.As(err, &s) || !errors.As(err, &exec) {
		return err
	}
	head, _, _ := strings.Cut(exec.Error(), " at <")
	return template.ExecError{Name: exec.Name, Err: fmt.Errorf("%s at <%s>: %w", head, s.node, s.err)}
}

// templateSelect returns the field, map element or result of the method called name of a value. node is the text of the
// whole selection.
func (m *Machine) templateSelect(recv any, node, name string, args ...any) (any, error) {
	out, err := m.selectMember(m.unwrap(recv), name, args)
	if err != nil {
		return nil, &selection{node, err}
	}
	return m.openPlain(out), nil
}

// openPlain returns what a wrapper holds whose type has neither a name nor declared types in it but interfaces: templates print it as
// they would without, and their functions know it.
func (m *Machine) openPlain(v any) any {
	d := m.ofValue(reflect.ValueOf(v))
	if d == nil || d.box == nil || !d.nameless() || d.shape.boxes() {
		return v
	}
	return reflect.ValueOf(v).Field(0).Interface()
}

func (m *Machine) selectMember(recv any, name string, args []any) (any, error) {
	v := reflect.ValueOf(recv)
	if !v.IsValid() {
		return nil, fmt.Errorf("nil data; no entry for key %q", name)
	}
	if f, ok := m.templateMethod(v, name); ok {
		return m.callTemplateMethod(f, name, args)
	}
	t := v.Type()
	if d := m.of(t); d != nil && d.box != nil {
		v = v.Field(0)
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, fmt.Errorf("nil pointer evaluating %s.%s", m.typeName(t), name)
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if f, ok := m.templateField(v, name); ok {
			if len(args) > 0 {
				return nil, fmt.Errorf("%s has arguments but cannot be invoked as function", name)
			}
			return f.Interface(), nil
		}
	case reflect.Map:
		key := reflect.ValueOf(name)
		if key.CanConvert(v.Type().Key()) {
			if elem := v.MapIndex(key.Convert(v.Type().Key())); elem.IsValid() {
				return elem.Interface(), nil
			}
			return nil, nil
		}
	}
	return nil, fmt.Errorf("can't evaluate field %s in type %s", name, m.typeName(t))
}

// templateMethod finds a method of a value or of a pointer to it, as a template does with the elements of a slice.
func (m *Machine) templateMethod(v reflect.Value, name string) (reflect.Value, bool) {
	if f, ok := m.find(v, name); ok {
		return f, true
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		return reflect.Value{}, false
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return m.find(p, name)
}

func (m *Machine) callTemplateMethod(f reflect.Value, name string, args []any) (any, error) {
	t := f.Type()
	if len(args) != t.NumIn() && !(t.IsVariadic() && len(args) >= t.NumIn()-1) {
		return nil, fmt.Errorf("wrong number of args for %s: want %d got %d", name, t.NumIn(), len(args))
	}
	if n := t.NumOut(); n != 1 && !(n == 2 && t.Out(1) == errorInterface) {
		return nil, fmt.Errorf("can't call method/function %q with %d results", name, n)
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		want := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			want = want.Elem()
		}
		v := reflect.ValueOf(a)
		switch {
		case !v.IsValid():
			v = reflect.Zero(want)
		case v.Type().AssignableTo(want):
		case (v.CanInt() || v.CanFloat()) && v.CanConvert(want) && want.Kind() != reflect.String:
			v = v.Convert(want)
		default:
			return nil, fmt.Errorf("wrong type for value; expected %s; got %s", m.typeName(want), m.typeName(v.Type()))
		}
		in[i] = v
	}
	out := f.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, fmt.Errorf("error calling %s: %w", name, out[1].Interface().(error))
	}
	return out[0].Interface(), nil
}

// templateField finds an exported field, also of an embedded struct.
func (m *Machine) templateField(v reflect.Value, name string) (reflect.Value, bool) {
	d := m.of(v.Type())
	if d == nil {
		f := v.FieldByName(name)
		return f, f.IsValid() && f.CanInterface()
	}
	for i, field := range d.fields {
		if field == name && name[0] >= 'A' && name[0] <= 'Z' {
			return v.Field(i), true
		}
	}
	for i, embedded := range d.embedded {
		if e := reflect.Indirect(v.Field(i)); embedded && e.IsValid() && e.Kind() == reflect.Struct {
			if f, ok := m.templateField(e, name); ok {
				return f, true
			}
		}
	}
	return reflect.Value{}, false
}

// rewrite returns a copy of a template with all selections made by templateSelect.
func rewrite(t *parse.Tree) *parse.Tree {
	c := t.Copy()
	r := rewriter{c}
	r.list(c.Root)
	return c
}

type rewriter struct{ tree *parse.Tree }

func (r rewriter) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		r.node(n)
	}
}

func (r rewriter) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ActionNode:
		r.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			r.then(n.Pipe, templateShow)
		}
	case *parse.IfNode:
		r.branch(&n.BranchNode, templateOpen)
	case *parse.RangeNode:
		r.branch(&n.BranchNode, templateOpen)
	case *parse.WithNode:
		r.branch(&n.BranchNode, "")
	case *parse.TemplateNode:
		if n.Pipe != nil {
			r.pipe(n.Pipe)
		}
	}
}

func (r rewriter) branch(n *parse.BranchNode, then string) {
	r.pipe(n.Pipe)
	if then != "" && (len(n.Pipe.Decl) == 0 || n.NodeType == parse.NodeRange) {
		r.then(n.Pipe, then)
	}
	r.list(n.List)
	r.list(n.ElseList)
}

func (r rewriter) then(p *parse.PipeNode, function string) {
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Pos, Args: []parse.Node{r.function(function, p.Pos)}})
}

func (r rewriter) function(name string, pos parse.Pos) parse.Node {
	return parse.NewIdentifier(name).SetPos(pos).SetTree(r.tree)
}

func (r rewriter) pipe(p *parse.PipeNode) {
	for _, c := range p.Cmds {
		for i := 1; i < len(c.Args); i++ {
			if call, ok := r.selects(c.Args[i]); ok {
				c.Args[i] = r.inPipe(call, c.Args[i].Position(), p)
			} else if inner, ok := c.Args[i].(*parse.PipeNode); ok {
				r.pipe(inner)
			}
		}
		if inner, ok := c.Args[0].(*parse.PipeNode); ok {
			r.pipe(inner)
		} else if call, ok := r.selects(c.Args[0]); ok {
			c.Args = append(call, c.Args[1:]...)
		}
	}
}

// selects returns the call that takes the place of a selection.
func (r rewriter) selects(n parse.Node) (call []parse.Node, ok bool) {
	var x parse.Node
	var names []string
	switch n := n.(type) {
	case *parse.FieldNode:
		x, names = &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, n.Ident
	case *parse.VariableNode:
		names = n.Ident[1:]
		head := *n
		head.Ident = n.Ident[:1]
		x = &head
	case *parse.ChainNode:
		x, names = n.Node, n.Field
		if inner, ok := x.(*parse.PipeNode); ok {
			r.pipe(inner)
		}
	}
	for i, name := range names {
		call = []parse.Node{r.function(templateSelect, n.Position()), x, text(n.String(), n.Position()), text(name, n.Position())}
		if i < len(names)-1 {
			x = r.inPipe(call, n.Position(), nil)
		}
	}
	return call, len(names) > 0
}

func text(s string, pos parse.Pos) parse.Node {
	return &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(s), Text: s}
}

func (r rewriter) inPipe(call []parse.Node, pos parse.Pos, around *parse.PipeNode) parse.Node {
	p := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{{NodeType: parse.NodeCommand, Pos: pos, Args: call}}}
	if around != nil {
		p.Line = around.Line
	}
	return p
}
