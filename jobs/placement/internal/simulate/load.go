package simulate

import (
	"fmt"
	"math"

	"cancha/jobs/placement"
)

// Job is one of a load.
type Job struct {
	placement.Job // Waited and Worker are the simulation's own
	Submitted     float64
	// Seconds is how long it takes on a worker of each device, as measured, its transfer included.
	Seconds map[placement.Device]float64
}

// Worker is one that takes part.
type Worker struct {
	placement.Worker         // as it describes itself; Ready, Stalled and Running are the simulation's own
	Joins            float64 // when it is heard of first
	Starts           float64 // seconds from then until it takes work
	First            float64 // seconds more for its first job of each type: libraries and funcs are loaded
	Stalls           float64 // when it stands still for good, its run with it; 0: never
	Slower           float64 // how many times longer than the load says a job takes here; 0: 1
}

// Lease is after how many seconds a worker that stands still is known to.
const Lease = 10.0

func validate(jobs []Job, workers []Worker) error {
	ids := map[string]bool{}
	for _, j := range jobs {
		if j.ID == "" || ids[j.ID] {
			return fmt.Errorf("simulate: job %q: its id is missing, or another's", j.ID)
		}
		ids[j.ID] = true
		if !number(j.Submitted) {
			return fmt.Errorf("simulate: job %q: submitted at %v; seconds from 0", j.ID, j.Submitted)
		}
		for d, s := range j.Seconds {
			if !number(s) {
				return fmt.Errorf("simulate: job %q: %v s on a %s; seconds from 0", j.ID, s, d)
			}
		}
	}
	ids = map[string]bool{}
	for _, w := range workers {
		if err := w.Validate(); err != nil {
			return err
		}
		if ids[w.ID] {
			return fmt.Errorf("simulate: there are two workers %q", w.ID)
		}
		ids[w.ID] = true
		for _, v := range []float64{w.Joins, w.Starts, w.First, w.Stalls, w.Slower} {
			if !number(v) {
				return fmt.Errorf("simulate: worker %q: joins, starts, first, stalls or slower %v; numbers from 0", w.ID, v)
			}
		}
	}
	return nil
}

func number(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
