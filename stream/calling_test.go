package stream

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/stream/checkpoint"
)

// wild is what stands in the places that a query's user can fill: one of them ends as it is told to.
type wild struct {
	in  string
	end func()
}

func (w wild) at(where string) {
	if w.in == where {
		w.end()
	}
}

type wildSource struct {
	*MemorySource
	wild
}

func (s wildSource) Run(ctx context.Context, h Handler) error {
	s.at("Source.Run")
	return s.MemorySource.Run(ctx, h)
}

type wildSink struct{ wild }

func (s wildSink) Open(context.Context, []Column) error      { s.at("Sink.Open"); return nil }
func (s wildSink) Write(context.Context, int64, *Rows) error { s.at("Sink.Write"); return nil }
func (s wildSink) Close() error                              { s.at("Sink.Close"); return nil }
func (w wild) Record(context.Context, *Record) (t time.Time, reason string) {
	w.at("Record")
	return time.Unix(1, 0), ""
}
func (w wild) Flush(context.Context, func(time.Time, ...Value) error) error {
	w.at("Flush")
	return nil
}

type wildFormat struct {
	Format
	wild
}

func (f wildFormat) Decoder(slots []Slot) (Decoder, error) {
	d, err := f.Format.Decoder(slots)
	return wildDecoder{d, f.wild}, err
}

type wildDecoder struct {
	Decoder
	wild
}

func (d wildDecoder) Decode(b []byte, row []Value) string {
	d.at("Decode")
	return d.Decoder.Decode(b, row)
}

type wildPlace struct {
	checkpoint.Place
	wild
	written *int
}

func (p wildPlace) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	if *p.written++; *p.written > 1 { // the first is Start's
		p.at("Place.Write")
	}
	return p.Place.Write(ctx, unit, epoch, pieces)
}

// wildQueries are queries, by the place in which they call what their user has handed to them.
func wildQueries(t *testing.T, end func()) map[string]*Query {
	records := make([]Record, 20)
	for i := range records {
		records[i] = Record{Value: fmt.Appendf(nil, `{"id":%d,"k":"a","at":%d}`, i, i), Offset: int64(i)}
	}
	source := func() *MemorySource { return Memory("numbers", [][]Record{records}) }
	from := func() *Query { return From(source()).EventTime(Field("at").UnixSeconds()) }
	process := func(w wild) *Query {
		return from().Watermark(time.Second).Process(Processing{Name: "p", Keys: []string{"k"}, Fields: []string{"id"}, Columns: []Column{{Name: "n", Kind: Int}}, TimeToLive: time.Hour,
			State: func() any { w.at("State"); return new(int) },
			Row: func(c *Context, state any, row Row) error {
				w.at("Row")
				c.SetTimer(c.Time())
				return c.Emit(1)
			},
			Timer: func(c *Context, state any, at time.Time) error { w.at("Timer"); return nil }})
	}
	of := func(in string) wild { return wild{in, end} }
	all := map[string]*Query{
		"MapFunc":    from().MapFunc("x", func(Row) (any, error) { end(); return 1, nil }, "id").Select("id"),
		"FilterFunc": from().FilterFunc("x", func(Row) (bool, error) { end(); return true, nil }, "id").Select("id"),
		"Generate":   From(Generate("g", 2, 0, func(int, int64) Record { end(); return Record{} }).Records(10)).Select("id"),
		"SinkFunc":   from().Select("id").To(SinkFunc(func(int64, *Rows) error { end(); return nil })),
		"Source.Run": From(wildSource{source(), of("Source.Run")}).Select("id"),
		"Decode":     from().Format(wildFormat{JSONFormat(), of("Decode")}).Select("id"),
	}
	for _, in := range []string{"State", "Row", "Timer"} {
		all[in] = process(of(in))
	}
	for _, in := range []string{"Sink.Write", "Sink.Close"} {
		all[in] = from().Select("id").To(wildSink{of(in)})
	}
	for _, in := range []string{"Record", "Flush"} {
		all[in] = From(source()).ProcessRecords(RecordProcessing{Name: "p", Columns: []Column{{Name: "n", Kind: Int}}, New: func() RecordHandler { return of(in) }})
	}
	all["Place.Write"] = from().MapFunc("x", func(Row) (any, error) { return 1, nil }, "id").Select("id").To(wildSink{}).
		Checkpoint(wildPlace{checkpoint.Folder(t.TempDir()), of("Place.Write"), new(int)})
	return all
}

// TestGoexit: runtime.Goexit in what a query's user has handed to it ends the query with an error that says so, instead of leaving it
// without the goroutine.
func TestGoexit(t *testing.T) {
	for name, q := range wildQueries(t, runtime.Goexit) {
		t.Run(name, func(t *testing.T) {
			r, err := q.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "runtime.Goexit was called") {
				t.Errorf("got %v", err)
			}
			noneUnderWay(t, r)
		})
	}
}

// noneUnderWay: a call that has ended in whatever way is not taken for one that goes on, or what is still to end, such as a sink's Close, would be stopped as
// if that call hung.
func noneUnderWay(t *testing.T, r *Running) {
	t.Helper()
	if n, busy := r.graph.calls.Ended(); busy {
		t.Errorf("a call is under way after the end, and %d have ended", n)
	}
}

// TestPanics: a panic there makes the record a bad one, or ends the query with an error.
func TestPanics(t *testing.T) {
	for name, q := range wildQueries(t, func() { panic("boom") }) {
		t.Run(name, func(t *testing.T) {
			r, err := q.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = r.Wait(t.Context())
			noneUnderWay(t, r)
			bad := name == "MapFunc" || name == "FilterFunc"
			if !bad && (err == nil || !strings.Contains(err.Error(), "panic: boom")) {
				t.Errorf("got %v", err)
			}
			if got := r.Totals(); bad && (err != nil || got.Bad != 20 || r.Results().Len() != 0) {
				t.Errorf("got %v, %d bad records and %d rows, want 20 and none", err, got.Bad, r.Results().Len())
			}
		})
	}
}

// TestCallIsUnderWay: what a query waits for in its user's functions is counted.
func TestCallIsUnderWay(t *testing.T) {
	in, out := make(chan bool), make(chan bool)
	q := From(Memory("numbers", [][]Record{{{Value: []byte(`{"id":1}`)}}})).MapFunc("x", func(Row) (any, error) { in <- true; <-out; return 1, nil }, "id").Select("id")
	r, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-in
	if n, busy := r.graph.calls.Ended(); !busy {
		t.Errorf("no call is under way, and %d have ended", n)
	}
	close(out)
	if err := r.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if n, busy := r.graph.calls.Ended(); busy || n < 2 { // the source's, too
		t.Errorf("%d calls have ended, and one is under way: %v", n, busy)
	}
}
