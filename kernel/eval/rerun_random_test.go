package eval_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRunAgainAtRandom declares types and their methods again in random sessions, and beside them functions, aliases, constants and init
// functions, and asks values of all ages for their methods. A small model tells what each has to answer. CANCHA_SEED begins with another seed.
func TestRunAgainAtRandom(t *testing.T) {
	longCompiled(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	first, _ := strconv.ParseUint(os.Getenv("CANCHA_SEED"), 10, 64)
	sessions := uint64(20)
	if tools(t) != nil {
		sessions = 3 // a cell takes its compiler's time
	}
	for seed := first; seed < first+sessions; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m, n := newTypesModel(seed, tools(t) != nil), newNotebook(t)
			m.start(t, n)
			for range 14 {
				m.step(t, n)
			}
			m.ask(t, n)
		})
	}
}

// typesModel is what a session has declared.
type typesModel struct {
	r      *rand.Rand
	types  []*typeModel
	values []*typeModel // types of the variables v0, v1, …, which also are in the map all, and as pointers in p0, p1, …
	cells  []string
	inits  int // runs of init functions
}

type typeModel struct {
	spec, receiver string
	value          string         // the type of its values
	methods        map[string]int // name → what it adds
	beside         map[string]bool
	callers        []*caller
	others         *others // nil for a type without any
}

// others are a constructor, a constant, a function that uses both, an alias and a function that uses it.
type others struct {
	adds, constant int  // now
	maker, kept    int  // what the function adds
	generic, keeps bool // keeps: the function keeps the constructor that it was declared with
}

// caller is a function of an earlier cell. It follows a method until the type has it no more.
type caller struct {
	name, method string
	adds         int
	left         bool
}

var methodNames = []string{"A", "B", "C"}

func newTypesModel(seed uint64, compiled bool) *typesModel {
	return &typesModel{r: rand.New(rand.NewPCG(seed, 2)), types: []*typeModel{
		{spec: "type P struct{ N int }", receiver: "P", value: "P", methods: map[string]int{}, others: &others{}},
		{spec: "type L[T any] struct { N int; next *L[T]; v []T }", receiver: "L[T]", value: "L[string]", methods: map[string]int{}, others: &others{generic: true, keeps: compiled}},
		{spec: "type Q struct{ P }", receiver: "*Q", value: "Q", methods: map[string]int{}},
	}}
}

// start declares all types.
func (m *typesModel) start(t *testing.T, n *notebook) {
	m.run(t, n, "all, inits := map[string]any{}, 0")
	for _, typ := range m.types {
		m.run(t, n, m.declare(typ)+m.beside(typ, 1))
		m.value(t, n, typ)
	}
}

// step runs a random cell.
func (m *typesModel) step(t *testing.T, n *notebook) {
	typ := m.types[m.r.IntN(len(m.types)-1)] // Q has those of P
	switch m.r.IntN(10) {
	case 0, 1:
		m.run(t, n, m.declare(typ))
	case 2, 3:
		m.run(t, n, m.declare(typ)+m.beside(typ, 2))
	case 4:
		if r := n.run(typ.spec + "\nfunc (x " + typ.receiver + ") A() int { return nope }"); r.Err == nil {
			t.Fatal("nope is known")
		}
	case 5, 6:
		m.run(t, n, m.method(typ, methodNames[m.r.IntN(3)])+m.beside(typ, 4))
	case 7:
		m.caller(t, n, typ)
	case 8:
		m.run(t, n, m.types[2].spec+m.beside(typ, 2))
	case 9:
		m.value(t, n, m.types[m.r.IntN(len(m.types))])
	}
	if m.r.IntN(3) == 0 {
		m.ask(t, n)
	}
}

func (m *typesModel) run(t *testing.T, n *notebook, code string) {
	t.Helper()
	m.cells = append(m.cells, code)
	if r := n.run(code); r.Err != nil {
		t.Fatalf("%s\nthe cells:\n%s", strings.Join(r.Err.Traceback, "\n"), strings.Join(m.cells, "\n---\n"))
	}
}

// declare is a cell with a type and some methods. Those that it declared before and does not now are gone.
func (m *typesModel) declare(typ *typeModel) string {
	before, cell := typ.beside, typ.spec
	typ.beside = map[string]bool{}
	for _, name := range methodNames {
		if typ.receiver != "*Q" && m.r.IntN(2) == 0 {
			typ.beside[name] = true
			cell += "\n" + m.method(typ, name)
		}
	}
	for name := range before {
		if typ.beside[name] {
			continue
		}
		delete(typ.methods, name)
		for _, c := range typ.callers {
			c.left = c.left || c.method == name
		}
	}
	return cell
}

// beside declares, each with a chance of one in many, what stands beside a type.
func (m *typesModel) beside(typ *typeModel, many int) (cell string) {
	o := typ.others
	if o == nil {
		return ""
	}
	is := func() bool { return m.r.IntN(many) == 0 }
	name, params := strings.TrimSuffix(typ.receiver, "[T]"), ""
	if o.generic {
		params = "[T any]"
	}
	if is() {
		o.adds = m.r.IntN(3)
		if !o.keeps {
			o.maker = o.adds
		}
		cell += fmt.Sprintf("\nfunc New%s%s(n int) %s { return %s{N: n + %d} }", name, params, typ.receiver, typ.receiver, o.adds)
	}
	if is() {
		o.constant = m.r.IntN(3)
		cell += fmt.Sprintf("\nconst K%s = %d", name, 1000*o.constant)
	}
	if is() {
		o.maker, o.kept = o.adds, o.constant
		cell += fmt.Sprintf("\nfunc use%s(n int) int { return New%s(n).N + K%s }", name, typ.value, name)
	}
	if is() {
		cell += fmt.Sprintf("\ntype %ss = []%s\nfunc first%s(list %ss) any { return list[0] }", name, typ.value, name, name)
	}
	if is() {
		m.inits++
		cell += fmt.Sprintf("\nfunc init() { inits += %s{N: 1}.N }", typ.value)
	}
	return cell
}

// method declares a method, often as it is.
func (m *typesModel) method(typ *typeModel, name string) string {
	adds, has := typ.methods[name]
	if !has || m.r.IntN(2) == 0 {
		adds = m.r.IntN(90)
	}
	typ.methods[name] = adds
	for _, c := range typ.callers {
		if c.method == name && !c.left {
			c.adds = adds
		}
	}
	return fmt.Sprintf("func (x %s) %s() int { return x.N + %d }", typ.receiver, name, adds)
}

func (m *typesModel) value(t *testing.T, n *notebook, typ *typeModel) {
	i := len(m.values)
	m.values = append(m.values, typ)
	m.run(t, n, fmt.Sprintf("var v%d %s\nv%d.N = %d\nvar p%d any = &v%d\nall[\"v%d\"] = v%d", i, typ.value, i, 100*i, i, i, i, i))
}

// caller declares a function that calls a method.
func (m *typesModel) caller(t *testing.T, n *notebook, typ *typeModel) {
	for _, name := range methodNames {
		if adds, ok := typ.methods[name]; ok {
			c := &caller{fmt.Sprintf("f%d", len(m.cells)), name, adds, false}
			typ.callers = append(typ.callers, c)
			m.run(t, n, fmt.Sprintf("func %s(x %s) int { return x.%s() }", c.name, typ.value, name))
		}
	}
}

// ask asks all values for all methods, and calls the functions.
func (m *typesModel) ask(t *testing.T, n *notebook) {
	var cell, want strings.Builder
	cell.WriteString("ask := func(x any) {\n")
	for _, name := range methodNames {
		fmt.Fprintf(&cell, "\tif x, ok := x.(interface{ %s() int }); ok {\n\t\tfmt.Print(%q, x.%s(), \" \")\n\t}\n", name, name, name)
	}
	cell.WriteString("\tswitch x.(type) {\n")
	for _, typ := range m.types {
		fmt.Fprintf(&cell, "\tcase %s, *%s:\n\t\tfmt.Println(%q)\n", typ.value, typ.value, typ.value)
	}
	cell.WriteString("\t}\n}\n")
	for i, typ := range m.values {
		answer := ""
		for _, name := range methodNames {
			if adds, ok := m.methodsOf(typ)[name]; ok {
				answer += fmt.Sprint(name, 100*i+adds, " ")
			}
		}
		fmt.Fprintf(&cell, "ask(all[\"v%d\"]); ask(p%d); ask(v%d)\n", i, i, i)
		want.WriteString(strings.Repeat(answer+typ.value+"\n", 3))
		for _, c := range typ.callers {
			fmt.Fprintf(&cell, "fmt.Println(%q, %s(v%d))\n", c.name, c.name, i)
			fmt.Fprintln(&want, c.name, 100*i+c.adds)
		}
	}
	m.askOthers(&cell, &want)
	before := len(n.stream("stdout"))
	m.run(t, n, cell.String())
	if got := n.stream("stdout")[before:]; got != want.String() {
		t.Fatalf("%s\nthe cells:\n%s", firstDifference(got, want.String()), strings.Join(m.cells, "\n---\n"))
	}
}

// askOthers asks what stands beside the types.
func (m *typesModel) askOthers(cell, want *strings.Builder) {
	fmt.Fprintln(cell, "fmt.Println(inits)")
	fmt.Fprintln(want, m.inits)
	for _, typ := range m.types {
		o := typ.others
		if o == nil {
			continue
		}
		name := strings.TrimSuffix(typ.receiver, "[T]")
		fmt.Fprintf(cell, "fmt.Println(use%s(10), New%s(20).N, K%s)\nask(first%s(%ss{{N: 30}}))\n", name, typ.value, name, name, name)
		fmt.Fprintln(want, 10+o.maker+1000*o.kept, 20+o.adds, 1000*o.constant)
		for _, method := range methodNames {
			if adds, ok := typ.methods[method]; ok {
				fmt.Fprint(want, method, 30+adds, " ")
			}
		}
		fmt.Fprintln(want, typ.value)
	}
}

// methodsOf are those of a type, or of the one that it embeds.
func (m *typesModel) methodsOf(typ *typeModel) map[string]int {
	if typ.value == "Q" {
		return m.types[0].methods
	}
	return typ.methods
}
