package simulate

import (
	"testing"

	"cancha/jobs/placement"
)

// other draws another load of the same kind as the recorded one, but for the jobs of one type.
func other(seed uint64, n int, but string) (jobs []Job) {
	for _, r := range draw(seed, n).Jobs {
		if r.Type != but {
			jobs = append(jobs, r.job())
		}
	}
	return jobs
}

// changed is the cluster with something about it otherwise.
func changed(change func(w []Worker)) []Worker {
	w := cluster()
	change(w)
	return w
}

// TestOtherLoads: what the recorded load shows holds for others, and where workers are not what they say, or do not stay, no rule that
// knows nothing ends sooner by more than a tenth; by three where a GPU is a hundred times slower than it says, for what has begun there is
// not taken back. Gains grow with the load: of 200 jobs within 20 s each policy ends soon after the last was submitted.
func TestOtherLoads(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		name     string
		workers  []Worker
		n        int
		rules    float64 // times that prefer_gpu and round robin take at least
		allShare float64 // and one queue for all
		but      string  // a type that is not among them
	}{
		{"as recorded", cluster(), 500, 1.3, 1.1, ""},
		{"a GPU from the beginning", changed(func(w []Worker) { w[2].Joins, w[2].Starts = 0, 0 }), 400, 1.5, 1.1, ""},
		{"a GPU that is ten times slower than it says", changed(func(w []Worker) { w[2].Slower = 10 }), 200, 1, 0.9, ""},
		{"a GPU that is a hundred times slower", changed(func(w []Worker) { w[2].Slower = 100 }), 200, 1.5, 0.7, ""},
		{"a GPU that says it was a hundred times faster", changed(func(w []Worker) {
			w[2].Rates = placement.Rates{Operations: 4e14, Bandwidth: 1.6e13, Transfer: 6e11, Launch: 2e-7, Overhead: 2e-5}
		}), 200, 1, 0.9, ""},
		{"CPUs that say so", changed(func(w []Worker) {
			for i := range 2 {
				w[i].Rates = placement.Rates{Operations: 8e12, Bandwidth: 1.2e12, Launch: 1e-8, Overhead: 1e-5}
			}
		}), 200, 1, 0.9, ""},
		{"a CPU that is five times slower than the other", changed(func(w []Worker) { w[1].Slower = 5 }), 200, 1, 1.1, "matrix_multiply"},
		{"a CPU that stalls", changed(func(w []Worker) { w[1].Stalls = 15 }), 200, 1, 0.9, ""},
		{"a GPU that stalls", changed(func(w []Worker) { w[2].Stalls = 40 }), 200, 1, 0.9, ""},
		{"a GPU that joins late", changed(func(w []Worker) { w[2].Joins = 60 }), 200, 1, 0.9, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobs := other(1000, c.n, c.but)
			ours := run(t, jobs, c.workers, predicted(t, &placement.History{}))
			for _, r := range []struct {
				name   string
				policy Policy
				times  float64
			}{
				{"prefer_gpu", PreferGPU(), c.rules}, {"round robin", RoundRobin("cpu-1", "cpu-2", "gpu-1"), c.rules}, {"one queue", Shared(), c.allShare},
			} {
				theirs, err := Run(jobs, c.workers, r.policy)
				if err != nil { // it waits for a worker that has gone
					continue
				}
				if times := theirs.Makespan / ours.Makespan; times < r.times {
					t.Errorf("ours ends in %.1f s, %s in %.1f s: %.2f times, want %v", ours.Makespan, r.name, theirs.Makespan, times, r.times)
				}
			}
		})
	}
}
