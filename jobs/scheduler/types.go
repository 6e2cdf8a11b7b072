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
func misspelling(kind, meant string) error {
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
	before, err := s.job(ctx, spec.ID)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return false, s.checkKey(ctx, spec)
	case err != nil:
		return false, fmt.Errorf("jobs/scheduler: check: %w", err)
	}
	if why := before.Other(spec); why != "" {
		return true, fmt.Errorf("%w: %s", ErrOther, why)
	}
	return true, nil
}

// checkKey tells that a new job's key is of another one.
func (s *Scheduler) checkKey(ctx context.Context, spec *job.Spec) error {
	why, failed := "", error(nil)
	err := s.look(ctx, func(st *state, _ time.Time) {
		same, err := st.same(spec)
		if failed = err; same != nil {
			why = same.OtherOfKey(spec)
		}
	})
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("jobs/scheduler: check: %w", err)
	}
	if why != "" {
		return fmt.Errorf("%w: %s", ErrOther, why)
	}
	return nil
}
