package parquet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"cancha/stream"
	"cancha/stream/parquet"
)

func ExampleSink() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sums.parquet")

	sales := stream.Memory("sales", [][]stream.Record{{
		{Value: []byte(`{"shop":1,"price":2.5,"at":"2026-03-01T12:00:05Z"}`)},
		{Value: []byte(`{"shop":1,"price":4,"at":"2026-03-01T12:00:30Z"}`)},
		{Value: []byte(`{"shop":2,"price":1,"at":"2026-03-01T12:00:59Z"}`)},
	}})
	running, err := stream.From(sales).EventTime(stream.Field("at").AsTime()).GroupBy("shop").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("sold"), stream.Sum("total", stream.Field("price"))).
		To(parquet.Sink(path).As("shop", stream.Int)).Start(context.Background())
	if err == nil {
		err = running.Wait(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	type row struct {
		Shop  int64     `parquet:"shop,optional"`
		Start time.Time `parquet:"window_start,optional,timestamp(nanosecond)"`
		Sold  int64     `parquet:"sold,optional"`
		Total float64   `parquet:"total,optional"`
	}
	rows, err := pq.ReadFile[row](path)
	for _, r := range rows {
		fmt.Println("shop", r.Shop, "from", r.Start.UTC(), "sold", r.Sold, "for", r.Total)
	}
	fmt.Println(err)
	// Output:
	// shop 1 from 2026-03-01 12:00:00 +0000 UTC sold 2 for 6.5
	// shop 2 from 2026-03-01 12:00:00 +0000 UTC sold 1 for 1
	// <nil>
}
