package spark

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/kafka"
)

// prices is a server on which a query of orders runs, whose table has cities, as JSON, and prices.
type prices struct {
	streams
	cities []string
	totals []float64
}

var behind = regexp.MustCompile(`OFFSET (\d+)$`)

func (p *prices) answer(ctx context.Context, plan *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
	if plan.GetRoot() == nil {
		return p.streams.answer(ctx, plan, send)
	}
	from := 0
	if m := behind.FindStringSubmatch(plan.GetRoot().GetSql().GetQuery()); m != nil {
		from, _ = strconv.Atoi(m[1]) // digits
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return rows(p.t, send, columns.Column{Name: "city", Values: p.cities[from:]}, columns.Column{Name: "twice", Values: p.totals[from:]})
}

func orderPrices() *stream.Query {
	source := kafka.Source(kafka.Config{Brokers: []string{"broker:9092"}, Topic: "orders"})
	return stream.From(source).Name("prices").With("twice", stream.Field("price").Mul(2)).Select("city", "twice")
}

// TestEngine: a query of package stream runs on the server in a session of its own, and is what any query is here.
func TestEngine(t *testing.T) {
	own(t)
	fake := &prices{streams: streams{t: t, reports: []string{batchReport(0, 2, 2)}}, cities: []string{`"Lima"`, `7`}, totals: []float64{1.5, 3}}
	s := startFake(t, connecttest.Config{}, fake.answer)
	engine, err := Engine(t.Context(), s.URL("patience=2s"))
	if err != nil {
		t.Fatal(err)
	}
	if name := engine.String(); name != "Spark 4.0.0 at sc://"+s.Addr() {
		t.Errorf("it is called %q", name)
	}
	if files := remembering(t); len(files) != 0 {
		t.Errorf("an engine without a query has the sessions %v", files)
	}
	run, err := orderPrices().On(engine).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if files := remembering(t); len(files) != 1 {
		t.Errorf("a query has the sessions %v, want one", files)
	}
	fake.change(func() {
		fake.cities, fake.totals = append(fake.cities, `null`), append(fake.totals, 9)
		fake.reports = append(fake.reports, batchReport(1, 1, 1))
	})
	if err := run.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := run.Results()
	var lines []string
	for i := range got.Len() {
		lines = append(lines, fmt.Sprint(got.At(i, 0), " ", got.At(i, 1)))
	}
	slices.Sort(lines) // results have an order of their own
	if text := strings.Join(lines, "; "); text != " 9; 7 3; Lima 1.5" {
		t.Errorf("its rows are %s", text)
	}
	if whole := got.Filter(func(r stream.Row) bool { return r.Value("city").Kind() == stream.Int }); whole.Len() != 1 {
		t.Errorf("%d cities came back as integers, want the 7", whole.Len())
	}
	if totals := run.Totals(); totals.Records != 3 || totals.Rows != 3 {
		t.Errorf("in all %+v, want 3 records and 3 rows", totals)
	}
	if p := run.Progress(); p.BatchID != 1 {
		t.Errorf("the last report is %+v, want that of batch 1", p)
	}
	if settings := s.Settings(s.session()); settings["spark.sql.caseSensitive"] != "true" {
		t.Errorf("the session had %v, want what the compiled SQL depends on", settings)
	}
	if !s.Closed(s.session()) || len(remembering(t)) != 0 {
		t.Error("the query has ended, and its session is still there")
	}
}

// TestEngineSettings: a query's session has the program's settings, but for those that the query's meaning depends on, and a note says so.
func TestEngineSettings(t *testing.T) {
	own(t)
	fake := &prices{streams: streams{t: t, ended: true}}
	s := startFake(t, connecttest.Config{}, fake.answer)
	c := Config{Master: s.URL("patience=2s"), Settings: map[string]string{timeZone: "Europe/Madrid", "spark.sql.ansi.enabled": "TRUE", "spark.sql.shuffle.partitions": "7"}}
	engine, err := c.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run, err := orderPrices().On(engine).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	has := s.Settings(s.session())
	for key, want := range map[string]string{timeZone: "UTC", "spark.sql.ansi.enabled": "true", "spark.sql.shuffle.partitions": "7"} {
		if has[key] != want {
			t.Errorf("the session had %s %q, want %q", key, has[key], want)
		}
	}
	const want = timeZone + " is UTC, on which the query's meaning depends, and not Europe/Madrid as in Config.Settings."
	if notes := run.Notes(); !slices.Contains(notes, want) || strings.Contains(strings.Join(notes, " "), "ansi") {
		t.Errorf("its notes are %q, want %q among them, and nothing of ansi", notes, want)
	}
}

// TestEngineEnds: a query whose context ends is ended on the server with its session.
func TestEngineEnds(t *testing.T) {
	own(t)
	fake := &prices{streams: streams{t: t}}
	s := startFake(t, connecttest.Config{}, fake.answer)
	engine, err := Engine(t.Context(), s.URL("patience=2s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	run, err := orderPrices().On(engine).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := run.Wait(context.WithoutCancel(ctx)); err == nil {
		t.Error("it ended in order")
	}
	if !s.Closed(s.session()) {
		t.Error("its session is still there")
	}
}

// TestEngineFails: what Spark says of a query that fails is its error.
func TestEngineFails(t *testing.T) {
	own(t)
	fake := &prices{streams: streams{t: t, ended: true, failure: "x.StreamingQueryException: [DIVIDE_BY_ZERO] Division by zero."}}
	s := startFake(t, connecttest.Config{}, fake.answer)
	engine, err := Engine(t.Context(), s.URL("patience=2s"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := orderPrices().On(engine).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "[DIVIDE_BY_ZERO]") {
		t.Errorf("it ended with %v", err)
	}
}

// TestEngineRefuses: what Spark cannot do is refused by its name, and nothing is left on the server.
func TestEngineRefuses(t *testing.T) {
	own(t)
	s := startFake(t, connecttest.Config{}, (&prices{streams: streams{t: t}}).answer)
	engine, err := Engine(t.Context(), s.URL("patience=2s"))
	if err != nil {
		t.Fatal(err)
	}
	q := orderPrices().FilterFunc("cheap", func(r stream.Row) (bool, error) { return r.Float("twice") < 3, nil }, "twice").On(engine)
	if _, err := q.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "cheap") {
		t.Errorf("a Go function: %v", err)
	}
	if files := remembering(t); len(files) != 0 {
		t.Errorf("sessions are left: %v", files)
	}
	for master, want := range map[string]string{"local[4]": "sc://host:15002", "": "sc://host:15002"} {
		if _, err := Engine(t.Context(), master); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("master %q: %v", master, err)
		}
	}
}

// TestEngineWrites: a topic is written by the cluster if there is a checkpoint that it reaches, and from here if not.
func TestEngineWrites(t *testing.T) {
	own(t)
	fake := &prices{streams: streams{t: t, reports: []string{batchReport(0, 2, 2)}}}
	s := startFake(t, connecttest.Config{}, fake.answer)
	e, err := Engine(t.Context(), s.URL("patience=2s"))
	if err != nil {
		t.Fatal(err)
	}
	out := kafka.Sink(kafka.SinkConfig{Brokers: []string{"broker:9092"}, Topic: "prices"})
	run, err := orderPrices().To(out).Checkpoint(checkpoint.Folder("s3a://bucket/prices")).On(e).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st := fake.started; st.GetFormat() != "kafka" || st.GetOptions()["topic"] != "prices" || st.GetOptions()["checkpointLocation"] != "s3a://bucket/prices" {
		t.Errorf("sent %v", st)
	}
	if err := run.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if notes := strings.Join(run.Notes(), " "); run.Results().Len() != 0 || !strings.Contains(notes, "The cluster writes the rows") || run.Totals().Records != 2 {
		t.Errorf("rows %v, notes %q, %+v", run.Results(), notes, run.Totals())
	}
	for want, q := range map[string]*stream.Query{
		"is a place of this process": orderPrices().Checkpoint(checkpoint.Folder(t.TempDir())).On(e),
		"keeps the checkpoint":       orderPrices().To(out).Checkpoint(checkpoint.Folder(t.TempDir())).On(e),
	} {
		if _, err := q.Start(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// TestSessionStart: a query of package stream in a session of one's own leaves its rows there, and ends by MaxRecords.
func TestSessionStart(t *testing.T) {
	fake := &prices{streams: streams{t: t, reports: []string{batchReport(0, 2, 2)}}, cities: []string{`"Lima"`}, totals: []float64{1.5}}
	var logged strings.Builder
	s := start(t, Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, connecttest.Config{}, fake.answer)
	run, err := s.Start(t.Context(), orderPrices().MaxRecords(2))
	if err != nil {
		t.Fatal(err)
	}
	const note = "MaxRecords ends the query behind the batch"
	if notes := (listed{run}).Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], note) || !strings.Contains(logged.String(), note) {
		t.Errorf("its notes are %q, logged as %q, want %q", notes, logged.String(), note)
	}
	run.hurry()
	if err := run.Wait(t.Context()); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if got, err := run.Results(t.Context()); err != nil || got.Len() != 1 {
		t.Errorf("its rows are %v, %v, want 1", got, err)
	}
	if run.Name() != "prices" || s.Settings(s.ID())["spark.sql.caseSensitive"] != "true" {
		t.Errorf("it is called %s, in a session with %v", run.Name(), s.Settings(s.ID()))
	}
	if _, err := s.Start(t.Context(), orderPrices().FilterFunc("cheap", func(stream.Row) (bool, error) { return true, nil }, "twice")); err == nil || !strings.Contains(err.Error(), "cheap") {
		t.Errorf("a Go function: %v", err)
	}
}
