package placement

import "math"

// paces are how workers of one place differ: one device, called the same everywhere, is another one in a container that has half of its
// cores. Each average is of what runs took beside what was known of their key, ln(seconds / predicted), by worker and of all together,
// since what the history knows of a key is the mean over all of them.
type paces struct {
	all    Average
	worker map[string]*Average
}

const (
	paceRuns   = 4    // runs that the guess is worth that a worker is as the others
	leastPace  = 0.1  // a difference below this, 10 %, is none: so workers that are alike stay alike
	mostPacers = 1000 // workers of a place; beyond, all are learned anew: ids are texts from outside, and a worker may have another one each time it starts
)

// add takes in a run of a worker that took x beside what was known, as a difference of logarithms.
func (p *paces) add(worker string, x float64) {
	a := p.worker[worker]
	if a == nil {
		if p.worker == nil || len(p.worker) == mostPacers {
			p.worker = map[string]*Average{}
		}
		a = &Average{}
		p.worker[worker] = a
	}
	a.Add(x)
	p.all.Add(x)
}

// of is how much longer runs take on a worker than on those of its place in the mean, as a logarithm; 0 where it is the only one.
func (p *paces) of(worker string) float64 {
	if p == nil || p.worker[worker] == nil || len(p.worker) < 2 {
		return 0
	}
	a := p.worker[worker]
	n := float64(min(a.Count, settled))
	d := (a.Mean - p.all.Mean) * n / (n + paceRuns)
	if math.Abs(d) < leastPace {
		return 0
	}
	return d
}

// pace is paces.of for a worker.
func (h *History) pace(on Worker) float64 { return h.paces[place{on.Device, on.Model}].of(on.ID) }

// keepPace notes how long a run took beside what was known before it.
func (h *History) keepPace(k Key, on Worker, x float64) {
	if on.ID == "" {
		return
	}
	if h.paces == nil {
		h.paces = map[place]*paces{}
	}
	if h.paces[k.place()] == nil {
		h.paces[k.place()] = &paces{}
	}
	h.paces[k.place()].add(on.ID, x)
}
