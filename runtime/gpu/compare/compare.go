package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/runtime/gpu"
)

// Config says what is compared. The zero value compares with all cores, on the first GPU that nobody holds.
type Config struct {
	Session  gpu.Config // cores, memory and the like; both devices are measured, whatever its device
	Elements int        // of the vectors that are added; 0: 10,000,000
	Matrix   int        // rows and columns of the matrices that are multiplied; 0: 1,000
	Images   int        // of 1024 × 1024 pixels, that a filter of 3 × 3 is laid over; 0: 4
	Works    []Work     // further ones, behind these three
	Times    int        // that each work is timed, after a first time that does not count; 0: 5

	// Progress, if set, is called when a work has been measured on a device.
	Progress func(done, total int)
}

// Work is something that a session does on the CPU or on the GPU: the training of a network, say.
type Work struct {
	Name, Size string
	Bytes      int64   // that funcs read and write; 0 where that is not what limits it
	Flops      float64 // floating-point operations; 0 likewise

	// Run does it once, from data in the machine's memory to the result there. On the GPU it fails where it gives the session nothing
	// to do there.
	Run func(ctx context.Context, s *gpu.Session) error
}

func (c Config) normalize() (Config, error) {
	for _, set := range []struct {
		at *int
		to int
	}{{&c.Elements, 10_000_000}, {&c.Matrix, 1000}, {&c.Images, 4}, {&c.Times, 5}} {
		if *set.at < 0 {
			return c, fmt.Errorf("compare: a size below 0: %d", *set.at)
		}
		if *set.at == 0 {
			*set.at = set.to
		}
	}
	if c.Progress == nil {
		c.Progress = func(int, int) {}
	}
	return c, nil
}

// Times are medians.
type Times struct {
	Funcs time.Duration `json:"funcsNanoseconds"` // of what computes, by the device's clock; on a GPU of data that is there already
	Whole time.Duration `json:"wholeNanoseconds"` // from data in the machine's memory to the result there: copies included
}

// Row is one work.
type Row struct {
	Work  string  `json:"work"`
	Size  string  `json:"size"`
	Bytes int64   `json:"bytes"` // as a Work has it
	Flops float64 `json:"flops"` // likewise
	CPU   *Times  `json:"cpu,omitempty"`
	GPU   *Times  `json:"gpu,omitempty"`
}

// Run measures everything on the CPU, and on the GPU where there is one. That there is none is no error: the result says why.
func Run(ctx context.Context, c Config) (*Result, error) {
	c, err := c.normalize()
	if err != nil {
		return nil, err
	}
	r := &Result{Date: time.Now().UTC().Format(time.DateOnly)}
	works := works(c)
	for _, w := range works {
		r.Rows = append(r.Rows, Row{Work: w.name, Size: w.size, Bytes: w.bytes, Flops: w.flops})
	}
	for i, target := range []gpu.Target{gpu.CPU, gpu.GPU} {
		progress := func(done int) { c.Progress(i*len(works)+done, 2*len(works)) }
		if err := r.measure(ctx, target, works, c, progress); err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		progress(len(works))
	}
	return r, nil
}

// measure fills the columns of one device.
func (r *Result) measure(ctx context.Context, target gpu.Target, works []work, c Config, progress func(done int)) (err error) {
	c.Session.Device, c.Session.Required = target, false
	s, err := gpu.NewSession(ctx, c.Session)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, device := s.Devices(); target == gpu.GPU && device == nil {
		r.GPU.Missing = s.Explain().Missing
		return nil
	}
	for i, w := range works {
		before := s.Metrics()
		times, err := w.measure(ctx, s, target, c.Times)
		if err == nil && s.Metrics().Fallbacks > 0 {
			err = errors.New("the GPU could not do it, and the CPU did: a smaller size may fit")
		}
		const gpus = 1 // of Operations
		if err == nil && target == gpu.GPU && s.Metrics().Operations[gpus] == before.Operations[gpus] {
			err = errors.New("it has not used the GPU, so its times are the CPU's")
		}
		if err != nil {
			return fmt.Errorf("%s on the %s: %w", w.name, target, err)
		}
		if target == gpu.CPU {
			r.Rows[i].CPU = times
		} else {
			r.Rows[i].GPU = times
		}
		progress(i + 1)
	}
	r.describe(s, target)
	return nil
}

// measure does a work some times and takes the medians.
func (w work) measure(ctx context.Context, s *gpu.Session, target gpu.Target, n int) (*Times, error) {
	bench, err := w.prepare(s)
	if err != nil {
		return nil, err
	}
	funcs, whole := make([]time.Duration, 0, n), make([]time.Duration, 0, n)
	for i := range n + 1 {
		if err := bench.reset(ctx); err != nil {
			return nil, err
		}
		before, begun := s.Metrics(), time.Now()
		if err := bench.run(ctx); err != nil {
			return nil, err
		}
		if target == gpu.GPU { // on the CPU the result is where it is wanted
			if err := bench.fetch(ctx); err != nil {
				return nil, err
			}
		}
		took := time.Since(begun)
		if target == gpu.GPU {
			if before, err = again(ctx, s, bench); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			funcs, whole = append(funcs, funcTime(s.Metrics())-funcTime(before)), append(whole, took)
		}
	}
	return &Times{median(funcs), median(whole)}, bench.close()
}

// again does a work twice more, whose data is on the GPU now, and returns what stood before the second time: the first launch after a copy takes the
// processor long, and the GPU waits for it.
func again(ctx context.Context, s *gpu.Session, b bench) (before gpu.Metrics, err error) {
	for range 2 {
		before = s.Metrics()
		if err := b.run(ctx); err != nil {
			return before, err
		}
	}
	return before, nil
}

func funcTime(m gpu.Metrics) time.Duration { return m.FuncTime[0] + m.FuncTime[1] }

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
