package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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

// did is a worker in the table that stays when the jobs have ended.
type did struct {
	Worker    string  `table:"worker"` // "": they ended before one had them
	Device    string  `table:"device"`
	Jobs      int     `table:"jobs"`
	Failed    int     `table:"failed"`
	Predicted float64 `table:"predicted_s"` // together
	Ran       float64 `table:"ran_s"`       // together
}

// byWorker tells who has done what, in the workers' order by name.
func byWorker(all []*Job) []did {
	sums := map[string]*did{}
	for _, j := range all {
		d := sums[j.Worker]
		if d == nil {
			d = &did{Worker: j.Worker, Device: string(j.WorkerType)}
			sums[j.Worker] = d
		}
		d.Jobs++
		if j.State != job.Completed {
			d.Failed++
		}
		if j.SameAs == "" { // else it is of the job before it of the same key
			d.Predicted += j.Predicted[j.WorkerType]
			d.Ran += j.Ran
		}
	}
	rows := make([]did, 0, len(sums))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		rows = append(rows, *sums[name])
	}
	return rows
}

// Results waits until jobs have ended, and returns a table of how: a row each, in the order of the ids. In a cell a bar tells meanwhile how
// many have, and a table how far those are that run and why the others wait where they do; at the end that tells who has done what.
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
	all := make([]*Job, len(ids))
	for {
		if err := k.look(ctx, ids, all); err != nil {
			return nil, err
		}
		open := slices.DeleteFunc(slices.Clone(all), over)
		bar.Set(len(all) - len(open))
		if len(open) == 0 {
			if t, err := table.Of(byWorker(all)); err == nil {
				frame.Set(t)
			}
			return all, nil
		}
		if t, err := table.Of(nowOf(open)); err == nil {
			frame.Set(t)
		}
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func over(j *Job) bool { return j != nil && j.State.Ended() }

// together is how many jobs are asked for at the same time: a scheduler elsewhere answers each after some milliseconds.
const together = 64

// look brings up to date what is known of jobs. Of those that were submitted here and run, it asks for as many as are shown.
func (k *Cluster) look(ctx context.Context, ids []string, all []*Job) error {
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(together)
	looked := 0
	for i, id := range ids {
		if over(all[i]) {
			continue
		}
		if looked++; looked > shown && k.answers.runs(id) {
			continue
		}
		asking.Go(func() (err error) {
			all[i], err = k.known(ctx, id)
			return err
		})
	}
	return asking.Wait()
}

// known is Job for one that was submitted here, and whose submission may still be on its way.
func (k *Cluster) known(ctx context.Context, id string) (*Job, error) {
	j, err := k.Job(ctx, id)
	if err == nil || errors.Is(err, ErrClosed) || k.answers.of(id) == nil {
		return j, err
	}
	return &Job{Spec: Spec{ID: id}, State: job.Queued, Reason: "on its way to the scheduler"}, nil
}

// nowOf are the first jobs that have not ended, as far as they are known.
func nowOf(open []*Job) (rows []now) {
	for _, j := range open {
		if j == nil || len(rows) == shown {
			continue
		}
		n := now{j.ID, j.Type, j.State, j.Worker, "", j.Reason}
		if j.State == job.Running {
			n.Progress = fmt.Sprintf("%.0f %% %s", 100*j.Progress, j.Doing)
			if eta := j.ETA(time.Now()); eta > 0 {
				n.Progress += ", " + eta.Round(100*time.Millisecond).String() + " left"
			}
		}
		rows = append(rows, n)
	}
	return rows
}
