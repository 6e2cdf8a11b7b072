package scheduler

import (
	"strconv"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// state is what the scheduler knows. One goroutine has it.
type state struct {
	settings Settings
	planner  *placement.Planner
	history  *placement.History
	past     past
	newID    func() string
	random   func() float64 // from 0 to 1, for jitter

	tasks     map[string]*task           // of jobs that have not ended, by id
	out       map[string]*task           // those of them that are with workers: few, where a hundred thousand wait
	keys      map[string]string          // id of the open job that has a key
	followers map[string][]string        // ids of open jobs that end as another one does
	blocked   map[string][]string        // ids of open jobs that wait for another one to complete
	waiting   map[placement.Device]*line // jobs that could run, by the device that they order, each line by priority; "": those that order none
	aside     []string                   // ids of jobs that no worker there is can run, where the line has many
	later     line                       // jobs that may not run yet, by time
	deadlines line                       // by time
	limits    line                       // running jobs that have a timeout, by the time at which their attempt ends at the latest
	strange   line                       // jobs of a type that no worker has ever run, by the time at which they are given up
	types     map[string]bool            // that workers have run
	workers   map[string]*worker
	awaited   map[string]chan struct{} // closed when a worker of that id is heard of
	counts    map[string]int64
	measures  measures
	restored  time.Time                      // when this scheduler began with jobs of another one; zero: they have been looked after
	killed    bool                           // that one was, and may have given jobs of which the store does not know
	held      []*task                        // those of which that may be so, until restored is over
	silenced  map[placement.Device]time.Time // when a worker of the device fell silent last
	turns     map[placement.Device]*turns
	echoed    time.Time // when the scheduler heard itself last; zero: never yet
	looked    time.Time // when jobs were missed last
	placed    time.Time // when there was a plan last
	replan    bool      // something has changed that a plan looks at
	twice     bool      // the report that is taken in was handed out before: a scheduler that was killed may have sent what comes of it
	effects
	flying  effects // that are being carried out, and of which the store may not know yet
	starts  starts
	covered []string       // ids of jobs whose beginning the store has with the rest of them by now
	noted   map[string]int // by id, how often a job had begun when that was put down alone
}

// past tells of jobs that have ended; the error is store.ErrUnknown where there is none.
type past interface {
	Get(id string) (*job.Job, error)
	ByKey(key string) (*job.Job, error)
}

// task is a job that has not ended.
type task struct {
	*job.Job
	work  placement.Work
	ready time.Time // since when it could run
	left  int       // jobs that it still waits for
	// planned is the worker that the planner has given it to, and own tells that no other may take it.
	planned string
	own     bool
	sent    time.Time // when its message was in its queue; zero: it may not be yet
	passed  bool      // nobody began with it in a queue of all workers, so it goes to one worker's own
	before  bool      // it was given by a scheduler that was before, or may have been, and no worker has told of it yet
	told    []int     // attempts whose reports were taken in: these may come again
	worn    int       // how often its message was handed out too often
	token   string    // of the claim with which it was begun
	down    int       // the last attempt of which the store knows
	granted bool      // its worker will hear that it may begin, when that is put down
	heard   time.Time // when its worker told last that it runs, or began
	until   time.Time // when its attempt ends at the latest; of one without a timeout it says nothing
}

// worker is one that was heard of.
type worker struct {
	placement.Worker
	host    string
	stuck   []job.Run
	process string    // "": it was restored, and has not been heard of
	rival   string    // another process that calls itself so; "": none
	since   time.Time // when that was heard of first
	heard   time.Time
	running map[string]job.Run // by job
	free    time.Time          // since when it runs less than it could, and asks for nothing; zero: it does not
}

// effects are what is to be done about what has happened.
type effects struct {
	changed  map[string]*job.Job
	events   []store.Event
	messages []outgoing
	orders   map[string][]job.Order // by worker
	grants   map[string][]job.Order // by worker: those that let an attempt begin, which is put down before
	measured bool
	keys     map[string]string // ids of jobs that have ended, by the key that they had
}

// outgoing is a message that is to be published.
type outgoing struct {
	queue string
	queue.Message
	result string // id of the job whose result it is; "": it is none
}

// reply tells that it is no attempt for a worker.
func (m *outgoing) reply() bool { return m.Headers[job.HeaderAttempt] == "" }

func newState(s Settings, p past, h *placement.History) (*state, error) {
	planner, err := placement.NewPlanner(h, s.Placement)
	if err != nil {
		return nil, err
	}
	return &state{settings: s, planner: planner, history: h, past: p, tasks: map[string]*task{}, out: map[string]*task{},
		keys: map[string]string{}, followers: map[string][]string{},
		blocked: map[string][]string{}, workers: map[string]*worker{}, awaited: map[string]chan struct{}{}, types: map[string]bool{}, silenced: map[placement.Device]time.Time{},
		turns: map[placement.Device]*turns{}, counts: map[string]int64{}, measures: newMeasures(), effects: newEffects(), noted: map[string]int{},
		waiting: map[placement.Device]*line{"": {}, placement.CPU: {}, placement.GPU: {}}}, nil
}

func newEffects() effects {
	return effects{changed: map[string]*job.Job{}, orders: map[string][]job.Order{}, grants: map[string][]job.Order{}, keys: map[string]string{}}
}

// take returns the effects, and begins anew; landed tells when they have been carried out. The jobs are copies, for they change while these
// are put down; what their fields refer to never does.
func (s *state) take() effects {
	e := s.effects
	for id, j := range e.changed {
		c := *j
		e.changed[id] = &c
	}
	s.effects, s.flying = newEffects(), e
	return e
}

// landed tells that the effects which were taken last have been carried out: the store knows of them, and messages are in their queues.
func (s *state) landed(now time.Time) {
	for _, m := range s.flying.messages {
		if t := s.tasks[m.ID]; t != nil && t.State == job.Assigned && m.Headers[job.HeaderAttempt] == strconv.Itoa(t.Attempt) {
			t.sent, t.down = now, t.Attempt
		}
	}
	s.told(s.flying.grants)
	s.cover(s.flying.changed)
	s.flying = effects{}
}

// none tells that there is nothing to be done.
func (e *effects) none() bool { return len(e.changed)+len(e.messages)+len(e.orders)+len(e.grants) == 0 }

// become moves a job into another state, and notes that.
func (s *state) become(j *job.Job, next job.State, now time.Time) {
	if !j.State.Becomes(next) {
		panic("jobs/scheduler: job " + j.ID + " cannot become " + string(next) + " where it is " + string(j.State))
	}
	j.State = next
	if next == job.Assigned || next == job.Running {
		s.out[j.ID] = s.tasks[j.ID]
	} else {
		delete(s.out, j.ID)
	}
	s.note(j, now)
}

// note has a job put down as it is, with an event.
func (s *state) note(j *job.Job, now time.Time) {
	s.changed[j.ID] = j
	text := j.Reason
	if j.State.Ended() && j.Error != "" {
		text = j.Error
	}
	s.events = append(s.events, store.Event{At: now, Job: j.ID, Type: j.Type, State: j.State, Worker: j.Worker, Text: text})
	s.counts["events."+string(j.State)]++
	s.replan = true
}

// order says something to a worker. That an attempt may begin is said when it is put down that it has: one that ends its process at once
// would never be used up.
func (s *state) order(worker string, o job.Order) {
	if w := s.workers[worker]; w != nil && o.Process == "" {
		o.Process = w.process
	}
	all := s.orders
	if o.Verdict == job.Begin {
		all = s.granting(o)
	}
	all[worker] = append(all[worker], o)
}

// stop ends a job before it has ended by itself: whoever has it hears so.
func (s *state) stop(t *task, as job.State, why string, now time.Time) {
	s.drop(t)
	if w := s.workers[t.Worker]; w != nil {
		delete(w.running, t.ID)
	}
	s.end(t, as, why, now)
}

// end ends a job: its result is sent, and those that wait for it go on.
func (s *state) end(t *task, as job.State, why string, now time.Time) {
	if why != "" {
		t.Error = why
	}
	t.Ended = now
	s.become(t.Job, as, now)
	s.measures.of(t.Job).Ended[as]++
	delete(s.tasks, t.ID)
	if s.freeKey(t) {
		s.effects.keys[t.Key] = t.ID
	}
	s.send(t.Job)
	s.release(t, now)
}

// drop tells the worker that has a job, or may have it, that nobody wants it any more.
func (s *state) drop(t *task) {
	for id, w := range s.workers {
		if t.State == job.Running && id == t.Worker || t.State == job.Assigned && w.Device == t.WorkerType {
			s.order(id, job.Order{Job: t.ID, Attempt: t.Attempt, Verdict: job.Drop})
		}
	}
}

// send sends a job's result to who has asked for it.
func (s *state) send(j *job.Job) {
	if s.twice {
		s.sendAgain(j)
		return
	}
	s.sendBody(j, j.Outcome)
}

// sendAgain sends a result that may have been sent before: of a submission that comes again, or by a scheduler that has ended before it put
// that down.
func (s *state) sendAgain(j *job.Job) { s.sendBody(j, j.OutcomeAgain) }

func (s *state) sendBody(j *job.Job, outcome func() ([]byte, error)) {
	body, err := outcome()
	if err != nil { // of what came as JSON
		panic("jobs/scheduler: the result of job " + j.ID + " is no JSON: " + err.Error())
	}
	to := j.ReplyTo
	if to == "" {
		to = job.QueueResults
	}
	s.messages = append(s.messages, outgoing{to, queue.Message{ID: j.ID, CorrelationID: j.CorrelationID(), ContentType: "application/json", Body: body}, j.ID})
}

// release lets those go on that wait for a job that has ended, or end as it has.
func (s *state) release(t *task, now time.Time) {
	blocked, followers := s.blocked[t.ID], s.followers[t.ID]
	delete(s.blocked, t.ID)
	delete(s.followers, t.ID)
	for _, id := range blocked {
		next := s.tasks[id]
		switch {
		case next == nil: // it has ended meanwhile
		case t.State != job.Completed:
			s.end(next, job.Failed, "after: job "+t.ID+" is "+string(t.State), now)
		default:
			if next.left--; next.left == 0 {
				s.enqueue(next, now)
			}
		}
	}
	for _, id := range followers {
		if next := s.tasks[id]; next != nil {
			s.follow(next, t.Job, now)
		}
	}
}
