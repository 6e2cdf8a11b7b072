package host

import (
	"fmt"
	"math"
	"runtime/debug"

	"cancha/runtime/gpu/driver"
)

// array is memory: of the slices the one of its type is there.
type array struct {
	device *Device
	kind   driver.Type
	length int

	float32s []float32
	float64s []float64
	int32s   []int32
	uint8s   []uint8
}

// Alloc takes memory of the machine. More than can be had at this moment is refused with ErrOutOfMemory, before the system ends
// something for it.
func (d *Device) Alloc(t driver.Type, n int) (driver.Memory, error) {
	switch {
	case n < 0:
		return nil, fmt.Errorf("allocate %d %s: a length below 0", n, t)
	case int64(n) > math.MaxInt64/16: // 2^59 elements: the size below would be wrong
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, driver.ErrOutOfMemory)
	}
	if err := d.enough(int64(n) * int64(t.Size())); err != nil {
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("allocate %d %s: %w", n, t, driver.ErrClosed)
	}
	a := &array{device: d, kind: t, length: n}
	switch t {
	case driver.Float32:
		a.float32s = make([]float32, n)
	case driver.Float64:
		a.float64s = make([]float64, n)
	case driver.Int32:
		a.int32s = make([]int32, n)
	case driver.Uint8:
		a.uint8s = make([]uint8, n)
	default:
		return nil, fmt.Errorf("allocate %d %s: no such type", n, t)
	}
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
	a := &array{device: d, kind: t, length: n}
	switch s := slice.(type) {
	case []float32:
		a.float32s = s
	case []float64:
		a.float64s = s
	case []int32:
		a.int32s = s
	case []uint8:
		a.uint8s = s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("take a slice as memory: %w", driver.ErrClosed)
	}
	d.open[a] = true
	return a, nil
}

// View is the array itself.
func (a *array) View() any {
	switch a.kind {
	case driver.Float32:
		return a.float32s
	case driver.Float64:
		return a.float64s
	case driver.Int32:
		return a.int32s
	}
	return a.uint8s
}

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

func (a *array) release() { a.float32s, a.float64s, a.int32s, a.uint8s = nil, nil, nil, nil }

// write copies a slice of the array's type to it, from element offset on.
func (a *array) write(offset int, src any) error {
	return a.move("copy in", src, offset, func(n int) {
		switch s := src.(type) {
		case []float32:
			copy(a.float32s[offset:][:n], s)
		case []float64:
			copy(a.float64s[offset:][:n], s)
		case []int32:
			copy(a.int32s[offset:][:n], s)
		case []uint8:
			copy(a.uint8s[offset:][:n], s)
		}
	})
}

// read copies as many elements as dst has, from element offset on.
func (a *array) read(offset int, dst any) error {
	return a.move("copy out", dst, offset, func(n int) {
		switch s := dst.(type) {
		case []float32:
			copy(s, a.float32s[offset:][:n])
		case []float64:
			copy(s, a.float64s[offset:][:n])
		case []int32:
			copy(s, a.int32s[offset:][:n])
		case []uint8:
			copy(s, a.uint8s[offset:][:n])
		}
	})
}

// move calls f with the length of a slice that is of the array's type and fits into it.
func (a *array) move(doing string, slice any, offset int, f func(n int)) error {
	t, n, err := driver.SliceType(slice)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if err := driver.CheckRange(a, t, offset, n); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	a.device.mu.Lock()
	open := a.device.open[a]
	a.device.mu.Unlock()
	if !open {
		return fmt.Errorf("%s: %w", doing, driver.ErrClosed)
	}
	f(n)
	return nil
}

// argument is an argument of a func: memory from an element on, or a number.
type argument struct {
	f []float32
	i []int32
	n int
	x float32
}

// from is the array from an element on, as an argument.
func (a *array) from(offset int) (argument, error) {
	a.device.mu.Lock()
	defer a.device.mu.Unlock()
	if !a.device.open[a] {
		return argument{}, driver.ErrClosed
	}
	switch a.kind {
	case driver.Float32:
		return argument{f: a.float32s[offset:]}, nil
	case driver.Int32:
		return argument{i: a.int32s[offset:]}, nil
	}
	return argument{}, fmt.Errorf("no func takes memory of %s: %w", a.kind, driver.ErrLaunch)
}
