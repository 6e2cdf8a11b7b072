package flow_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/flow"
	"cancha/stream/plan"
)

// restartable is an operator whose state snapshots have.
type restartable interface {
	flow.Op
	flow.Kept
}

// snapshots are all that were taken of a state, none of them removed.
type snapshots struct {
	epoch int64
	head  []byte
	items map[uint64]changelog.Saved
	last  uint64
}

func (s *snapshots) take(t *testing.T, from flow.Kept) {
	t.Helper()
	s.epoch++
	s.head = from.Head(nil)
	if !changelog.Read(from.Log().Write(nil, s.epoch), changelog.Reader{
		Put:  func(id uint64, b []byte) { s.items[id] = changelog.Saved{ID: id, Epoch: s.epoch, Bytes: b} },
		Gone: func(id uint64) { delete(s.items, id) },
		Last: func(id uint64) { s.last = id },
	}) {
		t.Fatal("not readable")
	}
}

func (s *snapshots) load(t *testing.T, into flow.Kept) {
	t.Helper()
	into.Log().Resume(s.last)
	items := make([]changelog.Saved, 0, len(s.items))
	for _, item := range s.items {
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b changelog.Saved) int { return int(a.ID) - int(b.ID) })
	if err := into.Load(s.head, items); err != nil {
		t.Fatal(err)
	}
}

// arrival is a row of a side at a second, and how far the watermark is then.
type arrival struct {
	side, key, n  int
	at, watermark int64
}

// arrivals are rows of few times and many keys, in disorder.
func arrivals(n int) (all []arrival) {
	dice := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		base := int64(i / 50)
		all = append(all, arrival{side: dice.IntN(2), key: dice.IntN(40), n: i, at: base + dice.Int64N(10), watermark: base})
	}
	return all
}

// life gives arrivals to an operator, which ends and goes on after some of them, and returns what it gives out. Every so many of them the watermark moves.
func life(t *testing.T, create func(o *out) (restartable, func(a arrival)), all []arrival, step int, ends func() bool) []string {
	o := &out{}
	op, push := create(o)
	op.Keep()
	saved := &snapshots{items: map[uint64]changelog.Saved{}}
	for i, a := range all {
		push(a)
		if i%step == 0 {
			op.Advance(a.watermark * second)
		}
		if ends() {
			saved.take(t, op)
			op, push = create(o)
			op.Keep()
			saved.load(t, op)
		}
	}
	op.Drain()
	return o.rows
}

// TestRowsOfOneTimeComeInOneOrder: what is due at one time is given out in an order that neither a restart changes nor how far the watermark goes at once: sums of
// what comes behind are the same to the last digit.
func TestRowsOfOneTimeComeInOneOrder(t *testing.T) {
	for name, create := range map[string]func(o *out) (restartable, func(a arrival)){
		"sessions": func(o *out) (restartable, func(a arrival)) {
			step := plan.Step{Keys: []string{"u"}, Window: plan.Window{Kind: "session", Gap: 2 * time.Second}, Aggregates: []plan.Aggregate{count("n")}}
			s := flow.NewSessions(grouping(t, step, flow.Closed(columns("u"))), &flow.Env{})
			s.Then(o.emit)
			return s, func(a arrival) { s.Push(row(t, a.key), a.at*second) }
		},
		"outer join": func(o *out) (restartable, func(a arrival)) {
			j, _, _ := joiner(t, "full")
			j.Then(o.emit)
			return j, func(a arrival) { // no two match
				[]flow.Side{j.Left(), j.Right()}[a.side].Push(row(t, 2*a.key+a.side, a.n), a.at*second)
			}
		},
		"timers": func(o *out) (restartable, func(a arrival)) {
			p := ticking(t, o)
			return p, func(a arrival) { p.Push(row(t, a.key), a.at*second) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := arrivals(2000)
			want := life(t, create, all, 50, func() bool { return false })
			if len(want) < 200 {
				t.Fatalf("%d rows are too few to tell", len(want))
			}
			for seed := range uint64(5) {
				dice := rand.New(rand.NewPCG(seed, 1))
				got := life(t, create, all, []int{50, 500}[seed%2], func() bool { return dice.IntN(100) == 0 })
				if len(got) != len(want) {
					t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(want))
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("seed %d: row %d is %q, and without a restart %q", seed, i, got[i], want[i])
					}
				}
			}
		})
	}
}

// ticking is a process that sets a timer for each row, at its time and two seconds, which tells the key.
func ticking(t *testing.T, o *out) *flow.Processor {
	step := plan.Step{Keys: []string{"u"}, Columns: []string{"u"}, Adds: []string{"u"}, TimeToLive: time.Hour}
	p, err := flow.NewProcessor(step, flow.Functions{
		State: func(flow.Row) any { return nil },
		Row:   func(c *flow.Context, _ any, _ flow.Row) error { c.SetTimer(c.Time() + 2*second); return nil },
		Timer: func(c *flow.Context, _ any, _ int64) error { return c.Emit(flow.Row{c.Key()[0]}) },
		Save:  func(any) ([]byte, error) { return nil, nil },
		Load:  func(state any, _ []byte) (any, error) { return state, nil },
	}, flow.Closed(columns("u")), 0, &flow.Env{})
	if err != nil {
		t.Fatal(err)
	}
	p.Then(o.emit)
	return p
}

// TestPromisesAfterARestart: until when a group without a window is promised follows from its rows, so that a restart does not change it.
func TestPromisesAfterARestart(t *testing.T) {
	g := grouping(t, plan.Step{Keys: []string{"u"}, TimeToLive: 10 * time.Second, Aggregates: []plan.Aggregate{count("n")}}, flow.Closed(columns("u")))
	create := func() (w *flow.Windows, until *int64) {
		until = new(int64)
		w = flow.NewWindows(g, &flow.Env{}, func(_ flow.Row, end int64) string { *until = max(*until, end); return "" })
		w.Keep()
		return w, until
	}
	calm, want := create()
	broken, got := create()
	saved := &snapshots{items: map[uint64]changelog.Saved{}}
	for at := range int64(500) {
		for _, w := range []*flow.Windows{calm, broken} {
			w.Add(row(t, "a"), at*second, flow.NoWatermark)
		}
		if saved.take(t, broken); at%7 == 0 {
			broken, got = create()
			saved.load(t, broken)
		}
		if *got != *want {
			t.Fatalf("row at %d s: promised until %d s, and without a restart until %d s", at, *got/second, *want/second)
		}
	}
}

// TestForgottenGroupsKeepTheirTimes: the row of a group that is forgotten has the time of the group's latest row, whatever is forgotten with it: in which window it
// counts behind must not depend on how far the watermark goes at once.
func TestForgottenGroupsKeepTheirTimes(t *testing.T) {
	for _, watermarks := range [][]int64{{40}, {11, 12, 13, 40}, {12, 40}} {
		o := &out{}
		g := flow.NewGroups(grouping(t, plan.Step{Keys: []string{"u"}, TimeToLive: 10 * time.Second, Aggregates: []plan.Aggregate{count("n")}},
			flow.Closed(columns("u"))), &flow.Env{})
		g.Then(o.emit)
		for i, key := range []string{"c", "b", "a"} {
			g.Push(row(t, key), int64(i)*second)
		}
		for _, w := range watermarks {
			g.Advance(w * second)
		}
		o.emits(t, "0: c 1; 1: b 1; 2: a 1")
	}
}
