package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cancha/stream/internal/lineage"
)

// Sink takes the rows of a query as they come. Calls come one after another; a slow sink slows the query down rather than
// filling memory. An error ends the query. The rows stay the sink's.
//
// Epoch counts the calls from 1. The query waits for Write, which must not wait for the query: Results, Stop and Wait do.
type Sink interface {
	Write(ctx context.Context, epoch int64, rows *Rows) error
}

// Opener is a Sink that is told the columns of its rows when the query starts; an error refuses the start.
type Opener interface {
	Open(ctx context.Context, columns []Column) error
}

// Resumer is a Sink that can go on where a checkpoint has left it, so that each row is there once whatever happens to its query.
type Resumer interface {
	// Resume takes the place of Open in a query with a Checkpoint. It makes what the sink holds that of the last whole epoch, and returns that: mark.Epoch,
	// or mark.Snapshot.Number where the rows of that one are there already. The query does not go on where it returns another one: the sink has rows then
	// that the snapshot knows nothing of, or lacks some. It may be called for several units of a run, and for one again; where it fails, the sink is as it was.
	Resume(ctx context.Context, columns []Column, mark Mark) (epoch int64, err error)
	// Position is asked after each Write, and kept with its epoch: what Resume needs to find the place again.
	Position() []byte
}

// Reverter is a Resumer that can go back: what it has of epochs behind the snapshot, which come again, it takes off. Its Resume says by an error that it
// cannot, and else changes nothing that is there. Revert does, once all sinks of the query have agreed and the run has taken a snapshot of the unit: so a query that is
// refused leaves all of them as they were, and so does a process that has lost the unit to another one, which may have written what it would take off. Before it
// comes no Write but one of the rows of the snapshot that the run goes on from. A note is what a user should know; empty: nothing.
type Reverter interface {
	Resumer
	Revert(ctx context.Context, unit string) (note string, err error)
}

// Prober is a Resumer that Start asks whether it can be opened, where partitions are shared: its first Resume comes with the first partition, which another
// process may have for long. Probe fails soon where what the sink writes to is away. After it, as after a first Resume, the query runs, and Resume waits for
// that until ctx ends, as Write does: an error would end a query that has only to wait.
type Prober interface {
	Resumer
	Probe(ctx context.Context, columns []Column, run string) error
}

// Marked is a Resumer that keeps beside its rows up to which epoch of each unit it has them. Marks names where, and may name several places for one, such as the
// brokers of a topic: two sinks of a query with a Checkpoint that name the same are refused, since the rows of one would be taken for the other's. An error
// refuses the query too: it says why there is no such place, and what to write instead.
type Marked interface {
	Marks() (places []string, err error)
}

// ErrTakenOver is part of the error of a Resumer's Write where another process has gone on with the unit: what was to be written is that one's.
var ErrTakenOver = lineage.ErrTakenOver

// Mark is how far a sink has come, as a checkpoint knows it.
type Mark struct {
	Query    string // identifies the checkpoint; partitions that processes share have that of whichever process began with them
	Run      string // identifies the run of the query: a sink that is open for one refuses another, whose rows would get the first one's epochs
	Unit     string // the part of the query whose rows these are; checkpoint.Whole: all
	Epoch    int64  // the last whose rows are known to be there; 0: none yet
	Position []byte // what Position said then; nil: nothing yet

	Known    bool    // the snapshot knows the sink, which may have written nothing yet
	Wrote    EpochID // the last that the sink has written, as the snapshot knows; zero: none, or a version that named no runs wrote it
	Snapshot EpochID // the epoch of the snapshot that the query goes on from, whose rows may be there; zero: the query begins
}

// EpochID names an epoch of a unit for good. Its number alone does not: a query that goes back to an older snapshot counts on from that one's number, and
// other rows get the numbers of those that it has gone back behind.
type EpochID struct {
	Run    string // of the query, that took its snapshot; empty: a version that named no runs
	Number int64
}

// Closer is a Sink that is closed after its last Write, however the query ended. One whose Open or Resume has failed is not: it may serve another query.
type Closer interface{ Close() error }

// Placed is a Sink that writes to one place, such as a file: two sinks of a query with the same Place are refused, and so is a Reader of it. The
// empty Place is that of many.
type Placed interface{ Place() string }

// SinkFunc is a function as a Sink. What it did before the query died, or before it has gone back to a savepoint, is done: at least once, if the records are
// read again. With a Checkpoint an epoch that comes again has the same number and the same rows.Run; number and Run together tell which are done.
func SinkFunc(write func(epoch int64, rows *Rows) error) Sink { return sinkFunc(write) }

type sinkFunc func(epoch int64, rows *Rows) error

// Write implements Sink.
func (f sinkFunc) Write(_ context.Context, epoch int64, rows *Rows) error { return f(epoch, rows) }

// asOpener is a sink as what opens it, nil if nothing has to.
func asOpener(sink Sink) (o Opener, wanted bool) {
	o, _ = sink.(Opener)
	return o, true
}

// open opens the sinks that are wanted. Those that were opened before one that fails are closed.
func (q *Query) open(ctx context.Context, columns []Column, as func(Sink) (o Opener, wanted bool)) error {
	var opened []Sink
	for i, sink := range q.outlets() {
		o, wanted := as(sink)
		if !wanted {
			continue
		}
		is := columns
		if i >= len(q.sinks) {
			is = letterColumns()
		}
		if o != nil {
			if err := openOne(ctx, sink, o, slices.Clone(is)); err != nil {
				return errors.Join(fmt.Errorf("open a sink: %w", err), closeAll(opened))
			}
		}
		opened = append(opened, sink)
	}
	return nil
}

// openOne opens a sink. A panic in it is its error.
func openOne(ctx context.Context, sink Sink, o Opener, columns []Column) error {
	return handed("open "+describeSink(sink), func() error { return o.Open(ctx, columns) })
}

// outlets are all sinks: those of rows, and behind them those of dead letters.
func (q *Query) outlets() []Sink { return append(slices.Clone(q.sinks), q.letters...) }

func closeAll(sinks []Sink) error {
	var all error
	for _, sink := range sinks {
		if c, ok := sink.(Closer); ok {
			all = errors.Join(all, closeOne(sink, c))
		}
	}
	return all
}

// closeOne closes a sink. A panic in it is its error.
func closeOne(sink Sink, c Closer) error {
	return handed("close "+describeSink(sink), c.Close)
}

// describeSink is the sink's own words, or its type.
func describeSink(sink Sink) string {
	if d, ok := sink.(fmt.Stringer); ok {
		return described(sink, d.String)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", sink), "*")
}
