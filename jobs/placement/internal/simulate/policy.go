package simulate

import (
	"slices"

	"cancha/jobs/placement"
)

// Predicted is the policy of package placement, which learns from what it sees.
type Predicted struct {
	history *placement.History
	planner *placement.Planner
	warm    map[[2]string]bool // workers that have run a type
}

// NewPredicted returns one that knows what a history does, and adds to it. An error names a setting that makes no sense.
func NewPredicted(h *placement.History, s placement.Settings) (*Predicted, error) {
	p, err := placement.NewPlanner(h, s)
	return &Predicted{h, p, map[[2]string]bool{}}, err
}

// Decide implements Policy.
func (p *Predicted) Decide(v View) (moves []Move) {
	var jobs []placement.Job
	var workers []placement.Worker
	for _, w := range v.Workers {
		workers = append(workers, w.Worker)
		for _, j := range w.Queue {
			jobs = append(jobs, j.Job)
		}
	}
	for _, j := range v.Waiting {
		jobs = append(jobs, j.Job)
	}
	given := map[string]string{}
	for _, j := range jobs {
		given[j.ID] = j.Worker
	}
	for _, d := range p.planner.Plan(jobs, workers).Decisions {
		switch {
		case d.Now && d.Worker != given[d.Job]:
			moves = append(moves, Move{Job: d.Job, From: d.From, To: d.Worker, Predicted: d.Run.Seconds, Reason: d.Reason()})
		case d.From != "":
			moves = append(moves, Move{Job: d.Job, From: d.From})
		}
	}
	return moves
}

// Done implements Policy.
func (p *Predicted) Done(j Job, on placement.Worker, seconds float64) {
	add, once := p.history.AddCold, [2]string{on.ID, j.Type}
	if p.warm[once] {
		add = p.history.Add
	}
	p.warm[once] = true
	add(j.Work, on, seconds) // which fails for no job of a load: it was validated
}

// queues are policies that route a job when it is submitted, and never think about it again. A job whose worker stood still goes back into its queue.
type queues struct {
	route  func(j Job) string // the name of a queue
	serves func(w placement.Worker, queue string) bool
	kept   map[string]string // queue of each job
}

// Decide implements Policy.
func (q *queues) Decide(v View) (moves []Move) {
	for _, j := range v.Waiting {
		if _, ok := q.kept[j.ID]; !ok {
			q.kept[j.ID] = q.route(j)
		}
	}
	taken := map[string]bool{}
	for _, w := range v.Workers {
		for free := max(w.Slots, 1) - len(w.Running); w.idle() && free > 0; free-- {
			i := slices.IndexFunc(v.Waiting, func(j Job) bool { return !taken[j.ID] && q.serves(w.Worker, q.kept[j.ID]) })
			if i < 0 {
				break
			}
			taken[v.Waiting[i].ID] = true
			moves = append(moves, Move{Job: v.Waiting[i].ID, To: w.ID})
		}
	}
	return moves
}

// Done implements Policy.
func (q *queues) Done(Job, placement.Worker, float64) {}

func byDevice(w placement.Worker, queue string) bool { return string(w.Device) == queue }

// PreferGPU routes as the original's scheduler does: a job that prefers a GPU into gpu_queue, any other into cpu_queue. The workers of a
// device share its queue, and take one job at a time.
func PreferGPU() Policy {
	return &queues{kept: map[string]string{}, serves: byDevice, route: func(j Job) string {
		if j.PreferGPU {
			return string(placement.GPU)
		}
		return string(placement.CPU)
	}}
}

// TwoQueues routes into gpu_queue and cpu_queue in turn.
func TwoQueues() Policy { return turns(byDevice, string(placement.CPU), string(placement.GPU)) }

// RoundRobin routes to each of some workers in turn, whether they have joined or not.
func RoundRobin(workers ...string) Policy {
	return turns(func(w placement.Worker, queue string) bool { return w.ID == queue }, workers...)
}

func turns(serves func(placement.Worker, string) bool, names ...string) Policy {
	next := 0
	return &queues{kept: map[string]string{}, serves: serves, route: func(Job) string {
		next++
		return names[(next-1)%len(names)]
	}}
}

// Shared is one queue, from which each worker takes when it has nothing to do.
func Shared() Policy {
	return &queues{kept: map[string]string{}, serves: func(placement.Worker, string) bool { return true }, route: func(Job) string { return "job_queue" }}
}
