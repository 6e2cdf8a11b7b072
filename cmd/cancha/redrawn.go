//go:build !windows

package main

import (
	"io"
	"strings"
	"sync"
	"time"
)

// redrawn passes text on to a file, where a line that is drawn over and over again would be hundreds: of such a line it writes what it was
// now and then, and what it was last. Text without such lines passes as it comes.
type redrawn struct {
	mu    sync.Mutex
	out   io.Writer
	begun bool            // the line has something that was written
	over  bool            // it is drawn over
	held  strings.Builder // what it is then
	last  time.Time       // when one of its states was written
}

// newRedrawn returns one over a stream of this process; to a terminal everything passes.
func newRedrawn(out io.Writer) *redrawn { return &redrawn{out: out} }

func (r *redrawn) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if terminal(r.out) {
		return r.out.Write(p)
	}
	text := string(p)
	for text != "" {
		i := strings.IndexAny(text, "\r\n")
		piece, end := text, byte(0)
		if i >= 0 {
			piece, end = text[:i], text[i]
		}
		text = text[len(piece):]
		if end != 0 {
			text = text[1:]
		}
		if err := r.piece(piece, end); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// piece takes a part of a line, and what ends it: the line, its state, or nothing yet.
func (r *redrawn) piece(piece string, end byte) error {
	if !r.over {
		r.over = end == '\r'
		r.begun = end != '\n' && (r.begun || piece != "")
		if end == '\n' {
			piece += "\n"
		}
		return r.write(piece)
	}
	r.held.WriteString(piece)
	switch {
	case end == '\n':
		r.over = false
		return r.line(r.state())
	case end == '\r':
		state := r.state()
		if state == "" || time.Since(r.last) < every {
			return nil
		}
		r.last = time.Now()
		return r.line(state)
	}
	return nil
}

// line writes a state as a line of its own.
func (r *redrawn) line(state string) error {
	if r.begun && state != "" {
		state = "\n" + state
	}
	r.begun = false
	return r.write(state + "\n")
}

func (r *redrawn) write(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(r.out, text)
	return err
}

// state takes what the line is, without the blanks that have wiped out what was there before.
func (r *redrawn) state() string {
	state := strings.TrimRight(r.held.String(), " ")
	r.held.Reset()
	return state
}

// end writes what is held of a line that nobody ends any more.
func (r *redrawn) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if state := r.state(); state != "" {
		_ = r.line(state) // where nobody reads it, nothing is missing
	}
	r.over = false
}
