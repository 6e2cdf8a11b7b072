package check

import (
	"slices"
	"strings"
	"testing"
)

// TestAskWaiting completes and explains names whose declarations wait.
func TestAskWaiting(t *testing.T) {
	s := session(t, "// fold puts it together.\nfunc fold(n int) int {\n\treturn unite(n)\n}\ntype Fork struct{ m *Tine }")
	code, cursor := ask(t, "x := fo‸")
	if got, want := texts(s.Complete(code, cursor)), []string{"fold", "for"}; !slices.Equal(got[:2], want) {
		t.Errorf("got %q, want %q", got, want)
	}
	code, cursor = ask(t, "x := fo‸ld(1)")
	in := s.Inspect(code, cursor, 1)
	text, _ := in.Data["text/plain"].(string)
	if want := "func fold(n int) int\ncell 1 declares it, and it waits for unite\n\nfold puts it together.\n\nfunc fold(n int) int {\n\treturn unite(n)\n}"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	code, cursor = ask(t, "var f For‸k")
	text, _ = s.Inspect(code, cursor, 0).Data["text/plain"].(string)
	if want := "type Fork struct{ m *Tine }\ncell 1 declares it, and it waits for Tine"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestMisspelled tells names that are meant to be another one from those that a later cell declares.
func TestMisspelled(t *testing.T) {
	for pair, want := range map[string]bool{
		"cuont count": true, "totl total": true, "totall total": false, "tottal total": true, "strng string": true, "strngs strings": true, "standerdize standardize": true, "ocunt count": true, "coutn count": true,
		"g f": false, "sum num": false, "Area area": false, "area Area": false, "step2 step1": false, "step step1": false, "fold unite": false, "ping pong": false, "unit uint": false,
		"items item": false, "item items": false, "getWidth setWidth": false, "minWidth maxWidth": false, "fieldA fieldB": false, "encode decode": false, "isEven isOdd": false, "": false,
	} {
		name, known, _ := strings.Cut(pair, " ")
		if got := misspelled(name, known); got != want {
			t.Errorf("%s: got %v, want %v", pair, got, want)
		}
	}
}

// TestMarkWaiting takes back what waits with the rest of the scope.
func TestMarkWaiting(t *testing.T) {
	s := session(t, "func f() int { return g() + 1 }")
	undo, _ := s.Mark()
	c, err := s.Check("cell 2", "func g() string { return \"\" }\nfunc k() int { return l() }")
	if err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.Commit(c)
	s.Unlock()
	if woken, faults := s.Wake(c); woken != nil || len(faults) != 1 || len(s.Waiting()) != 2 {
		t.Errorf("got %v, %v and %v", woken, faults, s.Waiting())
	}
	undo()
	if list := s.Waiting(); len(list) != 1 || list[0].Fault != nil || list[0].why(list) != "cell 1 declares it, and it waits for g" {
		t.Errorf("got %v", list)
	}
}
