package placement

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// knows has a history predict so many seconds for a type on a device.
func knows(t *testing.T, h *History, kind string, d Device, seconds float64) {
	t.Helper()
	a := Average{Count: 1 << 40, Mean: math.Log(seconds) - leastSigma*leastSigma/2, Variance: leastSigma * leastSigma}
	if err := h.Restore(Measurement{Key: Key{Type: kind, Device: d}, Average: a}); err != nil {
		t.Fatal(err)
	}
}

// usual knows types: quick is for a GPU, even takes as long on both, and close a little longer on a GPU.
func usual(t *testing.T) *History {
	var h History
	for kind, seconds := range map[string][2]float64{"quick": {0.84, 0.012}, "slow": {60, 50}, "even": {2, 2}, "close": {2, 2.08}, "short": {0.001, 0.001}} {
		knows(t, &h, kind, CPU, seconds[0])
		knows(t, &h, kind, GPU, seconds[1])
	}
	return &h
}

func planner(t *testing.T, h *History, s Settings) *Planner {
	t.Helper()
	p, err := NewPlanner(h, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func job(id, kind string, change ...func(*Job)) Job {
	j := Job{ID: id, Type: kind, Work: Work{Type: kind}, Priority: 5}
	for _, f := range change {
		f(&j)
	}
	return j
}

func with(w Worker, change func(*Worker)) Worker {
	change(&w)
	return w
}

// busy has a worker run slow jobs that have just begun.
func busy(n int) func(*Worker) {
	return func(w *Worker) { w.Running = slices.Repeat([]Run{{Work: Work{Type: "slow"}}}, n) }
}

// TestChoose: where one job goes, and the words for it.
func TestChoose(t *testing.T) {
	orders := func(d Device) func(*Job) { return func(j *Job) { j.Device = d } }
	wishes := func(j *Job) { j.PreferGPU = true }
	needs := func(bytes float64) func(*Job) { return func(j *Job) { j.Work.Memory = bytes } }
	small := with(gpu, func(w *Worker) { w.Memory = 8e10 })
	for _, c := range []struct {
		name    string
		job     Job
		workers []Worker
		worker  string
		reason  string
	}{
		{"the faster one", job("j", "quick"), []Worker{cpu, gpu}, "gpu-1", "gpu: 12 ms predicted, cpu 840 ms; backlog 0 s"},
		{"the free one", job("j", "quick"), []Worker{cpu, with(gpu, busy(1))}, "cpu-1", "cpu: 840 ms predicted, gpu 12 ms; backlog 0 s, gpu 50 s"},
		{"behind a short run", job("j", "quick"), []Worker{with(cpu, busy(1)),
			with(gpu, func(w *Worker) { w.Running = []Run{{Work: Work{Type: "even"}, Elapsed: 1}} })},
			"gpu-1", "gpu: 12 ms predicted, cpu 840 ms; backlog 1 s"},
		{"a run that tells how far it is", job("j", "quick"),
			[]Worker{cpu, with(gpu, func(w *Worker) { w.Running = []Run{{Work: Work{Type: "slow"}, Elapsed: 9, Progress: 0.9}} })},
			"cpu-1", "cpu: 840 ms predicted, gpu 12 ms; backlog 0 s, gpu 1 s"},
		{"starting soon", job("j", "slow"), []Worker{cpu, with(gpu, func(w *Worker) { w.Ready = 5 })}, "gpu-1",
			"gpu: 50 s predicted, cpu 60 s; backlog 0 s; it starts in 5 s"},
		{"starting late", job("j", "slow"), []Worker{cpu, with(gpu, func(w *Worker) { w.Ready = 15 })}, "cpu-1",
			"cpu: 60 s predicted, gpu 50 s; backlog 0 s, gpu 15 s"},
		{"an order", job("j", "quick", orders(CPU)), []Worker{cpu, gpu}, "cpu-1", "cpu: 840 ms predicted, cpu ordered by the job; backlog 0 s"},
		{"an order that waits in line", job("j", "quick", orders(GPU)), []Worker{cpu, with(gpu, busy(1))}, "gpu-1",
			"gpu: 12 ms predicted, gpu ordered by the job; backlog 50 s"},
		{"a wish where nothing is lost", job("j", "close", wishes), []Worker{cpu, gpu}, "gpu-1",
			"gpu: 2.1 s predicted, cpu 2 s; backlog 0 s, cpu 0 s; as the job wishes, the cpu being no better"},
		{"no wish", job("j", "close"), []Worker{cpu, gpu}, "cpu-1", "cpu: 2 s predicted, gpu 2.1 s; backlog 0 s"},
		{"a wish that costs", job("j", "quick", wishes), []Worker{cpu, with(gpu, busy(1))}, "cpu-1", "cpu: 840 ms predicted, gpu 12 ms; backlog 0 s, gpu 50 s"},
		{"too large for the GPU", job("j", "quick", needs(9.6e10)), []Worker{cpu, small}, "cpu-1",
			"cpu: 840 ms predicted, it needs 96 GB, and the largest gpu has 80 GB; backlog 0 s"},
		{"large enough", job("j", "quick", needs(8e10)), []Worker{cpu, small}, "gpu-1", "gpu: 12 ms predicted, cpu 840 ms; backlog 0 s"},
		{"no GPU", job("j", "quick"), []Worker{cpu}, "cpu-1", "cpu: 840 ms predicted; backlog 0 s"},
		{"by cost", job("j", "x", func(j *Job) { j.Work = MatrixMultiply(4000, 4000, 4000) }), []Worker{cpu, gpu}, "gpu-1",
			"gpu: 75 ms by cost, cpu 1.8 s; backlog 0 s"},
		{"nothing known", job("j", "x"), []Worker{cpu}, "cpu-1", "cpu: 1.6 s guessed; backlog 0 s"},
		{"a type of one worker", job("j", "quick"), []Worker{with(cpu, func(w *Worker) { w.Types = []string{"quick"} }),
			with(gpu, func(w *Worker) { w.Types = []string{"even"} })},
			"cpu-1", "cpu: 840 ms predicted, no gpu worker runs this type; backlog 0 s"},
		{"a worker that ends", job("j", "quick"), []Worker{cpu, with(gpu, func(w *Worker) { w.Draining = true })}, "cpu-1",
			"cpu: 840 ms predicted, gpu workers take nothing now; backlog 0 s"},
		{"no worker", job("j", "quick"), nil, "", "waits: no worker is there"},
		{"an order without a worker", job("j", "quick", orders(GPU)), []Worker{cpu}, "", "waits: the job orders a gpu, and no gpu worker is there"},
		{"an order too large", job("j", "quick", orders(GPU), needs(9.6e10)), []Worker{cpu, small}, "", "waits: it needs 96 GB, and the largest gpu has 80 GB"},
		{"a type of no worker", job("j", "quick"), []Worker{with(cpu, func(w *Worker) { w.Types = []string{} })}, "", "waits: no cpu worker runs this type"},
		{"all stuck", job("j", "quick"), []Worker{with(cpu, func(w *Worker) { w.Slots, w.Stuck = 2, 2 })}, "",
			"waits: cpu workers are stuck: jobs there do not end though nobody wants them any more; start those workers anew"},
		{"all stalled", job("j", "quick"), []Worker{with(cpu, func(w *Worker) { w.Stalled = true })}, "", "waits: cpu workers take nothing now"},
		{"no work", job("j", "quick", needs(math.NaN())), []Worker{cpu}, "", `waits: work of type "quick": memory NaN; a number from 0`},
		{"no worker at all", job("j", "quick"), []Worker{{ID: "tpu-1", Device: "tpu"}}, "", "waits: no worker is there"},
	} {
		d := planner(t, usual(t), Settings{Explore: -1}).Choose(c.job, c.workers)
		if d.Worker != c.worker || d.Reason() != c.reason {
			t.Errorf("%s: got %q: %s\nwant %q: %s", c.name, d.Worker, d.Reason(), c.worker, c.reason)
		}
	}
}

// TestDecision: the numbers of a decision.
func TestDecision(t *testing.T) {
	p := planner(t, usual(t), Settings{Explore: -1})
	d := p.Choose(job("j", "even"), []Worker{with(cpu, busy(1)), with(gpu, func(w *Worker) { w.Running = []Run{{Work: Work{Type: "even"}}} })})
	if !near(d.Start, 2, 0.01) || !near(d.Finish, 4, 0.01) || d.Device != GPU || !d.Now || d.From != "" {
		t.Errorf("got %+v", d)
	}
	if got := d.Predicted(); len(got) != 2 || !near(got[CPU], 2, 0.01) || !near(got[GPU], 2, 0.01) {
		t.Errorf("got %v", got)
	}
	if got := p.Choose(job("j", "even"), nil).Predicted(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// where says which jobs go to which worker; those that are not given now are in brackets.
func where(p *Plan) string {
	at := map[string][]string{}
	var names []string
	order := slices.Clone(p.Decisions)
	slices.SortStableFunc(order, func(a, b Decision) int {
		return strings.Compare(fmt.Sprintf("%020.9f", a.Start), fmt.Sprintf("%020.9f", b.Start))
	})
	for _, d := range order {
		name := d.Job
		if !d.Now {
			name = "(" + name + ")"
		}
		if d.From != "" {
			name += "<" + d.From
		}
		if at[d.Worker] == nil {
			names = append(names, d.Worker)
		}
		at[d.Worker] = append(at[d.Worker], name)
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = n + ": " + strings.Join(at[n], " ")
	}
	return strings.Join(names, "; ")
}

// TestPlan: where several jobs go.
func TestPlan(t *testing.T) {
	given := func(to string) func(*Job) { return func(j *Job) { j.Worker = to } }
	prior := func(p int) func(*Job) { return func(j *Job) { j.Priority = p } }
	waited := func(s float64) func(*Job) { return func(j *Job) { j.Waited = s } }
	for _, c := range []struct {
		name    string
		jobs    []Job
		workers []Worker
		want    string
	}{
		{"each to where it ends first", []Job{job("a", "even"), job("b", "even"), job("c", "quick")}, []Worker{cpu, gpu}, "cpu-1: a; gpu-1: c b"},
		{"one ahead, the rest stays", []Job{job("a", "even"), job("b", "even"), job("c", "even"), job("d", "even")}, []Worker{cpu}, "cpu-1: a b (c) (d)"},
		{"one ahead of what runs", []Job{job("a", "even"), job("b", "even")}, []Worker{with(cpu, busy(1))}, "cpu-1: a (b)"},
		{"two slots", []Job{job("a", "even"), job("b", "even"), job("c", "even"), job("d", "even"), job("e", "even")},
			[]Worker{with(cpu, func(w *Worker) { w.Slots = 2 })}, "cpu-1: a b c d (e)"},
		{"two slots, one of them stuck", []Job{job("a", "even"), job("b", "even"), job("c", "even"), job("d", "even"), job("e", "even")},
			[]Worker{with(cpu, func(w *Worker) { w.Slots, w.Stuck = 2, 1 })}, "cpu-1: a b (c) (d) (e)"},
		{"moved from one that is stuck", []Job{job("a", "quick", given("gpu-1"))}, []Worker{cpu, with(gpu, func(w *Worker) { w.Stuck = 1 })}, "cpu-1: a<gpu-1"},
		{"of short ones a quarter of a second", many("short", 300), []Worker{cpu}, "250 given"},
		{"nothing to one that starts", []Job{job("a", "even")}, []Worker{with(cpu, func(w *Worker) { w.Ready = 1 })}, "cpu-1: (a)"},
		{"priority first", []Job{job("a", "even"), job("b", "even", prior(9)), job("c", "even", prior(1))}, []Worker{cpu}, "cpu-1: b a (c)"},
		{"waiting raises it", []Job{job("a", "even", prior(7)), job("b", "even", waited(95))}, []Worker{with(cpu, busy(1))}, "cpu-1: b (a)"},
		{"but only so far", []Job{job("a", "even", prior(9), waited(1)), job("b", "even", prior(1), waited(1e6))},
			[]Worker{with(cpu, busy(1))}, "cpu-1: b (a)"},
		{"short ones first", []Job{job("a", "slow"), job("b", "even"), job("c", "quick")}, []Worker{cpu}, "cpu-1: c b (a)"},
		{"the best for the first", []Job{job("a", "quick", prior(9)), job("b", "quick"), job("c", "quick")}, []Worker{cpu, gpu}, "gpu-1: a b c"},
		{"kept where it is", []Job{job("a", "even", given("cpu-1"))},
			[]Worker{with(cpu, busy(1)), with(gpu, func(w *Worker) { w.Running = []Run{{Work: Work{Type: "slow"}, Elapsed: 1}} })}, "gpu-1: a<cpu-1"},
		{"kept where another is hardly better", []Job{job("a", "close", given("gpu-1"))}, []Worker{cpu, gpu}, "gpu-1: a"},
		{"moved where another is free", []Job{job("a", "even", given("cpu-1"))}, []Worker{with(cpu, busy(1)), gpu}, "gpu-1: a<cpu-1"},
		{"moved from one that stalls", []Job{job("a", "quick", given("gpu-1")), job("b", "quick", given("gpu-1"))},
			[]Worker{cpu, with(gpu, func(w *Worker) { w.Stalled = true })}, "cpu-1: a<gpu-1 b<gpu-1"},
		{"from one that is gone", []Job{job("a", "quick", given("gpu-7"))}, []Worker{cpu}, "cpu-1: a<gpu-7"},
		{"taken back, and no other can", []Job{job("a", "quick", given("gpu-1"), func(j *Job) { j.Device = GPU })},
			[]Worker{cpu, with(gpu, func(w *Worker) { w.Draining = true })}, ": (a)<gpu-1"},
		{"given more than its share", []Job{job("a", "even", given("cpu-1")), job("b", "even", given("cpu-1")),
			job("c", "even", given("cpu-1")), job("d", "even")}, []Worker{cpu}, "cpu-1: a b c (d)"},
		// a and b end at 4 and 6 there; with a on the CPU both are done at 4.
		{"moved where all ends sooner", []Job{job("a", "even", given("gpu-1")), job("b", "gpu only")},
			[]Worker{with(cpu, func(w *Worker) { w.Running = []Run{{Work: Work{Type: "even"}}} }), gpu}, "cpu-1: a<gpu-1; gpu-1: b"},
	} {
		h := usual(t)
		knows(t, h, "gpu only", CPU, 100)
		knows(t, h, "gpu only", GPU, 4)
		p := planner(t, h, Settings{Explore: -1, Horizon: 1000}).Plan(c.jobs, c.workers)
		got := where(p)
		if len(c.jobs) > 10 {
			got = fmt.Sprint(strings.Count(got, " ")-strings.Count(got, "("), " given")
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func many(kind string, n int) (all []Job) {
	for i := range n {
		all = append(all, job(fmt.Sprint("j", i), kind))
	}
	return all
}

// TestMoved: a job that moves says why.
func TestMoved(t *testing.T) {
	at := func(w string) Job { return job("j", "even", func(j *Job) { j.Worker = w }) }
	for _, c := range []struct {
		job    Job
		change func(*Worker)
		want   string
	}{
		{at("cpu-1"), busy(1), "moved: sooner than on cpu-1"},
		{at("cpu-1"), func(w *Worker) { w.Stalled = true }, "moved: cpu-1 has stalled"},
		{at("cpu-1"), func(w *Worker) { w.Stuck = 1 }, "moved: cpu-1 is stuck"},
		{at("cpu-1"), func(w *Worker) { w.Draining = true }, "moved: cpu-1 is ending"},
		{at("cpu-7"), func(w *Worker) {}, "moved: cpu-7 is gone"},
	} {
		d := planner(t, usual(t), Settings{Explore: -1}).Choose(c.job, []Worker{with(cpu, c.change), gpu})
		if !strings.HasSuffix(d.Reason(), "; "+c.want) || d.From != c.job.Worker {
			t.Errorf("got %q from %q, want %q", d.Reason(), d.From, c.want)
		}
	}
}

// TestKept: a GPU is kept for jobs that gain more by it, and the job that goes to the CPU says so.
func TestKept(t *testing.T) {
	h := usual(t)
	knows(t, h, "half", CPU, 3)
	knows(t, h, "half", GPU, 2)
	knows(t, h, "much", CPU, 100)
	knows(t, h, "much", GPU, 4)
	p := planner(t, h, Settings{Explore: -1}).Plan([]Job{job("a", "half"), job("b", "much")}, []Worker{cpu, gpu})
	if got := where(p); got != "cpu-1: a; gpu-1: b" || !near(p.Makespan, 4, 0.01) {
		t.Errorf("got %q, makespan %v", got, p.Makespan)
	}
	if got, want := p.Decisions[0].Reason(), "cpu: 3 s predicted, gpu 2 s; backlog 0 s, gpu 0 s; gpu kept for jobs that gain more by it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHorizon: jobs beyond it wait, those of the highest priority do not, and what was given is never beyond it.
func TestHorizon(t *testing.T) {
	jobs := many("even", 50)
	jobs[40].Priority, jobs[45].Worker, jobs[45].Priority = 9, "cpu-1", 0
	p := planner(t, usual(t), Settings{Explore: -1, Horizon: 10}).Plan(jobs, []Worker{cpu})
	if len(p.Decisions) != 11 || p.Later != 39 || p.Decisions[0].Job != "j45" || p.Decisions[1].Job != "j40" {
		t.Fatalf("got %d decisions, %d later", len(p.Decisions), p.Later)
	}
	if got := where(p); !strings.HasPrefix(got, "cpu-1: j45 j40 (j0)") {
		t.Errorf("got %q", got)
	}
}

// TestExplore: of jobs of a kind that is unknown on a device some are tried there, about as many as the settings say, until it is known;
// and none where much is lost by it.
func TestExplore(t *testing.T) {
	h := &History{}
	knows(t, h, "new", CPU, 1)
	tried := func(kind string, s Settings) (n int) {
		for i := range 5000 {
			d := planner(t, h, s).Choose(job(fmt.Sprint("job ", i), kind), []Worker{cpu, gpu})
			if d.Device == GPU {
				n++
				if !strings.HasSuffix(d.Reason(), "; tried, to learn how long it takes there") || !d.Now {
					t.Fatalf("got %q", d.Reason())
				}
			}
		}
		return n
	}
	h.Restore(Measurement{Key: Key{Type: "new", Device: GPU}, Average: Average{Count: 2, Mean: math.Log(1.5)}})
	if n := tried("new", Settings{}); n < 60 || n > 140 {
		t.Errorf("%d of 5000 were tried, want about 100", n)
	}
	if n := tried("new", Settings{Explore: 0.2}); n < 900 || n > 1100 {
		t.Errorf("%d of 5000 were tried, want about 1000", n)
	}
	if n := tried("new", Settings{Explore: -1}); n != 0 {
		t.Errorf("%d were tried, want none", n)
	}
	h.Restore(Measurement{Key: Key{Type: "new", Device: GPU}, Average: Average{Count: 2, Mean: math.Log(4)}})
	if n := tried("new", Settings{}); n != 0 {
		t.Errorf("%d were tried where 3 s are lost of 1, want none", n)
	}
	h.Restore(Measurement{Key: Key{Type: "new", Device: GPU}, Average: Average{Count: 3, Mean: math.Log(1.5)}})
	if n := tried("new", Settings{}); n != 0 {
		t.Errorf("%d were tried that are known, want none", n)
	}
}

// TestSettle: answers do not flap. Of what a plan has given to workers the next one moves little, and soon nothing.
func TestSettle(t *testing.T) {
	moves, gave := 0, 0
	for seed := range uint64(100) {
		p, jobs, workers := load(t, seed, 40, 4)
		for i := range workers {
			workers[i].Ready = float64(seed%10) / 20
		}
		for round := 0; ; round++ {
			given := slices.DeleteFunc(p.Plan(jobs, workers).Decisions, func(d Decision) bool { return !d.Now })
			n := give(jobs, given)
			if round == 0 {
				gave += n
			} else if moves += n; n == 0 {
				break
			}
			if round == 5 {
				t.Fatalf("seed %d: jobs still move in the fifth plan", seed)
			}
		}
	}
	t.Logf("%d jobs given, and %d moves", gave, moves)
	if moves > gave/100 {
		t.Errorf("of %d jobs that were given %d move, though nothing has changed", gave, moves)
	}
}

// give has jobs be where they were given, in the order of their beginning, and returns how many it has moved.
func give(jobs []Job, given []Decision) (moves int) {
	slices.SortFunc(given, func(a, b Decision) int { return cmp.Compare(a.Start, b.Start) })
	turn := func(j Job) int { return slices.IndexFunc(given, func(d Decision) bool { return d.Job == j.ID }) }
	for i, j := range jobs {
		if n := turn(j); n >= 0 && j.Worker != given[n].Worker {
			jobs[i].Worker = given[n].Worker
			moves++
		}
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return turn(a) - turn(b) })
	return moves
}

// TestPlanAlike: the same question has the same answer.
func TestPlanAlike(t *testing.T) {
	p, jobs, workers := load(t, 1, 100, 5)
	if a, b := p.Plan(jobs, workers), p.Plan(jobs, workers); !reflect.DeepEqual(a, b) {
		t.Error("two plans differ")
	}
}

// TestAnything: whatever workers and jobs there are, valid or not, each job has one decision, and none that breaks a rule.
func TestAnything(t *testing.T) {
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 6))
		p := planner(t, usual(t), Settings{Explore: 0.5, Horizon: 1 + r.IntN(40), Effort: 1 + r.IntN(5000)})
		workers, jobs := anyWorkers(r), anyJobs(r)
		plan := p.Plan(jobs, workers)
		if len(plan.Decisions)+plan.Later != len(jobs) || !(plan.Makespan >= 0) {
			t.Fatalf("seed %d: %d decisions and %d later for %d jobs, makespan %v", seed, len(plan.Decisions), plan.Later, len(jobs), plan.Makespan)
		}
		seen := map[string]bool{}
		for _, d := range plan.Decisions {
			j := jobs[slices.IndexFunc(jobs, func(j Job) bool { return j.ID == d.Job })]
			if fault := broken(d, j, workers); fault != "" || seen[d.Job] {
				t.Fatalf("seed %d: %s: %+v\nof %+v", seed, fault, d, j)
			}
			seen[d.Job] = true
		}
		demand, counted := p.Demand(jobs, workers, nil), 0
		for _, d := range demand {
			counted += d.Jobs
			if !(d.Seconds >= 0) || d.Unserved > d.Jobs {
				t.Fatalf("seed %d: demand %+v", seed, d)
			}
		}
		if counted < len(jobs) {
			t.Fatalf("seed %d: demand %+v of %d jobs", seed, demand, len(jobs))
		}
	}
}

// broken says which rule a decision breaks.
func broken(d Decision, j Job, workers []Worker) string {
	i := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == d.Worker })
	switch {
	case d.Reason() == "":
		return "no reason"
	case d.Worker == "":
		if d.Now || d.From != j.Worker || !strings.HasPrefix(d.Reason(), "waits: ") || strings.TrimPrefix(d.Reason(), "waits: ") == "" {
			return "it waits, and is given, or has no reason"
		}
		return ""
	case i < 0 || workers[i].refuses(j) != fits || workers[i].Validate() != nil || j.invalid():
		return "a worker that cannot run it"
	case d.Device != workers[i].Device || !(d.Start >= 0 && d.Finish >= d.Start) || d.Run.Seconds <= 0:
		return "numbers"
	case j.Worker != "" && d.From == "" && (d.Worker != j.Worker || !d.Now), d.From != "" && d.From != j.Worker:
		return "given twice"
	}
	return ""
}

func anyWorkers(r *rand.Rand) (all []Worker) {
	for i := range r.IntN(6) {
		w := Worker{ID: fmt.Sprint("w", i), Device: []Device{CPU, GPU, GPU, "tpu"}[min(r.IntN(7), 3)%4], Slots: r.IntN(4), Ready: odd(r), Memory: odd(r)}
		w.Stuck = r.IntN(3)
		w.Stalled, w.Draining = r.IntN(6) == 0, r.IntN(6) == 0
		w.Rates = Rates{Operations: odd(r), Bandwidth: odd(r), Transfer: odd(r)}
		if r.IntN(4) == 0 {
			w.Types = []string{"quick", "even"}
		}
		for range r.IntN(4) {
			w.Running = append(w.Running, Run{Work: anyWork(r), Elapsed: odd(r), Progress: odd(r)})
		}
		all = append(all, w)
	}
	return all
}

func anyJobs(r *rand.Rand) (all []Job) {
	for i := range r.IntN(80) {
		w := anyWork(r)
		j := Job{ID: fmt.Sprint("j", i), Type: w.Type, Work: w, Priority: r.IntN(20) - 5, Waited: 100 * r.Float64(), PreferGPU: r.IntN(2) == 0}
		if r.IntN(5) == 0 {
			j.Device = Devices()[r.IntN(2)]
		}
		if r.IntN(5) == 0 {
			j.Worker = fmt.Sprint("w", r.IntN(7))
		}
		all = append(all, j)
	}
	return all
}

func anyWork(r *rand.Rand) Work {
	w := Work{Type: []string{"quick", "slow", "even", "close", "short", "unknown"}[r.IntN(6)]}
	if r.IntN(3) == 0 {
		w.Operations, w.Bytes, w.Memory = odd(r), odd(r), odd(r)
	}
	return w
}

// odd draws a number that is usual in half of the cases, and at the edge in others.
func odd(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return math.Exp(10 * r.NormFloat64())
	}
	return []float64{0, 0, 0, 0, 1, 0.5, 1e300, math.Inf(1), math.NaN(), -1}[r.IntN(10)]
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Hysteresis: -1}, "hysteresis -1"},
		{Settings{Explore: 2}, "explore 2"},
		{Settings{Explore: math.NaN()}, "explore NaN"},
		{Settings{Ahead: -1}, "-1 jobs"},
		{Settings{AheadSeconds: -1}, "-1 s ahead"},
		{Settings{Ageing: -1}, "ageing -1"},
		{Settings{Horizon: -1}, "horizon -1"},
		{Settings{Effort: -1}, "effort -1"},
	} {
		if _, err := NewPlanner(&History{}, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for _, w := range []Worker{{}, {ID: "w"}, {ID: "a\nb", Device: CPU}, {ID: "\xff", Device: CPU}, {ID: "w", Device: CPU, Memory: -1},
		{ID: "w", Device: CPU, Ready: math.NaN()}, {ID: "w", Device: CPU, Slots: -1}, {ID: "w", Device: CPU, Rates: Rates{Launch: -1}}} {
		if w.Validate() == nil {
			t.Errorf("no error about %+v", w)
		}
	}
}
