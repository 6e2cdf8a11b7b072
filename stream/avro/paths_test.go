package avro_test

import (
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/avro"
)

const orders = `{"type":"record","name":"Order","namespace":"shop","fields":[
	{"name":"id","type":"long"},
	{"name":"created","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"total","type":["null","double"]},
	{"name":"user","type":{"type":"record","name":"User","fields":[{"name":"name","type":"string"},{"name":"city","type":["null","string"]}]}},
	{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"sku","type":"string"},{"name":"n","type":"int"}]}}},
	{"name":"labels","type":{"type":"map","values":"string"}},
	{"name":"either","type":["null","User","Item"]}]}`

// A query of a path that no record can have does not start, and says what there is.
func TestStartRefuses(t *testing.T) {
	from := stream.From(topic()).Format(avro.Format(orders))
	tests := []struct {
		name  string
		query *stream.Query
		want  string
	}{
		{"a field that is not there", from.Select("totl"), `path "totl": record shop.Order has no field "totl"; it has id, created, total, user, items, labels, either`},
		{"a field of a record", from.Select("user.nme"), `path "user.nme": record shop.User has no field "nme"; it has name, city`},
		{"a field of no branch", from.Select("either.x"), `path "either.x": record shop.User has no field "x"; it has name, city`},
		{"a field of a number", from.Select("total.x"), `path "total.x": nothing is called "x" within type double`},
		{"a field of an array", from.Select("items.sku"), `path "items.sku": what has "sku" is an array, whose elements are [0], [1] and so on, or rows of Explode`},
		{"an element of a record", from.Select("user[0]"), `path "user[0]": nothing is called "0" within type record shop.User`},
		{"a text as a number", from.With("x", stream.Field("user.name").Mul(2)).Select("x"), `path "user.name" is of type string in the schema, and the query wants a number there`},
		{"a record as a number", from.With("x", stream.Field("user").Mul(2)).Select("x"), `path "user" is of type record shop.User in the schema, and the query wants a number there`},
		{"a number as a text", from.With("x", stream.Field("id").Lower()).Select("x"), `path "id" is of type long in the schema, and the query wants a text there`},
		{"a number as a time", from.EventTime(stream.Field("id").AsTime()).Select("id"), `path "id" is of type long in the schema, and the query wants an RFC 3339 time there`},
		{"no schema", stream.From(topic()).Format(avro.Format("{")).Select("id"), "avro: the schema: "},
		{"a schema of no record", stream.From(topic()).Format(avro.Format(`"long"`)).Select("id"), "avro: the schema: the schema is of type long: want a record"},
		{"a union with none", stream.From(topic()).Format(avro.Format(`["null","long"]`)).Select("id"), "avro: the schema: the schema is a union with type null: want records only"},
		{"an empty union", stream.From(topic()).Format(avro.Format(`[]`)).Select("id"), "avro: the schema: the schema is of type union: want a record"},
		{"no format", stream.From(topic()).Format(avro.RecordFormat{}).Select("id"), "avro: a format without a schema"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if running, err := test.query.Start(t.Context()); err == nil {
				t.Errorf("it starts, and ends with %v; want an error with %q", running.Stop(t.Context()), test.want)
			} else if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want an error with %q", err, test.want)
			}
		})
	}
}

func order(t *testing.T, id int, minute int, total any, city any, either any) []byte {
	t.Helper()
	return encode(t, orders, map[string]any{"id": id, "created": time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC), "total": total,
		"user": map[string]any{"name": "Ana", "city": city}, "items": []any{map[string]any{"sku": "tea", "n": id}, map[string]any{"sku": "mug", "n": 1}},
		"labels": map[string]any{"a.b": "yes"}, "either": either})
}

// A query over Avro, with all that a query does to fields.
func TestQuery(t *testing.T) {
	source := topic(order(t, 1, 0, 10.0, "Lima", nil), order(t, 2, 0, nil, "Lima", map[string]any{"name": "Eva", "city": nil}), []byte("{}"),
		order(t, 3, 1, 5.0, "Quito", map[string]any{"sku": "pot", "n": 4}), order(t, 4, 1, 5.0, nil, nil))
	from := stream.From(source).Format(avro.Format(orders)).EventTime(stream.Field("created"))

	sums := run(t, from.GroupBy("user.city").Window(stream.Tumbling(time.Minute)).Agg(stream.Count("orders"), stream.Sum("total", stream.Field("total"))).Drop("window_end"))
	want := "user.city,window_start,orders,total\nLima,2026-03-01T12:00:00Z,2,10\nQuito,2026-03-01T12:01:00Z,1,5\n"
	if got := csv(t, sums); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if bad := sums.BadRecords(); bad.Total != 2 {
		t.Errorf("got %d bad records, want JSON and one without a city: %v", bad.Total, bad.Reasons)
	}
	exploded := run(t, from.Explode("items", "item").Filter(stream.Field("item.n").Gt(1)).Select("id", "item.sku", "item.n"))
	if got, want := csv(t, exploded), "id,item.sku,item.n\n2,tea,2\n3,tea,3\n4,tea,4\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	either := run(t, from.Filter(stream.Has("either")).Select("id", "either.name", "either.n", `labels["a.b"]`))
	if got, want := csv(t, either), "id,either.name,either.n,\"labels[\"\"a.b\"\"]\"\n2,Eva,,yes\n3,,4,yes\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A path that a schema has and no record had a value at is noted when the query ends.
func TestUnseenPaths(t *testing.T) {
	running := run(t, stream.From(topic(order(t, 1, 0, nil, nil, nil))).Format(avro.Format(orders)).Select("id", "total"))
	if notes := running.Notes(); !strings.Contains(strings.Join(notes, "\n"), `No record had "total"`) {
		t.Errorf("got notes %q, want one about total", notes)
	}
}

func TestExplainNamesTheSchema(t *testing.T) {
	q := stream.From(topic()).Format(avro.Format(orders)).Select("id")
	if got := q.Explain().String(); !strings.Contains(got, "Avro, record shop.Order") {
		t.Errorf("got %s", got)
	}
}
