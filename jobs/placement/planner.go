package placement

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

// Planner decides where jobs go. It keeps nothing of a plan, but for what a strategy has not answered: whoever asks again, with the workers
// and the jobs as they are then, is answered anew. It is of one goroutine at a time.
//
// To ask at each event is right while few jobs wait. Of many it is enough to ask ten times a second: for so long workers have work
// ([Settings.AheadSeconds]).
type Planner struct {
	history  *History
	settings Settings
	asked    asked
}

// NewPlanner returns one that predicts by a history, which others may add to between two plans. An error names a setting that makes no sense.
func NewPlanner(h *History, s Settings) (*Planner, error) {
	s, err := s.normalize()
	return &Planner{history: h, settings: s}, err
}

// Plan is where jobs go.
type Plan struct {
	// Decisions are those about all jobs that were given to workers, in their order, and about as many waiting ones as the horizon has, by priority.
	Decisions []Decision
	// Makespan is in how many seconds the workers are done with all of them and with what runs.
	Makespan float64
	// Later is how many jobs wait beyond the horizon.
	Later int
}

// Decision is where one job goes, and why.
type Decision struct {
	Job    string
	Worker string // to whom it is to be given; "": it waits, and no worker that is there can run it
	Device Device // of that worker
	// Now tells that it is to be given at once, or was given before and stays; otherwise it stays with the scheduler, and this is where it
	// would go as things are.
	Now bool
	// From is the worker from whom it is to be taken back first; "": from none.
	From string
	// Alone tells that a strategy has named this very worker, so that no other one of its device may take the job.
	Alone bool
	// Start and Finish are in how many seconds it begins and ends, as things are.
	Start, Finish float64
	Run           Prediction // on that worker, its transfer included
	reason
}

// Predicted is how many seconds the job would run on the best worker of each device; a device on which it cannot run has none.
func (d Decision) Predicted() map[Device]float64 {
	all := map[Device]float64{}
	for device, o := range map[Device]option{CPU: d.options[0], GPU: d.options[1]} {
		if o.ok {
			all[device] = o.run.Seconds
		}
	}
	return all
}

// Choose decides about one job, as Plan does about many.
func (p *Planner) Choose(j Job, workers []Worker) Decision {
	return p.Plan([]Job{j}, workers).Decisions[0]
}

// Plan decides about jobs that have not begun. Those that workers have been given, with Job.Worker, are among them, in the order in which
// they were given. Of the others it takes those of the highest priority; who has many of them need not hand over more than the horizon has.
// Workers that are not valid ([Worker.Validate]) are given nothing, and jobs whose work is not ([Work.Validate]) wait.
func (p *Planner) Plan(jobs []Job, workers []Worker) *Plan {
	w := p.workings(jobs, workers)
	if p.settings.Strategy != nil {
		return w.choose()
	}
	w.stay()
	w.search.settle()
	kept := w.search.clone()
	w.rest(kept, w.stays)
	if len(w.given) > 0 {
		w.reconsider(kept)
	} else {
		w.search = kept
	}
	return w.plan()
}

// workings is a plan that is being made.
type workings struct {
	*Planner
	all     []Job // those that are planned
	later   int
	workers []Worker
	valid   []bool         // by worker
	runs    [][]Prediction // by job and worker
	search  *search
	free    []float64 // of each machine: when it is done with what runs
	given   []int     // jobs that stay where they were given, in their order
	stays   []bool    // by job: whether it is one of them
}

func (p *Planner) workings(jobs []Job, workers []Worker) *workings {
	w := &workings{Planner: p, workers: workers}
	w.all, w.later = p.horizon(jobs)
	w.predict()
	w.machines()
	return w
}

// horizon puts those first that were given, in their order, and the others by their priority, of which it leaves out the last.
func (p *Planner) horizon(jobs []Job) (all []Job, later int) {
	var waiting []Job
	for _, j := range jobs {
		if j.Worker != "" {
			all = append(all, j)
		} else {
			waiting = append(waiting, j)
		}
	}
	slices.SortStableFunc(waiting, func(a, b Job) int {
		return cmp.Or(cmp.Compare(b.effective(p.settings.Ageing), a.effective(p.settings.Ageing)), cmp.Compare(b.Waited, a.Waited))
	})
	later = max(len(waiting)-p.settings.Horizon, 0)
	return append(all, waiting[:len(waiting)-later]...), later
}

// predict fills in how long each job takes on each worker.
func (w *workings) predict() {
	s := &search{slack: w.settings.Hysteresis, left: w.settings.Effort}
	late := make([]map[string]float64, len(w.workers)) // by worker and type
	for i, k := range w.workers {
		s.gpu, late[i] = append(s.gpu, k.Device == GPU), k.late(w.history)
	}
	alike := w.alike(late)
	m := len(w.workers)
	allRuns, allTimes := make([]Prediction, m*len(w.all)), make([]float64, m*len(w.all))
	for n, j := range w.all {
		runs, times := allRuns[n*m:(n+1)*m], allTimes[n*m:(n+1)*m]
		valid := !j.invalid()
		for i, k := range w.workers {
			if runs[i] = runs[alike[i]]; alike[i] == i && valid {
				runs[i] = w.history.Predict(j.Work, k)
			}
			if longer := late[i][j.Work.Type]; longer > 1 {
				runs[i].Seconds = min(runs[i].Seconds*longer, longest)
			}
			times[i] = math.Inf(1)
			if valid && w.valid[i] && k.refuses(j) == fits {
				times[i] = runs[i].Seconds
			}
		}
		w.runs, s.times = append(w.runs, runs), append(s.times, times)
		s.wishes, s.at = append(s.wishes, j.PreferGPU), append(s.at, nowhere)
	}
	w.search = s
}

// alike is, for each worker, the first one for which all is predicted that is for it. One that is late with something is like no other.
func (w *workings) alike(late []map[string]float64) []int {
	type kind struct {
		device Device
		model  string
		rates  Rates
		pace   float64
	}
	first, all := map[kind]int{}, make([]int, len(w.workers))
	for i, k := range w.workers {
		w.valid = append(w.valid, k.Validate() == nil)
		of := kind{k.Device, k.Model, k.Rates, w.history.pace(k)}
		if _, ok := first[of]; !ok && late[i] == nil {
			first[of] = i
		}
		if all[i] = first[of]; late[i] != nil {
			all[i] = i
		}
	}
	return all
}

// machines makes one of each slot.
func (w *workings) machines() {
	s := w.search
	for i, k := range w.workers {
		if !k.takes() || !w.valid[i] {
			continue
		}
		for _, free := range k.free(w.history) {
			s.worker, s.load = append(s.worker, i), append(s.load, free)
		}
	}
	s.on = make([][]int, len(s.load))
	w.free = slices.Clone(s.load)
}

// stay places jobs on the workers to whom they were given, but for those that another worker would have done sooner, behind what it was
// given itself: by more than the hysteresis, and than the time for which workers have work anyway. It asks the last ones first, who gain
// most.
func (w *workings) stay() {
	s := w.search
	var all []int
	end := make([]float64, len(w.all))
	for j, job := range w.all {
		if job.Worker == "" {
			continue
		}
		if here := w.soonest(j, func(m int) bool { return w.workers[s.worker[m]].ID == job.Worker }); here != nowhere {
			s.put(j, here)
			all, end[j] = append(all, j), s.load[here]
		}
	}
	for _, j := range slices.Backward(all) {
		here := s.at[j]
		best := w.soonest(j, func(m int) bool { return s.worker[m] != s.worker[here] })
		if best != nowhere && (s.load[best]+s.time(j, best))*(1+s.slack)+w.moving() < end[j] {
			s.take(j)
			continue
		}
		w.given = append(w.given, j)
	}
	slices.Reverse(w.given)
	w.stays = make([]bool, len(w.all))
	for _, j := range w.given {
		w.stays[j] = true
	}
}

// moving is by how many seconds a move must be better beside the hysteresis. It costs two messages and a plan, some 20 ms.
func (w *workings) moving() float64 { return max(w.settings.AheadSeconds, 0.02) }

// soonest is the machine on which a job ends first, of some.
func (w *workings) soonest(j int, of func(machine int) bool) int {
	best, end := nowhere, math.Inf(1)
	for m := range w.search.load {
		if e := w.search.load[m] + w.search.time(j, m); e < end && of(m) {
			best, end = m, e
		}
	}
	return best
}

// rest places all jobs but some, those of the highest priority first, and others around them.
func (w *workings) rest(s *search, but []bool) {
	for priority := mostPriority; priority >= 0; priority-- {
		var jobs []int
		for j, job := range w.all {
			if min(max(job.Priority, 0), mostPriority) == priority && !but[j] {
				jobs = append(jobs, j)
			}
		}
		if len(jobs) > 0 {
			s.place(jobs)
			s.grant(jobs)
			s.settle()
		}
	}
}

// reconsider places all jobs anew, those that were given among them, and takes that plan if it ends sooner by more than the hysteresis.
func (w *workings) reconsider(kept *search) {
	anew := w.search.clone()
	for _, j := range w.given {
		anew.load[anew.at[j]] -= anew.time(j, anew.at[j])
		anew.at[j] = nowhere
	}
	none := make([]bool, len(w.all))
	w.rest(anew, none)
	w.search = kept
	if slices.Max(anew.load)*(1+w.settings.Hysteresis)+w.moving() < slices.Max(kept.load) {
		w.search, w.given, w.stays = anew, nil, none
	}
}

// plan makes decisions of places: when each job begins, which are given now, and which are tried elsewhere.
func (w *workings) plan() *Plan {
	s, p := w.search, &Plan{Later: w.later, Decisions: make([]Decision, len(w.all))}
	l := newLine(w)
	for _, j := range w.order() {
		m := s.at[j]
		if m == nowhere {
			p.Decisions[j] = Decision{Job: w.all[j].ID, From: w.all[j].Worker, reason: w.waits(j)}
			continue
		}
		other := l.trial(j, m)
		if other != nowhere {
			m = other
		}
		p.Decisions[j] = l.decide(j, m, l.explain(j, m, other != nowhere))
	}
	if len(l.load) > 0 {
		p.Makespan = slices.Max(l.load)
	}
	return p
}

// order is in which jobs begin: what stays where it was given is in front of all else there, and of jobs of the same priority, ages counted
// in whole levels, the short ones. So many wait for less, and long ones do not wait for ever.
func (w *workings) order() []int {
	var rest []int
	for j := range w.all {
		if !w.stays[j] {
			rest = append(rest, j)
		}
	}
	level := func(j int) float64 { return math.Floor(w.all[j].effective(w.settings.Ageing)) }
	slices.SortStableFunc(rest, func(a, b int) int {
		return cmp.Or(cmp.Compare(level(b), level(a)), cmp.Compare(w.seconds(a), w.seconds(b)))
	})
	return slices.Concat(w.given, rest)
}

// seconds is how long a job runs where it goes; 0, where it goes nowhere.
func (w *workings) seconds(j int) float64 {
	if m := w.search.at[j]; m != nowhere {
		return w.search.time(j, m)
	}
	return 0
}

// line is the machines' queues, as they fill.
type line struct {
	*workings
	load  []float64      // of each machine, by what was decided so far
	ahead map[string]int // jobs that each worker has been given
}

func newLine(w *workings) *line {
	return &line{workings: w, load: slices.Clone(w.free), ahead: map[string]int{}}
}

// decide puts a job into the line of a machine.
func (l *line) decide(j, m int, why reason) Decision {
	job, k := l.all[j], l.workers[l.search.worker[m]]
	run := l.runs[j][l.search.worker[m]]
	d := Decision{Job: job.ID, Worker: k.ID, Device: k.Device, Start: l.load[m], Finish: l.load[m] + run.Seconds, Run: run, reason: why}
	d.Now = l.room(k, m) || job.Worker == k.ID
	if job.Worker != "" && job.Worker != k.ID {
		d.From = job.Worker
	}
	l.load[m] = d.Finish
	if d.Now {
		l.ahead[k.ID]++
	}
	return d
}

// room tells whether a worker is given one more job, which would begin on a machine of it.
func (l *line) room(k Worker, m int) bool {
	if k.Ready > l.settings.AheadSeconds {
		return false
	}
	places := max(k.slots()-len(k.Running), 0) + l.settings.Ahead*k.slots()
	return l.ahead[k.ID] < places || l.load[m] < l.settings.AheadSeconds
}

// trial is another machine on which a job is tried, or nowhere: nothing much is known of its kind there, it can go there now, and little is
// lost by it, 1 s, or as much again as the job takes, but never more than half a minute. Chance decides which jobs are tried, and a job's
// chance is its id's.
func (l *line) trial(j, m int) int {
	s, job := l.search, l.all[j]
	if job.Worker != "" || !lucky(job.ID, l.settings.Explore) {
		return nowhere
	}
	ends := l.load[m] + s.time(j, m)
	most := ends + min(max(1, ends), 30)
	for k := range l.load {
		elsewhere := s.worker[k] != s.worker[m] && l.room(l.workers[s.worker[k]], k)
		if elsewhere && !l.runs[j][s.worker[k]].Known() && l.load[k]+s.time(j, k) <= most {
			return k
		}
	}
	return nowhere
}

// lucky draws a job by its id, so that the same plan is made of the same jobs.
func lucky(id string, share float64) bool {
	h := fnv.New64a()
	h.Write([]byte(id))
	return float64(mix(h.Sum64())>>11)/(1<<53) < share
}

// mix spreads the differences of a hash over all of its bits, as SplitMix64 ends (Steele, Lea and Flood, 2014): FNV leaves the upper bits
// of short texts alike.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
