package postgres_test

import (
	"context"
	"log"
	"os"
	"time"

	"cancha/stream"
	"cancha/stream/kafka"
	"cancha/stream/postgres"
)

// A table that always has the newest sums of each shop and minute.
func ExampleSink() {
	sums := postgres.Sink(postgres.Config{
		URL:      "postgres://reports@db.example:5432/sales?sslmode=verify-full",
		Password: os.Getenv("SALES_PASSWORD"),
		Table:    "reports.sums",
		Key:      []string{"shop", "window_start"},
		Create:   true,
		Types:    map[string]string{"shop": "bigint"},
	})
	orders := kafka.Source(kafka.Config{Brokers: []string{"127.0.0.1:9092"}, Topic: "orders"})
	running, err := stream.From(orders).GroupBy("shop").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("sold"), stream.Sum("total", stream.Field("price"))).
		Output(stream.Update).To(sums).Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	log.Println(running.Wait(context.Background()))
}
