package simulate

import (
	"fmt"
	"math"
	"slices"

	"cancha/jobs/placement"
)

// Policy decides where jobs go.
type Policy interface {
	// Decide is asked after each event, and returns what is to be done now, in this order.
	Decide(v View) []Move
	// Done tells that a run has ended well after so many seconds, on a worker as it was then.
	Done(j Job, on placement.Worker, seconds float64)
}

// View is what a policy sees.
type View struct {
	Now     float64
	Waiting []Job // those with the scheduler, in the order of submission
	Workers []Seen
}

// Seen is a worker that has joined.
type Seen struct {
	placement.Worker       // with Ready, Stalled and Running as they are
	Queue            []Job // given to it, and not begun
}

// idle tells whether it would begin a job at once.
func (s Seen) idle() bool {
	return s.Ready == 0 && !s.Stalled && len(s.Queue) == 0 && len(s.Running) < max(s.Slots, 1)
}

// Move gives a job to a worker: from the scheduler, or from the queue of another one.
type Move struct {
	Job, From, To string  // From "": it was with the scheduler
	Predicted     float64 // seconds of its run; 0 where nobody has predicted any
	Reason        string
}

// Outcome is how a job was done.
type Outcome struct {
	Job               Job
	Worker            string
	Device            placement.Device
	Started, Finished float64
	Attempts          int     // more than 1 where its worker stood still
	Moves             int     // how often it was given to a worker
	Predicted         float64 // seconds of the run, when it was given to the worker
	Reason            string
}

// Result is how a load was done.
type Result struct {
	Makespan float64   // when the last job had ended
	Response float64   // mean of the seconds from submission to end
	Outcomes []Outcome // by the jobs' ends
	Busy     map[string]float64
	Accuracy placement.Accuracy // of the predictions
}

// Run plays a load. An error names what is wrong with it, or the first job that the policy has left waiting when nothing more happens.
func Run(jobs []Job, workers []Worker, p Policy) (*Result, error) {
	if err := validate(jobs, workers); err != nil {
		return nil, err
	}
	return newPlay(jobs, workers).run(p)
}

// run plays until nothing more happens.
func (s *play) run(p Policy) (*Result, error) {
	for {
		s.arrive()
		for _, m := range p.Decide(s.view()) {
			if err := s.move(m); err != nil {
				return nil, err
			}
		}
		s.begin()
		next := s.next()
		if math.IsInf(next, 1) {
			return s.result()
		}
		s.now = next
		s.end(p)
	}
}

// play is a simulation that goes on.
type play struct {
	now     float64
	coming  []Job // by submission
	waiting []Job
	workers []*worker
	done    []Outcome
	busy    map[string]float64
	state   map[string]*Outcome             // of each job, by id
	truth   func(j Job, on *worker) float64 // how long a job takes
	total   int
}

// worker is a worker as the simulation has it.
type worker struct {
	Worker
	queue   []Job
	running []*running
	loaded  map[string]bool // types
	gone    bool            // it stands still, and this is known
}

type running struct {
	job          Job
	begun, until float64
}

func newPlay(jobs []Job, workers []Worker) *play {
	s := &play{truth: takes, coming: slices.Clone(jobs), busy: map[string]float64{}, state: map[string]*Outcome{}, total: len(jobs)}
	slices.SortStableFunc(s.coming, func(a, b Job) int { return compare(a.Submitted, b.Submitted) })
	for _, w := range workers {
		if w.Slower == 0 {
			w.Slower = 1
		}
		if w.Stalls == 0 {
			w.Stalls = math.Inf(1)
		}
		s.workers = append(s.workers, &worker{Worker: w, loaded: map[string]bool{}})
	}
	return s
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// arrive has the jobs wait that were submitted by now.
func (s *play) arrive() {
	for len(s.coming) > 0 && s.coming[0].Submitted <= s.now {
		s.waiting = append(s.waiting, s.coming[0])
		s.state[s.coming[0].ID] = &Outcome{Job: s.coming[0]}
		s.coming = s.coming[1:]
	}
}

func (s *play) view() View {
	v := View{Now: s.now}
	for _, j := range s.waiting {
		v.Waiting = append(v.Waiting, s.aged(j, ""))
	}
	for _, w := range s.workers {
		if w.Joins > s.now {
			continue
		}
		seen := Seen{Worker: w.Worker.Worker}
		seen.Ready, seen.Stalled = max(w.Joins+w.Starts-s.now, 0), w.gone
		for _, r := range w.running {
			seen.Running = append(seen.Running, placement.Run{Work: r.job.Work, Elapsed: s.now - r.begun})
		}
		for _, j := range w.queue {
			seen.Queue = append(seen.Queue, s.aged(j, w.ID))
		}
		v.Workers = append(v.Workers, seen)
	}
	return v
}

func (s *play) aged(j Job, worker string) Job {
	j.Waited, j.Worker = s.now-j.Submitted, worker
	return j
}

// move does as a policy says.
func (s *play) move(m Move) error {
	from := &s.waiting
	if m.From != "" {
		w := s.find(m.From)
		if w == nil {
			return fmt.Errorf("simulate: the policy takes job %q from worker %q, which there is not", m.Job, m.From)
		}
		from = &w.queue
	}
	to := s.find(m.To)
	i := slices.IndexFunc(*from, func(j Job) bool { return j.ID == m.Job })
	if i < 0 || to == nil && m.To != "" {
		return fmt.Errorf("simulate: the policy gives job %q of %q to worker %q: it is not there, or the worker is not", m.Job, m.From, m.To)
	}
	j := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	if to == nil {
		s.waiting = append(s.waiting, j)
		return nil
	}
	to.queue = append(to.queue, j)
	o := s.state[j.ID]
	o.Moves++
	o.Worker, o.Device, o.Predicted, o.Reason = to.ID, to.Device, m.Predicted, m.Reason
	return nil
}

func (s *play) find(id string) *worker {
	for _, w := range s.workers {
		if w.ID == id && w.Joins <= s.now {
			return w
		}
	}
	return nil
}

// begin has workers take what they were given.
func (s *play) begin() {
	for _, w := range s.workers {
		for len(w.queue) > 0 && len(w.running) < max(w.Slots, 1) && s.now >= w.Joins+w.Starts && s.now < w.Stalls {
			j := w.queue[0]
			w.queue = w.queue[1:]
			seconds := s.truth(j, w)
			s.state[j.ID].Started = s.now
			s.state[j.ID].Attempts++
			w.running = append(w.running, &running{j, s.now, s.now + seconds})
		}
	}
}

// takes is how long a job takes on a worker; for ever, where the load does not say.
func takes(j Job, w *worker) float64 {
	seconds, ok := j.Seconds[w.Device]
	if !ok {
		return math.Inf(1)
	}
	seconds *= w.Slower
	if !w.loaded[j.Type] {
		w.loaded[j.Type] = true
		seconds += w.First
	}
	return seconds
}

// next is when something happens next.
func (s *play) next() float64 {
	at := math.Inf(1)
	if len(s.coming) > 0 {
		at = s.coming[0].Submitted
	}
	for _, w := range s.workers {
		for _, t := range []float64{w.Joins, w.Joins + w.Starts, w.Stalls + Lease} {
			if t > s.now && len(s.done) < s.total {
				at = min(at, t)
			}
		}
		for _, r := range w.running {
			if s.now < w.Stalls && r.until <= w.Stalls {
				at = min(at, r.until)
			}
		}
	}
	return at
}

// end has runs end whose time has come, and gives back what a worker runs that is known to stand still.
func (s *play) end(p Policy) {
	for _, w := range s.workers {
		w.running = slices.DeleteFunc(w.running, func(r *running) bool {
			over := r.until <= s.now && r.until <= w.Stalls
			if over {
				o := s.state[r.job.ID]
				o.Finished = s.now
				s.busy[w.ID] += r.until - r.begun
				s.done = append(s.done, *o)
				p.Done(r.job, w.Worker.Worker, r.until-r.begun)
			}
			return over
		})
		if !w.gone && s.now >= w.Stalls+Lease {
			w.gone = true
			for _, r := range w.running {
				s.waiting = append(s.waiting, r.job)
			}
			w.running = nil
		}
	}
}

func (s *play) result() (*Result, error) {
	r := &Result{Outcomes: s.done, Busy: s.busy}
	if len(s.done) < s.total {
		for _, o := range s.state {
			if o.Finished == 0 {
				return nil, fmt.Errorf("simulate: %d of %d jobs were done; job %q was not: %s", len(s.done), s.total, o.Job.ID, o.Reason)
			}
		}
	}
	for _, o := range s.done {
		r.Makespan = max(r.Makespan, o.Finished)
		r.Response += (o.Finished - o.Job.Submitted) / float64(s.total)
		if o.Predicted > 0 {
			r.Accuracy.Add(o.Predicted, o.Finished-o.Started)
		}
	}
	return r, nil
}
