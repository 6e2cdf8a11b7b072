package engine

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipe reads what an engine, its C code or its children write to fd 1 or 2, before the engine catches that itself and after it has ended.
// What the engine's Go runtime writes it reads at any time.
type pipe struct {
	r     *os.File
	out   func([]byte)
	crash *crash        // on stderr: holds back what looks like a crash; nil elsewhere
	asks  chan chan int // requests to read until empty; nil asks to end after that
	ended chan struct{} // closed when the reader has ended
	left  bool          // to the engine
}

// newPipe returns a pipe and the end that the child writes to.
func newPipe(out func([]byte)) (*pipe, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pipe{r: r, out: out, asks: make(chan chan int, 1), ended: make(chan struct{})}, w, nil
}

// run reads until the pipe's end, or until finish.
func (p *pipe) run() {
	defer close(p.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := p.r.Read(buf)
		p.take(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !p.answer(buf) {
				return
			}
		} else if err != nil {
			return
		}
		p.wake()
	}
}

func (p *pipe) take(b []byte) {
	if len(b) > 0 && p.crash != nil {
		b = p.crash.filter(b, time.Now())
	}
	if len(b) > 0 {
		p.out(b)
	}
}

// wake ends the reader's next wait when what is held back is due.
func (p *pipe) wake() {
	if p.crash == nil {
		return
	}
	at, ok := p.crash.due()
	if !ok {
		return
	}
	_ = p.r.SetReadDeadline(at) // fails only when the reader has ended, which is who calls this
	if len(p.asks) > 0 {        // its deadline may have been before this one
		_ = p.r.SetReadDeadline(past)
	}
}

// past is a deadline that ends a wait at once.
var past = time.Unix(1, 0)

// drain returns when all that was in the pipe when it was called has been taken. It ends the reader's wait with a deadline
// in the past; the reader then reads without waiting. A pipe that has ended is empty, and one that is left to the engine its own.
func (p *pipe) drain() {
	if p.left {
		return
	}
	done := make(chan int)
	p.ask(done)
	select {
	case <-done:
	case <-p.ended:
	}
}

// finish makes the reader take what is left and end, after the engine's death. Children that live on may hold the pipe
// open for ever, so its end is not waited for.
func (p *pipe) finish() { p.ask(nil) }

// leave ends the reader and leaves what comes from now on to the engine, which has the reading end too.
func (p *pipe) leave() {
	p.finish()
	<-p.ended
	p.left = true
}

// rest passes on what the engine has left unread in a pipe that was its.
func (p *pipe) rest() {
	p.readAvailable(make([]byte, pipeCapacity))
	if p.crash != nil {
		p.out(p.crash.give())
		p.crash = &crash{} // what its runtime said has come another way
	}
}

func (p *pipe) ask(done chan int) {
	select {
	case p.asks <- done:
		_ = p.r.SetReadDeadline(past) // fails only when the reader has ended
	case <-p.ended:
	}
}

// answer reads until the pipe is empty, for drain and finish, and passes on what was held back and is due; it reports false when the
// reader shall end.
func (p *pipe) answer(buf []byte) (goOn bool) {
	_ = p.r.SetReadDeadline(time.Time{})
	select {
	case done := <-p.asks:
		p.readAvailable(buf)
		if done == nil {
			return false
		}
		if p.crash != nil {
			p.out(p.crash.give()) // the engine has ended a cell: what looked like a crash was output
		}
		close(done)
	default:
		if p.crash != nil {
			p.readAvailable(buf) // where the reader was held up, there is more than it knows of
			p.out(p.crash.quiet(time.Now()))
		}
	}
	return true
}

// pipeCapacity is how much a pipe holds: reading that much brings what was in it, though somebody goes on writing.
const pipeCapacity = 64 << 10

func (p *pipe) readAvailable(buf []byte) {
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for left := pipeCapacity; left > 0; {
			n, err := syscall.Read(int(fd), buf)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				return true
			}
			p.take(buf[:n])
			left -= n
		}
		return true
	})
}

// end returns another descriptor of the reading end, for the engine.
func (p *pipe) end() (*os.File, error) {
	raw, err := p.r.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := raw.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("fcntl", failed)
	}
	return os.NewFile(uintptr(fd), p.r.Name()), nil
}

// unblock undoes what starting a process does to the files that it inherits: whether reading blocks is one thing for all who have an end.
func (p *pipe) unblock() error {
	raw, err := p.r.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.SetNonblock(int(fd), true) }); err != nil {
		return err
	}
	return os.NewSyscallError("fcntl", failed)
}

// close releases a pipe that is not read any more.
func (p *pipe) close() { p.r.Close() }
