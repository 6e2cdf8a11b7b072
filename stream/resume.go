package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/stream/checkpoint"
	"cancha/stream/internal/changelog"
	"cancha/stream/internal/flow"
	"cancha/stream/plan"
)

// resume makes the run go on from the newest snapshots of the query's checkpoint, or begins one. Where partitions are shared, each is taken over when
// its source begins with it.
func (r *Running) resume(ctx context.Context) error {
	q := r.query
	if err := q.resumable(r.graph); err != nil {
		return err
	}
	k := &keeper{r: r, place: q.place, id: uuid(), full: make(chan struct{}, 1), opened: make([]bool, len(q.outlets()))}
	r.keeper = k
	if k.shared = r.shared(); k.shared {
		r.units, r.graph.unit = nil, nil // no row belongs to the whole
		return k.beginShared(ctx)
	}
	for _, kept := range r.graph.states() {
		kept.Keep()
	}
	u := r.units[0]
	err := k.restore(ctx, u)
	switch {
	case err != nil:
	case k.over:
		err = k.revertAll(u) // there is no snapshot to come
	default:
		err = k.epoch(false, true) // the place can be written to, and knows where the sinks begin
	}
	if err != nil {
		return errors.Join(err, k.close(k.opened))
	}
	return nil
}

// restore makes a unit what its newest snapshot says, and its sinks too. Where there is none it begins.
func (k *keeper) restore(ctx context.Context, u *unit) error {
	u.header = checkpoint.Header{Query: k.id, Unit: u.name, Plan: k.r.query.Plan().Same()}
	u.results.Keep()
	state, err := checkpoint.Load(ctx, k.place, u.name)
	if err == nil && state != nil {
		err = k.load(u, state)
	}
	if err == nil {
		err = k.open(ctx, u)
	}
	if err == nil && state != nil {
		err = k.again(u, state)
	}
	if err == nil {
		k.count(u)
	}
	return err
}

// count makes a unit's rows and records those of the run.
func (k *keeper) count(u *unit) {
	k.r.total.Add(u.results.total)
	if k.r.limited {
		k.r.remaining.Add(k.r.elsewhere.come(u.partition) - u.header.Portion)
	}
}

// resumable refuses what no checkpoint can hold.
func (q *Query) resumable(g *graph) error {
	for _, in := range g.inputs {
		if _, ok := in.query.source.(Replayable); !ok {
			return fmt.Errorf("checkpoint: %s cannot begin at an offset, which takes a Replayable source", describeSource(in.query.source))
		}
		probe, err := in.lane(0, nil)
		if err != nil {
			return err
		}
		if _, ok := probe.handler.(Keeper); probe.handler != nil && !ok {
			return fmt.Errorf("checkpoint: the process %q keeps a state that it cannot save: its RecordHandler is no Keeper", in.records.Name)
		}
	}
	return g.processesKept()
}

// load takes a state over.
func (k *keeper) load(u *unit, s *checkpoint.State) error {
	if err := k.same(s.Header); err != nil {
		return err
	}
	u.header, u.number, u.kept = s.Header, s.Newest, s.Header.Base
	for _, note := range s.Notes {
		k.r.note(note)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sections)) { // lanes before the owners of their keys, and partitions in one order
		if err := k.section(u, name, s.Sections[name]); err != nil {
			return fmt.Errorf("checkpoint %s: snapshot %d: section %q: %w", k.place, s.Header.Epoch, name, err)
		}
	}
	if k.r.limited || k.shared {
		u.handled.Store(s.Header.Portion)
		u.counting = s.Header.Portion > 0
	}
	if u.over = s.Header.Ended; u.over && !k.shared {
		k.over = true
	}
	k.done.Store(k.r.limited && s.Header.Reached)
	k.r.note(k.welcome(s.Header))
	return nil
}

// welcome tells what the run goes on from.
func (k *keeper) welcome(h checkpoint.Header) string {
	if h.Ended {
		return fmt.Sprintf("The query had come to the end of its sources: nothing is read. Its checkpoint is %s; another place begins anew.", k.place)
	}
	return fmt.Sprintf("It goes on from epoch %d of the checkpoint %s, of %s.", h.Epoch, k.place, h.Time.Format("2006-01-02 15:04:05"))
}

// same refuses the checkpoint of another plan.
func (k *keeper) same(h checkpoint.Header) error {
	is := k.r.query.Plan().Same()
	if slices.Equal(h.Plan, is) {
		return nil
	}
	var lines []string
	for _, line := range h.Plan {
		if !slices.Contains(is, line) {
			lines = append(lines, "  - "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(h.Plan, line) {
			lines = append(lines, "  + "+line)
		}
	}
	if len(lines) == 0 {
		lines = []string{"  the same steps in another order"}
	}
	return fmt.Errorf("checkpoint %s is that of another plan; give another place to begin anew. The plan there (-) and this one (+):\n%s", k.place,
		strings.Join(lines, "\n"))
}

// errState tells of bytes whose checksum is right, but which are no state of this query.
var errState = errors.New("it is no state of this query")

// section loads a section. Rows that may have to be given out again are loaded later.
func (k *keeper) section(u *unit, name string, p *checkpoint.Part) error {
	r := k.r
	kind, of, _ := strings.Cut(name, " ")
	switch kind {
	case "rows", "letters":
		return nil
	case "times":
		return k.loadTimes(p.Head)
	case "results":
		u.results.log.Resume(p.Last)
		if !u.results.load(p.Head, p.Items, len(r.graph.columns)) {
			return errState
		}
		return nil
	case "lane":
		return k.loadLane(u, of, p)
	case "owners":
		return k.loadOwners(of, p)
	}
	if kept := r.graph.states()[name]; kept != nil {
		return takeOver(kept, p.Head, p)
	}
	return errState
}

// takeOver makes a state what a section says, whose head may have had more before it.
func takeOver(kept flow.Kept, head []byte, p *checkpoint.Part) error {
	kept.Log().Resume(p.Last)
	return kept.Load(head, p.Items)
}

func (k *keeper) loadTimes(head []byte) error {
	b := changelog.BytesOf(head)
	for _, t := range k.r.graph.timelines {
		t.watermark, t.advanced, t.drained = b.Int(), b.Int(), b.Bool()
	}
	if !b.Ok() {
		return errState
	}
	return nil
}

// named is the input and the partition of a lane that a section is of.
func (k *keeper) named(name string) (*input, Partition, error) {
	words := strings.SplitN(name, " ", 3)
	if len(words) < 3 {
		return nil, Partition{}, errState
	}
	at, err := strconv.Atoi(words[0])
	partition, wrong := strconv.Atoi(words[1])
	if cmp.Or(err, wrong) != nil || at < 0 || at >= len(k.r.graph.inputs) {
		return nil, Partition{}, errState
	}
	return k.r.graph.inputs[at], Partition{Topic: words[2], ID: partition}, nil
}

// loadOwners loads whose the keys are that a lane's windows have had.
func (k *keeper) loadOwners(name string, p *checkpoint.Part) error {
	in, of, err := k.named(name)
	if err != nil {
		return err
	}
	if in.merge == nil || !in.merge.keyed {
		return errState
	}
	kept := owned{&in.merge.owners, of}
	if kept.Log() == nil {
		return errState // there is no such lane
	}
	return takeOver(kept, p.Head, p)
}

// loadLane loads the lane of an input, a partition and a topic. Where partitions are shared it is the run's with its unit (adopt): before, whoever gives out
// what has changed must not find it.
func (k *keeper) loadLane(u *unit, name string, p *checkpoint.Part) error {
	in, of, err := k.named(name)
	if err != nil {
		return err
	}
	n, err := reader{k.r, in}.newLane(of, u)
	if err != nil {
		return err
	}
	if k.shared {
		u.lane = n
	} else {
		k.r.lanes[in][of] = n // nothing runs yet
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.load(p)
}

// load takes over what a lane has saved.
func (n *lane) load(p *checkpoint.Part) error {
	b := changelog.BytesOf(p.Head)
	id := b.Text()
	n.id, n.seen, _ = strings.Cut(id, afterID)
	n.next = b.Int()
	n.given = n.next
	n.safe.Store(n.next)
	n.clock.Load(b)
	n.watermark.Store(n.clock.Watermark)
	kept := n.kept()
	if rest := b.Rest(); b.Ok() && kept != nil {
		return takeOver(kept, rest, p)
	} else if !b.Ok() || len(rest) > 0 {
		return errState
	}
	return nil
}

// open opens the sinks where the checkpoint has left them. If one fails, those that were opened before it for this unit alone are closed; others still have rows
// to come, of other units.
func (k *keeper) open(ctx context.Context, u *unit) error {
	q, known := k.r.query, slices.Clone(u.header.Sinks)
	u.sinks = make([]checkpoint.Sink, len(k.opened))
	fresh := make([]bool, len(k.opened))
	failed := func(err error) error { return errors.Join(fmt.Errorf("open a sink: %w", err), k.close(fresh)) }
	for i, sink := range q.outlets() {
		columns, name := k.r.graph.columns, nameSink(sink)
		if i >= len(q.sinks) {
			columns, name = letterColumns(), "dead letters to "+name
		}
		u.sinks[i] = checkpoint.Sink{Name: name, Epoch: u.header.Epoch}
		var has *checkpoint.Sink
		if at := slices.IndexFunc(known, func(s checkpoint.Sink) bool { return s.Name == name }); at >= 0 {
			of := known[at]
			has, known = &of, slices.Delete(known, at, at+1)
		}
		if err := k.openOne(ctx, u, i, sink, columns, has); err != nil {
			return failed(err)
		}
		fresh[i] = !k.opened[i]
		k.opened[i] = true
	}
	return nil
}

// mark is what a unit's newest snapshot says of a sink; nil: it does not know the sink, which has nothing of the unit yet.
func (k *keeper) mark(u *unit, has *checkpoint.Sink) Mark {
	m := Mark{Query: u.header.Query, Unit: u.name, Run: k.r.history.runID, Snapshot: EpochID{u.header.Run, u.header.Epoch}}
	if has == nil {
		return m
	}
	m.Known = true
	if m.Epoch, m.Position = has.Epoch, has.Position; has.Run != "" {
		m.Wrote = EpochID{has.Run, has.Epoch}
	}
	return m
}

// revertAll has the sinks that can go back to the snapshot that the run has gone on from, the first time.
func (k *keeper) revertAll(u *unit) error {
	if u.own {
		return nil
	}
	for _, sink := range k.r.query.outlets() {
		if err := k.revert(u, sink); err != nil {
			return fmt.Errorf("open a sink: %w", err)
		}
	}
	u.own = true
	return nil
}

// revert has a sink that can go back do so.
func (k *keeper) revert(u *unit, sink Sink) error {
	s, ok := sink.(Reverter)
	if !ok {
		return nil
	}
	return handed("open "+describeSink(sink), func() error {
		note, err := s.Revert(k.r.ctx, u.name)
		if err == nil && note != "" {
			k.r.note(note)
		}
		return err
	})
}

// stands refuses a sink that has other rows than the snapshot knows: those between the snapshot's epoch and its own would be taken for there, and be lost.
func (k *keeper) stands(u *unit, sink Sink, mark Mark, written int64) error {
	switch is := describeSink(sink); {
	case written > u.header.Epoch:
		return fmt.Errorf("%s has the rows of %s up to epoch %d, and the checkpoint %s is of epoch %d: the rows behind that "+
			"would be there twice, or be taken for there and be lost; go on from the checkpoint that wrote them, or write to another place", is, u.name, written, k.place, u.header.Epoch)
	case mark.Wrote.Number > 0 && written != u.header.Epoch && written != mark.Epoch:
		return fmt.Errorf("%s has the rows of %s up to epoch %d, and the checkpoint %s says that those up to epoch %d were there: "+
			"some are gone, or are of a query that has gone on from elsewhere; go on from the checkpoint that wrote them, or write to another place", is, u.name, written, k.place, mark.Epoch)
	}
	return nil
}

// close closes some of the sinks that this run has opened. One that it has not may serve another query.
func (k *keeper) close(which []bool) error {
	var sinks []Sink
	for i, sink := range k.r.query.outlets() {
		if which[i] {
			sinks = append(sinks, sink)
			k.opened[i] = false
		}
	}
	return closeAll(sinks)
}

// nameSink is what a checkpoint knows a sink by: one that it does not know begins with the next epoch, and does not get the rows of the last.
func nameSink(sink Sink) string {
	if i, ok := sink.(Identified); ok {
		return i.Identity()
	}
	return describeSink(sink)
}

// slowOpening is how long the opening of a sink takes, when a user should hear of it.
const slowOpening = 5 * time.Second

// openOne opens a sink. One that the checkpoint does not know (has is nil) begins with the next epoch.
func (k *keeper) openOne(ctx context.Context, u *unit, i int, sink Sink, columns []Column, has *checkpoint.Sink) error {
	return handed("open "+describeSink(sink), func() error { return k.openFor(ctx, u, i, sink, columns, has) })
}

func (k *keeper) openFor(ctx context.Context, u *unit, i int, sink Sink, columns []Column, has *checkpoint.Sink) error {
	is := &u.sinks[i]
	if has != nil {
		is.Epoch, is.Run = has.Epoch, has.Run
	}
	s, ok := sink.(Resumer)
	if !ok {
		if o, ok := sink.(Opener); ok && !k.shared { // else it was opened before the first unit
			return o.Open(ctx, slices.Clone(columns))
		}
		return nil
	}
	waits := time.AfterFunc(slowOpening, func() {
		k.r.note(fmt.Sprintf("%s has not answered for %v since it was to take rows of %s: the query waits for it.", describeSink(sink), slowOpening, u.name))
	})
	mark := k.mark(u, has)
	written, err := s.Resume(ctx, slices.Clone(columns), mark)
	waits.Stop()
	if err != nil {
		return err
	}
	if err := k.stands(u, sink, mark, written); err != nil {
		if c, ok := sink.(Closer); ok && !k.opened[i] {
			err = errors.Join(err, closeOne(sink, c))
		}
		return err
	}
	is.Position = s.Position()
	if written == u.header.Epoch && written > mark.Epoch {
		is.Epoch, is.Run = written, u.header.Run
	}
	return nil
}

// again gives the sinks the rows of the newest epoch that they have not got.
func (k *keeper) again(u *unit, s *checkpoint.State) error {
	var rows [][]Value
	var letters *Rows
	if p := s.Sections["rows"]; p != nil {
		b := changelog.BytesOf(p.Head)
		if rows = readRows(b, len(k.r.graph.columns)); !b.Ok() {
			return fmt.Errorf("checkpoint %s: the rows of epoch %d: %w", k.place, s.Header.Epoch, errState)
		}
	}
	if p := s.Sections["letters"]; p != nil {
		letters = NewRows(letterColumns()...)
		b := changelog.BytesOf(p.Head)
		if letters.rows = readRows(b, len(letters.Columns)); !b.Ok() {
			return fmt.Errorf("checkpoint %s: the dead letters of epoch %d: %w", k.place, s.Header.Epoch, errState)
		}
	}
	return k.give(u, rows, letters)
}

// processesKept refuses keyed processes whose states cannot be saved.
func (g *graph) processesKept() error {
	return g.query.processesKept()
}

func (q *Query) processesKept() error {
	for _, s := range q.steps {
		if s.Op == plan.Process {
			if err := s.functions.kept(); err != nil {
				return err
			}
		}
		if s.other != nil {
			if err := s.other.processesKept(); err != nil {
				return err
			}
		}
	}
	return nil
}
