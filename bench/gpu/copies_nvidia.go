//go:build nvidia && linux

package main

import (
	"context"
	"fmt"
	"time"

	"cancha/runtime/gpu/cuda"
	"cancha/runtime/gpu/driver"
)

// rates are what copies reach, in GB/s (10⁹ bytes).
type rates struct {
	In  float64 `json:"in"`  // to the GPU
	Out float64 `json:"out"` // from it
}

// copied is how fast one GPU takes and gives memory: that of a program as it is, which copies by way of pinned memory of the device's own, and pinned memory.
type copied struct {
	Device string `json:"device"`
	Bytes  int64  `json:"bytes"`
	Plain  rates  `json:"plain"`
	Pinned rates  `json:"pinned"`
}

// copies measures copies of n float32s, the best of so many times each.
func copies(ctx context.Context, n, times int) (c copied, err error) {
	d, err := cuda.Driver{}.Open(ctx, 0, driver.Options{})
	if err != nil {
		return c, err
	}
	defer d.Close()
	c.Device, c.Bytes = d.Info().Name, 4*int64(n)
	q, err := d.NewQueue()
	if err != nil {
		return c, err
	}
	m, err := d.Alloc(driver.Float32, n)
	if err != nil {
		return c, err
	}
	if c.Plain, err = both(ctx, q, m, make([]float32, n), times); err != nil {
		return c, err
	}
	pinner, ok := d.(driver.Pinner)
	if !ok {
		return c, fmt.Errorf("%s pins no memory", c.Device)
	}
	slice, free, err := pinner.Pin(driver.Float32, n)
	if err != nil {
		return c, err
	}
	defer free()
	c.Pinned, err = both(ctx, q, m, slice, times)
	return c, err
}

// both measures copies of a slice to memory and back.
func both(ctx context.Context, q driver.Queue, m driver.Memory, slice any, times int) (r rates, err error) {
	wait := func() error { return q.Wait(ctx) }
	if r.In, err = fastest(m, times, func() error { return q.CopyIn(m, 0, slice) }, wait); err != nil {
		return r, err
	}
	r.Out, err = fastest(m, times, func() error { return q.CopyOut(slice, m, 0) }, wait)
	return r, err
}

// fastest is the best rate of a copy that takes all of a memory.
func fastest(m driver.Memory, times int, copy, wait func() error) (float64, error) {
	best := 0.0
	for range times {
		began := time.Now()
		if err := copy(); err != nil {
			return 0, err
		}
		if err := wait(); err != nil {
			return 0, err
		}
		best = max(best, 4*float64(m.Len())/time.Since(began).Seconds()/1e9)
	}
	return best, nil
}
