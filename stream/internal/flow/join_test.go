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

// joiner joins orders (id, total) with payments (id, paid) that come up to 10 s before and 20 s after.
func joiner(t *testing.T, kind string) (*flow.Joiner, *out, *flow.Env) {
	t.Helper()
	env, o := &flow.Env{}, &out{}
	spec := plan.JoinSpec{Kind: kind, Left: []string{"id"}, Right: []string{"id"}, Before: 10 * time.Second, After: 20 * time.Second}
	j, all, err := flow.NewJoiner(spec, flow.Closed(columns("id", "total")), flow.Closed(columns("id", "paid")), env)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(all); got != fmt.Sprint(columns("id", "total", "paid")) {
		t.Fatalf("got columns %s", got)
	}
	j.Then(o.emit)
	return j, o, env
}

func TestJoinWithin(t *testing.T) {
	j, o, _ := joiner(t, "inner")
	j.Left().Push(row(t, 1, "t"), 100*second)
	for _, at := range []int64{89, 90, 100, 120, 121} {
		j.Right().Push(row(t, 1, at), at*second)
	}
	j.Right().Push(row(t, 2, 0), 100*second)
	o.emits(t, "100: 1 t 90; 100: 1 t 100; 120: 1 t 120")
	j.Left().Push(row(t, 1.0, "u"), 111*second) // 1.0 is 1; the row at 100 is 11 s before
	o.emits(t, "120: 1 u 120; 121: 1 u 121")
	j.Drain()
	o.emits(t, "")
	keeps(t, j, 0)
}

// TestJoinForgets: a row waits for partners no longer than some can come, on either side.
func TestJoinForgets(t *testing.T) {
	j, o, env := joiner(t, "full")
	j.Left().Push(row(t, 1, "t"), 100*second)
	j.Right().Push(row(t, 2, "p"), 100*second)
	keeps(t, j, 2)
	j.Advance(110 * second)
	keeps(t, j, 2)
	j.Advance(110*second + 1) // no left row at 110 s or before can come for the right one
	o.emits(t, "100: 2  p")
	keeps(t, j, 1)
	j.Right().Push(row(t, 1, "q"), 120*second)
	o.emits(t, "120: 1 t q")
	j.Advance(121 * second)
	o.emits(t, "") // the left row has had its partner
	keeps(t, j, 1)
	j.Left().Push(row(t, 3, "late"), 120*second)
	if env.Late != 1 {
		t.Errorf("got %d late, want 1", env.Late)
	}
	j.Advance(1000 * second)
	o.emits(t, "")
	keeps(t, j, 0)
}

func TestOuterJoins(t *testing.T) {
	for kind, want := range map[string]string{"inner": "", "left": "100:  no key ; 100: 1 t ", "full": "101:   no key; 101: 2  p; 100:  no key ; 100: 1 t "} {
		j, o, env := joiner(t, kind)
		j.Left().Push(row(t, 1, "t"), 100*second)
		j.Left().Push(row(t, nil, "no key"), 100*second)
		j.Right().Push(row(t, 2, "p"), 101*second)
		j.Right().Push(row(t, nil, "no key"), 101*second)
		j.Drain()
		if text := o.take(); text != want || env.Late != 0 {
			t.Errorf("%s: got %q, want %q", kind, text, want)
		}
		keeps(t, j, 0)
	}
}

// TestJoinState: over a long stream the state stays as large as the rows of the time that can still match.
func TestJoinState(t *testing.T) {
	j, o, _ := joiner(t, "left")
	most := int64(0)
	for i := range int64(2000) {
		j.Left().Push(row(t, i%7, i), i*second)
		j.Right().Push(row(t, i%5, i), i*second)
		j.Advance(i * second)
		rows, _ := j.State()
		most = max(most, rows)
	}
	if want := int64(21 + 11); most != want {
		t.Errorf("got up to %d rows, want %d: those of 20 and of 10 seconds", most, want)
	}
	j.Drain()
	keeps(t, j, 0)
	if len(o.rows) == 0 {
		t.Error("nothing was joined")
	}
}

// TestJoinIsThatOfAPlainComputation: whatever the order in which both sides come, the pairs are those of the definition.
func TestJoinIsThatOfAPlainComputation(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	type event struct{ side, key, at int64 }
	for range 100 {
		var all []event
		for range 60 {
			all = append(all, event{random.Int64N(2), random.Int64N(4), random.Int64N(100)})
		}
		var want []string
		for _, l := range all {
			partners := 0
			for _, r := range all {
				if l.side == 0 && r.side == 1 && l.key == r.key && r.at >= l.at-10 && r.at <= l.at+20 {
					want = append(want, fmt.Sprintf("%d: %d %d %d", max(l.at, r.at), l.key, l.at, r.at))
					partners++
				}
			}
			if l.side == 0 && partners == 0 {
				want = append(want, fmt.Sprintf("%d: %d %d ", l.at, l.key, l.at))
			}
		}
		j, o, env := joiner(t, "left")
		for _, e := range all {
			side := j.Left()
			if e.side == 1 {
				side = j.Right()
			}
			side.Push(row(t, e.key, e.at), e.at*second)
		}
		j.Drain()
		slices.Sort(o.rows)
		slices.Sort(want)
		if !slices.Equal(o.rows, want) || env.Late != 0 {
			t.Fatalf("%v:\ngot  %q\nwant %q", all, o.rows, want)
		}
	}
}

func TestJoinColumns(t *testing.T) {
	spec := plan.JoinSpec{Left: []string{"id"}, Right: []string{"order"}}
	all, from, err := flow.JoinColumns(spec, columns("id", "a"), columns("order", "b"))
	if err != nil || fmt.Sprint(all) != fmt.Sprint(columns("id", "a", "order", "b")) || fmt.Sprint(from) != "[0 1]" {
		t.Errorf("got %v, %v, %v", all, from, err)
	}
	if _, _, err := flow.JoinColumns(spec, columns("id", "a"), columns("order", "a")); err == nil || !strings.Contains(err.Error(), `a column "a"`) {
		t.Errorf("got %v", err)
	}
}

func TestLookUps(t *testing.T) {
	table, err := flow.NewTable(columns("sku", "name"), []string{"sku"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flow.NewTable(columns("sku"), []string{"id"}); err == nil || !strings.Contains(err.Error(), `no column "id"`) {
		t.Errorf("got %v", err)
	}
	for _, each := range [][]any{{"a", "apple"}, {nil, "nothing"}, {1, "one"}, {"a", "apricot"}} {
		table.Put(row(t, each...))
	}
	for kind, want := range map[string]string{"inner": "5: a apricot; 5: 1 one", "left": "5: a apricot; 5: b ; 5: 1 one; 5:  "} {
		env, o := &flow.Env{}, &out{}
		l, all, err := flow.NewLooker(plan.JoinSpec{Kind: kind, Left: []string{"sku"}, Right: []string{"sku"}}, flow.Closed(columns("sku")), table, env)
		if err != nil || len(all) != 2 {
			t.Fatal(err, all)
		}
		l.Then(o.emit)
		for _, key := range []any{"a", "b", 1.0, nil} {
			l.Push(row(t, key), 5*second)
		}
		l.Advance(100 * second)
		l.Drain()
		o.emits(t, want)
		if wanted := map[string]int64{"inner": 2}[kind]; env.Filtered != wanted {
			t.Errorf("%s: got %d rows without a partner, want %d", kind, env.Filtered, wanted)
		}
		keeps(t, l, 2)
	}
}

// TestATableTakesNoMoreRoomThanItsRows: the size follows the rows that take the place of others.
func TestATableTakesNoMoreRoomThanItsRows(t *testing.T) {
	table, err := flow.NewTable(columns("k", "v"), []string{"k"})
	if err != nil {
		t.Fatal(err)
	}
	looker, _, err := flow.NewLooker(plan.JoinSpec{Left: []string{"k"}, Right: []string{"k"}}, flow.Closed(columns("k")), table, &flow.Env{})
	if err != nil {
		t.Fatal(err)
	}
	table.Put(row(t, "a", "x"))
	_, first := looker.State()
	for range 1000 {
		table.Put(row(t, "a", "yyy"))
		table.Put(row(t, "a", "x"))
	}
	if rows, bytes := looker.State(); rows != 1 || bytes != first {
		t.Errorf("got %d rows of %d bytes, want 1 of %d", rows, bytes, first)
	}
}
