package stream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/running"
	. "cancha/stream"
)

// entryOf finds the newest entry of a name in this process.
func entryOf(t *testing.T, name string) *running.Entry {
	t.Helper()
	var found *running.Entry
	for _, e := range running.Process().List() {
		if e.Name == name {
			found = e
		}
	}
	if found == nil {
		t.Fatalf("nothing is listed as %q", name)
	}
	return found
}

// TestListed: a query that runs is listed with its numbers, and after its end with the last of them.
func TestListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := Memory("events", [][]Record{events(7, 0, 100), {event(8, 1, 0), {Value: []byte("{")}}}).Follow()
		query := start(t, counting(source).Name("by <shop>"))
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		e := entryOf(t, "by <shop>")
		check := func(when string, state running.State) {
			t.Helper()
			s := e.Thing().(running.Streamer)
			totals, parts := s.Totals(), s.Sources()
			if e.State() != state || totals.Records != 102 || totals.Bad != 1 {
				t.Errorf("%s: got %s with %+v, want %s with 102 records, 1 bad", when, e.State(), totals, state)
			}
			if len(parts) != 2 || parts[0].Topic != "events" || parts[0].Records != 100 || parts[1].ID != 1 || parts[1].Records != 2 {
				t.Errorf("%s: got %+v, want two partitions of events with 100 and 2 records", when, parts)
			}
			if all, newer := s.Recent(-1), s.Recent(0); len(all) < 2 || len(newer) != len(all)-1 || newer[0].BatchID != 1 {
				t.Errorf("%s: got %d reports and %d newer than the first", when, len(all), len(newer))
			}
			if p := s.Progress(); p.Name != "by <shop>" || p.RunID == "" || len(p.Sources) != 1 {
				t.Errorf("%s: got %+v", when, p)
			}
		}
		check("while it runs", running.Running)
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if query.Active() {
			t.Error("it goes on after Stop")
		}
		check("after the end", running.Succeeded)
	})
}

// TestListedPlan: the graph of a query has its sources, steps and sinks, and the rows that are counted.
func TestListedPlan(t *testing.T) {
	source := func(n int) Source { return Memory("events", [][]Record{events(7, 0, n)}) }
	shops := func(s Source) *Query { return From(s).EventTime(Field("at").AsTime()).Watermark(time.Second) }
	for _, c := range []struct {
		name  string
		query *Query
		want  string
	}{
		{"filter and windows", shops(source(120)).Filter(Field("at").AsTime().Lt(threeOClock.Add(time.Minute))).GroupBy("shop").Window(Tumbling(time.Minute)).Agg(Count("events")),
			"read filter aggregate output: 0-120-1 1-60-2 2-1-3"},
		{"a join", shops(source(10)).Select("shop").Join(shops(source(20)).Select("shop"), Same("shop"), Within{}),
			"read select read select inner output: 0-10-1 2-20-3 1-10-4 3-20-4 4-10-5"},
		{"two filters", shops(source(10)).Filter(Field("shop").Eq(7)).Select("shop").Filter(Field("shop").Ne(7)), "read filter select filter output: 0-10-1 1-?-2 2-?-3 3-0-4"},
		{"several rows of one, all of them bad", shops(source(4)).Explode("city", "c").Select("shop"), "read explode select output: 0-0-1 1-?-2 2-0-3"},
		{"no step", shops(source(3)).Select("shop").To(nowhere{}), "read select output nowhere: 0-3-1 1-3-2 2-3-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := "plan of " + c.name
			finish(t, c.query.Name(name))
			if got := drawn(entryOf(t, name).Thing().(running.Planner).Plan()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// nowhere is a sink that keeps nothing.
type nowhere struct{}

func (nowhere) Write(context.Context, int64, *Rows) error { return nil }
func (nowhere) String() string                            { return "nowhere" }

// drawn writes a plan's graph in a line.
func drawn(p running.Plan) string {
	var nodes, edges []string
	for _, n := range p.Nodes {
		nodes = append(nodes, n.Name)
	}
	for _, e := range p.Edges {
		edges = append(edges, strings.Replace(fmt.Sprintf("%d-%d-%d", e.From, e.Rows, e.To), "--1-", "-?-", 1))
	}
	return strings.Join(nodes, " ") + ": " + strings.Join(edges, " ")
}

// TestCellAgain: a query that a cell starts again takes the place of the one before; one of another cell does not.
func TestCellAgain(t *testing.T) {
	run := func(cell int64, origin string) (q *Running) {
		r := cellio.NewRun(cell)
		r.Origin = origin
		done := make(chan struct{})
		go r.Do(func() {
			defer close(done)
			q, _ = From(Memory("events", [][]Record{events(7, 0, 3)}).Follow()).Select("shop").Name("again").Start(context.Background())
		})
		<-done
		if q == nil {
			t.Fatal("it does not start")
		}
		return q
	}
	first, other := run(901, "a"), run(902, "b")
	again := run(903, "a")
	if first.Active() || !other.Active() || !again.Active() {
		t.Errorf("active: got the first %v, another cell's %v, the new one %v, want false, true, true", first.Active(), other.Active(), again.Active())
	}
	if err := first.Err(); err != nil {
		t.Errorf("the first: got %v, want an end in order", err)
	}
	stop(t, other)
	stop(t, again)
}
