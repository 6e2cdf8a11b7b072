package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cancha/jobs/placement"
)

// small is a case that can be searched to its end.
type small struct {
	jobs    []Job
	workers []Worker
	times   [][]float64 // by job and worker
	history *placement.History
}

// drawSmall draws 2 to 4 workers, of which some start late, and 2 to 9 jobs, whose times differ by worker as much as between CPU and GPU or
// not at all. The history knows them, but for noise: the standard deviation of the logarithm of what a run really takes.
func drawSmall(seed uint64, noise, within float64) small {
	r := rand.New(rand.NewPCG(seed, 10))
	c := small{history: &placement.History{}}
	for i := range 2 + r.IntN(3) {
		w := Worker{Worker: placement.Worker{ID: fmt.Sprint("w", i), Device: one(r, placement.CPU, placement.GPU), Model: fmt.Sprint("model ", i)}}
		if r.IntN(3) == 0 {
			w.Starts = 3 * r.Float64()
		}
		c.workers = append(c.workers, w)
	}
	apart := one(r, 0, 0.5, 1.5)
	for i := range 2 + r.IntN(8) {
		id, base := fmt.Sprint("j", i), math.Exp(r.NormFloat64())
		j := Job{Job: placement.Job{ID: id, Type: id, Work: placement.Work{Type: id}, Priority: 5}, Seconds: map[placement.Device]float64{},
			Submitted: within * r.Float64()}
		var row []float64
		for _, w := range c.workers {
			seconds := base * math.Exp(apart*r.NormFloat64())
			c.know(j, w, seconds)
			row = append(row, seconds*math.Exp(noise*r.NormFloat64()))
		}
		c.jobs, c.times = append(c.jobs, j), append(c.times, row)
	}
	return c
}

// know has the history predict so many seconds.
func (c *small) know(j Job, w Worker, seconds float64) {
	const sigma = 0.05 // the least that is believed
	k := placement.Key{Type: j.Type, Device: w.Device, Model: w.Model}
	c.history.Restore(placement.Measurement{Key: k, Average: placement.Average{Count: 1000, Mean: math.Log(seconds) - sigma*sigma/2, Variance: sigma * sigma}})
}

// best searches all placements. On each worker jobs run in the order of submission, which ends first whatever they are.
func (c *small) best() float64 {
	order := make([]int, len(c.jobs))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(a, b int) int { return compare(c.jobs[a].Submitted, c.jobs[b].Submitted) })
	free := make([]float64, len(c.workers))
	for i, w := range c.workers {
		free[i] = w.Joins + w.Starts
	}
	found := math.Inf(1)
	var visit func(n int, end float64)
	visit = func(n int, end float64) {
		if end >= found {
			return
		}
		if n == len(order) {
			found = end
			return
		}
		j := order[n]
		for k := range free {
			was := free[k]
			free[k] = max(was, c.jobs[j].Submitted) + c.times[j][k]
			visit(n+1, max(end, free[k]))
			free[k] = was
		}
	}
	visit(0, 0)
	return found
}

// play runs a case.
func (c *small) play(t *testing.T) float64 {
	t.Helper()
	p, err := NewPredicted(c.history, placement.Settings{Explore: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := newPlay(c.jobs, c.workers)
	s.truth = func(j Job, w *worker) float64 {
		return c.times[slices.IndexFunc(c.jobs, func(o Job) bool { return o.ID == j.ID })][slices.Index(s.workers, w)]
	}
	r, err := s.run(p)
	if err != nil {
		t.Fatal(err)
	}
	return r.Makespan
}

// ratios plays many cases, and returns how many times longer they take than the best schedule, sorted.
func ratios(t *testing.T, cases int, noise, within float64) (all []float64, mean float64) {
	for seed := range uint64(cases) {
		c := drawSmall(seed, noise, within)
		r := c.play(t) / c.best()
		if all = append(all, r); r < 1-1e-9 {
			t.Fatalf("case %d takes %v of the best schedule: the search does not find it", seed, r)
		}
		mean += r / float64(cases)
	}
	slices.Sort(all)
	return all, mean
}

// TestSmall: with known times each of 1,000 cases ends within 10 % of the best schedule there is. Where a run takes what it takes by
// chance, and where jobs come one after another, the best schedule is that of somebody who knows the future; that of nobody else is within
// 10 % of it each time, but ours is in the mean.
func TestSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		name          string
		noise, within float64 // of a run's time; seconds in which the jobs are submitted
		mean, most    float64
	}{
		{"known", 0, 0, 1.005, 1.1},
		{"noise of 10 %", 0.1, 0, 1.1, math.Inf(1)},
		{"noise of 20 %", 0.2, 0, 1.1, math.Inf(1)},
		{"submitted within 1 s", 0, 1, 1.1, math.Inf(1)},
		{"submitted within 3 s", 0, 3, 1.1, math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, mean := ratios(t, 1000, c.noise, c.within)
			n := len(all)
			t.Logf("of the best schedule: mean %.4f, median %.4f, p95 %.3f, p99 %.3f, most %.3f", mean, all[n/2], all[n*95/100], all[n*99/100], all[n-1])
			if mean > c.mean || all[n-1] > c.most {
				t.Errorf("got a mean of %.3f and at most %.3f, want %v and %v", mean, all[n-1], c.mean, c.most)
			}
		})
	}
}
