package stream

import (
	"fmt"
	"slices"
	"time"
)

// Status tells what a query is doing now. The fields are those of Spark's StreamingQueryStatus.
type Status struct {
	Message         string `json:"message"`
	IsDataAvailable bool   `json:"isDataAvailable"` // the last batches had records
	IsTriggerActive bool   `json:"isTriggerActive"` // the query runs
}

// waiting is the message of a query that has nothing to do.
const waiting = "Waiting for data to arrive"

// status is what a run does. The run's mu guards it.
type status struct {
	message string
	cause   string // why it stopped, or cannot read; empty: it can
	away    bool   // a source said so last
	asked   bool   // Stop was called
	ending  string // why it ends, where the query has said so before
	retries int64
	read    int64 // records of the last epoch
	ended   time.Time
}

// retry notes that a source cannot read.
func (s *status) retry(err error, wait time.Duration) {
	s.retries++
	s.away = true
	s.message, s.cause = fmt.Sprintf("Cannot read, trying again in %v", wait.Round(time.Millisecond)), err.Error()
}

// back notes that a source reads again.
func (s *status) back() {
	if s.away {
		s.away, s.message, s.cause = false, waiting, ""
	}
}

// epoch notes how many records came.
func (s *status) epoch(records int64) {
	s.read = records
	switch {
	case s.away: // that is the news, also if records came before
	case records > 0:
		s.message = "Processing new data"
	default:
		s.message = waiting
	}
}

func (s *status) end(err error) {
	s.ended, s.message, s.cause = time.Now(), "Stopped", ""
	if err != nil {
		s.cause = err.Error()
	}
}

// Status tells what the query is doing now; while its broker is away, why and when it tries again.
func (r *Running) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Message: r.status.message, IsDataAvailable: r.status.read > 0, IsTriggerActive: r.status.ended.IsZero()}
	if r.status.cause != "" {
		s.Message += ": " + r.status.cause
	}
	return s
}

// Notes are sentences about this run that a user should read: that a consumer group goes on behind records that were read before, that no
// record has had a path, and, after the end, what ended it in order, and what could not be read then. An error of the run is Wait's.
func (r *Running) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}
