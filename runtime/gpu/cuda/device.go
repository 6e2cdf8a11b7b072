//go:build nvidia && linux

package cuda

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// Device is a GPU, open: its primary context, and our funcs in it.
type Device struct {
	info    driver.Info
	device  cu.Device
	context cu.CUContext
	own     cu.Module              // kernels.cu
	funcs   map[string]cu.Function // of it
	tf32    bool
	blas    *shim.BLAS // nil where cuBLAS was not found

	staging staging // of large copies

	loaded driver.Loaded // libraries

	running sync.RWMutex // held for reading by calls, for writing by Close: no call finds the context gone

	// Guards what follows. It is taken while running is held, never the other way round, and no call of the driver waits under it.
	// What is opened is written down within call, so that Close, which waits for that, finds it.
	mu       sync.Mutex
	closed   bool
	lost     error // why all fails from now on
	memory   map[*memory]bool
	queues   map[*queue]bool
	modules  map[*module]bool
	code     []cu.Module            // of libraries
	brought  map[string]cu.Function // of code
	graphs   map[*graph]bool
	pinned   map[unsafe.Pointer]bool
	events   []cu.Event // of points that nobody looks at any more
	recorded map[cu.Event]bool
	spare    map[int64][]cu.DevicePtr // freed memory, by size
	kept     int64                    // bytes of it
	taken    int64                    // bytes of memory
	budget   int64                    // bytes that may be taken and kept; 0 is no limit
}

func open(info driver.Info, o driver.Options) (*Device, error) {
	d := &Device{
		info: info, device: cu.Device(info.Index), tf32: o.TF32, funcs: map[string]cu.Function{},
		brought: map[string]cu.Function{},
		memory:  map[*memory]bool{}, queues: map[*queue]bool{}, modules: map[*module]bool{}, graphs: map[*graph]bool{},
		pinned: map[unsafe.Pointer]bool{}, recorded: map[cu.Event]bool{}, spare: map[int64][]cu.DevicePtr{},
	}
	var err error
	if d.context, err = d.device.RetainPrimaryCtx(); err != nil {
		return nil, fmt.Errorf("make a context: %w", fault(err))
	}
	if err := d.call(d.load); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// load loads our funcs and looks for cuBLAS.
func (d *Device) load() (err error) {
	if d.own, err = cu.LoadData(kernels); err != nil {
		return fmt.Errorf("load the funcs: %w", fault(err))
	}
	for _, name := range entries(kernels) {
		if d.funcs[name], err = d.own.Function(name); err != nil {
			return fmt.Errorf("load %s: %w", name, fault(err))
		}
	}
	d.info.BLAS = d.findBLAS()
	if d.info.Emulated {
		d.info.BLAS += " (CPU emulation)"
	}
	return nil
}

// findBLAS looks for cuBLAS, and tells what will multiply. One that does not start, as one that is newer than the driver, is left alone.
func (d *Device) findBLAS() string {
	b, err := shim.OpenBLAS()
	if err != nil {
		return "own"
	}
	h, err := b.NewHandle(cu.NoStream, d.tf32, 0, 0)
	if err != nil {
		return "own, since cuBLAS " + b.Version + " does not start"
	}
	if err := h.Close(); err != nil {
		return "own, since cuBLAS " + b.Version + " does not stop"
	}
	d.blas = b
	if d.tf32 {
		return "cuBLAS " + b.Version + ", TF32"
	}
	return "cuBLAS " + b.Version
}

// call runs f with the GPU's context current, unless the device is closed or lost. An error that says that it is lost is kept.
func (d *Device) call(f func() error) error {
	d.running.RLock()
	defer d.running.RUnlock()
	d.mu.Lock()
	closed, lost := d.closed, d.lost
	d.mu.Unlock()
	switch {
	case closed:
		return driver.ErrClosed
	case lost != nil:
		return lost
	}
	return d.note(d.within(f))
}

// within runs f with the context current: that belongs to a thread.
func (d *Device) within(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(d.context); err != nil {
		return fmt.Errorf("set the context: %w", fault(err))
	}
	return f()
}

// note keeps an error that says that the device is lost.
func (d *Device) note(err error) error {
	if errors.Is(err, driver.ErrLost) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.lost == nil {
			d.lost = err
		}
	}
	return err
}

// Info tells what the GPU is.
func (d *Device) Info() driver.Info { return d.info }

// Free is what the driver can give, and what is kept for later allocations.
func (d *Device) Free() (free, total int64, err error) {
	err = d.call(func() error {
		if free, total, err = cu.MemInfo(); err != nil {
			return fault(err)
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("ask for free memory: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return free + d.kept, total, nil
}

// Close waits for what runs and gives everything back. A GPU that was lost is reset, so that it can be opened again.
func (d *Device) Close() error {
	d.running.Lock()
	defer d.running.Unlock()
	d.mu.Lock()
	closed, lost := d.closed, d.lost
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	if lost == nil {
		errs = append(errs, d.within(func() error { return errors.Join(d.dismantle()...) }))
	} else if err := d.device.ResetPrimaryCtx(); err != nil {
		errs = append(errs, fmt.Errorf("reset the GPU: %w", fault(err)))
	}
	if err := d.device.ReleasePrimaryCtx(); err != nil {
		errs = append(errs, fmt.Errorf("release the context: %w", fault(err)))
	}
	return errors.Join(errs...)
}

// dismantle gives back what is open, in the order in which it depends on each other. No call runs now, but the collector may be about to
// reuse events, so all is taken before.
func (d *Device) dismantle() (errs []error) {
	d.mu.Lock()
	graphs, queues, modules, memory, pinned := d.graphs, d.queues, d.modules, d.memory, d.pinned
	events := slices.AppendSeq(d.events, maps.Keys(d.recorded))
	d.graphs, d.queues, d.modules, d.memory, d.pinned, d.events, d.recorded = nil, nil, nil, nil, nil, nil, nil
	d.mu.Unlock()
	add := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	add("wait", fault(cu.Synchronize()))
	for g := range graphs {
		add("close a graph", g.release())
	}
	for q := range queues {
		add("close a queue", q.release())
	}
	for _, e := range events {
		add("close an event", fault(cu.DestroyEvent(&e)))
	}
	for m := range modules {
		add("unload a module", fault(m.loaded.Unload()))
	}
	for _, code := range d.code {
		add("unload a library", fault(code.Unload()))
	}
	if d.own != (cu.Module{}) {
		add("unload the funcs", fault(d.own.Unload()))
	}
	for m := range memory {
		add("free memory", fault(cu.MemFree(m.at)))
	}
	for p := range pinned {
		add("free pinned memory", fault(shim.Unpin(p)))
	}
	add("free pinned memory", d.staging.close())
	add("free memory", d.trim())
	return errs
}
