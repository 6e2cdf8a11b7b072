package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cancha/kernel/eval"
	"cancha/stream"
)

// noModules adds nothing.
type noModules struct{}

func (noModules) Add(context.Context, eval.ModuleRequest, func(string)) (eval.Added, error) {
	return eval.Added{}, errors.New("nothing is to be added")
}

// TestRoom: what a package exports is had as it is, by its own type, and once; cells know nothing of it.
func TestRoom(t *testing.T) {
	if tools(t) == nil {
		t.Skip("cells cannot be compiled")
	}
	n := newConfiguredNotebook(t, eval.Config{Modules: noModules{}, OnImport: []string{"cancha/stream"}})
	value, err := n.program.Room(t.Context(), "cancha/stream", "Field")
	if err != nil {
		t.Fatal(err)
	}
	field, ok := value.(func(string) stream.Expr)
	if !ok || field("a.b").String() != stream.Field("a.b").String() {
		t.Errorf("got a %T", value)
	}
	n.ok("Field := 7\nField")
	if _, err := n.program.Room(t.Context(), "cancha/stream", "fields"); err == nil || !strings.Contains(err.Error(), `"fields" is no exported name`) {
		t.Errorf("got %v", err)
	}
	if _, err := n.program.Room(t.Context(), "cancha/stream", "Nothing"); err == nil {
		t.Error("a name that there is not was found")
	}
}
