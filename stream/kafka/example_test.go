package kafka_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// printer prints what it is given.
type printer struct{}

func (printer) Assigned(partitions []stream.Partition) { fmt.Println("partitions", partitions) }
func (printer) Retry(err error, wait time.Duration)    { fmt.Println("again in", wait, "because", err) }
func (printer) Batch(_ context.Context, b stream.Batch) error {
	for _, r := range b.Records {
		fmt.Printf("%s = %s at offset %d of partition %d\n", r.Key, r.Value, r.Offset, r.Partition)
	}
	return nil
}

func Example() {
	ctx := context.Background()
	b, err := broker.Start(broker.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	brokers := []string{b.Addr()}

	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: "goals", Partitions: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := p.Partitions(ctx); err != nil { // makes the topic
		fmt.Println(err)
		return
	}
	for _, minute := range []string{"23'", "36'", "80'"} {
		if err := p.Send(ctx, []byte("3869685"), []byte(minute)); err != nil {
			fmt.Println(err)
		}
	}
	if err := p.Close(ctx); err != nil {
		fmt.Println(err)
	}

	until := make(chan struct{})
	close(until) // read what there is, and end
	source := kafka.Source(kafka.Config{Brokers: brokers, Topic: "goals", Until: until})
	if err := source.Run(ctx, printer{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// partitions [{goals 0}]
	// 3869685 = 23' at offset 0 of partition 0
	// 3869685 = 36' at offset 1 of partition 0
	// 3869685 = 80' at offset 2 of partition 0
}

// goals writes minutes as records of a topic.
func goals(ctx context.Context, cfg kafka.ProducerConfig, minutes ...string) error {
	p, err := kafka.NewProducer(cfg)
	if err != nil {
		return err
	}
	for _, minute := range minutes {
		err := p.SendRecord(ctx, stream.Record{
			Key: []byte("3869685"), Value: []byte(minute), Headers: []stream.Header{{Key: "from", Value: []byte("camera 3")}},
		})
		if err != nil {
			return err
		}
	}
	return p.Close(ctx)
}

// headers prints where records come from.
type headers struct{ printer }

func (headers) Batch(_ context.Context, b stream.Batch) error {
	for _, r := range b.Records {
		fmt.Printf("%s/%d: %s, %s %s\n", r.Topic, r.Partition, r.Value, r.Headers[0].Key, r.Headers[0].Value)
	}
	return nil
}

// Several topics are read together, by their names or by a pattern. A record says which topic it is of, and brings its
// headers.
func ExampleConfig_severalTopics() {
	ctx := context.Background()
	b, err := broker.Start(broker.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	brokers := []string{b.Addr()}
	for _, topic := range []string{"cup-goals", "league-goals", "training"} {
		if err := goals(ctx, kafka.ProducerConfig{Brokers: brokers, Topic: topic, Partitions: 1}, "23'"); err != nil {
			fmt.Println(err)
		}
	}
	until := make(chan struct{})
	close(until)
	source := kafka.Source(kafka.Config{Brokers: brokers, Pattern: ".*-goals", Until: until})
	fmt.Println(strings.ReplaceAll(source.Description(), b.Addr(), "127.0.0.1:9092"))
	if err := source.Run(ctx, headers{}); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// kafka topics like .*-goals at 127.0.0.1:9092
	// partitions [{cup-goals 0} {league-goals 0}]
	// cup-goals/0: 23', from camera 3
	// league-goals/0: 23', from camera 3
}

// What a cluster asks for comes from the environment, so that no password is in a notebook; no print of a configuration
// shows it. A wrong password ends the source at once and says so, where a broker that is away would be waited for.
func ExampleSecurityFromEnvironment() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "reader", "s3cret-word"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	os.Setenv("KAFKA_USER", "reader")
	os.Setenv("KAFKA_PASSWORD", "a guess")
	os.Setenv("KAFKA_SASL_MECHANISM", "SCRAM-SHA-256")
	defer func() {
		for _, name := range []string{"KAFKA_USER", "KAFKA_PASSWORD", "KAFKA_SASL_MECHANISM"} {
			os.Unsetenv(name)
		}
	}()

	security, err := kafka.SecurityFromEnvironment()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", security)
	cfg := kafka.Config{Brokers: cluster.ListenAddrs(), Topic: "goals", Security: security}
	err = kafka.Source(cfg).Run(context.Background(), quiet{})
	fmt.Println(strings.Contains(err.Error(), "refuses user reader with SCRAM-SHA-256"))
	// Output:
	// SCRAM-SHA-256 as reader
	// true
}

// quiet prints nothing.
type quiet struct{}

func (quiet) Assigned([]stream.Partition)               {}
func (quiet) Retry(error, time.Duration)                {}
func (quiet) Batch(context.Context, stream.Batch) error { return nil }

// TLS with an authority of one's own: its certificate is in a file. A port without TLS, a certificate for another name or of
// another authority end the source with the cause and what to do.
func ExampleTLSFromFiles() {
	b, err := broker.Start(broker.Config{}) // which has no TLS
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()

	_, err = kafka.TLSFromFiles(filepath.Join("testdata", "no-such.pem"), "", "")
	fmt.Println(err)

	tls, err := kafka.TLSFromFiles("", "", "") // the authorities of the system
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := kafka.Config{Brokers: []string{b.Addr()}, Topic: "goals", Security: kafka.Security{TLS: tls}}
	err = kafka.Source(cfg).Run(context.Background(), quiet{})
	fmt.Println(strings.ReplaceAll(err.Error(), b.Addr(), "127.0.0.1:9092"))
	// Output:
	// kafka: certificate authority: open testdata/no-such.pem: no such file or directory
	// read topic goals: broker 127.0.0.1:9092 does not speak TLS on this port: take its TLS port, or leave TLS out (Security.TLS, KAFKA_TLS, KAFKA_TLS_CA)
}

// The rows of a query are records of another topic. A query that dies may write some of them again when it is run again.
func ExampleSink() {
	ctx := context.Background()
	b, err := broker.Start(broker.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	brokers := []string{b.Addr()}
	err = goals(ctx, kafka.ProducerConfig{Brokers: brokers, Topic: "goals", Partitions: 1},
		`{"team":"Boca","at":"2026-03-01T15:23:00Z"}`, `{"team":"Boca","at":"2026-03-01T15:36:00Z"}`, `{"team":"River","at":"2026-03-01T15:40:00Z"}`)
	if err != nil {
		fmt.Println(err)
		return
	}

	until := make(chan struct{})
	close(until) // read what there is, and end
	running, err := stream.From(kafka.Source(kafka.Config{Brokers: brokers, Topic: "goals", Until: until})).
		EventTime(stream.Field("at").AsTime()).
		GroupBy("team").Window(stream.Tumbling(time.Hour)).Agg(stream.Count("goals")).
		To(kafka.Sink(kafka.SinkConfig{Brokers: brokers, Topic: "goals-an-hour", Key: "team", Partitions: 1})).
		Start(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := running.Wait(ctx); err != nil {
		fmt.Println(err)
	}
	if err := kafka.Source(kafka.Config{Brokers: brokers, Topic: "goals-an-hour", Until: until}).Run(ctx, printer{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// partitions [{goals-an-hour 0}]
	// Boca = {"team":"Boca","window_start":"2026-03-01T15:00:00Z","window_end":"2026-03-01T16:00:00Z","goals":2} at offset 0 of partition 0
	// River = {"team":"River","window_start":"2026-03-01T15:00:00Z","window_end":"2026-03-01T16:00:00Z","goals":1} at offset 1 of partition 0
}
