package spark

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/table"
	"cancha/spark/internal/connect"
	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/kafka"
)

// liveSession connects to the server that CANCHA_SPARK names (scripts/spark.sh with go test ./spark starts one).
func liveSession(t *testing.T, c Config) *Session {
	t.Helper()
	own(t)
	c.Master = master(t)
	s, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func master(t *testing.T) string {
	t.Helper()
	m := os.Getenv("CANCHA_SPARK")
	if m == "" {
		t.Skip("CANCHA_SPARK names no server: scripts/spark.sh with go test ./spark")
	}
	return m
}

// TestLiveTypes: values of each type go to the server and come back as they were, and as the server itself makes them.
func TestLiveTypes(t *testing.T) {
	s := liveSession(t, Config{})
	at := time.Date(2026, 3, 1, 12, 30, 0, 123456000, time.UTC)
	d, err := s.SQL(t.Context(), `SELECT true AS bool, 1Y AS tiny, 2S AS small, 3 AS whole, 4L AS big, 0.5F AS single, 0.25D AS number, -12.30BD AS dec,
		'Köln' AS words, X'00FF' AS bytes, DATE'2026-03-01' AS day, ? AS at, TIMESTAMP_NTZ'2026-03-01 12:30:00.123456' AS ntz,
		INTERVAL '1 02:03:04.5' DAY TO SECOND AS span, array(1D, NULL) AS list, map('a', 1L) AS pairs, named_struct('x', 1L, 'y', array('b')) AS record,
		NULL AS nothing, CAST(NULL AS STRING) AS missing`, at)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"bool": true, "tiny": int64(1), "small": int64(2), "whole": int64(3), "big": int64(4), "single": 0.5, "number": 0.25, "dec": "-12.30", "words": "Köln",
		"bytes": []byte{0, 255}, "day": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "at": at, "ntz": at, "span": 26*time.Hour + 3*time.Minute + 4500*time.Millisecond,
		"list": []any{1.0, nil}, "pairs": Map{Keys: []any{"a"}, Values: []any{int64(1)}}, "record": Struct{Names: []string{"x", "y"}, Values: []any{int64(1), []any{"b"}}}, "nothing": nil, "missing": nil,
	} {
		if v := got.Value(0, name); !reflect.DeepEqual(v, want) {
			t.Errorf("%s is %#v, want %#v", name, v, want)
		}
	}
	for query, want := range map[string]string{
		"SELECT INTERVAL '1-2' YEAR TO MONTH AS m": `column "m"`,
		"SELECT parse_json('{\"a\":1}') AS v":      "to_json",
	} {
		d, err := s.SQL(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Collect(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", query, err, want)
		}
	}
}

// TestLiveCreate: rows from here are what they were after a way over the server.
func TestLiveCreate(t *testing.T) {
	s := liveSession(t, Config{})
	type order struct {
		ID    int64
		City  *string
		At    time.Time
		Waits time.Duration
		Tags  []string
		Cost  map[string]float64
		Open  bool
		X     float64
	}
	lima := "Lima"
	in, err := table.Of([]order{{1, &lima, time.Date(2026, 3, 1, 1, 2, 3, 4000, time.UTC), time.Minute, []string{"a", "b"}, map[string]float64{"p": 1.5}, true, math.Inf(1)},
		{-2, nil, time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC), -time.Microsecond, nil, nil, false, -0.1}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.CreateFrame(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Sort("ID DESC").Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for row := range 2 {
		for _, name := range []string{"ID", "City", "At", "Waits", "Open", "X"} {
			if v, want := got.Value(row, name), in.Value(row, name); !reflect.DeepEqual(v, want) {
				t.Errorf("row %d: %s is %v, want %v", row, name, v, want)
			}
		}
	}
	if v := got.Value(0, "Tags"); !reflect.DeepEqual(v, []any{"a", "b"}) {
		t.Errorf("Tags are %#v", v)
	}
	if v := got.Value(0, "Cost"); !reflect.DeepEqual(v, Map{Keys: []any{"p"}, Values: []any{1.5}}) {
		t.Errorf("Cost is %#v", v)
	}
	if n, err := d.Where("City IS NULL").Count(t.Context()); n != 1 || err != nil {
		t.Errorf("%d rows without a city, %v, want 1", n, err)
	}
	empty, err := s.CreateFrame([]order{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := empty.Collect(t.Context()); err != nil || got.Len() != 0 || len(got.Columns()) == 0 {
		t.Errorf("without rows: %v, %v", got, err)
	}
}

// TestLiveFrames: the methods of frames mean on the server what they say.
func TestLiveFrames(t *testing.T) {
	s := liveSession(t, Config{})
	d := s.Range(0, 100).WithColumn("city", "CASE id % 3 WHEN 0 THEN 'Lima' WHEN 1 THEN 'Oslo' END").WithColumn("price", "id * 0.5D")
	totals := d.GroupBy("city").Agg("count(*) AS n", "sum(price) AS total").Sort("total DESC")
	got, err := totals.Collect(t.Context())
	if err != nil || got.Len() != 3 || got.Value(0, "city") != "Lima" || got.Value(0, "n") != int64(34) || got.Value(2, "city") != nil && got.Value(1, "city") != nil {
		t.Errorf("totals\n%v, %v", got, err)
	}
	if err := totals.View(t.Context(), "totals"); err != nil {
		t.Fatal(err)
	}
	joined := d.As("o").Join(s.Table("totals").As("t"), Left, "o.city = t.city").Select("o.id", "t.n").Where("id < 4").Sort("id")
	if got, err = joined.Collect(t.Context()); err != nil || got.Len() != 4 || got.Value(2, "n") != nil || got.Value(0, "n") != int64(34) {
		t.Errorf("joined\n%v, %v", got, err)
	}
	for name, c := range map[string]struct {
		of   *DataFrame
		want int64
	}{
		"union": {d.Union(d), 200}, "distinct": {d.Union(d).Distinct(), 100}, "distinct cities": {d.Distinct("city"), 3}, "limit": {d.Limit(7), 7}, "using": {d.JoinUsing(d, LeftSemi, "id"), 100},
		"anti": {d.JoinUsing(d.Limit(0), LeftAnti, "id"), 100}, "repartitioned": {d.Repartition(5, "city").Drop("price"), 100},
	} {
		if n, err := c.of.Count(t.Context()); n != c.want || err != nil {
			t.Errorf("%s: %d rows, %v, want %d", name, n, err, c.want)
		}
	}
	if err := errors.Join(d.Persist(t.Context()), d.Unpersist(t.Context())); err != nil {
		t.Error(err)
	}
	fields, err := d.Schema(t.Context())
	if want := "[{id bigint false} {city string true} {price double false}]"; err != nil || fmt.Sprint(fields) != want {
		t.Errorf("schema %v, %v, want %s", fields, err, want)
	}
	for _, detail := range []Detail{Simple, Extended, Codegen, Cost, Formatted} {
		if e, err := d.Explain(t.Context(), detail); err != nil || !strings.Contains(e.Text, "Range") || len(e.OnGPU()) > 0 {
			t.Errorf("explained %s: %v, %v", detail, e, err)
		}
	}
	path := filepath.Join(t.TempDir(), "out")
	if err := d.Write(t.Context(), Save{Path: path, Format: "csv", PartitionBy: []string{"city"}, Options: map[string]string{"header": "true"}}); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := d.Write(t.Context(), Save{Path: path, Format: "csv"}); !errors.As(err, &e) || e.Class != "PATH_ALREADY_EXISTS" {
		t.Errorf("writing again: %v", err)
	}
	back := s.Read(Source{Format: "csv", Schema: "id BIGINT, price DOUBLE, city STRING", Options: map[string]string{"header": "true"}, Paths: []string{path}})
	if n, err := back.Where("price >= 10").Count(t.Context()); n != 80 || err != nil {
		t.Errorf("read back %d rows, %v, want 80", n, err)
	}
	if _, err := s.Table("nowhere").Collect(t.Context()); !errors.As(err, &e) || !strings.HasPrefix(e.Class, "TABLE_OR_VIEW_NOT_FOUND") {
		t.Errorf("a table that there is not: %v", err)
	}
	if err := s.DropView(t.Context(), "totals"); err != nil {
		t.Error(err)
	}
	if err := s.UseGPU(t.Context(), true); !errors.Is(err, ErrNoGPU) {
		t.Errorf("GPU: %v, want ErrNoGPU", err)
	}
	if text := fmt.Sprint(d.MIMEBundle()["text/plain"]); !strings.Contains(text, "the first 20 rows × 3") {
		t.Errorf("shown as\n%s", text)
	}
}

// TestLiveLarge: two million rows come in batches; a Collect of them stops, and so does the server.
func TestLiveLarge(t *testing.T) {
	s := liveSession(t, Config{})
	d := s.Range(0, 2_000_000).WithColumn("r", "id / 3D")
	begin, n, sum := time.Now(), 0, 0.0
	err := d.Each(t.Context(), func(rows *table.Table) error {
		r, err := rows.Column("r")
		if err != nil {
			return err
		}
		for _, x := range r {
			sum += x
		}
		n += rows.Len()
		return nil
	})
	if want := 1999999 * 2e6 / 2 / 3; err != nil || n != 2_000_000 || math.Abs(sum-want) > want*1e-9 {
		t.Errorf("%d rows that sum up to %v, %v, want 2000000 and %v", n, sum, err, want)
	}
	t.Logf("2,000,000 rows of two columns in %v", time.Since(begin).Round(time.Millisecond))
	begin = time.Now()
	if _, err := d.Collect(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 100,000 rows") {
		t.Errorf("collected: %v", err)
	}
	t.Logf("refused after %v", time.Since(begin).Round(time.Millisecond))
	if n, err := s.Interrupt(t.Context()); n != 0 || err != nil {
		t.Errorf("%d operations are left over, %v, want none", n, err)
	}
}

func TestLiveProgress(t *testing.T) {
	var seen []Stages
	s := liveSession(t, Config{Progress: func(p Stages) { seen = append(seen, p) }})
	d, err := s.SQL(t.Context(), "SELECT sum((x.id ^ y.id) % 7) AS s FROM range(20000) x CROSS JOIN range(200000) y")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(seen) == 0 {
		t.Error("no progress was told")
	}
	for _, p := range seen {
		t.Log(p)
	}
}

func TestLiveStream(t *testing.T) {
	s := liveSession(t, Config{})
	in := s.ReadStream(Source{Format: "rate", Options: map[string]string{"rowsPerSecond": "200"}})
	if streaming, err := in.Streaming(t.Context()); !streaming || err != nil {
		t.Fatalf("streaming %v, %v", streaming, err)
	}
	counts := in.Watermark("timestamp", "1 second").GroupBy("window(timestamp, '1 second')").Agg("count(*) AS n")
	q, err := counts.Start(t.Context(), Stream{Name: "counts"})
	if err != nil {
		t.Fatal(err)
	}
	var windows int
	for begin := time.Now(); windows < 3 && time.Since(begin) < time.Minute; time.Sleep(500 * time.Millisecond) { // the server's clock
		got, err := q.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		windows += got.Len()
		for i := range got.Len() {
			if w, ok := got.Value(i, "window").(Struct); !ok || w.Value("end").(time.Time).Sub(w.Value("start").(time.Time)) != time.Second {
				t.Errorf("a window is %v", got.Value(i, "window"))
			}
		}
	}
	if windows < 3 {
		t.Errorf("%d windows in a minute", windows)
	}
	t.Logf("status %q, %d windows", q.Status(), windows)
	if e, err := q.Explain(t.Context()); err != nil || e.Text == "" {
		t.Errorf("explained as %v, %v", e, err)
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	p := q.Progress()
	if mark, ok := p.Watermark(); p.ID != q.ID() || p.RunID != q.RunID() || p.Name != "counts" || !ok || mark.IsZero() || p.StateRows() == 0 {
		t.Errorf("the last report is %+v", p)
	}
	if got := entryTotals(q); got.Records == 0 || got.Rows == 0 {
		t.Errorf("in all %+v", got)
	}
	all, err := q.Results(t.Context())
	if err != nil || all.Len() < windows {
		t.Errorf("all results are %v, %v", all, err)
	}
	if text := os.Getenv("CANCHA_SPARK_REPORTS"); text != "" {
		t.Log(p)
	}

	broken, err := in.Select("assert_true(value < 0)", "timestamp").Start(t.Context(), Stream{Name: "broken"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := broken.Wait(ctx); err == nil || !strings.Contains(err.Error(), "is not true") {
		t.Errorf("a broken query ended with %v", err)
	} else {
		t.Log(err)
	}
	ends, err := s.ReadStream(Source{Format: "rate"}).Start(t.Context(), Stream{Format: "noop", Now: true})
	if err == nil {
		err = ends.Wait(ctx)
	}
	t.Logf("a rate stream with Now: %v", err)
}

func entryTotals(q *StreamingQuery) (t struct{ Records, Rows int64 }) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.Records, t.Rows = q.totals.Records, q.totals.Rows
	return t
}

// TestLiveForest: a forest is trained, evaluated and saved there, and read back it says the same, of a stream too.
func TestLiveForest(t *testing.T) {
	s := liveSession(t, Config{})
	shots, err := s.SQL(t.Context(), `SELECT *, CASE WHEN x + y + 20 * z < 80 THEN 'far' WHEN x + y + 20 * z < 140 THEN 'it\'s near' ELSE 'at' END AS kind
		FROM (SELECT rand(1) * 120 AS x, rand(2) * 80 AS y, rand(3) AS z FROM range(0, 20000, 1, 2))`)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	m, err := s.FitForest(t.Context(), shots, ml.Roles{Label: "kind"}, forest.Config{Trees: 20, MaxDepth: 6, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("20 trees of depth 6 on 20,000 rows in %v: %v", time.Since(begin).Round(time.Millisecond), m.Notes)
	if fmt.Sprintf("%q", m.Classes) != `["at" "far" "it's near"]` || fmt.Sprint(m.Features) != "[x y z]" {
		t.Errorf("classes %q, features %v", m.Classes, m.Features)
	}
	accuracy, err := m.Evaluate(t.Context(), shots, ml.Accuracy)
	if err != nil || accuracy < 0.9 {
		t.Errorf("accuracy %v, %v", accuracy, err)
	}
	loss, err := m.Evaluate(t.Context(), shots, ml.NegLogLoss)
	if err != nil || loss > 0 || loss < -1 {
		t.Errorf("log loss %v, %v", loss, err)
	}
	weights, err := m.Importances(t.Context())
	if err != nil || math.Abs(weights[0]+weights[1]+weights[2]-1) > 1e-9 || weights[0] < weights[2] {
		t.Errorf("importances %v, %v", weights, err)
	}
	scored := m.Transform(shots.Limit(500))
	fields, err := scored.Schema(t.Context())
	if want := "x double, y double, z double, kind string, probability array<double>, prediction string"; err != nil || plainly(fields) != want {
		t.Errorf("scored rows have %v, %v, want %s", fields, err, want)
	}
	right, err := m.Transform(shots).Where("prediction = kind").Count(t.Context())
	if err != nil || math.Abs(float64(right)/20000-accuracy) > 1e-9 {
		t.Errorf("%d of 20000 are right, %v, want %v of them", right, err, accuracy)
	}
	path := filepath.Join(t.TempDir(), "forest")
	if err := m.Save(t.Context(), path, false); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(t.Context(), path, false); err == nil {
		t.Error("a model was saved over another")
	}
	if err := m.Save(t.Context(), path, true); err != nil {
		t.Error(err)
	}
	before, err := scored.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	read, err := s.ReadModel(t.Context(), path, ml.Roles{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := read.Transform(shots.Limit(500)).Collect(t.Context())
	if err != nil || before.Len() != 500 || after.Len() != 500 {
		t.Fatal(err)
	}
	for i := range 500 {
		if a, b := before.Value(i, "probability"), after.Value(i, "probability"); !reflect.DeepEqual(a, b) {
			t.Fatalf("row %d: %v before, %v after", i, a, b)
		}
	}
	if err := os.RemoveAll(path + about); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadModel(t.Context(), path, ml.Roles{}); err == nil || !strings.Contains(err.Error(), "name Features") {
		t.Errorf("a model of Spark's own without roles: %v", err)
	}
	if _, err := s.ReadModel(t.Context(), path, ml.Roles{Features: m.Features, Label: "kind", Classes: m.Classes}); err != nil {
		t.Errorf("a model of Spark's own: %v", err)
	}
	stream := s.ReadStream(Source{Format: "rate", Options: map[string]string{"rowsPerSecond": "100"}}).
		Select("CAST(value % 120 AS DOUBLE) AS x", "CAST(value % 80 AS DOUBLE) AS y", "(value % 7) / 7D AS z")
	q, err := read.Transform(stream).Start(t.Context(), Stream{Name: "scored"})
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for begin := time.Now(); n < 100 && time.Since(begin) < time.Minute; time.Sleep(500 * time.Millisecond) { // the server's clock
		if n, err = q.Frame().Where("size(probability) = 3").Count(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n < 100 {
		t.Errorf("%d rows were scored in a minute", n)
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// plainly leaves out what of a schema depends on the version: whether nulls are possible.
func plainly(fields []Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name+" "+f.Type)
	}
	return strings.Join(all, ", ")
}

func TestLiveBoosting(t *testing.T) {
	s := liveSession(t, Config{})
	d, err := s.SQL(t.Context(), "SELECT rand(1) AS x, rand(2) AS `y.z`, id % 2 AS w FROM range(2000)")
	if err != nil {
		t.Fatal(err)
	}
	d = d.WithColumn("t", "3 * x + `y.z`").WithColumn("c", "x > 0.5")
	m, err := s.FitBoosting(t.Context(), d, ml.Roles{Target: "t", Drop: []string{"w", "c"}}, Boosting{Trees: 10})
	if err != nil {
		t.Fatal(err)
	}
	if r2, err := m.Evaluate(t.Context(), d, ml.R2); err != nil || r2 < 0.8 {
		t.Errorf("R² is %v, %v", r2, err)
	}
	b, err := s.FitBoosting(t.Context(), d, ml.Roles{Label: "c", Features: []string{"x", "y.z"}, Weight: "w"}, Boosting{Trees: 3})
	if err != nil {
		t.Fatal(err)
	}
	if auc, err := b.Evaluate(t.Context(), d, ml.ROCAUC); err != nil || auc < 0.99 {
		t.Errorf("ROC AUC is %v, %v", auc, err)
	}
	got, err := b.Transform(d).GroupBy("c", "prediction").Agg("count(*) AS n").Collect(t.Context())
	if err != nil || got.Len() < 2 {
		t.Errorf("predictions\n%v, %v", got, err)
	}
	f, err := s.FitForest(t.Context(), d, ml.Roles{Target: "t", Features: []string{"x", "y.z"}}, forest.Config{Trees: 5, MaxDepth: 8, MaxFeatures: 0.5, MaxSamples: 0.5, NoBootstrap: false})
	if err != nil {
		t.Fatal(err)
	}
	if rmse, err := f.Evaluate(t.Context(), d, ml.NegRootMeanSquaredError); err != nil || rmse < -0.5 || rmse >= 0 {
		t.Errorf("RMSE is %v, %v", rmse, err)
	}
}

// TestLiveOrphan: what a process that is killed leaves running on the server, the next session ends.
func TestLiveOrphan(t *testing.T) {
	if os.Getenv("CANCHA_SPARK_CHILD") != "" {
		child(t)
		return
	}
	at := master(t)
	own(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLiveOrphan$")
	cmd.Env = append(os.Environ(), "CANCHA_SPARK_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for len(said) < 2 && lines.Scan() {
		said = append(said, lines.Text())
	}
	if len(said) < 2 || said[1] != "running" {
		t.Fatalf("the child said %q, %v", said, lines.Err())
	}
	id := said[0]
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	begin := time.Now()
	s, err := Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	target, err := connect.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	target.SessionID = id
	for { // released in the background
		c, err := connect.Dial(t.Context(), target)
		if gone(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if time.Since(begin) > 10*time.Second {
			t.Fatal("after 10 s the session of the killed process is still there")
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("released %v after the new session was asked for", time.Since(begin).Round(time.Millisecond))
	begin = time.Now()
	if _, err := s.Range(0, 1).Collect(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("the next query took %v", time.Since(begin).Round(time.Millisecond))
}

// child begins a query that takes all cores for hours, says when its tasks run, and is killed.
func child(t *testing.T) {
	running := sync.OnceFunc(func() { fmt.Println("running") })
	s, err := Config{Master: os.Getenv("CANCHA_SPARK"), Progress: func(p Stages) {
		if p.Running > 0 {
			running()
		}
	}}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(s.ID())
	d, err := s.SQL(t.Context(), "SELECT sum((x.id ^ y.id) % 7) AS s FROM range(2000000) x CROSS JOIN range(10000000) y")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.collect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// produce writes so many orders to a topic.
func produce(t *testing.T, c kafka.ProducerConfig, n int) {
	t.Helper()
	p, err := kafka.NewProducer(c)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		city := []string{"Lima", "Oslo", "Quito"}[i%3]
		value := fmt.Sprintf(`{"id":%d,"city":%q,"price":%v,"at":%q}`, i, city, float64(i%17)/4, begin.Add(time.Duration(i)*time.Second/10).Format(time.RFC3339Nano))
		if err := p.Send(t.Context(), []byte(city), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestLiveEngineWrites: the cluster writes a topic by itself, goes on from its checkpoint, and writes each row once.
func TestLiveEngineWrites(t *testing.T) {
	at, brokers := master(t), os.Getenv("CANCHA_KAFKA")
	if brokers == "" {
		t.Skip("CANCHA_KAFKA names no brokers: scripts/kafka.sh with …")
	}
	own(t)
	in := fmt.Sprintf("in-%d", time.Now().UnixNano())
	out := "out-" + in
	engine, err := Engine(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	place := checkpoint.Folder("file://" + filepath.Join(t.TempDir(), "checkpoint"))
	const orders = 300
	for range 2 {
		produce(t, kafka.ProducerConfig{Brokers: kafka.Brokers(brokers), Topic: in}, orders)
		source := kafka.Source(kafka.Config{Brokers: kafka.Brokers(brokers), Topic: in, Start: kafka.Earliest})
		run, err := stream.From(source).Name("copy").With("twice", stream.Field("price").Mul(2)).Select("id", "city", "twice").AvailableNow().
			To(kafka.Sink(kafka.SinkConfig{Brokers: kafka.Brokers(brokers), Topic: out, Key: "city"})).Checkpoint(place).On(engine).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := run.Totals().Records; n != orders {
			t.Errorf("%d records were read, want %d", n, orders)
		}
	}
	written := kafka.Source(kafka.Config{Brokers: kafka.Brokers(brokers), Topic: out, Start: kafka.Earliest})
	run, err := stream.From(written).AvailableNow().Agg(stream.Count("n"), stream.Sum("total", stream.Field("twice"))).Output(stream.Complete).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i := range orders {
		want += 2 * float64(i%17) / 4 * 2
	}
	if got := run.Results(); got.Len() != 1 || got.At(0, got.Index("n")).Int() != 2*orders || got.At(0, got.Index("total")).Float() != want {
		t.Errorf("the topic has\n%v\nwant %d rows that sum up to %v", got, 2*orders, want)
	}
}
