package eval_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRunAgainAtRandom declares types and their methods again in random sessions, and asks values of all ages for their methods. A small model
// tells what each has to answer. CANCHA_SEED begins with another seed.
func TestRunAgainAtRandom(t *testing.T) {
	first, _ := strconv.ParseUint(os.Getenv("CANCHA_SEED"), 10, 64)
	sessions := uint64(20)
	if tools(t) != nil {
		sessions = 3 // a cell takes its compiler's time
	}
	for seed := first; seed < first+sessions; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m, n := newTypesModel(seed), newNotebook(t)
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
}

type typeModel struct {
	spec, receiver string
	value          string         // the type of its values
	methods        map[string]int // name → what it adds
	beside         map[string]bool
	callers        []*caller
}

// caller is a function of an earlier cell. It follows a method until the type has it no more.
type caller struct {
	name, method string
	adds         int
	left         bool
}

var methodNames = []string{"A", "B", "C"}

func newTypesModel(seed uint64) *typesModel {
	return &typesModel{r: rand.New(rand.NewPCG(seed, 2)), types: []*typeModel{
		{spec: "type P struct{ N int }", receiver: "P", value: "P", methods: map[string]int{}},
		{spec: "type L[T any] struct { N int; next *L[T]; v []T }", receiver: "L[T]", value: "L[string]", methods: map[string]int{}},
		{spec: "type Q struct{ P }", receiver: "*Q", value: "Q", methods: map[string]int{}},
	}}
}

// start declares all types.
func (m *typesModel) start(t *testing.T, n *notebook) {
	m.run(t, n, "all := map[string]any{}")
	for _, typ := range m.types {
		m.run(t, n, m.declare(typ))
		m.value(t, n, typ)
	}
}

// step runs a random cell.
func (m *typesModel) step(t *testing.T, n *notebook) {
	typ := m.types[m.r.IntN(len(m.types)-1)] // Q has those of P
	switch m.r.IntN(10) {
	case 0, 1, 2, 3:
		m.run(t, n, m.declare(typ))
	case 4:
		if r := n.run(typ.spec + "\nfunc (x " + typ.receiver + ") A() int { return nope }"); r.Err == nil {
			t.Fatal("nope is known")
		}
	case 5, 6:
		m.run(t, n, m.method(typ, methodNames[m.r.IntN(3)]))
	case 7:
		m.caller(t, n, typ)
	case 8:
		m.run(t, n, m.types[2].spec)
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
	before := len(n.stream("stdout"))
	m.run(t, n, cell.String())
	if got := n.stream("stdout")[before:]; got != want.String() {
		t.Fatalf("%s\nthe cells:\n%s", firstDifference(got, want.String()), strings.Join(m.cells, "\n---\n"))
	}
}

// methodsOf are those of a type, or of the one that it embeds.
func (m *typesModel) methodsOf(typ *typeModel) map[string]int {
	if typ.value == "Q" {
		return m.types[0].methods
	}
	return typ.methods
}
