// Package stdin makes what reads the standard input of an engine ask somebody: fmt.Scan, bufio over os.Stdin, a library that
// knows nothing of notebooks. It owns file descriptor 0 and ends at the line that is asked for: whom, and how, is its
// caller's business.
//
// os.Stdin is a variable of type *os.File, so it cannot be another kind of reader. It stays the file that it is, and its
// descriptor becomes the reading end of a pipe. While a cell is open somebody looks now and then whether a read waits there (see
// waits and elsewhere); then a line is asked for and written to the pipe. Between cells the pipe has no writer: a read ends at once with EOF.
package stdin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// descriptor is that of the standard input.
const descriptor = 0

// A cell is looked at after firstLook, and then ever more rarely until it reads. A look takes some nanoseconds while nobody reads.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 20 * time.Millisecond
)

// The operating system is asked for other readers than os.Stdin, which takes some 100 µs, rarely: first after firstSearch, then
// each time half as long again, at most every lastSearch.
const (
	firstSearch = 50 * time.Millisecond
	lastSearch  = time.Second
)

// Input is the standard input of the process. Its methods may be called from any goroutine.
type Input struct {
	reader lock // of os.Stdin

	mu     sync.Mutex
	ours   os.FileInfo // the pipe behind the descriptor
	writer *os.File    // its other end; nil while there is none
	cells  []*cell     // open, the latest last
}

// Take makes the process's standard input one that is asked for. It is called once in a process.
func Take() (*Input, error) {
	in := &Input{reader: lockOf(os.Stdin)}
	if err := in.renew(); err != nil {
		return nil, fmt.Errorf("take the standard input: %w", err)
	}
	in.end()
	return in, nil
}

// renew puts a fresh pipe behind the descriptor. What was left unread in the one before is gone with it.
func (in *Input) renew() error {
	if in.lost() {
		return os.ErrClosed
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	ours, err := r.Stat()
	if err == nil {
		err = replace(int(r.Fd()), descriptor) // Fd makes it a blocking one, as os.Stdin expects it
	}
	if err != nil {
		w.Close()
		return err
	}
	before := in.writer
	in.ours, in.writer = ours, w
	if before != nil {
		before.Close() // after the change: who waits at the old pipe reads EOF, who comes now waits at the new one
	}
	return nil
}

// lost tells whether a cell has closed the descriptor or put something else there: that is left alone.
func (in *Input) lost() bool {
	if in.ours == nil {
		return false
	}
	var now syscall.Stat_t
	was, ok := in.ours.Sys().(*syscall.Stat_t)
	return !ok || syscall.Fstat(descriptor, &now) != nil || now.Ino != was.Ino || now.Dev != was.Dev
}

// end takes the writer away: reads end with EOF.
func (in *Input) end() {
	if in.writer != nil {
		in.writer.Close()
		in.writer = nil
	}
}

// cell is the time in which reads ask.
type cell struct {
	in     *Input
	ask    func() (string, error)
	failed func(error)
	over   chan struct{}
	ended  chan struct{}

	writing bool // a line to the pipe; guarded by Input.mu

	search time.Time     // when other readers are searched for
	pause  time.Duration // until the search after that
}

// Open lets reads of the standard input ask, until closed is called: ask returns a line without its end. If it fails the read ends with
// EOF, and later reads ask again; failed is told of errors other than [io.EOF], before the read ends. Both are called on a goroutine of the
// cell, one at a time; failed must not call the Input. Of several open cells the latest is asked. closed ends reads that wait, with EOF,
// and drops what is unread; its caller ends what ask waits for.
func (in *Input) Open(ask func() (string, error), failed func(error)) (closed func()) {
	c := &cell{in: in, ask: ask, failed: failed, over: make(chan struct{}), ended: make(chan struct{})}
	in.mu.Lock()
	in.cells = append(in.cells, c)
	if len(in.cells) == 1 {
		_ = in.renew() // without a pipe reads end with EOF
	}
	in.mu.Unlock()
	go c.watch()
	return c.close
}

// latest is the cell that is asked, nil without one.
func (in *Input) latest() *cell {
	if len(in.cells) == 0 {
		return nil
	}
	return in.cells[len(in.cells)-1]
}

func (c *cell) close() {
	close(c.over)
	in := c.in
	in.mu.Lock()
	latest := c == in.latest()
	in.cells = slices.DeleteFunc(in.cells, func(o *cell) bool { return o == c })
	switch {
	case len(in.cells) == 0:
		in.end()
	case latest || c.writing: // the next one is asked, and for lines of its own
		_ = in.renew()
	}
	in.mu.Unlock()
	<-c.ended
}

// watch answers reads until the cell is over.
func (c *cell) watch() {
	defer close(c.ended)
	pause := firstLook
	c.soon()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for seen := 0; ; {
		select {
		case <-c.over:
			return
		case <-timer.C:
		}
		pause = min(pause*5/4, lastLook)
		if seen = c.look(seen); seen >= sure {
			c.answer()
			seen, pause = 0, firstLook
			c.soon() // who has read once reads again
		}
		timer.Reset(pause)
	}
}

// soon has other readers searched for in a short while.
func (c *cell) soon() {
	c.pause, c.search = firstSearch, time.Now().Add(firstSearch)
}

// look adds to what earlier looks have seen of a read that waits for this cell's lines.
func (c *cell) look(seen int) int {
	c.in.mu.Lock()
	mine, ours := c.in.writer != nil && c == c.in.latest(), c.in.ours
	c.in.mu.Unlock()
	if !mine {
		return 0
	}
	if n := c.in.waits(); n > 0 {
		return seen + n
	}
	if time.Now().After(c.search) && empty(descriptor) {
		c.pause = min(c.pause*3/2, lastSearch)
		c.search = time.Now().Add(c.pause)
		if elsewhere(ours) {
			return sure
		}
	}
	return 0
}

// answer asks for a line and gives it to who reads.
func (c *cell) answer() {
	line, err := c.ask()
	in := c.in
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case !slices.Contains(in.cells, c): // closed meanwhile
	case err != nil:
		if !errors.Is(err, io.EOF) {
			c.failed(err)
		}
		_ = in.renew()
	default:
		w := in.writer
		c.writing = true
		in.mu.Unlock()
		_, _ = io.WriteString(w, line+"\n") // fails where the cell ends before somebody has read a very long line
		in.mu.Lock()
		c.writing = false
	}
}
