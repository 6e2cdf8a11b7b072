package monitor_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"cancha/internal/running"
	"cancha/runtime/monitor"
	"cancha/runtime/session"
)

// hostile is a name with markup in it, as anybody may give to a topic or a query.
const hostile = `<img src=x onerror=alert(1)>&"'`

// flow is a query as the page sees it.
type flow struct {
	name       string
	partitions int
	entry      *running.Entry
	ends       string
	held       chan struct{} // where not nil, numbers and plan come only after it is closed
	silent     time.Duration // age of the newest report
	fresh      bool          // it has made no report yet
	epoch      time.Duration // for which its epoch has been on its way
}

func (s *flow) Kind() running.Kind { return running.Query }
func (s *flow) Name() string       { return s.name }
func (s *flow) Status() string     { return "Processing new data" }
func (s *flow) Notes() []string    { return []string{"No record had " + hostile} }

func (s *flow) Stop(context.Context) error  { s.ends = "stop"; s.entry.End(nil); return nil }
func (s *flow) Drain(context.Context) error { s.ends = "drain"; s.entry.End(nil); return nil }

func (s *flow) EpochAge() time.Duration { return s.epoch }

func (s *flow) Totals() running.Totals {
	if s.held != nil {
		<-s.held
	}
	return running.Totals{Records: 5000, Bad: 3, Late: 4, Lost: 1, Rows: 120, Retries: 2, Bytes: 1 << 20}
}

func (s *flow) Sources() []running.Partition {
	var all []running.Partition
	for i := range s.partitions {
		all = append(all, running.Partition{Source: "kafka " + hostile, Topic: hostile, ID: i, Records: int64(100 * (i + 1)), Offset: 7, Lag: 2, Watermark: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)})
	}
	return all
}

func (s *flow) Recent(after int64) []running.Progress {
	var all []running.Progress
	if s.fresh {
		return all
	}
	for b := max(0, after+1); b < 100; b++ {
		all = append(all, s.report(b))
	}
	return all
}

func (s *flow) Progress() running.Progress {
	if s.fresh {
		return running.Progress{}
	}
	return s.report(99)
}

func (s *flow) report(b int64) running.Progress {
	offsets := running.Offsets{hostile: {}}
	for i := range s.partitions {
		offsets[hostile][fmt.Sprint(i)] = 1000
	}
	const form = "2006-01-02T15:04:05.000Z"
	first := time.Now().UTC().Add(-100*time.Second - s.silent) // each takes a second
	return running.Progress{
		ID: "q", RunID: "r", Name: s.name, Timestamp: first.Add(time.Duration(b) * time.Second).Format(form), BatchID: b, BatchDuration: 250,
		NumInputRows: 50, InputRowsPerSecond: 50, ProcessedRowsPerSecond: 200, DurationMs: map[string]int64{"addBatch": 250, "walCommit": 10, "triggerExecution": 1000},
		EventTime: map[string]string{"watermark": first.Format(form)}, StateOperators: []running.StateOperator{{OperatorName: "windows", NumRowsTotal: 18, MemoryUsedBytes: 4096}},
		Sources: []running.SourceProgress{{Description: "kafka", NumInputRows: 50, EndOffset: offsets, Metrics: map[string]string{"lag": "100"}}},
	}
}

func (s *flow) Plan() running.Plan {
	if s.held != nil {
		<-s.held
	}
	return running.Plan{
		Text:  "read " + hostile,
		Nodes: []running.Node{{ID: 0, Kind: "source", Name: "read", Detail: hostile}, {ID: 1, Kind: "output", Name: "output", Metrics: []running.Metric{{Name: "state rows", Value: 18}}}},
		Edges: []running.Edge{{From: 0, To: 1, Rows: 5000}},
	}
}

// device and sender are a GPU session and a producer as the page sees them.
type device struct{}

func (device) Kind() running.Kind { return running.GPU }
func (device) Name() string       { return "A GPU" }
func (device) Device() running.DeviceState {
	half := 0.5
	return running.DeviceState{GPU: "A GPU", Operations: [2]int{1, 2}, Utilization: &half, Memory: &half, Power: &half, Temperature: &half}
}

type sender struct{}

func (sender) Kind() running.Kind { return running.Producer }
func (sender) Name() string       { return hostile }
func (sender) Sent() running.Sent {
	return running.Sent{Topic: hostile, Acknowledged: 9, Waiting: 1, Capacity: 16}
}

// site is a page over a registry of its own, and a client of it.
type site struct {
	*testing.T
	registry *running.Registry
	server   *monitor.Server
	query    *flow
	url      string
}

// newSite starts a page on which one of each kind of thing runs.
func newSite(t *testing.T, change ...func(*monitor.Config)) *site {
	t.Helper()
	s := &site{T: t, registry: &running.Registry{}, query: &flow{name: hostile, partitions: 2}}
	s.query.entry = s.registry.Add(s.query)
	for _, k := range []running.Kind{running.Fit, running.Load, running.Export} {
		job := running.NewJob(k, hostile, 10, "trees")
		job.Advance(4)
		job.Handle(100, 2000)
		s.registry.Add(job)
	}
	s.registry.Add(device{})
	s.registry.Add(sender{})
	s.registry.Add(running.NewJob(running.Fit, "over", 1, "trees")).End(nil)
	s.registry.Add(running.NewJob(running.Fit, "broken", 1, "trees")).End(fmt.Errorf("no room for %s", hostile))
	c := monitor.Config{Registry: s.registry, Port: 21000, Version: "1.2.3", Settings: []session.Setting{{Key: "cancha.device", Value: "cpu", From: "CANCHA_DEVICE"}}}
	for _, f := range change {
		f(&c)
	}
	server, err := monitor.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	s.server, s.url = server, strings.SplitN(server.URL(), "?", 2)[0]
	return s
}

// ask sends a request and returns its status and its body.
func (s *site) ask(method, path string, change func(*http.Request)) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// get returns what a path answers, which must be well.
func (s *site) get(path string) string {
	s.Helper()
	status, body := s.ask("GET", path, nil)
	if status != http.StatusOK {
		s.Fatalf("%s: got %d %s, want 200", path, status, body)
	}
	return body
}
