package placement

import (
	"math"
	"slices"
)

// Demand is what waits for a device.
type Demand struct {
	Jobs    int     // that have not begun
	Seconds float64 // predicted, of their runs there
	// Unserved is how many of the jobs no worker that is there can run: they wait for one to come.
	Unserved int
}

// Demand tells how much work waits for each device: on what autoscaling is best based, for a queue of a hundred jobs may be a second of
// work or a day. All jobs that have not begun count, however many, each where it ends first if they are taken by priority.
//
// Absent are workers that could be started, one for each device, with the rates, the memory and the Ready of one that is. Where no worker
// of their device takes work they stand in for it, so that demand for a device of which there is none is seen: what only it can run, and
// what it would have done sooner than those that are there, its start included. Jobs that nobody can run count for the device that they
// order, or for both, with no seconds.
func (p *Planner) Demand(jobs []Job, workers, absent []Worker) map[Device]Demand {
	there := slices.Clone(workers)
	for _, a := range absent {
		if !slices.ContainsFunc(workers, func(w Worker) bool { return w.Device == a.Device && w.takes() }) {
			there = append(there, a)
		}
	}
	whole := Planner{history: p.history, settings: p.settings}
	whole.settings.Horizon, whole.settings.Effort = math.MaxInt, 0
	w := whole.workings(jobs, there)
	all := map[Device]Demand{CPU: {}, GPU: {}}
	for j, job := range w.all {
		m := w.search.first(j)
		if m == nowhere {
			count(all, job)
			continue
		}
		w.search.put(j, m)
		k := w.search.worker[m]
		d := all[there[k].Device]
		d.Jobs++
		d.Seconds += w.search.time(j, m)
		if k >= len(workers) && !slices.ContainsFunc(workers, func(w Worker) bool { return w.refuses(job) == fits }) {
			d.Unserved++
		}
		all[there[k].Device] = d
	}
	return all
}

// count counts a job that nobody can run.
func count(all map[Device]Demand, j Job) {
	for _, device := range Devices() {
		if d := all[device]; j.Device == "" || j.Device == device {
			d.Jobs++
			d.Unserved++
			all[device] = d
		}
	}
}
