package stream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

func TestATimerThatSetsItselfEndsWithTheSource(t *testing.T) {
	const beats = `{"host":"x","at":"2026-03-01T12:00:00Z"}
		{"host":"y","at":"2026-03-01T12:01:30Z"}
		{"host":"x","at":"2026-03-01T12:02:30Z"}`
	minutes := Processing{Name: "minutes", Keys: []string{"host"}, TimeToLive: time.Hour,
		Columns: []Column{{Name: "host", Kind: Text}, {Name: "minute", Kind: Time}},
		State:   func() any { return new(bool) },
		Row: func(c *Context, s any, _ Row) error {
			if armed := s.(*bool); !*armed {
				*armed = true
				c.SetTimer(c.Time().Add(time.Minute))
			}
			return nil
		},
		Timer: func(c *Context, _ any, at time.Time) error {
			c.SetTimer(at.Add(time.Minute))
			return c.Emit(c.Key()[0], at)
		}}
	for _, delay := range []time.Duration{0, time.Hour} { // with the second no timer is due before the end
		got, _ := run(t, timed(beats).Watermark(delay).Process(minutes))
		want(t, got, `host,minute
			x,2026-03-01T12:01:00Z
			x,2026-03-01T12:02:00Z
			x,2026-03-01T12:03:00Z
			y,2026-03-01T12:02:30Z
			y,2026-03-01T12:03:30Z`)
	}
}

// TestATimerThatSetsItselfInFrontOfOthersEndsWithTheSource: whatever stands behind a process, and gives out rows by what its timers give out, is no reason
// to call more of them.
func TestATimerThatSetsItselfInFrontOfOthersEndsWithTheSource(t *testing.T) {
	calls := 0
	beat := func(name string) Processing { // each minute after the first row of a key
		return Processing{Name: name, Keys: []string{"host"}, TimeToLive: time.Hour, Columns: []Column{{Name: "host", Kind: Text}},
			State: func() any { return new(bool) },
			Row: func(c *Context, s any, _ Row) error {
				if armed := s.(*bool); !*armed {
					*armed = true
					c.SetTimer(c.Time().Add(time.Minute))
				}
				return nil
			},
			Timer: func(c *Context, _ any, at time.Time) error {
				if calls++; calls > 1000 {
					return errors.New("the timers have no end")
				}
				c.SetTimer(at.Add(time.Minute))
				return c.Emit(c.Key()[0])
			}}
	}
	count := func(q *Query, w Window) *Query { return q.GroupBy("host").Window(w).Agg(Count("n")) }
	minutes := Tumbling(time.Minute)
	hosts := func() *Query {
		return timed(`{"host":"x","at":"2026-03-01T12:00:00Z"}
			{"host":"x","at":"2026-03-01T12:02:30Z"}`).Watermark(0)
	}
	other := timed(`{"host":"x","at":"2026-03-01T12:01:00Z"}`).Watermark(0).Select("host")
	for _, test := range []struct {
		name  string
		q     *Query
		calls int
		want  string
	}{
		{"a window", count(hosts().Process(beat("a")), minutes), 3, `host,window_start,window_end,n
			x,2026-03-01T12:01:00Z,2026-03-01T12:02:00Z,1
			x,2026-03-01T12:02:00Z,2026-03-01T12:03:00Z,1
			x,2026-03-01T12:03:00Z,2026-03-01T12:04:00Z,1`},
		{"a session", count(hosts().Process(beat("a")), Session(30*time.Second)), 3, `host,window_start,window_end,n
			x,2026-03-01T12:01:00Z,2026-03-01T12:01:30Z,1
			x,2026-03-01T12:02:00Z,2026-03-01T12:02:30Z,1
			x,2026-03-01T12:03:00Z,2026-03-01T12:03:30Z,1`},
		{"a process", hosts().Process(beat("a")).Process(beat("b")), 6, `host
			x
			x
			x`},
		{"a process and a window", count(hosts().Process(beat("a")).Process(beat("b")), minutes), 6, `host,window_start,window_end,n
			x,2026-03-01T12:02:00Z,2026-03-01T12:03:00Z,1
			x,2026-03-01T12:03:00Z,2026-03-01T12:04:00Z,1
			x,2026-03-01T12:04:00Z,2026-03-01T12:05:00Z,1`},
		{"a join", hosts().Process(beat("a")).LeftJoin(other.With("y", Literal(1)), Same("host"), Within{30 * time.Second, 30 * time.Second}), 3, `host,y
			x,
			x,
			x,1`},
	} {
		calls = 0
		got, _ := run(t, test.q)
		want(t, got, test.want)
		if calls != test.calls {
			t.Errorf("%s: got %d calls of timers, want %d", test.name, calls, test.calls)
		}
	}
	calls = 0 // windows on both sides: the process between them gets a row for each minute that has one
	if _, rows := run(t, count(count(hosts(), minutes).Process(beat("a")), minutes)); calls == 0 || calls > 10 {
		t.Errorf("between windows: got %d calls and %v, want a few", calls, rows)
	}
}

// TestATimerThatNeverMovesOn: a timer that for ever sets another at its own time, or before, ends the query; one that does so a few times is called.
func TestATimerThatNeverMovesOn(t *testing.T) {
	beat := func(most int, next func(at time.Time) time.Time) Processing {
		return Processing{Name: "p", Keys: []string{"id"}, TimeToLive: time.Hour,
			Columns: []Column{{Name: "n", Kind: Int}}, State: func() any { return new(int) },
			Row: func(c *Context, _ any, _ Row) error { c.SetTimer(c.Time()); return nil },
			Timer: func(c *Context, s any, at time.Time) error {
				if n := s.(*int); *n < most {
					*n++
					c.SetTimer(next(at))
					return nil
				}
				return c.Emit(*s.(*int))
			}}
	}
	same := func(at time.Time) time.Time { return at }
	before := func(at time.Time) time.Time { return at.Add(-time.Second) }
	const one = `{"id":"a","at":"2026-03-01T12:00:00Z"}`
	for _, next := range []func(time.Time) time.Time{same, before} {
		got, _ := run(t, timed(one).Process(beat(100, next)))
		want(t, got, "n\n100")
		running := start(t, timed(one).Process(beat(1<<60, next)))
		if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), `process "p": timers have set 10000 more`) {
			t.Errorf("got %v, want an error that names the process and the timer", err)
		}
	}
}

// TestClockTimersInThePast: a timer that always sets another in the past is called again and again, and the query ends when it is told to.
func TestClockTimersInThePast(t *testing.T) {
	records := [][]Record{{{Value: []byte(`{"id":"a","at":"2026-03-01T12:00:00Z"}`)}}}
	running := start(t, From(Memory("t", records).Follow()).EventTime(Field("at").AsTime()).Process(Processing{Name: "p", Keys: []string{"id"}, TimeToLive: time.Hour,
		Columns: []Column{{Name: "n", Kind: Int}}, State: func() any { return nil },
		Row:   func(c *Context, _ any, _ Row) error { c.SetClock(time.Unix(0, 0)); return nil },
		Timer: func(c *Context, _ any, _ time.Time) error { c.SetClock(time.Unix(0, 0)); return c.Emit(1) }}))
	until(t, func() bool { return running.Results().Len() >= 3 })
	if err := running.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTimerThatNothingHears: a timer without a Timer is a fault of the program.
func TestTimerThatNothingHears(t *testing.T) {
	running := start(t, timed(orders).Process(Processing{Name: "p", Keys: []string{"id"}, TimeToLive: time.Hour,
		Columns: []Column{{Name: "out", Kind: Int}}, State: func() any { return nil },
		Row: func(c *Context, _ any, _ Row) error { c.SetTimer(c.Time()); return nil }}))
	if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "set Processing.Timer") {
		t.Errorf("got %v, want an error that names Processing.Timer", err)
	}
}

// TestEmitOfAnotherKind: a text in a column of numbers ends the query, and numbers of both kinds go into either column.
func TestEmitOfAnotherKind(t *testing.T) {
	for _, test := range []struct {
		kind  Kind
		value any
		wrong string
	}{
		{Float, "x", `Emit of x, a text, for the column "out", which is a number`},
		{Text, 3, `Emit of 3, an integer, for the column "out", which is a text`},
		{Int, 1.5, `Emit of 1.5, a number, for the column "out", which is an integer`},
		{Float, 3, ""}, {Int, 3.0, ""}, {Any, "x", ""}, {Time, nil, ""},
	} {
		running := start(t, timed(orders).Process(Processing{Name: "p", Keys: []string{"id"}, TimeToLive: time.Hour,
			Columns: []Column{{Name: "out", Kind: test.kind}}, State: func() any { return nil },
			Row: func(c *Context, _ any, _ Row) error { return c.Emit(test.value) }}))
		err := running.Wait(t.Context())
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%v in %v: got %v, want %q", test.value, test.kind, err, test.wrong)
		}
	}
}
