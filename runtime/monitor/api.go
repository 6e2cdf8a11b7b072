package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cancha/internal/running"
)

// jobKinds are what Jobs and Stages show.
func jobKinds() []running.Kind { return []running.Kind{running.Fit, running.Load, running.Export} }

// routes are the paths of the page. Those below an application take any id: there is one application in a process, and a link may be of the
// process before it.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	s.pageRoutes(m)
	m.HandleFunc("GET /metrics", s.serveMetrics)
	get := func(path string, answer func(r *http.Request) (any, error)) {
		m.Handle("GET /api/v1"+path, answering(answer))
	}
	get("/version", func(*http.Request) (any, error) { return map[string]string{"spark": s.config.Version}, nil })
	get("/applications", func(*http.Request) (any, error) { return []application{s.app.now(time.Now())}, nil })
	const app = "/applications/{app}"
	get(app, func(*http.Request) (any, error) { return s.app.now(time.Now()), nil })
	get(app+"/jobs", s.jobs)
	get(app+"/jobs/{id}", one(s.pull, jobKinds(), func(_ *http.Request, i item) any { return jobOf(i) }))
	get(app+"/stages", s.stages)
	get(app+"/stages/{id}", one(s.pull, jobKinds(), func(_ *http.Request, i item) any { return []stage{stageOf(i)} }))
	get(app+"/stages/{id}/{attempt}", one(s.pull, jobKinds(), func(_ *http.Request, i item) any { return stageOf(i) }))
	get(app+"/executors", s.executors)
	get(app+"/allexecutors", s.executors)
	get(app+"/storage/rdd", func(*http.Request) (any, error) { return []any{}, nil })
	get(app+"/environment", s.environment)
	get(app+"/sql", s.executions)
	get(app+"/sql/{id}", one(s.pull, nil, s.execution))
	get(app+"/streaming/statistics", s.statistics)
	get(app+"/streaming/receivers", s.receivers)
	get(app+"/streaming/batches", s.batches)
	queries := []running.Kind{running.Query}
	get(app+"/streaming/queries", s.queries)
	get(app+"/streaming/queries/{id}", one(s.pull, queries, func(r *http.Request, i item) any { return detailsOf(i, after(r)) }))
	get(app+"/streaming/queries/{id}/progress", one(s.pull, queries, func(r *http.Request, i item) any { return detailsOf(i, after(r)).Recent }))
	m.HandleFunc("POST /api/v1"+app+"/streaming/queries/{id}/stop", s.end((*running.Entry).Stop))
	m.HandleFunc("POST /api/v1"+app+"/streaming/queries/{id}/drain", s.end((*running.Entry).Drain))
	return m
}

// errUnknown says that nothing of that number is listed, or not any more.
var errUnknown = errors.New("unknown")

// answering writes what answer returns as JSON.
func answering(answer func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(r)
		if err != nil {
			writeJSON(w, http.StatusNotFound, map[string]string{"error": err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, v)
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // whoever asked has gone
}

// one answers for the entry whose number is in the path, if it is of one of the kinds and has an answer.
func one(p *puller, kinds []running.Kind, answer func(r *http.Request, i item) any) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		e, err := p.find(r, kinds)
		if err != nil {
			return nil, err
		}
		v := answer(r, p.item(e))
		if v == nil {
			return nil, errUnknown
		}
		return v, nil
	}
}

func (p *puller) find(r *http.Request, kinds []running.Kind) (*running.Entry, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, errUnknown
	}
	e := p.registry.Find(id)
	if e == nil || !is(e.Kind, kinds) {
		return nil, errUnknown
	}
	return e, nil
}

// after is the batch behind which reports are wanted.
func after(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// wanted tells whether a status is one of those that the request asks for: ?status=running, several times or not at all.
func wanted(r *http.Request, status string) bool {
	asked := r.URL.Query()["status"]
	return len(asked) == 0 || slices.ContainsFunc(asked, func(s string) bool { return strings.EqualFold(s, status) })
}

// newestFirst is the order in which Spark lists jobs.
func newestFirst[T any](items []item, of func(item) T, keep func(T) bool) []T {
	all := []T{}
	for _, i := range slices.Backward(items) {
		if v := of(i); keep(v) {
			all = append(all, v)
		}
	}
	return all
}

func (s *Server) jobs(r *http.Request) (any, error) {
	return newestFirst(s.pull.items(jobKinds()...), jobOf, func(j job) bool { return wanted(r, string(j.Status)) }), nil
}

func (s *Server) stages(r *http.Request) (any, error) {
	return newestFirst(s.pull.items(jobKinds()...), stageOf, func(t stage) bool { return wanted(r, t.Status) }), nil
}

func (s *Server) queries(*http.Request) (any, error) {
	all := []query{}
	for _, i := range s.pull.items(running.Query) {
		all = append(all, queryOf(i))
	}
	return all, nil
}

func (s *Server) executors(*http.Request) (any, error) {
	m := readMachine()
	e := executor{
		ID: "driver", HostPort: s.address.String(), IsActive: true, MemoryUsed: m.HeapBytes, TotalCores: m.Cores, MaxTasks: m.Cores,
		TotalDuration: time.Since(s.begun).Milliseconds(), TotalGCTime: int64(m.GCSeconds * 1000), MaxMemory: max(m.LimitBytes, m.TotalBytes),
		AddTime: date(s.begun), ExecutorLogs: map[string]string{}, Attributes: map[string]string{}, Resources: map[string]resource{}, Machine: m,
		GPUs: []gpu{}, Producers: []producer{},
	}
	for _, i := range s.pull.items() {
		e.add(i)
	}
	e.ended(s.config.Registry)
	e.TotalTasks = e.CompletedTasks + e.FailedTasks + int64(e.ActiveTasks)
	return []executor{e}, nil
}

// ended counts what has ended: the list has the newest of it only.
func (e *executor) ended(r *running.Registry) {
	for tally, n := range r.Tallies() {
		if tally.State == running.Failed {
			e.FailedTasks += n
		} else {
			e.CompletedTasks += n
		}
	}
	e.TotalInputBytes += r.Read()
}

// add counts what a listed entry says of the process.
func (e *executor) add(i item) {
	if i.State() == running.Running {
		e.ActiveTasks++
		e.TotalInputBytes += i.Work.Read(i.Kind)
	}
	switch i.Kind {
	case running.GPU:
		e.GPUs = append(e.GPUs, gpu{i.ID, i.Name, i.State(), i.Elapsed().Milliseconds(), i.Device})
		if i.Device.GPU != "" && i.State() == running.Running {
			e.Resources["gpu"] = resource{"gpu", []string{i.Device.GPU}}
		}
	case running.Producer:
		e.Producers = append(e.Producers, producer{i.ID, i.State(), i.Elapsed().Milliseconds(), i.Sent})
	}
}

func (s *Server) environment(*http.Request) (any, error) {
	e := environment{
		Runtime: map[string]string{"goVersion": strings.TrimPrefix(runtime.Version(), "go"), "version": s.config.Version}, SparkProperties: [][2]string{},
		HadoopProperties: [][2]string{}, MetricsProperties: [][2]string{}, ClasspathEntries: [][2]string{}, ResourceProfiles: []any{}, Origins: map[string]string{},
		SystemProperties: [][2]string{
			{"os", runtime.GOOS}, {"architecture", runtime.GOARCH}, {"processors", strconv.Itoa(runtime.NumCPU())}, {"GOMAXPROCS", strconv.Itoa(runtime.GOMAXPROCS(0))},
		},
	}
	for _, setting := range s.config.Settings {
		e.SparkProperties = append(e.SparkProperties, [2]string{setting.Key, setting.Value})
		e.Origins[setting.Key] = setting.From
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			e.ClasspathEntries = append(e.ClasspathEntries, [2]string{m.Path, m.Version})
		}
	}
	return e, nil
}

func (s *Server) executions(r *http.Request) (any, error) {
	items := s.pull.items(running.Query)
	plans := make([]any, len(items))
	var asking sync.WaitGroup // as in items: each that is held up is waited for
	for n, i := range items {
		asking.Go(func() { plans[n] = s.execution(r, i) })
	}
	asking.Wait()
	return slices.DeleteFunc(plans, func(x any) bool { return x == nil }), nil
}

// execution is a plan with what has gone through it; nil of what has none.
func (s *Server) execution(_ *http.Request, i item) any {
	plan, late, ok := s.pull.plan(i.Entry)
	if !ok {
		return nil
	}
	x := execution{
		ID: i.ID, Status: map[running.State]string{running.Running: "RUNNING", running.Succeeded: "COMPLETED", running.Failed: "FAILED"}[i.State()], Description: i.Name,
		PlanDescription: plan.Text, SubmissionTime: date(i.Started), Duration: i.Elapsed().Milliseconds(), RunningJobIDs: []int64{}, SuccessJobIDs: []int64{},
		FailedJobIDs: []int64{}, Nodes: []sparkNode{}, Edges: []sparkEdge{}, Late: late || i.Late, HeldUp: i.Hold.Silent.Milliseconds(), HeldEpoch: i.Hold.Epoch.Milliseconds(),
	}
	for _, n := range plan.Nodes {
		node := sparkNode{NodeID: n.ID, NodeName: n.Name, Metrics: []sparkMetric{}, Kind: n.Kind, Detail: n.Detail}
		for _, m := range n.Metrics {
			node.Metrics = append(node.Metrics, sparkMetric{m.Name, strconv.FormatInt(m.Value, 10)})
		}
		x.Nodes = append(x.Nodes, node)
	}
	for _, e := range plan.Edges {
		x.Edges = append(x.Edges, sparkEdge{e.From, e.To, e.Rows})
	}
	return x
}

// endPatience is how long the page waits for a query to end. It ends later too.
const endPatience = 10 * time.Second

// end stops or drains the query of a request.
func (s *Server) end(how func(*running.Entry, context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, err := s.pull.find(r, []running.Kind{running.Query})
		if err != nil {
			writeJSON(w, http.StatusNotFound, map[string]string{"error": err.Error()})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), endPatience)
		defer cancel()
		status, said := http.StatusOK, map[string]string{"state": "ended"}
		switch err := how(e, ctx); {
		case errors.Is(err, running.ErrCannot):
			status, said = http.StatusConflict, map[string]string{"error": err.Error()}
		case ctx.Err() != nil:
			status, said = http.StatusAccepted, map[string]string{"state": "ending"}
		case err != nil:
			said["error"] = err.Error() // how the query ended
		}
		writeJSON(w, status, said)
	}
}
