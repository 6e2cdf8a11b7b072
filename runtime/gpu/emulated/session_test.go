//go:build nvidia && linux

package emulated_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cancha/runtime/gpu"
)

// TestBothSides: the operations of a session, one after another on random shapes, give on the GPU what they give on the CPU.
func TestBothSides(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	var sides [2]*gpu.Session
	for i, target := range []gpu.Target{gpu.CPU, gpu.GPU} {
		s, err := gpu.NewSession(t.Context(), gpu.Config{Device: target, Required: target == gpu.GPU})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sides[i] = s
	}
	for seed := range uint64(12) {
		var results [2][]float32
		for i, s := range sides {
			var err error
			if results[i], err = chain(t, s, rand.New(rand.NewPCG(seed, 3))); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for i, want := range results[0] {
			if got := results[1][i]; math.Abs(float64(got-want)) > 1e-5*(1+math.Abs(float64(want))) {
				t.Fatalf("seed %d: element %d: got %v on the GPU, %v on the CPU", seed, i, got, want)
			}
		}
	}
	m := sides[1].Metrics()
	if m.Operations[0] != 0 || m.Operations[1] != 5*12 || m.BytesIn == 0 || m.BytesOut == 0 || m.FuncTime[1] <= 0 || m.Fallbacks != 0 {
		t.Errorf("got %+v, want 60 operations, all on the GPU", m)
	}
}

// TestBudget: a session that is given none takes nine tenths of what is free, and keeps to what it is given.
func TestBudget(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	t.Setenv(faultVariable, "memory=40000000")
	for budget, want := range map[int64]int{0: 1, 30_000_000: 2, 10_000_000: 3} { // operations on the CPU
		s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU, Memory: budget})
		if err != nil {
			t.Fatal(err)
		}
		for _, bytes := range []int{20_000_000, 32_000_000, 39_000_000} {
			b, err := gpu.NewFloat32s(s, make([]float32, bytes/4))
			if err != nil {
				t.Fatal(err)
			}
			if err := gpu.VectorAdd(t.Context(), b, b, b); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		if m := s.Metrics(); m.Fallbacks != want {
			t.Errorf("%d bytes: %d operations went to the CPU, want %d", budget, m.Fallbacks, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRoomToMultiply: where cuBLAS finds no memory to work in, what no operation uses makes room, and where there is none, the CPU multiplies.
func TestRoomToMultiply(t *testing.T) {
	t.Setenv("CANCHA_LOCKS", t.TempDir())
	t.Setenv(blasVariable, library(t))
	for fault, want := range map[string]struct {
		refused, fallbacks int
		evicted            bool
	}{"memory=50000000": {1, 0, true}, "memory=30000000": {2, 1, true}, "blas=1": {0, 0, false}} {
		t.Run(fault, func(t *testing.T) {
			t.Setenv(faultVariable, "")
			s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.GPU})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			large, err := gpu.NewFloat32s(s, make([]float32, 5<<20))
			if err != nil {
				t.Fatal(err)
			}
			if err := gpu.VectorAdd(t.Context(), large, large, large); err != nil {
				t.Fatal(err)
			}
			t.Setenv(faultVariable, fault)
			if err := work(t, s, 2); err != nil {
				t.Error(err)
			}
			if m := s.Metrics(); m.OutOfMemory != want.refused || m.Fallbacks != want.fallbacks || (m.Evicted > 0) != want.evicted {
				t.Errorf("got %+v, want %+v", m, want)
			}
		})
	}
}

// chain convolves images, multiplies what comes of them by a matrix, and takes the loss and a step up its gradient.
func chain(t *testing.T, s *gpu.Session, r *rand.Rand) ([]float32, error) {
	c := gpu.Conv{
		Images: 1 + r.IntN(20), Channels: 1 + r.IntN(3), Height: 4 + r.IntN(10), Width: 4 + r.IntN(10), Filters: 1 + r.IntN(3),
		FilterHeight: 1 + r.IntN(4), FilterWidth: 1 + r.IntN(4), Padding: r.IntN(2),
	}
	height, width := c.Out()
	columns, classes := c.Filters*height*width, 1+r.IntN(12)
	buffer := func(n int) *gpu.Float32s {
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(r.NormFloat64()) / 4
		}
		b, err := gpu.NewFloat32s(s, values)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	labels := make([]int32, c.Images)
	for i := range labels {
		labels[i] = r.Int32N(int32(classes))
	}
	label, err := gpu.NewInt32s(s, labels)
	if err != nil {
		return nil, err
	}
	in, filter, out := buffer(c.Images*c.Channels*c.Height*c.Width), buffer(c.Filters*c.Channels*c.FilterHeight*c.FilterWidth), buffer(c.Images*columns)
	weight, logits, loss, gradient := buffer(columns*classes), buffer(c.Images*classes), buffer(c.Images), buffer(columns*classes)
	err = errors.Join(
		gpu.Conv2D(t.Context(), out, in, filter, c),
		gpu.Sgemm(t.Context(), false, false, c.Images, classes, columns, 1, out, weight, 0, logits),
		gpu.SoftmaxCrossEntropy(t.Context(), loss, logits, logits, label, c.Images, classes),
		gpu.Sgemm(t.Context(), true, false, columns, classes, c.Images, 1, out, logits, 0, gradient),
		gpu.VectorAdd(t.Context(), weight, weight, gradient),
	)
	if err != nil {
		return nil, err
	}
	all, err := weight.Values(t.Context())
	if err != nil {
		return nil, err
	}
	losses, err := loss.Values(t.Context())
	return append(all, losses...), err
}
