package main

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream"
)

// turns are outcomes of two turns of each engine.
func turns() map[string][]outcome {
	of := func(seconds, jvm float64) outcome {
		return outcome{Seconds: seconds, CPU: 2, JVM: jvm, Resident: 5e7, JVMResident: 2e9, Rows: 10, Sums: []float64{3, 1e6}}
	}
	return map[string][]outcome{"local": {of(2, 0), of(4, 0)}, "checkpoint": {of(4, 0), of(5, 0)}, "spark": {of(100, 40), of(60, 80)}}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	if err := (settings{events: 640, turns: 2, started: "9.0 s"}).report(&b, turns()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| local | 2.00 | 320 | 2.0, 4.0 | 2.0 | - | 50 | - |",
		"| Spark local[2] | 60.00 | 11 | 100.0, 60.0 | 2.0 | 40.0 | 50 | 2000 |",
		"Spark by local: 30.0x the time, 21.0x the processor; by local with a checkpoint: 15.0x, 21.0x.",
		"the server's start, 9.0 s",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", b.String(), want)
		}
	}
}

// TestDisagreement: engines whose rows differ have no report.
func TestDisagreement(t *testing.T) {
	for name, change := range map[string]func(o *outcome){
		"a row less":    func(o *outcome) { o.Rows = 9 },
		"another sum":   func(o *outcome) { o.Sums = []float64{3, 1e6 + 0.01} },
		"a column less": func(o *outcome) { o.Sums = o.Sums[:1] },
	} {
		all := turns()
		change(&all["spark"][1])
		if err := agree(all); err == nil || !strings.HasPrefix(err.Error(), "spark: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	near := turns()
	near["spark"][0].Sums = []float64{3, 1e6 + 1e-6}
	if err := agree(near); err != nil {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := usageOf("self"); err == nil || !strings.Contains(err.Error(), "this needs Linux") {
			t.Errorf("without /proc: %v", err)
		}
		return
	}
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; { // some processor time
	}
	u, err := usageOf("self")
	if err != nil || u.cpu <= 0 || u.cpu > 600 || u.resident < 1<<20 {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestStatistics: the plan counts, and has four statistics of each of four fields, of those events that have a team.
func TestStatistics(t *testing.T) {
	record := func(text string) stream.Record { return stream.Record{Value: []byte(text)} }
	sums := &summed{}
	q := statistics(stream.Memory("events", [][]stream.Record{{
		record(`{"event":{"team":{"id":2},"match_id":1,"location":[1,2],"duration":0.5,"pass":{"length":4}},"metadata":{"event_time":"2026-03-01T15:00:01Z"}}`),
		record(`{"event":{"team":{"id":2},"match_id":1,"location":[3,4]},"metadata":{"event_time":"2026-03-01T15:00:02Z"}}`),
		record(`{"metadata":{"event_time":"2026-03-02T15:00:00Z"}}`)}})).To(sums)
	r, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"match": 1, "team": 2, "n": 2, "f0_mean": 2, "f0_variance": 2, "f0_min": 1, "f0_max": 3, "f1_mean": 3, "f2_mean": 0.5, "f3_max": 4}
	got := map[string]float64{}
	for i, name := range r.Results().Names() {
		if _, is := want[name]; is {
			got[name] = sums.sums[i]
		}
	}
	if sums.rows != 1 || len(sums.sums) != 21 || !maps.Equal(got, want) {
		t.Errorf("%d rows of %d columns, %v, want %v: %q", sums.rows, len(sums.sums), got, want, slices.Collect(maps.Keys(got)))
	}
}
