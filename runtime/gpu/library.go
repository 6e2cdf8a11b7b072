package gpu

import (
	"context"
	"fmt"
	"math"

	"cancha/runtime/gpu/driver"
)

// Load has the session know the funcs of a library, which Launch and jobs call by their names then. A library that it knows already is left
// alone; one with a func whose name another has brought is refused.
func (s *Session) Load(l *driver.Library) error {
	err := s.loaded.Add(l, func() error {
		for _, p := range s.places {
			if p == nil || p.gone() != nil {
				continue
			}
			if err := p.device.Load(l); err != nil {
				return p.note(err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("gpu: %w", err)
	}
	return nil
}

// Launch runs a func of a library that was loaded, where the session chooses, and waits for it. Arguments are buffers of the session for pointers,
// and numbers: int for int and long long, float32 and float64 for float and double. What the func writes is where it ran, and nowhere else.
// A buffer that it writes whole need not have been set before, but is no other of its arguments.
func (s *Session) Launch(ctx context.Context, name string, args ...any) error {
	f := s.loaded.Func(name)
	if f == nil {
		return fmt.Errorf("gpu: launch %s: no library that was loaded has such a func: Load the one that does", name)
	}
	c, err := newCall(f, args)
	if err != nil {
		return fmt.Errorf("gpu: launch %s: %w", name, err)
	}
	return s.run(ctx, c.operation(f))
}

// call is a func with its arguments, of which those in memory have their places only when it is known where it runs.
type call struct {
	args    driver.Args
	buffers map[int]*store
}

// newCall makes arguments of what a func of a library is called with.
func newCall(f *driver.LoadedFunc, values []any) (c call, err error) {
	if len(values) != len(f.Params) {
		return c, fmt.Errorf("%d arguments for %d parameters", len(values), len(f.Params))
	}
	c.buffers = map[int]*store{}
	for i, v := range values {
		a, ok := argument(f.Params[i], v)
		if b, is := v.(Buffer); is && f.Params[i].Kind == driver.MemoryArg && b.inner().kind == f.Params[i].Type {
			c.buffers[i], ok = b.inner(), true
		}
		if !ok {
			return c, fmt.Errorf("argument %d, %s, is %T, and the func takes %v", i, f.Params[i].Name, v, f.Params[i])
		}
		c.args = append(c.args, a)
	}
	return c, c.apart(f)
}

// argument makes an argument of a number, if the parameter takes it.
func argument(p driver.Param, value any) (a driver.Arg, ok bool) {
	switch v := value.(type) {
	case int:
		if p.Kind == driver.LongArg {
			return driver.Long(int64(v)), true
		}
		return driver.Int(v), p.Kind == driver.IntArg && v >= math.MinInt32 && v <= math.MaxInt32
	case float32:
		return argument(p, float64(v))
	case float64:
		if p.Kind == driver.DoubleArg {
			return driver.Double(v), true
		}
		return driver.Float(float32(v)), p.Kind == driver.FloatArg
	}
	return driver.Arg{Kind: driver.MemoryArg}, false
}

// apart refuses a buffer that is written whole, and is another argument too: threads of a GPU read it before or after.
func (c call) apart(f *driver.LoadedFunc) error {
	for i, b := range c.buffers {
		for j, other := range c.buffers {
			if i != j && b == other && f.Params[i].Access == driver.Write {
				return fmt.Errorf("%s is written whole, and is %s too", f.Params[i].Name, f.Params[j].Name)
			}
		}
	}
	return nil
}

// operation is the call as the session runs it.
func (c call) operation(f *driver.LoadedFunc) operation {
	w := f.Work(c.args)
	o := operation{name: f.Name, work: work{bytes: w.Bytes, flops: w.Flops, launches: 1}}
	for i := range c.args {
		b, access := c.buffers[i], f.Params[i].Access
		if b != nil && access != driver.Write {
			o.reads = append(o.reads, b)
		}
		if b != nil && access != driver.Read {
			o.writes = append(o.writes, b)
			o.size = max(o.size, b.n)
		}
	}
	o.launches = func(at func(*store) driver.Memory) []driver.Launch {
		for i, b := range c.buffers {
			c.args[i] = driver.At(at(b), 0)
		}
		return one(f.Name, c.args...)
	}
	return o
}
