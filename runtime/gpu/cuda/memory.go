//go:build nvidia && linux

package cuda

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"

	"cancha/runtime/gpu/cuda/shim"
	"cancha/runtime/gpu/driver"
)

// memory is an array on the GPU.
type memory struct {
	device *Device
	kind   driver.Type
	length int
	at     cu.DevicePtr
	bytes  int64 // that were taken for it
}

// Memory is taken in pieces of this many bytes, so that what was freed fits again.
const piece = 512

// keep is what part of the GPU's memory may be kept for later allocations: the driver's own taking and freeing stops all queues.
const keep = 8

// Alloc takes memory of the GPU. What was freed of the same size comes first; what is kept is given back before there is none.
func (d *Device) Alloc(t driver.Type, n int) (driver.Memory, error) {
	m, err := d.alloc(t, n)
	if err != nil {
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, err)
	}
	return m, nil
}

func (d *Device) alloc(t driver.Type, n int) (*memory, error) {
	switch {
	case t.Size() == 0:
		return nil, errors.New("no such type")
	case n < 0:
		return nil, errors.New("a length below 0")
	case int64(n) > math.MaxInt64/16: // 2^60 elements: the sizes below would be wrong
		return nil, driver.ErrOutOfMemory
	}
	bytes := max(1, (int64(n)*int64(t.Size())+piece-1)/piece) * piece
	m := &memory{device: d, kind: t, length: n, bytes: bytes}
	err := d.call(func() (err error) {
		if m.at, err = d.take(bytes); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.memory[m] = true
		d.taken += bytes
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// take takes memory that was kept, or the driver's. The context is current.
func (d *Device) take(bytes int64) (cu.DevicePtr, error) {
	d.mu.Lock()
	if spare := d.spare[bytes]; len(spare) > 0 {
		at := spare[len(spare)-1]
		d.spare[bytes] = spare[:len(spare)-1]
		d.kept -= bytes
		d.mu.Unlock()
		return at, nil
	}
	over := d.budget > 0 && d.kept > 0 && d.taken+d.kept+bytes > d.budget
	d.mu.Unlock()
	if over {
		if err := d.trim(); err != nil {
			return 0, err
		}
	}
	at, err := cu.MemAlloc(bytes)
	if !errors.Is(fault(err), driver.ErrOutOfMemory) {
		return at, fault(err)
	}
	if err := d.trim(); err != nil {
		return 0, err
	}
	if at, err = cu.MemAlloc(bytes); err != nil {
		return 0, fault(err)
	}
	return at, nil
}

// Keep bounds what is allocated and kept.
func (d *Device) Keep(most int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.budget = most
}

// trim gives what is kept back to the driver. The context is current.
func (d *Device) trim() error {
	d.mu.Lock()
	spare := d.spare
	d.spare, d.kept = map[int64][]cu.DevicePtr{}, 0
	d.mu.Unlock()
	var errs []error
	for _, all := range spare {
		for _, at := range all {
			errs = append(errs, fault(cu.MemFree(at)))
		}
	}
	return errors.Join(errs...)
}

func (m *memory) Type() driver.Type { return m.kind }
func (m *memory) Len() int          { return m.length }

// Free keeps the memory for a later allocation of the same size, or gives it to the driver.
func (m *memory) Free() error {
	d := m.device
	err := d.call(func() error {
		d.mu.Lock()
		if !d.memory[m] {
			d.mu.Unlock()
			return driver.ErrClosed
		}
		delete(d.memory, m)
		d.taken -= m.bytes
		if d.kept+m.bytes <= d.info.Memory/keep {
			d.spare[m.bytes] = append(d.spare[m.bytes], m.at)
			d.kept += m.bytes
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		return fault(cu.MemFree(m.at))
	})
	if err != nil {
		return fmt.Errorf("free %d %s: %w", m.length, m.kind, err)
	}
	return nil
}

// mine is memory of this device that is open.
func (d *Device) mine(m driver.Memory) (*memory, error) {
	own, ok := m.(*memory)
	if !ok || own.device != d {
		return nil, errors.New("memory of another device")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.memory[own] {
		return nil, driver.ErrClosed
	}
	return own, nil
}

// element is where an element lies.
func (m *memory) element(i int) cu.DevicePtr { return m.at + cu.DevicePtr(i*m.kind.Size()) }

// Pin takes memory of the machine that the system does not move: copies from and to it take no detour.
func (d *Device) Pin(t driver.Type, n int) (slice any, free func() error, err error) {
	if t.Size() == 0 || n < 0 || int64(n) > math.MaxInt64/16 {
		return nil, nil, fmt.Errorf("pin %d %s: no such memory", n, t)
	}
	var p unsafe.Pointer
	bytes := max(1, n*t.Size())
	err = d.call(func() (err error) {
		if p, err = shim.Pin(bytes); err != nil {
			return fault(err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pinned[p] = true
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("pin %d %s: %w", n, t, err)
	}
	return view(t, p, n), func() error { return d.unpin(p) }, nil
}

func (d *Device) unpin(p unsafe.Pointer) error {
	err := d.call(func() error {
		d.mu.Lock()
		open := d.pinned[p]
		delete(d.pinned, p)
		d.mu.Unlock()
		if !open {
			return driver.ErrClosed
		}
		return fault(shim.Unpin(p))
	})
	if err != nil {
		return fmt.Errorf("free pinned memory: %w", err)
	}
	return nil
}

// isPinned tells whether memory begins at p that Pin gave.
func (d *Device) isPinned(p unsafe.Pointer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pinned[p]
}

// view is C's memory as a slice.
func view(t driver.Type, p unsafe.Pointer, n int) any {
	switch t {
	case driver.Float32:
		return unsafe.Slice((*float32)(p), n)
	case driver.Float64:
		return unsafe.Slice((*float64)(p), n)
	case driver.Int32:
		return unsafe.Slice((*int32)(p), n)
	case driver.Int64:
		return unsafe.Slice((*int64)(p), n)
	case driver.Uint16:
		return unsafe.Slice((*uint16)(p), n)
	case driver.Uint32:
		return unsafe.Slice((*uint32)(p), n)
	}
	return unsafe.Slice((*uint8)(p), n)
}

// first is the address of a slice's first element. It has one.
func first(slice any) unsafe.Pointer { return reflect.ValueOf(slice).UnsafePointer() }
