package local_test

import (
	"fmt"
	"testing"

	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// TestSlowListener: who is a thousand messages behind misses the oldest, and holds nobody up.
func TestSlowListener(t *testing.T) {
	b := opened(t, t.TempDir(), local.Options{})
	l, err := b.Listen(t.Context(), "topic")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1200 {
		if err := b.Announce(t.Context(), "topic", queue.Message{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if m, err := l.Next(t.Context()); err != nil || m.ID != fmt.Sprint(200+i) {
			t.Fatalf("message %d: got %q, %v, want %d", i, m.ID, err, 200+i)
		}
	}
}
