package spark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/runtime/table"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// counting answers with batches of one column, n, of these lengths.
func counting(t *testing.T, lengths ...int) answers {
	return func(_ context.Context, _ *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		n := int64(0)
		for _, length := range lengths {
			values := make([]int64, length)
			for i := range values {
				values[i] = n
				n++
			}
			if err := rows(t, send, columns.Column{Name: "n", Values: values}); err != nil {
				return err
			}
		}
		return nil
	}
}

// blocking answers with nothing until it is interrupted.
func blocking(begun chan<- struct{}) answers {
	return func(ctx context.Context, _ *protocol.Plan, _ func(*protocol.ExecuteResponse)) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
}

func TestCollect(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, counting(t, 0, 3, 0, 2))
	got, err := s.Range(0, 5).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := got.Column("n")
	if err != nil || fmt.Sprint(n) != "[0 1 2 3 4]" {
		t.Errorf("got %v, %v, want 0 to 4", n, err)
	}
}

func TestCollectNothing(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, counting(t, 0))
	got, err := s.Range(0, 0).Collect(t.Context())
	if err != nil || got.Len() != 0 || fmt.Sprint(got.Columns(), got.Types()) != "[n] [int]" {
		t.Errorf("got %v, %v, want no rows of an integer n", got, err)
	}
}

// TestCollectGuards: too large a result ends the work on the server, and says what to do instead.
func TestCollectGuards(t *testing.T) {
	for want, c := range map[string]Config{
		"more than 1,000 rows: aggregate it": {CollectRows: 1000},
		"more than 1 kB: aggregate it":       {CollectBytes: 1000},
	} {
		ended := make(chan struct{})
		s := start(t, c, connecttest.Config{}, func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
			counting(t, 600, 600)(ctx, p, send)
			<-ctx.Done() // as one that goes on
			close(ended)
			return ctx.Err()
		})
		got, err := s.Range(0, 2000).Collect(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, error %v, want %q in it", got, err, want)
		}
		<-ended
	}
	s := start(t, Config{CollectRows: -1, CollectBytes: -1}, connecttest.Config{}, counting(t, 200_000))
	if got, err := s.Range(0, 1).Collect(t.Context()); err != nil || got.Len() != 200_000 {
		t.Errorf("without limits: %v", err)
	}
}

func TestEach(t *testing.T) {
	s := start(t, Config{CollectRows: 1}, connecttest.Config{}, counting(t, 0, 3, 2))
	var lengths []int
	err := s.Range(0, 5).Each(t.Context(), func(rows *table.Table) error {
		lengths = append(lengths, rows.Len())
		return nil
	})
	if err != nil || fmt.Sprint(lengths) != "[3 2]" {
		t.Errorf("batches of %v, %v, want 3 and 2", lengths, err)
	}
	enough := errors.New("enough")
	if err := s.Range(0, 5).Each(t.Context(), func(*table.Table) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got error %v, want the function's", err)
	}
}

// TestEachEnds: a context that ends has the work ended on the server.
func TestEachEnds(t *testing.T) {
	begun := make(chan struct{})
	s := start(t, Config{}, connecttest.Config{}, blocking(begun))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if err := s.Range(0, 5).Each(ctx, func(*table.Table) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the context", err)
	}
	if all := s.Operations(s.ID()); len(all) != 1 || !all[0].Interrupted {
		t.Errorf("the server has %+v, want one operation, interrupted", all)
	}
}

func TestCount(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, _ *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		return rows(t, send, columns.Column{Name: "n", Values: []int64{42}})
	})
	if n, err := s.Range(0, 42).Count(t.Context()); n != 42 || err != nil {
		t.Errorf("%d rows, %v, want 42", n, err)
	}
	if sql := s.sent().GetRoot().GetAggregate().GetAggregates()[0].GetText().GetSql(); sql != "count(1) AS n" {
		t.Errorf("it was sent as %q", sql)
	}
}

// TestDamaged: an answer that is not what it says it is, is an error.
func TestDamaged(t *testing.T) {
	for want, send := range map[string]*protocol.ArrowBatch{
		"read the schema of a batch": {Rows: 1, Data: []byte("no Arrow")},
		"was to have 7":              nil,
	} {
		s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, _ *protocol.Plan, give func(*protocol.ExecuteResponse)) error {
			batch := send
			if batch == nil {
				data, err := columns.Write(&columns.Batch{Rows: 1, Columns: []columns.Column{{Name: "n", Values: []int64{1}}}})
				if err != nil {
					return err
				}
				batch = &protocol.ArrowBatch{Rows: 7, Data: data}
			}
			give(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Arrow{Arrow: batch}})
			return nil
		})
		if _, err := s.Range(0, 1).Collect(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

func TestTwins(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, _ *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		return rows(t, send, columns.Column{Name: "id", Values: []int64{1}}, columns.Column{Name: "id", Values: []int64{2}})
	})
	if _, err := s.Table("both").Collect(t.Context()); err == nil || !strings.Contains(err.Error(), `two columns are called "id"`) {
		t.Errorf("got error %v, want one about the names", err)
	}
	if html := fmt.Sprint(s.Table("both").MIMEBundle()["text/plain"]); !strings.Contains(html, "id  id") {
		t.Errorf("shown as %s, want both", html)
	}
}

// TestShownRow: one row is none of several.
func TestShownRow(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, counting(t, 1))
	if text := fmt.Sprint(s.Table("orders").MIMEBundle()["text/plain"]); !strings.HasSuffix(text, "\n1 row × 1") {
		t.Errorf("shown as\n%s", text)
	}
}

func TestShown(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, counting(t, 15, 6))
	text := fmt.Sprint(s.Table("orders").MIMEBundle()["text/plain"])
	if lines := strings.Split(text, "\n"); len(lines) != 22 || lines[0] != "n" || lines[20] != "19" || lines[21] != "the first 20 rows × 1" {
		t.Errorf("shown as\n%s\nwant 20 rows and a line that says so", text)
	}
	if n := s.sent().GetRoot().GetLimit().GetLimit(); n != 21 {
		t.Errorf("%d rows were asked for, want 21", n)
	}
	if err := s.Table("orders").Show(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Table("orders").Limit(-1).Show(t.Context()); err == nil || !strings.Contains(err.Error(), "Limit of -1") {
		t.Errorf("Show of a frame that is wrong: got %v", err)
	}
	broken := s.Table("orders").Limit(-1).MIMEBundle()["text/plain"]
	if !strings.Contains(fmt.Sprint(broken), "Limit of -1 rows") {
		t.Errorf("a wrong frame is shown as %v, want the error", broken)
	}
}

func TestProgress(t *testing.T) {
	var seen []Stages
	s := start(t, Config{Progress: func(p Stages) { seen = append(seen, p) }}, connecttest.Config{},
		func(ctx context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
			for done := range int64(3) {
				send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Progress{Progress: &protocol.Progress{RunningTasks: 2,
					Stages: []*protocol.Progress_Stage{{Id: 1, Tasks: 4, DoneTasks: 5, InputBytes: 3_000_000, Done: true}, {Id: 2, Tasks: 4, DoneTasks: done}, {Id: 0, Tasks: 9}}}}})
			}
			return counting(t, 1)(ctx, p, send)
		})
	if _, err := s.Range(0, 1).Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "[##################------] 6 of 8 tasks, 2 running, 3 MB read; a task was run again: it failed, or a worker was lost"
	if len(seen) != 3 || seen[2].String() != want {
		t.Errorf("told %v, want three times, and in the end %s", seen, want)
	}
}

// TestShownValues: values of all sorts have a form for the eye.
func TestShownValues(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, _ *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		return rows(t, send, columns.Column{Name: "window", Values: []any{Struct{Names: []string{"start"}, Values: []any{at}}, nil}},
			columns.Column{Name: "at", Values: []time.Time{at, at}}, columns.Column{Name: "price", Values: []any{Decimal("1.50"), Decimal("2.25")}},
			columns.Column{Name: "tags", Values: []any{[]string{"a", "b"}, []string{}}})
	})
	want := `window                               at                   price  tags
{"start":"2026-03-01T12:00:00Z"}     2026-03-01 12:00:00   1.50  ["a","b"]
–                                    2026-03-01 12:00:00   2.25         []
2 rows × 4`
	if got := fmt.Sprint(s.Table("orders").MIMEBundle()["text/plain"]); squeezed(got) != squeezed(want) {
		t.Errorf("shown as\n%s\nwant\n%s", got, want)
	}
}

// squeezed has one space where there are several.
func squeezed(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}
