package spark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"cancha/internal/running"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// streams is the server's side of streaming queries: one query, with what it says of itself.
type streams struct {
	t *testing.T

	mu      sync.Mutex
	started *protocol.StreamStart
	reports []string
	ended   bool
	failure string
	table   []int64
	asked   int
}

func (q *streams) answer(_ context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if st := p.GetCommand().GetStream(); st != nil {
		q.started = st
		send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_StreamStarted{StreamStarted: &protocol.StreamStarted{
			Id: &protocol.QueryID{Id: "id", RunId: "run"}, Name: st.Name}}})
		return nil
	}
	if c := p.GetCommand().GetQuery(); c != nil {
		q.asked++
		send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Query{Query: q.command(c)}})
		return nil
	}
	from := int64(0)
	if sql := p.GetRoot().GetSql().GetQuery(); sql != "" {
		if _, err := fmt.Sscanf(sql, "SELECT * FROM (SELECT /*+ COALESCE(1) */ * FROM `totals`) OFFSET %d", &from); err != nil {
			q.t.Errorf("asked by %q", sql)
		}
	}
	return rows(q.t, send, columns.Column{Name: "n", Values: q.table[from:]})
}

func (q *streams) command(c *protocol.QueryCommand) *protocol.QueryResult {
	r := &protocol.QueryResult{Id: c.Id}
	switch c.Of.(type) {
	case *protocol.QueryCommand_Status:
		r.Of = &protocol.QueryResult_Status_{Status: &protocol.QueryResult_Status{Text: "Waiting for data to arrive", Active: !q.ended}}
	case *protocol.QueryCommand_RecentProgress:
		r.Of = &protocol.QueryResult_Recent_{Recent: &protocol.QueryResult_Recent{Json: q.reports}}
	case *protocol.QueryCommand_Stop:
		q.ended = true
	case *protocol.QueryCommand_Exception:
		r.Of = &protocol.QueryResult_Failure_{Failure: &protocol.QueryResult_Failure{}}
		if q.failure != "" {
			r.GetFailure().Text = &q.failure
		}
	case *protocol.QueryCommand_Explain_:
		r.Of = &protocol.QueryResult_Explained_{Explained: &protocol.QueryResult_Explained{Text: "== Physical Plan =="}}
	}
	return r
}

func (q *streams) change(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
}

// batchReport is a report of a batch, as Spark gives it over Connect.
func batchReport(id, rows, out int) string {
	return fmt.Sprintf(`{"id":"id","runId":"run","name":"totals","timestamp":"2026-03-01T12:00:0%d.000Z","batchId":%d,"batchDuration":120,
		"durationMs":{"triggerExecution":120,"addBatch":80},"eventTime":{"max":"2026-03-01T12:00:05.000Z","watermark":"2026-03-01T11:59:55.000Z"},
		"stateOperators":[{"operatorName":"stateStoreSave","numRowsTotal":3,"numRowsUpdated":2,"allUpdatesTimeMs":1,"numRowsRemoved":1,"memoryUsedBytes":900,
			"numRowsDroppedByWatermark":1,"customMetrics":{"loadedMapCacheHitCount":4}}],
		"sources":[{"description":"KafkaV2[Subscribe[orders]]","startOffset":"{\"orders\":{\"0\":0,\"1\":0}}","endOffset":"{\"orders\":{\"0\":%d,\"1\":2}}",
			"latestOffset":"{\"orders\":{\"0\":10,\"1\":2}}","numInputRows":%d,"inputRowsPerSecond":50.5,"processedRowsPerSecond":75.25,"metrics":{"avgOffsetsBehindLatest":"0.0"}},
			{"description":"RateStreamV2","startOffset":"1","endOffset":2,"latestOffset":null,"numInputRows":0,"inputRowsPerSecond":0.0,"processedRowsPerSecond":0.0,"metrics":{}}],
		"sink":{"description":"MemorySink","numOutputRows":%d,"metrics":{}},"observedMetrics":{"bad":{"values":[7],"schema":{"type":"struct","fields":[{"name":"n","type":"long"}]}}}}`, id, id, 4+id, rows, out)
}

func TestStart(t *testing.T) {
	q := &streams{t: t, reports: []string{batchReport(0, 6, 2)}, table: []int64{1, 2}}
	s := start(t, Config{}, connecttest.Config{}, q.answer)
	run, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "totals", Mode: "update", Trigger: 2 * time.Second, Checkpoint: "/c"})
	if err != nil {
		t.Fatal(err)
	}
	want := &protocol.StreamStart{Input: s.ReadStream(Source{Format: "rate"}).relation, Format: "memory", OutputMode: "update", Name: "totals",
		Trigger: &protocol.StreamStart_Interval{Interval: "2000 milliseconds"}, Options: map[string]string{"checkpointLocation": "/c"}}
	if !proto.Equal(q.started, want) {
		t.Errorf("sent %v, want %v", q.started, want)
	}
	if run.ID() != "id" || run.RunID() != "run" || run.Name() != "totals" || !run.Active() || run.Err() != nil {
		t.Errorf("it is %+v", run)
	}
	entry := entryOf(t, "totals")
	if got, err := run.Next(t.Context()); err != nil || got.Len() != 2 {
		t.Errorf("the first rows are %v, %v, want 2", got, err)
	}
	q.change(func() {
		q.table = append(q.table, 3)
		q.reports = append(q.reports, batchReport(1, 4, -1)) // -1: the sink does not tell
	})
	if got, err := run.Next(t.Context()); err != nil || got.Len() != 1 || got.Value(0, "n") != int64(3) {
		t.Errorf("the next rows are %v, %v, want 3", got, err)
	}
	if got, err := run.Next(t.Context()); err != nil || got.Len() != 0 {
		t.Errorf("then there are %v, %v, want none", got, err)
	}
	if got, err := run.Results(t.Context()); err != nil || got.Len() != 3 {
		t.Errorf("all rows are %v, %v, want 3", got, err)
	}
	if e, err := run.Explain(t.Context()); err != nil || e.Text != "== Physical Plan ==" {
		t.Errorf("explained as %v, %v", e, err)
	}
	if err := run.Stop(t.Context()); err != nil || run.Active() {
		t.Errorf("stopped: %v, active %v", err, run.Active())
	}
	p := run.Progress()
	if mark, ok := p.Watermark(); p.BatchID != 1 || p.NumInputRows != 4 || p.InputRowsPerSecond != 50.5 || p.ProcessedRowsPerSecond != 75.25 || p.LateRows() != 1 ||
		p.StateRows() != 3 || !ok || mark.Second() != 55 || p.Sources[0].EndOffset["orders"]["0"] != 5 || p.Sources[1].EndOffset != nil || p.DurationMs["addBatch"] != 80 {
		t.Errorf("the last report is %+v", p)
	}
	of := entry.Thing().(running.Streamer)
	if got := of.Totals(); got.Records != 10 || got.Rows != 2 || got.Late != 2 || got.Bytes != 900 {
		t.Errorf("in all %+v, want 10 records, 2 rows, 2 late", got)
	}
	if got := fmt.Sprintf("%+v", of.Sources()[0]); !strings.Contains(got, "Topic:orders ID:0") || !strings.Contains(got, "Offset:5 Lag:5") {
		t.Errorf("the first partition is %s", got)
	}
	if got := of.Recent(0); len(got) != 1 || got[0].BatchID != 1 {
		t.Errorf("after batch 0 there are %v, want batch 1", got)
	}
	if state, _, err := entry.Outcome(); state != running.Succeeded || err != nil {
		t.Errorf("it is listed as %s, %v", state, err)
	}
	if err := run.Stop(t.Context()); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

// entryOf finds a query in the list of what runs.
func entryOf(t *testing.T, name string) *running.Entry {
	t.Helper()
	for _, e := range running.Process().Live() {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no query %q is listed", name)
	return nil
}

func TestStreamFails(t *testing.T) {
	q := &streams{t: t, failure: "org.apache.spark.sql.streaming.StreamingQueryException: [DIVIDE_BY_ZERO] Division by zero.\n=== Streaming Query ===\nPlan", ended: true}
	s := start(t, Config{}, connecttest.Config{}, q.answer)
	run, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "broken"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(t.Context()); err == nil || err.Error() != "spark: the query broken has failed: [DIVIDE_BY_ZERO] Division by zero." {
		t.Errorf("it ended with %v, want Spark's error", err)
	}
	if err := run.Stop(t.Context()); err == nil {
		t.Error("stopping a failed query tells nothing")
	}
}

// TestCloseEndsFollowing: who waits for a query hears that its session was closed.
func TestCloseEndsFollowing(t *testing.T) {
	q := &streams{t: t}
	s := start(t, Config{}, connecttest.Config{}, q.answer)
	run, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "endless"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := run.Wait(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("it ended with %v, want that the session was closed", err)
	}
}

// TestStreamLost: a server that knows the session no more ends the following, and says why.
func TestStreamLost(t *testing.T) {
	q := &streams{t: t}
	s := start(t, Config{}, connecttest.Config{}, q.answer)
	run, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "lost"})
	if err != nil {
		t.Fatal(err)
	}
	s.Expire()
	run.hurry()
	if err := run.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "the query lost is lost from sight") {
		t.Errorf("it ended with %v, want that it is lost", err)
	}
}

// TestFollowedAfterInterrupt: an interrupt of all that runs in the session may meet a question about a query, which goes on, and is asked again.
func TestFollowedAfterInterrupt(t *testing.T) {
	q := &streams{t: t}
	met := make(chan struct{})
	var once sync.Once
	s := start(t, Config{}, connecttest.Config{}, func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) (err error) {
		if p.GetCommand().GetQuery() != nil {
			once.Do(func() { close(met); <-ctx.Done(); err = ctx.Err() })
		}
		if err != nil {
			return err
		}
		return q.answer(ctx, p, send)
	})
	run, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "going on"})
	if err != nil {
		t.Fatal(err)
	}
	<-met
	if n, err := s.Interrupt(t.Context()); n != 1 || err != nil {
		t.Errorf("%d operations were ended, %v, want the question", n, err)
	}
	if err := run.Stop(t.Context()); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	for want, c := range map[string]Stream{
		"set Name, or another Format": {},
		"Now and Trigger exclude":     {Name: "a", Now: true, Trigger: time.Second},
		"a trigger of 1ns":            {Name: "a", Trigger: 1},
		"choose one":                  {Path: "a", Table: "b"},
	} {
		if _, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q in it", c, err, want)
		}
	}
	q := &streams{t: t, ended: true}
	to := start(t, Config{}, connecttest.Config{}, q.answer)
	run, err := to.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Format: "noop", Now: true})
	if err != nil || !q.started.GetAvailableNow() {
		t.Fatalf("started %v, %v", q.started, err)
	}
	_, results := run.Results(t.Context())
	_, next := run.Next(t.Context())
	_, frame := run.Frame().Collect(t.Context())
	for _, err := range []error{results, next, frame} {
		if !errors.Is(err, errElsewhere) {
			t.Errorf("rows that go elsewhere: %v", err)
		}
	}
	run, err = to.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Name: "all", Mode: "Complete"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "use Results") { // Spark takes a mode in any case of letters
		t.Errorf("Next in mode complete: %v", err)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(batchReport(1, 2, 3))
	f.Add(`{"sources":[{"startOffset":"\"\"","endOffset":{"a":{"x":1}}}],"eventTime":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := report(text)
		if err != nil {
			return
		}
		progressOf(p.Progress)
		partitions(p.Progress)
		p.observed("bad", "n")
	})
}
