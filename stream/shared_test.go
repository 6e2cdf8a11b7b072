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

// group is a topic that the processes of a group share; in these tests one of them has all of it.
type group struct{ *MemorySource }

func (group) Shared() bool { return true }

// door is a sink of a program's own: it notes its calls, those of Write as one.
type door struct {
	calls  string
	refuse error
}

func (d *door) Open(_ context.Context, columns []Column) error {
	d.calls += fmt.Sprint("open ", (&Rows{Columns: columns}).Names())
	return d.refuse
}

func (d *door) Write(context.Context, int64, *Rows) error {
	d.calls = strings.TrimSuffix(d.calls, ", write") + ", write"
	return nil
}

func (d *door) Close() error { d.calls += ", close"; return nil }

// TestSharedSinksAreOpened: a sink that does not go on from a checkpoint is opened once, before this process has a partition, however many it gets.
func TestSharedSinksAreOpened(t *testing.T) {
	source := group{Memory("shops", [][]Record{events(1, 0, 90), events(2, 0, 90), {{Value: []byte(`{"shop":`)}}})}
	query := func() *Query { return counting(source).Checkpoint(checkpoint.Folder(t.TempDir())) }
	rows, letters := &door{}, &door{}
	finish(t, query().To(rows).DeadLetters(letters))
	if want := "open [shop window_start window_end events], write, close"; rows.calls != want {
		t.Errorf("the sink: got %s, want %s", rows.calls, want)
	}
	if want := "open [reason topic partition offset timestamp key value], write, close"; letters.calls != want {
		t.Errorf("the sink of dead letters: got %s, want %s", letters.calls, want)
	}

	fail := errors.New("no such folder")
	first, second := &door{}, &door{refuse: fail}
	_, err := query().To(first).To(second).Start(t.Context())
	if want := "open [shop window_start window_end events]"; !errors.Is(err, fail) || first.calls != want+", close" || second.calls != want {
		t.Errorf("got %v, %s and %s; want %v, and the first closed", err, first.calls, second.calls, fail)
	}
}

// telling is a group whose source tells of its partitions, or why it does not.
type telling struct {
	group
	err error
}

func (s telling) Partitions(context.Context) ([]Partition, error) {
	return []Partition{{Topic: "shops", ID: 0}, {Topic: "shops", ID: 1}}, s.err
}

// TestSavepointOfUnknownPartitions: a savepoint that may lack partitions of other processes is refused; one of which nothing has been read lacks nothing.
func TestSavepointOfUnknownPartitions(t *testing.T) {
	away := errors.New("no broker answers")
	topic := group{Memory("shops", [][]Record{events(1, 0, 90)})}
	for _, c := range []struct {
		source Source
		want   string
	}{
		{topic, "does not tell which partitions there are: its source needs a method Partitions"},
		{telling{topic, away}, "which partitions there are: no broker answers; take it when the source answers"},
		{telling{topic, nil}, ""},
	} {
		second := checkpoint.Folder(t.TempDir())
		err := finish(t, counting(c.source).Checkpoint(checkpoint.Folder(t.TempDir()))).Savepoint(t.Context(), second)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if epochs, err := second.List(t.Context(), "partition 0 shops"); err != nil || (len(epochs) > 0) != (c.want == "") {
			t.Errorf("%q: snapshots %v, %v", c.want, epochs, err)
		}
	}
}
