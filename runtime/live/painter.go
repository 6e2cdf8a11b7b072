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
// for a goroutine that lives until it is shown, and for the end of its cell. That goroutine is started by whoever offers the value,
// not by a timer: so it belongs to the same cell, and the update with it. Where several cells offer, each has a goroutine of its
// own, which shows nothing of another's: of a cell that has ended front ends take no update any more.
type painter struct {
	id string

	mu      sync.Mutex           // taken after paint, if both are
	waiting func() any           // what to show next; nil when all is shown
	owner   *cellio.Run          // whose it is
	due     time.Time            // not before
	waiters map[*cellio.Run]bool // whose goroutines wait
	closed  bool
	stop    chan struct{} // closed by close
	wg      sync.WaitGroup

	paint sync.Mutex // held while something is drawn and sent, so that updates keep their order
	shown bool       // under paint
	text  string     // under paint: what was printed last
}

// newPainter returns a painter that shows nothing before delay has passed.
func newPainter(delay time.Duration) *painter {
	return &painter{
		id: "live-" + rand.Text(), due: time.Now().Add(delay), waiters: map[*cellio.Run]bool{}, stop: make(chan struct{}),
	}
}

// offer shows what value returns, at once if it is time, else as soon as it is, unless something later takes its place.
func (p *painter) offer(value func() any) {
	run := cellio.CurrentRun()
	if p.enqueue(run, value) {
		p.flush(run)
	}
}

// enqueue puts value in front and reports whether it is time to flush. It then moves the time, so that of many callers at
// once one flushes and the others wait.
func (p *painter) enqueue(run *cellio.Run, value func() any) (now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.waiting, p.owner = value, run
	if !p.waiters[run] && time.Until(p.due) <= 0 {
		p.due = time.Now().Add(paintEvery)
		return true
	}
	p.hold(run)
	return false
}

// hold has what waits shown when it is time, and at the end of its cell if that comes first. The caller holds the lock.
func (p *painter) hold(run *cellio.Run) {
	if p.waiters[run] && !p.closed {
		return
	}
	cancel := cellio.AtEnd(func() { p.flush(run) })
	if p.closed {
		return // no goroutine is waited for any more
	}
	p.waiters[run] = true
	p.wg.Go(func() {
		defer cancel()
		returned := false
		defer func() {
			if !returned { // a value has ended the goroutine as it was drawn
				p.gone(run)
			}
		}()
		p.wait(run)
		returned = true
	})
}

// wait flushes when the time has come, and again while the run has offered something meanwhile.
func (p *painter) wait(run *cellio.Run) {
	for {
		pause, more := p.pause(run)
		switch {
		case !more:
			return
		case pause <= 0:
			p.flush(run)
			continue
		}
		select {
		case <-p.stop:
			p.flush(run)
			return
		case <-time.After(pause):
		}
	}
}

// gone notes that no goroutine waits for a run.
func (p *painter) gone(run *cellio.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiters, run)
}

// pause is how long what the run has offered is to wait. Where there is no more of it, its goroutine is to end.
func (p *painter) pause(run *cellio.Run) (pause time.Duration, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil || p.owner != run {
		delete(p.waiters, run)
		return 0, false
	}
	return time.Until(p.due), true
}

// flush shows what waits, if it is the run's. The pause before the next starts after it: a value that takes long to draw is drawn
// less often. What an interrupt keeps from leaving waits again.
func (p *painter) flush(run *cellio.Run) {
	p.paint.Lock()
	defer p.paint.Unlock()
	value := p.take(run)
	if value == nil {
		return
	}
	v := contained(value)
	pause, sent := p.send(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = time.Now().Add(pause)
	if !sent && p.waiting == nil {
		p.waiting, p.owner = func() any { return v }, run
		p.hold(run)
	}
}

// take takes what waits out, if it is the run's.
func (p *painter) take(run *cellio.Run) (value func() any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner == run {
		value, p.waiting = p.waiting, nil
	}
	return value
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

// send shows v and returns how long to leave it. It is not sent where an interrupt came first.
func (p *painter) send(v any) (pause time.Duration, sent bool) {
	d := display.Of(v)
	d.Transient.ID, d.Update = p.id, p.shown
	err := cellio.Emit(cellio.KindDisplay, d)
	switch {
	case err == nil:
		p.shown = true
	case errors.Is(err, cellio.ErrDetached):
		p.print(d)
		return printEvery, true
	case errors.Is(err, cellio.ErrInterrupted): // the cell ends, and says so
		return paintEvery, false
	default:
		fmt.Fprintf(cellio.Stderr, "live: %v\n", err)
	}
	return paintEvery, true
}

// print shows d where there is no front end.
func (p *painter) print(d cellio.Display) {
	if text, _ := d.Data["text/plain"].(string); text != p.text {
		fmt.Println(text)
		p.text = text
	}
}

// close shows what waits, ends the goroutines and waits for them. Later offers are ignored.
func (p *painter) close() {
	run := cellio.CurrentRun()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	if run != nil && (p.owner == nil || p.owner.Cell < run.Cell) {
		p.owner = run // front ends listen to the later of two cells, if to any
	}
	close(p.stop)
	p.mu.Unlock()
	p.wg.Wait()
	p.flush(run)
}
