package eval_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"cancha/internal/running"
	"cancha/kernel/cell"
)

// listedQuery is a query as %streams sees it.
type listedQuery struct {
	name  string
	entry *running.Entry
	how   string
	age   time.Duration // of the newest report, where there is one
	epoch time.Duration // for which its epoch has been on its way
	held  chan struct{} // nil: nothing holds it up; else it tells nothing until this is closed, and does not stop
}

func (q *listedQuery) Kind() running.Kind              { return running.Query }
func (q *listedQuery) Name() string                    { return q.name }
func (q *listedQuery) Status() string                  { return "" }
func (q *listedQuery) Notes() []string                 { return nil }
func (q *listedQuery) Recent(int64) []running.Progress { return nil }
func (q *listedQuery) EpochAge() time.Duration         { return q.epoch }
func (q *listedQuery) Sources() []running.Partition    { return []running.Partition{{Lag: 3}, {Lag: 4}} }
func (q *listedQuery) Drain(ctx context.Context) error { return q.end("drain") }
func (q *listedQuery) end(how string) error            { q.how = how; q.entry.End(nil); return nil }

func (q *listedQuery) Progress() running.Progress {
	p := running.Progress{InputRowsPerSecond: 20.4}
	if q.age > 0 {
		p.Timestamp = time.Now().Add(-q.age).UTC().Format(time.RFC3339Nano)
	}
	return p
}

func (q *listedQuery) Totals() running.Totals {
	if q.held != nil {
		<-q.held
	}
	return running.Totals{Records: 100}
}

func (q *listedQuery) Stop(ctx context.Context) error {
	if q.held == nil {
		return q.end("stop")
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func listQuery(name string) (q *listedQuery) {
	q = &listedQuery{name: name}
	q.entry = running.Process().Add(q)
	return q
}

// TestStreams lists queries of the process, and ends those that are named.
func TestStreams(t *testing.T) {
	once(t)
	n := newNotebook(t)
	sales, returns, late := listQuery("sales by city"), listQuery("returns"), listQuery("late")
	for _, c := range []struct{ name, code, want string }{
		{"list", "%streams", `(?s)^ID +Name +State +For +Records +Records/s +Lag\n.*\d+ +sales by city +running +\d+s +100 +20 +7\n.*returns +running.*late`},
		{"stop one of several words", "%streams stop sales by city", `^stopped: \d+ sales by city\n$`},
		{"drain", "%streams drain late", `^drained: \d+ late\n$`},
		{"what has ended is listed", "%streams", `sales by city +ended +\d+s +100 +7\n`},
		{"stop all", "%streams stop all", `^stopped: \d+ returns\n$`},
	} {
		before := len(n.stream("stdout"))
		n.ok(c.code)
		if got := n.stream("stdout")[before:]; !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if sales.how != "stop" || late.how != "drain" || returns.how != "stop" {
		t.Errorf("got %s, %s, %s, want stop, drain, stop", sales.how, late.how, returns.how)
	}
	for code, want := range map[string]string{
		"%streams stop nothing": `no query that runs has the name or the ID "nothing"`,
		"%streams stop":         "usage: %streams or %streams stop|drain NAME|ID|all",
		"%streams sales":        "usage: %streams",
	} {
		if got := n.run(code); got.Err == nil || !strings.Contains(got.Err.Value, want) {
			t.Errorf("%s: got %+v, want %q", code, got.Err, want)
		}
	}
}

// TestStreamsOld: what a query has said of itself long ago is not shown as if it were so now, and one whose epoch is held up is told from others.
func TestStreamsOld(t *testing.T) {
	once(t)
	n := newNotebook(t)
	hung, epoch := &listedQuery{name: "hung", age: 12500 * time.Millisecond}, &listedQuery{name: "epoch", age: time.Second, epoch: 30 * time.Second}
	for _, q := range []*listedQuery{hung, epoch} {
		q.entry = running.Process().Add(q)
		defer q.entry.End(nil)
	}
	n.ok("%streams")
	want := regexp.MustCompile(`hung +held up +\d+s +100 +0 +7 +No report for 12s: held up by its sink or a function\n.*epoch +held up +\d+s +100 +20 +7 +An epoch has been on its way for 30s: held up by its sink or its checkpoint\n`)
	if got := n.stream("stdout"); !want.MatchString(got) {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestStreamsHeldUp: a query that its sink holds up neither keeps the list back nor the end of the others, and an interrupt gives it up.
func TestStreamsHeldUp(t *testing.T) {
	once(t)
	n := newNotebook(t)
	stuck := &listedQuery{name: "stuck", held: make(chan struct{})}
	stuck.entry = running.Process().Add(stuck)
	defer close(stuck.held)
	defer stuck.entry.End(nil)
	sales := listQuery("sales")
	n.ok("%streams")
	if got, want := n.stream("stdout"), regexp.MustCompile(`stuck +running +\d+s +no answer *\n.*sales +running +\d+s +100 +20 +7\n`); !want.MatchString(got) {
		t.Errorf("got %q, want %s", got, want)
	}
	end := make(chan *cell.Error)
	go func() { end <- n.run("%streams stop all").Err }()
	for deadline := time.Now().Add(10 * time.Second); sales.entry.State() == running.Running; time.Sleep(time.Millisecond) { // polls
		if time.Now().After(deadline) {
			t.Fatal("sales goes on beside a query that is stuck")
		}
	}
	n.program.Interrupt()
	if err := <-end; err == nil || !strings.Contains(err.Value, `%streams: "stuck": `) {
		t.Errorf("got %+v, want that stuck has not stopped", err)
	}
	if got, want := n.stream("stdout"), "stopped: "; !strings.Contains(got, want) {
		t.Errorf("got %q, want in it %q", got, want)
	}
}

// TestCellAgainReplacesItsQuery: without an id from the front end, the same text is the same cell.
func TestCellAgainReplacesItsQuery(t *testing.T) {
	once(t)
	n := newNotebook(t)
	const code = `import (
	"context"

	"cancha/stream"
)
query, err := stream.From(stream.Memory("t", [][]stream.Record{{}}).Follow()).Select("a").Name("again").Start(context.Background())
check(err)`
	live := func() (count int) {
		for _, e := range running.Process().Live() {
			if e.Name == "again" {
				count++
			}
		}
		return count
	}
	n.ok(code, code)
	if got := live(); got != 1 {
		t.Errorf("the same cell twice: %d queries run, want 1", got)
	}
	n.ok(code + " // another cell")
	if got := live(); got != 2 {
		t.Errorf("another cell beside it: %d queries run, want 2", got)
	}
	n.ok("%streams stop again")
	if got := live(); got != 0 {
		t.Errorf("after %%streams stop: %d queries run, want none", got)
	}
}
