package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// ErrHeld tells that another process has the folder open. It may serve it (Dial); or wait for its end.
var ErrHeld = disk.ErrHeld

// Options are settings of Open. The zero value is good.
type Options struct {
	// MaxBytes is how large the file becomes, about, before queue.ErrFull: the last sixteenth may be missing, settling may need 8 MB more,
	// and what is there already stays. 0: as the disk allows. Room of messages that are done is used again, and never given back to the
	// disk.
	MaxBytes int
	// Logger is told what nobody is there to be told: a queue that has expired, a disk that fails while nobody waits for it. nil: silence.
	Logger *slog.Logger
}

// Broker keeps queues in a file. It implements queue.Broker; Open makes one.
type Broker struct {
	folder  string
	logger  *slog.Logger
	hold    *disk.Hold
	file    *file
	commits *committer
	writer  sync.WaitGroup // the committer's goroutine
	clock   sync.WaitGroup // keepTime
	wake    chan struct{}  // of keepTime, with room for one

	mu     sync.Mutex // never held while the disk is waited for
	lines  map[string]*line
	topics map[string]map[*listener]struct{}
	closed bool
	ended  chan struct{} // closed by Close, when all is done
	err    error         // of Close
}

// Open opens the queues in a folder, which is made where it is not there, with its user's rights alone. The error is ErrHeld where another
// process has it open.
func Open(folder string, o Options) (*Broker, error) {
	b, err := open(folder, o)
	if errors.Is(err, ErrHeld) {
		return nil, fmt.Errorf("jobs/local: open %s: %w; reach it by local.Dial, or end it", folder, err)
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/local: open %s: %w", folder, err)
	}
	return b, nil
}

func open(folder string, o Options) (b *Broker, err error) {
	if err := disk.MakeFolder(folder); err != nil {
		return nil, err
	}
	b = &Broker{folder: folder, logger: o.Logger, wake: make(chan struct{}, 1), lines: map[string]*line{},
		topics: map[string]map[*listener]struct{}{}, ended: make(chan struct{})}
	if b.hold, err = disk.TakeHold(folder); err != nil {
		return nil, err
	}
	if b.file, err = openFile(folder, o.MaxBytes); err != nil {
		return nil, errors.Join(err, b.hold.Release())
	}
	b.commits = newCommitter(b.file, &b.mu)
	if err := b.load(); err != nil {
		return nil, errors.Join(err, b.file.close(), b.hold.Release())
	}
	b.writer.Go(b.commits.run)
	b.clock.Go(b.keepTime)
	return b, nil
}

// load makes the index. What was in hand when the last process ended is ready, or has been handed out too often.
func (b *Broker) load() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	return b.file.load(now, func(spec queue.Spec) { b.lines[spec.Name] = newLine(spec, now) },
		func(name string, seq uint64, priority int, m mark) {
			l, e := b.lines[name], &entry{seq, priority, m}
			if e.due.After(now) {
				l.delay(e)
			} else {
				b.back(l, e)
			}
		})
}

// Declare implements queue.Broker. A queue that is there becomes what the Spec says; there are no notes.
func (b *Broker) Declare(ctx context.Context, s queue.Spec) (notes []string, err error) {
	if err := b.declare(ctx, s); err != nil {
		return nil, fmt.Errorf("jobs/local: declare %q: %w", s.Name, err)
	}
	return nil, nil
}

func (b *Broker) declare(ctx context.Context, s queue.Spec) error {
	if err := s.Check(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.mu.Lock()
	if l := b.lines[s.Name]; l != nil {
		l.unused = time.Now() // it does not expire between this and the next call
	}
	b.mu.Unlock()
	return <-b.commits.submit(&declare{b, s})
}

// Publish implements queue.Broker: the messages of one call come into the file together or not at all. They stay in memory until they are there.
func (b *Broker) Publish(ctx context.Context, name string, messages ...queue.Message) error {
	if err := b.publish(ctx, name, messages); err != nil {
		return fmt.Errorf("jobs/local: publish to %q: %w", name, err)
	}
	return nil
}

func (b *Broker) publish(ctx context.Context, name string, messages []queue.Message) error {
	c := &publish{b: b, name: name}
	for i := range messages {
		if err := messages[i].Check(); err != nil {
			return err
		}
		record, err := encodeRecord(&messages[i], nil)
		if err != nil {
			return err
		}
		c.records, c.priorities, c.bytes = append(c.records, record), append(c.priorities, messages[i].Priority), c.bytes+len(record)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case err := <-b.commits.submit(c):
		return err
	case <-ctx.Done():
		return fmt.Errorf("it may be there: %w", context.Cause(ctx))
	}
}

// Inspect implements queue.Broker; it knows all counts.
func (b *Broker) Inspect(ctx context.Context, name string) (queue.Info, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, err := b.find(ctx, name)
	if err != nil {
		return queue.Info{}, fmt.Errorf("jobs/local: inspect %q: %w", name, err)
	}
	info := queue.Info{Ready: l.count, Delayed: l.delayed.Len(), InHand: l.inHand}
	for c := range l.consumers {
		if !c.stopped {
			info.Consumers++
		}
	}
	return info, nil
}

// find returns a queue; mu is held.
func (b *Broker) find(ctx context.Context, name string) (*line, error) {
	switch l := b.lines[name]; {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case b.closed:
		return nil, queue.ErrClosed
	case l == nil:
		return nil, queue.ErrUnknownQueue
	default:
		return l, nil
	}
}

// ensureLine returns a queue, and makes it where it is not there; mu is held.
func (b *Broker) ensureLine(spec queue.Spec) *line {
	if b.lines[spec.Name] == nil {
		b.lines[spec.Name] = newLine(spec, time.Now())
	}
	return b.lines[spec.Name]
}

// serve hands out what is ready to those who wait and may take more; mu is held.
func (b *Broker) serve(l *line) {
	for i := 0; i < len(l.waiting) && l.count > 0 && !b.closed; {
		w := l.waiting[i]
		if len(w.c.inHand) >= w.c.prefetch {
			i++
			continue
		}
		e := l.pop()
		if l.worn(e) { // the limit was higher when it came back
			b.back(l, e)
			continue
		}
		l.waiting = slices.Delete(l.waiting, i, i+1)
		w.got <- b.handOut(w.c, e)
	}
}

func (b *Broker) handOut(c *consumer, e *entry) *handed {
	e.count++
	h := &handed{c: c, line: c.line, entry: e, count: e.count}
	c.inHand[h] = struct{}{}
	c.line.inHand++
	b.commits.submit(&note{h, mark{count: e.count}.encode(0)})
	return h
}

// back takes an entry back that nobody has in hand any more; mu is held.
func (b *Broker) back(l *line, e *entry) {
	switch {
	case l.gone:
	case l.worn(e):
		b.commits.submit(&bury{b: b, line: l, entry: e, reason: queue.ReasonLimit})
	default:
		l.push(e)
		b.serve(l)
	}
}

// trim has those messages dropped by which a queue is too long; mu is held.
func (b *Broker) trim(l *line) {
	if all := l.surplus(); len(all) > 0 {
		b.commits.submit(&drop{b, l, all})
	}
}

// stillExpired is asked by the writer, when a queue is about to be removed.
func (b *Broker) stillExpired(l *line) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !l.gone && l.expired(time.Now())
}

// signal has keepTime look again.
func (b *Broker) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// keepTime makes ready what is due, and removes queues that have expired, until Close.
func (b *Broker) keepTime() {
	for {
		wait, closed := b.tick(time.Now())
		if closed {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-b.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// longWait is how long keepTime waits where nothing is to be done: it is told of everything new.
const longWait = time.Hour

func (b *Broker) tick(now time.Time) (wait time.Duration, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait = longWait
	for name, l := range b.lines {
		l.due(now)
		b.serve(l)
		if l.expired(now) && !l.ending {
			l.ending = true
			b.commits.submit(&expire{b: b, line: l})
			b.log("a queue has expired", "queue", name)
		}
		if at := l.next(); !at.IsZero() {
			wait = min(wait, max(at.Sub(now), 0))
		}
	}
	return wait, b.closed
}

func (b *Broker) log(text string, args ...any) {
	if b.logger != nil {
		b.logger.Info("jobs/local: "+text, args...)
	}
}

// Close implements queue.Broker. What was handed over before is written. A second call waits for the first one, and returns its error.
func (b *Broker) Close() error {
	if !b.beginClose() {
		<-b.ended
		return b.err
	}
	b.signal()
	b.clock.Wait()
	b.commits.close()
	b.writer.Wait()
	if err := errors.Join(b.file.close(), b.hold.Release()); err != nil {
		b.err = fmt.Errorf("jobs/local: close %s: %w", b.folder, err)
	}
	close(b.ended)
	return b.err
}

// beginClose ends consumers and listeners. From then on nothing is handed out.
func (b *Broker) beginClose() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	for _, l := range b.lines {
		for c := range l.consumers {
			c.end()
		}
	}
	for _, all := range b.topics {
		for l := range all {
			l.end()
		}
	}
	return true
}
