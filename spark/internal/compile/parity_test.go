package compile

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect"
	"cancha/spark/internal/protocol"
	"cancha/stream"
	"cancha/stream/plan"
)

// server is a session on the Spark that CANCHA_SPARK names, with the settings that compiled queries want (scripts/spark.sh with go test ./spark/...).
func server(t *testing.T) *connect.Client {
	t.Helper()
	master := os.Getenv("CANCHA_SPARK")
	if master == "" {
		t.Skip("CANCHA_SPARK names no server: scripts/spark.sh with go test ./spark/internal/compile")
	}
	target, err := connect.Parse(master)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Release(ctx); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	set := &protocol.ConfigRequest_Set{}
	for key, value := range settings() {
		set.Pairs = append(set.Pairs, &protocol.Pair{Key: key, Value: &value})
	}
	if _, err := c.Config(t.Context(), &protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_Set{Set: set}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// rowsOf are the rows of a compiled query, computed by the server.
func rowsOf(t *testing.T, c *connect.Client, of *Compiled) [][]stream.Value {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var rows [][]stream.Value
	err := c.Execute(ctx, &protocol.Plan{Of: &protocol.Plan_Root{Root: of.Rows}}, func(r *protocol.ExecuteResponse) error {
		if r.GetArrow() == nil {
			return nil
		}
		b, err := columns.Read(r.GetArrow().Data)
		if err != nil {
			return err
		}
		more, err := valuesOf(b, of.Columns)
		rows = append(rows, more...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// valuesOf are the rows of a batch.
func valuesOf(b *columns.Batch, kinds []stream.Column) ([][]stream.Value, error) {
	rows := make([][]stream.Value, b.Rows)
	for i := range rows {
		rows[i] = make([]stream.Value, len(kinds))
		for k := range kinds {
			var err error
			if rows[i][k], err = ValueOf(kinds[k].Kind, b.Columns[k].Value(i)); err != nil {
				return nil, fmt.Errorf("column %s: %w", kinds[k].Name, err)
			}
		}
	}
	return rows, nil
}

// records is a relation of records as Spark's Kafka source gives them.
func records(topic string, partitions [][]stream.Record) *protocol.Relation {
	type row struct {
		K, V *string
		P    int
		O, T int64
	}
	var rows []row
	for p, list := range partitions {
		for o, r := range list {
			rows = append(rows, row{textOf(r.Key), textOf(r.Value), p, int64(o), r.Time.UnixMicro()})
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // unreachable: texts and numbers
	}
	query := fmt.Sprintf("SELECT CAST(K AS BINARY) AS key, CAST(V AS BINARY) AS value, %s AS topic, P AS partition, O AS offset, timestamp_micros(T) AS timestamp, "+
		"CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers "+
		"FROM (SELECT inline(from_json(%s, 'ARRAY<STRUCT<K STRING, V STRING, P INT, O BIGINT, T BIGINT>>')))", quote(topic), quote(string(text)))
	return &protocol.Relation{Of: &protocol.Relation_Sql{Sql: &protocol.SQL{Query: query}}}
}

func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// memory is a topic in memory, which the server gets as rows.
type memory struct {
	*stream.MemorySource
	topic      string
	partitions [][]stream.Record
}

func held(topic string, partitions ...[]stream.Record) memory {
	return memory{stream.Memory(topic, partitions), topic, partitions}
}

// given gives the records of an input, which its description names.
func given(sources ...memory) func(in plan.Input) (*protocol.Relation, error) {
	return func(in plan.Input) (*protocol.Relation, error) {
		for _, s := range sources {
			if s.Description() == in.Source {
				return records(s.topic, s.partitions), nil
			}
		}
		return nil, fmt.Errorf("no source is called %s", in.Source)
	}
}

// localRows are the rows of a query, computed here.
func localRows(t *testing.T, q *stream.Query) (*stream.Rows, [][]stream.Value, stream.Totals) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	running, err := q.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	r := running.Results()
	rows := make([][]stream.Value, r.Len())
	for i := range rows {
		for k := range r.Columns {
			rows[i] = append(rows[i], r.At(i, k))
		}
	}
	return r, rows, running.Totals()
}

// near tells whether two values are the same: numbers to a relative 1e-9, times to the microsecond, JSON as what it says.
func near(a, b stream.Value) bool {
	x, isX := a.Number()
	y, isY := b.Number()
	switch {
	case isX && isY && a.Kind() != stream.Bool && b.Kind() != stream.Bool:
		return x == y || math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
	case a.Kind() != b.Kind():
		return false
	case a.Kind() == stream.Time:
		return floor(a.Nanos(), 1000) == floor(b.Nanos(), 1000)
	case a.Kind() == stream.JSON:
		return canonical(a.Text()) == canonical(b.Text())
	}
	return a == b
}

func canonical(text string) string {
	var x any
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return text
	}
	b, _ := json.Marshal(x) // what was JSON is JSON
	return string(b)
}

// inOrder sorts rows by what they print, numbers by their first digits.
func inOrder(rows [][]stream.Value) {
	key := func(row []stream.Value) string {
		var b strings.Builder
		for _, v := range row {
			if x, ok := v.Number(); ok && v.Kind() != stream.Bool {
				fmt.Fprintf(&b, "%.6g|", x)
			} else if v.Kind() == stream.JSON {
				b.WriteString(canonical(v.Text()) + "|")
			} else if v.Kind() == stream.Time {
				fmt.Fprintf(&b, "%d|", floor(v.Nanos(), 1000))
			} else {
				fmt.Fprintf(&b, "%v:%s|", v.Kind(), v)
			}
		}
		return b.String()
	}
	slices.SortStableFunc(rows, func(a, b []stream.Value) int { return strings.Compare(key(a), key(b)) })
}

// same compares the rows of both engines.
func same(t *testing.T, c *connect.Client, q *stream.Query, sources ...memory) {
	t.Helper()
	r, want, _ := localRows(t, q)
	of, err := Query(q.Plan(), Options{Records: given(sources...)})
	if err != nil {
		t.Fatal(err)
	}
	for i, column := range of.Columns {
		if column.Name != r.Columns[i].Name {
			t.Errorf("column %d: got %q, want %q", i, column.Name, r.Columns[i].Name)
		}
	}
	compare(t, r.Columns, rowsOf(t, c, of), want)
}

// compare compares rows, in whichever order they came.
func compare(t *testing.T, columns []stream.Column, got, want [][]stream.Value) {
	t.Helper()
	inOrder(got)
	inOrder(want)
	if len(got) != len(want) {
		t.Fatalf("got %d rows, want %d:\n%v\n%v", len(got), len(want), got, want)
	}
	if len(want) == 0 {
		t.Fatal("no rows: nothing was compared")
	}
	wrong := 0
	for i := range want {
		for k := range want[i] {
			if !near(got[i][k], want[i][k]) && wrong < 20 {
				wrong++
				t.Errorf("row %d, %s: got %v %q, want %v %q", i, columns[k].Name, got[i][k].Kind(), got[i][k], want[i][k].Kind(), want[i][k])
			}
		}
	}
}
