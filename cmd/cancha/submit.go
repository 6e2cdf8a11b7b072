//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cancha/jobs"
	"cancha/jobs/job"
)

// submitOptions is what "cancha job submit" is asked for.
type submitOptions struct {
	folder string // "": the RabbitMQ of the environment
	spec   jobs.Spec
	wait   bool
}

func parseSubmit(args []string) (o submitOptions, err error) {
	flags := newFlags("job submit", "", "Submits a job and prints its id; with -wait, its result as JSON when it has ended. It waits for a scheduler to be there, as workers do.")
	said, p := jobsFlag(flags), parameters{}
	flags.BoolVar(&o.wait, "wait", false, "wait until it has ended; on stderr stands meanwhile what it waits for")
	specFlags(flags, &o.spec, time.Now())
	flags.Var(p, "p", "set a parameter, `name=value`, where the value is JSON or else a text; may be given again")
	if err := parseAll(flags, args); err != nil {
		return o, err
	}
	o.spec.Parameters = jsonParameters(p)
	if o.wait && o.spec.ReplyTo != "" {
		return o, usageError{"job submit", errors.New("-wait takes the result, and -reply-to sends it elsewhere: leave out one of both")}
	}
	if err := o.spec.Check(); err != nil {
		return o, usageError{"job submit", err}
	}
	o.folder, err = jobsPlace(flags, *said)
	return o, err
}

// specFlags are the fields of a Spec as flags, but for its parameters.
func specFlags(flags *flag.FlagSet, s *jobs.Spec, now time.Time) {
	flags.StringVar(&s.Type, "type", "", "`job type`, such as "+job.MatrixMultiply)
	flags.StringVar(&s.ID, "id", "", "`id` of the job; without it one is made")
	flags.StringVar(&s.Key, "key", "", "`key` that two submissions of one job have, under whatever ids: the second is answered with the first one's result")
	flags.StringVar((*string)(&s.Device), "device", "", "`cpu or gpu`, an order; without it where it ends first")
	flags.BoolVar(&s.PreferGPU, "prefer-gpu", false, "a wish, that decides between devices that are as good")
	flags.IntVar(&s.Priority, "priority", 0, "`0 to 9`, 9 first")
	flags.Var(&moment{&s.NotBefore, now}, "not-before", "`when` it may begin: 2006-01-02T15:04:05Z, or a duration from now, such as 90s")
	flags.Var(&moment{&s.Deadline, now}, "deadline", "`when` it is of no use any more, 2006-01-02T15:04:05Z or a duration from now: it fails if it has not ended by then")
	flags.DurationVar(&s.Timeout, "timeout", 0, "that one attempt may take, as a `duration`")
	flags.IntVar(&s.Attempts, "attempts", 0, "`number` of times that it is tried at most (default 3)")
	flags.Func("after", "`id` of a job that must have completed first; may be given again, or several with commas between them", func(text string) error {
		s.After = append(s.After, strings.Split(text, ",")...)
		return nil
	})
	flags.DurationVar(&s.ResultTTL, "result-ttl", 0, "for how long the ended job is kept, as a `duration` (default 24h)")
	flags.StringVar(&s.ReplyTo, "reply-to", "", "`queue` that the result goes to (default "+job.QueueResults+")")
	flags.StringVar(&s.Correlation, "correlation-id", "", "`text` that the result's message repeats (default the job's id)")
}

// moment is a time of day as a flag, or one that is so long from now.
type moment struct {
	at  *time.Time
	now time.Time
}

func (m *moment) String() string { return "" }

// Set reads one.
func (m *moment) Set(text string) (err error) {
	if d, failed := time.ParseDuration(text); failed == nil {
		*m.at = m.now.Add(d)
		return nil
	}
	if *m.at, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("want a time such as 2006-01-02T15:04:05Z, or a duration from now, such as 90s")
	}
	return nil
}

func runSubmit(ctx context.Context, args []string) error {
	o, err := parseSubmit(args)
	if err != nil {
		return err
	}
	b, err := waitForJobs(ctx, o.folder, "cancha")
	if err != nil {
		return err
	}
	k, err := jobs.Open(ctx, jobs.Config{Broker: b})
	if err == nil {
		err = errors.Join(submit(ctx, os.Stdout, os.Stderr, k, o.spec, o.wait), k.Close())
	}
	return errors.Join(err, b.Close())
}

func submit(ctx context.Context, w, log io.Writer, k *jobs.Cluster, s jobs.Spec, wait bool) error {
	if !wait {
		s.ReplyTo = cmp.Or(s.ReplyTo, job.QueueResults) // this process will not be there to hear of it
	}
	soon, cancel := context.WithTimeoutCause(ctx, jobsPatience, fmt.Errorf("it is not taken after %v", jobsPatience))
	defer cancel()
	if err := k.Check(soon, s); err != nil {
		if invalid := (*job.Invalid)(nil); errors.As(err, &invalid) {
			err = usageError{"job submit", err}
		}
		return err
	}
	ids, err := k.Submit(soon, s)
	if err != nil {
		return err
	}
	if !wait {
		fmt.Fprintln(w, ids[0])
		return nil
	}
	r, err := waitTelling(ctx, log, k, ids[0])
	if err != nil {
		return err
	}
	if r.State != job.Completed {
		return fmt.Errorf("job %s is %s: %s", r.ID, r.State, r.Error)
	}
	fmt.Fprintf(log, "job %s on %s, %s\n", r.ID, r.Worker, r.Reason)
	fmt.Fprintln(w, string(r.Value))
	return nil
}

// telling is after how long it is told what a job waits for, and how often that is looked at.
const telling = time.Second

// waitTelling waits for a job's end, and tells what it waits for, each time that it is something else.
func waitTelling(ctx context.Context, log io.Writer, k *jobs.Cluster, id string) (*jobs.Result, error) {
	for told := ""; ; {
		short, cancel := context.WithTimeout(ctx, telling)
		r, err := k.Wait(short, id)
		over := short.Err() == nil || ctx.Err() != nil
		cancel()
		if err == nil || over {
			return r, err
		}
		if why := waitsFor(ctx, k, id); why != "" && why != told {
			told = why
			fmt.Fprintf(log, "job %s %s\n", id, why)
		}
	}
}

// waitsFor is what a job waits for, in words; "": it runs, or nobody knows.
func waitsFor(ctx context.Context, k *jobs.Cluster, id string) string {
	short, cancel := context.WithTimeout(ctx, telling)
	defer cancel()
	j, err := k.Job(short, id)
	switch {
	case err != nil && ctx.Err() == nil:
		return "waits: the scheduler has not answered yet"
	case err != nil || j.State != job.Queued:
		return ""
	case !j.NotBefore.IsZero() && time.Now().Before(j.NotBefore):
		return "waits until " + j.NotBefore.Format(time.RFC3339)
	case j.Error != "":
		return fmt.Sprintf("is tried again: %.300s", j.Error)
	}
	return cmp.Or(j.Reason, "waits for a worker")
}
