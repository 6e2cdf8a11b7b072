package check

import (
	"strings"
	"testing"
)

// TestJumps refuses a goto that would have to make a variable of the cell's block anew, where that shows.
func TestJumps(t *testing.T) {
	const loop = "var ps []*int\ni := 0\nL: x := i\ni++\n"
	const jump = "\nif i < 3 { goto L }"
	tests := []struct {
		name, code string
		refused    bool
	}{
		{"pointer", loop + "ps = append(ps, &x)" + jump, true},
		{"literal", loop + "f := func() int { return x }\nprintln(f())" + jump, true},
		{"var", "i := 0\nvar f func()\nL:\nvar x int\nf = func() { x++ }\ni++" + jump + "\nf()", true},
		{"array", "i := 0\nL: x := [3]int{i}\ns := x[:]\ni++\nprintln(s)" + jump, true},
		{"method", "type T int\nfunc (t *T) M() func() { return nil }\ni := 0\nL: x := T(i)\nf := x.M()\ni++\nprintln(f)" + jump, true},
		{"mentioned by a function", "var ps []*int\ni := 0\nL: i++\nx := i\nps = append(ps, &x)" + jump + "\nfunc f() int { return x }", true},
		{"nobody keeps it", loop + "println(x)" + jump, false},
		{"declared in front", "x := 0\np := &x\ni := 0\nL: i++\n*p++" + jump, false},
		{"declared behind it", "i := 0\nL: i++" + jump + "\nx := 1\np := &x\nprintln(p)", false},
		{"block of its own", "{\ni := 0\nL: x := i\np := &x\ni++\nprintln(p)" + jump + "\n}", false},
		{"function literal", "f := func() {\ni := 0\nL: x := i\np := &x\ni++\nprintln(p)" + jump + "\n}\nf()", false},
		{"forward", "i := 0\nif i < 3 { goto L }\ni++\nL: i++", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := session(t).Check("cell 1", tt.code)
			if refused := err != nil && strings.Contains(err.Error(), "a new variable"); refused != tt.refused || err != nil && !refused {
				t.Errorf("got %v, want it refused: %v", err, tt.refused)
			}
		})
	}
}

// TestLabelledDeclarations: what a label hides from the session is refused, behind several labels too.
func TestLabelledDeclarations(t *testing.T) {
	for code, refused := range map[string]bool{
		"L: type Q struct{ x int }\nq := Q{1}": true, "L: M: type Q int": true, "L: const k = 1": true,
		"L: ;\ntype Q struct{ x int }\nq := Q{1}": false, "L: var v int\nv++": false, "L: for { break L }": false,
	} {
		_, err := session(t).Check("cell", code)
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "behind a label") {
			t.Errorf("%q: got %v", code, err)
		}
	}
}
