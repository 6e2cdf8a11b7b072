package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"cancha/runtime/gpu"
)

// work is something that both devices do.
type work struct {
	name, size string
	bytes      int64
	flops      float64
	prepare    func(s *gpu.Session) (bench, error)
}

// bench is a work on one device, ready to be timed.
type bench struct {
	reset func(context.Context) error // puts the data into the machine's memory, and nowhere else
	run   func(context.Context) error
	fetch func(context.Context) error // copies the result into the machine's memory
	close func() error
}

func works(c Config) []work {
	n, m := int64(c.Elements), float64(c.Matrix)
	conv := gpu.Conv{Images: c.Images, Channels: 1, Height: 1024, Width: 1024, Filters: 1, FilterHeight: 3, FilterWidth: 3, Padding: 1}
	pixels := float64(c.Images) * 1024 * 1024
	all := []work{
		{name: "vector add", size: thousands(c.Elements) + " elements", bytes: 12 * n, flops: float64(n), prepare: add(c.Elements)},
		{name: "matrix multiply", size: fmt.Sprintf("%d × %d", c.Matrix, c.Matrix), flops: 2 * m * m * m, prepare: multiply(c.Matrix)},
		{name: "convolution", size: fmt.Sprintf("%d × 1024 × 1024 by 3 × 3", c.Images), bytes: int64(8 * pixels), flops: 18 * pixels, prepare: convolve(conv)},
	}
	for _, w := range c.Works {
		all = append(all, given(w))
	}
	return all
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// random fills n numbers, always the same.
func random(n int) []float32 {
	r, values := rand.New(rand.NewPCG(1, 2)), make([]float32, n)
	for i := range values {
		values[i] = r.Float32() - .5
	}
	return values
}

// buffers is a work on buffers, of which the last holds the result.
func buffers(s *gpu.Session, run func(context.Context, []*gpu.Float32s) error, lengths ...int) (b bench, err error) {
	all, values := make([]*gpu.Float32s, len(lengths)), make([][]float32, len(lengths))
	for i, n := range lengths {
		values[i] = random(n)
		if all[i], err = gpu.NewFloat32s(s, values[i]); err != nil {
			return b, err
		}
	}
	last := len(all) - 1
	return bench{
		reset: func(ctx context.Context) error {
			for i, b := range all[:last] {
				if err := b.Set(ctx, values[i]); err != nil {
					return err
				}
			}
			return nil
		},
		run:   func(ctx context.Context) error { return run(ctx, all) },
		fetch: func(ctx context.Context) error { return all[last].CopyTo(ctx, values[last]) },
		close: func() error {
			var errs []error
			for _, b := range all {
				errs = append(errs, b.Close())
			}
			return errors.Join(errs...)
		},
	}, nil
}

func add(n int) func(*gpu.Session) (bench, error) {
	return func(s *gpu.Session) (bench, error) {
		return buffers(s, func(ctx context.Context, b []*gpu.Float32s) error { return gpu.VectorAdd(ctx, b[2], b[0], b[1]) }, n, n, n)
	}
}

func multiply(n int) func(*gpu.Session) (bench, error) {
	return func(s *gpu.Session) (bench, error) {
		return buffers(s, func(ctx context.Context, b []*gpu.Float32s) error {
			return gpu.Sgemm(ctx, false, false, n, n, n, 1, b[0], b[1], 0, b[2])
		}, n*n, n*n, n*n)
	}
}

func convolve(c gpu.Conv) func(*gpu.Session) (bench, error) {
	height, width := c.Out()
	return func(s *gpu.Session) (bench, error) {
		return buffers(s, func(ctx context.Context, b []*gpu.Float32s) error { return gpu.Conv2D(ctx, b[2], b[0], b[1], c) },
			c.Images*c.Height*c.Width, c.FilterHeight*c.FilterWidth, c.Images*height*width)
	}
}

// given is a work of the caller's, which knows its own copies.
func given(w Work) work {
	nothing := func(context.Context) error { return nil }
	return work{w.Name, w.Size, w.Bytes, w.Flops, func(s *gpu.Session) (bench, error) {
		return bench{
			reset: nothing, fetch: nothing, close: func() error { return nil },
			run: func(ctx context.Context) error { return w.Run(ctx, s) },
		}, nil
	}}
}
