package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// The fields that a line has beside the contract's.
const (
	fieldEvent = "cancha_event" // the number of the job's end in its scheduler's store
	fieldWork  = "cancha_work"  // jobs of which it is the same do the same work
)

// Record is how a job has ended, as a line tells it. Times are seconds, moments Unix seconds.
type Record struct {
	ID        string                       `json:"job_id"`
	Type      string                       `json:"job_type"` // "": a submission that could not be read
	Status    job.State                    `json:"status"`
	Device    placement.Device             `json:"worker_type"` // "": it never ran
	Worker    string                       `json:"worker_id"`
	Ran       float64                      `json:"execution_time"`
	Queued    float64                      `json:"queue_time"`
	Submitted float64                      `json:"submitted_at"`
	Started   float64                      `json:"started_at"` // 0: unknown
	Completed float64                      `json:"completed_at"`
	Predicted map[placement.Device]float64 `json:"predicted"`
	Attempts  int                          `json:"attempts"`
	SameAs    string                       `json:"same_as"`      // the job whose result it has, since they share a key; "": it has its own
	Event     uint64                       `json:"cancha_event"` // 0: unknown
	Work      string                       `json:"cancha_work"`  // "": unknown
}

// Begin is when the last attempt began: as it was told, or else so long before the end as it ran.
func (r *Record) Begin() float64 {
	if r.Started > 0 {
		return r.Started
	}
	return r.Completed - r.Ran
}

// ran tells that it has run and completed, so that its times are its own: one of a key that was submitted before has that job's result, and
// its times, too.
func (r *Record) ran() bool { return r.Status == job.Completed && r.SameAs == "" }

// Line writes an ended job as a line, with its line end: the contract's result, the job's fields that are not of the contract among it, and
// the two of ours.
func Line(j *job.Job, event uint64) ([]byte, error) {
	text, err := j.Outcome()
	var fields map[string]json.RawMessage // so that numbers stay as they are written
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		if delete(fields, fieldEvent); event > 0 {
			fields[fieldEvent] = fmt.Appendf(nil, "%d", event)
		}
		fields[fieldWork], err = json.Marshal(workOf(&j.Spec))
	}
	if err == nil {
		text, err = json.Marshal(fields)
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/report: job %s: %w", j.ID, err)
	}
	return append(text, '\n'), nil
}

// workOf tells pieces of work apart: of the known types by what they compute, of others by their parameters.
func workOf(s *job.Spec) string {
	if w, err := s.Work(); err == nil && w.Operations > 0 {
		return fmt.Sprintf("%s, %.4g operations, %.4g bytes", w.Type, w.Operations, w.Bytes)
	}
	var parameters any // so that spaces and the order of fields do not count
	text := s.Parameters
	if json.Unmarshal(text, &parameters) == nil {
		text, _ = json.Marshal(parameters) // of what was JSON
	}
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("%s, parameters %016x", s.Type, h.Sum64())
}

// parse reads a line.
func parse(line []byte) (r Record, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("no result of a job: %w", err)
	}
	return r, r.check()
}

func (r *Record) check() error {
	switch {
	case r.ID == "":
		return errors.New("no result of a job: job_id is missing")
	case !r.Status.Ended():
		return fmt.Errorf("job %.60q has not ended: status is %.60q, and would be completed, failed, cancelled or dead", r.ID, r.Status)
	case r.Device != "" && r.Device != placement.CPU && r.Device != placement.GPU:
		return fmt.Errorf("job %.60q: worker_type is %.60q, and would be cpu or gpu", r.ID, r.Device)
	case !(r.Ran >= 0) || math.IsInf(r.Ran, 0):
		return fmt.Errorf("job %.60q: execution_time is %g, and would be seconds from 0", r.ID, r.Ran)
	case !(r.Completed > 0 && r.Completed < 1e11):
		return fmt.Errorf("job %.60q: completed_at is %g, and would be seconds since 1970", r.ID, r.Completed)
	}
	return nil
}

// moment is Unix seconds as a time in UTC.
func moment(seconds float64) time.Time { return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC() }
