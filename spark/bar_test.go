package spark

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/spark/internal/connect/connecttest"
)

// TestBar: a cell that waits for long sees a bar, and in its place at the end a line; a short wait, and what goes on beside cells, show nothing.
func TestBar(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	var shown []string
	outlet := cellio.NewOutlet(func(f cellio.Frame) error {
		var d cellio.Display
		if err := json.Unmarshal(f.Body, &d); err != nil {
			return err
		}
		text, _ := d.Data["text/plain"].(string)
		shown = append(shown, string(f.Kind)+" "+text)
		return nil
	})
	cellio.Attach(outlet)
	defer cellio.Attach(nil)
	run := cellio.NewAside(1)
	run.Do(func() {
		for _, age := range []time.Duration{0, time.Minute} {
			b := s.newBar(t.Context())
			if b == nil {
				t.Fatal("a cell has no bar")
			}
			b.begun = b.begun.Add(-age)
			b.tell(Stages{Running: 2, Stages: []Stage{{Tasks: 4, DoneTasks: 1}}})
			b.tell(Stages{Stages: []Stage{{Tasks: 4, DoneTasks: 6, Done: true}}})
			b.end()
		}
		if s.newBar(context.WithValue(t.Context(), besideCells{}, true)) != nil {
			t.Error("what goes on beside cells has a bar")
		}
	})
	run.End()
	outlet.Close()
	want := []string{"Spark [######------------------] 1 of 4 tasks, 2 running", "Spark: 4 tasks in 60 s; 2 tasks were run again: they failed, or a worker was lost"}
	if len(shown) < 2 || !strings.Contains(shown[0], want[0]) || !strings.Contains(shown[len(shown)-1], want[1]) {
		t.Errorf("there was shown %q, want %q", shown, want)
	}
}
