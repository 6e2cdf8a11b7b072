package forest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/tree"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
)

// growable has rows of six columns for classes that depend on two of them, in groups of ten rows.
func growable(rows, classes int, missing bool) *ml.Dataset {
	r := rand.New(rand.NewPCG(5, 6))
	d := &ml.Dataset{Features: strings.Split("abcdef", ""), Classes: []string{"x", "y", "z"}[:classes], Missing: missing}
	for i := range rows {
		row := make([]float32, len(d.Features))
		for k := range row {
			row[k] = float32(r.NormFloat64())
		}
		row[5] = float32(i % 5) // few values
		d.Labels = append(d.Labels, max(0, min(classes-1, int(1+row[0]+row[1]+float32(r.NormFloat64()/2)))))
		d.Targets, d.Groups = append(d.Targets, float64(row[0])), append(d.Groups, int64(i/10))
		if missing && i%3 == 0 {
			row[r.IntN(2)] = float32(math.NaN())
		}
		d.Values = append(d.Values, row...)
	}
	return d
}

// growCase is a forest to grow.
type growCase struct {
	data   *ml.Dataset
	config Config
}

// growCases are what a GPU counts.
func growCases() map[string]growCase {
	three, missing, wide := growable(14_000, 3, false), growable(14_000, 3, true), growable(14_000, 2, false)
	wide.Exact = make([]float64, len(wide.Values))
	for i, v := range wide.Values {
		wide.Exact[i] = 1e9 + float64(v)
		wide.Values[i] = float32(wide.Exact[i])
	}
	return map[string]growCase{
		"two classes":             {growable(14_000, 2, false), Config{Trees: 5, Workers: 3}},
		"three":                   {three, Config{Trees: 5, Workers: 2}},
		"missing":                 {missing, Config{Trees: 4, MaxFeatures: All}},
		"depth 2":                 {three, Config{Trees: 4, MaxDepth: 2, Workers: 4}},
		"one column":              {three, Config{Trees: 3, MaxFeatures: 1, Workers: 1}},
		"groups":                  {three, Config{Trees: 4, ByGroup: true, MaxSamples: 0.9}},
		"large leaves":            {missing, Config{Trees: 4, MinSamplesLeaf: 700}},
		"large nodes, least gain": {three, Config{Trees: 3, MinSamplesSplit: 5000, MinImpurityDecrease: 0.01}},
		"more than 65,535 draws":  {growable(70_000, 3, true), Config{Trees: 2, NoBootstrap: true, MaxDepth: 5}},
		"one tree, four workers":  {three, Config{Trees: 1, Workers: 4}},
		"float64":                 {wide, Config{Trees: 3}},
	}
}

// growerOf is a forest to be grown in a session, ready but for the growing.
func growerOf(t *testing.T, d *ml.Dataset, c Config) *grower {
	t.Helper()
	c, err := check(d, c, true)
	if err != nil {
		t.Fatal(err)
	}
	g := must(newGrower(t.Context(), d, c))
	g.builder, g.tree = tree.NewClassifier, c.tree(nil)
	g.job = g.listed("classifier")
	g.sow()
	return g
}

// TestGrowCounted: by way of a device, here the CPU, the trees are the same to the bit, and each is reported once.
func TestGrowCounted(t *testing.T) {
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	for name, tt := range growCases() {
		t.Run(name, func(t *testing.T) {
			want := must(FitClassifier(t.Context(), tt.data, tt.config))
			g := growerOf(t, tt.data, tt.config)
			var done []int
			g.config.Progress = func(n, total int) { done = append(done, n) }
			job := must(g.countingJob(s))
			if job.CPU = nil; job.Unfit != "" || job.Bytes <= 0 || job.Flops <= 0 || job.Copied <= 0 {
				t.Fatalf("got %+v", job)
			}
			if err := s.Do(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(g.trees, want.Trees()) {
				t.Error("other trees")
			}
			for i, n := range done {
				if n != i+1 {
					t.Errorf("progress: %v", done)
				}
			}
			if len(done) != tt.config.Trees {
				t.Errorf("progress: %v of %d trees", done, tt.config.Trees)
			}
		})
	}
}

// TestGrowInPortions: a level for which there is no room at once is counted in portions, and so are levels that do not fit together.
func TestGrowInPortions(t *testing.T) {
	s, d, c := onDevice(t, gpu.Config{Device: gpu.CPU}), growable(40_000, 3, false), Config{Trees: 6, Workers: 4, MaxDepth: 6}
	want := must(FitClassifier(t.Context(), d, c))
	for _, nodes := range []int{1, 2, 3} {
		g := growerOf(t, d, c)
		job := must(g.countingJob(s))
		job.CPU = nil
		job.Run = func(ctx context.Context, d driver.Device, q driver.Queue) error {
			counter, err := newCounter(ctx, d, q, g)
			if err != nil {
				return err
			}
			counter.atOnce, counter.nodes, counter.positions = nodes, nodes+1, counter.rows
			return g.growBy(ctx, counter)
		}
		if err := s.Do(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(g.trees, want.Trees()) {
			t.Errorf("%d nodes at once: other trees", nodes)
		}
	}
}

// TestGrowInSession: whatever the session chooses, the forest is that of the CPU.
func TestGrowInSession(t *testing.T) {
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	d := growable(5000, 3, false)
	c := Config{Trees: 4, OOB: true, MaxDepth: 6}
	want := must(FitClassifier(t.Context(), d, c))
	c.Session = s
	got := must(FitClassifier(t.Context(), d, c))
	if !reflect.DeepEqual(got.Trees(), want.Trees()) || got.OOBScore != want.OOBScore {
		t.Error("another forest")
	}
	c.Trees = 6
	if more := must(got.Extend(t.Context(), d, c)); !reflect.DeepEqual(more.Trees()[:4], want.Trees()) || len(more.Trees()) != 6 {
		t.Error("extended by other trees")
	}
	c.OOB = false
	must(FitRegressor(t.Context(), d, c))
	decisions := s.Explain().Decisions
	if len(decisions) != 3 {
		t.Errorf("got %+v", decisions)
	}
	for _, e := range decisions {
		if e.Operation != "forest fit" || e.Place != "CPU" || e.Reason != "the device is set to cpu" {
			t.Errorf("got %+v", e)
		}
	}
}

// TestGrowStops: a forest in a session stops with its context, as any other, and the session goes on.
func TestGrowStops(t *testing.T) {
	s, stop := onDevice(t, gpu.Config{Device: gpu.CPU}), errors.New("stop")
	d := growable(20_000, 3, false)
	for _, counted := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		g := growerOf(t, d, Config{Trees: 50, Workers: 3})
		g.config.Progress = func(n, total int) {
			if n == 2 {
				cancel(stop)
			}
		}
		job := must(g.countingJob(s))
		if counted {
			job.CPU = nil
		}
		if err := s.Do(ctx, job); !errors.Is(err, stop) {
			t.Errorf("counted %v: got %v", counted, err)
		}
		if n := g.done; n < 2 || n > 10 {
			t.Errorf("counted %v: %d trees were grown", counted, n)
		}
		cancel(stop)
		if err := s.Do(ctx, job); !errors.Is(err, stop) {
			t.Errorf("counted %v: got %v before it began", counted, err)
		}
	}
	if _, err := FitClassifier(t.Context(), d, Config{Trees: 1, MaxDepth: 2, Session: s}); err != nil {
		t.Error(err)
	}
}

// failingQueue is of a device that is lost after some launches.
type failingQueue struct {
	driver.Queue
	left int
}

func (q *failingQueue) Launch(l driver.Launch) error {
	if q.left--; q.left < 0 {
		return driver.ErrLost
	}
	return q.Queue.Launch(l)
}

// TestGrowGoesOn: the CPU goes on with the trees that are there when a GPU is lost, and Progress with it.
func TestGrowGoesOn(t *testing.T) {
	s, d, c := onDevice(t, gpu.Config{Device: gpu.CPU}), growable(14_000, 3, false), Config{Trees: 6, Workers: 1}
	want := must(FitClassifier(t.Context(), d, c))
	for _, launches := range []int{0, 1, 12} {
		g := growerOf(t, d, c)
		var done []int
		g.config.Progress = func(n, total int) { done = append(done, n) }
		job := must(g.countingJob(s))
		job.CPU = nil
		job.Run = func(ctx context.Context, d driver.Device, q driver.Queue) error {
			return g.growCounted(ctx, d, &failingQueue{q, launches})
		}
		if err := s.Do(t.Context(), job); !errors.Is(err, driver.ErrLost) {
			t.Errorf("after %d launches: got %v", launches, err)
		}
		if n := len(done); (n > 0) != (launches > 10) || n >= c.Trees {
			t.Errorf("after %d launches: %d trees", launches, n)
		}
		if err := g.growOnCPU(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(g.trees, want.Trees()) || len(done) != c.Trees || !slices.IsSorted(done) {
			t.Errorf("after %d launches: other trees, or progress %v", launches, done)
		}
	}
}

// unfitCases are what no GPU counts, and why.
func unfitCases() map[string]struct {
	data   *ml.Dataset
	config Config
	why    string
} {
	d := growable(9000, 2, false)
	weighted, few := *d, growable(6000, 2, false)
	weighted.Weights = make([]float64, d.Rows())
	for i := range weighted.Weights {
		weighted.Weights[i] = 0.5
	}
	four := *d
	four.Classes = []string{"x", "y", "z", "w"}
	return map[string]struct {
		data   *ml.Dataset
		config Config
		why    string
	}{
		"few rows": {few, Config{}, "about 3792 rows"}, "weights": {&weighted, Config{}, "without weights"}, "classes": {&four, Config{}, "up to 3 classes"},
		"balanced": {d, Config{Balanced: true}, "without weights"}, "bins": {d, Config{MaxBins: Exact}, "256 bins"},
		"entropy": {d, Config{Criterion: tree.Entropy}, "Gini"}, "best first": {d, Config{MaxLeafNodes: 8}, "MaxLeafNodes"},
	}
}

// TestGrowUnfit: what cannot be counted says so to the session.
func TestGrowUnfit(t *testing.T) {
	s := onDevice(t, gpu.Config{Device: gpu.CPU})
	for name, tt := range unfitCases() {
		g := growerOf(t, tt.data, tt.config)
		g.tree = g.config.tree(must(classWeights(tt.data, g.config)))
		if job := must(g.countingJob(s)); !strings.Contains(job.Unfit, tt.why) {
			t.Errorf("%s: got %q, want that it has %q", name, job.Unfit, tt.why)
		}
	}
	g := growerOf(t, growable(9000, 2, false), Config{})
	g.builder, g.tree = tree.NewRegressor, tree.Config{}
	if job := must(g.countingJob(s)); !strings.Contains(job.Unfit, "classes") {
		t.Errorf("a regression: got %q", job.Unfit)
	}
}

// TestBatches: levels that do not fit together are counted one after the other, and a failure reaches all who ask.
func TestBatches(t *testing.T) {
	c := &counter{positions: 10, nodes: 3, asked: make(chan *level)}
	ask := func(rows, nodes int) *level {
		return &level{order: make([]uint32, rows), ends: make([]int, nodes), done: make(chan error, 1)}
	}
	if got := c.gather(ask(4, 1)); len(got) != 1 || c.late != nil {
		t.Errorf("alone: got %d levels", len(got))
	}
	for name, tt := range map[string]struct {
		next *level
		late bool
	}{"rows": {ask(7, 1), true}, "nodes": {ask(1, 3), true}, "room": {ask(6, 2), false}} {
		asking := make(chan *level, 1)
		c.asked = asking
		asking <- tt.next
		if got := c.gather(ask(4, 1)); (c.late == tt.next) != tt.late || len(got) == 1 != tt.late {
			t.Errorf("%s: got %d levels, late %v", name, len(got), c.late != nil)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	c = &counter{asked: make(chan *level)}
	grown := make(chan error)
	go func() {
		for range 2 {
			l := ask(1, 1)
			c.asked <- l
			if err := <-l.done; !errors.Is(err, stop) {
				t.Errorf("got %v", err)
			}
		}
		grown <- fmt.Errorf("forest: %w", stop)
	}()
	if err := c.serve(ctx, grown); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestTasks: tasks cover the positions of each node.
func TestTasks(t *testing.T) {
	l := level{ends: []int{taskPositions + 3, taskPositions + 3, 2*taskPositions + 3}}
	const at = 100
	got := l.tasks([]int32{7, 0, at}, at, 8)
	want := []int32{7, 0, at, 8, at, at + taskPositions, 8, at + taskPositions, at + taskPositions + 3, 10, at + taskPositions + 3, at + 2*taskPositions + 3}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
