package monitor

import (
	"errors"
	"testing"

	"cancha/internal/running"
)

// TestJobThatFailsMeanwhile: a job may fail at any moment while it is looked at. A state of after its end with an error of before would be nobody's.
func TestJobThatFailsMeanwhile(t *testing.T) {
	var registry running.Registry
	for range 2_000 {
		entry := registry.Add(running.NewJob(running.Fit, "forest", 10, "trees"))
		go entry.End(errors.New("no room"))
		for {
			j := jobOf(item{Entry: entry})
			if over := j.Status != running.Running; over != (j.CompletionTime != nil) || over != (j.Error == "no room") {
				t.Fatalf("%s: completed at %v with the error %q", j.Status, j.CompletionTime, j.Error)
			} else if over {
				break
			}
		}
	}
}
