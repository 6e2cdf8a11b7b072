package cellio

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// What does not know the outlet writes past it, to the process's own stdout and stderr: an os.Stdout that somebody keeps, a library's
// logger, C code, child processes. These are pipes whose reading ends the engine has itself, and what stands in them is taken in before
// anything else is: a write that has returned comes before whatever is written after it, by whichever way.

// pastSize is as much as a pipe holds: one read brings all that was in it.
const pastSize = 64 << 10

// pastCalm is for how long nothing may have come by a pipe before a watch is trusted with it: whoever wrote last has then left the
// system call.
const pastCalm = 2 * time.Millisecond

// past is the reading end of a pipe that is the process's stdout or stderr. Its fields are guarded by the outlet's mu.
type past struct {
	name  string // stdout or stderr
	file  *os.File
	fd    int
	watch *watch // nil where the system has none
	armed bool   // the watch tells when something comes
	came  time.Time
	over  bool // nobody is to wait for it any more
}

// CatchPast makes the outlet take in what bypasses it: text written directly to the process's stdout and stderr, as output of the latest
// cell. The files are the non-blocking reading ends of the two pipes. They belong to the outlet until stop returns, which closes them.
func (o *Outlet) CatchPast(stdout, stderr *os.File) (stop func(), err error) {
	var pasts []*past
	for i, name := range []string{"stdout", "stderr"} {
		p, err := newPast(name, []*os.File{stdout, stderr}[i])
		if err != nil {
			return nil, err
		}
		pasts = append(pasts, p)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.past, o.pastBuffer = pasts, make([]byte, pastSize)
	var readers sync.WaitGroup
	for _, p := range pasts {
		readers.Go(func() { o.readPast(p) })
	}
	return func() { o.stopPast(); readers.Wait() }, nil
}

func newPast(name string, file *os.File) (*past, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	p := &past{name: name, file: file, came: time.Now()}
	if err := raw.Control(func(fd uintptr) { p.fd = int(fd) }); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := file.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("read %s: not a pipe that can be waited for: %w", name, err)
	}
	p.watch = newWatch(p.fd)
	return p, nil
}

// stopPast ends the readers, after what has come.
func (o *Outlet) stopPast() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.takePast()
	for _, p := range o.past {
		p.over = true
		_ = p.file.SetReadDeadline(time.Unix(1, 0)) // newPast has seen that it takes one
		p.watch.close()
	}
	o.past = nil
	o.signal()
}

// readPast takes in what comes while nothing else does, as far as there is room, until the pipe is stopped.
func (o *Outlet) readPast(p *past) {
	defer p.file.Close()
	raw, err := p.file.SyscallConn()
	for err == nil {
		err = raw.Read(func(uintptr) (came bool) { return o.takeWhenRoom(p) })
	}
}

// takeWhenRoom takes in what stands in a pipe, once there is room for it; false where that is nothing.
func (o *Outlet) takeWhenRoom(p *past) (came bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !p.over && !o.closed && o.room() <= 0 {
		if o.credit() {
			_ = o.pump(pumpWhole) // a dead kernel is seen by the reader
			if o.room() > 0 {
				break
			} // what credit is left may be too little for the next rune
		}
		changed := o.changed
		o.mu.Unlock()
		<-changed
		o.mu.Lock()
	}
	if p.over {
		return false // the deadline ends the wait
	}
	return o.take(p)
}

// takePast takes in what was written past the outlet until now. It asks for no room: a pipe holds little, and who calls it has room of
// its own.
func (o *Outlet) takePast() {
	for _, p := range o.past {
		if !p.armed || p.watch.rang() {
			o.take(p)
		}
	}
}

// take takes in what stands in a pipe, and has the pipe watched when nothing has come for a while: asking the system costs as much as a line.
func (o *Outlet) take(p *past) (came bool) {
	if came = o.readOnce(p); came || p.armed || p.watch == nil || time.Since(p.came) < pastCalm {
		return came
	}
	if p.armed = p.watch.arm(); !p.armed {
		p.watch.close()
		p.watch = nil
	}
	return o.readOnce(p) // what came before the watch began
}

func (o *Outlet) readOnce(p *past) (came bool) {
	var cell int64
	if r := attached.latest.Load(); r != nil {
		cell = r.Cell
	}
	from := source{cell, p.name}
	buffer := o.journal.stage(from) // this process may end as soon as the text is no longer in the pipe
	if buffer == nil {
		buffer = o.pastBuffer
	}
	n, err := syscall.Read(p.fd, buffer)
	for err == syscall.EINTR {
		n, err = syscall.Read(p.fd, buffer)
	}
	if n > 0 {
		p.armed, p.came = false, time.Now()
		if !o.closed {
			o.add(from, buffer[:n])
		}
	}
	o.journal.unstage(n)
	return n > 0
}
