package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/store"
)

// run is one attempt, as its worker has noted it.
type run struct {
	job     string
	attempt int
	pid     int
	from    time.Time
	to      time.Time // zero: its end was not noted
	how     string    // good, failed, dropped
}

// verdict is what was found.
type verdict struct {
	states  map[job.State]int
	runs    int
	twice   map[string]int // runs beside those that had to be, by what explains them
	results int            // that came more than once
	wrong   []string
}

func (v *verdict) String() string {
	return fmt.Sprintf("in the store %v; %d runs; run again: %v; %d results came again; %d wrong", v.states, v.runs, v.twice, v.results, len(v.wrong))
}

func (v *verdict) is(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// judge looks into the store and the journals. The error names what is wrong.
func judge(f *field) (*verdict, error) {
	v := &verdict{states: map[job.State]int{}, twice: map[string]int{}}
	for _, n := range f.results {
		v.results += n - 1
	}
	if err := v.readStore(f); err != nil {
		return v, err
	}
	runs, err := readJournals(f.folder)
	if err != nil {
		return v, err
	}
	v.explain(f, runs)
	if len(v.wrong) > 0 {
		for _, x := range f.faults {
			v.is("%s to %s: the %s, process %d, was %s", x.from.Format(clock), x.to.Format(clock), x.name, x.pid, x.what)
		}
		return v, errors.New(strings.Join(v.wrong[:min(len(v.wrong), 200)], "\n"))
	}
	return v, nil
}

// readStore looks whether each job is there, once, and has ended as it had to.
func (v *verdict) readStore(f *field) error {
	s, err := store.Open(role{Folder: f.folder}.store())
	if err != nil {
		return err
	}
	defer s.Close()
	seen := map[string]job.State{}
	for skip, more := 0, true; more; skip = len(seen) {
		var all []*job.Job
		if all, more, err = s.List(store.Query{Limit: 10_000, Skip: skip}); err != nil {
			return err
		}
		for _, j := range all {
			if _, is := seen[j.ID]; is {
				v.is("%s is in the store twice", j.ID)
			}
			seen[j.ID] = j.State
			v.states[j.State]++
		}
	}
	for i := range f.jobs {
		if got := seen[id(i)]; got != wanted(i) {
			v.is("%s (%s) is %q, and had to be %s", id(i), kind(i), got, wanted(i))
		}
	}
	if len(seen) != f.jobs {
		v.is("%d jobs are in the store, of %d", len(seen), f.jobs)
	}
	return s.Open(func(j *job.Job) error { v.is("%s is among those that are open", j.ID); return nil })
}

func readJournals(folder string) (map[string][]*run, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.journal"))
	if err != nil {
		return nil, err
	}
	all := map[string][]*run{}
	for _, name := range names {
		if err := readJournal(name, all); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

func readJournal(name string, all map[string][]*run) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, rest, _ := strings.Cut(filepath.Base(name), ".")
	pid := 0
	if _, err := fmt.Sscanf(rest, "%d.journal", &pid); err != nil {
		return err
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var what, how string
		var micro int64
		r := &run{pid: pid}
		if _, err := fmt.Sscan(lines.Text(), &what, &r.job, &r.attempt, &micro, &how); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		r.from = time.UnixMicro(micro)
		if what == "begin" {
			all[r.job] = append(all[r.job], r)
			continue
		}
		open := slices.IndexFunc(all[r.job], func(b *run) bool { return b.pid == pid && b.attempt == r.attempt && b.to.IsZero() })
		if open < 0 {
			return fmt.Errorf("%q has not begun", lines.Text())
		}
		all[r.job][open].to, all[r.job][open].how = r.from, how
	}
	return nil
}

// explain goes through the runs of each job: of those that share a key together. One had to be, and one more for each failure; of the others each is explained by
// a fault of a process that had it. A server that was only stopped is no reason.
func (v *verdict) explain(f *field, runs map[string][]*run) {
	groups := map[string][]*run{}
	for i := range f.jobs {
		name := id(i)
		if kind(i) == "key" {
			name = fmt.Sprint("key-", i/20)
		}
		groups[name] = append(groups[name], runs[id(i)]...)
		v.runs += len(runs[id(i)])
		if kind(i) == "late" && len(runs[id(i)]) > 0 {
			v.is("%s had no time left, and was begun", id(i))
		}
	}
	for name, all := range groups {
		slices.SortFunc(all, func(a, b *run) int { return cmp.Compare(a.from.UnixMicro(), b.from.UnixMicro()) })
		for i, r := range all[:max(len(all)-1, 0)] {
			if r.how == "failed" && r.attempt < all[i+1].attempt { // it is tried again, as it has to be
				continue
			}
			why := f.why(r, all[i+1])
			v.twice[why]++
			if why == unexplained {
				v.is("%s: attempt %d of process %d, %s to %s (%s), and again %s by process %d as attempt %d", name, r.attempt, r.pid,
					r.from.Format(clock), r.to.Format(clock), r.how, all[i+1].from.Format(clock), all[i+1].pid, all[i+1].attempt)
			}
		}
	}
}

const (
	unexplained = "without a reason"
	clock       = "15:04:05.000000"
	// onItsWay is how long after the end of a run its report may take to be put down, where two processors do all of this.
	onItsWay = 3 * time.Second
	// claimed is how long before its begin a run may have been granted.
	claimed = 100 * time.Millisecond
)

// why explains that a run was followed by another one: its worker was killed or stopped before its end had been put down, or the scheduler was; or the worker of
// the other one was stopped between claim and begin.
func (f *field) why(r *run, next *run) string {
	end := next.from
	if !r.to.IsZero() {
		late := r.to.Add(onItsWay)
		for _, x := range f.faults { // while the broker is stopped, nothing gets anywhere
			if x.what == stopped && x.name == "server" && x.to.After(r.to) && x.from.Before(late) {
				late = late.Add(x.to.Sub(x.from))
			}
		}
		if late.Before(end) {
			end = late
		}
	}
	for _, name := range []string{"worker", "server"} {
		for _, x := range f.faults {
			if x.name == name && (x.pid == r.pid || name == "server" && x.what == killed) && x.to.After(r.from.Add(-claimed)) && x.from.Before(end) {
				return "the " + name + " was " + x.what
			}
		}
	}
	for _, x := range f.faults {
		if x.what == stopped && x.pid == next.pid && x.from.Before(next.from) && next.from.Before(x.to.Add(onItsWay)) {
			return "the worker was stopped before it began"
		}
	}
	return unexplained
}
