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
	load := func(source string, body lower.Body) error {
		if source != "" {
			source = "package main\n" + source
		}
		run, err := e.Load(&lower.Unit{Source: source, Vars: vars(source), Body: body})
		if err == nil {
			run()
		}
		return err
	}
	const say = "rtᐧ.Say"
	x := []string{"x"}
	if err := load("var x string", lower.Body{Name: "cell1", Params: x, Source: "func cell1(x *string) { *x = \"a\"; " + say + "(*x) }"}); err != nil {
		t.Fatal(err)
	}
	if err := load("", lower.Body{Name: "cell2", Source: "func cell2(x *string) { *x = nope }"}); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("got %v, want an error about nope", err)
	}
	if err := load("", lower.Body{Name: "cell3", Params: x, Source: "func cell3(x *string) { " + say + "(up.ToUpper(*x)) }",
		Uses: []lower.Declaration{{Name: "up", Text: "import up \"strings\"", Path: "strings"}}}); err != nil {
		t.Fatal(err)
	}
	if err := load("", lower.Body{Name: "cell4", Params: x, Source: "func cell4(x *int) { }"}); err == nil || !strings.Contains(err.Error(), "*int") {
		t.Errorf("got %v, want an error about the type of x", err)
	}
	if got := strings.Join(said, " "); got != "a A" {
		t.Errorf("got %q, want a A", got)
	}
	if !e.Has("strings", "ToUpper") || e.Has("strings", "Nope") || e.Has("bytes", "ToUpper") {
		t.Error("Has does not tell what is there")
	}
}

func vars(source string) []string {
	if strings.Contains(source, "var x ") {
		return []string{"x"}
	}
	return nil
}

// TestStop is seen by a loop that runs.
func TestStop(t *testing.T) {
	stopped := false
	e, err := interp.New(nil, map[string]reflect.Value{"Check": reflect.ValueOf(func() { stopped = true; panic("stop") })}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	run, err := e.Load(&lower.Unit{Body: lower.Body{Name: "cell1", Source: "func cell1() { for { if " + lower.StopVariable + " { rtᐧ.Check() } } }"}})
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
