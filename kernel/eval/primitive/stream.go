package primitive

import (
	"io"
	"os"

	"cancha/internal/cellio"
	"cancha/kernel/eval/native/support"
)

// Stdout is what os.Stdout means now: the cell's output, or the file to which a cell has set it.
func (m *Machine) Stdout() support.Stream { return current(os.Stdout, m.out, cellio.Stdout) }

// Stderr is what os.Stderr means now.
func (m *Machine) Stderr() support.Stream { return current(os.Stderr, m.err, cellio.Stderr) }

// Writer is the cell's output in the place of a kept os.Stdout or os.Stderr, for what only writes to it: the descriptor does not know which
// cell writes, and has no order with the other one.
func (m *Machine) Writer(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && f != nil {
		switch f {
		case m.out:
			return cellio.Stdout
		case m.err:
			return cellio.Stderr
		}
	}
	return w
}

func current(now, own *os.File, cells io.Writer) support.Stream {
	if now != own {
		return now
	}
	return &Stream{cells, own}
}

// Stream is the cell's standard output or error in place of os.Stdout or os.Stderr.
type Stream struct {
	to interface {
		Write(p []byte) (int, error)
	}
	file *os.File
}

// Write writes to the cell's stream.
func (s *Stream) Write(p []byte) (int, error) { return s.to.Write(p) }

// WriteString writes to the cell's stream.
func (s *Stream) WriteString(text string) (int, error) { return s.to.Write([]byte(text)) }

// Sync does nothing: a cell's output is sent at the latest when the cell ends.
func (s *Stream) Sync() error { return nil }

// Close does nothing: the stream is the kernel's.
func (s *Stream) Close() error { return nil }

// Name is the file's name, as os.Stdout has it.
func (s *Stream) Name() string { return s.file.Name() }

// Fd is the descriptor of the process's own stream.
func (s *Stream) Fd() uintptr { return s.file.Fd() }

// Stat describes the process's own stream.
func (s *Stream) Stat() (os.FileInfo, error) { return s.file.Stat() }
