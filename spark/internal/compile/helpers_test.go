package compile

import (
	"context"
	"errors"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/plan"
)

// topic is a source that a cluster could read; here nobody does.
type topic string

func (t topic) Run(context.Context, stream.Handler) error { return errors.New("not to be read") }
func (t topic) Description() string                       { return "kafka " + string(t) + " at kafka:9092" }

// PlanInput implements stream.InputPlanner.
func (t topic) PlanInput(in *plan.Input) {
	in.Kafka = &plan.Kafka{Brokers: []string{"kafka:9092"}, Topics: []string{string(t)}}
}

// orders is a query over orders with an event time and a watermark.
func orders() *stream.Query {
	return stream.From(topic("orders")).Name("orders").EventTime(stream.Field("at").AsTime()).Watermark(time.Minute)
}

func payments() *stream.Query {
	return stream.From(topic("payments")).Name("payments").EventTime(stream.Field("at").AsTime()).Watermark(time.Minute).
		With("order", stream.Field("id")).Select("order", "amount")
}

// goods is a table of three rows.
func goods() *stream.Table {
	rows := stream.NewRows(stream.Column{Name: "sku", Kind: stream.Text}, stream.Column{Name: "price", Kind: stream.Float},
		stream.Column{Name: "since", Kind: stream.Time})
	at := stream.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC))
	rows.Append(stream.TextOf("a"), stream.FloatOf(1.5), at)
	rows.Append(stream.TextOf("b"), stream.Value{}, at)
	rows.Append(stream.TextOf("a'\\"), stream.FloatOf(1e21), stream.Value{})
	return stream.TableOf("goods", rows, "sku")
}

// compiled compiles a query.
func compiled(t *testing.T, q *stream.Query, o Options) *Compiled {
	t.Helper()
	c, err := Query(q.Plan(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
