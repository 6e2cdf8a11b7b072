package host

import (
	"fmt"
	"math"
	"runtime/debug"

	"cancha/runtime/gpu/driver"
)

// array is memory: a slice of its type.
type array struct {
	device *Device
	kind   driver.Type
	length int
	slice  any // nil once it is freed
}

// Alloc takes memory of the machine. More than can be had at this moment is refused with ErrOutOfMemory, before the system ends
// something for it.
func (d *Device) Alloc(t driver.Type, n int) (driver.Memory, error) {
	switch {
	case t.Size() == 0:
		return nil, fmt.Errorf("allocate %d %s: no such type", n, t)
	case n < 0:
		return nil, fmt.Errorf("allocate %d %s: a length below 0", n, t)
	case int64(n) > math.MaxInt64/16: // 2^59 elements: the size below would be wrong
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, driver.ErrOutOfMemory)
	}
	if err := d.enough(int64(n) * int64(t.Size())); err != nil {
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, err)
	}
	a, err := d.keep(&array{device: d, kind: t, length: n}, func() any { return driver.MakeSlice(t, n) })
	if err != nil {
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, err)
	}
	return a, nil
}

// keep makes an array of a slice that of returns, unless the device is closed.
func (d *Device) keep(a *array, of func() any) (driver.Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, driver.ErrClosed
	}
	a.slice = of()
	d.open[a] = true
	return a, nil
}

// enough fails where so many bytes cannot be had, not even of what the collector keeps for itself. Where the system does not tell, they can.
func (d *Device) enough(bytes int64) error {
	free, _, err := d.Free()
	if err == nil && bytes > free {
		debug.FreeOSMemory()
		free, _, err = d.Free()
	}
	if err == nil && bytes > free {
		return fmt.Errorf("%d bytes, where %d can be had: %w", bytes, free, driver.ErrOutOfMemory)
	}
	return nil
}

// Wrap makes a slice the CPU's memory.
func (d *Device) Wrap(slice any) (driver.Memory, error) {
	t, n, err := driver.SliceType(slice)
	if err != nil {
		return nil, fmt.Errorf("take a slice as memory: %w", err)
	}
	a, err := d.keep(&array{device: d, kind: t, length: n}, func() any { return slice })
	if err != nil {
		return nil, fmt.Errorf("take a slice as memory: %w", err)
	}
	return a, nil
}

// View is the array itself.
func (a *array) View() any { return a.slice }

func (a *array) Type() driver.Type { return a.kind }
func (a *array) Len() int          { return a.length }

// Free gives the memory back to the collector.
func (a *array) Free() error {
	a.device.mu.Lock()
	defer a.device.mu.Unlock()
	if !a.device.open[a] {
		return fmt.Errorf("free %d %s: %w", a.length, a.kind, driver.ErrClosed)
	}
	delete(a.device.open, a)
	a.release()
	return nil
}

func (a *array) release() { a.slice = nil }

// write copies a slice of the array's type to it, from element offset on.
func (a *array) write(offset int, src any) error {
	return a.move("copy in", src, offset, func(part any) { driver.Copy(part, src) })
}

// read copies as many elements as dst has, from element offset on.
func (a *array) read(offset int, dst any) error {
	return a.move("copy out", dst, offset, func(part any) { driver.Copy(dst, part) })
}

// move calls f with the part of the array that a slice of its type, and that fits into it, is to be copied to or from.
func (a *array) move(doing string, slice any, offset int, f func(part any)) error {
	t, n, err := driver.SliceType(slice)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if err := driver.CheckRange(a, t, offset, n); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	all, err := a.opened()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	f(driver.Part(all, offset, n))
	return nil
}

// opened is the array's slice, unless it has been freed.
func (a *array) opened() (any, error) {
	a.device.mu.Lock()
	defer a.device.mu.Unlock()
	if !a.device.open[a] {
		return nil, driver.ErrClosed
	}
	return a.slice, nil
}

// from is the slice from an element on.
func (a *array) from(offset int) (any, error) {
	all, err := a.opened()
	if err != nil {
		return nil, err
	}
	return driver.Part(all, offset, a.length-offset), nil
}

// argument is an argument of a func of package driver: memory from an element on, or a number.
type argument struct {
	f []float32
	i []int32
	n int
	x float32
}
