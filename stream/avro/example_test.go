package avro_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	library "github.com/twmb/avro"

	"cancha/stream"
	"cancha/stream/avro"
)

const reading = `{"type":"record","name":"Reading","fields":[
	{"name":"device","type":"string"},
	{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"celsius","type":["null","double"]}]}`

// readings are records of one schema, as a producer would encode them.
func readings() [][]byte {
	schema := library.MustParse(reading)
	var all [][]byte
	for i, celsius := range []any{20.5, 21.5, nil, 30.0} {
		record, err := schema.Encode(map[string]any{"device": "roof", "at": time.Date(2026, 3, 1, 12, 0, 25*i, 0, time.UTC), "celsius": celsius})
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// printMinutes runs a query to its end and prints a row for each minute.
func printMinutes(records [][]byte, format stream.Format) {
	topic := make([]stream.Record, len(records))
	for i, r := range records {
		topic[i].Value = r
	}
	running, err := stream.From(stream.Memory("readings", [][]stream.Record{topic})).Format(format).EventTime(stream.Field("at").AsTime()).
		GroupBy("device").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("readings"), stream.Mean("celsius", stream.Field("celsius"))).Drop("window_end").Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := running.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := running.Results().WriteCSV(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// Records that are bare Avro of one known schema.
func ExampleFormat() {
	printMinutes(readings(), avro.Format(reading))
	// Output:
	// device,window_start,readings,celsius
	// roof,2026-03-01T12:00:00Z,3,21
	// roof,2026-03-01T12:01:00Z,1,30
}

// Records that begin with the number of their schema, which a registry knows.
func ExampleRegistry() {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("asked for", r.URL.Path)
		json.NewEncoder(w).Encode(map[string]string{"schema": reading})
	}))
	defer registry.Close()
	var records [][]byte
	for _, r := range readings() {
		records = append(records, append(binary.BigEndian.AppendUint32([]byte{0}, 7), r...))
	}
	printMinutes(records, avro.Registry(avro.Config{URL: registry.URL}))
	// Output:
	// asked for /schemas/ids/7
	// device,window_start,readings,celsius
	// roof,2026-03-01T12:00:00Z,3,21
	// roof,2026-03-01T12:01:00Z,1,30
}
