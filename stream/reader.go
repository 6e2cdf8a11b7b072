package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cancha/internal/callback"
	"cancha/internal/cellio"
	"cancha/stream/internal/flow"
)

// reader is a run as the source of an input sees it.
type reader struct {
	*Running
	in *input
}

// Assigned implements Handler.
func (r reader) Assigned(partitions []Partition) {
	assigned := map[Partition]bool{}
	for _, p := range partitions {
		assigned[p] = true
	}
	r.mu.Lock()
	r.assigned[r.in] = assigned
	delete(r.away, r.in)
	var gone []Partition
	for p := range r.lanes[r.in] {
		if !assigned[p] && isShared(r.in.query.source) && r.graph.separable() {
			gone = append(gone, p)
		}
	}
	r.mu.Unlock()
	for _, p := range gone {
		r.drop(r.in, p)
	}
	for _, p := range partitions {
		if n, err := r.lane(p); err == nil {
			n.unknown()
		}
	}
	r.moves.ring()
	if r.started.Swap(false) {
		r.Release() // before anything is read: the first snapshots say where
	}
}

// Starts implements Starter.
func (r reader) Starts(p Partition, next int64) {
	n, err := r.lane(p)
	if r.keeper == nil || err != nil {
		return // what has gone wrong with the lane, its first batch says
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skip(next)
	r.started.Store(true)
}

func (r reader) lane(partition Partition) (*lane, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.lanes[r.in][partition]; n != nil {
		return n, nil
	}
	n, err := r.newLane(partition, r.units[0])
	if err == nil {
		r.lanes[r.in][partition] = n
	}
	return n, err
}

// newLane makes the lane of a partition, which is not one of the run's yet.
func (r reader) newLane(partition Partition, u *unit) (*lane, error) {
	var claim func(keys flow.Row, end int64) string
	if m := r.in.merge; m != nil && m.keyed {
		claim = func(keys flow.Row, end int64) string {
			return m.owners.claim(r.in, partition, string(keys[m.owners.key].AppendKey(nil)), end)
		}
	}
	n, err := r.in.lane(partition.ID, claim)
	if err != nil {
		return nil, err
	}
	n.topic, n.unit = partition.Topic, u
	if r.keeper != nil {
		err = n.keep()
		r.keepOwners(n, partition)
	}
	return n, err
}

// keepOwners has snapshots know whose the keys are that a lane's windows have had.
func (r reader) keepOwners(n *lane, partition Partition) {
	m := r.in.merge
	if m == nil || !m.keyed {
		return
	}
	owned{&m.owners, partition}.Keep()
	n.windows.Left = func(claims []flow.Claim) { m.owners.leave(partition, claims) }
}

// Batch implements Handler. A panic in it ends the query, not the program, and so does a function that ends its goroutine, which is not the
// source's.
func (r reader) Batch(ctx context.Context, b Batch) error {
	err := r.calling.do(func() error { return r.batch(ctx, b) })
	if fault := (*cellio.Fault)(nil); errors.As(err, &fault) && fault.Stops {
		r.fail(err)
	}
	return err
}

func (r reader) batch(ctx context.Context, b Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = callback.Err("a fault inside the query", p)
			r.fail(err)
		}
	}()
	for _, in := range r.in.waits {
		select {
		case <-r.ready[in]:
		case <-ctx.Done():
		}
	}
	if r.reading.Err() != nil && len(r.in.waits) > 0 {
		return context.Cause(r.reading) // what a table lacks is not given to it any more
	}
	met := r.hasMet(r.in)
	n, err := r.lane(Partition{Topic: b.Topic, ID: b.Partition})
	if err != nil {
		r.fail(err)
		return err
	}
	r.heard()
	if b.Lost > 0 {
		r.note(lostNote(r.in.query.source, b.Topic))
	}
	if n.unit.lost.Load() {
		return r.rewind(b)
	}
	if n.unit.over && len(b.Records) > 0 {
		err := fmt.Errorf("partition %d of %s has new records, and the query had come to its end and closed all windows: give another place for the checkpoint to begin anew, "+
			"or end portions with AvailableNow", b.Partition, b.Topic)
		r.fail(err)
		return err
	}
	if r.keeper != nil {
		r.keeper.room(ctx)
	}
	if err := r.prepare(ctx, n, b.Records); err != nil {
		return err
	}
	count, err := r.handle(n, b)
	if err != nil {
		r.fail(err)
		return err
	}
	r.moves.ring()
	r.linger(ctx, n)
	if r.ready[r.in] != nil {
		r.reached(r.in, met)
	}
	if r.limited && r.remaining.Load() <= 0 {
		r.cancel()
		return &Partial{Handled: count, Err: errEnough}
	}
	if r.query.now && !r.divided.Load() && r.availableRead() {
		r.End()
	}
	if r.keeper != nil && r.keeper.done.Load() && r.availableRead() {
		r.end("The run before had come to the end of its MaxRecords, and no record has come since: it ended at once.")
	}
	return nil
}

// lostNote says that records are missing in what a query gives out. How many there are, Totals counts.
func lostNote(source Source, topic string) string {
	return fmt.Sprintf("Records of %s were gone before they could be read: retention removed them, or the topic was deleted. Totals.Lost counts them. "+
		"What is given out lacks them; keep records for longer than the query may be behind.", topicName(source, Partition{Topic: topic}))
}

// handle takes as many records of a batch as there may be, and gives out what they make ready. No snapshot is taken meanwhile.
func (r reader) handle(n *lane, b Batch) (count int, err error) {
	defer r.keeper.handling()()
	count = r.reserve(len(b.Records))
	err = r.take(n, b, count)
	if err == nil {
		n.mu.Lock()
		n.given, n.settled, n.seen = n.next, n.clock.Watermark, cmp.Or(b.Seen, n.seen)
		n.mu.Unlock()
	}
	if r.keeper != nil && count > 0 {
		r.keeper.handled(n, count)
	}
	return count, err
}

// take has a lane take records, and gives out what they make ready.
func (r reader) take(n *lane, b Batch, count int) error {
	rejected := func(rec *Record, reason string, late time.Duration) { r.reject(n.unit, b.Topic, rec, reason, late) }
	for {
		taken, err := n.take(r.ctx, b, count, r.beside(n), rejected)
		if err == nil {
			err = r.settle(n)
		}
		if count -= taken; err != nil || count == 0 {
			return err
		}
		b.Records, b.Lost = b.Records[taken:], 0
	}
}

// beside is how far the other partitions have come, where groups in a lane are forgotten by the watermark of all: MaxInt64 where they are not.
func (r reader) beside(n *lane) int64 {
	if m := r.in.merge; m == nil || m.keyed || !m.grouping.Expires() {
		return math.MaxInt64
	}
	return r.leastBeside(n)
}

// Begin implements Beginner.
func (r reader) Begin(p Partition, found Found) (next int64, known bool, err error) {
	next, known, anew, err := r.begin(p, found)
	if anew {
		r.vanished(p.Topic)
	}
	return next, known, err
}

// Seen implements Rememberer.
func (r reader) Seen(p Partition) string {
	n, err := r.lane(p)
	if err != nil {
		return "" // what has gone wrong with the lane, its first batch says
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen
}

// vanished notes that a topic has fewer partitions than it had before it was made anew, where each is by itself: nobody gets those that are not there any more,
// and so nobody gives out what is open in them.
func (r reader) vanished(topic string) {
	source, ok := r.in.query.source.(Partitioned)
	if !ok || !isShared(r.in.query.source) || !r.graph.separable() {
		return
	}
	all, err := source.Partitions(r.ctx)
	if err != nil {
		return // the topic is gone again, and will be looked at again
	}
	are := 0
	for _, p := range all {
		if p.Topic == topic {
			are++
		}
	}
	were := are
	for r.keeps(Partition{Topic: topic, ID: were}) {
		were++
	}
	if were > are {
		r.note(fmt.Sprintf("%s has %d partitions since it was made anew, and had %d: what was open in the others, windows and other state, is not given out.",
			topicName(r.in.query.source, Partition{Topic: topic}), are, were))
	}
}

// keeps tells whether this process, or the checkpoint, has something of a partition.
func (r reader) keeps(p Partition) bool {
	r.mu.Lock()
	n := r.lanes[r.in][p]
	r.mu.Unlock()
	if n != nil || r.keeper == nil {
		return n != nil
	}
	epochs, err := r.keeper.place.List(r.ctx, unitName(p))
	return err == nil && len(epochs) > 0
}

// begin is Begin; anew tells that what the partition held before is not there any more.
func (r reader) begin(p Partition, found Found) (next int64, known, anew bool, err error) {
	if r.keeper == nil {
		r.forget(p, found)
	}
	n, err := r.owned(p)
	if err != nil {
		return 0, false, false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	another := n.id != "" && found.ID != "" && n.id != found.ID && n.next >= 0
	if another && found.Recreated {
		r.note(r.recreation(n, p, n.id, found.ID))
		n.recreated(found.ID)
		return n.next, true, true, nil
	}
	if another {
		return 0, false, false, fmt.Errorf("%s has been made anew since it was read: it was %s, and is %s; give another place for the checkpoint to begin anew, "+
			"or have the source read it from its beginning (kafka.Config.Recreated)",
			describeSource(r.in.query.source), n.id, found.ID)
	}
	n.id = cmp.Or(found.ID, n.id) // a source that cannot tell once does not make it another one
	if r.keeper == nil && n.next < 0 {
		n.began = restart{found.Committed, found.Note}
		if was := n.another(found); was != "" {
			r.note(r.recreation(n, p, was, found.ID))
			n.recreated(found.ID)
			return n.next, true, true, nil
		}
		known, err := n.recall(found)
		return found.Committed, known, false, err
	}
	return n.next, n.next >= 0, false, nil
}

// recreation is RecreationNote, with what stays of the records that are gone.
func (r reader) recreation(n *lane, p Partition, was, is string) string {
	note := RecreationNote(topicName(r.in.query.source, p), was, is)
	switch {
	case r.in.table != "":
		note += fmt.Sprintf(" Rows that its records have put into the table %q stay, each until another of its key comes or a tombstone deletes it: "+
			"start the query anew, with another place for a checkpoint, if they are to go.", r.in.table)
	case n.kept() != nil || len(r.graph.states()) > 0:
		note += " What was made of its records stays: windows, groups and all else that the query remembers."
	}
	return note
}

// topicName names what a partition is of.
func topicName(source Source, p Partition) string {
	if p.Topic == "" {
		return describeSource(source)
	}
	return "topic " + p.Topic
}

// owned is the lane of a partition that this process gets, or has.
func (r reader) owned(p Partition) (*lane, error) {
	if r.keeper != nil && r.keeper.shared {
		return r.keeper.claim(r.in, p)
	}
	n, err := r.lane(p)
	if err == nil && r.keeper != nil && n.unread() {
		err = r.keeper.without(r.ctx, unitName(p), unitName(p)+" by itself, of processes that shared the query")
	}
	return n, err
}

// unread tells whether nothing is known of a partition yet.
func (n *lane) unread() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next < 0
}

// Release implements Releaser.
func (r reader) Release() {
	if r.keeper == nil {
		return
	}
	if err := r.keeper.epoch(false, false); err != nil {
		r.fail(err)
	}
}

// rewind takes a partition over anew that another process has read on.
func (r reader) rewind(b Batch) error {
	n, err := r.owned(Partition{Topic: b.Topic, ID: b.Partition})
	if err != nil {
		r.fail(err)
		return err
	}
	return &Rewind{Next: max(0, n.next)}
}

// availableRead tells whether all partitions of all inputs have been read to where they ended when they were opened.
func (r *Running) availableRead() bool {
	for _, in := range r.graph.inputs {
		lanes, all := r.held(in)
		if !all || slices.ContainsFunc(lanes, (*lane).behindGoal) {
			return false
		}
	}
	return true
}

// held are the lanes of the partitions that an input reads now, and whether all of them are there, at least one. One that another member of a
// group has got since is not waited for: its records do not come here. An input that has ended has none, and all of them.
func (r *Running) held(in *input) (lanes []*lane, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.assigned[in][ended] {
		return nil, true
	}
	for p := range r.assigned[in] {
		if n := r.lanes[in][p]; n != nil {
			lanes = append(lanes, n)
		}
	}
	return lanes, len(lanes) > 0 && len(lanes) == len(r.assigned[in])
}

// prepare lets a lane's decoder fetch what it lacks. The lane is not locked, so that whoever counts or closes windows need not wait; and nothing
// is reserved of MaxRecords yet, so that the last record of another lane, which ends this wait, is the query's last.
func (r reader) prepare(ctx context.Context, n *lane, records []Record) error {
	p, ok := n.decoder.(Preparer)
	if !ok || len(records) == 0 {
		return nil
	}
	if r.limited {
		records = records[:min(int64(len(records)), max(r.remaining.Load(), 0))]
	}
	err := p.Prepare(ctx, records)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the wait was ended, which is no fault of what was waited for
		return context.Cause(ctx)
	}
	err = fmt.Errorf("prepare records of %s: %w", n.in.query.formatName(), err)
	r.fail(err)
	return err
}

// Finished implements Finisher. An error of what is given out ends the run.
func (r reader) Finished(p Partition) {
	if n, err := r.lane(p); err == nil {
		n.finished.Store(true)
		r.settleAlone()
		r.moves.ring()
	}
}

// Retry implements Handler.
func (r reader) Retry(err error, wait time.Duration) {
	for _, n := range r.of(r.in) {
		n.unknown()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away[r.in] = true
	r.status.retry(err, wait)
}

// heard notes that the source is back.
func (r reader) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.back()
}

// Note implements Noter.
func (r reader) Note(sentence string) { r.note(sentence) }

// atEnd tells whether all partitions of an input have been read to where they end now.
func (r *Running) atEnd(in *input) bool {
	lanes, all := r.held(in)
	return all && !slices.ContainsFunc(lanes, func(n *lane) bool { return !n.caughtUp.Load() && !n.finished.Load() })
}

// hasMet tells whether an input had been read to its end by a batch before.
func (r *Running) hasMet(in *input) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.met[in]
}

// reached lets those go on who wait for a table, after a batch of it: once its input has been read to its end. Where steps hold rows back it is a batch
// that begins after that, which shows that the source goes on; one that ends gives out the rest first. before tells that it had been read to its end when the
// batch began: batches of two partitions that come to the end side by side show nothing.
func (r *Running) reached(in *input, before bool) {
	if !before && !r.atEnd(in) {
		return
	}
	if before || !in.on.holds {
		r.caughtUp(in)
		return
	}
	r.mu.Lock()
	r.met[in] = true
	r.mu.Unlock()
}

func (r *Running) caughtUp(in *input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.ready[in]; c != nil {
		select {
		case <-c:
		default:
			close(c)
		}
	}
}

// reserve returns how many of n records may still be handled.
func (r *Running) reserve(n int) int {
	if !r.limited {
		return n
	}
	for {
		left := r.remaining.Load()
		take := max(0, min(left, int64(n)))
		if r.remaining.CompareAndSwap(left, left-take) {
			return int(take)
		}
	}
}
