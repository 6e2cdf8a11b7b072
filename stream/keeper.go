package stream

import (
	"context"
	"errors"
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
	r      *Running
	place  checkpoint.Place
	id     string // of a checkpoint that is begun
	shared bool   // partitions go from process to process: each is a unit

	cut     sync.RWMutex  // held for reading while records are handled, for writing while snapshots are taken; before all other locks but ending
	ending  sync.Mutex    // held by whoever ends an epoch; before cut
	full    chan struct{} // the epoch should end before its time
	backlog atomic.Int64  // bytes, about, of the rows that wait for the end of their epoch

	over    bool         // the query had come to its end before this run
	reached bool         // MaxRecords has been reached: what comes is another portion
	done    atomic.Bool  // the run before had reached its MaxRecords: this one ends if nothing has come since
	pause   atomic.Int64 // nanoseconds for which the last snapshot stopped the query
	write   atomic.Int64 // and that it took to write it
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
func (k *keeper) hold(u *unit, rows [][]Value) {
	u.busy.Store(true)
	if len(k.r.query.sinks) == 0 {
		return
	}
	if k.r.query.mode == Complete {
		u.rows = rows
		return
	}
	u.rows = append(u.rows, rows...)
	k.wait(int64(len(rows)) * int64(40*len(k.r.graph.columns)))
}

// holdLetters keeps dead letters for the end of the epoch.
func (k *keeper) holdLetters(u *unit, letters *Rows) {
	u.busy.Store(true)
	if u.letters == nil {
		u.letters = NewRows(letters.Columns...)
	}
	for _, row := range letters.rows {
		u.letters.Append(row...)
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

// handled notes that a lane has taken records.
func (k *keeper) handled(n *lane, records int) {
	n.unit.busy.Store(true)
	n.unit.handled.Add(int64(records))
	k.done.Store(false)
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
	default:
		k.reached = k.r.limited && k.r.remaining.Load() <= 0
	}
	if err := k.epoch(natural, true); err != nil {
		return err
	}
	if slices.ContainsFunc(k.r.parts(), (*unit).behind) { // the newest snapshots do not know that their sinks have their rows
		if err := k.epoch(natural, true); err != nil {
			return err
		}
	}
	if natural {
		return nil
	}
	return k.r.look()
}

// behind tells whether the newest snapshot does not know how far the sinks have come.
func (u *unit) behind() bool {
	return !slices.EqualFunc(u.header.Sinks, u.sinks, func(a, b checkpoint.Sink) bool { return a.Epoch == b.Epoch && a.Name == b.Name })
}

// endedEpoch is an epoch of a unit that has ended.
type endedEpoch struct {
	unit     *unit
	snapshot checkpoint.Snapshot
	parts    []part
	rows     [][]Value
	letters  *Rows
	next     map[*lane]int64 // offsets up to which it reaches
	err      error           // of writing it
}

// epoch ends an epoch: it takes snapshots, keeps them, and gives the sinks their rows. An epoch in which nothing has happened goes on, unless it must end.
func (k *keeper) epoch(ended, must bool) error {
	k.ending.Lock()
	defer k.ending.Unlock()
	began := time.Now()
	all := k.take(ended, must)
	if len(all) == 0 {
		return nil
	}
	k.pause.Store(int64(time.Since(began)))
	began = time.Now()
	k.keepAll(all)
	k.write.Store(int64(time.Since(began)))
	var failed error
	for _, e := range all {
		failed = errors.Join(failed, k.through(e))
	}
	return failed
}

// writers is how many snapshots are written at once.
const writers = 8

// keepAll writes snapshots.
func (k *keeper) keepAll(all []*endedEpoch) {
	var next atomic.Int64
	var writing sync.WaitGroup
	for range min(writers, len(all)) {
		writing.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
				all[i].err = k.keep(&all[i].snapshot)
			}
		})
	}
	writing.Wait()
}

func (k *keeper) keep(s *checkpoint.Snapshot) error {
	pieces, err := s.Encode()
	if err != nil {
		return err
	}
	return k.place.Write(k.r.ctx, s.Header.Unit, s.Header.Epoch, pieces)
}

// through ends an epoch whose snapshot has been written.
func (k *keeper) through(e *endedEpoch) error {
	u, h := e.unit, e.snapshot.Header
	if k.shared && errors.Is(e.err, checkpoint.ErrTaken) {
		u.lost.Store(true) // it is another process's, which gives out what this one would have
		return nil
	}
	if e.err != nil {
		return e.err
	}
	before := u.header.Base
	u.header, u.number = h, h.Epoch
	if err := k.give(u, e.rows, e.letters); k.shared && errors.Is(err, ErrTakenOver) {
		u.lost.Store(true)
		return nil
	} else if err != nil {
		return err
	}
	for n, next := range e.next {
		n.safe.Store(next)
	}
	return k.forget(u, before)
}

// give gives the sinks the rows of a unit's newest epoch, those that do not have them.
func (k *keeper) give(u *unit, rows [][]Value, letters *Rows) error {
	q, epoch := k.r.query, u.header.Epoch
	for i, sink := range append(slices.Clone(q.sinks), q.letters...) {
		of := &Rows{Columns: k.r.graph.columns, rows: rows, Total: int64(len(rows))}
		if i >= len(q.sinks) {
			of = letters
		}
		if of == nil || of.Len() == 0 || u.sinks[i].Epoch >= epoch {
			continue
		}
		of = of.part(slices.Clone(of.rows))
		of.Unit = u.name
		if err := writeTo(k.r.ctx, sink, epoch, of); err != nil {
			return fmt.Errorf("write the %d rows of epoch %d to %s: %w", of.Len(), epoch, describeSink(sink), err)
		}
		u.sinks[i].Epoch = epoch
		if s, ok := sink.(Resumer); ok {
			u.sinks[i].Position = s.Position()
		}
	}
	return nil
}

// forget removes the snapshots that neither the newest needs nor the one before, which needs those from base on.
func (k *keeper) forget(u *unit, base int64) error {
	if base <= u.kept {
		return nil
	}
	epochs, err := k.place.List(k.r.ctx, u.name)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		if epoch < base {
			if err := k.place.Remove(k.r.ctx, u.name, epoch); err != nil {
				return err
			}
		}
	}
	u.kept = base
	return nil
}

// take takes snapshots of the units in which something has happened, at a moment at which nothing is half done.
func (k *keeper) take(ended, must bool) (all []*endedEpoch) {
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
	for _, u := range r.parts() {
		if !u.lost.Load() && (u.busy.Swap(false) || must) {
			all = append(all, &endedEpoch{unit: u, rows: u.rows, letters: u.letters, next: map[*lane]int64{}})
			u.rows, u.letters = nil, nil
		}
	}
	k.backlog.Store(0)
	k.encode(all, ended)
	return all
}

// encode makes the snapshots, on all cores.
func (k *keeper) encode(all []*endedEpoch, ended bool) {
	var work []func()
	for _, e := range all {
		u, h := e.unit, e.unit.header
		h.Previous, h.Epoch = h.Epoch, u.number+1
		h.Name, h.Time, h.Ended, h.Reached = k.r.query.name, time.Now().UTC(), ended, k.reached || k.done.Load()
		h.Sinks, h.Portion = slices.Clone(u.sinks), k.counted(u)
		e.parts = k.parts(e)
		e.snapshot = checkpoint.Snapshot{Header: h, Sections: make([]checkpoint.Section, len(e.parts))}
		for i, p := range e.parts {
			work = append(work, func() { e.snapshot.Sections[i] = p.encode(h.Epoch) })
		}
	}
	var next atomic.Int64
	var encoding sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		encoding.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(work); i = int(next.Add(1)) - 1 {
				work[i]()
			}
		})
	}
	encoding.Wait()
	for _, e := range all {
		h := &e.snapshot.Header
		h.Base = h.Epoch
		for _, p := range e.parts {
			if p.log != nil {
				h.Base = min(h.Base, p.log.Oldest(h.Epoch))
			}
			if p.lane != nil {
				e.next[p.lane] = p.lane.next
			}
		}
	}
}

// counted is how many records count for the MaxRecords that has not been reached.
func (k *keeper) counted(u *unit) int64 {
	if !k.r.limited || k.reached {
		return 0
	}
	return u.handled.Load()
}

// part is a part of the state: a section of a snapshot. log may be nil.
type part struct {
	name string
	head func(dst []byte) []byte
	log  *changelog.Log
	lane *lane // whose lock is to be held; nil: that of the graph is
}

func (p part) encode(epoch int64) checkpoint.Section {
	if p.lane != nil {
		p.lane.mu.Lock()
		defer p.lane.mu.Unlock()
	}
	b := checkpoint.AppendHead(nil, p.head(nil))
	if p.log != nil {
		b = p.log.Write(b, epoch)
	}
	return checkpoint.Section{Name: p.name, Bytes: b}
}

// parts are all parts of a unit's state, and the rows of the epoch.
func (k *keeper) parts(e *endedEpoch) []part {
	r, u := k.r, e.unit
	parts := []part{{name: "results", head: u.results.Head, log: u.results.Log()}}
	for i, in := range r.graph.inputs {
		for _, n := range r.of(in) {
			if n.unit == u {
				parts = append(parts, part{"lane " + strconv.Itoa(i) + " " + laneName(Partition{n.topic, n.partition}), n.head, n.log(), n})
			}
		}
	}
	if !k.shared {
		parts = append(parts, part{name: "times", head: k.times})
		for name, kept := range r.graph.states() {
			parts = append(parts, part{name: name, head: kept.Head, log: kept.Log()})
		}
	}
	parts = append(parts, part{name: "rows", head: func(dst []byte) []byte { return appendRows(dst, e.rows) }})
	if e.letters != nil {
		parts = append(parts, part{name: "letters", head: func(dst []byte) []byte { return appendRows(dst, e.letters.rows) }})
	}
	return parts
}

// laneName is a partition as snapshots name it.
func laneName(p Partition) string { return strconv.Itoa(p.ID) + " " + p.Topic }

// states are those behind the lanes, by the names of their sections.
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
