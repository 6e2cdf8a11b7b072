package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
)

// failure is the body of an answer that is an error.
type failure struct {
	Error string `json:"error"`
}

// writeJSON answers. Who has asked may have gone: then nobody misses it.
func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // of a number that is none
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// refuse answers with an error, under the status that its cause has.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var invalid *job.Invalid
	switch {
	case errors.Is(err, store.ErrUnknown):
		status = http.StatusNotFound
	case errors.As(err, &invalid):
		status = http.StatusBadRequest
	case errors.Is(err, scheduler.ErrOther):
		status = http.StatusConflict
	case s.ended(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, queue.ErrFull), errors.Is(err, queue.ErrClosed):
		status = http.StatusServiceUnavailable
		if why := s.trouble(); why != "" {
			err = fmt.Errorf("nothing goes on at the moment: %s", why)
		}
	}
	writeJSON(w, status, failure{fmt.Sprintf("%.1000s", err.Error())}) // it may repeat what was asked for
}

// patient bounds for how long the scheduler is waited for.
func (s *Server) patient(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), s.asker.patience())
}

// ended tells whether the scheduler has, so that it answers nothing any more.
func (s *Server) ended() bool {
	select {
	case <-s.config.Scheduler.Done():
		return true
	default:
		return false
	}
}

// trouble is why nothing goes on at the moment; "": all is well.
func (s *Server) trouble() string {
	if s.ended() {
		return "the scheduler has ended, or the broker is gone"
	}
	return s.config.Scheduler.Trouble()
}

// health tells whether jobs go on: 200, or 503. What is wrong is told to those who may know.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	why := s.trouble()
	answer, status := map[string]string{"status": "ok"}, http.StatusOK
	switch workers, slots := s.config.Scheduler.Stuck(); {
	case why != "":
		answer["status"], status = "trouble", http.StatusServiceUnavailable
	case workers > 0: // to start the scheduler anew would not help them
		answer["status"], why = "stuck", fmt.Sprintf("%d workers have lost %d slots to jobs that do not end though nobody wants them any more: start those workers anew", workers, slots)
	}
	if why != "" && s.guard.Knows(r) && !s.guard.Foreign(r) {
		answer["error"] = why
	}
	writeJSON(w, status, answer)
}

// mostListed is how many jobs one answer lists at most.
const mostListed = 1000

// listJobs lists the last jobs that match.
func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r.URL.Query())
	if err != nil {
		s.refuse(w, err)
		return
	}
	ctx, cancel := s.patient(r)
	defer cancel()
	all, more, err := s.find(ctx, q)
	if err != nil {
		s.refuse(w, err)
		return
	}
	views, now := make([]jobView, len(all)), time.Now()
	for i, j := range all {
		views[i] = viewJob(j, now)
	}
	writeJSON(w, http.StatusOK, map[string]any{"jobs": views, "more": more})
}

// mostSearches is how many lists are made at a time for which each job has to be read: 1 s for 100,000, of a processor that the scheduler
// has use for.
const mostSearches = 2

// find lists jobs; where that is a search, it may have to wait until others end.
func (s *Server) find(ctx context.Context, q store.Query) ([]*job.Job, bool, error) {
	if q.Type != "" || q.Worker != "" {
		select {
		case s.searches <- struct{}{}:
			defer func() { <-s.searches }()
		case <-ctx.Done():
			return nil, false, fmt.Errorf("%d lists by type or worker are being made, which is the most; ask again: %w", mostSearches, context.Cause(ctx))
		}
	}
	return s.config.Scheduler.Jobs(ctx, q)
}

// readQuery reads which jobs are asked for.
func readQuery(v url.Values) (q store.Query, err error) {
	q.Type, q.Worker = v.Get("type"), v.Get("worker")
	for _, states := range v["state"] {
		for name := range strings.SplitSeq(states, ",") {
			state := job.State(strings.TrimSpace(name))
			if state != "" && !state.Known() {
				return q, &job.Invalid{Field: "state", Why: fmt.Sprintf("%.100q; it is one or more of %v", name, job.States())}
			}
			if state != "" && !slices.Contains(q.States, state) { // each job is held against each
				q.States = append(q.States, state)
			}
		}
	}
	if q.Limit, err = readCount(v, "limit", 100, 1, mostListed); err != nil {
		return q, err
	}
	q.Skip, err = readCount(v, "skip", 0, 0, 1<<31-1)
	return q, err
}

func readCount(v url.Values, name string, usual, least, most int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, &job.Invalid{Field: name, Why: fmt.Sprintf("%.100q; it is a number from %d to %d", text, least, most)}
	}
	return n, nil
}

// showJob tells all of one job.
func (s *Server) showJob(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.patient(r)
	defer cancel()
	j, err := s.config.Scheduler.Job(ctx, r.PathValue("id"))
	if err != nil {
		s.refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, wholeJob(j, time.Now()))
}

// change does something to a job, and shows what has become of it.
func (s *Server) change(do func(context.Context, string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := s.patient(r)
		defer cancel()
		err := do(ctx, r.PathValue("id"))
		switch {
		case err == nil:
			s.showJob(w, r)
		case errors.Is(err, store.ErrUnknown), ctx.Err() != nil, s.ended():
			s.refuse(w, err)
		default: // it has ended, or has not
			writeJSON(w, http.StatusConflict, failure{err.Error()})
		}
	}
}

// submit puts a job into job_queue, as any program could: the answer says that it is there and durable, not that it has begun.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, job.MaxSubmission))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status, err = http.StatusRequestEntityTooLarge, fmt.Errorf("a job of more than %d bytes: write large data into a file, and give its name", job.MaxSubmission)
		}
		writeJSON(w, status, failure{err.Error()})
		return
	}
	m := queue.Message{ID: rand.Text(), Body: body, ContentType: "application/json"}
	spec, err := job.Read(&m)
	if err != nil {
		s.refuse(w, err)
		return
	}
	if err := addressable(spec.ID); err != nil {
		s.refuse(w, err)
		return
	}
	m.ID = spec.ID
	m.Priority = spec.Priority
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := s.admit(ctx, &spec); err != nil {
		s.refuse(w, err)
		return
	}
	if err := s.config.Broker.Publish(ctx, job.QueueJobs, m); err != nil {
		s.submissions.forget(spec.ID)
		s.refuse(w, fmt.Errorf("submit: %w", err))
		return
	}
	w.Header().Set("Location", "jobs/"+url.PathEscape(spec.ID))
	writeJSON(w, http.StatusAccepted, map[string]string{"job_id": spec.ID, "job_type": spec.Type})
}

// addressable tells whether a job could be asked for here by an id: of an empty one the scheduler makes another, and these parts of an
// address are taken out by browsers.
func addressable(id string) error {
	switch id {
	case "":
		return &job.Invalid{Field: "job_id", Why: "it is empty; leave it out, and one is made"}
	case ".", "..":
		return &job.Invalid{Field: "job_id", Why: fmt.Sprintf("%q cannot be a part of an address; take another one", id)}
	}
	return nil
}

// listQueues tells what the queues have.
func (s *Server) listQueues(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"queues": s.asker.messages()})
}

// listWorkers tells who works.
func (s *Server) listWorkers(w http.ResponseWriter, _ *http.Request) {
	all, err := s.asker.present()
	if err != nil {
		s.refuse(w, err)
		return
	}
	views, now := make([]workerView, len(all)), time.Now()
	for i := range all {
		views[i] = viewWorker(&all[i], now)
	}
	writeJSON(w, http.StatusOK, map[string]any{"workers": views})
}

// statsView is what was counted and measured, as JSON.
type statsView struct {
	Jobs    map[job.State]int               `json:"open"`   // that have not ended
	Events  map[job.State]int64             `json:"events"` // jobs that have come into a state, since the store was made
	Counted map[string]int64                `json:"counted"`
	Demand  map[placement.Device]demandView `json:"demand"`
	Kinds   []kindView                      `json:"kinds"`
	Trouble string                          `json:"trouble,omitempty"`
}

type demandView struct {
	Jobs     int     `json:"jobs"`
	Seconds  float64 `json:"seconds"`
	Unserved int     `json:"unserved"`
}

// kindView is what was measured of a type on a device since the scheduler began.
type kindView struct {
	Type   string              `json:"job_type"`
	Device placement.Device    `json:"worker_type,omitempty"`
	Ended  map[job.State]int64 `json:"ended"`
	Wait   float64             `json:"mean_wait,omitempty"`
	Run    float64             `json:"mean_run,omitempty"`
	Error  float64             `json:"prediction_factor,omitempty"` // how far off predictions are, usually: 1.2 is 20 %
	Bias   float64             `json:"prediction_bias,omitempty"`   // above 1: runs take longer
}

func (s *Server) stats(w http.ResponseWriter, _ *http.Request) {
	all, err := s.asker.stats()
	if err != nil {
		s.refuse(w, err)
		return
	}
	v := statsView{Jobs: all.States, Events: map[job.State]int64{}, Counted: map[string]int64{}, Demand: map[placement.Device]demandView{},
		Kinds: []kindView{}, Trouble: s.trouble()}
	for _, state := range job.States() {
		v.Events[state] = all.Counted["events."+string(state)]
	}
	for name, n := range all.Counted {
		if !strings.HasPrefix(name, "events.") {
			v.Counted[name] = n
		}
	}
	for device, d := range all.Demand {
		v.Demand[device] = demandView(d)
	}
	for _, k := range all.Kinds {
		one := kindView{Type: k.Type, Device: k.Device, Ended: k.Ended}
		if k.Run.Count > 0 {
			one.Wait, one.Run = k.Wait.Sum/float64(k.Run.Count), k.Run.Sum/float64(k.Run.Count)
		}
		if k.Error.Runs > 0 {
			one.Error, one.Bias = k.Error.Typical(), k.Error.Bias()
		}
		v.Kinds = append(v.Kinds, one)
	}
	writeJSON(w, http.StatusOK, v)
}
