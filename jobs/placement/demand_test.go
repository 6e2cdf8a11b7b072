package placement

import "testing"

// TestDemand: seconds that wait for each device, by hand.
func TestDemand(t *testing.T) {
	orders := func(j *Job) { j.Device = GPU }
	large := func(j *Job) { j.Work.Memory = 1e12 }
	absent := []Worker{with(gpu, func(w *Worker) { w.ID, w.Ready, w.Memory = "next", 30, 8e10 })}
	for _, c := range []struct {
		name     string
		jobs     []Job
		workers  []Worker
		cpu, gpu Demand
	}{
		{"nothing", nil, []Worker{cpu, gpu}, Demand{}, Demand{}},
		{"each on its best device", append(many("quick", 10), job("a", "even")), []Worker{cpu, gpu}, Demand{Jobs: 1, Seconds: 2},
			Demand{Jobs: 10, Seconds: 0.12}},
		{"no GPU, and too little for one", many("even", 10), []Worker{cpu}, Demand{Jobs: 10, Seconds: 20}, Demand{}},
		{"no GPU, and enough", many("slow", 10), []Worker{cpu}, Demand{Jobs: 5, Seconds: 300}, Demand{Jobs: 5, Seconds: 250}},
		{"only a GPU can", []Job{job("a", "quick", orders), job("b", "quick", orders)}, []Worker{cpu}, Demand{}, Demand{Jobs: 2, Seconds: 0.024, Unserved: 2}},
		{"one that ends counts for nothing", []Job{job("a", "quick", orders)},
			[]Worker{cpu, with(gpu, func(w *Worker) { w.Draining = true })}, Demand{}, Demand{Jobs: 1, Seconds: 0.012, Unserved: 1}},
		{"nobody can", []Job{job("a", "quick", orders, large)}, []Worker{cpu, with(gpu, func(w *Worker) { w.Memory = 8e10 })}, Demand{},
			Demand{Jobs: 1, Unserved: 1}},
	} {
		got := planner(t, usual(t), Settings{Explore: -1}).Demand(c.jobs, c.workers, absent)
		for d, want := range map[Device]Demand{CPU: c.cpu, GPU: c.gpu} {
			g := got[d]
			if g.Jobs != want.Jobs || g.Unserved != want.Unserved || g.Seconds != want.Seconds && !near(g.Seconds, want.Seconds, 0.01) {
				t.Errorf("%s: %s: got %+v, want %+v", c.name, d, g, want)
			}
		}
	}
}

// TestDemandOfMany: all jobs count, beyond any horizon.
func TestDemandOfMany(t *testing.T) {
	got := planner(t, usual(t), Settings{}).Demand(many("quick", 20_000), []Worker{cpu, gpu}, nil)
	if got[GPU].Jobs+got[CPU].Jobs != 20_000 || !near(got[GPU].Seconds, 237, 0.02) || !near(got[CPU].Seconds, 237, 0.02) {
		t.Errorf("got %+v", got)
	}
}
