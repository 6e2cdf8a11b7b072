package monitor_test

import (
	"encoding/json"
	"io"
	"math"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/internal/running"
	"cancha/runtime/monitor"
)

// TestSparkForms: the paths of Spark's REST API answer with its names.
func TestSparkForms(t *testing.T) {
	s := newSite(t)
	const app = "api/v1/applications/local-1/"
	for _, c := range []struct{ path, names string }{
		{"api/v1/version", "spark"},
		{"api/v1/applications", "id name attempts"},
		{app + "jobs", "jobId name description submissionTime stageIds jobGroup status numTasks numActiveTasks numCompletedTasks numSkippedTasks numFailedTasks numKilledTasks numCompletedIndices numActiveStages numCompletedStages numSkippedStages numFailedStages killedTasksSummary"},
		{app + "jobs?status=running", "jobId"},
		{app + "jobs/2", "jobId status"},
		{app + "stages", "status stageId attemptId numTasks numActiveTasks numCompleteTasks numFailedTasks submissionTime executorRunTime inputBytes inputRecords outputBytes outputRecords name description details schedulingPool rddIds accumulatorUpdates"},
		{app + "stages/2", "stageId"},
		{app + "stages/2/0", "stageId"},
		{app + "executors", "id hostPort isActive rddBlocks memoryUsed diskUsed totalCores maxTasks activeTasks failedTasks completedTasks totalTasks totalDuration totalGCTime totalInputBytes totalShuffleRead totalShuffleWrite maxMemory addTime executorLogs resources"},
		{app + "allexecutors", "id"},
		{app + "environment", "runtime sparkProperties hadoopProperties systemProperties metricsProperties classpathEntries resourceProfiles"},
		{app + "sql", "id status description planDescription submissionTime duration runningJobIds successJobIds failedJobIds nodes edges"},
		{app + "sql/1", "id nodes edges"},
		{app + "streaming/statistics", "startTime batchDuration numReceivers numActiveReceivers numInactiveReceivers numTotalCompletedBatches numRetainedCompletedBatches numActiveBatches numProcessedRecords numReceivedRecords avgInputRate avgSchedulingDelay avgProcessingTime avgTotalDelay"},
		{app + "streaming/receivers", "streamId streamName isActive avgEventRate"},
		{app + "streaming/batches", "batchId batchTime status batchDuration inputSize schedulingDelay processingTime totalDelay numActiveOutputOps numCompletedOutputOps numFailedOutputOps numTotalOutputOps"},
		{app + "streaming/queries", "id runId name state startTime duration totals"},
		{app + "streaming/queries/1", "notes sources partitions recentProgress"},
		{app + "streaming/queries/1/progress", "id runId name timestamp batchId batchDuration numInputRows inputRowsPerSecond processedRowsPerSecond durationMs eventTime stateOperators sources sink"},
	} {
		for name := range strings.FieldsSeq(c.names) {
			if _, ok := first(t, s.get(c.path))[name]; !ok {
				t.Errorf("%s: no %s", c.path, name)
			}
		}
	}
	if got := s.get(app + "storage/rdd"); got != "[]" {
		t.Errorf("storage: got %s, want nothing", got)
	}
	for _, path := range []string{"jobs/99", "jobs/1", "streaming/queries/2", "streaming/queries/x", "sql/2", "nothing"} {
		if got, body := s.ask("GET", app+path, nil); got != 404 {
			t.Errorf("%s: got %d %s, want 404", path, got, body)
		}
	}
}

// first is an object, or the first of a list of them.
func first(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	var list []map[string]any
	if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		return list[0]
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return object
}

// TestNumbers: a few values, as they are computed from what things say.
func TestNumbers(t *testing.T) {
	s := newSite(t)
	const app = "api/v1/applications/x/"
	q := first(t, s.get(app+"streaming/queries"))
	for name, want := range map[string]any{
		"name": hostile, "state": "RUNNING", "lag": 100.0, "schedulingDelay": 2000.0, "watermarkGapSecs": 99.0, "busy": 0.25, "skew": 4.0 / 3, "stateRows": 18.0,
	} {
		if q[name] != want {
			t.Errorf("query: %s: got %v, want %v", name, q[name], want)
		}
	}
	if got := first(t, s.get(app+"streaming/queries/1?after=97"))["recentProgress"].([]any); len(got) != 2 {
		t.Errorf("reports after 97: got %d, want 2", len(got))
	}
	j := first(t, s.get(app+"jobs/2"))
	for name, want := range map[string]any{"name": hostile, "jobGroup": "fit", "status": "RUNNING", "numTasks": 10.0, "numCompletedTasks": 4.0, "rows": 100.0, "bytes": 2000.0} {
		if j[name] != want {
			t.Errorf("job: %s: got %v, want %v", name, j[name], want)
		}
	}
	failed := first(t, s.get(app+"jobs?status=failed"))
	if failed["error"] != "no room for "+hostile {
		t.Errorf("a failed job: got %v", failed["error"])
	}
	e := first(t, s.get(app+"executors"))
	if e["activeTasks"] != 6.0 || e["completedTasks"] != 1.0 || e["failedTasks"] != 1.0 {
		t.Errorf("executor: got %v active, %v completed, %v failed, want 6, 1, 1", e["activeTasks"], e["completedTasks"], e["failedTasks"])
	}
	if got := s.get(app + "environment"); !strings.Contains(got, `["cancha.device","cpu"]`) || !strings.Contains(got, `"cancha.device":"CANCHA_DEVICE"`) {
		t.Errorf("environment: got %s, want the setting and where it comes from", got)
	}
}

// TestStatistics: the batches are those of which there is a report.
func TestStatistics(t *testing.T) {
	s := newSite(t)
	fresh := &flow{name: "fresh", fresh: true}
	fresh.entry = s.registry.Add(fresh)
	is := first(t, s.get("api/v1/applications/x/streaming/statistics"))
	if is["numActiveBatches"] != 2.0 || is["numTotalCompletedBatches"] != 100.0 || is["numRetainedCompletedBatches"] != 100.0 {
		t.Errorf("got %v, want two queries with 100 batches", is)
	}
}

// TestExecutor: what has ended is counted beyond what is listed of it, and what was read is not what was written.
func TestExecutor(t *testing.T) {
	s := newSite(t)
	for n := range 150 {
		for _, k := range []running.Kind{running.Load, running.Export} {
			job, err := running.NewJob(k, "over", 1, "matches"), error(nil)
			job.Handle(1, 1000)
			if n%3 == 0 {
				err = io.EOF
			}
			s.registry.Add(job).End(err)
		}
	}
	e := first(t, s.get("api/v1/applications/x/executors"))
	// Beside those: a fit that is over and one that failed; of the two that run and read, 2,000 bytes each.
	for name, want := range map[string]any{"activeTasks": 6.0, "completedTasks": 201.0, "failedTasks": 101.0, "totalTasks": 308.0, "totalInputBytes": 154_000.0} {
		if e[name] != want {
			t.Errorf("%s: got %v, want %v", name, e[name], want)
		}
	}
}

// TestHeldUp: a query that does not answer holds up neither the page nor the others.
func TestHeldUp(t *testing.T) {
	s := newSite(t)
	for range 20 {
		stuck := &flow{name: "stuck", held: make(chan struct{})}
		stuck.entry = s.registry.Add(stuck)
		defer close(stuck.held)
	}
	begun := time.Now()
	var list []map[string]any
	if err := json.Unmarshal([]byte(s.get("api/v1/applications/x/streaming/queries")), &list); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(list) != 21 || list[0]["isBusy"] != false || list[0]["lag"] != 100.0 || list[1]["isBusy"] != true {
		t.Errorf("got %v, want the first as it is and the others as busy", list)
	}
	begun = time.Now()
	var plans []map[string]any
	if err := json.Unmarshal([]byte(s.get("api/v1/applications/x/sql")), &plans); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the plans took %v", took)
	}
	if len(plans) != 21 || plans[0]["isBusy"] != false || plans[1]["isBusy"] != true || len(plans[1]["nodes"].([]any)) != 0 {
		t.Errorf("got %v, want the first as it is and the others as busy", plans)
	}
}

// TestSilent: the page, the JSON and the metrics tell that the last report is old, and for how long.
func TestSilent(t *testing.T) {
	s := newSite(t)
	s.query.silent = 20500 * time.Millisecond
	const app = "api/v1/applications/x/streaming/"
	q := first(t, s.get(app+"queries"))
	for name, want := range map[string]any{"isBusy": false, "inputRowsPerSecond": 0.0, "avgProcess": 0.0, "status": "No report for 20s: held up by its sink or a function"} {
		if q[name] != want {
			t.Errorf("%s: got %v, want %v", name, q[name], want)
		}
	}
	last, err := time.Parse("2006-01-02T15:04:05.000GMT", q["lastReport"].(string))
	if age := time.Since(last).Seconds(); err != nil || age < 20 || age > 30 || q["heldUp"].(float64) < 20_000 || q["busy"] != nil {
		t.Errorf("got the last report %v s ago, %v; %v", age, err, q)
	}
	if r := first(t, s.get(app+"receivers")); r["avgEventRate"] != 0.0 {
		t.Errorf("its source: got %v, want no rate", r)
	}
	text := s.get("metrics")
	for _, name := range []string{"input", "processed"} {
		if !regexp.MustCompile(`(?m)^cancha_streaming_` + name + `_rows_per_second\{.*\} 0$`).MatchString(text) {
			t.Errorf("the %s rate is not 0 in\n%s", name, text)
		}
	}
	m := regexp.MustCompile(`(?m)^cancha_streaming_last_report_timestamp_seconds\{.*\} (.*)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no time of the last report in\n%s", text)
	}
	if at, err := strconv.ParseFloat(m[1], 64); err != nil || math.Abs(at-float64(last.UnixMilli())/1000) > 5 {
		t.Errorf("the last report: got %v, %v, want %v", m[1], err, last)
	}
}

// TestEpochHeldUp: the page, the JSON and the metrics tell that an epoch does not come to its end, and that the numbers are those of now.
func TestEpochHeldUp(t *testing.T) {
	s := newSite(t)
	s.query.epoch = 12500 * time.Millisecond
	q := first(t, s.get("api/v1/applications/x/streaming/queries"))
	for name, want := range map[string]any{"heldUp": 0.0, "heldEpoch": 12500.0, "inputRowsPerSecond": 50.0, "status": "An epoch has been on its way for 12s: held up by its sink or its checkpoint"} {
		if q[name] != want {
			t.Errorf("%s: got %v, want %v", name, q[name], want)
		}
	}
	if text := s.get("metrics"); !regexp.MustCompile(`(?m)^cancha_streaming_epoch_age_seconds\{.*\} 12.5$`).MatchString(text) {
		t.Errorf("no age of the epoch in\n%s", text)
	}
}

// TestPorts: the next free port is taken, and the registry told; where none is free, why.
func TestPorts(t *testing.T) {
	one, two := newSite(t), newSite(t)
	if one.url == two.url || one.registry.Page().URL != one.server.URL() {
		t.Errorf("got %s and %s, want two pages; the registry has %+v", one.url, two.url, one.registry.Page())
	}
	if err := one.server.Close(); err != nil {
		t.Error(err)
	}
	if got := one.registry.Page().Off; got != "the page has been closed" {
		t.Errorf("after Close: got %q", got)
	}
	var r running.Registry
	if _, err := monitor.Start(t.Context(), monitor.Config{Registry: &r, Host: "203.0.113.1", Port: 4040}); err == nil || !strings.Contains(r.Page().Off, "no port from 4040 to 4055") {
		t.Errorf("no port: got %v and %q", err, r.Page().Off)
	}
}

// TestBeyondLoopback: the address that the registry has for a page on all interfaces has the token.
func TestBeyondLoopback(t *testing.T) {
	s := newSite(t, func(c *monitor.Config) { c.Host, c.Token = "0.0.0.0", token })
	_, port, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(s.url, "http://"), "/"))
	want := "http://127.0.0.1:" + port + "/?token=" + token
	if got := s.registry.Page(); got.URL != want || got.Proxied != "/proxy/"+port+"/?token="+token || strconv.Itoa(got.Port) != port {
		t.Errorf("got %+v, want %s", got, want)
	}
}
