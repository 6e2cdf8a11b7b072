package running

import (
	"errors"
	"sync/atomic"
)

// Job is a Thing for work that has an end: a fit, a load, an export. Its methods may be called from any goroutine.
type Job struct {
	kind       Kind
	name, unit string
	total      int64
	done       atomic.Int64
	rows       atomic.Int64
	bytes      atomic.Int64
}

// NewJob returns a job of so many units, such as trees; 0 is an unknown number.
func NewJob(kind Kind, name string, total int, unit string) *Job {
	return &Job{kind: kind, name: name, unit: unit, total: int64(total)}
}

// errUnfinished is how a job ended whose function has not returned: by a panic, say.
var errUnfinished = errors.New("ended early")

// Do calls f, and lists the job in this process while f runs.
func (j *Job) Do(f func() error) error {
	e, err := Process().Add(j), errUnfinished
	defer func() { e.End(err) }()
	err = f()
	return err
}

// Kind implements Thing.
func (j *Job) Kind() Kind { return j.kind }

// Name implements Thing.
func (j *Job) Name() string { return j.name }

// Advance notes that so many units more are done.
func (j *Job) Advance(units int) { j.done.Add(int64(units)) }

// Handle notes that so many rows and bytes more have been read or written.
func (j *Job) Handle(rows, bytes int64) {
	j.rows.Add(rows)
	j.bytes.Add(bytes)
}

// Work implements Worker.
func (j *Job) Work() Work {
	return Work{Done: j.done.Load(), Total: j.total, Unit: j.unit, Rows: j.rows.Load(), Bytes: j.bytes.Load()}
}
