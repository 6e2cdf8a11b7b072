package placement

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

var (
	cpu = Worker{ID: "cpu-1", Device: CPU}
	gpu = Worker{ID: "gpu-1", Device: GPU}
)

// learn adds runs that took so many times what the typical rates say.
func learn(t *testing.T, h *History, w Work, on Worker, times float64, runs int) {
	t.Helper()
	cost, _ := on.cost(w)
	for range runs {
		if _, err := h.Add(w, on, cost*times); err != nil {
			t.Fatal(err)
		}
	}
}

// ratio is how many times its cost work is predicted to take.
func ratio(h *History, w Work, on Worker) float64 {
	cost, _ := on.cost(w)
	return h.Predict(w, on).Seconds / cost
}

func near(got, want, within float64) bool { return math.Abs(math.Log(got/want)) <= math.Log(1+within) }

// TestPredict: from the cost to what was measured, run by run, and what one size, type or device says of another.
func TestPredict(t *testing.T) {
	small, large, other := MatrixMultiply(500, 500, 500), MatrixMultiply(2000, 2000, 2000), VectorAddition(1e6)
	var h History
	if got := ratio(&h, small, cpu); !near(got, math.Exp(costSigma*costSigma/2), 1e-9) {
		t.Errorf("without runs: %v times the cost", got)
	}
	last := ratio(&h, small, cpu)
	for n := range 24 {
		learn(t, &h, small, cpu, 4, 1)
		got := ratio(&h, small, cpu)
		if got < last && n < 4 || n > 12 && !near(got, 4, 0.06) {
			t.Errorf("after %d runs that took 4 times the cost: %v", n+1, got)
		}
		last = got
	}
	if p := h.Predict(small, cpu); p.Runs != 24 || !p.Known() || p.Sigma > 0.3 {
		t.Errorf("got %+v", p)
	}
	if got := ratio(&h, large, cpu); got < 2 || got > 4 {
		t.Errorf("another size is predicted at %v times the cost", got)
	}
	fresh := ratio(&History{}, other, cpu)
	for name, got := range map[string]float64{"another type": ratio(&h, other, cpu), "another device": ratio(&h, small, gpu),
		"another model": ratio(&h, small, Worker{Device: CPU, Model: "x"})} {
		if got != fresh {
			t.Errorf("%s is predicted at %v times the cost, want %v", name, got, fresh)
		}
	}
	learn(t, &h, large, cpu, 0.5, 8)
	if a, b := ratio(&h, small, cpu), ratio(&h, large, cpu); !near(a, 4, 0.3) || !near(b, 0.5, 0.5) {
		t.Errorf("two sizes that were measured at 4 and 0.5 times the cost are predicted at %v and %v", a, b)
	}
}

// TestPredictWithoutCost: a notebook, say, of which nothing is known before it has run.
func TestPredictWithoutCost(t *testing.T) {
	var h History
	w := Work{Type: "notebook"}
	if p := h.Predict(w, cpu); !p.Guessed || p.Runs != 0 || p.Sigma != mostSigma {
		t.Errorf("got %+v", p)
	}
	for range 3 {
		if _, err := h.Add(w, cpu, 90); err != nil {
			t.Fatal(err)
		}
	}
	if p := h.Predict(w, cpu); p.Guessed || !near(p.Seconds, 90, 0.1) {
		t.Errorf("after three runs of 90 s: %+v", p)
	}
	if p := h.Predict(w, gpu); !p.Guessed || p.Seconds < 45 || p.Seconds > 180 {
		t.Errorf("on a device on which it has not run: %+v", p)
	}
	larger := Work{Type: "notebook", Size: 1000}
	if p := h.Predict(larger, cpu); p.Seconds < 20 || p.Runs != 0 {
		t.Errorf("of another size: %+v", p)
	}
}

// TestCold: a worker's first run of a type tells something where nothing else is known, and nothing where something is.
func TestCold(t *testing.T) {
	var h History
	w, larger := VectorAddition(1e6), VectorAddition(1e8)
	cost, _ := gpu.cost(w)
	cold := func() {
		t.Helper()
		if _, err := h.AddCold(w, gpu, 100*cost); err != nil {
			t.Fatal(err)
		}
	}
	cold()
	if got := ratio(&h, w, gpu); got < 10 {
		t.Errorf("after a cold run of 100 times the cost: %v", got)
	}
	if got, want := ratio(&h, larger, gpu), ratio(&History{}, larger, gpu); got != want {
		t.Errorf("another size is predicted at %v times the cost, want %v", got, want)
	}
	learn(t, &h, w, gpu, 1, 1)
	got := ratio(&h, w, gpu)
	if got > 1.2 {
		t.Errorf("after another one of once the cost: %v", got)
	}
	cold()
	if again := ratio(&h, w, gpu); again != got {
		t.Errorf("after another cold one: %v, want %v", again, got)
	}
}

// TestPredictAlike: the order in which keys were measured does not count, nor that of a map.
func TestPredictAlike(t *testing.T) {
	var want float64
	for range 20 {
		var h History
		for i := range 30 {
			learn(t, &h, Work{Type: "t", Operations: math.Pow(2, float64(i))}, cpu, 1+float64(i%7)/10, 3)
		}
		got := h.Predict(Work{Type: "t", Operations: 1 << 12}, cpu).Seconds
		if want == 0 {
			want = got
		}
		if got != want {
			t.Fatalf("got %v and %v", got, want)
		}
	}
}

// TestAddErrors: what is no run is not added.
func TestAddErrors(t *testing.T) {
	var h History
	for _, c := range []struct {
		name    string
		work    Work
		on      Worker
		seconds float64
		want    string
	}{
		{"no time", Work{Type: "t"}, cpu, math.NaN(), "a run of NaN s"},
		{"for ever", Work{Type: "t"}, cpu, math.Inf(1), "a run of +Inf s"},
		{"before it began", Work{Type: "t"}, cpu, -1, "a run of -1 s"},
		{"no type", Work{}, cpu, 1, "it is a text of 1 to 256 bytes"},
		{"a broken type", Work{Type: "\xff"}, cpu, 1, "it is a text"},
		{"a long type", Work{Type: strings.Repeat("x", 257)}, cpu, 1, "it is a text"},
		{"no device", Work{Type: "t"}, Worker{}, 1, `it is "cpu" or "gpu"`},
		{"a long model", Work{Type: "t"}, Worker{Device: CPU, Model: strings.Repeat("x", 257)}, 1, "a device named"},
		{"no work", Work{Type: "t", Operations: -1}, cpu, 1, "operations -1"},
	} {
		if _, err := h.Add(c.work, c.on, c.seconds); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if n := len(h.Measurements()); n != 0 {
		t.Errorf("%d measurements", n)
	}
	if _, err := h.Add(Work{Type: "t"}, cpu, 0); err != nil {
		t.Errorf("a run that took no time: %v", err)
	}
}

// TestForget: a history does not grow for ever, whatever types there are, and forgets what was measured the longest ago.
func TestForget(t *testing.T) {
	var h History
	for i := range mostKeys + 10 {
		if i == mostKeys { // the first is measured again
			learn(t, &h, Work{Type: "type 0"}, cpu, 1, 1)
		}
		learn(t, &h, Work{Type: fmt.Sprint("type ", i)}, cpu, 1, 1)
		h.Predict(Work{Type: fmt.Sprint("type ", i)}, gpu)
	}
	all := h.Measurements()
	if len(all) != mostKeys || all[0].Type != "type 11" || len(h.pooled) > mostKeys || len(h.types) != mostKeys {
		t.Errorf("%d measurements from %q on, %d answers", len(all), all[0].Type, len(h.pooled))
	}
	if h.Predict(Work{Type: "type 0"}, cpu).Runs != 2 || h.Predict(Work{Type: "type 1"}, cpu).Runs != 0 {
		t.Error("what was measured last is forgotten, or what was measured first is not")
	}
}
