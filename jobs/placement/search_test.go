package placement

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draw makes a search of so many jobs and machines. Times differ by machine by so much; some machines are not free at once, and some jobs
// run on some only.
func draw(r *rand.Rand, jobs, machines int, apart float64) *search {
	s := &search{left: 300_000, slack: 0.05, on: make([][]int, machines)}
	for m := range machines {
		s.worker, s.gpu = append(s.worker, m), append(s.gpu, false)
		s.load = append(s.load, float64(r.IntN(2))*3*r.Float64())
	}
	for range jobs {
		base, row := math.Exp(r.NormFloat64()), make([]float64, machines)
		for m := range row {
			row[m] = base * math.Exp(apart*r.NormFloat64())
			if r.IntN(6) == 0 && m > 0 {
				row[m] = math.Inf(1)
			}
		}
		s.times, s.at, s.wishes = append(s.times, row), append(s.at, nowhere), append(s.wishes, false)
	}
	return s
}

func all(n int) []int {
	jobs := make([]int, n)
	for j := range jobs {
		jobs[j] = j
	}
	return jobs
}

// least is the makespan of the best placement, by a search of all.
func least(s *search) float64 {
	load, found := slices.Clone(s.load), math.Inf(1)
	var visit func(j int)
	visit = func(j int) {
		most := slices.Max(load)
		if most >= found {
			return
		}
		if j == len(s.times) {
			found = most
			return
		}
		for m := range load {
			was := load[m]
			load[m] += s.time(j, m)
			visit(j + 1)
			load[m] = was
		}
	}
	visit(0)
	return found
}

// TestPlace: of 6,000 small cases none ends more than 10 % later than the best of all placements.
func TestPlace(t *testing.T) {
	for _, apart := range []float64{0, 0.5, 1.5} {
		mean, most := 0.0, 0.0
		for seed := range uint64(2000) {
			r := rand.New(rand.NewPCG(seed, 3))
			n := 2 + r.IntN(8)
			s := draw(r, n, 2+r.IntN(3), apart)
			best := least(s)
			s.place(all(n))
			sums(t, s)
			got := slices.Max(s.load) / best
			if got < 1-1e-9 || got > 1.1 {
				t.Errorf("apart %v, seed %d: it ends at %v of the best", apart, seed, got)
			}
			mean, most = mean+got/2000, max(most, got)
		}
		t.Logf("apart %v: mean %.5f, most %.3f of the best", apart, mean, most)
	}
}

// sums: each job is somewhere it can run, and loads are the sums of their jobs.
func sums(t *testing.T, s *search) {
	t.Helper()
	placed := 0
	for m, jobs := range s.on {
		placed += len(jobs)
		for _, j := range jobs {
			if s.at[j] != m || math.IsInf(s.time(j, m), 1) {
				t.Fatalf("job %d is on machine %d, and said to be on %d; it takes %v there", j, m, s.at[j], s.time(j, m))
			}
		}
	}
	if placed != len(s.times) {
		t.Fatalf("%d of %d jobs are placed", placed, len(s.times))
	}
}

// TestPlaceMany: loads of many jobs come near to what no placement is below: work that could be cut into pieces, on machines that are alike.
func TestPlaceMany(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := draw(r, 200, 4, 0)
		for j := range s.times { // all run everywhere
			s.times[j][0] = slices.Min(s.times[j])
			for m := range s.times[j] {
				s.times[j][m] = s.times[j][0]
			}
		}
		work := 0.0
		for _, l := range s.load {
			work += l
		}
		for j := range s.times {
			work += s.times[j][0]
		}
		s.place(all(200))
		sums(t, s)
		if got := slices.Max(s.load) / (work / 4); got > 1.01 {
			t.Errorf("seed %d: it ends at %v of the bound", seed, got)
		}
	}
}

// TestEffort: a search that may look at nothing is a list, and one that may look at little is no worse.
func TestEffort(t *testing.T) {
	last := math.Inf(1)
	for _, effort := range []int{0, 1000, 300_000} {
		s := draw(rand.New(rand.NewPCG(5, 5)), 150, 4, 1)
		s.left = effort
		s.place(all(150))
		sums(t, s)
		got := slices.Max(s.load)
		if got > last || s.left < -1000 {
			t.Errorf("effort %d: it ends at %v, with less effort at %v; %d left", effort, got, last, s.left)
		}
		last = got
	}
}

// TestGrant: wishes that cost little are granted, and others not.
func TestGrant(t *testing.T) {
	for _, c := range []struct {
		time float64 // on the GPU, of jobs that take 1 s on the CPU
		want int     // jobs there, of one
	}{{0.9, 1}, {1.04, 1}, {1.06, 0}} {
		s := &search{left: 1000, slack: 0.05, gpu: []bool{false, true}, worker: []int{0, 1}, load: []float64{0, 0}, on: make([][]int, 2),
			times: [][]float64{{1, c.time}}, wishes: []bool{true}, at: []int{nowhere}}
		s.place([]int{0})
		s.grant([]int{0})
		if got := len(s.on[1]); got != c.want {
			t.Errorf("%v s: got %d, want %d", c.time, got, c.want)
		}
	}
}
