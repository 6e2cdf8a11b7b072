package eval_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestTypesAreOne: a type without a name is the same one in interpreted and compiled cells, whoever has had it first.
func TestTypesAreOne(t *testing.T) {
	if tools(t) == nil {
		t.Skip("is about both kinds of cells")
	}
	both := []string{ // N is another number each time: a process keeps the types that it has seen
		"[N]int16", "[][N]map[string]uint16", "map[[N]int][]map[string]uint8", "*[N]*uint16", "chan<- [N]bool", "func([N]int8, ...[N]string) error",
		"struct{ X, Y [N]int; Name string }", "[]struct{ X [N]int `json:\"x\"` }", "[N]Kind", "map[[N]int]Kind", "[]map[string]*[N]Kind", "func(Kind, ...[N]Kind) *Kind",
		"struct{ A Kind; B [N]int }", "func(io.Writer, string, ...any) (int, error)", // the program itself has the last one
	}
	compiled := []string{ // the interpreter would have others, or has none
		"struct{ x, y [N]int }", "map[string]struct{ x [N]int }", "[N]interface{ Get() int }", "[N]func() List[Kind]", "map[[N]List[int]]any", "struct{ Kind; N [N]int }",
		"struct{ *Kind; n [N]int }",
	}
	for i, row := range []struct {
		types         []string
		first, second string
	}{
		{both, "%%interp\n", "%%native\n"}, {both, "%%native\n", "%%interp\n"}, {both, "%%native\n", "%%native\n"}, {both, "%%interp\n", "%%interp\n"},
		{compiled, "", "%%native\n"}, {compiled, "%%native\n", ""}, {compiled, "", ""},
	} {
		t.Run(fmt.Sprintf("%.8s and %.8s", row.first, row.second), func(t *testing.T) {
			each := func(form string) string { // TYPE is the type, I its number
				var text strings.Builder
				for j, typ := range row.types {
					typ = strings.ReplaceAll(typ, "[N]", fmt.Sprintf("[%d]", 1000+100*i+j))
					text.WriteString(strings.NewReplacer("TYPE", typ, "I", fmt.Sprint(j)).Replace(form))
				}
				return text.String()
			}
			n := newNotebook(t)
			n.ok("type Kind struct{ N int }\nfunc (k Kind) Get() int { return k.N }\ntype List[E any] struct{ v *E }",
				row.first+each("var aI any = *new(TYPE)\ngetI := func() any { return *new(TYPE) }\n"),
				row.second+each("isI := func(v any) string {\n\tswitch v.(type) {\n\tcase int, string, []int:\n\t\treturn \"other\"\n\tcase TYPE:\n\t\treturn \"yes\"\n\t}\n\treturn \"no\"\n}\n"+
					"_, sameI := aI.(TYPE)\nvar bI any = *new(TYPE)\nfmt.Println(isI(aI), sameI, isI(getI()))\n"),
				row.first+each("_, backI := bI.(TYPE)\n_, ownI := getI().(TYPE)\nfmt.Println(backI, ownI, isI(*new(TYPE)))\n"),
				"%%native\n"+each("func laterI(v any) bool { _, ok := v.(TYPE); return ok }\nfmt.Println(laterI(aI), laterI(bI), isI(aI), reflect.TypeOf(aI) == reflect.TypeOf(bI))\n"),
				row.second+each("fmt.Println(laterI(aI), laterI(bI), isI(aI))\n"))
			want := ""
			for _, line := range []string{"yes true yes\n", "true true yes\n", "true true yes true\n", "true true yes\n"} {
				want += strings.Repeat(line, len(row.types))
			}
			if got := n.stream("stdout"); got != want {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// TestTypesWithAnotherMethod: types that are made of one which gets a method are still found, by assertions and by package reflect.
func TestTypesWithAnotherMethod(t *testing.T) {
	if tools(t) == nil {
		t.Skip("is about compiled cells")
	}
	n := newNotebook(t)
	n.ok("type Kind struct{ N int }",
		`var a, b, c any = []Kind{{1}}, map[string]Kind{"a": {2}}, (func(Kind) int)(nil)
names := map[reflect.Type]string{reflect.TypeOf(Kind{}): "kind", reflect.TypeFor[[]Kind](): "kinds", reflect.TypeFor[*Kind](): "pointer"}
var described any = reflect.TypeOf(Kind{})`,
		"func (k Kind) Twice() int { return 2 * k.N }",
		`%%native
func look() {
	x, ok1 := a.([]Kind)
	y, ok2 := b.(map[string]Kind)
	_, ok3 := c.(func(Kind) int)
	fmt.Println(ok1, ok2, ok3, len(x), len(y))
}
look()
fmt.Println(names[reflect.TypeOf(Kind{})], names[reflect.TypeFor[[]Kind]()], names[reflect.TypeFor[*Kind]()], len(names), described == any(reflect.TypeOf(Kind{})))`)
	if got, want := n.stream("stdout"), "true true true 1 1\nkind kinds pointer 3 true\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}
