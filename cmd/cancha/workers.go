//go:build !windows

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"cancha/jobs"
)

// runWorkers lists the workers that a scheduler has heard of.
func runWorkers(ctx context.Context, args []string) error {
	flags := newFlags("job workers", "", "Lists the workers that are there, what they run, and the slots that they have lost to jobs which do not end.")
	said := jobsFlag(flags)
	if err := parseAll(flags, args); err != nil {
		return err
	}
	folder, err := jobsPlace(flags, *said)
	if err != nil {
		return err
	}
	return askJobs(ctx, folder, func(ctx context.Context, k *jobs.Cluster) error {
		all, err := k.Workers(ctx)
		if err != nil {
			return err
		}
		return listWorkers(os.Stdout, all, time.Now())
	})
}

func listWorkers(w io.Writer, all []jobs.Worker, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tON\tSTATE\tSLOTS\tSTUCK\tHEARD\tRUNS")
	for _, one := range all {
		state := "ready"
		switch {
		case one.Draining:
			state = "draining"
		case one.Stuck > 0:
			state = "stuck"
		}
		runs := ""
		for _, r := range one.Runs {
			runs += " " + r.Job
		}
		for _, r := range one.Hung {
			runs += fmt.Sprintf(" %s (does not end, %.0f s)", r.Job, r.Elapsed)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%v ago\t%.200s\n", one.ID, one.Device, state, max(one.Slots, 1), one.Stuck, now.Sub(one.Heard).Round(time.Second), runs)
	}
	return t.Flush()
}
