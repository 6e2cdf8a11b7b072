package server_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/server"
	"cancha/jobs/worker"
)

// metrics are the values of series as Prometheus reads them: name{label="value",…}.
func (s *site) metrics() map[string]float64 {
	s.Helper()
	status, body := s.ask("GET", "metrics", "", nil)
	all := map[string]float64{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if _, twice := all[line[:max(at, 0)]]; status != 200 || err != nil || twice {
			s.Fatalf("got %d and %q: %v, twice: %v, in\n%s", status, line, err, twice, body)
		}
		all[line[:at]] = value
	}
	return all
}

// listed compares names, kinds and labels of what is written with deploy/metrics.txt, which rules and dashboards are held against.
func (s *site) listed() {
	s.Helper()
	text, err := os.ReadFile("../../deploy/metrics.txt")
	if err != nil {
		s.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(cancha_jobs\w+) \| (\w+) \|([^|]*)\|`).FindAllStringSubmatch(string(text), -1) {
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return r == ' ' || r == ',' })
		slices.Sort(labels)
		want[m[1]] = m[2] + " " + strings.Join(labels, ",")
	}
	_, body := s.ask("GET", "metrics", "", nil)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (cancha_jobs\w+) (\w+)\n\w+(?:\{(.*)\})? `).FindAllStringSubmatch(body, -1) {
		var labels []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[3], -1) {
			if l[1] != "le" { // every histogram's
				labels = append(labels, l[1])
			}
		}
		slices.Sort(labels)
		got[m[1]] = m[2] + " " + strings.Join(labels, ",")
	}
	for name := range want {
		if got[name] != want[name] {
			s.Errorf("deploy/metrics.txt has %s as %q, and it is written as %q", name, want[name], got[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			s.Errorf("deploy/metrics.txt does not list %s", name)
		}
	}
	if len(got) < 20 {
		s.Errorf("%d metrics seen: the page has been misread", len(got))
	}
}

// TestFamily: types that are of one process each, as those of jobs.Map, are one type for who counts.
func TestFamily(t *testing.T) {
	s := newSite(t)
	funcs := map[string]worker.Func{}
	var names []string
	for range 5 {
		names = append(names, "map."+rand.Text())
		funcs[names[len(names)-1]] = func(context.Context, *worker.Task) (any, error) { return 1, nil }
	}
	s.work("w", placement.CPU, funcs)
	for i, name := range append(names, "map."+rand.Text(), "map."+rand.Text(), "map.of", "."+rand.Text()) {
		s.ask("POST", "jobs", fmt.Sprintf(`{"job_type":%q,"job_id":"%d"}`, name, i), nil)
		if i < len(names) {
			s.becomes(fmt.Sprint(i), "completed")
		} else {
			s.becomes(fmt.Sprint(i), "queued")
		}
	}
	var got map[string]float64
	s.until("all is counted", func() bool {
		got = s.metrics()
		return got[`cancha_jobs_ended_total{device="cpu",outcome="completed",type="map"}`] == 5 &&
			got[`cancha_jobs_open_by_type{state="queued",type="map.of"}`] == 1
	})
	for series, want := range map[string]float64{`cancha_jobs_open_by_type{state="queued",type="map"}`: 2,
		`cancha_jobs_run_seconds_count{device="cpu",type="map"}`: 5, `cancha_jobs_wait_seconds_bucket{device="cpu",type="map",le="+Inf"}`: 5} {
		if got[series] != want {
			t.Errorf("%s: got %v, want %v", series, got[series], want)
		}
	}
	for series := range got {
		if strings.Contains(series, names[0][4:]) {
			t.Errorf("%s is of one process", series)
		}
	}
}

// TestMetrics: what Prometheus reads after jobs that completed, failed, run and wait.
func TestMetrics(t *testing.T) {
	s := newSite(t, func(c *server.Config) { c.Absent = []placement.Worker{{ID: "absent", Device: placement.GPU}} })
	finish := make(chan struct{})
	defer close(finish)
	s.work("w", placement.CPU, map[string]worker.Func{
		"quick": func(context.Context, *worker.Task) (any, error) { time.Sleep(2 * time.Millisecond); return 1, nil },
		"wrong": func(context.Context, *worker.Task) (any, error) { return nil, worker.Final(fmt.Errorf("no")) },
		"block": func(ctx context.Context, _ *worker.Task) (any, error) {
			select {
			case <-finish:
			case <-ctx.Done():
			}
			return nil, nil
		},
	})
	for i := range 3 {
		s.ask("POST", "jobs", fmt.Sprintf(`{"job_type":"quick","job_id":"%d"}`, i), nil)
		s.becomes(fmt.Sprint(i), "completed")
	}
	s.ask("POST", "jobs", `{"job_type":"wrong","job_id":"f"}`, nil)
	s.becomes("f", "failed")
	s.ask("POST", "jobs", `{"job_type":"block","job_id":"r"}`, nil)
	s.becomes("r", "running")
	s.ask("POST", "jobs", `{"job_type":"matrix_multiply","size":4096,"job_id":"g","device":"gpu"}`, nil)
	s.becomes("g", "queued")
	if err := s.broker.Publish(t.Context(), job.QueueReports, report("r", 7)); err != nil { // of an attempt that was given up
		t.Fatal(err)
	}
	var got map[string]float64
	s.until("it is counted", func() bool { // by a beat of the worker, what it runs
		got = s.metrics()
		return got["cancha_jobs_executed_twice_total"] == 1 && got[`cancha_jobs_worker_running{device="cpu"}`] == 1
	})
	for series, want := range map[string]float64{
		"cancha_jobs_up": 1, `cancha_jobs_build_info{version="v1"}`: 1,
		`cancha_jobs_open{state="running"}`: 1, `cancha_jobs_open{state="queued"}`: 1, `cancha_jobs_open_by_type{state="running",type="block"}`: 1,
		`cancha_jobs_ended_total{device="cpu",outcome="completed",type="quick"}`: 3,
		`cancha_jobs_ended_total{device="cpu",outcome="failed",type="wrong"}`:    1, `cancha_jobs_ended_total{device="cpu",outcome="dead",type="wrong"}`: 0,
		`cancha_jobs_events_total{state="completed"}`: 3, `cancha_jobs_events_total{state="dead"}`: 0, "cancha_jobs_refused_total": 0,
		`cancha_jobs_wait_seconds_count{device="cpu",type="quick"}`: 3, `cancha_jobs_run_seconds_count{device="cpu",type="quick"}`: 3,
		`cancha_jobs_run_seconds_bucket{device="cpu",type="quick",le="0.001"}`: 0,
		`cancha_jobs_run_seconds_bucket{device="cpu",type="quick",le="+Inf"}`:  3, `cancha_jobs_prediction_error_count{device="cpu",type="quick"}`: 2,
		`cancha_jobs_demand_jobs{device="gpu"}`: 1, `cancha_jobs_demand_unserved_jobs{device="gpu"}`: 1, `cancha_jobs_predicted_seconds{device="cpu"}`: 0,
		`cancha_jobs_workers{device="cpu",state="ready"}`: 1, `cancha_jobs_workers{device="gpu",state="ready"}`: 0,
		`cancha_jobs_worker_slots{device="cpu"}`: 2, `cancha_jobs_worker_running{device="cpu"}`: 1,
		`cancha_jobs_queue_messages{queue="job_queue",state="ready"}`: 0, `cancha_jobs_queue_consumers{queue="job_queue"}`: 1,
	} {
		if is, ok := got[series]; !ok || is != want {
			t.Errorf("%s: got %v (%v), want %v", series, is, ok, want)
		}
	}
	if seconds := got[`cancha_jobs_predicted_seconds{device="gpu"}`]; !(seconds > 0) {
		t.Errorf("a GPU that could be started: got %v seconds of demand", seconds)
	}
	if ran := got[`cancha_jobs_run_seconds_sum{device="cpu",type="quick"}`]; !(ran >= 0.006) {
		t.Errorf("got %v s", ran)
	}
	for series := range got {
		if !strings.HasPrefix(series, "cancha_jobs_") && !strings.HasPrefix(series, "go_") && !strings.HasPrefix(series, "process_") {
			t.Errorf("%s is of another house", series)
		}
	}
	s.listed()
	var stats struct {
		Open   map[string]int
		Demand map[string]struct{ Unserved int }
		Kinds  []struct {
			Type  string  `json:"job_type"`
			Run   float64 `json:"mean_run"`
			Error float64 `json:"prediction_factor"`
		}
	}
	if s.get("stats", &stats); stats.Open["running"] != 1 || stats.Demand["gpu"].Unserved != 1 || len(stats.Kinds) != 2 ||
		stats.Kinds[0].Type != "quick" || !(stats.Kinds[0].Run >= 0.002) || !(stats.Kinds[0].Error >= 1) {
		t.Errorf("got %+v", stats)
	}
}
