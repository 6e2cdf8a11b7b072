package eval_test

import (
	"strings"
	"testing"
)

// TestConstantAgain: who declares a constant again is told which functions keep the old one.
func TestConstantAgain(t *testing.T) {
	once(t)
	if tools(t) == nil {
		t.Skip("who mentions a constant is known of compiled cells")
	}
	n := newNotebook(t)
	n.ok("const limit = 3\nfunc f() int { return limit }\ntype T int\nfunc (T) M() int { return limit }\nfunc g() int { limit := 1; return limit }", "const limit = 3")
	if got := n.stream("stderr"); got != "" {
		t.Errorf("of the same constant: %q", got)
	}
	n.ok("func f() int { return limit }", "const limit = 5")
	if got := n.stream("stderr"); !strings.Contains(got, "keep the old constant limit, which is 3: f (cell 3); run their cells again") {
		t.Errorf("got %q", got)
	}
}
