package stream_test

import (
	"context"
	"testing"
	"time"

	"cancha/internal/alloctest"
	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// stateful are queries of each kind of state over a few records.
func stateful() []*Query {
	from := func() *Query {
		return From(Memory("plays", plays(2, 60))).EventTime(Field("ts").AsTime()).Watermark(time.Hour)
	}
	return []*Query{
		from().KeyedBy("k").GroupBy("k").Window(Tumbling(time.Minute)).Agg(Count("n"), Stats("x", Field("x")), CountDistinct("d", Field("s")), TopK("t", Field("s"), 3),
			First("f", Field("id")), Quantile("q", Field("x"), 0.5), Collect("c", Field("id"), 3), Min("m", Field("s"))),
		from().GroupBy("k").Window(Tumbling(time.Minute)).Agg(Sum("sum", Field("id"))).Output(Update),
		from().GroupBy("k").Window(Session(time.Second)).Agg(Count("n")),
		from().Select("k", "s").Deduplicate("k", "s"),
		from().Select("k", "id").FullJoin(from().With("other", Field("id")).Select("k", "other"), Same("k"), Within{Before: time.Second, After: time.Second}),
		from().GroupBy("k", "s").Window(Tumbling(time.Minute)).Agg(Count("n")).Top(2, "n", "k"),
		from().Process(tallies()),
		from().Lookup(Latest("newest", from().With("seen", Field("id")).Select("k", "seen"), "k"), Same("k")).Select("k", "id", "seen"),
	}
}

// taken is the snapshot that a query leaves when it is stopped in the middle.
func taken(t testing.TB, q *Query) *checkpoint.Snapshot {
	t.Helper()
	place := checkpoint.Folder(t.TempDir())
	r, err := q.Checkpoint(place).MaxRecords(100).Start(context.Background())
	if err == nil {
		err = r.Wait(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	epochs, err := place.List(context.Background(), checkpoint.Whole)
	if err != nil {
		t.Fatal(err)
	}
	b, err := place.Read(context.Background(), checkpoint.Whole, epochs[len(epochs)-1])
	if err != nil {
		t.Fatal(err)
	}
	s, err := checkpoint.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	s.Header.Base, s.Header.Previous = s.Header.Epoch, 0
	return s
}

// FuzzState starts queries from snapshots whose checksum is right and whose sections are not theirs: an error, or a query that ends, and nothing else.
func FuzzState(f *testing.F) {
	queries := stateful()
	snapshots := make([]*checkpoint.Snapshot, len(queries))
	for i, q := range queries {
		snapshots[i] = taken(f, q)
		for j, section := range snapshots[i].Sections {
			f.Add(uint8(i), uint8(j), section.Bytes)
		}
	}
	f.Fuzz(func(t *testing.T, query, section uint8, b []byte) {
		i := int(query) % len(queries)
		s := *snapshots[i]
		s.Sections = append([]checkpoint.Section(nil), s.Sections...)
		j := int(section) % len(s.Sections)
		s.Sections[j].Bytes = b
		pieces, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		place := checkpoint.Folder(t.TempDir())
		if err := place.Write(t.Context(), checkpoint.Whole, s.Header.Epoch, pieces); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		alloctest.Bounded(t, len(b)+1<<16, func() {
			if r, err := queries[i].Checkpoint(place).Start(ctx); err == nil {
				_ = r.Wait(context.Background())
			}
		})
		if ctx.Err() != nil {
			t.Error("it did not end")
		}
	})
}
