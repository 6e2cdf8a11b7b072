package kafka

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
)

// TestWaiting: a cell that waits for brokers is told why, though not of a moment and not of each try; a program that names nobody is not.
func TestWaiting(t *testing.T) {
	if retry(nil) != nil {
		t.Error("outside a cell somebody would be told")
	}
	synctest.Test(t, func(t *testing.T) {
		var told []string
		out := cellio.NewOutlet(func(f cellio.Frame) error {
			var s cellio.Stream
			if err := json.Unmarshal(f.Body, &s); err == nil {
				told = append(told, s.Text)
			}
			return nil
		})
		cellio.Attach(out)
		defer cellio.Attach(nil)
		cellio.NewAside(1).Do(func() {
			tell := retry(nil)
			for range 40 { // tries, over 20 s
				tell(errors.New("connection refused"))
				time.Sleep(500 * time.Millisecond)
			}
			time.Sleep(time.Minute) // it is back for a while
			tell(errors.New("connection refused"))
		})
		out.Close()
		want := "kafka: still trying, for 2 s by now: connection refused\nkafka: still trying, for 17 s by now: connection refused\n"
		if got := strings.Join(told, ""); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}
