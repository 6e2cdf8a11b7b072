package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cancha/stream/checkpoint"
)

// Shared is a Source whose partitions several processes share, as the members of a consumer group do: partitions come and go while it runs. It asks a
// Beginner about each partition whenever it gets it.
type Shared interface{ Shared() bool }

// Partitioned is a Shared source that knows all partitions of its topics, those that other processes read too. A Savepoint asks it.
type Partitioned interface {
	Partitions(ctx context.Context) ([]Partition, error)
}

// Rewind is the error of a Handler for which a partition must be read on from another offset: another process has read it meanwhile. The source does
// that, and goes on.
type Rewind struct{ Next int64 }

func (w *Rewind) Error() string { return fmt.Sprintf("read on from offset %d", w.Next) }

// Releaser is a Handler that is told when partitions are about to go to other processes, after their last batches, or others wait for what it has read to be
// committed.
type Releaser interface{ Release() }

// Committer is a Handler that tells how far a partition that processes share has come: what whoever gets it next, or this process after a crash, need
// not read again, with a note for Begin. Without an offset nothing is to be committed. A handler that is no Committer has handled what Batch returns from.
type Committer interface {
	Committed(p Partition) (next int64, note string, known bool)
}

// Recaller is a Committer whose notes tell more than the offset that they are committed with: how far the partition had been read by then. An offset may lie
// before that, at the first record of a window that was open.
type Recaller interface {
	Recall(note string) (next int64, known bool)
}

// Sated is a Handler that may have read all that it wants before its source ends, as a query with AvailableNow. While other processes have partitions it does
// not end by itself: the source calls End once those have read theirs too, since they may be dead, and their partitions on their way to this one.
type Sated interface {
	Sated() bool
	End()
}

// Divider is a Handler that may not be able to share its source. Others is called before Assigned with the partitions that other processes have; wait
// says that this one reads nothing until that has changed, an error ends the source. A source that says that there are others asks a Sated about its end.
type Divider interface {
	Others(have []Partition, others []Partition) (wait bool, err error)
}

// shared tells whether each partition is a unit of its own.
func (r *Running) shared() bool {
	return isShared(r.graph.inputs[0].query.source) && r.graph.separable()
}

func isShared(source Source) bool {
	s, ok := source.(Shared)
	return ok && s.Shared()
}

// separable tells whether partitions have nothing to do with each other: no operator behind the lanes keeps what their rows make together.
func (g *graph) separable() bool {
	if len(g.inputs) != 1 || len(g.ops) > 0 || g.query.mode == Complete {
		return false
	}
	for _, m := range g.merges {
		if !m.keyed {
			return false
		}
	}
	return true
}

// beginShared begins a query whose partitions are shared, before there are any: it opens the sinks, and asks those that go on with each unit whether they can
// be opened.
func (k *keeper) beginShared(ctx context.Context) error {
	q := k.r.query
	for i, sink := range q.outlets() {
		_, k.opened[i] = k.opener(sink)
		_, marked := sink.(Marked) // by unit: what each process writes stands apart
		if p, ok := sink.(Placed); ok && p.Place() != "" && !marked {
			return fmt.Errorf("checkpoint: several processes may share this query's partitions, and they cannot write %s together; use a folder of epochs (file.JSONLinesEpochs, parquet.Folder), a topic or a table", describeSink(sink))
		}
	}
	if err := checkpoint.Finished(ctx, k.place); err != nil {
		return err
	}
	if err := k.without(ctx, checkpoint.Whole, "all partitions together, of a query whose source had no group or that could not be shared"); err != nil {
		return err
	}
	return q.open(ctx, k.r.graph.columns, k.opener)
}

// without refuses a place that has snapshots of a unit which this query has not: it would begin anew beside them.
func (k *keeper) without(ctx context.Context, unit, is string) error {
	epochs, err := k.place.List(ctx, unit)
	if err == nil && len(epochs) > 0 {
		err = fmt.Errorf("checkpoint %s has %s: start it as it was, or give another place to begin anew", k.place, is)
	}
	return err
}

// opener is asOpener of a query whose partitions are shared: none of a Resumer that is no Prober.
func (k *keeper) opener(sink Sink) (o Opener, wanted bool) {
	if p, ok := sink.(Prober); ok {
		return probing{p, k.r.history.runID}, true
	}
	if _, ok := sink.(Resumer); ok {
		return nil, false
	}
	return asOpener(sink)
}

// probing is a Prober as an Opener.
type probing struct {
	Prober
	run string
}

// Open implements Opener.
func (p probing) Open(ctx context.Context, columns []Column) error {
	return p.Probe(ctx, columns, p.run)
}

// claim makes a partition this process's, as its newest snapshot says, and returns where to read it on. One that this process has had all the time is
// as it was.
//
// A sink may wait for what is away, until the query is stopped: then the partition is left to whoever has it next.
//
// The process that had it before may still be at it: where that has taken a snapshot meanwhile, the sinks have more than the one before knows, and it is asked for
// anew.
//
// It waits for an epoch that is on its way. Time may have made rows ready since Release, and ended an epoch with them: between its snapshot and through the
// partition would look like another process's, and be taken over anew while its sinks get the rows.
func (k *keeper) claim(in *input, p Partition) (*lane, error) {
	k.ending.Lock()
	defer k.ending.Unlock()
	r := k.r
	r.mu.Lock()
	n := r.lanes[in][p]
	r.mu.Unlock()
	if n != nil {
		newest, err := k.newest(n.unit)
		if err != nil || !n.unit.lost.Load() && newest == n.unit.number {
			return n, err
		}
		r.drop(in, p)
	}
	for {
		u := r.newUnit(unitName(p))
		u.partition = p
		before, err := k.newest(u)
		if err == nil {
			err = k.restore(r.reading, u)
		}
		if err == nil {
			return r.adopt(in, p, u)
		}
		if after, failed := k.newest(u); r.reading.Err() != nil || failed != nil || after == before {
			return nil, cmp.Or(context.Cause(r.reading), err)
		}
	}
}

// newest is the epoch of the newest snapshot that there is of a unit.
func (k *keeper) newest(u *unit) (int64, error) {
	epochs, err := k.place.List(k.r.ctx, u.name)
	if err != nil || len(epochs) == 0 {
		return 0, err
	}
	return epochs[len(epochs)-1], nil
}

// adopt makes a unit one of the run's, with the lane of its partition.
func (r *Running) adopt(in *input, p Partition, u *unit) (*lane, error) {
	n := u.lane
	if n == nil {
		var err error
		if n, err = (reader{r, in}).newLane(p, u); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes[in][p] = n
	r.units = append(r.units[:len(r.units):len(r.units)], u)
	return n, nil
}

// drop forgets a partition that has gone to another process, with its rows.
func (r *Running) drop(in *input, p Partition) {
	n := r.remove(in, p)
	if n == nil {
		return
	}
	if d, ok := n.handler.(Dropper); ok {
		d.Drop()
	}
}

// remove takes a partition out of the run, and its unit if that is not the whole. Rows of all partitions may be on their way into their units' results: they
// come before it, or are not made any more.
func (r *Running) remove(in *input, p Partition) *lane {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.lanes[in][p]
	delete(r.lanes[in], p)
	if n == nil || n.unit.name == checkpoint.Whole {
		return n
	}
	r.units = slices.DeleteFunc(slices.Clone(r.units), func(u *unit) bool { return u == n.unit })
	r.total.Add(-n.unit.results.total)
	if r.keeper == nil {
		r.remaining.Add(n.unit.handled.Load())
	} else {
		r.remaining.Add(r.elsewhere.leave(p, n.unit.handled.Load())) // what is counted of it counts on, with what others read
	}
	return n
}

// Dropper is a RecordHandler that is told when its partition has gone to another process: what it keeps of it is that process's now.
type Dropper interface{ Drop() }

// Others implements Divider.
func (r reader) Others(have, others []Partition) (wait bool, err error) {
	r.divided.Store(len(others) > 0)
	r.meet(others)
	if len(others) == 0 {
		r.whole.Store(true)
	}
	if len(others) == 0 || r.graph.separable() {
		return false, nil
	}
	if !r.whole.Load() && !slices.Contains(have, first(have, others)) {
		return false, fmt.Errorf("%s has other processes in its group, and this query cannot be shared: %s", describeSource(r.in.query.source), r.graph.together())
	}
	r.note("Other processes have joined the group, and this query cannot be shared: it waits until they have left. " + r.graph.together())
	return true, nil
}

// meet counts what others read of the partitions that they have, but for those that are still this process's.
func (r reader) meet(others []Partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range others {
		if r.lanes[r.in][p] == nil {
			r.elsewhere.meet(p)
		}
	}
}

// Sated implements Sated: a process that has no partition wants nothing, and one with AvailableNow no more than there was.
func (r reader) Sated() bool {
	if !r.query.now {
		return false
	}
	r.mu.Lock()
	spare := len(r.assigned[r.in]) == 0
	r.mu.Unlock()
	return spare || r.availableRead()
}

// End implements Sated.
func (r reader) End() { r.end("It ended with what was available.") }

// first is the partition whose process goes on where several begin at once.
func first(have, others []Partition) Partition {
	return slices.MinFunc(slices.Concat(have, others), comparePartitions)
}

// together tells what needs the records of all partitions, and what to write instead.
func (g *graph) together() string {
	switch {
	case len(g.inputs) > 1:
		return "it has several sources; run it in one process"
	case len(g.ops) > 0:
		return fmt.Sprintf("its step %q keeps what the rows of all partitions make together; run it in one process, or write what comes before it to a topic keyed by what it needs together", operatorName(g.ops[0].Op))
	case g.query.mode == Complete:
		return "its output is complete; use Output(Update)"
	}
	return "its windows hold rows of all partitions; key the records by one of the paths of GroupBy and say so with KeyedBy, or run it in one process"
}

// Committed implements Committer.
func (r reader) Committed(p Partition) (next int64, note string, known bool) {
	r.mu.Lock()
	n := r.lanes[r.in][p]
	r.mu.Unlock()
	if n == nil {
		return 0, "", false
	}
	if r.keeper != nil {
		next = n.safe.Load()
		return next, "", next >= 0
	}
	if !r.graph.restarts() {
		return 0, "", false
	}
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if r.broken() == nil { // else rows may have been taken out that nobody has got
		n.restarts = n.restart(r.history.runID)
	}
	return n.restarts.next, n.restarts.note, n.restarts.next >= 0
}

// Recall implements Recaller.
func (r reader) Recall(note string) (next int64, known bool) {
	var m memo
	if json.Unmarshal([]byte(note), &m) != nil {
		return 0, false
	}
	return m.Read, true
}

// restarts tells whether a process that reads on from what was committed gives out the right rows: nothing but windows of time is kept.
func (g *graph) restarts() bool {
	if len(g.ops) > 0 || len(g.inputs) > 1 {
		return false
	}
	for _, m := range g.merges {
		if m.grouping.Expires() || !m.grouping.Windowed() {
			return false
		}
	}
	return true
}

// restart is where a partition has to be read on so that its open windows are whole, with what is to be known of those that are over, and which run says
// so. The caller holds publishing: what has been taken out of windows has been given out.
func (n *lane) restart(run string) restart {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := memo{ID: n.id, Run: run, Read: n.given, Watermark: n.settled}
	next := n.given
	if n.windows != nil {
		m.Closed = n.windows.Closed()
		if at, open := n.windows.First(); open {
			next = min(next, at)
		}
	}
	note, err := json.Marshal(m)
	if err != nil {
		note = nil // unreachable: numbers and a text
	}
	return restart{next, string(note)}
}

// restart is what a group is told of a partition.
type restart struct {
	next int64 // -1: nothing
	note string
}

// memo is what is committed with an offset.
type memo struct {
	ID        string `json:"id,omitempty"`
	Run       string `json:"run,omitempty"` // that committed it
	Read      int64  `json:"read"`          // the offset behind the last record that was handled
	Watermark int64  `json:"watermark"`     // of the partition, nanoseconds since 1970
	Closed    int64  `json:"closed"`        // windows that end here or before are over
}

// another is the ID of the topic that a group has read, where this one is another and is to be read from its beginning; else empty.
func (n *lane) another(found Found) string {
	var m memo
	if !found.Recreated || found.Committed < 0 || json.Unmarshal([]byte(found.Note), &m) != nil || m.ID == "" || found.ID == "" || m.ID == found.ID {
		return ""
	}
	return m.ID
}

// recall takes over what was committed of a partition that this process does not have. It is false where nothing was, or by another program.
func (n *lane) recall(found Found) (known bool, err error) {
	var m memo
	if found.Committed < 0 || json.Unmarshal([]byte(found.Note), &m) != nil {
		return false, nil
	}
	if m.ID != "" && found.ID != "" && m.ID != found.ID {
		return false, fmt.Errorf("%s has been made anew since its group has read it: it was %s, and is %s; start with another group, "+
			"or have the source read it from its beginning (kafka.Config.Recreated)", describeSource(n.in.query.source), m.ID, found.ID)
	}
	n.id = cmp.Or(n.id, m.ID)
	n.clock.Watermark, n.settled, n.again = m.Watermark, m.Watermark, m.Read
	n.watermark.Store(m.Watermark)
	if n.windows != nil {
		n.windows.Resume(m.Closed)
	}
	return true, nil
}

// forget forgets a partition, without a checkpoint, if another process has committed something of it since this one began with it. It asks whose the
// note is, and does not compare it with what this run has committed last: a commit that failed may be there nevertheless, its answer alone was lost, and one
// that is not there leaves an older one, or none.
func (r reader) forget(p Partition, found Found) {
	r.mu.Lock()
	n := r.lanes[r.in][p]
	r.mu.Unlock()
	if n == nil || !isShared(r.in.query.source) || !r.graph.restarts() {
		return
	}
	var m memo
	own := json.Unmarshal([]byte(found.Note), &m) == nil && m.Run == r.history.runID
	n.mu.Lock()
	before := n.began == restart{found.Committed, found.Note}
	n.mu.Unlock()
	if found.Committed >= 0 && !own && !before {
		r.drop(r.in, p)
	}
}

// cost says what an end of the process costs a query without a checkpoint that shares its source.
func (g *graph) cost() string {
	const with = " With Checkpoint nothing of this is so."
	switch {
	case g.inputs[0].records != nil:
		return "Without a checkpoint, what the process " + g.inputs[0].records.Name + " keeps of earlier records ends with this run, and when partitions go to other processes." + with
	case !g.restarts():
		return "Without a checkpoint, what this query keeps ends with this run: nothing is committed to the group, so that the next run reads everything again." + with
	}
	windows := ""
	if len(g.merges) > 0 {
		windows = ", and the records of open windows are read again"
	}
	return "Without a checkpoint, rows of the last second before a crash are given out twice" + windows + "." + with
}
