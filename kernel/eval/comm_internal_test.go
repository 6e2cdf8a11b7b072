//go:build !workspace

package eval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
)

// TestCommQueues: frames of one comm are handled in order, and do not wait for another comm's.
func TestCommQueues(t *testing.T) {
	goOn, handled := make(chan bool), make(chan string, 100)
	q := newCommQueues(func(f cellio.Frame) {
		if strings.Contains(string(f.Body), "slow") {
			<-goOn
		}
		handled <- fmt.Sprint(f.Cell)
	})
	push := func(id string, cell int64) {
		q.push(cellio.Frame{Kind: cellio.KindCommMsg, Cell: cell, Body: []byte(`{"comm_id":"` + id + `"}`)})
	}
	next := func() string {
		select {
		case cell := <-handled:
			return cell
		case <-time.After(10 * time.Second):
			t.Fatal("nothing is handled")
			return ""
		}
	}
	push("slow", 1)
	push("slow", 2)
	push("quick", 3)
	if got := next(); got != "3" {
		t.Errorf("got %s first, want 3, which nothing holds up", got)
	}
	close(goOn)
	push("slow", 4)
	for _, want := range []string{"1", "2", "4"} {
		if got := next(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		left := len(q.waiting)
		q.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d comms are remembered that wait for nothing", left)
		}
	}
}
