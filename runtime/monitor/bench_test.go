package monitor_test

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"cancha/internal/running"
	"cancha/runtime/monitor"
	"cancha/stream"
)

// many starts 50 queries that follow topics of 20 partitions each, as the page's registry has them.
func many(b *testing.B) {
	b.Helper()
	for i := range 50 {
		records := make([][]stream.Record, 20)
		for p := range records {
			for k := range 100 {
				at := time.Date(2026, 3, 1, 15, 0, k, 0, time.UTC)
				records[p] = append(records[p], stream.Record{Value: fmt.Appendf(nil, `{"shop":%d,"at":%q}`, k%7, at.Format(time.RFC3339)), Time: at})
			}
		}
		q := stream.From(stream.Memory("events", records).Follow()).EventTime(stream.Field("at").AsTime()).Watermark(time.Second).GroupBy("shop").
			Window(stream.Tumbling(time.Minute)).Agg(stream.Count("events")).Name(fmt.Sprint("query ", i))
		running, err := q.Start(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = running.Stop(context.Background()) })
	}
	time.Sleep(3 * time.Second) // until there are reports
}

// BenchmarkLook is what one look costs the engine whose 50 queries have 1,000 partitions, on all cores together: a page looks once a second,
// Prometheus every five, so that 50 cpu-ms/op of the first would be 5 % of a core.
func BenchmarkLook(b *testing.B) {
	many(b)
	server, err := monitor.Start(b.Context(), monitor.Config{Port: 21100})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	const app = "api/v1/applications/x/"
	last := running.Process().Live()[49].ID
	for _, c := range []struct{ name, path string }{
		{"list", app + "streaming/queries"}, {"query", fmt.Sprintf("%sstreaming/queries/%d?after=1", app, last)}, {"first", fmt.Sprintf("%sstreaming/queries/%d", app, last)},
		{"plan", fmt.Sprintf("%ssql/%d", app, last)}, {"plans", app + "sql"}, {"executors", app + "executors"}, {"metrics", "metrics"},
	} {
		b.Run(c.name, func(b *testing.B) {
			used := 0.0
			for b.Loop() {
				used += processor(b, func() {
					answer, err := http.Get(server.URL() + c.path)
					if err != nil {
						b.Fatal(err)
					}
					answer.Body.Close()
				})
				b.StopTimer()
				time.Sleep(450 * time.Millisecond) // or the answer before is given again
				b.StartTimer()
			}
			b.ReportMetric(used*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processor is how many seconds of processor time the process takes for f.
func processor(b *testing.B, f func()) float64 {
	b.Helper()
	taken := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	before := taken()
	f()
	return taken() - before
}

// BenchmarkStart is what a page costs an engine that nobody looks at.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		server, err := monitor.Start(b.Context(), monitor.Config{Registry: &running.Registry{}, Port: 21200})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		server.Close()
		b.StartTimer()
	}
}

// BenchmarkPage is the frame, which is filled in for each visit.
func BenchmarkPage(b *testing.B) {
	server, err := monitor.Start(b.Context(), monitor.Config{Registry: &running.Registry{}, Port: 21300})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	for b.Loop() {
		answer, err := http.Get(server.URL())
		if err != nil {
			b.Fatal(err)
		}
		answer.Body.Close()
	}
}
