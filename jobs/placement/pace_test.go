package placement

import (
	"math"
	"testing"
)

// TestPace: two workers whose devices are called the same, of which one takes five times as long, are told apart after some runs; a worker
// alone is as the history has it, whatever its runs take.
func TestPace(t *testing.T) {
	h, work := &History{}, MatrixMultiply(1000, 1000, 1000)
	fast, slow := Worker{ID: "fast", Device: CPU, Model: "m"}, Worker{ID: "slow", Device: CPU, Model: "m"}
	add := func(on Worker, seconds float64) {
		t.Helper()
		if _, err := h.Add(work, on, seconds); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		add(fast, 0.3)
	}
	if p := h.pace(fast); p != 0 {
		t.Errorf("the only one is slower than itself by %v", p)
	}
	for range 30 {
		add(fast, 0.1)
		add(slow, 0.5)
	}
	for _, c := range []struct {
		on   Worker
		want float64
	}{{fast, 0.1}, {slow, 0.5}} {
		p := h.Predict(work, c.on)
		if median := p.median(); math.Abs(math.Log(median/c.want)) > math.Log(1.5) {
			t.Errorf("%s: a median of %v s, want about %v", c.on.ID, median, c.want)
		}
	}
	other := h.Predict(MatrixMultiply(100, 100, 100), slow).Seconds / h.Predict(MatrixMultiply(100, 100, 100), fast).Seconds
	if other < 2 || other > 8 {
		t.Errorf("of another size the slow one takes %v times as long, want about 5", other)
	}
}

// TestPaceAlike: workers that are alike but for chance stay alike.
func TestPaceAlike(t *testing.T) {
	h, work := &History{}, VectorAddition(1e6)
	one, two := Worker{ID: "1", Device: CPU}, Worker{ID: "2", Device: CPU}
	for i := range 40 {
		for _, on := range []Worker{one, two} {
			if _, err := h.Add(work, on, 0.01*math.Exp(0.05*math.Sin(float64(7*i)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h.pace(one) != 0 || h.pace(two) != 0 {
		t.Errorf("%v and %v", h.pace(one), h.pace(two))
	}
}

// TestPacers: ids are without end, and what is kept of them is not.
func TestPacers(t *testing.T) {
	p := &paces{}
	for i := range 3 * mostPacers {
		p.add(string(rune(0x4e00+i)), 1)
	}
	if len(p.worker) > mostPacers {
		t.Errorf("%d workers are remembered", len(p.worker))
	}
}

// TestLate: a job does not wait behind a run that is overdue for as long as that takes: it goes to a worker who would have done it
// meanwhile. And what is late on a worker has jobs of its type predicted late there.
func TestLate(t *testing.T) {
	p, err := NewPlanner(&History{}, Settings{Explore: -1})
	if err != nil {
		t.Fatal(err)
	}
	work := MatrixMultiply(4096, 4096, 4096) // 1.7 s on a CPU, 76 ms on a GPU
	gpu := Worker{ID: "gpu", Device: GPU, Running: []Run{{Work: work, Elapsed: 30}}}
	jobs := []Job{{ID: "a", Type: work.Type, Work: work, Worker: "gpu"}, {ID: "b", Type: "vector_addition", Work: VectorAddition(1e6)}}
	plan := p.Plan(jobs, []Worker{gpu, {ID: "cpu", Device: CPU}})
	if d := plan.Decisions[0]; d.Worker != "cpu" || d.From != "gpu" || !d.Now {
		t.Errorf("the job behind it: %+v", d)
	}
	if late := plan.Decisions[0].Predicted()[GPU]; late < 25 {
		t.Errorf("a run that is 30 s late has the next one predicted to take %v s", late)
	}
	gpu.Running[0].Progress = 0.999 // it says itself that it ends in a moment
	if d := p.Plan(jobs, []Worker{gpu, {ID: "cpu", Device: CPU}}).Decisions[0]; d.Worker != "gpu" {
		t.Errorf("behind a run that is nearly done: %+v", d)
	}
}
