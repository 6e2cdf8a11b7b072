package cellio

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestRingsAreUsedAgain: a watch whose ring another one has had tells what comes, and a pipe that nobody watches any more can be closed.
func TestRingsAreUsedAgain(t *testing.T) {
	for range 100 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		watch := newWatch(int(r.Fd()))
		if watch == nil {
			t.Skip("this system has no rings of events")
		}
		if !watch.arm() {
			t.Fatal("the watch could not be armed")
		}
		if _, err := w.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if !watch.rang() {
			t.Fatal("nothing rang")
		}
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if !watch.arm() || watch.rang() { // it waits when it is closed
			t.Fatal("the watch could not be armed again")
		}
		watch.close()
		r.Close()
		for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() { // the system takes the request back soon, not at once
			if _, err := w.WriteString("x"); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the pipe is still open")
			}
		}
		w.Close()
	}
	if n := len(spare.rings); n > 2 {
		t.Errorf("%d rings are kept, and there was one watch at a time", n)
	}
}
