package spark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/table"
	"cancha/spark/internal/columns"
	"cancha/spark/internal/connect/connecttest"
	"cancha/spark/internal/protocol"
)

// orders stands for the relation of a table in what follows.
const orders = `{"read":{"table":{"name":"orders"}}}`

// TestRelations: what a frame describes is what the server is sent.
func TestRelations(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	d := s.Table("orders")
	for _, test := range []struct {
		name string
		got  *DataFrame
		want string
	}{
		{"select", d.Select("city", "price * 2 AS twice"), `{"project":{"input":ORDERS,"exprs":[{"text":{"sql":"city"}},{"text":{"sql":"price * 2 AS twice"}}]}}`},
		{"where", d.Where("price > 3"), `{"filter":{"input":ORDERS,"condition":{"text":{"sql":"price > 3"}}}}`},
		{"with column", d.WithColumn("twice", "price * 2"), `{"withColumns":{"input":ORDERS,"aliases":[{"expr":{"text":{"sql":"price * 2"}},"name":["twice"]}]}}`},
		{"drop", d.Drop("a", "b"), `{"drop":{"input":ORDERS,"names":["a","b"]}}`},
		{"as", d.As("o"), `{"alias":{"input":ORDERS,"alias":"o"}}`},
		{"distinct", d.Distinct(), `{"deduplicate":{"input":ORDERS,"allColumns":true}}`},
		{"distinct in columns", d.Distinct("id"), `{"deduplicate":{"input":ORDERS,"columns":["id"],"allColumns":false}}`},
		{"limit", d.Limit(3), `{"limit":{"input":ORDERS,"limit":3}}`},
		{"sort", d.Sort("city", "total  DESC", "f('a  b') desc nulls first", "x NULLS LAST"), `{"sort":{"input":ORDERS,"global":true,"order":[
			{"of":{"text":{"sql":"city"}},"direction":"ASCENDING","nulls":"FIRST"},
			{"of":{"text":{"sql":"total"}},"direction":"DESCENDING","nulls":"LAST"},
			{"of":{"text":{"sql":"f('a  b')"}},"direction":"DESCENDING","nulls":"FIRST"},
			{"of":{"text":{"sql":"x"}},"direction":"ASCENDING","nulls":"LAST"}]}}`},
		{"repartition", d.Repartition(8), `{"repartition":{"input":ORDERS,"partitions":8,"shuffle":true}}`},
		{"repartition by", d.Repartition(8, "city"), `{"repartitionBy":{"input":ORDERS,"exprs":[{"text":{"sql":"city"}}],"partitions":8}}`},
		{"watermark", d.Watermark("at", "10 minutes"), `{"watermark":{"input":ORDERS,"column":"at","delay":"10 minutes"}}`},
		{"union", d.Union(d), `{"set":{"left":ORDERS,"right":ORDERS,"kind":"UNION","all":true,"byName":true}}`},
		{"join", d.As("a").Join(d, LeftAnti, "a.id = id"), `{"join":{"left":{"alias":{"input":ORDERS,"alias":"a"}},"right":ORDERS,"condition":{"text":{"sql":"a.id = id"}},"kind":"LEFT_ANTI"}}`},
		{"join using", d.JoinUsing(d, Inner, "id"), `{"join":{"left":ORDERS,"right":ORDERS,"kind":"INNER","using":["id"]}}`},
		{"group", d.GroupBy("city", "window(at, '1 hour')").Agg("count(*) AS n"), `{"aggregate":{"input":ORDERS,"kind":"GROUP_BY",
			"keys":[{"text":{"sql":"city"}},{"text":{"sql":"window(at, '1 hour')"}}],"aggregates":[{"text":{"sql":"count(*) AS n"}}]}}`},
		{"read", s.Read(Source{Format: "csv", Schema: "id BIGINT", Options: map[string]string{"header": "true"}, Paths: []string{"/in"}}),
			`{"read":{"source":{"format":"csv","schema":"id BIGINT","options":{"header":"true"},"paths":["/in"]}}}`},
		{"read stream", s.ReadStream(Source{Format: "rate"}), `{"read":{"streaming":true,"source":{"format":"rate"}}}`},
		{"range", s.Range(3, 9), `{"range":{"start":"3","end":"9","step":"1"}}`},
	} {
		want := new(protocol.Relation)
		if err := protojson.Unmarshal([]byte(strings.ReplaceAll(test.want, "ORDERS", orders)), want); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if test.got.err != nil || !proto.Equal(test.got.relation, want) {
			t.Errorf("%s: %v, %v\nwant %v", test.name, test.got.err, test.got.relation, want)
		}
	}
}

// TestWrongFrames: what cannot be described is told by the first method that calls the server, whatever was added behind it.
func TestWrongFrames(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	other := start(t, Config{}, connecttest.Config{}, nil)
	d := s.Table("orders")
	for want, wrong := range map[string]*DataFrame{
		"Select of no column":              d.Select(),
		"Limit of -1 rows":                 d.Limit(-1),
		"Limit of 3000000000 rows":         d.Limit(3_000_000_000),
		"Sort by nothing":                  d.Sort(),
		"Repartition into 0":               d.Repartition(0),
		"Agg of nothing":                   d.GroupBy("a").Agg(),
		"JoinUsing of no column":           d.JoinUsing(d, Left),
		`"sideways" is no kind of join`:    d.Join(d, "sideways", "true"),
		"two frames of different sessions": d.Union(other.Table("orders")),
		"Limit of -2 rows":                 d.Union(d.Limit(-2)),
	} {
		wrong = wrong.Where("a > 1").Limit(-5)
		_, collected := wrong.Collect(t.Context())
		_, explained := wrong.Explain(t.Context(), Simple)
		for _, err := range []error{collected, explained, wrong.View(t.Context(), "v"), wrong.Write(t.Context(), Save{Path: "/x"}), wrong.Persist(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want %q in it", err, want)
			}
		}
	}
	if n := s.Calls("ExecutePlan"); n != 0 {
		t.Errorf("the server was called %d times", n)
	}
}

func TestSQL(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		if in := p.GetCommand().GetSql().GetInput(); in != nil {
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Sql{Sql: &protocol.SQLResult{Relation: in}}})
			return nil
		}
		return counting(t, 2)(nil, p, send)
	})
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	d, err := s.SQL(t.Context(), "SELECT ?, ?, ?, ?, ?, ?", 7, 0.5, "a", true, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := new(protocol.Relation)
	if err := protojson.Unmarshal([]byte(`{"sql":{"query":"SELECT ?, ?, ?, ?, ?, ?","positional":[{"literal":{"long":"7"}},{"literal":{"double":0.5}},
		{"literal":{"string":"a"}},{"literal":{"boolean":true}},{"literal":{"timestamp":"1772323200000000"}},{"literal":{"null":{"null":{}}}}]}}`), want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(d.relation, want) {
		t.Errorf("got %v, want %v", d.relation, want)
	}
	if got, err := d.Collect(t.Context()); err != nil || got.Len() != 2 {
		t.Errorf("its rows are %v, %v, want 2", got, err)
	}
	d, err = s.SQL(t.Context(), "SELECT :city", map[string]any{"city": "Lima", "price": Decimal("-1.50")})
	if err != nil || d.relation.GetSql().GetNamed()["city"].GetLiteral().GetString_() != "Lima" || d.relation.GetSql().GetNamed()["price"].GetLiteral().GetDecimal().GetScale() != 2 {
		t.Errorf("by names: %v, %v", d, err)
	}
	if _, err := s.SQL(t.Context(), "SELECT ?", make(chan int)); err == nil || !strings.Contains(err.Error(), "value 1: a chan int is none that SQL takes") {
		t.Errorf("got error %v, want one about the value", err)
	}
	if _, err := s.SQL(t.Context(), "SELECT ?", at.Add(1)); err == nil || !strings.Contains(err.Error(), "has nanoseconds") {
		t.Errorf("got error %v, want one about nanoseconds", err)
	}
}

// TestNoSession: what is asked of a session that is none, or of its frames, is an error that says so.
func TestNoSession(t *testing.T) {
	var none *Session // as after a Connect that failed
	d := none.Table("orders").Where("x > 1")
	_, asked := none.SQL(t.Context(), "SELECT 1")
	_, collected := d.Collect(t.Context())
	_, counted := none.Range(0, 9).Count(t.Context())
	_, schema := d.Schema(t.Context())
	_, fitted := none.FitForest(t.Context(), d, ml.Roles{Target: "x"}, forest.Config{})
	for i, err := range []error{asked, collected, counted, schema, d.Show(t.Context()), d.View(t.Context(), "v"), fitted} {
		if !errors.Is(err, errNoSession) {
			t.Errorf("call %d without a session: %v", i, err)
		}
	}
	if text := fmt.Sprint(d); text != "a DataFrame without a session" || !strings.Contains(fmt.Sprint(d.MIMEBundle()), "there is no session") {
		t.Errorf("it is %s, and shown as %v", text, d.MIMEBundle())
	}
}

// TestSQLFails: an error of the server is Spark's, with its class.
func TestSQLFails(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(context.Context, *protocol.Plan, func(*protocol.ExecuteResponse)) error {
		return connecttest.Failure(13, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "A column with name `nope` cannot be resolved.")
	})
	_, err := s.SQL(t.Context(), "SELECT nope")
	var e *Error
	if !errors.As(err, &e) || e.Class != "UNRESOLVED_COLUMN.WITH_SUGGESTION" || !strings.Contains(err.Error(), "nope") {
		t.Errorf("got error %v, want Spark's", err)
	}
}

func TestCreateFrame(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	type order struct {
		ID    int     `json:"id"`
		City  *string `json:"city"`
		Tags  []string
		Price Decimal
		note  string
	}
	lima := "Lima"
	d, err := s.CreateFrame([]order{{1, &lima, []string{"a"}, "1.50", ""}, {2, nil, nil, "10", ""}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := columns.Read(d.relation.GetLocal().GetData())
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, c := range b.Columns {
		types = append(types, c.Name+" "+c.Type.String())
	}
	if got, want := strings.Join(types, ", "), "id bigint, city string, Tags array<string>, Price string"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	got, err := tableOf(b)
	if err != nil || got.Value(0, "city") != "Lima" || got.Value(1, "city") != nil || got.Value(1, "id") != int64(2) {
		t.Errorf("rows\n%v, %v", got, err)
	}
	empty, err := s.CreateFrame([]order{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = columns.Read(empty.relation.GetLocal().GetData()); err != nil || b.Rows != 0 || b.Columns[0].Type.String() != "bigint" || b.Columns[1].Type.String() != "string" {
		t.Errorf("without rows: %+v, %v", b, err)
	}
	for want, rows := range map[string]any{
		"a int is no rows": 7,
		`column "m": row 1: March is a time.Month`: []struct {
			M time.Month `json:"m"`
		}{{time.March}},
	} {
		if _, err := s.CreateFrame(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	large := make([]string, 70)
	for i := range large {
		large[i] = strings.Repeat("x", 1_000_000)
	}
	if _, err := s.CreateFrame(large); err == nil || !strings.Contains(err.Error(), "70 MB of rows are too many") {
		t.Errorf("got error %v, want one about the size", err)
	}
	if _, err := s.CreateFrame(&table.Table{}); err != nil {
		t.Errorf("of an empty table: %v", err)
	}
}

func TestWrite(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, nil)
	d := s.Table("orders")
	for _, test := range []struct {
		to   Save
		want string // the command, or what is in the error
	}{
		{Save{Path: "/out", Format: "csv", Mode: Overwrite, PartitionBy: []string{"day"}, Options: map[string]string{"header": "true"}},
			`{"write":{"input":ORDERS,"format":"csv","path":"/out","mode":"OVERWRITE","partitionBy":["day"],"options":{"header":"true"}}}`},
		{Save{Table: "copy", Mode: Append}, `{"write":{"input":ORDERS,"table":{"name":"copy","method":"SAVE_AS"},"mode":"APPEND"}}`},
		{Save{Path: "/out"}, `{"write":{"input":ORDERS,"path":"/out","mode":"ERROR_IF_EXISTS"}}`},
		{Save{Format: "noop", Mode: Overwrite}, `{"write":{"input":ORDERS,"format":"noop","mode":"OVERWRITE"}}`},
		{Save{}, "write nowhere"},
		{Save{Path: "a", Table: "b"}, "choose one"},
		{Save{Path: "a", Mode: "upsert"}, `"upsert" is no mode of writing`},
	} {
		err := d.Write(t.Context(), test.to)
		if !strings.HasPrefix(test.want, "{") {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: got error %v, want %q in it", test.to, err, test.want)
			}
			continue
		}
		want := new(protocol.Command)
		if err := protojson.Unmarshal([]byte(strings.ReplaceAll(test.want, "ORDERS", orders)), want); err != nil {
			t.Fatal(err)
		}
		if err != nil || !proto.Equal(s.sent().GetCommand(), want) {
			t.Errorf("%+v: sent %v, %v, want %v", test.to, s.sent(), err, want)
		}
	}
}

func TestViews(t *testing.T) {
	s := start(t, Config{}, connecttest.Config{}, func(_ context.Context, p *protocol.Plan, send func(*protocol.ExecuteResponse)) error {
		if in := p.GetCommand().GetSql().GetInput(); in != nil {
			send(&protocol.ExecuteResponse{Of: &protocol.ExecuteResponse_Sql{Sql: &protocol.SQLResult{Relation: in}}})
		}
		return nil
	})
	if err := s.Range(0, 3).View(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	if v := s.sent().GetCommand().GetView(); v.GetName() != "three" || !v.GetReplace() || v.GetGlobal() {
		t.Errorf("sent %v, want a view called three that replaces", v)
	}
	if err := s.DropView(t.Context(), "thr`ee.x"); err != nil {
		t.Fatal(err)
	}
	if sql := s.sent().GetCommand().GetSql().GetInput().GetSql().GetQuery(); sql != "DROP VIEW IF EXISTS `thr``ee`.`x`" {
		t.Errorf("sent %s", sql)
	}
}

func TestAnalyses(t *testing.T) {
	var asked []string
	fake := connecttest.Config{Analyze: func(r *protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
		asked = append(asked, strings.TrimPrefix(fmt.Sprintf("%T", r.Of), "*protocol.AnalyzeRequest_"))
		switch {
		case r.GetSchema() != nil:
			schema := new(protocol.AnalyzeResponse)
			err := protojson.Unmarshal([]byte(`{"schema":{"schema":{"struct":{"fields":[{"name":"id","type":{"long":{}}},
				{"name":"price","type":{"decimal":{"precision":10,"scale":2}},"nullable":true},
				{"name":"w","type":{"struct":{"fields":[{"name":"start","type":{"timestamp":{}}},{"name":"tags","type":{"map":{"key":{"string":{}},"value":{"array":{"element":{"double":{}}}}}}}]}}},
				{"name":"p","type":{"udt":{"class":"org.apache.spark.ml.linalg.VectorUDT","sql":{"struct":{"fields":[{"name":"type","type":{"byte":{}}}]}}}}},
				{"name":"later","type":{}}]}}}}`), schema)
			return schema, err
		case r.GetExplain() != nil:
			text := "== Physical Plan ==\nGpuColumnarToRow false\n+- GpuProject [id#1]\n   +- *(1) Filter (id#1 > 3)\n"
			return &protocol.AnalyzeResponse{Of: &protocol.AnalyzeResponse_Explain_{Explain: &protocol.AnalyzeResponse_Explain{Text: text}}}, nil
		case r.GetIsStreaming() != nil:
			return &protocol.AnalyzeResponse{Of: &protocol.AnalyzeResponse_IsStreaming_{IsStreaming: &protocol.AnalyzeResponse_IsStreaming{IsStreaming: true}}}, nil
		}
		return &protocol.AnalyzeResponse{}, nil
	}}
	s := start(t, Config{}, fake, nil)
	d := s.Table("orders")
	fields, err := d.Schema(t.Context())
	want := "[{id bigint false} {price decimal(10,2) true} {w struct<start:timestamp,tags:map<string,array<double>>> false} {p struct<type:tinyint> false} {later unknown false}]"
	if got := fmt.Sprint(fields); err != nil || got != want {
		t.Errorf("schema %s, %v\nwant %s", got, err, want)
	}
	e, err := d.Explain(t.Context(), Formatted)
	if err != nil || strings.Join(e.OnGPU(), "; ") != "GpuColumnarToRow false; GpuProject [id#1]" || !strings.HasPrefix(e.String(), "== Physical") {
		t.Errorf("explained as %v, on the GPU %q, %v", e, e.OnGPU(), err)
	}
	if _, err := d.Explain(t.Context(), "verbose"); err == nil || !strings.Contains(err.Error(), "no detail of an explanation") {
		t.Errorf("got error %v", err)
	}
	if streaming, err := d.Streaming(t.Context()); !streaming || err != nil {
		t.Errorf("streaming %v, %v, want true", streaming, err)
	}
	if err := errors.Join(d.Persist(t.Context()), d.Unpersist(t.Context())); err != nil {
		t.Error(err)
	}
	if got := strings.Join(asked, " "); got != "Schema Explain_ IsStreaming Persist_ Unpersist_" {
		t.Errorf("asked for %s", got)
	}
}
