package gpu

import (
	"context"
	"fmt"
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

// Sizes at which a device is measured: small enough for all to take less than 50 ms on a core, large enough to be memory's speed.
const (
	calibrateElements = 1 << 20
	calibrateMatrix   = 256
	calibrateTimes    = 5
)

// calibrate measures a device: of each kind of work the fastest of some, since what else the machine does can only slow it down.
func calibrate(ctx context.Context, d driver.Device) (v speed, err error) {
	q, err := d.NewQueue()
	if err != nil {
		return v, fmt.Errorf("measure %s: %w", d.Info().Name, err)
	}
	defer q.Close()
	var memory [3]driver.Memory
	for i := range memory {
		if memory[i], err = d.Alloc(driver.Float32, calibrateElements); err != nil {
			return v, fmt.Errorf("measure %s: %w", d.Info().Name, err)
		}
		defer memory[i].Free()
	}
	values := make([]float32, calibrateElements)
	a, b, c := driver.At(memory[0], 0), driver.At(memory[1], 0), driver.At(memory[2], 0)
	fill := func(n int) error {
		return q.Launch(driver.Launch{Func: "vector_add", Args: []driver.Arg{c, a, b, driver.Int(n)}})
	}
	n := driver.Int(calibrateMatrix)
	times := map[string]time.Duration{}
	for name, f := range map[string]func() error{
		"copy":   func() error { return q.CopyIn(memory[0], 0, values) },
		"launch": func() error { return fill(1) },
		"add":    func() error { return fill(calibrateElements) },
		"multiply": func() error {
			return q.Launch(driver.Launch{Func: "sgemm", Args: []driver.Arg{driver.Int(0), driver.Int(0), n, n, n, driver.Float(1), a, b, driver.Float(0), c}})
		},
	} {
		if times[name], err = fastest(ctx, q, f); err != nil {
			return v, fmt.Errorf("measure %s: %s: %w", d.Info().Name, name, err)
		}
	}
	return speed{
		fixed:     times["launch"],
		bandwidth: 12 * calibrateElements / times["add"].Seconds(),
		flops:     2 * calibrateMatrix * calibrateMatrix * calibrateMatrix / times["multiply"].Seconds(),
		copying:   4 * calibrateElements / times["copy"].Seconds(),
	}, nil
}

// fastest is the shortest time that f's work takes until it is done, after a first time that does not count.
func fastest(ctx context.Context, q driver.Queue, f func() error) (time.Duration, error) {
	var times []time.Duration
	for range calibrateTimes + 1 {
		begun := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if err := q.Wait(ctx); err != nil {
			return 0, err
		}
		times = append(times, max(time.Since(begun), time.Nanosecond))
	}
	return slices.Min(times[1:]), nil
}
