package server

import (
	"encoding/json"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
)

// jobView is a job as JSON, under the names of the contract. Times are Unix seconds, durations seconds.
type jobView struct {
	ID        string                       `json:"job_id"`
	Type      string                       `json:"job_type"`
	State     job.State                    `json:"state"`
	Status    job.State                    `json:"status,omitempty"` // as in a result: of an ended job
	Reason    string                       `json:"reason,omitempty"`
	Predicted map[placement.Device]float64 `json:"predicted,omitempty"`
	Progress  float64                      `json:"progress,omitempty"`
	Doing     string                       `json:"doing,omitempty"`
	ETA       float64                      `json:"eta,omitempty"` // in how many seconds it ends, about; missing: unknown
	Error     string                       `json:"error,omitempty"`
	Priority  int                          `json:"priority"`
	Ordered   placement.Device             `json:"device_ordered,omitempty"` // "device" of the submission
	PreferGPU bool                         `json:"prefer_gpu,omitempty"`
	Worker    string                       `json:"worker_id,omitempty"`
	Device    placement.Device             `json:"worker_type,omitempty"`
	Model     string                       `json:"device,omitempty"` // as in a result: the model
	Attempt   int                          `json:"attempt"`
	Begun     int                          `json:"attempts"`
	Most      int                          `json:"max_attempts"`
	Submitted float64                      `json:"submitted_at"`
	Assigned  float64                      `json:"assigned_at,omitempty"`
	Started   float64                      `json:"started_at,omitempty"`
	Ended     float64                      `json:"completed_at,omitempty"`
	Again     float64                      `json:"again_at,omitempty"` // before when it is not tried again
	NotBefore float64                      `json:"not_before,omitempty"`
	Deadline  float64                      `json:"deadline,omitempty"`
	Timeout   float64                      `json:"timeout,omitempty"`
	Waited    float64                      `json:"queue_time,omitempty"`
	Ran       float64                      `json:"execution_time,omitempty"`
	Processed float64                      `json:"processing_time,omitempty"` // the same, by the contract's name
	Key       string                       `json:"key,omitempty"`
	SameAs    string                       `json:"same_as,omitempty"` // the job before it of the same key
	After     []string                     `json:"after,omitempty"`
	ReplyTo   string                       `json:"reply_to,omitempty"`
	TTL       float64                      `json:"result_ttl"`
	Can       []string                     `json:"can,omitempty"` // cancel, replay
	// These are shown of one job, and not in a list.
	Parameters json.RawMessage            `json:"parameters,omitempty"`
	Result     json.RawMessage            `json:"result,omitempty"`
	Unknown    map[string]json.RawMessage `json:"unknown,omitempty"` // fields of the submission that are not of the contract
}

func viewJob(j *job.Job, now time.Time) jobView {
	v := jobView{ID: j.ID, Type: j.Type, State: j.State, Reason: j.Reason, Predicted: j.Predicted, Progress: j.Progress, Doing: j.Doing,
		ETA: j.ETA(now).Seconds(), Error: j.Error,
		Priority: j.Priority, Ordered: j.Device, PreferGPU: j.PreferGPU, Worker: j.Worker, Device: j.WorkerType, Model: j.Model,
		Attempt: j.Attempt, Begun: j.Begun, Most: j.MaxAttempts(),
		Submitted: unix(j.Submitted), Assigned: unix(j.Assigned), Started: unix(j.Started), Ended: unix(j.Ended), Again: unix(j.Again),
		NotBefore: unix(j.NotBefore), Deadline: unix(j.Deadline),
		Timeout: j.Timeout.Seconds(), Ran: j.Ran, Processed: j.Ran, Key: j.Key, SameAs: j.SameAs, After: j.After, ReplyTo: j.ReplyTo,
		TTL: j.Keep().Seconds(), Can: can(j)}
	if j.State.Ended() {
		v.Status = j.State
	}
	if !j.Started.IsZero() {
		v.Waited = j.Started.Sub(j.Submitted).Seconds()
	}
	return v
}

// JobJSON is all of a job as /jobs/{id} answers it, indented: under the names of the contract, without what is empty.
func JobJSON(j *job.Job, now time.Time) ([]byte, error) {
	return json.MarshalIndent(wholeJob(j, now), "", "  ")
}

// wholeJob is a job with what a list leaves out.
func wholeJob(j *job.Job, now time.Time) jobView {
	v := viewJob(j, now)
	v.Parameters, v.Result, v.Unknown = j.Parameters, j.Result, j.Unknown
	return v
}

// can is what may be done with a job.
func can(j *job.Job) []string {
	switch {
	case !j.State.Ended():
		return []string{"cancel"}
	case j.State == job.Dead:
		return []string{"replay"}
	}
	return nil
}

// unix is a time in seconds since 1970; 0: there is none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

// workerView is a worker as JSON.
type workerView struct {
	ID      string           `json:"worker_id"`
	Type    placement.Device `json:"worker_type"`
	Model   string           `json:"device,omitempty"`
	Host    string           `json:"host,omitempty"`
	State   string           `json:"state"` // ready, starting, stuck, draining or silent
	Memory  float64          `json:"memory,omitempty"`
	Types   []string         `json:"job_types,omitempty"` // missing: all
	Slots   int              `json:"slots"`
	Ready   float64          `json:"ready_in,omitempty"`
	Heard   float64          `json:"heard_at"`
	Silent  float64          `json:"silent"` // for so many seconds nothing was heard of it
	Running []job.Run        `json:"running"`
	Stuck   []job.Run        `json:"stuck,omitempty"` // that nobody wants any more, and that do not end: each takes a slot
	Rates   placement.Rates  `json:"rates,omitzero"`
}

// workerStates are those of workerView.
func workerStates() []string { return []string{"ready", "starting", "stuck", "draining", "silent"} }

// silentAfter is after how long a worker is called silent: twice what it usually takes between two beats, and a little more.
const silentAfter = 5 * time.Second

func viewWorker(w *scheduler.Worker, now time.Time) workerView {
	silent := max(now.Sub(w.Heard), 0)
	v := workerView{ID: w.ID, Type: w.Device, Model: w.Model, Host: w.Host, State: "ready", Memory: w.Memory, Types: w.Types,
		Slots: max(w.Slots, 1), Ready: w.Ready,
		Heard: unix(w.Heard), Silent: silent.Seconds(), Running: w.Runs, Stuck: w.Hung, Rates: w.Rates}
	switch {
	case silent > silentAfter:
		v.State = "silent"
	case w.Draining:
		v.State = "draining"
	case w.Stuck > 0:
		v.State = "stuck"
	case w.Ready > 0:
		v.State = "starting"
	}
	if v.Running == nil {
		v.Running = []job.Run{}
	}
	return v
}

// queueView is a queue as JSON. What the broker does not tell is missing.
type queueView struct {
	Name      string `json:"name"`
	What      string `json:"what"`
	Ready     *int   `json:"ready,omitempty"`
	Delayed   *int   `json:"delayed,omitempty"`
	InHand    *int   `json:"in_hand,omitempty"`
	Consumers *int   `json:"consumers,omitempty"`
	Error     string `json:"error,omitempty"`
}

// viewedQueue is a queue that is shown, and what is in it.
type viewedQueue struct{ name, what string }

func viewedQueues() []viewedQueue {
	return []viewedQueue{{job.QueueJobs, "submissions"}, {job.QueueCPU, "jobs for any CPU worker"}, {job.QueueGPU, "jobs for any GPU worker"},
		{job.QueueResults, "results that nobody has read"}, {job.QueueReports, "how attempts have ended"}, {job.QueueControl, "questions to the scheduler"},
		{job.QueueLost, "jobs that killed their workers"}, {queue.DeadLetters, "dead letters"}}
}

func viewQueue(q viewedQueue, i queue.Info, err error) queueView {
	v := queueView{Name: q.name, What: q.what}
	if err != nil {
		v.Error = err.Error()
		return v
	}
	known := func(n int) *int {
		if n == queue.Unknown {
			return nil
		}
		return &n
	}
	v.Ready, v.Delayed, v.InHand, v.Consumers = known(i.Ready), known(i.Delayed), known(i.InHand), known(i.Consumers)
	return v
}
