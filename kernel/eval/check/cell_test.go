package check

import (
	"testing"
)

func TestX(t *testing.T) {
	s := NewScope(nil, nil)
	for _, code := range []string{"x := 1", "x := x + 1; func f() int { return y }; y := x; f()", "var a = b + 1\nvar b = 2", "a := nope()\n\t  b := 1 +", "foo(", "type P struct{}\np := P{}", "func (p P) M() int { return 1 }\np.M()", "x, y := 1\nz := bar"} {
		c, err := s.Check("cell 1", code)
		if err != nil {
			t.Log(err)
			for _, l := range err.(*Error).Lines() {
				t.Log(l)
			}
			continue
		}
		s.Lock()
		s.Commit(c)
		s.Unlock()
		for _, o := range c.Objects {
			t.Log(o)
		}
	}
}
