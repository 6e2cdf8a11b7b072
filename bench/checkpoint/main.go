// Command checkpoint measures what snapshots cost a query: the same windows over generated records, without a checkpoint and with one, in turns. The
// state is as many groups as -keys says, of which records touch one after another at random.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

var (
	keys    = flag.Int("keys", 400_000, "groups")
	records = flag.Int64("records", 4_000_000, "records of a turn, in two partitions")
	turns   = flag.Int("turns", 5, "turns of each")
	dir     = flag.String("dir", "", "folder for snapshots; empty: a temporary one")
	profile = flag.String("profile", "", "file for a profile of the processor")
	touched = flag.Float64("touched", 1, "part of the groups that records touch behind the first that fill the state")
)

func main() {
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	var rates [2][]float64
	for range *turns {
		for i, kept := range []bool{false, true} {
			rate, err := turn(kept)
			if err != nil {
				log.Fatal(err)
			}
			rates[i] = append(rates[i], rate)
		}
	}
	without, with := median(rates[0]), median(rates[1])
	fmt.Printf("median of %d turns: %.0f records/s without a checkpoint, %.0f with one: %.1f %%\n", *turns, without, with, 100*with/without)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// turn runs the query once and returns its rate, over the records behind those that fill the state.
func turn(kept bool) (float64, error) {
	half := *records / 2
	own := int64(*keys / 2)
	source := stream.Generate("events", 2, 0, func(partition int, n int64) stream.Record {
		key := n
		if n >= own {
			dice := rand.New(rand.NewPCG(uint64(n), uint64(partition)))
			key = dice.Int64N(max(1, int64(float64(own)**touched)))
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond)
		return stream.Record{Time: at, Value: fmt.Appendf(nil, `{"key":%d,"x":%d.5}`, 2*key+int64(partition), n%1000)}
	}).Records(half + own)
	q := stream.From(source).KeyedBy("key").GroupBy("key").Window(stream.Tumbling(100*24*time.Hour)).
		Agg(stream.Count("n"), stream.Stats("x", stream.Field("x")), stream.Last("last", stream.Field("x"))).KeepRows(1).Memory(8 << 30)
	if kept {
		place, err := os.MkdirTemp(*dir, "checkpoint-*")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(place)
		q = q.Checkpoint(checkpoint.Folder(place))
	}
	running, err := q.Start(context.Background())
	if err != nil {
		return 0, err
	}
	for running.Totals().Records < 2*own {
		time.Sleep(5 * time.Millisecond)
	}
	began, first := time.Now(), running.Totals().Records
	size := running.Totals().Bytes
	for running.Totals().Records < *records {
		time.Sleep(5 * time.Millisecond)
	}
	took, last := time.Since(began), running.Totals().Records
	var pauses []int64
	for _, p := range running.Recent() {
		pauses = append(pauses, p.DurationMs["snapshot"])
	}
	if err := running.Wait(context.Background()); err != nil {
		return 0, err
	}
	rate := float64(last-first) / took.Seconds()
	fmt.Printf("%8.0f records/s, state %d MB, checkpoint %v, longest pause %d ms\n", rate, size>>20, kept, slices.Max(pauses))
	return rate, nil
}
