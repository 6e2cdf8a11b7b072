package interp_test

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"cancha/kernel/eval/interp"
	"cancha/kernel/eval/lower"
)

// TestLoad adds units to one program: a later one sees what an earlier one declared, and one that is refused leaves the
// program as it was.
func TestLoad(t *testing.T) {
	var said []string
	e, err := interp.New(map[string]map[string]reflect.Value{"strings/strings": {"ToUpper": reflect.ValueOf(strings.ToUpper)}},
		map[string]reflect.Value{"Say": reflect.ValueOf(func(s string) { said = append(said, s) })}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	load := func(source, entry string, imports ...string) error {
		run, err := e.Load(&lower.Unit{Source: "package main\n" + source, Entry: entry, Imports: imports})
		if err == nil {
			run()
		}
		return err
	}
	const say = "rtᐧ.Say"
	if err := load("var x string\nfunc cell1() { x = \"a\"; "+say+"(x) }", "cell1"); err != nil {
		t.Fatal(err)
	}
	if err := load("func cell2() { x = nope }", "cell2"); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("got %v, want an error about nope", err)
	}
	if err := load("import up \"strings\"\nfunc cell3() { "+say+"(up.ToUpper(x)) }", "cell3", "strings"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(said, " "); got != "a A" {
		t.Errorf("got %q, want a A", got)
	}
	if !e.Has("strings", "ToUpper") || e.Has("strings", "Nope") || e.Has("bytes", "ToUpper") {
		t.Error("Has does not tell what is there")
	}
}

// TestStop is seen by a loop that runs.
func TestStop(t *testing.T) {
	stopped := false
	e, err := interp.New(nil, map[string]reflect.Value{"Check": reflect.ValueOf(func() { stopped = true; panic("stop") })}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	run, err := e.Load(&lower.Unit{Source: "package main\nfunc cell1() { for { if " + lower.StopVariable + " { rtᐧ.Check() } } }", Entry: "cell1"})
	if err != nil {
		t.Fatal(err)
	}
	e.Stop(true)
	defer func() {
		if recover() == nil || !stopped {
			t.Error("the loop did not stop")
		}
	}()
	run()
}
