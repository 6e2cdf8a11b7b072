package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "cancha/stream"
	"cancha/stream/checkpoint"
)

// errKilled ends a query in a test as kill -9 would: nothing of it is given out or saved any more.
var errKilled = errors.New("killed")

// exactly is a sink that notes each epoch with its rows once, as one that keeps both together does.
type exactly struct {
	columns []Column
	epochs  []int64
	lines   []string
}

func (s *exactly) String() string { return "exactly" }

func (s *exactly) Resume(_ context.Context, columns []Column, mark Mark) (int64, error) {
	s.columns = columns
	if len(s.epochs) == 0 {
		return 0, nil
	}
	return s.epochs[len(s.epochs)-1], nil
}

func (s *exactly) Position() []byte { return nil }

func (s *exactly) Write(_ context.Context, epoch int64, rows *Rows) error {
	if n := len(s.epochs); n > 0 && s.epochs[n-1] >= epoch {
		return fmt.Errorf("epoch %d after %d", epoch, s.epochs[n-1])
	}
	s.epochs = append(s.epochs, epoch)
	for i := range rows.Len() {
		s.lines = append(s.lines, string(rows.AppendJSON(nil, i)))
	}
	return nil
}

// plays are records of several keys, late and in disorder, and some that are bad.
func plays(partitions, n int) [][]Record {
	dice := rand.New(rand.NewPCG(3, 4))
	all := make([][]Record, partitions)
	for p := range all {
		at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		for i := range n {
			at = at.Add(time.Duration(dice.IntN(400)) * time.Millisecond)
			t := at.Add(-time.Duration(dice.IntN(8)) * time.Second)
			value := fmt.Sprintf(`{"id":%d,"k":"k%d-%d","x":%.3f,"s":"w%d","ts":%q}`, i, p, dice.IntN(7), dice.NormFloat64(), dice.IntN(50), t.Format(time.RFC3339Nano))
			if dice.IntN(500) == 0 {
				value = `{"id":`
			}
			all[p] = append(all[p], Record{Key: []byte("k"), Value: []byte(value)})
		}
	}
	return all
}

// TestKilled runs queries of each kind without a break, and again with many ends of each kind: results and sinks are the same.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	defer BitByBit()()
	recorded := sync.OnceValue(func() [][]Record { return plays(2, 10_000) })
	from := func(topic string) *Query {
		return From(Memory(topic, recorded()).BatchSize(37)).EventTime(Field("ts").AsTime()).Watermark(5 * time.Second)
	}
	calm := func() *Query { return from("plays").Watermark(10 * time.Second) }
	joinOf := func(join func(*Query, *Query, On, Within) *Query) *Query {
		return join(calm().Filter(Field("x").Gt(1)).Select("k", "id", "s"), calm().Filter(Field("x").Lt(-1)).With("other", Field("id")).
			Select("k", "s", "other"), Same("k", "s"), Within{Before: 3 * time.Second, After: 5 * time.Second})
	}
	for name, make := range map[string]func() *Query{
		"windows": func() *Query {
			return from("plays").KeyedBy("k").GroupBy("k").Window(Tumbling(20*time.Second)).Agg(Count("n"), Stats("x", Field("x")), CountDistinct("d", Field("s")),
				TopK("t", Field("s"), 3), First("f", Field("id")), Quantile("q", Field("x"), 0.5), Collect("c", Field("id"), 3), Min("m", Field("s")))
		},
		"update": func() *Query {
			return from("plays").KeyedBy("k").GroupBy("k").Window(Sliding(30*time.Second, 10*time.Second)).Agg(Count("n")).Output(Update)
		},
		"complete": func() *Query {
			return from("plays").GroupBy("k").Window(Tumbling(time.Minute)).Agg(Sum("sum", Field("id"))).Output(Complete)
		},
		"shares": func() *Query {
			return from("plays").GroupBy("k", "s").Window(Tumbling(30*time.Second)).Agg(Share("share", "s", "s"), Mean("x", Field("x")))
		},
		"sessions": func() *Query {
			return calm().GroupBy("k").Window(Session(900*time.Millisecond)).Agg(Count("n"), Sum("x", Field("id")))
		},
		"sums of sessions": func() *Query {
			return calm().GroupBy("k").Window(Session(400*time.Millisecond)).Agg(Sum("x", Field("x"))).
				GroupBy().Window(Tumbling(time.Minute)).Agg(Sum("sum", Field("x")), Collect("in order", Field("k"), 40))
		},
		"deduplicated": func() *Query { return from("plays").Watermark(2*time.Hour).Select("k", "s").Deduplicate("k", "s") },
		"join":         func() *Query { return joinOf((*Query).Join) },
		"full join":    func() *Query { return joinOf((*Query).FullJoin) },
		"top": func() *Query {
			return calm().GroupBy("k", "s").Window(Tumbling(20*time.Second)).Agg(Count("n"), Max("x", Field("x"))).TopTies(2, "n", "k")
		},
		"twice aggregated": func() *Query {
			return calm().GroupBy("k", "s").Window(Tumbling(5*time.Second)).Agg(Count("n")).
				GroupBy("k").Window(Tumbling(time.Minute)).Agg(Max("most", Field("n")), Collect("all", Field("s"), 3))
		},
		"union": func() *Query { return calm().Select("k", "id").Union(calm().Select("k", "id")).Deduplicate("k", "id") },
		"lookup": func() *Query {
			return calm().Lookup(Latest("newest", calm().Filter(Field("x").Gt(1)).With("seen", Field("id")).Select("k", "seen"), "k"), Same("k")).Select("k", "id", "seen")
		},
		"lookup of what tombstones delete": func() *Query {
			names := From(Memory("names", [][]Record{removals(2000)}).BatchSize(37)).With("k", Field("@key")).Select("k", "name")
			return calm().LeftLookup(Latest("names", names, "k"), Same("k")).Select("k", "id", "name")
		},
		"process": func() *Query { return calm().Process(tallies()) },
		"rows":    func() *Query { return from("plays").Filter(Field("x").Gt(0)).Select("id", "k", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			want := &exactly{}
			whole := lives(t, make().Checkpoint(checkpoint.Folder(t.TempDir())).To(want), 0, nil)
			for seed, end := range []func(*Running, context.CancelCauseFunc){killed, stopped} {
				dice := rand.New(rand.NewPCG(uint64(seed), 1))
				sink, dir := &exactly{}, t.TempDir()
				var got *Running
				for ends := 0; got == nil; ends++ {
					q := make().Checkpoint(checkpoint.Folder(dir)).Epoch(10 * time.Millisecond).To(sink)
					if ends > 12 {
						got = lives(t, q, 0, nil)
						break
					}
					got = lives(t, q, time.Duration(dice.IntN(30)+1)*time.Millisecond, end)
				}
				if a, b := csvOf(t, got), csvOf(t, whole); a != b {
					compareLines(t, strings.Split(a, "\n"), strings.Split(b, "\n"))
					t.Fatalf("seed %d: results differ: %d rows, want %d", seed, got.Results().Len(), whole.Results().Len())
				}
				if name != "update" && name != "complete" {
					compareLines(t, sink.lines, want.lines)
				}
			}
		})
	}
}

// tally is the state of tallies: what a key has in each span of time that is not over.
type tally struct {
	N    map[int64]int
	Last map[int64]string
}

// tallies counts the rows of a key in spans of 20 seconds, by timers.
func tallies() Processing {
	const span = 20 * time.Second
	return Processing{Name: "tallies", Keys: []string{"k"}, Fields: []string{"s"}, TimeToLive: 2 * time.Hour,
		Columns: []Column{{Name: "k", Kind: Text}, {Name: "n", Kind: Int}, {Name: "last", Kind: Text}, {Name: "at", Kind: Time}},
		State:   func() any { return &tally{map[int64]int{}, map[int64]string{}} },
		Row: func(c *Context, state any, row Row) error {
			s, end := state.(*tally), c.Time().Truncate(span).Add(span)
			if s.N[end.Unix()]++; s.N[end.Unix()] == 1 {
				c.SetTimer(end)
			}
			s.Last[end.Unix()] = max(s.Last[end.Unix()], row.Text("s"))
			return nil
		},
		Timer: func(c *Context, state any, at time.Time) error {
			s := state.(*tally)
			n, last := s.N[at.Unix()], s.Last[at.Unix()]
			delete(s.N, at.Unix())
			delete(s.Last, at.Unix())
			return c.Emit(c.Key()[0].String(), n, last, at)
		}}
}

func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	want = slices.Clone(want)
	slices.Sort(want)
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		odd := slices.DeleteFunc(slices.Clone(got), func(l string) bool { return slices.Contains(want, l) })
		lost := slices.DeleteFunc(want, func(l string) bool { return slices.Contains(got, l) })
		t.Fatalf("%d lines; %d too many: %.10q; %d missing: %.10q", len(got), len(odd), odd[:min(len(odd), 10)], len(lost), lost[:min(len(lost), 10)])
	}
}

// lives runs a query to its end and returns it, or has end end it after a time and returns nil.
func lives(t *testing.T, q *Query, life time.Duration, end func(*Running, context.CancelCauseFunc)) *Running {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	r, err := q.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	over := time.After(time.Hour)
	if end != nil {
		over = time.After(life)
	}
	done := make(chan error, 1)
	go func() { done <- r.Wait(context.Background()) }()
	select {
	case err = <-done:
	case <-over:
		end(r, kill)
		err, r = <-done, nil
	}
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	return r
}

func killed(_ *Running, kill context.CancelCauseFunc) { kill(errKilled) }

func stopped(r *Running, _ context.CancelCauseFunc) { r.Stop(context.Background()) }

// TestRowsTellTheirUnit: a sink gets the name of what its epochs are counted for, dead letters included, and none where there is no checkpoint.
func TestRowsTellTheirUnit(t *testing.T) {
	for want, query := range map[string]func(*Query) *Query{
		"":               func(q *Query) *Query { return q },
		checkpoint.Whole: func(q *Query) *Query { return q.Checkpoint(checkpoint.Folder(t.TempDir())) },
	} {
		var units []string
		sink := func(epoch int64, rows *Rows) error {
			units = append(units, rows.Unit)
			return nil
		}
		two := Memory("t", [][]Record{{{Value: []byte(`{"id":1}`)}, {Value: []byte("no")}}})
		results := finish(t, query(From(two).Select("id").To(SinkFunc(sink)).DeadLetters(SinkFunc(sink)))).Results()
		if !slices.Equal(units, []string{want, want}) || results.Unit != "" {
			t.Errorf("got rows of %q, and of Results %q, want %q and none", units, results.Unit, want)
		}
	}
}
