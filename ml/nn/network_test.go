package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"cancha/ml"
)

// untrained returns a network of a shape with random parameters, biases included.
func untrained(r *rand.Rand, s shape) *Network {
	d := table(r, 1, s.in, s.out)
	params := s.first(r.Uint64())
	for i := range params {
		params[i] += float32(r.NormFloat64() / 10)
	}
	return newNetwork(d.Features, d.Classes, s, scale{}, params, nil)
}

// TestProba: probabilities are those of the reference, and a row's are the same bit for bit alone, among others, and in any place.
func TestProba(t *testing.T) {
	for i := range 30 {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		s := shape{1 + r.IntN(50), 1 + r.IntN(90), 2 + r.IntN(20)}
		n, d := untrained(r, s), table(r, r.IntN(3*blockRows), s.in, s.out)
		all := must(n.PredictProba(t.Context(), d))
		alone, by := make([]float64, s.out), reference{s, float64s(n.params)}
		for row := range d.Rows() {
			n.ProbaTo(alone, d.Row(row))
			if !slices.Equal(alone, all[row]) {
				t.Fatalf("case %d, %+v: row %d alone has %v, among %d %v", i, s, row, alone, d.Rows(), all[row])
			}
			_, want := by.forward(d.Row(row))
			for k := range want {
				if !(math.Abs(alone[k]-want[k]) <= 1e-5) {
					t.Fatalf("case %d, %+v: row %d, class %d: got %v, want %v", i, s, row, k, alone[k], want[k])
				}
			}
		}
	}
}

// TestProbaScaled: a network that was trained on standardized columns takes them as they were.
func TestProbaScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := table(r, 100, 4, 3)
	for i := range d.Values {
		d.Values[i] = 100 + 7*d.Values[i]
	}
	by := measure(d)
	n := untrained(r, shape{4, 10, 3})
	scaled := newNetwork(n.Features, n.Classes, n.shape, by, n.params, nil)
	values := make([]float32, len(d.Values))
	by.apply(values, d.Values)
	want := make([]float64, 300)
	n.ProbasTo(want, values)
	got := make([]float64, 300)
	scaled.ProbasTo(got, d.Values)
	if !slices.Equal(got, want) {
		t.Error("not the answers for columns that were standardized before")
	}
	mean, square := 0.0, 0.0
	for i := 0; i < len(values); i += 4 {
		mean, square = mean+float64(values[i])/100, square+float64(values[i])*float64(values[i])/100
	}
	if math.Abs(mean) > 1e-5 || math.Abs(square-1) > 1e-5 {
		t.Errorf("a column has mean %v and mean square %v", mean, square)
	}
}

// TestProbaExtremes: values that no exponential holds have probabilities all the same; a NaN has none.
func TestProbaExtremes(t *testing.T) {
	n := untrained(rand.New(rand.NewPCG(1, 2)), shape{2, 8, 3})
	p := make([]float64, 6)
	n.ProbasTo(p, []float32{1e30, -1e30, 3e37, 3e37})
	for i := 0; i < 6; i += 3 {
		if sum := p[i] + p[i+1] + p[i+2]; !(math.Abs(sum-1) < 1e-9) {
			t.Errorf("got %v", p)
		}
	}
	n.ProbasTo(p, []float32{1, float32(math.NaN()), 1, 1})
	if !math.IsNaN(p[0]) || math.IsNaN(p[3]) {
		t.Errorf("a NaN in the first row: got %v", p)
	}
}

func TestProbaRefuses(t *testing.T) {
	n := untrained(rand.New(rand.NewPCG(1, 2)), shape{2, 8, 3})
	for name, f := range map[string]func(){
		"short row":    func() { n.ProbaTo(make([]float64, 3), make([]float32, 1)) },
		"two rows":     func() { n.ProbaTo(make([]float64, 6), make([]float32, 4)) },
		"short answer": func() { n.ProbaTo(make([]float64, 2), make([]float32, 2)) },
		"half a row":   func() { n.ProbasTo(make([]float64, 3), make([]float32, 3)) },
	} {
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.HasPrefix(said, "nn: ") {
					t.Errorf("%s: got %q", name, said)
				}
			}()
			f()
		}()
	}
	wide := &ml.Dataset{Features: []string{"x0", "x1", "x2"}, Values: []float32{1, 2, 3}}
	swapped := &ml.Dataset{Features: []string{"x1", "x0"}, Values: []float32{1, 2}}
	nan := &ml.Dataset{Features: n.Features, Values: []float32{1, float32(math.NaN())}}
	huge := &ml.Dataset{Features: n.Features, Values: []float32{3e38, -3e38}}
	for name, d := range map[string]*ml.Dataset{"other columns": wide, "another order": swapped, "a NaN": nan, "an overflow": huge} {
		if _, err := n.PredictProba(t.Context(), d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if p, err := n.PredictProba(t.Context(), &ml.Dataset{Features: n.Features}); err != nil || len(p) != 0 {
		t.Errorf("no rows: got %v, %v", p, err)
	}
}

// TestConcurrent: several goroutines may ask at once.
func TestConcurrent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n, d := untrained(r, shape{5, 20, 3}), table(r, 200, 5, 3)
	want := must(n.PredictProba(t.Context(), d))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got := must(n.PredictProba(t.Context(), d)); !slices.EqualFunc(got, want, slices.Equal[[]float64]) {
				t.Error("another answer")
			}
		})
	}
	group.Wait()
}
