package cellio

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// catchPast has an outlet catch what is written to two pipes, and returns their ends.
func catchPast(t testing.TB, o *Outlet) (stdout, stderr *os.File) {
	t.Helper()
	var r, w [2]*os.File
	for i := range r {
		var err error
		if r[i], w[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w[i].Close() })
	}
	stop, err := o.CatchPast(r[0], r[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return w[0], w[1]
}

// text joins what a log has of a stream.
func (l *log) text() string {
	var b strings.Builder
	for _, s := range l.all() {
		var st Stream
		if at := strings.IndexByte(s, '{'); strings.HasPrefix(s, "stream") && json.Unmarshal([]byte(s[at:]), &st) == nil {
			b.WriteString(st.Text)
		}
	}
	return b.String()
}

// TestPastTheOutlet: what was written before anything else comes before it, by whichever way it was written, though the one that is
// trusted with telling of it has slept.
func TestPastTheOutlet(t *testing.T) {
	for _, pause := range []int{0, 1, 7, 100} { // lines between those that go past
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			var l log
			o := NewOutlet(l.send)
			stdout, stderr := catchPast(t, o)
			var want strings.Builder
			print := func(write func(text string), name string, i int) {
				text := fmt.Sprintln(name, i)
				write(text)
				want.WriteString(text)
			}
			through := func(text string) { _ = o.Write(1, "stdout", []byte(text)) }
			for i := range 1000 {
				print(func(text string) { _, _ = stdout.WriteString(text) }, "stdout", i)
				for range pause {
					print(through, "line", i)
				}
				print(func(text string) { _ = o.Emit(KindStream, 1, Stream{"stdout", text}) }, "frame", i)
				print(func(text string) { _, _ = stderr.WriteString(text) }, "stderr", i)
				print(through, "line", i)
			}
			o.Close()
			if got, want := l.text(), want.String(); got != want {
				t.Errorf("%d bytes are not those of %d in their order", len(got), len(want))
			}
		})
	}
}

// TestChildPastTheOutlet: a child's output comes before what is printed after it has ended.
func TestChildPastTheOutlet(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	stdout, _ := catchPast(t, o)
	for i := range 10 {
		_ = o.Write(1, "stdout", fmt.Appendln(nil, "before", i))
		child := exec.Command("sh", "-c", fmt.Sprint("echo child ", i))
		child.Stdout = stdout
		if err := child.Run(); err != nil {
			t.Fatal(err)
		}
	}
	_ = o.Emit(KindDone, 1, nil)
	var want strings.Builder
	for i := range 10 {
		fmt.Fprintf(&want, "before %d\nchild %d\n", i, i)
	}
	if got := l.text(); got != want.String() {
		t.Errorf("got %q, want %q", got, want.String())
	}
}

// TestWritersKeepTheirOrder: goroutines write at once by both ways, and each one's lines are in order.
func TestWritersKeepTheirOrder(t *testing.T) {
	const writers, lines = 4, 5000
	var l log
	o := NewOutlet(l.send)
	stdout, stderr := catchPast(t, o)
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range lines {
				text := fmt.Appendf(nil, "%d %d\n", w, i)
				switch (i + w) % 5 {
				case 0:
					_, _ = stdout.Write(text)
				case 2:
					_, _ = stderr.Write(text)
				default:
					_ = o.Write(1, "stdout", text)
				}
			}
		})
	}
	running.Wait()
	o.Close()
	next := map[int]int{}
	for line := range strings.Lines(l.text()) {
		var w, i int
		if n, _ := fmt.Sscan(line, &w, &i); n != 2 {
			t.Fatalf("%q is no line", line)
		}
		if next[w] != i {
			t.Fatalf("writer %d: line %d comes where %d should", w, i, next[w])
		}
		next[w]++
	}
	for w := range writers {
		if next[w] != lines {
			t.Errorf("writer %d: %d lines of %d", w, next[w], lines)
		}
	}
}

// TestPastTheOutletWithLittleCredit: credit that is too little for the next character is waited for, and not asked for without end.
func TestPastTheOutletWithLittleCredit(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	o.limited, o.balance = true, Credit{Messages: 10, Bytes: messageCost + 1}
	stdout, _ := catchPast(t, o)
	text := strings.Repeat("é", 4*heldText)
	written := make(chan error)
	go func() {
		_, err := stdout.Write([]byte(text))
		written <- err
	}()
	for waits := false; !waits; { // until the reader holds what may wait
		o.mu.Lock()
		waits = o.room() <= 0
		o.mu.Unlock()
	}
	o.Grant(Credit{Messages: 1000, Bytes: 64 * len(text)})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	o.Close()
	if got := l.text(); got != text {
		t.Errorf("%d bytes of %d have come", len(got), len(text))
	}
}

// TestPastTheOutletWaitsForCredit: a writer is held up by its pipe, not lost, and no memory is filled; what it has written is all there
// once there is credit.
func TestPastTheOutletWaitsForCredit(t *testing.T) {
	var l log
	o := NewOutlet(l.send)
	o.limited = true
	stdout, _ := catchPast(t, o)
	const all = 4 << 20
	written := make(chan int)
	go func() {
		n := 0
		for n < all {
			m, err := stdout.Write(make([]byte, 1<<10))
			if n += m; err != nil {
				break
			}
		}
		written <- n
	}()
	for held := 0; held < heldText; { // until the reader has filled what may wait
		o.mu.Lock()
		held = heldText - o.room()
		o.mu.Unlock()
	}
	select {
	case n := <-written:
		t.Fatalf("%d bytes were written without credit", n)
	default:
	}
	o.mu.Lock()
	if held := heldText - o.room(); held > heldText+pastSize {
		t.Errorf("%d bytes are held", held)
	}
	o.mu.Unlock()
	o.Grant(Credit{Messages: 1000, Bytes: 8 * all})
	if n := <-written; n != all {
		t.Errorf("%d bytes of %d were written", n, all)
	}
	o.Close()
	if n := len(l.text()); n != all {
		t.Errorf("%d bytes of %d have come", n, all)
	}
}
