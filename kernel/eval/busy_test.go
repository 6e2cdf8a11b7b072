package eval_test

import (
	"strings"
	"testing"
	"time"
)

// TestSaysThatItIsInterpreted has cells run for a while: only those whose own loops are interpreted say so, and only once.
func TestSaysThatItIsInterpreted(t *testing.T) {
	const wait = "until := time.Now().Add(400 * time.Millisecond)\n"
	tests := []struct {
		name, code string
		want       int
	}{
		{"a loop", wait + "for n := 0; time.Now().Before(until); n++ {}", 1},
		{"a callback", wait + "sort.Slice(make([]int, 1<<24), func(i, j int) bool { if time.Now().After(until) { panic(1) }; return i*j%7 < 3 })", 1},
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
			before := strings.Count(n.stream("stderr"), "is interpreted")
			n.run(tt.code)
			if got := strings.Count(n.stream("stderr"), "is interpreted") - before; got != tt.want {
				t.Errorf("said %d times, want %d:\n%s", got, tt.want, n.stream("stderr"))
			}
		})
	}
	if said := n.stream("stderr"); !strings.Contains(said, "compile") {
		t.Errorf("nothing is said of what would help: %s", said)
	}
}
