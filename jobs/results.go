package jobs

import (
	"context"
	"fmt"
	"time"

	"cancha/jobs/job"
	"cancha/runtime/live"
	"cancha/runtime/table"
)

// row is a job in the table of Results.
type row struct {
	Job       string  `table:"job"`
	Type      string  `table:"type"`
	State     State   `table:"state"`
	Device    string  `table:"device"`
	Worker    string  `table:"worker"`
	Predicted float64 `table:"predicted_s"` // on that device
	Ran       float64 `table:"ran_s"`
	Queued    float64 `table:"queued_s"`
	Attempts  int     `table:"attempts"`
	Why       string  `table:"why"`
}

func rowOf(j *Job) row {
	r := outcome(j)
	why := r.Reason
	if r.Error != "" && r.State != job.Completed {
		why = r.Error
	}
	return row{r.ID, r.Type, r.State, r.Device, r.Worker, j.Predicted[j.WorkerType], r.Seconds, r.Queued, r.Attempts, why}
}

// now is how a job that has not ended stands in the table that shows meanwhile.
type now struct {
	Job      string `table:"job"`
	Type     string `table:"type"`
	State    State  `table:"state"`
	Worker   string `table:"worker"`
	Progress string `table:"progress"`
	Why      string `table:"why"`
}

// shown is how many jobs stand in that table.
const shown = 12

// Results waits until jobs have ended, and returns a table of how: a row each, in the order of the ids. In a cell a bar tells meanwhile how many have, and a
// table how far those are that run.
func (k *Cluster) Results(ctx context.Context, ids ...string) (*table.Table, error) {
	all, err := k.watch(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("jobs: results: %w", err)
	}
	rows := make([]row, len(all))
	for i, j := range all {
		rows[i] = rowOf(j)
	}
	return table.Of(rows)
}

// often is how often jobs are looked at.
const often = 250 * time.Millisecond

// watch waits for jobs, and shows those that have not ended.
func (k *Cluster) watch(ctx context.Context, ids []string) ([]*Job, error) {
	frame, bar := live.NewFrame(), live.NewProgress(len(ids), "jobs")
	defer frame.Close()
	defer bar.Done()
	all, ended := make([]*Job, len(ids)), 0
	for {
		var open []now
		for i, id := range ids {
			if all[i] != nil && all[i].State.Ended() {
				continue
			}
			j, err := k.known(ctx, id)
			if err != nil {
				return nil, err
			}
			if all[i] = j; j.State.Ended() {
				ended++
			} else if len(open) < shown {
				open = append(open, nowOf(j))
			}
		}
		bar.Set(ended)
		if ended == len(ids) {
			frame.Set("")
			return all, nil
		}
		if t, err := table.Of(open); err == nil {
			frame.Set(t)
		}
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// known is Job for one that was submitted here, and whose submission may still be on its way.
func (k *Cluster) known(ctx context.Context, id string) (*Job, error) {
	j, err := k.Job(ctx, id)
	if err == nil || k.answers.of(id) == nil {
		return j, err
	}
	return &Job{Spec: Spec{ID: id}, State: job.Queued, Reason: "on its way to the scheduler"}, nil
}

func nowOf(j *Job) now {
	n := now{j.ID, j.Type, j.State, j.Worker, "", j.Reason}
	if j.State == job.Running {
		n.Progress = fmt.Sprintf("%.0f %% %s", 100*j.Progress, j.Doing)
		if eta := j.ETA(time.Now()); eta > 0 {
			n.Progress += ", " + eta.Round(100*time.Millisecond).String() + " left"
		}
	}
	return n
}
