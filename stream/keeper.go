package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cancha/internal/callback"
	"cancha/stream/checkpoint"
)

// keeper takes the snapshots of a run, and gives the rows of each epoch to the sinks once its snapshot is safe. The nil keeper is that of a query
// without a checkpoint.
//
// An epoch ends at a moment at which no batch is half handled (cut). What the state is then is encoded and written, and the sinks get their rows, beside
// the query, which goes on (package changelog). At most one epoch is on its way: the next one ends when that one is through.
type keeper struct {
	r      *Running
	place  checkpoint.Place
	id     string // of a checkpoint that is begun
	shared bool   // partitions go from process to process: each is a unit
	opened []bool // by their places in outlets: sinks that this run has opened, for whichever unit first, and has to close; ending guards it

	cut     sync.RWMutex  // held for reading while records are handled, for writing while snapshots are taken; before all other locks but ending
	ending  sync.Mutex    // held by whoever ends an epoch, or takes a partition over; before cut
	full    chan struct{} // the epoch should end before its time
	backlog atomic.Int64  // bytes, about, of the rows that wait for the end of their epoch

	over    bool                      // the query had come to its end before this run
	reached bool                      // MaxRecords has been reached: what comes is another portion
	done    atomic.Bool               // the run before had reached its MaxRecords: this one ends if nothing has come since
	begun   atomic.Pointer[time.Time] // when the epoch that is on its way was begun; nil: none is
	pause   atomic.Int64              // nanoseconds for which the last snapshot stopped the query
	write   atomic.Int64              // and that it took to write it
}

// Rows that wait for the end of their epoch end it when they take so many bytes, and twice as many stop the query until then.
const mostBacklog = 32 << 20

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
		k.countElsewhere()
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
	for _, u := range k.r.parts() {
		if u.lost.Load() {
			k.r.note("Another process has gone on with " + u.name + ": what is left of it is that one's to give out.")
		}
	}
	if natural {
		return nil
	}
	return k.r.look()
}

// behind tells whether the newest snapshot does not know how far the sinks have come.
func (u *unit) behind() bool {
	return !slices.EqualFunc(u.header.Sinks, u.sinks, func(a, b checkpoint.Sink) bool { return a.Epoch == b.Epoch && a.Run == b.Run && a.Name == b.Name })
}

// endedEpoch is an epoch of a unit that has ended.
type endedEpoch struct {
	unit     *unit
	header   checkpoint.Header
	parts    []*part
	snapshot checkpoint.Snapshot
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
	k.begun.Store(&began)
	defer k.begun.Store(nil)
	all := k.take(ended, must)
	if len(all) == 0 {
		return nil
	}
	k.pause.Store(int64(time.Since(began)))
	writing := time.Now()
	k.encode(all)
	if err := k.fault(all); err != nil {
		return err // a snapshot that lacks a part of the state is none
	}
	k.keepAll(all)
	k.write.Store(int64(time.Since(writing)))
	var failed error
	for _, e := range all {
		failed = errors.Join(failed, k.through(e))
	}
	return failed
}

// fault is the error of a function of the user's that was asked for its state, if there was one.
func (k *keeper) fault(all []*endedEpoch) error {
	for _, e := range all {
		for _, p := range e.parts {
			if p.lane != nil && p.lane.keeping != nil && p.lane.keeping.fault != nil {
				return p.lane.keeping.fault
			}
		}
	}
	return k.r.graph.fault()
}

// age is for how long an epoch has been on its way: a sink that takes its rows, or the place of its snapshot, may hold it up, while the query reads on and
// reports. 0: none is.
func (k *keeper) age() time.Duration {
	if k == nil {
		return 0
	}
	if began := k.begun.Load(); began != nil {
		return time.Since(*began)
	}
	return 0
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
				all[i].err = k.r.stoppable(func() error { return k.keep(&all[i].snapshot) })
			}
		})
	}
	writing.Wait()
}

func (k *keeper) keep(s *checkpoint.Snapshot) (err error) {
	defer k.placed(&err)
	pieces, err := s.Encode()
	if err != nil {
		return err
	}
	return k.place.Write(k.r.ctx, s.Header.Unit, s.Header.Epoch, pieces)
}

// placed turns a panic of the place, which may be a program's own, into an error that ends the query.
func (k *keeper) placed(err *error) {
	if p := recover(); p != nil {
		*err = callback.Err(fmt.Sprintf("checkpoint %s: a fault inside it", k.place), p)
	}
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
	err := k.revertAll(u)
	if err == nil {
		err = k.give(u, e.rows, e.letters)
	}
	if k.shared && errors.Is(err, ErrTakenOver) {
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
	for i, sink := range q.outlets() {
		of := &Rows{Columns: k.r.graph.columns, rows: rows, Total: int64(len(rows))}
		if i >= len(q.sinks) {
			of = letters
		}
		if of == nil || of.Len() == 0 || u.sinks[i].Epoch >= epoch {
			continue
		}
		of = of.part(slices.Clone(of.rows))
		of.Unit, of.Run = u.name, u.header.Run
		if err := k.handOver(u, i, sink, epoch, of); err != nil {
			return fmt.Errorf("write the %d rows of epoch %d to %s: %w", of.Len(), epoch, describeSink(sink), err)
		}
	}
	return nil
}

// handOver puts rows and notes how far the sink has come with them. A panic in the sink is its error.
func (k *keeper) handOver(u *unit, i int, sink Sink, epoch int64, rows *Rows) error {
	k.r.graph.calls.Begin()
	defer k.r.graph.calls.End()
	return contained("write to "+describeSink(sink), func() error { return k.handTo(u, i, sink, epoch, rows) })
}

func (k *keeper) handTo(u *unit, i int, sink Sink, epoch int64, rows *Rows) error {
	if err := k.put(u, i, sink, epoch, rows); err != nil {
		return err
	}
	u.sinks[i].Epoch, u.sinks[i].Run = epoch, u.header.Run
	if s, ok := sink.(Resumer); ok {
		u.sinks[i].Position = s.Position()
	}
	return nil
}

// mostTakeovers is how often a sink is taken over anew for the rows of one epoch: a broker may be killed again and again.
const mostTakeovers = 10

// put gives rows to a sink. One that says that another process has gone on may have been given up by its server, for being silent too long or because that was
// killed: it is taken over anew, if no other process has gone on from the newest snapshot.
func (k *keeper) put(u *unit, i int, sink Sink, epoch int64, rows *Rows) error {
	err := k.r.writeTo(sink, epoch, rows)
	s, ok := sink.(Resumer)
	for range mostTakeovers {
		if !ok || !errors.Is(err, ErrTakenOver) {
			return err
		}
		if newest, failed := k.newest(u); failed != nil || newest != u.number {
			return errors.Join(err, failed)
		}
		mark := k.mark(u, &u.sinks[i])
		written, failed := s.Resume(k.r.ctx, slices.Clone(rows.Columns), mark)
		if failed == nil {
			failed = k.stands(u, sink, mark, written)
		}
		if failed == nil && u.own {
			failed = k.revert(u, sink)
		}
		if failed != nil || written >= epoch {
			return failed
		}
		err = k.r.writeTo(sink, epoch, rows)
	}
	if errors.Is(err, ErrTakenOver) {
		return fmt.Errorf("%v, for the %dth time", err, mostTakeovers) // it is no other process, so not ErrTakenOver
	}
	return err
}

// forget removes the snapshots that neither the newest needs nor the one before, which needs those from base on.
func (k *keeper) forget(u *unit, base int64) (err error) {
	defer k.placed(&err)
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

// take begins the snapshots of the units in which something has happened, at a moment at which nothing is half done.
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
			all = append(all, k.begin(u, ended))
		}
	}
	k.backlog.Store(0)
	return all
}

// begin begins the snapshot of a unit.
func (k *keeper) begin(u *unit, ended bool) *endedEpoch {
	e := &endedEpoch{unit: u, header: u.header, rows: u.rows, letters: u.letters, next: map[*lane]int64{}}
	u.rows, u.letters = nil, nil
	h := &e.header
	h.Previous, h.Epoch, h.Run = h.Epoch, u.number+1, k.r.history.runID
	h.Name, h.Time, h.Ended, h.Reached = k.r.query.name, time.Now().UTC(), ended || u.over, k.reached || k.done.Load()
	h.Sinks, h.Portion = slices.Clone(u.sinks), k.counted(u)
	for _, p := range k.parts(u) {
		e.parts = append(e.parts, p.begin(u.room[p.name][:0], h.Epoch))
		if p.lane != nil {
			e.next[p.lane] = p.lane.next
		}
	}
	return e
}

// encode writes the snapshots that were begun, on all cores, while the query goes on.
func (k *keeper) encode(all []*endedEpoch) {
	type place struct{ epoch, part int }
	var work []place
	for i, e := range all {
		e.snapshot.Sections = make([]checkpoint.Section, len(e.parts))
		for j := range e.parts {
			work = append(work, place{i, j})
		}
	}
	var next atomic.Int64
	var encoding sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		encoding.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(work); i = int(next.Add(1)) - 1 {
				e := all[work[i].epoch]
				section := &e.snapshot.Sections[work[i].part]
				err := k.r.calling.do(func() error { *section = e.parts[work[i].part].encode(); return nil })
				if err != nil {
					k.r.fail(err)
				}
			}
		})
	}
	encoding.Wait()
	for _, e := range all {
		e.complete()
	}
}

// complete makes the snapshot of an epoch whose parts are encoded.
func (e *endedEpoch) complete() {
	e.unit.room = map[string][]byte{}
	e.header.Base = e.header.Epoch
	for i, s := range e.snapshot.Sections {
		e.unit.room[s.Name] = s.Bytes
		e.header.Base = min(e.header.Base, e.parts[i].oldest)
	}
	e.snapshot.Header = e.header
	rows := checkpoint.Section{Name: "rows", Bytes: checkpoint.AppendHead(nil, appendRows(nil, e.rows))}
	if e.snapshot.Sections = append(e.snapshot.Sections, rows); e.letters != nil {
		letters := checkpoint.Section{Name: "letters", Bytes: checkpoint.AppendHead(nil, appendRows(nil, e.letters.rows))}
		e.snapshot.Sections = append(e.snapshot.Sections, letters)
	}
}

// counted is how many records count for the MaxRecords that has not been reached.
func (k *keeper) counted(u *unit) int64 {
	if k.reached || !k.r.limited && !u.counting {
		return 0
	}
	return u.handled.Load()
}
