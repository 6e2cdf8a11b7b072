package eval

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"cancha/kernel/eval/magic"
)

// sqlOptions are what stands behind %%sql.
type sqlOptions struct {
	name    string // of the variable that takes the result; empty: none
	session string // a variable; empty: the only one there is
}

// readSQL reads the arguments of %%sql.
func readSQL(c *magic.Command) (o sqlOptions, err error) {
	words := strings.Fields(c.Args)
	if len(words) > 0 && words[0] == "-o" {
		if len(words) == 1 {
			return o, fail(c, "%%%%sql: -o needs the name of a variable")
		}
		o.name, words = words[1], words[2:]
	}
	if len(words) > 1 {
		spec, _ := magic.Lookup(c.Name)
		return o, fail(c, "usage: %s", spec.Usage)
	}
	o.session = strings.Join(words, "")
	for _, name := range []string{o.name, o.session} {
		if name != "" && !token.IsIdentifier(name) || name == "_" {
			return o, fail(c, "%%%%sql: %q is no name of a variable", name)
		}
	}
	return o, nil
}

// sqlStep is the Go that a %%sql cell means: the session's SQL with the text, whose rows are shown.
func (s *steps) sqlStep(c *magic.Command) (magic.Step, error) {
	o, err := readSQL(c)
	if err != nil {
		return magic.Step{}, err
	}
	query := strings.TrimSpace(s.cell.Body)
	if query == "" {
		return magic.Step{}, fail(c, "%%%%sql: there is no statement below it")
	}
	result, err := s.sqlSession(c, &o)
	if err != nil {
		return magic.Step{}, err
	}
	value, code := fmt.Sprintf("must(%s.SQL(context.Background(), %s))", o.session, strconv.Quote(query)), ""
	if o.name != "" {
		value, code = o.name, fmt.Sprintf("%s := %s\n", o.name, value)
	}
	if hasMethod(result, "Show", showsRows) {
		value = fmt.Sprintf("check(%s.Show(context.Background()))", value)
	}
	return magic.Step{Go: code + value}, nil
}

// sqlSession finds the session, and what its SQL returns.
func (s *steps) sqlSession(c *magic.Command, o *sqlOptions) (result types.Type, err error) {
	found := s.sqlSessions()
	if o.session == "" {
		switch len(found) {
		case 0:
			return nil, fail(c, "%%%%sql: no cell has made a session that it can ask. For Spark: import \"cancha/spark\", and then s := must(spark.Connect(context.Background(), \"sc://host:15002\"))")
		case 1:
			o.session = found[0]
		default:
			return nil, fail(c, "%%%%sql: which of the sessions %s? Write %%%%sql %s", strings.Join(found, ", "), found[0])
		}
	}
	v := s.scope.Lookup(o.session)
	if v == nil {
		return nil, fail(c, "%%%%sql: there is no variable %s", o.session)
	}
	result, ok := runsSQL(v)
	if !ok {
		return nil, fail(c, "%%%%sql: %s has no method SQL(ctx, query); a session of Spark has", o.session)
	}
	return result, nil
}

// sqlSessions are the variables that answer SQL, in order.
func (p *Program) sqlSessions() (names []string) {
	for _, d := range p.scope.Declared() {
		if _, ok := runsSQL(p.scope.Lookup(d.Name)); ok {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// runsSQL reports whether a variable has a method SQL(context.Context, string, ...any) (T, error), and T.
func runsSQL(o types.Object) (result types.Type, ok bool) {
	v, isVar := o.(*types.Var)
	if !isVar {
		return nil, false
	}
	ok = hasMethod(v.Type(), "SQL", func(f *types.Signature) bool {
		p, r := f.Params(), f.Results()
		if p.Len() != 3 || !f.Variadic() || r.Len() != 2 || !isContext(p.At(0)) || !isError(r.At(1)) || !types.Identical(p.At(1).Type(), types.Typ[types.String]) {
			return false
		}
		result = r.At(0).Type()
		return true
	})
	return result, ok
}

// showsRows is the form of Show(context.Context) error.
func showsRows(f *types.Signature) bool {
	return f.Params().Len() == 1 && isContext(f.Params().At(0)) && f.Results().Len() == 1 && isError(f.Results().At(0))
}

func hasMethod(t types.Type, name string, fits func(*types.Signature) bool) bool {
	m, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	f, ok := m.(*types.Func)
	return ok && fits(f.Signature())
}

func isContext(v *types.Var) bool { return types.TypeString(v.Type(), nil) == "context.Context" }

func isError(v *types.Var) bool {
	return types.Identical(v.Type(), types.Universe.Lookup("error").Type())
}
