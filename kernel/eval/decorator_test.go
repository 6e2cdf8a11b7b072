package eval_test

import (
	"strings"
	"testing"
)

// TestFunctionValues: a value that is a function of a name means what the name means now. One that the new function uses stays what it was.
func TestFunctionValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []string
		want  string // output
		notes string
	}{
		{"a variable and a table", []string{"func g() string { return \"g1\" }\nsaved := g\ntable := map[string]func() string{\"g\": g}", "func g() string { return \"g2\" }", "fmt.Print(saved(), table[\"g\"](), g())"}, "g2g2g2", ""},
		{"a literal", []string{"func g() string { return \"g1\" }\nlit := func() string { return \"l\" + g() }", "func g() string { return \"g2\" }", "fmt.Print(lit())"}, "lg2", ""},
		{"another signature", []string{"func g() string { return \"g1\" }\nsaved := g", "func g(n int) string { return \"g2\" }", "fmt.Print(saved(), g(1))"}, "g1g2", ""},
		{"a decorator", []string{"func g() string { return \"g1\" }", "old := g", "func g() string { return \"<\" + old() + \">\" }", "fmt.Print(g(), old())"}, "<g1>g1", ""},
		{"a decorator in a table", []string{"func g() string { return \"g1\" }", "table := map[string]func() string{\"g\": g}", "func g() string { return \"<\" + table[\"g\"]() + \">\" }", "fmt.Print(g())"}, "<g1>", ""},
		{"two of them", []string{"func g() string { return \"g1\" }", "a := g", "func g() string { return \"<\" + a() + \">\" }", "b := g", "func g() string { return \"(\" + b() + \")\" }", "fmt.Print(g(), a(), b())"}, "(<g1>)g1<g1>", ""},
		{"who called it", []string{"func g() string { return \"g1\" }\nfunc caller() string { return g() }", "old := g", "func g() string { return \"<\" + old() + \">\" }", "fmt.Print(g(), caller())"}, "<g1>g1",
			"functions of earlier cells that call g keep the old one, since the new one uses old, which holds g as it was: caller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if tools(t) == nil && strings.Contains(c.name, "decorator") || tools(t) == nil && len(c.cells) > 5 || tools(t) == nil && c.notes != "" {
				t.Skip("an interpreted function value does not tell which function it is")
			}
			n := newNotebook(t)
			n.ok(c.cells...)
			if got := n.stream("stdout"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := n.stream("stderr"); !strings.Contains(got, c.notes) {
				t.Errorf("got %q, want %q", got, c.notes)
			}
		})
	}
}
