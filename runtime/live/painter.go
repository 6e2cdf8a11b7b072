package live

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/runtime/display"
)

// painter replaces one output in place, not too often. Where a value comes too early it waits, with the latest in its place,
// for a goroutine that lives until it is shown. That goroutine is started by whoever offers the value, not by a timer: so it
// belongs to the same cell, and the update with it.
type painter struct {
	id string

	mu      sync.Mutex
	waiting func() any // what to show next; nil when all is shown
	due     time.Time  // not before
	running bool       // a goroutine waits
	closed  bool
	stop    chan struct{} // closed by close
	wg      sync.WaitGroup

	paint sync.Mutex // held while something is drawn and sent, so that updates keep their order
	shown bool       // under paint
	text  string     // under paint: what was printed last
}

// newPainter returns a painter that shows nothing before delay has passed.
func newPainter(delay time.Duration) *painter {
	return &painter{id: "live-" + rand.Text(), due: time.Now().Add(delay), stop: make(chan struct{})}
}

// offer shows what value returns, at once if it is time, else as soon as it is, unless something later takes its place.
func (p *painter) offer(value func() any) {
	if p.enqueue(value) {
		p.flush()
	}
}

// enqueue puts value in front and reports whether it is time to flush. It then moves the time, so that of many callers at
// once one flushes and the others wait.
func (p *painter) enqueue(value func() any) (now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.waiting = value
	if p.running {
		return false
	}
	wait := time.Until(p.due)
	if wait <= 0 {
		p.due = time.Now().Add(paintEvery)
		return true
	}
	p.running = true
	cancel := cellio.AtEnd(p.flush) // the pause may outlast the cell
	p.wg.Go(func() { defer cancel(); p.wait(wait) })
	return false
}

// wait flushes when the time has come, and again while values were offered meanwhile.
func (p *painter) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-timer.C:
		}
		p.flush()
		p.mu.Lock()
		if p.waiting == nil {
			p.running = false
			p.mu.Unlock()
			return
		}
		timer.Reset(time.Until(p.due))
		p.mu.Unlock()
	}
}

// flush shows what waits. The pause before the next starts after it: a value that takes long to draw is drawn less often.
func (p *painter) flush() {
	p.paint.Lock()
	defer p.paint.Unlock()
	p.mu.Lock()
	value := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	if value == nil {
		return
	}
	pause := p.send(contained(value))
	p.mu.Lock()
	p.due = time.Now().Add(pause)
	p.mu.Unlock()
}

// contained calls value. It may run on the painter's goroutine, where a panic would end the process, not the cell.
func contained(value func() any) (v any) {
	defer func() {
		if p := recover(); p != nil {
			v = fmt.Errorf("panic while drawing: %v", p)
		}
	}()
	return value()
}

// send shows v and returns how long to leave it.
func (p *painter) send(v any) (pause time.Duration) {
	d := display.Of(v)
	d.Transient.ID, d.Update = p.id, p.shown
	err := cellio.Emit(cellio.KindDisplay, d)
	p.shown = true
	switch {
	case errors.Is(err, cellio.ErrDetached):
		if text, _ := d.Data["text/plain"].(string); text != p.text {
			fmt.Println(text)
			p.text = text
		}
		return printEvery
	case err != nil && !errors.Is(err, cellio.ErrInterrupted): // else the cell ends, and says so
		fmt.Fprintf(cellio.Stderr, "live: %v\n", err)
	}
	return paintEvery
}

// close shows what waits, ends the goroutine and waits for it. Later offers are ignored.
func (p *painter) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.stop)
	p.mu.Unlock()
	p.wg.Wait()
	p.flush()
}
