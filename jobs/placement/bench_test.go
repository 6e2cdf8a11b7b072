package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct{ jobs, workers int }{{1, 3}, {10, 3}, {60, 3}, {256, 3}, {256, 32}} {
		b.Run(fmt.Sprintf("%d jobs, %d workers", c.jobs, c.workers), func(b *testing.B) {
			p, jobs, workers := load(b, 1, c.jobs, c.workers)
			for b.Loop() {
				p.Plan(jobs, workers)
			}
		})
	}
}

// load is a load of products of matrices, of which some sizes were measured.
func load(t testing.TB, seed uint64, jobs, workers int) (*Planner, []Job, []Worker) {
	r := rand.New(rand.NewPCG(seed, 1))
	h := &History{}
	p, err := NewPlanner(h, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var on []Worker
	for i := range workers {
		on = append(on, Worker{ID: fmt.Sprint("worker-", i), Device: Devices()[i%3/2]})
	}
	var all []Job
	for i := range jobs {
		n := 100 + 3000*r.Float64()
		w := MatrixMultiply(n, n, n)
		all = append(all, Job{ID: fmt.Sprint("job-", i), Type: w.Type, Work: w, Priority: 5})
		k := on[r.IntN(len(on))]
		if _, err := h.Add(w, k, 1.3*h.Predict(w, k).Seconds); err != nil {
			t.Fatal(err)
		}
	}
	return p, all, on
}
