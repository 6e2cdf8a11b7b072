package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/spark"
	"cancha/stream"
	"cancha/stream/kafka"
)

// cluster is an engine on the server that CANCHA_SPARK names, which reads a topic in several batches, and the broker that CANCHA_KAFKA does.
func cluster(t *testing.T) (e stream.Engine, broker string) {
	t.Helper()
	master, broker := os.Getenv("CANCHA_SPARK"), os.Getenv("CANCHA_KAFKA")
	if master == "" || broker == "" {
		t.Skip("CANCHA_SPARK and CANCHA_KAFKA name no server: scripts/kafka.sh with scripts/spark.sh with go test ./bench/nexmark")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where sessions leave their files
	e, err := spark.Config{Master: master, BatchRecords: 4000}.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e, broker
}

// halfMinute makes the events of half a minute, out of order by less than Lateness.
func halfMinute() Generator {
	g := NewGenerator(12_000)
	g.Rate, g.Disorder = 400, 100
	return g
}

// auctionHouse is a topic of half a minute of the auction house, and records of another kind, an hour later, behind which all windows are over.
func (g Generator) auctionHouse(t *testing.T, broker string) stream.Source {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	topic := fmt.Sprintf("nexmark-%d", time.Now().UnixNano())
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker}, Topic: topic, Partitions: g.Partitions})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Produce(ctx, p); err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // by their keys there are some in each partition
		closing := g.Start.Add(time.Hour).Format(time.RFC3339)
		if err := p.Send(ctx, fmt.Append(nil, "end-", i), fmt.Appendf(nil, `{"kind":3,"ts":%q}`, closing)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return kafka.Source(kafka.Config{Brokers: []string{broker}, Topic: topic})
}

// ended runs a query up to the present end of its topic and returns its rows as sorted texts, numbers by nine digits.
func ended(t *testing.T, q *stream.Query) (*stream.Running, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r, err := q.AvailableNow().Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	rows := r.Results()
	texts := make([]string, rows.Len())
	for i := range texts {
		for k := range rows.Columns {
			if v := rows.At(i, k); v.Kind() == stream.Float {
				texts[i] += fmt.Sprintf("%.9g ", v.Float())
			} else {
				texts[i] += v.String() + " "
			}
		}
	}
	slices.Sort(texts)
	return r, texts
}

// TestQueriesOnSpark: over one topic of a real Kafka the queries give the same rows on Spark as here. Those that Spark cannot run are refused before they
// start, by what in them it cannot and with what to write instead.
func TestQueriesOnSpark(t *testing.T) {
	e, broker := cluster(t)
	source := All(halfMinute().auctionHouse(t, broker))
	refused := map[string][]string{"q4": {"closing price", "Agg with a Window"}, "q7": {"highest bids", "Top"}}
	for _, of := range entries(halfMinute()) {
		if of.name == "q12" { // its windows are of the clock: TestClockOnSpark
			continue
		}
		t.Run(of.name, func(t *testing.T) {
			if words, is := refused[of.name]; is {
				_, err := of.build(source).On(e).Start(t.Context())
				for _, word := range words {
					if err == nil || !strings.Contains(err.Error(), word) {
						t.Errorf("got %v, want %q in it", err, word)
					}
				}
				return
			}
			here, want := ended(t, of.build(source))
			there, got := ended(t, of.build(source).On(e))
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%d rows on Spark, %d here\n%s\n\n%s", len(got), len(want), some(got, want), some(want, got))
			}
			if a, b := there.Totals(), here.Totals(); a.Records != b.Records || a.Bad+b.Bad+a.Late+b.Late > 0 {
				t.Errorf("counted %+v on Spark, %+v here", a, b)
			}
		})
	}
}

// some are the first rows that are not among others.
func some(rows, others []string) string {
	only := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(others, row) })
	return strings.Join(only[:min(len(only), 10)], "\n")
}

// TestClockOnSpark: query 12 counts all bids of each bidder, in whichever windows of the clock they fall. Its rows are taken as they change: the last
// window is never over on Spark when the topic ends.
func TestClockOnSpark(t *testing.T) {
	e, broker := cluster(t)
	source := All(halfMinute().auctionHouse(t, broker))
	bids := func(q *stream.Query) map[int64]int64 {
		r, _ := ended(t, q.Output(stream.Update))
		sums := map[int64]int64{}
		for i := range r.Results().Len() {
			row := r.Results().Row(i)
			sums[row.Int("bidder")] += row.Int("bid_count")
		}
		return sums
	}
	want, got := bids(Q12(source)), bids(Q12(source).On(e))
	if !maps.Equal(got, want) || len(want) < 200 {
		t.Errorf("%d bidders on Spark, %d here: %v, want %v", len(got), len(want), got, want)
	}
}
