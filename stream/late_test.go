package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// visit is a record of the tests of what is late.
type visit struct {
	ID, Key int
	At      int64 // seconds after three o'clock
}

// visits are partitions of n visits each, whose event times go on by jumps and fall back far now and then. The keys of one partition are its own.
func visits(r *rand.Rand, partitions, n int) [][]visit {
	all := make([][]visit, partitions)
	for p := range all {
		at := int64(r.IntN(60))
		for i := range n {
			switch r.IntN(20) {
			case 0:
				at += int64(r.IntN(200))
			default:
				at += int64(r.IntN(4))
			}
			t := at
			switch r.IntN(8) {
			case 0:
				t -= int64(r.IntN(30))
			case 1:
				t -= int64(r.IntN(120))
			}
			all[p] = append(all[p], visit{10_000*p + i - r.IntN(3), p + partitions*r.IntN(4), t})
		}
	}
	return all
}

func visitRecords(all [][]visit) [][]Record {
	made := make([][]Record, len(all))
	for p := range all {
		for i, v := range all[p] {
			at := threeOClock.Add(time.Duration(v.At) * time.Second)
			made[p] = append(made[p], Record{Partition: p, Offset: int64(i), Value: fmt.Appendf(nil, `{"id":%d,"key":%d,"s":%d,"at":%q}`, v.ID, v.Key, v.At, at.Format(time.RFC3339Nano))})
		}
	}
	return made
}

// cut is a source that hands its partitions over in batches of any length, in any turn.
type cut struct {
	name       string
	partitions [][]Record
	random     *rand.Rand
	longest    int // of a batch
}

func (c cut) Description() string { return "cut " + c.name }

func (c cut) Run(ctx context.Context, h Handler) error {
	var assigned []Partition
	next := make([]int, len(c.partitions))
	for p := range c.partitions {
		assigned = append(assigned, Partition{c.name, p})
	}
	h.Assigned(assigned)
	for open := slices.Clone(assigned); len(open) > 0 && ctx.Err() == nil; {
		k := c.random.IntN(len(open))
		p := open[k].ID
		rest := c.partitions[p][next[p]:]
		n := min(len(rest), 1+c.random.IntN(c.longest))
		if err := h.Batch(ctx, Batch{Topic: c.name, Partition: p, Records: rest[:n], HighWatermark: int64(len(c.partitions[p]))}); err != nil {
			return err
		}
		if next[p] += n; n == len(rest) {
			h.(Finisher).Finished(open[k])
			open = slices.Delete(open, k, k+1)
		}
	}
	return nil
}

const lateDelay = 20

func visiting(source Source) *Query {
	return From(source).EventTime(Field("at").AsTime()).Watermark(lateDelay * time.Second).MaxDrift(0)
}

// remembering is a process whose rows tell in which order its timers and its rows came.
func remembering() Processing {
	type state struct{ Seen, Fired int }
	return Processing{Name: "remembering", Keys: []string{"key"}, TimeToLive: 90 * time.Second,
		Columns: []Column{{Name: "key", Kind: Int}, {Name: "seen", Kind: Int}, {Name: "fired", Kind: Int}, {Name: "when", Kind: Time}},
		State:   func() any { return new(state) },
		Row: func(c *Context, s any, row Row) error {
			s.(*state).Seen++
			c.SetTimer(c.Time().Add(45 * time.Second))
			return c.Emit(c.Key()[0], s.(*state).Seen, s.(*state).Fired, c.Time())
		},
		Timer: func(c *Context, s any, at time.Time) error {
			s.(*state).Fired++
			return c.Emit(c.Key()[0], s.(*state).Seen, s.(*state).Fired, at)
		}}
}

// shapes are queries over one topic.
func shapes() map[string]func(q *Query) *Query {
	windows := func(q *Query) *Query {
		return q.GroupBy("key").Window(Tumbling(30*time.Second)).Agg(Count("n"), Sum("s", Field("s")))
	}
	sessions := func(q *Query) *Query {
		return q.GroupBy("key").Window(Session(25*time.Second)).Agg(Count("n"), Sum("s", Field("s")))
	}
	return map[string]func(q *Query) *Query{
		"windows":        windows,
		"windows by key": func(q *Query) *Query { return windows(q.KeyedBy("key")) },
		"sliding": func(q *Query) *Query {
			return q.GroupBy("key").Window(Sliding(40*time.Second, 10*time.Second)).Agg(Count("n"))
		},
		"sessions":                  sessions,
		"deduplicated":              func(q *Query) *Query { return q.Deduplicate("key").Select("id", "key", "s") },
		"deduplicated ids":          func(q *Query) *Query { return q.Deduplicate("id").Select("id", "key", "s") },
		"windows of deduplicated":   func(q *Query) *Query { return windows(q.Deduplicate("id")) },
		"sessions of deduplicated":  func(q *Query) *Query { return sessions(q.Deduplicate("id")) },
		"process":                   func(q *Query) *Query { return q.Process(remembering()) },
		"process of windows":        func(q *Query) *Query { return windows(q).Process(remembering()) },
		"process of windows by key": func(q *Query) *Query { return windows(q.KeyedBy("key")).Process(remembering()) },
		"process of sessions":       func(q *Query) *Query { return sessions(q).Process(remembering()) },
		"process of process":        func(q *Query) *Query { return q.Process(remembering()).Process(remembering()) },
		"deduplicated process":      func(q *Query) *Query { return q.Process(remembering()).Deduplicate("key", "seen") },
		"process of deduplicated process": func(q *Query) *Query {
			return q.Process(remembering()).Deduplicate("key", "seen").Process(remembering())
		},
		"windows of process": func(q *Query) *Query {
			return q.Process(remembering()).GroupBy("key").Window(Tumbling(20*time.Second)).Agg(Count("n"), Sum("f", Field("fired")))
		},
		"sessions of process": func(q *Query) *Query {
			return q.Process(remembering()).GroupBy("key").Window(Session(25*time.Second)).Agg(Count("n"), Sum("f", Field("fired")))
		},
		"groups of process": func(q *Query) *Query {
			return q.Process(remembering()).GroupBy("key").TimeToLive(50 * time.Second).Agg(Count("n")).Output(Update)
		},
		"deduplicated windows":  func(q *Query) *Query { return windows(q).Deduplicate("key") },
		"top of windows":        func(q *Query) *Query { return windows(q).Top(1, "n", "window_start") },
		"top of windows by key": func(q *Query) *Query { return windows(q.KeyedBy("key")).Top(1, "n", "window_start") },
		"windows of windows by key": func(q *Query) *Query {
			return windows(q.KeyedBy("key")).GroupBy().Window(Tumbling(2*time.Minute)).Agg(Sum("n", Field("n")), Sum("s", Field("s")))
		},
		"sessions of windows by key": func(q *Query) *Query { return sessions(windows(q.KeyedBy("key"))) },
		"groups by key": func(q *Query) *Query {
			return q.KeyedBy("key").GroupBy("key").TimeToLive(50 * time.Second).Agg(Count("n")).Output(Update)
		},
		"groups of what was one row": func(q *Query) *Query {
			return q.Deduplicate("id").GroupBy("key").TimeToLive(50 * time.Second).Agg(Count("n")).Output(Update)
		},
	}
}

// given is what a query has given out, and what it has called late.
func given(t *testing.T, q *Query) string {
	t.Helper()
	r := finish(t, q)
	return fmt.Sprintf("%d late\n%s", r.Totals().Late, csvOf(t, r))
}

// differing are the first lines in which two texts differ.
func differing(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got %s, want %s (%s, %s)", i, g[i], w[i], g[0], w[0])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

// TestBatchesDecideNothing: the same records give the same rows and the same late ones, however they are cut and whichever partition comes first.
func TestBatchesDecideNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for name, shape := range shapes() {
		for _, partitions := range []int{1, 3} {
			records := visitRecords(visits(random, partitions, 150))
			source := func(longest int) Source {
				return cut{"visits", records, rand.New(rand.NewPCG(random.Uint64(), 2)), longest}
			}
			one := given(t, shape(visiting(source(1))))
			for _, longest := range []int{2, 20, 1000} {
				if got := given(t, shape(visiting(source(longest)))); got != one {
					t.Errorf("%s of %d partitions, in batches of up to %d, and not one by one: %s", name, partitions, longest, differing(got, one))
				}
				if got := given(t, shape(visiting(Memory("visits", records).BatchSize(longest)))); got != one {
					t.Errorf("%s of %d partitions side by side, in batches of up to %d, and not one by one: %s", name, partitions, longest, differing(got, one))
				}
			}
		}
	}
}

// TestBatchesDecideNothingOfGroups: a group that a row has begun which came after its time is forgotten before the next row, wherever its batch begins.
func TestBatchesDecideNothingOfGroups(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	groups := func(q *Query) *Query {
		return q.GroupBy("key").TimeToLive(50 * time.Second).Agg(Count("n")).Output(Update)
	}
	for range 40 {
		records := visitRecords(visits(random, 1, 150))
		one := given(t, groups(visiting(cut{"visits", records, random, 1})))
		for _, longest := range []int{2, 1000} {
			if got := given(t, groups(visiting(cut{"visits", records, random, longest}))); got != one {
				t.Errorf("in batches of up to %d, and not one by one: %s", longest, differing(got, one))
			}
		}
	}
}

// visitor is a process of records, which gives out rows for each visit at the times of spread, from its own on.
type visitor struct {
	spread func() []time.Duration
	kept   []visit
}

func (h *visitor) Record(_ context.Context, r *Record) (time.Time, string) {
	var v visit
	if err := json.Unmarshal(r.Value, &struct {
		*visit
		At any
		S  *int64
	}{visit: &v, S: &v.At}); err != nil {
		return time.Time{}, err.Error()
	}
	h.kept = append(h.kept, v)
	return threeOClock.Add(time.Duration(v.At) * time.Second), ""
}

func (h *visitor) Flush(_ context.Context, emit func(time.Time, ...Value) error) error {
	for _, v := range h.kept {
		for _, by := range h.spread() {
			at := threeOClock.Add(time.Duration(v.At)*time.Second + by)
			if err := emit(at, IntOf(int64(v.ID)), IntOf(int64(v.Key)), IntOf(v.At)); err != nil {
				return err
			}
		}
	}
	h.kept = h.kept[:0]
	return nil
}

// TestBatchesDecideNothingOfRecords: nor do they where a process of records gives out rows of other times than these have.
func TestBatchesDecideNothingOfRecords(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const half = 500 * time.Millisecond
	for name, spread := range map[string]func() []time.Duration{
		"its own time":          func() []time.Duration { return []time.Duration{0} },
		"later":                 func() []time.Duration { return []time.Duration{half} },
		"earlier":               func() []time.Duration { return []time.Duration{-half} },
		"its own time and half": func() []time.Duration { return []time.Duration{0, half} },
		"earlier and later":     func() []time.Duration { return []time.Duration{-time.Second, half, time.Minute} },
	} {
		for behind, shape := range map[string]func(q *Query) *Query{
			"deduplicated": func(q *Query) *Query { return q.Deduplicate("id").Select("id", "key", "s") },
			"windows":      func(q *Query) *Query { return q.GroupBy("key").Window(Tumbling(30 * time.Second)).Agg(Count("n")) },
			"process":      func(q *Query) *Query { return q.Process(remembering()) },
		} {
			for _, partitions := range []int{1, 3} {
				records := visitRecords(visits(random, partitions, 150))
				rows := func(longest int) string {
					q := From(cut{"visits", records, rand.New(rand.NewPCG(random.Uint64(), 2)), longest}).Watermark(lateDelay * time.Second).MaxDrift(0)
					return given(t, shape(q.ProcessRecords(RecordProcessing{Name: "visitor",
						Columns: []Column{{Name: "id", Kind: Int}, {Name: "key", Kind: Int}, {Name: "s", Kind: Int}},
						New:     func() RecordHandler { return &visitor{spread: spread} }})))
				}
				one := rows(1)
				for _, longest := range []int{2, 20, 1000} {
					if got := rows(longest); got != one {
						t.Errorf("%s, %s of %d partitions, in batches of up to %d, and not one by one: %s", name, behind, partitions, longest, differing(got, one))
					}
				}
			}
		}
	}
}

// TestBatchesDecideNothingOfTwoTopics: nor does it matter which of two topics is read first.
func TestBatchesDecideNothingOfTwoTopics(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	within := Within{Before: 10 * time.Second, After: 30 * time.Second}
	payments := func(q *Query) *Query { return q.With("paid", Field("s")).Select("key", "paid") }
	counted := func(q *Query) *Query {
		return q.GroupBy("key").Window(Tumbling(time.Minute)).Agg(Count("n"), Sum("s", Field("s")))
	}
	for name, shape := range map[string]func(orders, paid *Query) *Query{
		"join":      func(o, p *Query) *Query { return o.Select("id", "key", "s").Join(payments(p), Same("key"), within) },
		"left join": func(o, p *Query) *Query { return o.Select("id", "key", "s").LeftJoin(payments(p), Same("key"), within) },
		"full join": func(o, p *Query) *Query { return o.Select("id", "key", "s").FullJoin(payments(p), Same("key"), within) },
		"windows of join": func(o, p *Query) *Query {
			return counted(o.Select("id", "key", "s").LeftJoin(payments(p), Same("key"), within))
		},
		"process of join": func(o, p *Query) *Query {
			return counted(o.Select("id", "key", "s").LeftJoin(payments(p), Same("key"), within)).Process(remembering())
		},
		"process of process of join": func(o, p *Query) *Query {
			return counted(o.Select("id", "key", "s").LeftJoin(payments(p), Same("key"), within)).Process(remembering()).Process(remembering()).Deduplicate("key", "fired")
		},
		"join of windows": func(o, p *Query) *Query {
			return counted(o).Select("key", "n", "s").LeftJoin(payments(counted(p)), Same("key"), Within{time.Minute, 2 * time.Minute})
		},
		"join of windows by key": func(o, p *Query) *Query {
			return counted(o.KeyedBy("key")).Select("key", "n", "s").FullJoin(payments(counted(p.KeyedBy("key"))), Same("key"), Within{time.Minute, 2 * time.Minute})
		},
		"join of windows by key and records": func(o, p *Query) *Query {
			return counted(o.KeyedBy("key")).Select("key", "n", "s").LeftJoin(payments(p), Same("key"), within)
		},
		"windows of union": func(o, p *Query) *Query { return counted(o.Select("key", "s").Union(p.Select("key", "s"))) },
	} {
		for _, partitions := range []int{1, 3} {
			records := [2][][]Record{visitRecords(visits(random, partitions, 100)), visitRecords(visits(random, partitions, 100))}
			source := func(of, longest int) Source {
				return cut{fmt.Sprint("topic ", of), records[of], rand.New(rand.NewPCG(random.Uint64(), 2)), longest}
			}
			first := given(t, shape(visiting(source(0, 1)), visiting(source(1, 1))))
			for _, longest := range []int{1, 20, 1000} {
				if got := given(t, shape(visiting(source(0, longest)), visiting(source(1, 1)))); got != first {
					t.Errorf("%s of %d partitions, in batches of up to %d, and not one by one: %s", name, partitions, longest, differing(got, first))
				}
				memory := func(of int) *Query {
					return visiting(Memory(fmt.Sprint("topic ", of), records[of]).BatchSize(longest))
				}
				if got := given(t, shape(memory(0), memory(1))); got != first {
					t.Errorf("%s of %d partitions side by side, in batches of up to %d, and not one by one: %s", name, partitions, longest, differing(got, first))
				}
			}
		}
	}
}

// passing tells of a partition's records and the watermark that each meets, which is far back before the first.
func passing(of []visit, each func(v visit, watermark int64)) {
	watermark := int64(-1 << 40)
	for _, v := range of {
		each(v, watermark)
		watermark = max(watermark, v.At-lateDelay)
	}
}

const visitGap = 25

// session is a run of visits of a key that is not over.
type session struct{ start, end int64 }

// take puts a visit into the sessions of its key, as they are where event time has passed so far. It tells whether the visit is late.
func take(open []session, at, passed int64) (left []session, late bool) {
	one := session{at, at + visitGap}
	for _, each := range open {
		switch {
		case each.end <= passed: // it is over
		case each.end > at && each.start < at+visitGap:
			one = session{min(one.start, each.start), max(one.end, each.end)}
		default:
			left = append(left, each)
		}
	}
	if one.end <= passed {
		return left, true
	}
	return append(left, one), false
}

// TestLateByRecord: what is late is counted as by a program that looks at the records of each partition one after another.
func TestLateByRecord(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for _, partitions := range []int{1, 4} {
		all := visits(random, partitions, 400)
		var windows, twice, first, joined, sessions int64
		for _, of := range all {
			known, open := map[int]int64{}, map[int][]session{}
			passing(of, func(v visit, passed int64) {
				if v.At-((v.At%30)+30)%30+30 <= passed {
					windows++
				}
				if v.At < passed {
					joined++
				}
				var late bool
				if open[v.Key], late = take(open[v.Key], v.At, passed); late {
					sessions++
				}
				switch end, seen := known[v.Key]; {
				case v.At+lateDelay < passed:
					twice++
				case !seen || end < passed:
					known[v.Key] = v.At + lateDelay
					first++
				}
			})
		}
		source := func() *Query {
			return visiting(cut{"visits", visitRecords(all), rand.New(rand.NewPCG(random.Uint64(), 2)), 100})
		}
		none := visiting(Memory("none", [][]Record{nil})).With("no", Literal(1)).Select("key", "no")
		for _, each := range []struct {
			name       string
			q          *Query
			late, rows int64 // rows -1: any
		}{
			{"windows", source().GroupBy("key").Window(Tumbling(30 * time.Second)).Agg(Count("n")), windows, -1},
			{"windows by key", source().KeyedBy("key").GroupBy("key").Window(Tumbling(30 * time.Second)).Agg(Count("n")), windows, -1},
			{"sessions", source().GroupBy("key").Window(Session(visitGap * time.Second)).Agg(Count("n")), sessions, -1},
			{"deduplicated", source().Deduplicate("key").Select("id"), twice, first},
			{"joined", source().Select("key").Join(none, Same("key"), Within{time.Second, time.Second}), joined, 0},
		} {
			totals := finish(t, each.q).Totals()
			if totals.Late != each.late || each.rows >= 0 && totals.Rows != each.rows {
				t.Errorf("%s of %d partitions: got %d late and %d rows, want %d and %d", each.name, partitions, totals.Late, totals.Rows, each.late, each.rows)
			}
		}
		if windows*sessions*twice*joined == 0 {
			t.Errorf("%d partitions: %d, %d, %d, %d late in the reference, want some of each", partitions, windows, sessions, twice, joined)
		}
	}
}
