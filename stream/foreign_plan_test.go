package stream_test

import (
	"reflect"
	"testing"

	"cancha/stream"
	"cancha/stream/plan"
)

// TestForeignPlan: a plan says how records are written, and has the rows of a table.
func TestForeignPlan(t *testing.T) {
	source := stream.Memory("t", nil)
	for _, test := range []struct {
		format stream.Format
		want   plan.Shape
	}{
		{stream.JSONFormat().Envelope("event", "metadata").Flattened("_").TextNumbers(),
			plan.Shape{Kind: "json", Envelope: "event", Beside: []string{"metadata"}, Flat: "_", TextNumbers: true}},
		{stream.CSVFormat("a", "b").Separator(';'), plan.Shape{Kind: "csv", Columns: []string{"a", "b"}, Separator: ';'}},
		{stream.TextFormat(), plan.Shape{Kind: "text"}},
	} {
		if got := stream.From(source).Format(test.format).Plan().Input.Shape; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.format.Name(), got, test.want)
		}
	}
	rows := stream.NewRows(stream.Column{Name: "id", Kind: stream.Int})
	rows.Append(stream.IntOf(1))
	p := stream.From(source).Lookup(stream.TableOf("ids", rows, "id"), stream.Same("id")).Plan()
	want := &plan.Table{Names: []string{"id"}, Kinds: []stream.Kind{stream.Int}, Rows: [][]plan.Value{{stream.IntOf(1)}}}
	if got := p.Steps[0].Table; !reflect.DeepEqual(got, want) || p.Input.Shape.Kind != "json" || p.Input.Kafka != nil {
		t.Errorf("got %+v of %+v, want %+v", got, p.Input, want)
	}
}
