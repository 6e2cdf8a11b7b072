package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/plan"
)

// sessions are those of a key with a gap of 30 s.
func sessions(t *testing.T) (*flow.Sessions, *out, *flow.Env) {
	t.Helper()
	env, o := &flow.Env{}, &out{}
	step := plan.Step{Keys: []string{"u"}, Window: plan.Window{Kind: "session", Gap: 30 * time.Second}, Aggregates: []plan.Aggregate{count("n")}}
	s := flow.NewSessions(grouping(t, step, flow.Closed(columns("u"))), env)
	s.Then(o.emit)
	return s, o, env
}

func TestSessionsMerge(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds []int64
		want    string
	}{
		{"one event", []int64{0}, "30: a 0s 30s 1"},
		{"a gap exactly", []int64{0, 30}, "30: a 0s 30s 1; 60: a 30s 60s 1"},
		{"less than a gap", []int64{0, 29}, "59: a 0s 59s 2"},
		{"backwards", []int64{29, 0}, "59: a 0s 59s 2"},
		{"two become one", []int64{0, 50, 25}, "80: a 0s 80s 3"},
		{"three become one", []int64{0, 100, 50, 75, 25}, "130: a 0s 130s 5"},
		{"one within", []int64{0, 20, 10}, "50: a 0s 50s 3"},
		{"neighbours stay apart", []int64{0, 60, 30}, "30: a 0s 30s 1; 60: a 30s 60s 1; 90: a 60s 90s 1"},
		{"before 1970", []int64{-40, -20}, "10: a -40s 10s 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, o, _ := sessions(t)
			for _, at := range test.seconds {
				s.Push(row(t, "a"), at*second)
			}
			s.Drain()
			o.emits(t, test.want)
			keeps(t, s, 0)
		})
	}
}

// TestSessionsInAnyOrder: what belongs together does not depend on the order in which it comes.
func TestSessionsInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var all []int64
		for range 1 + random.IntN(30) {
			all = append(all, random.Int64N(600))
		}
		got := map[string]bool{}
		for range 3 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			s, o, _ := sessions(t)
			for _, at := range all {
				s.Push(row(t, "a"), at*second)
			}
			rows, _ := s.State()
			s.Drain()
			if int(rows) != len(o.rows) {
				t.Fatalf("%v: got %d sessions open and %d given out", all, rows, len(o.rows))
			}
			keeps(t, s, 0)
			got[o.take()] = true
		}
		slices.Sort(all)
		if want := plainSessions(all); len(got) != 1 || !got[want] {
			t.Fatalf("%v: got %v, want %s", all, got, want)
		}
	}
}

// plainSessions are the sessions of sorted seconds.
func plainSessions(all []int64) string {
	var parts []string
	for i := 0; i < len(all); {
		from := i
		for i++; i < len(all) && all[i] < all[i-1]+30; i++ {
		}
		end := all[i-1] + 30
		parts = append(parts, fmt.Sprintf("%d: a %ds %ds %d", end, all[from], end, i-from))
	}
	return strings.Join(parts, "; ")
}

func TestSessionsCloseWithTheWatermark(t *testing.T) {
	s, o, env := sessions(t)
	for _, each := range []struct {
		key string
		at  int64
	}{{"a", 0}, {"b", 10}, {"a", 20}} {
		s.Push(row(t, each.key), each.at*second)
	}
	keeps(t, s, 2)
	s.Advance(39 * second)
	o.emits(t, "")
	s.Advance(40 * second)
	o.emits(t, "40: b 10s 40s 1")
	keeps(t, s, 1)
	s.Push(row(t, "b"), 10*second) // its session is over
	if env.Late != 1 {
		t.Errorf("got %d late, want 1", env.Late)
	}
	s.Push(row(t, "b"), 11*second) // 30 s before the watermark is not yet late
	keeps(t, s, 2)
	s.Push(row(t, nil), 50*second)
	if env.Bad != "no u" {
		t.Errorf("got %q, want no u", env.Bad)
	}
	s.Advance(1000 * second)
	o.emits(t, "41: b 11s 41s 1; 50: a 0s 50s 2")
	keeps(t, s, 0)
}

// TestALateRowOfAnOpenSession: a row is late if the watermark has passed the end of its window, which is that of the session it belongs to.
func TestALateRowOfAnOpenSession(t *testing.T) {
	s, o, env := sessions(t)
	for _, at := range []int64{0, 25, 50, 75, 100} {
		s.Push(row(t, "a"), at*second)
	}
	s.Advance(90 * second)
	s.Push(row(t, "a"), 30*second)
	s.Push(row(t, "b"), 30*second)
	s.Drain()
	o.emits(t, "130: a 0s 130s 6")
	if env.Late != 1 {
		t.Errorf("got %d late, want that of b", env.Late)
	}
}

// windows are those of an aggregation with a watermark.
func windows(t *testing.T, w plan.Window, keys ...string) (*flow.Groups, *out, *flow.Env) {
	t.Helper()
	env, o := &flow.Env{}, &out{}
	g := flow.NewGroups(grouping(t, plan.Step{Keys: keys, Window: w, Aggregates: []plan.Aggregate{count("n")}}, flow.Closed(columns("u"))), env)
	g.Then(o.emit)
	return g, o, env
}

func TestSlidingWindows(t *testing.T) {
	g, o, env := windows(t, plan.Window{Kind: "sliding", Width: time.Minute, Step: 20 * time.Second}, "u")
	for _, at := range []int64{0, 19, 20, 65} {
		g.Push(row(t, "a"), at*second)
	}
	keeps(t, g, 6) // from -40 s to 60 s
	g.Advance(20 * second)
	o.emits(t, "20: a -40s 20s 2")
	g.Advance(60 * second)
	o.emits(t, "40: a -20s 40s 3; 60: a 0s 60s 3")
	keeps(t, g, 3)
	g.Push(row(t, "a"), 59*second) // the windows from 20 s and 40 s on are open still
	if env.Late != 1 {
		t.Errorf("got %d late, want 1: one of three windows is closed", env.Late)
	}
	g.Drain()
	o.emits(t, "80: a 20s 80s 3; 100: a 40s 100s 2; 120: a 60s 120s 1")
	keeps(t, g, 0)
}

func TestStepsThatDoNotDivideTheWidth(t *testing.T) {
	g, o, _ := windows(t, plan.Window{Kind: "sliding", Width: 50 * time.Second, Step: 20 * time.Second})
	g.Push(row(t, "a"), 49*second)
	g.Push(row(t, "a"), -1*second)
	g.Drain()
	o.emits(t, "10: -40s 10s 1; 30: -20s 30s 1; 50: 0s 50s 1; 70: 20s 70s 1; 90: 40s 90s 1")
}

// TestRowsOfAWindowAreSorted: by their keys, numbers by size, whatever order they came in.
func TestRowsOfAWindowAreSorted(t *testing.T) {
	g, o, _ := windows(t, plan.Window{Kind: "tumbling", Width: time.Minute}, "u")
	for _, key := range []any{"b", 10, 9.5, "a", true, 10.0, "b"} {
		g.Push(row(t, key), 0)
	}
	g.Drain()
	o.emits(t, "60: true 0s 60s 1; 60: 9.5 0s 60s 1; 60: 10 0s 60s 2; 60: a 0s 60s 1; 60: b 0s 60s 2")
}

func TestEarlierWindowsAreGivenOutFirst(t *testing.T) {
	g, o, _ := windows(t, plan.Window{Kind: "tumbling", Width: time.Minute})
	for _, at := range []int64{300, 60, -60, 0} {
		g.Push(row(t, "a"), at*second)
	}
	g.Advance(360 * second)
	o.emits(t, "0: -60s 0s 1; 60: 0s 60s 1; 120: 60s 120s 1; 360: 300s 360s 1")
}

// TestSharesCountGroupsWithoutRows: a row may hold for a group that has no rows of its own, which has no row in the result.
func TestSharesCountGroupsWithoutRows(t *testing.T) {
	env, o := &flow.Env{}, &out{}
	step := plan.Step{Keys: []string{"shop", "seller"}, Window: plan.Window{Kind: "tumbling", Width: time.Minute},
		Aggregates: []plan.Aggregate{{Kind: "share", Name: "paid", Expr: plan.Field("cashier"), Per: "seller"}}}
	g := flow.NewGroups(grouping(t, step, flow.Closed(columns("shop", "seller", "cashier"))), env)
	g.Then(o.emit)
	for _, each := range [][]any{{1, "a", "a"}, {1, "a", "b"}, {1, "a", "c"}, {1, "b", "a"}, {2, "a", nil}, {3, "a", "a"}} {
		g.Push(row(t, each...), 0)
	}
	keeps(t, g, 4)
	g.Drain()
	o.emits(t, "60: 1 a 0s 60s 0.5; 60: 1 b 0s 60s 0.25; 60: 2 a 0s 60s ; 60: 3 a 0s 60s 1")
}

// TestSharesOfSlidingWindows: a row that holds for another group counts in its own group in each of its windows.
func TestSharesOfSlidingWindows(t *testing.T) {
	env, o := &flow.Env{}, &out{}
	step := plan.Step{Keys: []string{"seller"}, Window: plan.Window{Kind: "sliding", Width: time.Minute, Step: 30 * time.Second},
		Aggregates: []plan.Aggregate{count("n"), {Kind: "share", Name: "paid", Expr: plan.Field("cashier"), Per: "seller"}}}
	g := flow.NewGroups(grouping(t, step, flow.Closed(columns("seller", "cashier"))), env)
	g.Then(o.emit)
	g.Push(row(t, "a", "b"), 30*second)
	g.Push(row(t, "b", "b"), 30*second)
	g.Drain()
	o.emits(t, "60: a 0s 60s 1 0; 60: b 0s 60s 1 1; 90: a 30s 90s 1 0; 90: b 30s 90s 1 1")
}

// TestPartsOfWindowsMerge: results do not depend on how rows are spread over lanes.
func TestPartsOfWindowsMerge(t *testing.T) {
	l := flow.Closed(columns("u", "x"))
	g := grouping(t, plan.Step{Keys: []string{"u"}, Window: plan.Window{Kind: "tumbling", Width: time.Minute},
		Aggregates: []plan.Aggregate{count("n"), {Kind: "sum", Name: "s", Expr: plan.Field("x")}, {Kind: "max", Name: "m", Expr: plan.Field("x")},
			{Kind: "first", Name: "f", Expr: plan.Field("x")}, {Kind: "last", Name: "l", Expr: plan.Field("x")}}}, l)
	show := func(lanes int) string {
		parts := make([]*flow.Windows, lanes)
		for i := range parts {
			parts[i] = flow.NewWindows(g, &flow.Env{}, nil)
		}
		for i := range 60 {
			parts[i%lanes].Add(row(t, string(rune('a'+i%4)), i*i%17), int64(i)*second, flow.NoWatermark)
		}
		var closed []*flow.Window
		for _, p := range parts {
			closed = append(closed, p.Close(60*second)...)
			if p.Rows != 0 || p.Size() != 0 {
				t.Errorf("%d rows of %d bytes are left", p.Rows, p.Size())
			}
		}
		o := &out{}
		for _, r := range g.Results(closed) {
			o.emit(r, 0)
		}
		return o.take()
	}
	one := show(1)
	if !strings.HasPrefix(one, "0: a 0s 60s 15 107 16 0 8; 0: b ") {
		t.Errorf("got %s", one)
	}
	for _, lanes := range []int{2, 3, 7} {
		if got := show(lanes); got != one {
			t.Errorf("%d lanes: got %s\nwant %s", lanes, got, one)
		}
	}
}

// TestTakeTellsWhatHasChanged: since the call before, and copies that do not change any more.
func TestTakeTellsWhatHasChanged(t *testing.T) {
	g := grouping(t, plan.Step{Keys: []string{"u"}, Window: plan.Window{Kind: "tumbling", Width: time.Minute}, Aggregates: []plan.Aggregate{count("n")}},
		flow.Closed(columns("u")))
	w := flow.NewWindows(g, &flow.Env{}, nil)
	show := func(taken []*flow.Window) string {
		o := &out{}
		for _, each := range taken {
			for _, r := range g.Results([]*flow.Window{each}) {
				o.emit(r, each.Start)
			}
		}
		return o.take()
	}
	add := func(key string, at int64) { w.Add(row(t, key), at*second, flow.NoWatermark) }
	add("a", 0)
	add("b", 0)
	first := w.Take()
	add("b", 1)
	add("c", 61)
	second := w.Take()
	for _, each := range []struct{ got, want string }{
		{show(first), "0: a 0s 60s 1; 0: b 0s 60s 1"}, {show(second), "0: b 0s 60s 2; 60: c 60s 120s 1"}, {show(w.Take()), ""},
		{show(w.Look()), "0: a 0s 60s 1; 0: b 0s 60s 2; 60: c 60s 120s 1"},
	} {
		if each.got != each.want {
			t.Errorf("got %s, want %s", each.got, each.want)
		}
	}
}

func TestGroupsExpire(t *testing.T) {
	env := &flow.Env{}
	g := flow.NewGroups(grouping(t, plan.Step{Keys: []string{"u"}, TimeToLive: 10 * time.Second, Aggregates: []plan.Aggregate{count("n")}},
		flow.Closed(columns("u"))), env)
	o := &out{}
	g.Then(o.emit)
	for at, key := range []string{"a", "b", "a", "c"} {
		g.Push(row(t, key), int64(at)*second)
	}
	keeps(t, g, 3)
	g.Give(g.Take())
	o.emits(t, "3: a 2; 3: b 1; 3: c 1")
	g.Push(row(t, "c"), 4*second)
	g.Advance(11 * second)
	keeps(t, g, 3) // b, of second 1, is ten seconds old: not more
	g.Advance(11*second + 1)
	keeps(t, g, 2)
	o.emits(t, "") // b was told
	g.Advance(60 * second)
	o.emits(t, "4: c 2") // its last change was not
	rows, _ := g.State()
	if rows != 0 {
		t.Errorf("got %d groups, want none", rows)
	}
	g.Push(row(t, "b"), 61*second)
	g.Drain()
	o.emits(t, "61: b 1")
}

// TestGroupsArePromisedForAsLongAsTheyLive: who keeps claims by key may forget one when its time has passed, and not before its group is forgotten.
func TestGroupsArePromisedForAsLongAsTheyLive(t *testing.T) {
	g := grouping(t, plan.Step{Keys: []string{"u"}, TimeToLive: 10 * time.Second, Aggregates: []plan.Aggregate{count("n")}}, flow.Closed(columns("u")))
	var claims, until int64
	w := flow.NewWindows(g, &flow.Env{}, func(keys flow.Row, end int64) string {
		claims, until = claims+1, max(until, end)
		return ""
	})
	for at := range int64(1000) {
		w.Add(row(t, "a"), at*second, flow.NoWatermark)
		if least, most := (at+10)*second, (at+20)*second; until < least || until > most {
			t.Fatalf("row at %d s: promised until %d s, want between %d and %d", at, until/second, least/second, most/second)
		}
	}
	if claims > 101 {
		t.Errorf("%d claims, want one in ten seconds", claims)
	}
}
