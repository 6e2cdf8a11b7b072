package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// bench is a sink that goes on from a checkpoint and notes its calls, those of Write as one. It refuses a unit.
type bench struct {
	calls  string
	refuse string
}

var errNoRoom = errors.New("no room for this unit")

func (b *bench) Resume(_ context.Context, _ []Column, mark Mark) (int64, error) {
	b.calls += "resume " + mark.Unit + ", "
	if mark.Unit == b.refuse {
		return 0, errNoRoom
	}
	return mark.Epoch, nil
}

func (b *bench) Position() []byte { return nil }

func (b *bench) Write(context.Context, int64, *Rows) error {
	b.calls = strings.TrimSuffix(b.calls, "write, ") + "write, "
	return nil
}

func (b *bench) Close() error { b.calls += "close, "; return nil }

// TestSinksThatAreClosed: where a sink cannot be opened, those that were opened before it are closed, and it is not: it may serve another query.
func TestSinksThatAreClosed(t *testing.T) {
	first, second := &bench{}, &bench{refuse: checkpoint.Whole}
	source := Memory("shops", [][]Record{events(1, 0, 90)})
	_, err := counting(source).To(first).To(second).Checkpoint(checkpoint.Folder(t.TempDir())).Start(t.Context())
	if want := "resume query, "; !errors.Is(err, errNoRoom) || first.calls != want+"close, " || second.calls != want {
		t.Errorf("got %v, %q and %q, want the first closed", err, first.calls, second.calls)
	}
}

// TestUnitThatCannotBeOpened: a sink that has partitions already is open for them until the query has ended.
func TestUnitThatCannotBeOpened(t *testing.T) {
	first, second := &bench{}, &bench{refuse: "partition 1 shops"}
	source := group{Memory("shops", [][]Record{events(1, 0, 90), events(2, 0, 90)})}
	r := start(t, counting(source).To(first).To(second).Checkpoint(checkpoint.Folder(t.TempDir())))
	want := "resume partition 0 shops, resume partition 1 shops, close, "
	if err := r.Wait(t.Context()); !errors.Is(err, errNoRoom) || first.calls != want || second.calls != want {
		t.Errorf("got %v, %q and %q, want each closed once", err, first.calls, second.calls)
	}
}

// asked is a bench that Start asks, and that waits for a unit until its context ends.
type asked struct {
	bench
	probe error
	waits chan struct{} // closed when it does
}

func (a *asked) Probe(_ context.Context, columns []Column, run string) error {
	a.calls += fmt.Sprintf("probe %v, ", run != "" && len(columns) == 4)
	return a.probe
}

func (a *asked) Resume(ctx context.Context, columns []Column, mark Mark) (int64, error) {
	if a.waits != nil {
		close(a.waits)
		<-ctx.Done()
		return 0, errors.New("the connection is lost") // and not why the context has ended
	}
	return a.bench.Resume(ctx, columns, mark)
}

// TestSinksAreAsked: where partitions are shared, Start fails if a sink cannot be opened; after that a sink that waits for what is away ends with the query,
// which is no failure.
func TestSinksAreAsked(t *testing.T) {
	source := group{Memory("shops", [][]Record{events(1, 0, 90)})}
	query := func(source Source, sink Sink) *Query {
		return counting(source).To(sink).Checkpoint(checkpoint.Folder(t.TempDir()))
	}
	away := errors.New("nobody answers")
	first, refused := &asked{}, &asked{probe: away}
	if _, err := query(source, first).To(refused).Start(t.Context()); !errors.Is(err, away) || first.calls != "probe true, close, " || refused.calls != "probe true, " {
		t.Errorf("got %v, %q and %q", err, first.calls, refused.calls)
	}
	whole := &asked{}
	finish(t, query(Memory("shops", [][]Record{events(1, 0, 90)}), whole))
	if want := "resume query, write, close, "; whole.calls != want {
		t.Errorf("all partitions: got %q, want %q", whole.calls, want)
	}
	standby := &asked{waits: make(chan struct{})}
	r := start(t, query(source, standby))
	<-standby.waits
	if err := r.Stop(t.Context()); err != nil || standby.calls != "probe true, close, " {
		t.Errorf("stopped while it waits: got %v, %q", err, standby.calls)
	}
}
