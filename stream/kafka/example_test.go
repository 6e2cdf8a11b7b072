package kafka_test

import (
	"context"
	"fmt"
	"time"

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
