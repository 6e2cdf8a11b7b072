package eval_test

import (
	"strings"
	"testing"
	"time"
)

// TestSaysThatItIsInterpreted has cells run for a while: only those whose own loops are interpreted say so, and only once.
func TestSaysThatItIsInterpreted(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	tests := []struct {
		name, code string
		want       int
	}{
		{"a loop", "for {}", 1},
		{"a callback", "for { sort.Slice(make([]int, 1<<10), func(i, j int) bool { return i*j%7 < 3 }) }", 1},
		{"a sleep", "time.Sleep(400 * time.Millisecond)", 0},
		{"a channel", "<-time.After(400 * time.Millisecond)", 0},
		{"a select", "select { case <-time.After(400 * time.Millisecond): case <-make(chan int): }", 0},
		{"a wait for others", "var wg sync.WaitGroup\nwg.Go(func() { time.Sleep(400 * time.Millisecond) })\nwg.Wait()", 0},
		{"a library", "big := make([]byte, 64<<20)\nfor n := 0; n < 4; n++ { sha256.Sum256(big) }", 0},
		{"short", "for n := 0; n < 10; n++ {}", 0},
	}
	n := newSlowNotebook(t, 100*time.Millisecond)
	n.ok("%engine interp")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			done := n.begin(false, tt.code)
			if tt.want > 0 { // it loops until it has been said, however long that takes on a busy machine
				for limit := time.Now().Add(2 * time.Minute); strings.Count(n.of(n.serial, "stderr"), "is interpreted") == 0 && time.Now().Before(limit); {
					time.Sleep(time.Millisecond)
				}
				n.program.Interrupt()
			}
			n.ended(done)
			if got := strings.Count(n.of(n.serial, "stderr"), "is interpreted"); got != tt.want {
				t.Errorf("said %d times, want %d:\n%s", got, tt.want, n.of(n.serial, "stderr"))
			}
		})
	}
	if said := n.stream("stderr"); !strings.Contains(said, "compile") {
		t.Errorf("nothing is said of what would help: %s", said)
	}
}
