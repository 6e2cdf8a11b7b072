package worker

import (
	"context"
	"testing"

	"cancha/jobs/local"
	"cancha/jobs/placement"
)

// A claim is told with one beat, and once more when it is made again: workers beat for each of their slots.
func TestClaimsOnce(t *testing.T) {
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w, err := newWorker(Config{Broker: b, Worker: placement.Worker{Device: placement.CPU},
		Funcs: map[string]Func{"t": func(context.Context, *Task) (any, error) { return nil, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.end(nil)
	c := &claim{token: "x"}
	for i, want := range []int{1, 0, 0} {
		if i == 0 {
			w.ask(attempt{"a", 1}, c)
		}
		if got := len(w.beat().Claims); got != want {
			t.Errorf("beat %d has %d claims, want %d", i, got, want)
		}
	}
	w.ask(attempt{"a", 1}, c)
	if got := len(w.beat().Claims); got != 1 {
		t.Errorf("made again, it is in the beat %d times", got)
	}
}
