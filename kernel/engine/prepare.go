package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// errPreparing answers questions while there is no engine yet.
var errPreparing = errors.New("the engine is being prepared; run a cell to see how far it is")

const (
	// quiet is how long a cell waits for its engine before it says so.
	quiet = 300 * time.Millisecond
	// askPatience is how long a question waits. With a longer wait the user would have typed on before the answer, and jupyter console
	// takes no answer after a second.
	askPatience = 500 * time.Millisecond
)

// preparation is what has to be done before the first engine can start. It runs once, in a goroutine of its own that ends
// with it, at the latest when it is cancelled.
type preparation struct {
	done   chan struct{} // closed when it is over
	cancel context.CancelFunc

	mu      sync.Mutex
	line    string        // what it told last
	changed chan struct{} // closed at the next line
}

// prepare runs f and then, unless f is nil, next.
func prepare(f func(context.Context, func(string)), next func()) *preparation {
	ctx, cancel := context.WithCancel(context.Background())
	p := &preparation{done: make(chan struct{}), cancel: cancel, changed: make(chan struct{})}
	if f == nil {
		next()
		close(p.done)
		return p
	}
	go func() {
		f(ctx, p.say)
		next()
		close(p.done)
	}()
	return p
}

func (p *preparation) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line != p.line {
		p.line = line
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

func (p *preparation) told() (line string, changed chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line, p.changed
}

func (p *preparation) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait returns when the preparation is over, or with an error that an interrupt or ctx has caused. What is told meanwhile is shown
// in place, as the cell's error output.
func (p *preparation) wait(ctx context.Context, interrupted <-chan struct{}, show func(text string)) error {
	if p.over() {
		return nil
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	case <-interrupted:
		return errInterrupted
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.watch(ctx, interrupted, &inPlace{show: show})
}

func (p *preparation) watch(ctx context.Context, interrupted <-chan struct{}, line *inPlace) error {
	defer line.end()
	for {
		text, changed := p.told()
		line.set(text)
		select {
		case <-changed:
		case <-p.done:
			text, _ = p.told()
			line.set(text)
			return nil
		case <-interrupted:
			return errInterrupted
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errInterrupted ends the wait of a cell that was interrupted.
var errInterrupted = errors.New("the cell was interrupted while its engine was being prepared, which goes on: run it again")

// inPlace writes lines over one another, as front ends and terminals show a carriage return.
type inPlace struct {
	show  func(string)
	shown string
}

func (l *inPlace) set(text string) {
	if text == l.shown {
		return
	}
	pad := max(0, len([]rune(l.shown))-len([]rune(text)))
	back := ""
	if l.shown != "" {
		back = "\r"
	}
	l.show(back + text + strings.Repeat(" ", pad))
	l.shown = text
}

func (l *inPlace) end() {
	if l.shown != "" {
		l.show("\n")
	}
}

// await waits in a cell until an engine serves; the error is the cell's.
func (e *Engine) await(ctx context.Context, interrupted <-chan struct{}, cellID int64) (*process, *cell.Error) {
	err := e.checkFirst()
	if err == nil {
		err = e.preparation.wait(ctx, interrupted, func(text string) { e.tell(cellID, text) })
	}
	var p *process
	if err == nil {
		p, err = e.ready(ctx, interrupted)
	}
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, errInterrupted):
		return nil, failed("interrupted", err.Error()).Err
	case errors.Is(err, errSettings):
		return nil, failed("engine error", "no engine starts with "+err.Error()).Err
	}
	return nil, failed("engine error", err.Error()).Err
}

// tell writes a cell's error output on the kernel's behalf.
func (e *Engine) tell(cellID int64, text string) {
	body, _ := json.Marshal(cellio.Stream{Name: "stderr", Text: text}) // strings always marshal
	e.config.Sink(cellio.Frame{Kind: cellio.KindStream, Cell: cellID, Body: body})
}

// awaitBriefly waits for an engine on behalf of a question, which is not worth much later.
func (e *Engine) awaitBriefly(ctx context.Context) error {
	timer := time.NewTimer(askPatience)
	defer timer.Stop()
	select {
	case <-e.preparation.done:
		return nil
	case <-timer.C:
		return errPreparing
	case <-ctx.Done():
		return ctx.Err()
	}
}
