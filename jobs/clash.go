package jobs

import (
	"context"
	"errors"
	"fmt"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
)

// clash tells that an id or a key of jobs is of another one, as far as a scheduler is there that knows. What fails otherwise is no matter:
// the scheduler looks again when it takes the jobs in.
func (k *Cluster) clash(ctx context.Context, all []submitted) error {
	var some []Spec
	for i := range all {
		if all[i].named || all[i].Key != "" {
			some = append(some, all[i].Spec)
		}
	}
	c, err := k.checked(ctx, some)
	switch {
	case c.Other != "":
		return fmt.Errorf("%w: %s", ErrOther, c.Other)
	case err != nil && (ctx.Err() != nil || errors.Is(err, ErrClosed)):
		return err
	}
	return nil
}

// Check tells whether a submission would be refused at once, as far as a scheduler is there that knows: the error is a *job.Invalid where
// its type is misspelled, or something else is wrong with it, and ErrOther where its ID or its Key is another job's.
func (k *Cluster) Check(ctx context.Context, s Spec) error {
	if k.answers.over() {
		return fmt.Errorf("jobs: check: %w", ErrClosed)
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("jobs: check: %w", err)
	}
	c, err := k.checked(ctx, []Spec{s})
	switch {
	case err != nil:
		return fmt.Errorf("jobs: check: %w", err)
	case c.Misspelled != nil:
		return fmt.Errorf("jobs: check: %w", c.Misspelled)
	case c.Other != "":
		return fmt.Errorf("jobs: check: %w: %s", ErrOther, c.Other)
	}
	return nil
}

// checked asks the scheduler of submissions, if one is there.
func (k *Cluster) checked(ctx context.Context, all []Spec) (c scheduler.Checked, err error) {
	if len(all) == 0 {
		return c, nil
	}
	if s := k.Scheduler(); s != nil {
		return s.CheckAll(ctx, all)
	}
	if info, err := k.broker.Inspect(ctx, job.QueueControl); err != nil || info.Consumers == 0 {
		return c, nil // nobody would answer; where the broker is away, the submission meets that, too
	}
	for len(all) > 0 && c == (scheduler.Checked{}) {
		n := fitting(all)
		a, err := k.ask(ctx, scheduler.Question{Ask: "check", Specs: all[:n]})
		if err != nil {
			return c, err
		}
		c, all = a.Checked, all[n:]
	}
	return c, nil
}

// fitting is how many specs, one at least, one question may have.
func fitting(all []Spec) int {
	bytes := 0
	for i := range all {
		if bytes += len(all[i].Parameters) + 4<<10; bytes > queue.MaxBody/4 && i > 0 {
			return i
		}
	}
	return len(all)
}
