package stdin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// taken is the standard input of this test program, which is one for all tests.
var taken = sync.OnceValues(Take)

// open opens a cell whose questions get these answers, one after another; "EOF" is the end of input. Further ones are not
// answered before the cell closes.
func open(t *testing.T, answers ...string) (closeCell func(), failed <-chan error) {
	t.Helper()
	in, err := taken()
	if err != nil {
		t.Fatal(err)
	}
	over, fails := make(chan struct{}), make(chan error, 10)
	closed := in.Open(func() (string, error) {
		if len(answers) == 0 {
			<-over
			return "", io.ErrClosedPipe
		}
		a := answers[0]
		answers = answers[1:]
		switch a {
		case "EOF":
			return "", io.EOF
		case "denied":
			return "", errors.New("denied")
		}
		return a, nil
	}, func(err error) { fails <- err })
	closeCell = sync.OnceFunc(func() { close(over); closed() })
	t.Cleanup(closeCell)
	return closeCell, fails
}

// within fails where f takes too long: a read that nobody answers blocks for ever.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a read was not answered")
	}
}

func TestReads(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string
		read    func() string
		want    string
	}{
		{"Scanln", []string{"Ada ø𝔊"}, func() string {
			var a, b string
			n, err := fmt.Scanln(&a, &b)
			return fmt.Sprint(n, err, " ", a, " ", b)
		}, "2 <nil> Ada ø𝔊"},
		{"Scan of several values in one line", []string{"1 2 3"}, func() string {
			var a, b, c int
			n, err := fmt.Scan(&a, &b, &c)
			return fmt.Sprint(n, err, a, b, c)
		}, "3 <nil> 1 2 3"},
		{"Scan of values in several lines", []string{"1", "2"}, func() string {
			var a, b int
			n, err := fmt.Scan(&a, &b)
			return fmt.Sprint(n, err, a, b)
		}, "2 <nil> 1 2"},
		{"a scanner to the end", []string{"x", "", "y", "EOF"}, func() string {
			var lines []string
			s := bufio.NewScanner(os.Stdin)
			for s.Scan() {
				lines = append(lines, s.Text())
			}
			return fmt.Sprintf("%q %v", lines, s.Err())
		}, `["x" "" "y"] <nil>`},
		{"a reader, twice", []string{"x", "y"}, func() string {
			r := bufio.NewReader(os.Stdin)
			a, _ := r.ReadString('\n')
			b, err := r.ReadString('\n')
			return fmt.Sprintf("%q %q %v", a, b, err)
		}, `"x\n" "y\n" <nil>`},
		{"ReadAll", []string{"x", "y", "EOF"}, func() string {
			b, err := io.ReadAll(os.Stdin)
			return fmt.Sprintf("%q %v", b, err)
		}, `"x\ny\n" <nil>`},
		{"one Read is a line", []string{"a whole line"}, func() string {
			b := make([]byte, 100)
			n, err := os.Stdin.Read(b)
			return fmt.Sprintf("%q %v", b[:n], err)
		}, `"a whole line\n" <nil>`},
		{"the end, and then more", []string{"EOF", "x"}, func() string {
			b := make([]byte, 100)
			n, err := os.Stdin.Read(b)
			m, _ := os.Stdin.Read(b)
			return fmt.Sprintf("%d %v %q", n, err, b[:m])
		}, `0 EOF "x\n"`},
		{"a line longer than a pipe", []string{strings.Repeat("ab", 100_000)}, func() string {
			text, err := bufio.NewReader(os.Stdin).ReadString('\n')
			return fmt.Sprint(len(text), err)
		}, "200001 <nil>"},
		{"a copy", []string{"x", "EOF"}, func() string {
			var b strings.Builder
			n, err := io.Copy(&b, os.Stdin)
			return fmt.Sprintf("%d %v %q", n, err, b.String())
		}, `2 <nil> "x\n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			open(t, c.answers...)
			within(t, func() {
				if got := strings.TrimSpace(c.read()); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		})
	}
}

// TestDenied: where nobody answers the read ends, after the cell was told why.
func TestDenied(t *testing.T) {
	_, failed := open(t, "denied")
	within(t, func() {
		if n, err := os.Stdin.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("got %d, %v, want EOF", n, err)
		}
	})
	select {
	case err := <-failed:
		if err.Error() != "denied" {
			t.Errorf("got %v", err)
		}
	default:
		t.Error("the read ended before the cell was told")
	}
}

// TestBetweenCells: nobody is asked, and a read that waits at the cell's end ends with it.
func TestBetweenCells(t *testing.T) {
	in, err := taken()
	if err != nil {
		t.Fatal(err)
	}
	asked, over := make(chan struct{}), make(chan struct{})
	closed := in.Open(func() (string, error) { close(asked); <-over; return "late", nil }, func(error) {})
	read := make(chan error, 1)
	go func() { _, err := os.Stdin.Read(make([]byte, 1)); read <- err }()
	<-asked
	began := time.Now()
	close(over)
	closed()
	within(t, func() {
		if err := <-read; err != io.EOF && err != nil { // nil: it got the line in time
			t.Errorf("the read that waited: got %v, want EOF", err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the read ended after %v", took)
		}
		if _, err := io.ReadAll(os.Stdin); err != nil {
			t.Error(err)
		}
		if _, err := os.Stdin.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("between cells: got %v, want EOF", err)
		}
	})
}

// TestUnread: what one cell has left of a line is not the next one's answer.
func TestUnread(t *testing.T) {
	closeFirst, _ := open(t, "old and more")
	within(t, func() { _, _ = io.ReadFull(os.Stdin, make([]byte, 3)) })
	closeFirst()
	open(t, "new")
	within(t, func() {
		text, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if text != "new\n" || err != nil {
			t.Errorf("got %q, %v, want the second cell's line", text, err)
		}
	})
}

// TestTwoCells: the latest cell is asked, and after its end the one before.
func TestTwoCells(t *testing.T) {
	open(t, "first")
	closeSecond, _ := open(t, "second")
	line := func() (text string) {
		within(t, func() { _, _ = fmt.Scanln(&text) })
		return text
	}
	if got := line(); got != "second" {
		t.Errorf("got %q, want the latest cell's line", got)
	}
	closeSecond()
	if got := line(); got != "first" {
		t.Errorf("got %q, want the line of the cell that is left", got)
	}
}

// TestUnwrittenLine: a cell ends while it hands over a line that nobody reads to its end.
func TestUnwrittenLine(t *testing.T) {
	closeCell, _ := open(t, strings.Repeat("ab", 1<<20))
	within(t, func() { _, _ = os.Stdin.Read(make([]byte, 1)) })
	within(t, closeCell)
}

// TestLock: whoever reads os.Stdin is seen by its lock.
func TestLock(t *testing.T) {
	in, err := taken()
	if err != nil {
		t.Fatal(err)
	}
	if in.reader.state == nil {
		t.Fatal("this Go keeps a file's lock elsewhere: see lockOf")
	}
	if in.reader.taken() {
		t.Error("nobody reads, and the lock is taken")
	}
	answered := make(chan struct{})
	closed := in.Open(func() (string, error) {
		if !in.reader.taken() {
			t.Error("somebody reads, and the lock is not taken")
		}
		close(answered)
		return "", nil
	}, func(error) {})
	defer closed()
	within(t, func() { _, _ = os.Stdin.Read(make([]byte, 1)) })
	<-answered
}

// TestNothingLeft: cells that ask, and reads that were ended, leave no descriptor and no goroutine behind.
func TestNothingLeft(t *testing.T) {
	count := func() (descriptors, goroutines int) {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries), runtime.NumGoroutine()
	}
	cells := func(n int) {
		for range n {
			closeCell, _ := open(t, "line", "EOF")
			within(t, func() { _, _ = io.ReadAll(os.Stdin) })
			closeCell()
			within(t, func() { _, _ = io.ReadAll(os.Stdin) })
		}
	}
	cells(3)
	descriptors, goroutines := count()
	cells(30)
	if d, g := count(); d > descriptors+1 || g > goroutines+1 {
		t.Errorf("after 30 cells: %d descriptors and %d goroutines, want %d and %d", d, g, descriptors, goroutines)
	}
}

// TestOtherReaders: who reads past os.Stdin is seen too, where the operating system tells so.
func TestOtherReaders(t *testing.T) {
	if _, known := blocked(); !known {
		t.Skip("this system does not tell what threads wait for")
	}
	t.Run("the descriptor itself", func(t *testing.T) {
		open(t, "raw")
		within(t, func() {
			b := make([]byte, 10)
			n, err := syscall.Read(descriptor, b)
			if got := string(b[:max(n, 0)]); got != "raw\n" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	})
	t.Run("a child of a child", func(t *testing.T) {
		open(t, "x", "y", "EOF")
		within(t, func() {
			c := exec.Command("sh", "-c", "cat; true")
			c.Stdin = os.Stdin
			got, err := c.Output()
			if string(got) != "x\ny\n" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	})
}

func BenchmarkSearch(b *testing.B) {
	in, err := taken()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		elsewhere(in.ours)
	}
}

func BenchmarkCell(b *testing.B) {
	in, err := taken()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		in.Open(nil, nil)()
	}
}

func BenchmarkLook(b *testing.B) {
	in, err := taken()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		in.waits()
	}
}

func BenchmarkBlocked(b *testing.B) {
	for b.Loop() {
		blocked()
	}
}
