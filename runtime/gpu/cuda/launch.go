//go:build nvidia && linux

package cuda

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/driver"
)

// Launch queues one of our funcs or of a library's, whose grid is ours to choose, or a user's.
func (q *queue) Launch(l driver.Launch) error {
	f := q.device.loaded.Func(l.Func) // asked before the call: Load calls the device with the libraries locked
	err := q.device.call(func() error {
		switch {
		case q.closed:
			return driver.ErrClosed
		case l.Module != nil:
			return q.launchModule(l)
		case f != nil:
			return q.launchLoaded(f, l)
		}
		return q.launchOwn(l)
	})
	if err != nil {
		return fmt.Errorf("launch %s: %w", l.Func, err)
	}
	return nil
}

func (q *queue) launchOwn(l driver.Launch) error {
	if err := driver.Check(l); err != nil {
		return err
	}
	args, err := q.arguments(l.Args)
	if err != nil {
		return err
	}
	if err := checkSizes(l); err != nil {
		return err
	}
	if a := l.Args; l.Func == "sgemm" && q.device.blas != nil && a[2].Int > 0 && a[3].Int > 0 && a[4].Int > 0 && a[5].Float != 0 { // with alpha 0 cuBLAS may read a and b
		return q.multiply(a, args)
	}
	for _, k := range q.plan(l, args) {
		if k.blocks == 0 {
			continue
		}
		if err := q.run(q.device.funcs[k.name], [3]int{int(k.blocks), 1, 1}, [3]int{threads, 1, 1}, k.shared, k.args); err != nil {
			return err
		}
	}
	return nil
}

// launchLoaded queues a func that a library has brought.
func (q *queue) launchLoaded(f *driver.LoadedFunc, l driver.Launch) error {
	if err := f.Check(l); err != nil {
		return err
	}
	args, err := q.arguments(l.Args)
	if err != nil {
		return err
	}
	g := f.Grid(l.Args, q.device.info.Cores)
	switch {
	case g.Blocks <= 0:
		return nil
	case g.Blocks > mostBlocks || g.Shared > sharedBytes:
		return fmt.Errorf("a grid of %d blocks with %d bytes of shared memory: a GPU has up to %d and %d: %w", g.Blocks, g.Shared, mostBlocks, sharedBytes, driver.ErrLaunch)
	}
	d := q.device
	d.mu.Lock()
	entry := d.brought[f.Name]
	d.mu.Unlock()
	return q.run(entry, [3]int{int(g.Blocks), 1, 1}, [3]int{driver.Threads, 1, 1}, g.Shared, args)
}

// arguments are the 8 bytes of each argument, as cu wants them. Memory that a graph uses is written down.
func (q *queue) arguments(args []driver.Arg) ([]uint64, error) {
	raw := make([]uint64, len(args))
	for i, a := range args {
		switch a.Kind {
		case driver.IntArg:
			raw[i] = uint64(uint32(a.Int))
		case driver.FloatArg:
			raw[i] = uint64(math.Float32bits(a.Float))
		case driver.LongArg:
			raw[i] = uint64(a.Long)
		case driver.DoubleArg:
			raw[i] = math.Float64bits(a.Double)
		case driver.MemoryArg:
			m, err := q.device.mine(a.Memory)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", i, err)
			}
			if err := driver.CheckRange(m, m.kind, a.Offset, 0); err != nil {
				return nil, fmt.Errorf("argument %d: %w: %w", i, err, driver.ErrLaunch)
			}
			raw[i] = uint64(m.element(a.Offset))
			if q.keeping != nil {
				q.keeping.uses[m] = true
			}
		default:
			return nil, fmt.Errorf("argument %d is nothing: %w", i, driver.ErrLaunch)
		}
	}
	return raw, nil
}

// run launches a function of the GPU.
func (q *queue) run(f cu.Function, grid, block [3]int, shared int, args []uint64) error {
	pointers := make([]unsafe.Pointer, len(args)) // cu copies 8 bytes from each
	for i := range args {
		pointers[i] = unsafe.Pointer(&args[i])
	}
	return fault(f.Launch(grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, q.stream, pointers))
}

// multiply has cuBLAS multiply. No size is 0.
func (q *queue) multiply(a []driver.Arg, args []uint64) error {
	if err := q.scratch.multiplier(q.device, q.stream); err != nil {
		return err
	}
	err := q.scratch.blas.Sgemm(a[0].Int != 0, a[1].Int != 0, int(a[2].Int), int(a[3].Int), int(a[4].Int), a[5].Float,
		cu.DevicePtr(args[6]), cu.DevicePtr(args[7]), a[8].Float, cu.DevicePtr(args[9]))
	if err == nil {
		return nil
	}
	if e := q.stream.Query(); e != nil && !errors.Is(e, cu.NotReady) { // was it the GPU?
		return fmt.Errorf("%w: %w", err, fault(e))
	}
	return fmt.Errorf("%w: %w", err, driver.ErrLaunch)
}
