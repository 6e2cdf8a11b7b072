package gpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cancha/runtime/gpu/driver"
)

// near compares with a bound relative to the sum of magnitudes that a value was made from.
func near(t *testing.T, name string, got []float32, want, scale []float64) {
	t.Helper()
	for i := range want {
		if diff := math.Abs(float64(got[i]) - want[i]); !(diff <= 1e-5*scale[i]+1e-30) {
			t.Fatalf("%s: element %d: got %v, want %v", name, i, got[i], want[i])
		}
	}
}

func random(r *rand.Rand, n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(r.NormFloat64())
	}
	return all
}

func values(t *testing.T, b *Float32s) []float32 {
	t.Helper()
	v, err := b.Values(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// both runs a test on the CPU and on the other device.
func both(t *testing.T, f func(t *testing.T, s *Session, r *rand.Rand)) {
	for _, target := range []Target{CPU, GPU} {
		t.Run(string(target), func(t *testing.T) { f(t, newSession(t, Config{Device: target}), rand.New(rand.NewPCG(1, 2))) })
	}
}

// TestLongBuffers: more elements than a device counts to are refused, not cut off.
func TestLongBuffers(t *testing.T) {
	s := newSession(t, Config{Device: CPU})
	var all [4]*Float32s
	for i := range all {
		b, err := s.newStore(driver.Float32, 1<<32+5) // takes no memory
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &Float32s{array[float32]{b}}
	}
	for _, err := range []error{VectorAdd(t.Context(), all[0], all[1], all[2]), AdamStep(t.Context(), all[0], all[1], all[2], all[3], 1, Adam{})} {
		if err == nil || !strings.Contains(err.Error(), "has 4294967301 elements, where a device counts to 2147483647") {
			t.Errorf("got %v", err)
		}
	}
}

func TestSgemm(t *testing.T) {
	both(t, func(t *testing.T, s *Session, r *rand.Rand) {
		for _, n := range []int{0, 1, 2, 7, 33} {
			for _, transpose := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				m, k, beta := n, r.IntN(40), float32(r.IntN(2))
				a, b, c := random(r, m*k), random(r, k*n), random(r, m*n)
				if beta == 0 {
					for i := range c {
						c[i] = float32(math.NaN())
					}
				}
				A, B, C := buffer(t, s, a...), buffer(t, s, b...), buffer(t, s, c...)
				if err := Sgemm(t.Context(), transpose[0], transpose[1], m, n, k, 2, A, B, beta, C); err != nil {
					t.Fatal(err)
				}
				want, scale := make([]float64, m*n), make([]float64, m*n)
				for i := range m {
					for j := range n {
						for l := range k {
							at, bt := i*k+l, l*n+j
							if transpose[0] {
								at = l*m + i
							}
							if transpose[1] {
								bt = j*k + l
							}
							want[i*n+j] += 2 * float64(a[at]) * float64(b[bt])
							scale[i*n+j] += 2 * math.Abs(float64(a[at])*float64(b[bt]))
						}
						if beta != 0 {
							want[i*n+j] += float64(c[i*n+j])
							scale[i*n+j] += math.Abs(float64(c[i*n+j]))
						}
					}
				}
				near(t, "c", values(t, C), want, scale)
			}
		}
	})
}

func TestConv2D(t *testing.T) {
	both(t, func(t *testing.T, s *Session, r *rand.Rand) {
		for _, c := range []Conv{
			{1, 1, 1, 1, 1, 1, 1, 0}, {2, 3, 5, 7, 4, 3, 3, 1}, {1, 2, 9, 4, 1, 1, 4, 0}, {0, 1, 3, 3, 1, 3, 3, 0}, {3, 1, 6, 6, 2, 5, 5, 2},
		} {
			height, width := c.Out()
			in, filter := random(r, c.Images*c.Channels*c.Height*c.Width), random(r, c.Filters*c.Channels*c.FilterHeight*c.FilterWidth)
			n := c.Images * c.Filters * height * width
			out := buffer(t, s, make([]float32, n)...)
			if err := Conv2D(t.Context(), out, buffer(t, s, in...), buffer(t, s, filter...), c); err != nil {
				t.Fatal(err)
			}
			want, scale := make([]float64, n), make([]float64, n)
			for i := range n {
				x, y, o, image := i%width, i/width%height, i/width/height%c.Filters, i/width/height/c.Filters
				for ch := range c.Channels {
					for u := range c.FilterHeight {
						for v := range c.FilterWidth {
							row, column := y+u-c.Padding, x+v-c.Padding
							if row < 0 || row >= c.Height || column < 0 || column >= c.Width {
								continue
							}
							p := float64(in[((image*c.Channels+ch)*c.Height+row)*c.Width+column]) * float64(filter[((o*c.Channels+ch)*c.FilterHeight+u)*c.FilterWidth+v])
							want[i] += p
							scale[i] += math.Abs(p)
						}
					}
				}
			}
			near(t, "out", values(t, out), want, scale)
		}
	})
}

func TestSoftmaxCrossEntropy(t *testing.T) {
	both(t, func(t *testing.T, s *Session, r *rand.Rand) {
		const rows, classes = 13, 5
		logits, labels := random(r, rows*classes), make([]int32, rows)
		for i := range labels {
			labels[i] = int32(r.IntN(classes))
		}
		logits[3], labels[rows-1] = 1000, classes // an exponential that overflows; no class
		x, loss := buffer(t, s, logits...), buffer(t, s, make([]float32, rows)...)
		l, err := NewInt32s(s, labels)
		if err != nil {
			t.Fatal(err)
		}
		if err := SoftmaxCrossEntropy(t.Context(), loss, x, x, l, rows, classes); err != nil {
			t.Fatal(err)
		}
		got, gradient := values(t, loss), values(t, x)
		for i := range rows - 1 {
			row, total := logits[i*classes:][:classes], 0.0
			most := float64(slices.Max(row))
			for _, v := range row {
				total += math.Exp(float64(v) - most)
			}
			near(t, "loss", got[i:], []float64{math.Log(total) + most - float64(row[labels[i]])}, []float64{1 + most})
			for j, v := range row {
				p := math.Exp(float64(v)-most) / total
				if j == int(labels[i]) {
					p--
				}
				near(t, "gradient", gradient[i*classes+j:], []float64{p / rows}, []float64{1})
			}
		}
		if last := gradient[len(gradient)-1]; got[rows-1] == got[rows-1] || last == last {
			t.Errorf("a label that is no class: got loss %v and gradient %v", got[rows-1], last)
		}
	})
}

// TestAdamStep: the optimizer finds the least of a parabola, by the same steps as in float64.
func TestAdamStep(t *testing.T) {
	both(t, func(t *testing.T, s *Session, _ *rand.Rand) {
		a := Adam{Rate: 0.1}
		weight, m, v := buffer(t, s, 3), buffer(t, s, 0), buffer(t, s, 0)
		want, wantM, wantV := 3.0, 0.0, 0.0
		for step := 1; step <= 100; step++ {
			g := 2 * values(t, weight)[0]
			if err := AdamStep(t.Context(), weight, buffer(t, s, g), m, v, step, a); err != nil {
				t.Fatal(err)
			}
			wantM, wantV = 0.9*wantM+0.1*2*want, 0.999*wantV+0.001*4*want*want
			want -= 0.1 * (wantM / (1 - math.Pow(0.9, float64(step)))) / (math.Sqrt(wantV/(1-math.Pow(0.999, float64(step)))) + 1e-8)
		}
		if got := float64(values(t, weight)[0]); math.Abs(got-want) > 1e-4 {
			t.Errorf("after 100 steps: got %v, want %v", got, want)
		}
	})
}

func TestOperationsRefuse(t *testing.T) {
	s := newSession(t, Config{Device: CPU})
	one, four := buffer(t, s, 1), buffer(t, s, 1, 2, 3, 4)
	labels, err := NewInt32s(s, []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for want, err := range map[string]error{
		"vector add: a has 4 elements, want 1":                 VectorAdd(ctx, one, four, one),
		"matrix multiply: b has 1 elements, want 4":            Sgemm(ctx, false, false, 2, 2, 2, 1, four, one, 0, four),
		"matrix multiply: c is one of its factors":             Sgemm(ctx, false, false, 2, 2, 2, 1, four, buffer(t, s, 1, 2, 3, 4), 0, four),
		"matrix multiply: a has 1 elements, want -1":           Sgemm(ctx, false, false, 1<<20, 1, 1<<20, 1, one, one, 0, four),
		"convolution: a filter of 2 × 2 does not fit":          Conv2D(ctx, one, one, four, Conv{1, 1, 1, 1, 1, 2, 2, 0}),
		"convolution: in has 1 elements, want 4":               Conv2D(ctx, one, one, four, Conv{1, 1, 2, 2, 1, 2, 2, 0}),
		"softmax cross-entropy: 0 classes":                     SoftmaxCrossEntropy(ctx, one, four, four, labels, 1, 0),
		"softmax cross-entropy: loss has 4 elements, want 1":   SoftmaxCrossEntropy(ctx, four, four, four, labels, 1, 4),
		"Adam: four buffers and a step from 1 on: got 1 and 1": AdamStep(ctx, four, four, four, four, 1, Adam{}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
