package placement

import (
	"fmt"
	"math"
	"strings"
)

// reason is what a decision was made of; its words are made when they are asked for.
type reason struct {
	options  [2]option // on a CPU and on a GPU
	job      Job
	tried    bool   // to learn how long it takes there
	kept     bool   // it would end sooner on the other device, which is kept for others
	strategy bool   // a strategy has chosen
	wish     bool   // it was as good as the other device, and the job wishes for a GPU
	left     string // why it is taken from the worker to whom it was given
	refused  string // why the other device cannot have it, or, where it waits, why none can
}

// option is the best that a device has for a job.
type option struct {
	ok      bool
	run     Prediction
	backlog float64 // seconds until it would begin
	ready   float64 // of which the worker takes so many to start
}

func at(d Device) int {
	if d == GPU {
		return 1
	}
	return 0
}

func other(d Device) Device {
	if d == GPU {
		return CPU
	}
	return GPU
}

// explain notes what there is for a job, of which m is taken.
func (l *line) explain(j, m int, tried bool) reason {
	r := reason{job: l.all[j], tried: tried}
	for k := range l.load {
		w := l.workers[l.search.worker[k]]
		o := option{true, l.runs[j][l.search.worker[k]], l.load[k], w.Ready}
		best := &r.options[at(w.Device)]
		same := w.Device == l.workers[l.search.worker[m]].Device
		if k == m || !math.IsInf(l.search.time(j, k), 1) && !same && (!best.ok || o.ends() < best.ends()) {
			*best = o
		}
	}
	here := l.workers[l.search.worker[m]]
	mine, its := r.options[at(here.Device)], r.options[at(other(here.Device))]
	r.kept = its.ok && its.ends() < mine.ends()*(1-l.settings.Hysteresis)
	r.wish = its.ok && r.job.PreferGPU && here.Device == GPU && its.ends() < mine.ends()
	if !its.ok {
		r.refused = l.refusal(r.job, other(here.Device))
	}
	if r.job.Worker != "" && r.job.Worker != here.ID {
		r.left = l.leaves(r.job)
	}
	return r
}

func (o option) ends() float64 { return o.backlog + o.run.Seconds }

// refusal is why no worker of a device can run a job; "" where there is none of it.
func (l *workings) refusal(j Job, d Device) string {
	largest, why := 0.0, fits
	for _, w := range l.workers {
		if w.Device != d {
			continue
		}
		if refused := w.refuses(j); refused > why {
			why = refused
		}
		largest = max(largest, w.Memory)
	}
	switch why {
	case otherDevice:
		return fmt.Sprintf("%s ordered by the job", other(d))
	case otherType:
		return fmt.Sprintf("no %s worker runs this type", d)
	case tooLarge:
		return fmt.Sprintf("it needs %s, and the largest %s has %s", Bytes(j.Work.Memory), d, Bytes(largest))
	case stuck:
		return fmt.Sprintf("%s workers are stuck: jobs there do not end though nobody wants them any more; start those workers anew", d)
	case takesNothing:
		return fmt.Sprintf("%s workers take nothing now", d)
	}
	return ""
}

// leaves is why a job is taken from its worker.
func (l *workings) leaves(j Job) string {
	for _, w := range l.workers {
		switch {
		case w.ID != j.Worker:
		case w.Stalled:
			return w.ID + " has stalled"
		case w.AllStuck():
			return w.ID + " is stuck"
		case w.Draining:
			return w.ID + " is ending"
		default:
			return "sooner than on " + w.ID
		}
	}
	return j.Worker + " is gone"
}

// waits is why a job waits that no worker can run.
func (w *workings) waits(j int) reason {
	r := reason{job: w.all[j]}
	var parts []string
	if err := r.job.Work.Validate(); err != nil {
		r.refused = strings.TrimPrefix(err.Error(), "placement: ")
		return r
	}
	for _, d := range Devices() {
		if r.job.Device != "" && r.job.Device != d {
			continue
		}
		if why := w.refusal(r.job, d); why != "" {
			parts = append(parts, why)
		} else if r.job.Device == d {
			parts = append(parts, fmt.Sprintf("the job orders a %s, and no %s worker is there", d, d))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "no worker is there")
	}
	r.refused = strings.Join(parts, "; ")
	return r
}

// Reason says why the job goes there, for a person:
//
//	gpu: 12 ms predicted, cpu 840 ms; backlog 0.3 s
//	cpu: 840 ms predicted, gpu 12 ms; backlog 0 s, gpu 5.2 s
//	waits: the job orders a gpu, and no gpu worker is there
func (d Decision) Reason() string {
	if d.Worker == "" {
		return "waits: " + d.refused
	}
	var b strings.Builder
	mine, its := d.options[at(d.Device)], d.options[at(other(d.Device))]
	fmt.Fprintf(&b, "%s: %v", d.Device, d.Run)
	switch {
	case its.ok:
		fmt.Fprintf(&b, ", %s %s", other(d.Device), Seconds(its.run.Seconds))
	case d.refused != "":
		fmt.Fprintf(&b, ", %s", d.refused)
	}
	fmt.Fprintf(&b, "; backlog %s", Seconds(d.Start-mine.ready))
	if its.ok && its.run.Seconds < d.Run.Seconds {
		fmt.Fprintf(&b, ", %s %s", other(d.Device), Seconds(its.backlog))
	}
	for _, note := range d.notes(mine) {
		b.WriteString("; " + note)
	}
	return b.String()
}

// notes are what else played a part.
func (d Decision) notes(mine option) (all []string) {
	if mine.ready > 0 {
		all = append(all, "it starts in "+Seconds(mine.ready))
	}
	switch {
	case d.strategy:
		all = append(all, "by the program's strategy")
	case d.tried:
		all = append(all, "tried, to learn how long it takes there")
	case d.wish:
		all = append(all, "as the job wishes, the cpu being no better")
	case d.kept:
		all = append(all, fmt.Sprintf("%s kept for jobs that gain more by it", other(d.Device)))
	}
	if d.left != "" {
		all = append(all, "moved: "+d.left)
	}
	return all
}

// Bytes writes an amount of memory with two digits: "96 GB".
func Bytes(n float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= 0.9995*u.size {
			return digits(n/u.size) + " " + u.name
		}
	}
	return digits(n) + " bytes"
}
