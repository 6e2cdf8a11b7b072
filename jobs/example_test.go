package jobs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"cancha/jobs"
	"cancha/jobs/placement"
	"cancha/jobs/scheduler"
)

// A program that has the scheduler decides by a strategy of its own where jobs go: here to the worker that has the fewest, whatever they cost. "cancha scheduler"
// has none; a program that opens the jobs with Schedule takes its place.
func ExampleConfig_strategy() {
	fewest := placement.StrategyFunc(func(_ placement.Job, all []placement.Candidate) string {
		best := all[0]
		for _, c := range all {
			if c.Given+len(c.Running) < best.Given+len(best.Running) {
				best = c
			}
		}
		return best.ID
	})
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	c, err := jobs.Open(ctx, jobs.Config{Folder: folder, Settings: scheduler.Settings{Placement: placement.Settings{Strategy: fewest}}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Submit(ctx, jobs.Spec{Type: jobs.MatrixMultiply, Parameters: jobs.Parameters{"size": 100, "iterations": 3}.JSON()})
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Wait(ctx, ids[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.State, strings.HasSuffix(r.Reason, "by the program's strategy"))
	// Output: completed true
}
