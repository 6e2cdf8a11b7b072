package shop_test

import (
	"context"
	"log"
	"os"
	"time"

	"cancha/stream"
	"cancha/stream/shop"
)

// The three cities with the greatest sales of the first minutes, each order once, without a broker.
func ExampleSource() {
	orders, err := shop.Source(shop.Config{Seed: 7, Records: 1000}, shop.Orders)
	if err != nil {
		log.Fatal(err)
	}
	running, err := stream.From(orders).EventTime(stream.Field("created").AsTime()).Watermark(2*time.Minute).
		Deduplicate("order").GroupBy("city").Window(stream.Tumbling(time.Hour)).
		Agg(stream.Count("orders"), stream.Sum("sales", stream.Field("total"))).
		Top(3, "sales").With("sales", stream.Field("sales").Round(2)).
		Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := running.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := running.Results().WriteCSV(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// city,window_start,window_end,orders,sales
	// Athens,2026-01-05T08:00:00Z,2026-01-05T09:00:00Z,100,2179
	// Helsinki,2026-01-05T08:00:00Z,2026-01-05T09:00:00Z,101,1964.1
	// Madrid,2026-01-05T08:00:00Z,2026-01-05T09:00:00Z,107,2622.1
}
