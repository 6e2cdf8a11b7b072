package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/store"
)

// folderTypes are those that cancha worker has with a folder.
func folderTypes() []string { return []string{"notebook", "stream_query", "go_function", "forest_fit"} }

// misspelled is the type that a type is most likely meant to be which nobody knows; "": none. It is one of all workers, or one of those
// with a folder where such a worker has been there. Types of programs are not compared: "task_a" and "task_b" are both.
func (s *state) misspelled(kind string) string {
	if s.knows(kind) {
		return ""
	}
	return job.Misspelled(kind, append(job.Types(), slices.DeleteFunc(folderTypes(), func(name string) bool { return !s.types[name] })...))
}

// misspelling is what is said of such a type.
func misspelling(kind, meant string) *job.Invalid {
	return &job.Invalid{Field: "job_type", Why: fmt.Sprintf("%q; no worker runs it: is %q meant?", kind, meant)}
}

// ErrOther tells that a job's id, or its key, is of another job, of another type or with other parameters.
var ErrOther = errors.New("another job has it")

// Check looks at a submission that is not taken in yet, for what is known of it here alone. The error is a *job.Invalid where its type is
// misspelled, and ErrOther where its id or its key is of another job. known tells that the job is there already.
func (s *Scheduler) Check(ctx context.Context, spec *job.Spec) (known bool, err error) {
	meant := ""
	if err := s.look(ctx, func(st *state, _ time.Time) { meant = st.misspelled(spec.Type) }); err != nil {
		return false, fmt.Errorf("jobs/scheduler: check: %w", err)
	}
	if meant != "" {
		return false, misspelling(spec.Type, meant)
	}
	var why string
	var failed error
	err = s.look(ctx, func(st *state, _ time.Time) { known, why, failed = st.clashes(spec) })
	switch err = cmp.Or(err, failed); {
	case err != nil:
		return false, fmt.Errorf("jobs/scheduler: check: %w", err)
	case why != "":
		return known, fmt.Errorf("%w: %s", ErrOther, why)
	}
	return known, nil
}

// Checked is why one of some submissions would be refused.
type Checked struct {
	Misspelled *job.Invalid `json:"misspelled,omitempty"` // its type is; nil: none is
	Other      string       `json:"other,omitempty"`      // its id or key is another job's, in words; "": none is
}

// together is of how many submissions is told in one turn.
const together = 256

// CheckAll is Check for many submissions: it tells of the first one that would be refused.
func (s *Scheduler) CheckAll(ctx context.Context, all []job.Spec) (c Checked, err error) {
	for some := range slices.Chunk(all, together) {
		failed := error(nil)
		err := s.look(ctx, func(st *state, _ time.Time) { c, failed = st.check(some) })
		if err = cmp.Or(err, failed); err != nil {
			return Checked{}, fmt.Errorf("jobs/scheduler: check: %w", err)
		}
		if c != (Checked{}) {
			break
		}
	}
	return c, nil
}

func (s *state) check(all []job.Spec) (c Checked, err error) {
	for i := range all {
		if meant := s.misspelled(all[i].Type); meant != "" {
			c.Misspelled = misspelling(all[i].Type, meant)
		}
		if _, c.Other, err = s.clashes(&all[i]); err != nil || c != (Checked{}) {
			return c, err
		}
	}
	return c, nil
}

// clashes tells why a submission is refused whose id or key is another job's; "": it is not. known tells that the job is there.
func (s *state) clashes(spec *job.Spec) (known bool, why string, err error) {
	before, err := s.find(spec.ID)
	switch {
	case err == nil:
		return true, before.Other(spec), nil
	case !errors.Is(err, store.ErrUnknown):
		return false, "", err
	}
	same, err := s.same(spec)
	if same != nil {
		why = same.OtherOfKey(spec)
	}
	return false, why, err
}
