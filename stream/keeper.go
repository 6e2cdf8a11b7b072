package stream

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cancha/stream/checkpoint"
	"cancha/stream/internal/changelog"
	"cancha/stream/internal/flow"
)

// keeper takes the snapshots of a run, and gives the rows of each epoch to the sinks once its snapshot is safe. The nil keeper is that of a query
// without a checkpoint.
//
// An epoch ends at a moment at which no batch is half handled (cut). What is taken then is encoded at once, so that the query can go on; it is
// written, and the sinks get their rows, beside the query. At most one epoch is on its way: the next one ends when that one is through.
type keeper struct {
	r     *Running
	place checkpoint.Place

	cut  sync.RWMutex  // held for reading while records are handled, for writing while a snapshot is taken; before all other locks
	full chan struct{} // the epoch should end before its time

	busy    atomic.Bool  // something has happened in this epoch
	backlog atomic.Int64 // bytes, about, of the rows that wait for the end of their epoch

	// Of the epoch that has begun; Running.publishing guards them.
	rows    [][]Value
	letters *Rows

	// Of the goroutine that ends epochs.
	header  checkpoint.Header // of the newest snapshot
	bases   [2]int64          // of it, and of the one before
	number  int64             // of the newest snapshot that there is
	sinks   []checkpoint.Sink // as they are now, those of dead letters behind the others
	portion int64             // records that the runs before have read for the MaxRecords of this one
	begun   int64             // records that were left of it when the run began
	reached bool              // it has been reached: what comes is another portion

	over   bool // the query had come to its end before this run
	viewed bool // what is given out now is for Results alone
	pause  time.Duration
	write  time.Duration
}

// Rows that wait for the end of their epoch end it when they take so many bytes, and twice as many stop the query until then. So does state that has
// changed in so many places.
const (
	mostBacklog = 32 << 20
	mostChanged = 200_000
)

// handling keeps snapshots from being taken until the function that it returns is called.
func (k *keeper) handling() func() {
	if k == nil {
		return func() {}
	}
	k.cut.RLock()
	return k.cut.RUnlock
}

// room waits while too many rows wait for the end of their epoch.
func (k *keeper) room(ctx context.Context) {
	if k.backlog.Load() < 2*mostBacklog {
		return
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for k.backlog.Load() >= 2*mostBacklog && ctx.Err() == nil && k.r.reading.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// hold keeps rows for the end of the epoch.
func (k *keeper) hold(rows [][]Value) {
	k.busy.Store(true)
	if k.viewed || len(k.r.query.sinks) == 0 {
		return
	}
	if k.r.query.mode == Complete {
		k.rows = rows
		return
	}
	k.rows = append(k.rows, rows...)
	k.wait(int64(len(rows)) * int64(40*len(k.r.graph.columns)))
}

// holdLetters keeps dead letters for the end of the epoch.
func (k *keeper) holdLetters(letters *Rows) {
	k.busy.Store(true)
	if k.viewed {
		return
	}
	if k.letters == nil {
		k.letters = NewRows(letters.Columns...)
	}
	for _, row := range letters.rows {
		k.letters.Append(row...)
		k.wait(int64(40*len(row) + len(row[len(row)-1].Text())))
	}
}

// wait counts bytes that wait, and ends the epoch if they are too many.
func (k *keeper) wait(bytes int64) {
	if k.backlog.Add(bytes) >= mostBacklog {
		k.hurry()
	}
}

func (k *keeper) hurry() {
	select {
	case k.full <- struct{}{}:
	default: // it is known
	}
}

// handled notes that a lane has taken records, and how many places of its state have changed.
func (k *keeper) handled(n *lane) {
	k.busy.Store(true)
	if kept := n.kept(); kept != nil && kept.Log().Changed() > mostChanged {
		k.hurry()
	}
}

// run ends epochs until ctx ends.
func (k *keeper) run(ctx context.Context) {
	ticker := time.NewTicker(k.r.query.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-k.full:
		}
		if k.r.broken() != nil {
			return
		}
		if err := k.epoch(false, false); err != nil {
			k.r.fail(err)
			return
		}
	}
}

// finish ends the last epoch of a run that ends in order.
func (k *keeper) finish(natural bool) error {
	switch {
	case k.over:
		return nil
	case natural:
		if err := k.r.drain(); err != nil {
			return err
		}
	case k.r.limited && k.r.remaining.Load() == 0:
		k.reached = true
	}
	if err := k.epoch(natural, true); err != nil {
		return err
	}
	if err := k.epoch(natural, k.header.Epoch > 0 && k.behind()); err != nil { // how far the sinks have come
		return err
	}
	if natural {
		return nil
	}
	k.viewed = true
	return k.r.drain()
}

// behind tells whether the newest snapshot does not know how far the sinks have come.
func (k *keeper) behind() bool {
	return !slices.EqualFunc(k.header.Sinks, k.sinks, func(a, b checkpoint.Sink) bool { return a.Epoch == b.Epoch && a.Name == b.Name })
}

// endedEpoch is an epoch that has ended.
type endedEpoch struct {
	snapshot checkpoint.Snapshot
	rows     [][]Value
	letters  *Rows
	locked   []*lane
}

// epoch ends an epoch: it takes a snapshot, keeps it, and gives the sinks their rows. An epoch in which nothing has happened goes on, unless it must end.
func (k *keeper) epoch(ended, must bool) error {
	began := time.Now()
	t := k.take(ended, must)
	if t == nil {
		return nil
	}
	k.pause = time.Since(began)
	pieces, err := t.snapshot.Encode()
	if err != nil {
		return err
	}
	h := t.snapshot.Header
	ctx := k.r.ctx
	if err := k.place.Write(ctx, h.Unit, h.Epoch, pieces); err != nil {
		return err
	}
	k.write = time.Since(began) - k.pause
	k.header, k.number = h, h.Epoch
	if err := k.give(ctx, h.Epoch, t.rows, t.letters); err != nil {
		return err
	}
	return k.forget(ctx, h.Base)
}

// give gives the sinks the rows of an epoch.
func (k *keeper) give(ctx context.Context, epoch int64, rows [][]Value, letters *Rows) error {
	q := k.r.query
	for i, sink := range append(slices.Clone(q.sinks), q.letters...) {
		of := &Rows{Columns: k.r.graph.columns, rows: rows, Total: int64(len(rows))}
		if i >= len(q.sinks) {
			of = letters
		}
		if of == nil || of.Len() == 0 || k.sinks[i].Epoch >= epoch {
			continue
		}
		if err := writeTo(ctx, sink, epoch, of.part(slices.Clone(of.rows))); err != nil {
			return fmt.Errorf("write the %d rows of epoch %d to %s: %w", of.Len(), epoch, describeSink(sink), err)
		}
		k.sinks[i].Epoch = epoch
		if s, ok := sink.(Resumer); ok {
			k.sinks[i].Position = s.Position()
		}
	}
	return nil
}

// forget removes the snapshots that neither the newest needs nor the one before.
func (k *keeper) forget(ctx context.Context, base int64) error {
	k.bases = [2]int64{base, k.bases[0]}
	epochs, err := k.place.List(ctx, k.header.Unit)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		if epoch < k.bases[1] {
			if err := k.place.Remove(ctx, k.header.Unit, epoch); err != nil {
				return err
			}
		}
	}
	return nil
}

// take takes a snapshot at a moment at which nothing is half done; nil if nothing has happened.
func (k *keeper) take(ended, must bool) *endedEpoch {
	k.cut.Lock()
	defer k.cut.Unlock()
	r := k.r
	if r.broken() != nil {
		return nil // a batch may have been handled whose rows are not given out
	}
	r.publishing.Lock()
	defer r.publishing.Unlock()
	r.graph.mu.Lock()
	defer r.graph.mu.Unlock()
	if !k.busy.Swap(false) && !must {
		return nil
	}
	t := &endedEpoch{rows: k.rows, letters: k.letters}
	k.rows, k.letters = nil, nil
	k.backlog.Store(0)
	h := k.header
	h.Previous, h.Epoch = h.Epoch, k.number+1
	h.Name, h.Time, h.Ended = r.query.name, time.Now().UTC(), ended
	h.Sinks, h.Portion = slices.Clone(k.sinks), k.counted()
	t.snapshot.Sections, h.Base = k.sections(h.Epoch, t)
	for _, n := range t.locked {
		n.mu.Unlock()
	}
	t.snapshot.Header = h
	return t
}

// counted is how many records count for the MaxRecords that has not been reached.
func (k *keeper) counted() int64 {
	if !k.r.limited || k.reached {
		return 0
	}
	return k.portion + k.begun - k.r.remaining.Load()
}

// part is a part of the state: a section of a snapshot. log may be nil.
type part struct {
	name string
	head func(dst []byte) []byte
	log  *changelog.Log
}

// sections encodes the state, on all cores, and tells which is the oldest snapshot that is still needed.
func (k *keeper) sections(epoch int64, t *endedEpoch) (sections []checkpoint.Section, base int64) {
	parts := k.parts(t)
	sections = make([]checkpoint.Section, len(parts))
	oldest := make([]int64, len(parts))
	var next atomic.Int64
	var encoding sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(parts)) {
		encoding.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
				sections[i], oldest[i] = parts[i].encode(epoch)
			}
		})
	}
	encoding.Wait()
	return sections, slices.Min(oldest)
}

func (p part) encode(epoch int64) (checkpoint.Section, int64) {
	b := checkpoint.AppendHead(nil, p.head(nil))
	if p.log == nil {
		return checkpoint.Section{Name: p.name, Bytes: b}, epoch
	}
	b = p.log.Write(b, epoch)
	return checkpoint.Section{Name: p.name, Bytes: b}, p.log.Oldest(epoch)
}

// parts are all parts of the state, and the rows of the epoch.
func (k *keeper) parts(t *endedEpoch) []part {
	r, g := k.r, k.r.graph
	parts := []part{{"times", k.times, nil}, {"results", r.results.Head, r.results.Log()}}
	for i, in := range g.inputs {
		for _, n := range r.of(in) {
			n.mu.Lock()
			t.locked = append(t.locked, n)
			parts = append(parts, part{laneName(i, n), n.head, n.log()})
		}
	}
	for name, kept := range g.states() {
		parts = append(parts, part{name, kept.Head, kept.Log()})
	}
	parts = append(parts, part{"rows", func(dst []byte) []byte { return appendRows(dst, t.rows) }, nil})
	if t.letters != nil {
		parts = append(parts, part{"letters", func(dst []byte) []byte { return appendRows(dst, t.letters.rows) }, nil})
	}
	return parts
}

// laneName is the section of a lane.
func laneName(input int, n *lane) string {
	return "lane " + strconv.Itoa(input) + " " + strconv.Itoa(n.partition) + " " + n.topic
}

// states are those behind the lanes, by the names of its sections.
func (g *graph) states() map[string]flow.Kept {
	kept := map[string]flow.Kept{}
	for i, s := range g.ops {
		if k, ok := s.Op.(flow.Kept); ok {
			kept["operator "+strconv.Itoa(i)] = k
		}
	}
	for i, t := range g.tables {
		kept["table "+strconv.Itoa(i)] = t
	}
	return kept
}

// times writes how far event time has come on each timeline.
func (k *keeper) times(dst []byte) []byte {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	for _, t := range k.r.graph.timelines {
		dst = changelog.AppendInt(changelog.AppendInt(dst, t.watermark), t.advanced)
		dst = changelog.AppendBool(dst, t.drained)
	}
	return dst
}

// kept is the state of a lane; nil where it has none.
func (n *lane) kept() flow.Kept {
	switch {
	case n.handler != nil && n.keeping != nil:
		return n.keeping
	case n.windows != nil:
		return n.windows
	}
	return nil
}

func (n *lane) log() *changelog.Log {
	if kept := n.kept(); kept != nil {
		return kept.Log()
	}
	return nil
}

// head writes how far a lane has come.
func (n *lane) head(dst []byte) []byte {
	dst = changelog.AppendInt(changelog.AppendText(dst, n.id), n.next)
	dst = n.clock.Append(dst)
	if kept := n.kept(); kept != nil {
		dst = kept.Head(dst)
	}
	return dst
}

// keep has the lane note what changes.
func (n *lane) keep() {
	if n.handler != nil {
		n.keeping = &handlerState{keeper: n.handler.(Keeper)}
	}
	if kept := n.kept(); kept != nil {
		kept.Keep()
	}
}
