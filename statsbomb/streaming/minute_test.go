package streaming_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// finish runs a query over a source that ends, and returns what came of it.
func finish(t testing.TB, q *stream.Query) *stream.Running {
	t.Helper()
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return running
}

func windowsCSV(t testing.TB, r *stream.Running) string {
	t.Helper()
	var b bytes.Buffer
	if err := streaming.WriteWindowsCSV(&b, r.Results()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMinuteStatistics compares the statistics with those of the definitions.
func TestMinuteStatistics(t *testing.T) {
	all := season(7, 6, 700)
	running := finish(t, streaming.MinuteStatistics(stream.Memory("events", partitioned(all, 3))))
	checkRows(t, running.Results(), naive(t, all))
	totals := running.Totals()
	if totals.Records != int64(len(all)) || totals.Bad != 0 || totals.Late != 0 || totals.Filtered == 0 {
		t.Errorf("got %+v, want %d records, none bad or late, some filtered", totals, len(all))
	}
	if got, want := running.Notes(), []string{"It ended with its source."}; !slices.Equal(got, want) {
		t.Errorf("got notes %q, want %q: nothing is odd about these records", got, want)
	}
}

func TestWindowsCSVForm(t *testing.T) {
	g := newGenerator(1)
	e := g.match(12, 1)
	e[0].Event.Type, e[0].Event.Pass, e[0].Event.Carry = ref{17, "Pressure"}, nil, nil
	e[0].Event.Team, e[0].Event.PossessionTeam, e[0].Event.Location = &ref{3, "A"}, nil, []float64{60.5, 40}
	e[0].Event.Period = 1
	got := windowsCSV(t, finish(t, streaming.MinuteStatistics(stream.Memory("events", [][]stream.Record{records(e)}))))
	want := "match_id,team_id,window_start,events,passes," +
		"pass_length_count,pass_length_min,pass_length_max,pass_length_mean,pass_length_var," +
		"carry_distance_count,carry_distance_min,carry_distance_max,carry_distance_mean,carry_distance_var," +
		"x_count,x_min,x_max,x_mean,x_var,y_count,y_min,y_max,y_mean,y_var,possession\n" +
		"12,3,2026-03-01T15:00:00Z,1,0,0,,,,,0,,,,,1,60.5,60.5,60.5,,1,40,40,40,,\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSameRecordsSameBytes: one history of records, many ways to deliver it, one windows.csv.
func TestSameRecordsSameBytes(t *testing.T) {
	all := season(11, 8, 400)
	rand.New(rand.NewPCG(5, 5)).Shuffle(200, func(i, j int) { // some disorder, the same for all deliveries
		i, j = i*15, i*15+j%12
		all[i], all[j] = all[j], all[i]
	})
	want := windowsCSV(t, finish(t, streaming.MinuteStatistics(stream.Memory("events", partitioned(all, 1)))))
	for _, partitions := range []int{1, 2, 4, 7} {
		for _, batch := range []int{1, 13, 500, 100_000} {
			for _, mode := range []stream.OutputMode{stream.Append, stream.Update} {
				t.Run(fmt.Sprintf("%d partitions, batches of %d, %v", partitions, batch, mode), func(t *testing.T) {
					source := stream.Memory("events", partitioned(all, partitions)).BatchSize(batch)
					running := finish(t, streaming.MinuteStatistics(source).Output(mode))
					if late := running.Totals().Late; late != 0 {
						t.Errorf("got %d late events, want 0", late)
					}
					if windowsCSV(t, running) != want {
						t.Error("windows.csv differs")
					}
				})
			}
		}
	}
}

// TestReconnects: a source that loses its broker, and goes on where it was, changes nothing.
func TestReconnects(t *testing.T) {
	all := season(12, 4, 500)
	want := windowsCSV(t, finish(t, streaming.MinuteStatistics(stream.Memory("events", partitioned(all, 2)))))
	running := finish(t, streaming.MinuteStatistics(&shaky{partitioned(all, 2)}))
	if got := windowsCSV(t, running); got != want {
		t.Error("windows.csv differs after reconnects")
	}
	if got := running.Totals().Retries; got < 3 {
		t.Errorf("got %d retries, want at least 3", got)
	}
}

// shaky hands over batches of uneven size, partitions by turns, and is assigned its partitions anew after each retry.
type shaky struct{ partitions [][]stream.Record }

func (s *shaky) Description() string { return "shaky" }

func (s *shaky) Run(ctx context.Context, h stream.Handler) error {
	h.Assigned([]stream.Partition{{Topic: "events", ID: 0}, {Topic: "events", ID: 1}})
	next := [2]int{}
	for turn := 0; next[0] < len(s.partitions[0]) || next[1] < len(s.partitions[1]); turn++ {
		p := turn % 2
		records := slices.Clone(s.partitions[p][next[p]:min(len(s.partitions[p]), next[p]+turn%37)])
		for i := range records {
			records[i].Partition, records[i].Offset = p, int64(next[p]+i)
		}
		if err := h.Batch(ctx, stream.Batch{Topic: "events", Partition: p, Records: records, HighWatermark: 1 << 20}); err != nil {
			return err
		}
		next[p] += len(records)
		if turn%20 == 19 {
			h.Retry(errors.New("connection refused"), time.Second)
			h.Assigned([]stream.Partition{{Topic: "events", ID: 0}, {Topic: "events", ID: 1}})
		}
	}
	return nil
}
