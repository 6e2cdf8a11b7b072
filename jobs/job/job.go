package job

import (
	"encoding/json"
	"maps"
	"time"

	"cancha/jobs/placement"
)

// Job is what is known of a job.
type Job struct {
	Spec
	State     State
	Submitted time.Time
	// SameAs is the id of the job that was submitted before under the same key: this one ends as that one does.
	SameAs   string
	Assigned time.Time // the last time; zero: never
	Started  time.Time // likewise
	Ended    time.Time // zero: it has not
	// Attempt counts how often it was given to a worker. What comes of an earlier attempt is of no account.
	Attempt int
	// Begun counts how often a worker began with it: the job fails for good when that is MaxAttempts.
	Begun int
	// Again is before when it is not tried again; zero: at once.
	Again time.Time
	// Worker is who has it, or had it last.
	Worker     string
	WorkerType placement.Device // its device
	Model      string           // of that device
	// Reason is why it went there, or why it waits, in words.
	Reason string
	// Predicted are the seconds for which it would run on the best worker of each device.
	Predicted map[placement.Device]float64
	// Progress is the share that is done, from 0 to 1, and Doing what it does, as the job tells itself.
	Progress float64
	Doing    string
	// Ran is for how many seconds the last attempt ran, without its transfer to the worker.
	Ran float64
	// Result is what a completed job returned, as JSON.
	Result json.RawMessage `json:",omitempty"`
	// Error is why the last attempt failed, also of a job that is tried again.
	Error string
}

// Outcome is the body of a result, as the contract has it: what a consumer of result_queue reads.
func (j *Job) Outcome() ([]byte, error) { return j.outcome(false) }

// OutcomeAgain is Outcome of a result that may have been sent before, and is marked so.
func (j *Job) OutcomeAgain() ([]byte, error) { return j.outcome(true) }

func (j *Job) outcome(redelivered bool) ([]byte, error) {
	fields := map[string]any{
		"schema": Schema, "job_id": j.ID, "job_type": j.Type, "status": j.State, "attempt": j.Attempt, "attempts": j.Begun,
		"submitted_at": unix(j.Submitted), "completed_at": unix(j.Ended), "execution_time": j.Ran, "processing_time": j.Ran,
	}
	put := func(name string, value any, is bool) {
		if is {
			fields[name] = value
		}
	}
	put("redelivered", true, redelivered)
	put("result", j.Result, len(j.Result) > 0)
	put("error", j.Error, j.Error != "" && j.State != Completed)
	put("worker_id", j.Worker, j.Worker != "")
	put("worker_type", j.WorkerType, j.WorkerType != "")
	put("device", j.Model, j.Model != "")
	put("same_as", j.SameAs, j.SameAs != "")
	put("reason", j.Reason, j.Reason != "")
	put("predicted", j.Predicted, len(j.Predicted) > 0)
	put("started_at", unix(j.Started), !j.Started.IsZero())
	put("queue_time", j.Started.Sub(j.Submitted).Seconds(), !j.Started.IsZero())
	back := map[string]json.RawMessage{}
	for name, value := range j.Unknown {
		if ofOutcome(name) {
			back[name] = value
		}
	}
	put("job_fields", back, len(back) > 0)
	others := maps.Clone(j.Unknown)
	maps.DeleteFunc(others, func(name string, _ json.RawMessage) bool { return ofOutcome(name) })
	return marshalWith(fields, others)
}

// ofOutcome tells whether a field of a result is ours, whether it is there or not: a producer's own "error" would be taken for that of a
// job that has completed.
func ofOutcome(name string) bool {
	switch name {
	case "schema", "job_id", "job_type", "status", "attempt", "attempts", "submitted_at", "started_at", "completed_at", "execution_time",
		"processing_time", "queue_time", "redelivered", "result", "error",
		"worker_id", "worker_type", "device", "same_as", "reason", "predicted", "job_fields":
		return true
	}
	return false
}

// ETA is in how long a running job ends, by the share that it tells; 0: unknown.
func (j *Job) ETA(now time.Time) time.Duration {
	if j.State != Running || j.Progress < leastProgress || j.Progress > 1 {
		return 0
	}
	return time.Duration(float64(now.Sub(j.Started)) * (1 - j.Progress) / j.Progress)
}

// leastProgress is from where on the share tells the rest.
const leastProgress = 0.02
