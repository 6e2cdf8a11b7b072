package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

func deduplicator(t *testing.T, keys ...string) (*flow.Deduplicator, *out, *flow.Env) {
	t.Helper()
	env, o := &flow.Env{}, &out{}
	d, _, err := flow.NewDeduplicator(plan.Step{Keys: keys, TimeToLive: 10 * time.Second}, flow.Closed(columns("id", "n")), env)
	if err != nil {
		t.Fatal(err)
	}
	d.Then(o.emit)
	return d, o, env
}

func TestDeduplicateForgets(t *testing.T) {
	d, o, env := deduplicator(t, "id")
	for i, at := range []int64{0, 5, 9} {
		d.Push(row(t, 1, i), at*second)
	}
	d.Push(row(t, nil, 0), 0)
	if o.emits(t, "0: 1 0"); env.Filtered != 2 || !strings.Contains(env.Bad, `no value for one of ["id"]`) {
		t.Errorf("got %+v", env)
	}
	keeps(t, d, 1)
	d.Advance(10 * second)
	keeps(t, d, 1)
	d.Advance(10*second + 1)
	keeps(t, d, 0)
	d.Push(row(t, 1, 3), 0) // nobody knows any more whether it is a repetition
	if o.emits(t, ""); env.Late != 1 {
		t.Errorf("got %d late, want 1", env.Late)
	}
	d.Push(row(t, 1, 4), 11*second)
	o.emits(t, "11: 1 4")
	d.Drain()
}

// TestDeduplicateState: over a long stream the keys stay those of the time to live.
func TestDeduplicateState(t *testing.T) {
	d, o, env := deduplicator(t, "id", "n")
	for i := range int64(1000) {
		for range 3 {
			d.Push(row(t, i, "x"), i*second)
		}
		d.Advance(i * second)
		if rows, _ := d.State(); rows > 11 {
			t.Fatalf("at %d s: got %d keys, want at most 11", i, rows)
		}
	}
	if len(o.rows) != 1000 || env.Filtered != 2000 || env.Late != 0 {
		t.Errorf("got %d rows, %+v", len(o.rows), env)
	}
	d.Advance(10_000 * second)
	keeps(t, d, 0)
}

func tops(t *testing.T, s plan.Step) (*flow.Tops, *out, *flow.Env) {
	t.Helper()
	env, o := &flow.Env{}, &out{}
	s.Name = "n"
	op, _, err := flow.NewTops(s, flow.Closed(columns("u", "n", "city")), env)
	if err != nil {
		t.Fatal(err)
	}
	op.Then(o.emit)
	return op, o, env
}

func TestTops(t *testing.T) {
	for range 2 { // in which order they come decides nothing
		slices.Reverse(topRows)
		testTops(t, topRows)
	}
}

var topRows = [][]any{{"a", 3, "x"}, {"b", 5, "x"}, {"c", 5, "y"}, {"d", 1, "y"}, {"e", 5, "x"}, {"f", nil, "x"}, {"g", 3, "y"}}

func testTops(t *testing.T, rows [][]any) {
	for _, test := range []struct {
		name string
		step plan.Step
		want string
	}{
		{"greatest", plan.Step{N: 2, Descending: true}, "b 5 x; c 5 y"},
		{"greatest of all", plan.Step{N: 100, Descending: true}, "b 5 x; c 5 y; e 5 x; a 3 x; g 3 y; d 1 y"},
		{"ties stay", plan.Step{N: 2, Descending: true, Ties: true}, "b 5 x; c 5 y; e 5 x"},
		{"ties of the last", plan.Step{N: 4, Descending: true, Ties: true}, "b 5 x; c 5 y; e 5 x; a 3 x; g 3 y"},
		{"least", plan.Step{N: 2}, "d 1 y; a 3 x"},
		{"of each city", plan.Step{N: 1, Descending: true, Keys: []string{"city"}}, "b 5 x; c 5 y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			op, o, env := tops(t, test.step)
			for _, each := range rows {
				op.Push(row(t, each...), 60*second-1)
			}
			op.Advance(60*second - 1)
			o.emits(t, "") // another row of this time may come
			op.Advance(60 * second)
			want := "60: " + strings.ReplaceAll(test.want, "; ", "; 60: ")
			if got := o.take(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			keeps(t, op, 0)
			op.Push(row(t, "h", 9, "x"), 0)
			if env.Late != 1 || env.Filtered != 1 {
				t.Errorf("got %+v, want 1 late, 1 without a number", env)
			}
		})
	}
}

// TestTopsAreBounded: what can no longer be among the first is not kept.
func TestTopsAreBounded(t *testing.T) {
	op, _, _ := tops(t, plan.Step{N: 3, Descending: true})
	for i := range 1000 {
		op.Push(row(t, "a", i%37, "x"), 0)
	}
	keeps(t, op, 3)
}

// processor counts the rows of a key; a timer gives the count out.
func processor(t *testing.T, ttl time.Duration, after int64) (*flow.Processor, *out, *flow.Env) {
	t.Helper()
	env, o := &flow.Env{}, &out{}
	step := plan.Step{Keys: []string{"u"}, Columns: []string{"n"}, Adds: []string{"u", "rows"}, TimeToLive: ttl}
	type state struct{ n int64 }
	f := flow.Functions{
		State: func(flow.Row) any { return &state{} },
		Row: func(c *flow.Context, s any, r flow.Row) error {
			if r[0].Text() == "fail" {
				return errors.New("no")
			}
			s.(*state).n++
			c.SetTimer(c.Time() + after)
			return nil
		},
		Timer: func(c *flow.Context, s any, at int64) error {
			return c.Emit(flow.Row{c.Key()[0], value.IntOf(s.(*state).n)})
		},
	}
	p, err := flow.NewProcessor(step, f, flow.Closed(columns("u", "n")), 0, env)
	if err != nil {
		t.Fatal(err)
	}
	p.Then(o.emit)
	return p, o, env
}

func TestProcessTimers(t *testing.T) {
	p, o, env := processor(t, time.Hour, 10*second)
	p.Push(row(t, "a", 1), 0)
	p.Push(row(t, "b", 1), 3*second)
	p.Push(row(t, "a", 1), 5*second)
	p.Advance(10*second - 1)
	o.emits(t, "")
	p.Advance(13 * second)
	o.emits(t, "10: a 2; 13: b 1")
	p.Drain()
	o.emits(t, "15: a 2")
	p.Push(row(t, nil, 1), 0)
	if !strings.Contains(env.Bad, `no value for one of ["u"]`) {
		t.Errorf("got %q", env.Bad)
	}
	p.Push(row(t, "a", "fail"), 0)
	if env.Err == nil || env.Err.Error() != "no" {
		t.Errorf("got %v", env.Err)
	}
}

func TestProcessForgets(t *testing.T) {
	p, o, _ := processor(t, 20*time.Second, 10*second)
	p.Push(row(t, "a", 1), 0)
	p.Push(row(t, "b", 1), 0)
	p.Push(row(t, "a", 1), 15*second)
	p.Advance(20*second + 1)
	o.emits(t, "10: a 2; 10: b 1")
	keeps(t, p, 1)
	p.Push(row(t, "b", 1), 21*second) // a new state
	keeps(t, p, 2)
	p.Advance(1000 * second)
	o.emits(t, "25: a 2; 31: b 1")
	keeps(t, p, 0)
}

// TestProcessDoesNotDependOnSteps: a timer behind its key's time to live is called all the same, however far event time moves at once.
func TestProcessDoesNotDependOnSteps(t *testing.T) {
	var got []string
	for _, step := range []int64{1, 7, 1000} {
		p, o, _ := processor(t, 20*time.Second, 30*second)
		p.Push(row(t, "a", 1), 0)
		p.Push(row(t, "b", 1), 5*second)
		p.Push(row(t, "b", 1), 19*second)
		for at := int64(0); at < 200; at += step {
			p.Advance(at * second)
		}
		p.Drain()
		got = append(got, o.take())
	}
	for _, each := range got {
		if want := "30: a 1; 35: b 2; 49: b 2"; each != want {
			t.Errorf("got %q, want three times %s", got, want)
			break
		}
	}
}

func TestProcessClock(t *testing.T) {
	env, o := &flow.Env{}, &out{}
	f := flow.Functions{
		State: func(flow.Row) any { return nil },
		Row:   func(c *flow.Context, _ any, _ flow.Row) error { c.SetClock(100 * second); return nil },
		Timer: func(c *flow.Context, _ any, at int64) error { return c.Emit(c.Key()) },
	}
	p, err := flow.NewProcessor(plan.Step{Keys: []string{"u"}, Adds: []string{"u"}, TimeToLive: time.Hour}, f, flow.Closed(columns("u")), 0, env)
	if err != nil {
		t.Fatal(err)
	}
	p.Then(o.emit)
	p.Push(row(t, "a"), 0)
	p.Clock(time.Unix(99, 0))
	o.emits(t, "")
	p.Clock(time.Unix(100, 0))
	o.emits(t, "100: a")
	p.Clock(time.Unix(200, 0))
	o.emits(t, "")
}

// TestClockOfAPartition: how the watermark follows event times.
func TestClockOfAPartition(t *testing.T) {
	c := flow.NewClock(10*time.Second, 0)
	if c.Watermark != flow.NoWatermark {
		t.Errorf("got %d before the first event", c.Watermark)
	}
	for _, each := range [][2]int64{{100, 90}, {50, 90}, {110, 100}, {flow.MinTime / second, 100}} {
		c.See(each[0] * second)
		if got := c.Watermark / second; got != each[1] {
			t.Errorf("after %d s: got %d s, want %d s", each[0], got, each[1])
		}
	}
	if c.Min/second != flow.MinTime/second || c.Max != 110*second || c.Future != 0 {
		t.Errorf("got %+v", c)
	}
}

// TestLayoutNames: columns in their order, and what is said of those that there are not.
func TestLayoutNames(t *testing.T) {
	l := flow.Closed(columns("a", "b"))
	if err := l.Select([]string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	got, read, err := l.Export()
	if err != nil || fmt.Sprint(got) != fmt.Sprint(columns("b", "a")) || fmt.Sprint(read(nil, row(t, 1, 2))) != "[2 1]" {
		t.Errorf("got %v, %v", got, err)
	}
	if err := l.Drop([]string{"b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Field("b", value.Any); err == nil || !strings.Contains(err.Error(), `"b" was dropped`) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Field("c", value.Any); err == nil || !strings.Contains(err.Error(), `no column "c" here; there are a`) {
		t.Errorf("got %v", err)
	}
	if _, err := flow.Open().Columns(); err == nil || !strings.Contains(err.Error(), "add .Select") {
		t.Errorf("got %v", err)
	}
}
