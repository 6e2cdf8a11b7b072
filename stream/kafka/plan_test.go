package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"reflect"
	"testing"

	"cancha/stream"
	"cancha/stream/plan"
)

// TestPlan: a plan says what another engine needs to read the topics and to write the rows by itself.
func TestPlan(t *testing.T) {
	security := Security{User: "reader", Password: "s3cret", TLS: &tls.Config{RootCAs: x509.NewCertPool()}}
	source := Source(Config{Brokers: []string{"a:1"}, Topic: "goals", Topics: []string{"cards"}, Group: "g", Start: Latest, Offsets: map[int]int64{0: 5},
		OffsetsOf: map[string]map[int]int64{"cards": {1: 7}}, Committed: true, Security: security})
	sink := Sink(SinkConfig{Brokers: []string{"b:2"}, Topic: "out", Key: "team"})
	p := stream.From(source).Select("id").To(sink).To(stream.SinkFunc(func(int64, *stream.Rows) error { return nil })).Plan()
	want := &plan.Kafka{Brokers: []string{"a:1"}, Topics: []string{"cards", "goals"}, Group: "g", Latest: true, Committed: true, TLS: true, Private: true,
		Mechanism: Plain, User: "reader", Password: "s3cret", Offsets: map[string]map[int]int64{"goals": {0: 5}, "cards": {1: 7}}}
	if !reflect.DeepEqual(p.Input.Kafka, want) {
		t.Errorf("got %+v, want %+v", p.Input.Kafka, want)
	}
	outlets := []plan.Outlet{{Kind: "kafka", Key: "team", Kafka: &plan.Kafka{Brokers: []string{"b:2"}, Topics: []string{"out"}}}, {}}
	if !reflect.DeepEqual(p.Outlets, outlets) {
		t.Errorf("got %+v, want %+v", p.Outlets, outlets)
	}
	if again := stream.From(source).Select("id").Plan(); !again.Equal(stream.From(source).Select("id").Plan()) {
		t.Error("two plans of one query differ")
	}
}
