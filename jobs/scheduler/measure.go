package scheduler

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// Kind is of which type jobs are, and on which device they ran; "": on none.
type Kind struct {
	Type   string
	Device placement.Device
}

// Measured is what a scheduler has seen of one kind of jobs since it began.
type Measured struct {
	Kind
	Ended map[job.State]int64
	// Wait is, of jobs that completed, from the submission until the last attempt began, and Run how long that ran.
	Wait, Run Histogram
	// Error is how good predictions were, at placement, of runs that were not the first of their type in a process.
	Error placement.Accuracy
}

// Open counts jobs of a type and a state that have not ended.
type Open struct {
	Type  string
	State job.State
	Jobs  int
}

// Measures are what a scheduler measures for those who watch it.
type Measures struct {
	Open  []Open
	Kinds []Measured
	// Demand is what waits for each device and could run now.
	Demand map[placement.Device]placement.Demand
}

// Histogram counts times in seconds. Its zero value is that of none.
type Histogram struct {
	Count  int64
	Sum    float64
	Within [14]int64 // those up to the bound of Bounds at the same position, each once
}

// Bounds are the upper bounds of a Histogram's buckets, the last one without a bound.
func Bounds() [14]float64 {
	return [14]float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 600, 3600, math.Inf(1)}
}

func (h *Histogram) add(seconds float64) {
	seconds = max(seconds, 0)
	h.Count++
	h.Sum += seconds
	for i, bound := range Bounds() {
		if seconds <= bound {
			h.Within[i]++
			return
		}
	}
}

// OtherType stands for all job types but the first mostTypes: a type is any text, and each is a series of numbers for whoever keeps them.
const (
	OtherType = "(other)"
	mostTypes = 100
)

// measures are kept by the loop.
type measures struct {
	types map[string]bool
	kinds map[Kind]*Measured
}

func newMeasures() measures { return measures{map[string]bool{}, map[Kind]*Measured{}} }

// known is a type by which something may be counted.
func (m *measures) known(of string) string {
	of = job.Family(of)
	if m.types[of] || len(m.types) < mostTypes {
		m.types[of] = true
		return of
	}
	return OtherType
}

// of is where jobs like this one are counted.
func (m *measures) of(j *job.Job) *Measured {
	k := Kind{m.known(j.Type), j.WorkerType}
	if m.kinds[k] == nil {
		m.kinds[k] = &Measured{Kind: k, Ended: map[job.State]int64{}}
	}
	return m.kinds[k]
}

// completed counts a run that is over.
func (m *measures) completed(t *task, cold bool) {
	all := m.of(t.Job)
	all.Wait.add(t.Started.Sub(t.Submitted).Seconds())
	all.Run.add(t.Ran)
	if predicted, ok := t.Predicted[t.WorkerType]; ok && !cold {
		all.Error.Add(predicted, t.Ran)
	}
}

// Measures returns what was measured. Absent are workers that could be started, as placement.Planner.Demand takes them. It looks at all
// jobs that have not ended, while the scheduler does nothing else: 39 ms for ten thousand jobs and ten workers, so ask each few seconds.
func (s *Scheduler) Measures(ctx context.Context, absent []placement.Worker) (m Measures, err error) {
	err = s.look(ctx, func(st *state, now time.Time) { m = st.weigh(now, absent) })
	return m, err
}

func (s *state) weigh(now time.Time, absent []placement.Worker) (m Measures) {
	open := map[Open]int{}
	var wait []placement.Job
	for _, t := range s.tasks {
		open[Open{Type: s.measures.known(t.Type), State: t.State}]++
		if s.waits(t, now) {
			wait = append(wait, t.demanded(now))
		}
	}
	for o, n := range open {
		o.Jobs = n
		m.Open = append(m.Open, o)
	}
	slices.SortFunc(m.Open, func(a, b Open) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.State, b.State)) })
	for _, k := range s.measures.kinds {
		c := *k
		c.Ended = maps.Clone(k.Ended)
		m.Kinds = append(m.Kinds, c)
	}
	slices.SortFunc(m.Kinds, func(a, b Measured) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Device, b.Device)) })
	slices.SortFunc(wait, func(a, b placement.Job) int { return cmp.Compare(a.ID, b.ID) })
	m.Demand = s.planner.Demand(wait, s.planning(now), absent)
	return m
}

// demanded is a job as demand counts it: one that was given stays with the device whose queue it is in.
func (t *task) demanded(now time.Time) placement.Job {
	j := t.planning(now)
	if t.State == job.Assigned {
		j.Device = t.WorkerType
	}
	return j
}

// waits tells whether a job has not begun and could.
func (s *state) waits(t *task, now time.Time) bool {
	return t.State == job.Assigned || t.State == job.Queued && t.left == 0 && t.SameAs == "" && !latest(t.NotBefore, t.Again).After(now)
}
