package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/store"
)

// verdict is what was found.
type verdict struct {
	states  map[job.State]int
	runs    int
	begins  int            // that the store has counted
	twice   map[string]int // runs beside those that had to be, by what explains them
	unended int            // of those, runs that did not come to their end, so that nothing was done twice
	counted map[string]int64
	results int // that came more than once
	lost    int // slots at the end
	wrong   []string
}

func (v *verdict) String() string {
	return fmt.Sprintf("in the store %v; %d runs, of which it has counted %d; run again: %v, %d of them after a run that did not end; %d results came again\n"+
		"counted by the schedulers: %d attempts lost, %d executed twice, %d reports again, %d claims refused; %d wrong",
		v.states, v.runs, v.begins, v.twice, v.unended, v.results, v.counted["attempts lost"], v.counted["executed twice"],
		v.counted["reports again"], v.counted["claims refused"], len(v.wrong))
}

func (v *verdict) is(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// judge looks into the results, the store and the journals. The error names what is wrong.
func judge(f *field) (*verdict, error) {
	v := &verdict{states: map[job.State]int{}, twice: map[string]int{}}
	v.readResults(f)
	n, err := readJournals(f.folder)
	if err != nil {
		return v, err
	}
	f.faults = append(f.faults, n.ends...)
	if err := v.readStore(f, n); err != nil {
		return v, err
	}
	v.explain(f, n)
	v.readSlots(f, n)
	if len(v.wrong) > 0 {
		for _, x := range f.faults {
			v.is("%s to %s: the %s, process %d, was %s", x.from.Format(clock), x.to.Format(clock), x.name, x.pid, x.what)
		}
		return v, errors.New(strings.Join(v.wrong[:min(len(v.wrong), 200)], "\n"))
	}
	return v, nil
}

// readResults looks whether each result that came says what it had to, also one that came again.
func (v *verdict) readResults(f *field) {
	for i := range f.jobs {
		all := f.results[id(i)]
		v.results += max(len(all)-1, 0)
		for _, body := range all {
			var o struct {
				Status job.State       `json:"status"`
				Result json.RawMessage `json:"result"`
			}
			if err := json.Unmarshal(body, &o); err != nil || o.Status != wanted(i) || !right(i, string(o.Result)) {
				v.is("the result of %s (%s): %s, %v", id(i), kind(i), body, err)
			}
		}
	}
}

// right tells whether a result is that of job number i: of a pair of one key either may have run.
func right(i int, text string) bool {
	return text == answer(i) || kind(i) == "key" && text == fmt.Sprintf("%q", id(i-i%20+7))
}

// readStore looks whether each job is there, once, and has ended as it had to.
func (v *verdict) readStore(f *field, n *notes) error {
	s, err := store.Open(role{Folder: f.folder}.store())
	if err != nil {
		return err
	}
	defer s.Close()
	if _, v.counted, err = s.State(); err != nil {
		return err
	}
	seen := map[string]*job.Job{}
	for skip, more := 0, true; more; skip = len(seen) {
		var all []*job.Job
		if all, more, err = s.List(store.Query{Limit: 10_000, Skip: skip}); err != nil {
			return err
		}
		for _, j := range all {
			if seen[j.ID] != nil {
				v.is("%s is in the store twice", j.ID)
			}
			seen[j.ID] = j
			v.states[j.State]++
		}
	}
	for i := range f.jobs {
		v.compare(f, n, i, cmp.Or(seen[id(i)], &job.Job{}))
	}
	if len(seen) != f.jobs {
		v.is("%d jobs are in the store, of %d", len(seen), f.jobs)
	}
	return s.Open(func(j *job.Job) error { v.is("%s is among those that are open", j.ID); return nil })
}

// readSlots looks whether each worker is there at the end, and has lost as many slots as it says: one for each job that it was told to stop
// in vain since it was started, and not all, for then it starts anew.
func (v *verdict) readSlots(f *field, n *notes) {
	for _, p := range f.processes {
		if p.role.Name != "worker" {
			continue
		}
		b := f.beats[p.ID]
		if b == nil {
			v.is("worker %s was not heard of at the end", p.ID)
			continue
		}
		began := time.Time{}
		for _, x := range n.ends {
			if x.pid == p.Process.Pid && x.what == anew && x.from.After(began) {
				began = x.from
			}
		}
		lost := 0
		for name, all := range n.runs {
			for _, r := range all {
				if isDeaf(name) && r.pid == p.Process.Pid && r.from.After(began) {
					lost++
				}
			}
		}
		if b.Worker.Stuck != lost || len(b.Stuck) != lost || lost >= slots {
			v.is("worker %s says that %d of its slots are lost, to %v; %d are", p.ID, b.Worker.Stuck, b.Stuck, lost)
		}
		v.lost += lost
	}
}

// isDeaf tells whether a job is one that does not heed its context.
func isDeaf(name string) bool {
	i := 0
	_, err := fmt.Sscanf(name, "job-%d", &i)
	return err == nil && kind(i) == "deaf"
}

// compare holds a job of the store against what it had to become, and against what its workers have noted: a begin that only one of both
// knows of needs a fault of who has claimed the job, or a kill of scheduler or broker, between the claim and the job's end.
func (v *verdict) compare(f *field, n *notes, i int, j *job.Job) {
	if j.State != wanted(i) || !right(i, string(j.Result)) {
		v.is("%s (%s) is %q with %s, and had to be %s", id(i), kind(i), j.State, j.Result, wanted(i))
	}
	runs := n.runs[id(i)]
	v.begins += j.Begun
	if j.Begun == len(runs) {
		return
	}
	for number := 1; number <= max(j.Attempt, 1); number++ {
		for _, c := range n.claims[attempt{id(i), number}] {
			if f.killedWithin(n, c.pid, c.claimed, j.Ended) != "" || f.stoppedWithin(c.pid, c.claimed, j.Ended) {
				return
			}
		}
	}
	v.is("%s: the store has counted %d begins, and its workers %d", id(i), j.Begun, len(runs))
}

// explain goes through the runs of each job: of those that share a key together. One had to be, and one more for each failure; of the
// others each is explained by a kill of a process that took part, between the claim of the run before and the moment when its end was put
// down, or before the next one; or by a stop of a worker.
func (v *verdict) explain(f *field, n *notes) {
	groups := map[string][]*run{}
	for i := range f.jobs {
		name := id(i)
		if kind(i) == "key" {
			name = fmt.Sprint("key-", i/20)
		}
		groups[name] = append(groups[name], n.runs[id(i)]...)
		v.runs += len(n.runs[id(i)])
		if kind(i) == "late" && len(n.runs[id(i)]) > 0 {
			v.is("%s had no time left, and was begun", id(i))
		}
	}
	for name, all := range groups {
		slices.SortFunc(all, func(a, b *run) int { return cmp.Compare(a.from.UnixMicro(), b.from.UnixMicro()) })
		for i, r := range all[:max(len(all)-1, 0)] {
			next := all[i+1]
			if r.how == "failed" && r.attempt < next.attempt { // it is tried again, as it has to be
				continue
			}
			why := f.why(n, r, next)
			v.twice[why]++
			if r.to.IsZero() || r.how == "dropped" {
				v.unended++
			}
			if why == unexplained {
				v.is("%s: attempt %d of process %d, claimed %s, %s to %s (%s), put down %s; and again %s by process %d as attempt %d, claimed %s", name, r.attempt, r.pid,
					r.claimed.Format(clock), r.from.Format(clock), r.to.Format(clock), r.how, n.storedOf(r).Format(clock),
					next.from.Format(clock), next.pid, next.attempt, next.claimed.Format(clock))
			}
		}
	}
}

const (
	unexplained = "without a reason"
	clock       = "15:04:05.000000"
)

// why explains that a run was followed by another one.
func (f *field) why(n *notes, r *run, next *run) string {
	end := next.from
	if at := n.storedOf(r); !at.IsZero() && at.Before(end) {
		end = at
	}
	if why := f.killedWithin(n, r.pid, r.claimed, end); why != "" {
		return why
	}
	switch {
	case f.stoppedWithin(r.pid, r.claimed, end):
		return "the worker was stopped"
	case f.stoppedWithin(next.pid, next.claimed, next.from):
		return "the worker was stopped before it began"
	}
	return unexplained
}

func (f *field) stoppedWithin(pid int, from, to time.Time) bool {
	return slices.ContainsFunc(f.faults, func(x fault) bool { return x.what == stopped && x.pid == pid && x.overlaps(from, to) })
}

// killedWithin tells who was killed in a time: that worker, the scheduler that led, or the broker. A standby does nothing, and so its death
// explains nothing.
func (f *field) killedWithin(n *notes, worker int, from, to time.Time) string {
	for _, x := range f.faults {
		took := x.pid == worker || x.name == "scheduler" && n.led[x.pid] || x.name == "broker"
		if x.what != stopped && took && x.overlaps(from, to) {
			return "the " + x.name + " " + x.said()
		}
	}
	return ""
}

// said is what was done, as an explanation has it.
func (x fault) said() string {
	switch x.what {
	case exits:
		return "was ended by a job"
	case anew:
		return "was stuck, and started anew"
	}
	return "was " + x.what
}

// overlaps tells whether a fault lies in a time.
func (x fault) overlaps(from, to time.Time) bool { return !x.to.Before(from) && !x.from.After(to) }
