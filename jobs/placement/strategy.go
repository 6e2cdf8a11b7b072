package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/internal/callback"
)

// Strategy decides where jobs go in place of the planner's own search: a program hands it over in [Settings]. It is asked about one job
// after the other, those of the highest priority first, while the scheduler waits: it returns at once, and keeps nothing that it was given.
// What the planner sees to stays so: a job has only workers to choose from that can run it, and none is given more than it has room for.
type Strategy interface {
	// Choose returns the id of one of the candidates, of which there is one at least; "": the job waits, and is asked about again. A job
	// whose worker has no room yet waits for that. An id that is none of theirs, and a panic, have the job wait, too, and its reason says
	// so. One that has not returned within 2 s has the job wait as well; until it returns, nothing is placed, which is [Planner.Trouble].
	Choose(j Job, all []Candidate) string
}

// StrategyFunc is a function as a Strategy.
type StrategyFunc func(j Job, all []Candidate) string

// Choose calls the function.
func (f StrategyFunc) Choose(j Job, all []Candidate) string { return f(j, all) }

// Candidate is a worker that can run a job.
type Candidate struct {
	Worker
	// Estimate is how long the job runs there.
	Estimate Prediction
	// Load is in how many seconds the worker is free for it, as far as is known: what runs there and what it was given is done by then.
	Load float64
	// Given is how many jobs it has that have not begun.
	Given int
	// Room tells that it would be given the job at once.
	Room bool
}

// Best is the candidate on which the job ends first, by load and estimate; the first of equals. It is what most strategies begin with, and
// needs one candidate at least.
func Best(all []Candidate) Candidate {
	return slices.MinFunc(all, func(a, b Candidate) int {
		switch one, two := a.Load+a.Estimate.Seconds, b.Load+b.Estimate.Seconds; {
		case one < two:
			return -1
		case one > two:
			return 1
		}
		return 0
	})
}

// choose is Plan where a strategy decides. What workers were given stays there as long as they take work.
func (w *workings) choose() *Plan {
	w.stays = make([]bool, len(w.all))
	for j, job := range w.all {
		here := w.soonest(j, func(m int) bool { return w.workers[w.search.worker[m]].ID == job.Worker })
		if job.Worker != "" && here != nowhere {
			w.search.at[j], w.stays[j] = here, true
			w.given = append(w.given, j)
		}
	}
	p, l := &Plan{Later: w.later, Decisions: make([]Decision, len(w.all))}, newLine(w)
	for _, j := range w.order() {
		p.Decisions[j] = l.strategic(j)
	}
	for _, load := range l.load {
		p.Makespan = max(p.Makespan, load)
	}
	return p
}

// strategic decides about one job, behind those that were decided about before.
func (l *line) strategic(j int) Decision {
	job := l.all[j]
	waits := func(r reason) Decision { return Decision{Job: job.ID, From: job.Worker, reason: r} }
	if !l.stays[j] {
		all, machines := l.candidates(j)
		if len(all) == 0 {
			return waits(l.waits(j))
		}
		m, why := l.ask(job, all, machines)
		if why != "" {
			return waits(reason{job: job, refused: why})
		}
		l.search.at[j] = m
	}
	m := l.search.at[j]
	why := l.explain(j, m, false)
	why.kept, why.wish, why.strategy = false, false, !l.stays[j]
	d := l.decide(j, m, why)
	d.Alone = true
	return d
}

// candidates are the workers that can run a job, and the machine of each that is free first.
func (l *line) candidates(j int) (all []Candidate, machines []int) {
	for i, worker := range l.workers {
		best := nowhere
		for m, k := range l.search.worker {
			if k == i && l.search.time(j, m) <= longest && (best == nowhere || l.load[m] < l.load[best]) {
				best = m
			}
		}
		if best != nowhere {
			all = append(all, Candidate{worker, l.runs[j][i], l.load[best], l.ahead[worker.ID], l.room(worker, best)})
			machines = append(machines, best)
		}
	}
	return all, machines
}

// ask returns the machine that the strategy chooses, or why there is none.
func (l *line) ask(j Job, all []Candidate, machines []int) (machine int, why string) {
	id, err := l.asked.ask(l.settings.Strategy, j, all)
	switch {
	case errors.As(err, new(unanswered)):
		return nowhere, err.Error()
	case err != nil: // a panic, or the end of its goroutine, which is not the scheduler's
		return nowhere, fmt.Sprintf("the program's strategy has failed: %.300v", err)
	case id == "":
		return nowhere, "the program's strategy gives it to no worker now"
	}
	i := slices.IndexFunc(all, func(c Candidate) bool { return c.ID == id })
	if i < 0 {
		return nowhere, fmt.Sprintf("the program's strategy names %.100q, which is no worker that can run it", id)
	}
	return machines[i], ""
}

// patience is for how long a strategy is waited for, by whoever waits for the scheduler, too: it is to return at once. One that a busy
// machine holds up is heard later.
const patience = 2 * time.Second

// asked is what a strategy was asked last, and has not answered yet. Nobody can stop it: so it is asked nothing else until it has.
type asked struct {
	job    string
	since  time.Time
	answer chan answer // with room for one; nil: nothing is open
}

type answer struct {
	id  string
	err error
}

// unanswered is why a job waits that a strategy was asked about, or was not because of another one.
type unanswered struct {
	job   string
	since time.Time
}

func (u unanswered) Error() string {
	return fmt.Sprintf("the program's strategy was asked about job %.100q at %s, and has not answered: it is asked about no other one until its Choose returns",
		u.job, u.since.Format(time.TimeOnly))
}

// ask asks about a job. An answer that has come late, about the same one, is taken.
func (a *asked) ask(s Strategy, j Job, all []Candidate) (id string, err error) {
	if a.answer != nil {
		select {
		case late := <-a.answer:
			if a.answer = nil; a.job == j.ID {
				return late.id, late.err
			}
		default:
			return "", unanswered{a.job, a.since}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	answers := make(chan answer, 1)
	all = slices.Clone(all)
	go func() { // it ends with Choose; functions of cells stop with the context
		defer cancel()
		var is answer
		is.err = callback.Do(ctx, func() error { is.id = s.Choose(j, all); return nil })
		answers <- is
	}()
	*a = asked{j.ID, time.Now(), answers}
	select {
	case is := <-answers:
		a.answer = nil
		return is.id, is.err
	case <-ctx.Done():
		return "", unanswered{a.job, a.since}
	}
}

// Trouble tells that the strategy does not answer, so that nothing is placed; "": it does, or there is none. Plan is to be asked again when
// that has changed.
func (p *Planner) Trouble() string {
	if p.asked.answer == nil || len(p.asked.answer) > 0 {
		return ""
	}
	return unanswered{p.asked.job, p.asked.since}.Error()
}
