package host

import (
	"context"
	"fmt"
	"time"

	"cancha/runtime/gpu/driver"
)

// queue runs what it is given before it returns: there is nothing to wait for.
type queue struct {
	device *Device
	closed bool
}

func (q *queue) usable() error {
	if q.closed {
		return driver.ErrClosed
	}
	return q.device.usable()
}

func (q *queue) CopyIn(dst driver.Memory, offset int, src any) error {
	a, err := q.own("copy in", dst)
	if err != nil {
		return err
	}
	return a.write(offset, src)
}

func (q *queue) CopyOut(dst any, src driver.Memory, offset int) error {
	a, err := q.own("copy out", src)
	if err != nil {
		return err
	}
	return a.read(offset, dst)
}

// own is memory of this queue's device.
func (q *queue) own(doing string, m driver.Memory) (*array, error) {
	if err := q.usable(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	a, ok := m.(*array)
	if !ok || a.device != q.device {
		return nil, fmt.Errorf("%s: memory of another device", doing)
	}
	return a, nil
}

func (q *queue) Launch(l driver.Launch) error {
	if l.Module != nil {
		return fmt.Errorf("launch %s: the CPU runs no funcs written in CUDA C++: %w", l.Func, driver.ErrLaunch)
	}
	f := q.device.loaded.Func(l.Func)
	check := driver.Check
	if f != nil {
		check = f.Check
	}
	if err := check(l); err != nil {
		return err
	}
	values, err := q.values(l)
	if err != nil {
		return err
	}
	if f != nil {
		return q.device.runLoaded(f, values)
	}
	arguments := make([]argument, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []float32:
			arguments[i].f = v
		case []int32:
			arguments[i].i = v
		case int32:
			arguments[i].n = int(v)
		case float32:
			arguments[i].x = v
		}
	}
	return run(l.Func, q.device, arguments)
}

// values are the arguments as Go has them: slices from the offset on, and numbers.
func (q *queue) values(l driver.Launch) ([]any, error) {
	all := make([]any, len(l.Args))
	for i, a := range l.Args {
		switch a.Kind {
		case driver.IntArg:
			all[i] = a.Int
		case driver.FloatArg:
			all[i] = a.Float
		case driver.LongArg:
			all[i] = a.Long
		case driver.DoubleArg:
			all[i] = a.Double
		case driver.MemoryArg:
			own, err := q.own("launch "+l.Func, a.Memory)
			if err != nil {
				return nil, err
			}
			err = driver.CheckRange(own, own.kind, a.Offset, 0)
			if err == nil {
				all[i], err = own.from(a.Offset)
			}
			if err != nil {
				return nil, fmt.Errorf("launch %s: %w", l.Func, err)
			}
		}
	}
	return all, nil
}

func (q *queue) Record() (driver.Event, error) {
	if err := q.usable(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return event(time.Now()), nil
}

func (q *queue) Wait(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return q.usable()
}

func (q *queue) Close() error {
	q.closed = true
	return nil
}

// event is when a queue passed a point.
type event time.Time

func (e event) Since(earlier driver.Event) (time.Duration, error) {
	from, ok := earlier.(event)
	if !ok {
		return 0, fmt.Errorf("time since a point of another device's queue")
	}
	return time.Time(e).Sub(time.Time(from)), nil
}
