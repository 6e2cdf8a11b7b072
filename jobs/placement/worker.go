package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Worker is what the scheduler knows of a worker at the moment in which it asks where jobs go.
type Worker struct {
	ID     string
	Device Device
	// Model is what the device is called, such as "NVIDIA H100": what was measured on one holds for all of them.
	Model string
	Rates Rates
	// Memory is how many bytes a job may have: of the GPU's own memory, or of what the worker's machine or container allows it. 0: unknown,
	// and any job fits.
	Memory float64
	// Types are the job types that it runs; nil: all.
	Types []string
	// Slots is how many jobs it runs side by side, each as fast as alone; 0: one, which is all that a GPU has.
	Slots int
	// Stuck is how many of its slots have a job that does not end though nobody wants it any more: nothing else can run there. Where that
	// is all of them, it is given nothing, and what has not begun there goes elsewhere.
	Stuck int
	// Ready is in how many seconds it begins to take work, for it is still starting; 0: it takes work.
	Ready float64
	// Stalled tells that it has not been heard of for too long, or that its run is overdue ([Prediction.Overdue]). It is given nothing, and
	// what has not begun there goes elsewhere.
	Stalled bool
	// Draining tells that it ends when its runs have: it is given nothing more, and what has not begun there goes elsewhere.
	Draining bool
	Running  []Run
}

// Run is a job that has begun on a worker.
type Run struct {
	Work     Work
	Elapsed  float64 // seconds since it has begun
	Progress float64 // the share that is done, from 0 to 1, as the job tells itself; 0: unknown
}

// slots is how many runs it can have, one or more; of a worker whose slots are all stuck it says nothing.
func (w Worker) slots() int { return max(max(w.Slots, 1)-w.Stuck, 1) }

// AllStuck tells whether no slot is left in which a job could run.
func (w Worker) AllStuck() bool { return w.Stuck >= max(w.Slots, 1) }

// cost is what work costs here by the device's rates, in seconds above 0. Without a cost it is one second, and false.
func (w Worker) cost(work Work) (float64, bool) {
	if !work.known() {
		return 1, false
	}
	return max(w.Rates.seconds(w.Device, work), shortest), true
}

// Validate reports what no worker is.
func (w Worker) Validate() error {
	switch {
	case w.ID == "":
		return errors.New("placement: a worker without an id")
	case !utf8.ValidString(w.ID) || strings.ContainsFunc(w.ID, unicode.IsControl):
		return fmt.Errorf("placement: worker %.100q: its id has control characters, such as the end of a line; use letters, digits and signs", w.ID)
	case w.Device != CPU && w.Device != GPU:
		return fmt.Errorf("placement: worker %q: device %.100q; it is %q or %q", w.ID, w.Device, CPU, GPU)
	case !(w.Memory >= 0) || !(w.Ready >= 0) || w.Slots < 0 || w.Stuck < 0:
		return fmt.Errorf("placement: worker %q: memory %v, ready in %v s, %d slots, %d stuck; each is a number from 0", w.ID, w.Memory,
			w.Ready, w.Slots, w.Stuck)
	}
	return w.Rates.Validate()
}

// takes tells whether it is given work at all.
func (w Worker) takes() bool { return !w.Stalled && !w.Draining && !w.AllStuck() }

// refuses is why it cannot run a job, or nothing.
func (w Worker) refuses(j Job) refusal {
	switch {
	case j.Device != "" && j.Device != w.Device:
		return otherDevice
	case w.Types != nil && !slices.Contains(w.Types, j.Type):
		return otherType
	case w.Memory > 0 && j.Work.Memory > w.Memory:
		return tooLarge
	case w.AllStuck():
		return stuck
	case !w.takes():
		return takesNothing
	}
	return fits
}

// refusal is why a worker cannot run a job.
type refusal int

// From the one that never changes to the one that may change soon.
const (
	fits refusal = iota
	otherDevice
	otherType
	tooLarge
	stuck
	takesNothing
)

// free is in how many seconds each of its slots is free of what runs there now.
func (w Worker) free(h *History) []float64 {
	all := make([]float64, w.slots())
	for i := range all {
		all[i] = min(max(w.Ready, 0), longest)
	}
	for i, r := range w.Running {
		s := w.Ready + w.remaining(h, r)
		if i < len(all) {
			all[i] = min(s, longest)
			continue
		}
		least := slices.Index(all, slices.Min(all)) // more runs than slots: they share
		all[least] = min(all[least]+s, longest)
	}
	return all
}

// remaining is how many seconds a run goes on, by what it tells itself once it has told more than a moment, or by its prediction. Of one
// that is overdue nothing is known but how long it has run: it is taken to go on for as long again, for if each such run were about to end,
// jobs would wait behind it for ever.
func (w Worker) remaining(h *History, r Run) float64 {
	if r.tells() {
		return min(r.Elapsed, longest) * (1 - r.Progress) / r.Progress
	}
	p := h.Predict(r.Work, w)
	if p.Overdue(r.Elapsed) {
		return min(r.Elapsed, longest)
	}
	return p.Remaining(r.Elapsed)
}

// tells tells whether the run says itself how far it is.
func (r Run) tells() bool { return r.Progress >= leastProgress && r.Progress <= 1 && r.Elapsed > 0 }

// late is how many times longer than predicted its overdue runs have taken by now, by type of work: jobs of such a type are predicted to
// take as much longer there, before the first has ended. nil: none is overdue.
func (w Worker) late(h *History) (times map[string]float64) {
	for _, r := range w.Running {
		p := h.Predict(r.Work, w)
		if r.tells() || !p.Overdue(r.Elapsed) {
			continue
		}
		if times == nil {
			times = map[string]float64{}
		}
		times[r.Work.Type] = max(times[r.Work.Type], min(r.Elapsed, longest)/p.Seconds)
	}
	return times
}

// leastProgress is from where on the share that is done tells the rest within a fifth or so.
const leastProgress = 0.05
