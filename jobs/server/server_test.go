package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/server"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

// site is a server with a scheduler of its own.
type site struct {
	testing.TB
	url       string
	token     string // that requests have; "": none
	server    *server.Server
	scheduler *scheduler.Scheduler
	broker    *local.Broker
}

// newSite starts a broker, a scheduler and a server on loopback.
func newSite(t testing.TB, change ...func(*server.Config)) *site {
	t.Helper()
	return newSiteOn(t, func(b queue.Broker) queue.Broker { return b }, change...)
}

// newSiteOn has the scheduler and the server see another broker than there is.
func newSiteOn(t testing.TB, as func(queue.Broker) queue.Broker, change ...func(*server.Config)) *site {
	t.Helper()
	s := &site{TB: t}
	var err error
	if s.broker, err = local.Open(t.TempDir(), local.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.broker.Close() })
	kept, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	settings := scheduler.Settings{Lease: 5 * time.Second, Backoff: 10 * time.Millisecond, Placement: placement.Settings{Explore: -1}}
	if s.scheduler, err = scheduler.Start(t.Context(), as(s.broker), kept, settings, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.scheduler.Close() })
	c := server.Config{Scheduler: s.scheduler, Broker: as(s.broker), Address: "127.0.0.1:0", Version: "v1"}
	for _, f := range change {
		f(&c)
	}
	if s.server, err = server.Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.server.Close(); err != nil {
			t.Error(err)
		}
	})
	s.url = s.server.Address()
	with, err := url.Parse(s.server.URL())
	if err != nil {
		t.Fatal(err)
	}
	s.token = with.Query().Get("token")
	return s
}

// work starts a worker.
func (s *site) work(id string, device placement.Device, funcs map[string]worker.Func) {
	s.Helper()
	w, err := worker.Start(s.Context(), worker.Config{Broker: s.broker,
		Worker: placement.Worker{ID: id, Device: device, Model: "test", Memory: 8e9, Slots: 2}, Funcs: funcs, Beat: 100 * time.Millisecond})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = w.Close() })
}

// ask sends a request; change may be nil.
func (s *site) ask(method, path, body string, change func(*http.Request)) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// get asks for JSON, and reads it.
func (s *site) get(path string, to any) {
	s.Helper()
	status, body := s.ask("GET", path, "", nil)
	if status != 200 {
		s.Fatalf("%s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), to); err != nil {
		s.Fatalf("%s: %v in %s", path, err, body)
	}
}

// shown is what the tests read of a job.
type shown struct {
	ID         string             `json:"job_id"`
	Type       string             `json:"job_type"`
	State      string             `json:"state"`
	Status     string             `json:"status"`
	Reason     string             `json:"reason"`
	Predicted  map[string]float64 `json:"predicted"`
	Progress   float64            `json:"progress"`
	Doing      string             `json:"doing"`
	ETA        float64            `json:"eta"`
	Error      string             `json:"error"`
	Worker     string             `json:"worker_id"`
	Device     string             `json:"worker_type"`
	Parameters json.RawMessage    `json:"parameters"`
	Result     json.RawMessage    `json:"result"`
	Unknown    map[string]any     `json:"unknown"`
	Can        []string           `json:"can"`
}

func (s *site) job(id string) (j shown) {
	s.Helper()
	status, body := s.ask("GET", "jobs/"+url.PathEscape(id), "", nil)
	if status == 200 && json.Unmarshal([]byte(body), &j) != nil {
		s.Fatalf("got %s", body)
	}
	return j
}

// until waits until something is so.
func (s *site) until(what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%s: it does not become so", what)
		}
	}
}

func (s *site) becomes(id, state string) (j shown) {
	s.Helper()
	s.until(id+" is "+state, func() bool { j = s.job(id); return j.State == state })
	return j
}

// TestJobs: a job is submitted, seen while it runs and when it has ended, cancelled and replayed.
func TestJobs(t *testing.T) {
	s := newSite(t)
	finish, fails := make(chan struct{}), errors.New("not today")
	s.work("w", placement.CPU, map[string]worker.Func{
		"slow": func(ctx context.Context, t *worker.Task) (any, error) {
			t.Progress(0.25, "a quarter")
			select {
			case <-finish:
				return map[string]int{"sum": 3}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		"bad": func(context.Context, *worker.Task) (any, error) { return nil, fails },
	})
	s.until("a worker", func() bool { all, err := s.scheduler.Workers(t.Context()); return err == nil && len(all) == 1 })
	const hostile = `a/b <i>&"é?#`
	id, _ := json.Marshal(hostile)
	status, body := s.ask("POST", "jobs", fmt.Sprintf(`{"job_type":"slow","job_id":%s,"parameters":{"x":1},"note":"mine"}`, id), nil)
	if status != 202 || !strings.Contains(body, `"job_type":"slow"`) {
		t.Fatalf("got %d %s", status, body)
	}
	s.until("progress", func() bool { return s.job(hostile).Progress == 0.25 })
	if j := s.job(hostile); j.State != "running" || j.Doing != "a quarter" || j.Worker != "w" || j.Device != "cpu" ||
		!strings.HasPrefix(j.Reason, "cpu: ") || !(j.Predicted["cpu"] > 0) || fmt.Sprint(j.Can) != "[cancel]" ||
		string(j.Parameters) != `{"x":1}` || j.Unknown["note"] != "mine" {
		t.Errorf("got %+v", j)
	}
	var workers struct {
		Workers []struct {
			ID      string `json:"worker_id"`
			State   string
			Slots   int
			Running []job.Run
		}
	}
	if s.get("workers", &workers); len(workers.Workers) != 1 || workers.Workers[0].State != "ready" || workers.Workers[0].Slots != 2 ||
		len(workers.Workers[0].Running) != 1 || workers.Workers[0].Running[0].Job != hostile {
		t.Errorf("got %+v", workers)
	}
	close(finish)
	if j := s.becomes(hostile, "completed"); string(j.Result) != `{"sum":3}` || j.Status != "completed" || j.Can != nil {
		t.Errorf("got %+v", j)
	}
	s.ask("POST", "jobs", `{"job_type":"bad","job_id":"d","max_attempts":1}`, nil)
	if j := s.becomes("d", "dead"); j.Error != "not today" || fmt.Sprint(j.Can) != "[replay]" {
		t.Errorf("got %+v", j)
	}
	if status, body := s.ask("POST", "jobs/d/replay", "", nil); status != 200 || !strings.Contains(body, `"job_id":"d"`) {
		t.Errorf("got %d %s", status, body)
	}
	s.becomes("d", "dead")
	s.ask("POST", "jobs", `{"job_type":"nobody","job_id":"q"}`, nil)
	s.becomes("q", "queued")
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{{"jobs/q/cancel", 200, `"state":"cancelled"`}, {"jobs/q/cancel", 409, "cancelled already"}, {"jobs/q/replay", 409, "only dead ones"},
		{"jobs/none/cancel", 404, "there is no such job"}, {"jobs/q/eat", 404, ""}} {
		if status, body := s.ask("POST", c.path, "", nil); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: got %d %s, want %d %s", c.path, status, body, c.status, c.says)
		}
	}
}

// TestList: filters, pages, and what no list is asked for.
func TestList(t *testing.T) {
	s := newSite(t)
	for i := range 5 {
		s.ask("POST", "jobs", fmt.Sprintf(`{"job_type":"t%d","job_id":"%d"}`, i%2, i), nil)
		s.becomes(fmt.Sprint(i), "queued")
	}
	if err := s.scheduler.Cancel(t.Context(), "4"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"": "4 3 2 1 0 false", "?limit=2": "4 3 true", "?limit=2&skip=3": "1 0 false",
		"?type=t1": "3 1 false", "?state=cancelled": "4 false",
		"?state=queued,running&limit=1": "3 true", "?state=cancelled&state=queued&type=t0": "4 2 0 false", "?worker=w": "false", "?state=": "4 3 2 1 0 false"} {
		var list struct {
			Jobs []shown
			More bool
		}
		s.get("jobs"+query, &list)
		got := ""
		for _, j := range list.Jobs {
			got += j.ID + " "
			if j.Parameters != nil || j.Result != nil {
				t.Errorf("a list has parameters and results: %+v", j)
			}
		}
		if got += fmt.Sprint(list.More); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	for query, says := range map[string]string{"?state=odd": "it is one or more of [queued", "?limit=0": "1 to 1000",
		"?limit=1001": "1 to 1000", "?skip=-1": "from 0", "?skip=x": "from 0"} {
		if status, body := s.ask("GET", "jobs"+query, "", nil); status != 400 || !strings.Contains(body, says) {
			t.Errorf("%s: got %d %s, want 400 %s", query, status, body, says)
		}
	}
	if status, body := s.ask("GET", "jobs/none", "", nil); status != 404 || !strings.Contains(body, "no such job") {
		t.Errorf("got %d %s", status, body)
	}
}

// TestSubmit: what cannot be a job is refused before it is one, and says which field is wrong.
func TestSubmit(t *testing.T) {
	s := newSite(t)
	for body, want := range map[string]string{
		"no JSON": "400 want a JSON object", `{"job_type":"matrix_multiply","size":1e12}`: "400 at most 4 TB",
		`{"job_type":"vector_addition","size":-1}`: "400 size: -1", "{}": "400 job_type: missing",
		`{"job_type":"t","data":{"x":"` + strings.Repeat("x", 3<<20) + `"}}`: "413 write large data into a file",
		`{"job_type":"t","priority":10}`:                                     "400 priority", `{"job_type":"t","job_id":""}`: "400 job_id: it is empty",
		`{"job_type":"t","job_id":".."}`: "400 a part of an address", "": "400 want a JSON object",
	} {
		status, answer := s.ask("POST", "jobs", body, nil)
		code, says, _ := strings.Cut(want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(answer, says) {
			t.Errorf("%.60s: got %d %s, want %s", body, status, answer, want)
		}
	}
	var list struct{ Jobs []shown }
	if s.get("jobs", &list); len(list.Jobs) != 0 {
		t.Errorf("got %+v", list)
	}
	var answer struct {
		ID string `json:"job_id"`
	}
	status, body := s.ask("POST", "jobs", `{"job_type":"t"}`, nil)
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 202 || answer.ID == "" {
		t.Fatalf("got %d %s", status, body)
	}
	s.becomes(answer.ID, "queued")
}

// TestFields: the package's comment has each field of the JSON.
func TestFields(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range []string{"api.go", "view.go", "events.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`json:\"(\\w+)").FindAllStringSubmatch(string(text), -1) {
			if n++; !regexp.MustCompile(`\b` + m[1] + `\b`).Match(doc) {
				t.Errorf("%s: doc.go does not tell of %s", file, m[1])
			}
		}
	}
	if n < 60 {
		t.Errorf("%d fields: the files have been misread", n)
	}
}

// TestQueues: each is counted, and one that is gone says so.
func TestQueues(t *testing.T) {
	s := newSite(t)
	s.ask("POST", "jobs", `{"job_type":"t","job_id":"c"}`, nil)
	s.becomes("c", "queued")
	if err := s.scheduler.Cancel(t.Context(), "c"); err != nil { // its result waits for a reader
		t.Fatal(err)
	}
	s.until("counts", func() bool {
		var all struct {
			Queues []struct {
				Name             string
				Ready, Consumers *int
				Error            string
			}
		}
		s.get("queues", &all)
		seen := map[string]string{}
		for _, q := range all.Queues {
			if q.Error != "" || q.Ready == nil || q.Consumers == nil {
				t.Fatalf("got %+v", q)
			}
			seen[q.Name] = fmt.Sprint(*q.Ready, *q.Consumers)
		}
		return len(seen) == 8 && seen[job.QueueJobs] == "0 1" && seen[job.QueueResults] == "1 0" && seen[job.QueueGPU] == "0 0"
	})
}

// TestHealth: it is well until the broker is gone, and then says why to those who may know.
func TestHealth(t *testing.T) {
	s := newSite(t)
	foreign := func(r *http.Request) { r.Header.Del("Authorization") }
	if status, body := s.ask("GET", "health", "", foreign); status != 200 || strings.TrimSpace(body) != `{"status":"ok"}` {
		t.Errorf("got %d %s", status, body)
	}
	if err := s.broker.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.scheduler.Done()
	if status, body := s.ask("GET", "health", "", nil); status != 503 || !strings.Contains(body, "the broker is gone") {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := s.ask("GET", "health", "", foreign); status != 503 || strings.TrimSpace(body) != `{"status":"trouble"}` {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := s.ask("GET", "metrics", "", nil); status != 200 || !strings.Contains(body, "cancha_jobs_up 0\n") {
		t.Errorf("got %d %s", status, body)
	}
	for _, path := range []string{"GET jobs", "GET jobs/a", "GET workers", "GET stats", "POST jobs/a/cancel", "POST jobs/a/replay"} {
		method, address, _ := strings.Cut(path, " ")
		if status, body := s.ask(method, address, "", nil); status != 503 || !strings.Contains(body, "the broker is gone") {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
}

// TestNoRoute: what there is not, and by no such method, is said as all else is.
func TestNoRoute(t *testing.T) {
	s := newSite(t)
	for path, want := range map[string]string{"GET nothing": "404 there is no", "GET jobs/": "404 there is no", "GET jobs/a/b": "404 there is no", "GET page.html": "404 there is no", "GET jobs/a/cancel": "405 takes POST",
		"POST health": "405 takes GET, HEAD", "HEAD jobs": "200 ", "HEAD events": "200 ", "GET jobs/%2e%2e%2fstats": "404 no such job", "GET jobs/" + strings.Repeat("x", 60000): "404 x", "GET jobs/%ff": "404 no such job"} {
		method, address, _ := strings.Cut(path, " ")
		code, says, _ := strings.Cut(want, " ")
		status, body := s.ask(method, address, "", nil)
		var answer struct{ Error string }
		if fmt.Sprint(status) != code || !strings.Contains(body, says) || len(body) > 2000 || status != 200 && (json.Unmarshal([]byte(body), &answer) != nil || answer.Error == "") {
			t.Errorf("%.60s: got %d %.2000s, want %s", path, status, body, want)
		}
	}
}

// full is a broker one of whose queues takes nothing for a while.
type full struct {
	queue.Broker
	queue string
	mends chan struct{} // closed when it takes messages again
}

func (f *full) Publish(ctx context.Context, name string, all ...queue.Message) error {
	select {
	case <-f.mends:
	default:
		if name == f.queue {
			return fmt.Errorf("%s: %w", name, queue.ErrFull)
		}
	}
	return f.Broker.Publish(ctx, name, all...)
}

// TestTrouble: while nothing goes on, who only looks gets an answer soon, and who wants something done hears why; and then all is well again.
func TestTrouble(t *testing.T) {
	broker := &full{queue: job.QueueResults, mends: make(chan struct{})}
	s := newSiteOn(t, func(b queue.Broker) queue.Broker { broker.Broker = b; return broker })
	s.ask("POST", "jobs", `{"job_type":"t","job_id":"a"}`, nil)
	s.becomes("a", "queued")
	go func() { _ = s.scheduler.Cancel(t.Context(), "a") }() // it returns when its result is on its way
	s.until("trouble", func() bool {
		status, body := s.ask("GET", "health", "", nil)
		return status == 503 && strings.Contains(body, job.QueueResults)
	})
	begun := time.Now()
	var asking sync.WaitGroup
	for _, path := range []string{"jobs", "jobs/a", "workers", "stats", "metrics"} {
		asking.Go(func() {
			status, body := s.ask("GET", path, "", nil)
			if path == "metrics" {
				if status != 200 || !strings.Contains(body, "cancha_jobs_up 0\n") || !strings.Contains(body, "cancha_jobs_queue_messages{") {
					t.Errorf("%s: got %d %s", path, status, body)
				}
			} else if status != 200 || path == "stats" && !strings.Contains(body, "has no room") {
				t.Errorf("%s: got %d %s", path, status, body)
			}
		})
	}
	asking.Go(func() {
		if status, body := s.ask("GET", "jobs/unheard", "", nil); status != 503 || !strings.Contains(body, "nothing goes on at the moment: ") { // it may be on its way
			t.Errorf("got %d %s", status, body)
		}
	})
	asking.Wait()
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("the answers took %v", took)
	}
	close(broker.mends)
	s.until("all is well", func() bool { status, _ := s.ask("GET", "health", "", nil); return status == 200 })
	s.until("cancelled", func() bool { return s.job("a").State == "cancelled" })
}

// reader reads a stream of events.
type reader struct {
	*site
	lines *bufio.Scanner
}

func (s *site) stream(path, lastID string) *reader {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), "GET", s.url+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "text/event-stream" {
		s.Fatalf("got %d, %s", answer.StatusCode, kind)
	}
	return &reader{s, bufio.NewScanner(answer.Body)}
}

// next is the next event: its number, and its job and state. What it does not get in time ends with the test's.
func (r *reader) next() (id, what string) {
	r.Helper()
	for r.lines.Scan() {
		switch name, value, _ := strings.Cut(r.lines.Text(), ": "); name {
		case "id":
			id = value
		case "data":
			var e struct {
				Number uint64
				ID     string `json:"job_id"`
				State  string
			}
			if err := json.Unmarshal([]byte(value), &e); err != nil || fmt.Sprint(e.Number) != id {
				r.Fatalf("event %s: %v in %s", id, err, value)
			}
			return id, e.ID + " " + e.State
		}
	}
	r.Fatalf("the stream ends: %v", r.lines.Err())
	return "", ""
}

// TestEvents: a stream has what happens from then on, and another goes on behind the number that the first has seen last.
func TestEvents(t *testing.T) {
	s := newSite(t)
	s.ask("POST", "jobs", `{"job_type":"t","job_id":"before"}`, nil)
	s.until("it is put down", func() bool { _, last, err := s.scheduler.Events(0, 1); return err == nil && last == 1 })
	first := s.stream("events", "")
	s.ask("POST", "jobs", `{"job_type":"t","job_id":"a"}`, nil)
	id, what := first.next()
	if what != "a queued" {
		t.Fatalf("got %s", what)
	}
	if err := s.scheduler.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*reader{"the first": first, "one that goes on": s.stream("events", id), "one that says so in the address": s.stream("events?after="+id, "")} {
		if _, what := r.next(); what != "a cancelled" {
			t.Errorf("%s: got %s", name, what)
		}
	}
	if _, what := s.stream("events", "0").next(); what != "before queued" {
		t.Errorf("got %s", what)
	}
	if _, what := s.stream("events?after=-1", "").next(); what != "a cancelled" {
		t.Errorf("the last one: got %s", what)
	}
	if _, what := s.stream("events?after=-9223372036854775808", "").next(); what != "before queued" {
		t.Errorf("of all that there are: got %s", what)
	}
	if _, what := s.stream("events", "1000000").next(); what != "before queued" {
		t.Errorf("of another store: got %s", what)
	}
	if status, body := s.ask("GET", "events?after=x", "", nil); status != 400 || !strings.Contains(body, "number of an event") {
		t.Errorf("got %d %s", status, body)
	}
}

// TestManyStreams: they are bounded, and closing the server ends them.
func TestManyStreams(t *testing.T) {
	s := newSite(t)
	var all []*reader
	for range 64 {
		all = append(all, s.stream("events", ""))
	}
	if status, body := s.ask("GET", "events", "", nil); status != 503 || !strings.Contains(body, "which is the most") {
		t.Errorf("got %d %s", status, body)
	}
	if err := s.server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		for r.lines.Scan() {
		}
	}
}

// TestStart: what cannot be started says so.
func TestStart(t *testing.T) {
	s := newSite(t)
	if _, err := server.Start(t.Context(), server.Config{}); err == nil || !strings.Contains(err.Error(), "without a Scheduler") {
		t.Errorf("got %v", err)
	}
	taken := server.Config{Scheduler: s.scheduler, Broker: s.broker, Address: strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/")}
	if _, err := server.Start(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "give another address") {
		t.Errorf("got %v", err)
	}
}

// report is how a worker tells that an attempt has ended.
func report(id string, attempt int) queue.Message {
	body, _ := json.Marshal(job.Report{Job: id, Attempt: attempt, Worker: "w", Device: placement.CPU})
	return queue.Message{ID: id, Body: body}
}
