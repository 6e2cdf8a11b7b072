package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cancha/runtime/gpu/driver"
)

// work is what an operation has to do, whoever does it.
type work struct {
	bytes    int64   // read and written in the memory of where it runs
	flops    float64 // floating-point operations
	launches int
}

// speed is what a device can do, measured when the session starts.
type speed struct {
	fixed     time.Duration // of a launch that has nothing to do
	bandwidth float64       // bytes/s of a func that does little else
	flops     float64       // of a matrix multiplication, a second
	copying   float64       // bytes/s between the machine's memory and the GPU's, which way does not count
}

// predict is how long the device takes for some work, and for copies that it needs first.
func (v speed) predict(w work, copied int64) time.Duration {
	seconds := max(float64(w.bytes)/v.bandwidth, w.flops/v.flops)
	if copied > 0 {
		seconds += float64(copied) / v.copying
	}
	return time.Duration(w.launches)*v.fixed + time.Duration(seconds*float64(time.Second))
}

// A device is measured at sizes that grow until the work takes long beside a launch: a core is measured with some MB, while a GPU does
// these in less time than a launch takes. An H200 took 40 to 190 ms, the loading of cuBLAS included.
const (
	leastElements, mostElements = 1 << 20, 1 << 24
	leastMatrix, mostMatrix     = 256, 2048
	mostCopied                  = 1 << 22 // elements
	longBesideLaunch            = 20
	calibrateTimes              = 5
)

// calibrate measures a device: of each kind of work the fastest of some, since what else the machine does can only slow it down.
func calibrate(ctx context.Context, d driver.Device) (v speed, err error) {
	q, err := d.NewQueue()
	if err != nil {
		return v, fmt.Errorf("measure %s: %w", d.Info().Name, err)
	}
	c := calibration{ctx: ctx, device: d, queue: q}
	defer func() { err = errors.Join(err, q.Close()) }()
	for _, measure := range []func(v *speed) error{c.launch, c.add, c.multiply, c.copy} {
		if err := measure(&v); err != nil {
			return v, fmt.Errorf("measure %s: %w", d.Info().Name, err)
		}
	}
	return v, nil
}

// calibration is a device that is being measured.
type calibration struct {
	ctx    context.Context
	device driver.Device
	queue  driver.Queue
	fixed  time.Duration // of a launch, once it is known
}

func (c *calibration) launch(v *speed) error {
	took, err := c.with(1, func(m [3]driver.Memory) func() error { return c.adds(m, 1) })
	c.fixed, v.fixed = took, took
	return err
}

func (c *calibration) add(v *speed) error {
	n, took, err := c.grow(leastElements, mostElements, func(n int) (time.Duration, error) {
		return c.with(n, func(m [3]driver.Memory) func() error { return c.adds(m, n) })
	})
	v.bandwidth = 12 * float64(n) / took.Seconds()
	return err
}

func (c *calibration) multiply(v *speed) error {
	n, took, err := c.grow(leastMatrix, mostMatrix, func(n int) (time.Duration, error) {
		return c.with(n*n, func(m [3]driver.Memory) func() error { return c.multiplies(m, n) })
	})
	v.flops = 2 * math.Pow(float64(n), 3) / took.Seconds()
	return err
}

func (c *calibration) copy(v *speed) error {
	n, took, err := c.grow(leastElements, mostCopied, func(n int) (time.Duration, error) {
		values := make([]float32, n)
		return c.with(n, func(m [3]driver.Memory) func() error { return func() error { return c.queue.CopyIn(m[0], 0, values) } })
	})
	v.copying = 4 * float64(n) / took.Seconds()
	return err
}

func (c *calibration) adds(m [3]driver.Memory, n int) func() error {
	l := driver.Launch{Func: "vector_add", Args: []driver.Arg{driver.At(m[2], 0), driver.At(m[0], 0), driver.At(m[1], 0), driver.Int(n)}}
	return func() error { return c.queue.Launch(l) }
}

func (c *calibration) multiplies(m [3]driver.Memory, n int) func() error {
	size := driver.Int(n)
	l := driver.Launch{Func: "sgemm", Args: []driver.Arg{
		driver.Int(0), driver.Int(0), size, size, size, driver.Float(1), driver.At(m[0], 0), driver.At(m[1], 0), driver.Float(0), driver.At(m[2], 0),
	}}
	return func() error { return c.queue.Launch(l) }
}

// grow doubles a size until its work takes long beside a launch, and returns the last size and what its work takes without the launch. A
// size for which there is no memory was one too many.
func (c *calibration) grow(least, most int, work func(n int) (time.Duration, error)) (n int, took time.Duration, err error) {
	for n = least; ; n *= 2 {
		longer, err := work(n)
		if errors.Is(err, driver.ErrOutOfMemory) && n > least {
			return n / 2, max(took-c.fixed, took/2), nil
		}
		if err != nil {
			return n, 1, err
		}
		took = longer
		if n == most || took > longBesideLaunch*c.fixed {
			return n, max(took-c.fixed, took/2), nil
		}
	}
}

// with gives work three arrays of n elements, and measures the shortest time that it takes until it is done, after a first time that does
// not count.
func (c *calibration) with(n int, work func(m [3]driver.Memory) func() error) (shortest time.Duration, err error) {
	var memory [3]driver.Memory
	for i := range memory {
		m, err := c.device.Alloc(driver.Float32, n)
		if err != nil {
			return 0, err
		}
		memory[i] = m
		defer m.Free() // of a device that is lost; opening it fails by what follows
	}
	f := work(memory)
	var times []time.Duration
	for range calibrateTimes + 1 {
		begun := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if err := c.queue.Wait(c.ctx); err != nil {
			return 0, err
		}
		times = append(times, max(time.Since(begun), time.Nanosecond))
	}
	return slices.Min(times[1:]), nil
}
