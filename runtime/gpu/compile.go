package gpu

import (
	"context"
	"fmt"
	"time"

	"cancha/runtime/gpu/driver"
)

// Module is funcs of the user's own, compiled for a session's GPU.
type Module struct {
	session *Session
	module  driver.Module
}

// Grid is over how many blocks, of how many threads each, a func runs. A size of 0 is 1.
type Grid struct {
	Blocks  [3]int
	Threads [3]int
	Shared  int // bytes of shared memory a block, beyond what the func declares
}

// Over is a grid of n threads at least, 256 a block, in one dimension: the func compares its place with n.
func Over(n int) Grid {
	const threads = 256
	return Grid{Blocks: [3]int{(n + threads - 1) / threads}, Threads: [3]int{threads}}
}

// Compile compiles CUDA C++ for the session's GPU; each __global__ function is a func that can be launched. What is wrong with the source is
// told by its line. Without a GPU it fails with driver.ErrNoDevice: the CPU runs no such funcs.
func (s *Session) Compile(ctx context.Context, source string) (*Module, error) {
	p := s.places[onGPU]
	if p == nil {
		return nil, fmt.Errorf("gpu: compile: %w: %s", driver.ErrNoDevice, s.missing)
	}
	c, ok := p.device.(driver.Compiler)
	if !ok {
		return nil, fmt.Errorf("gpu: compile: %s takes no funcs of others", p.device.Info().Name)
	}
	m, err := c.Compile(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("gpu: %w", p.note(err))
	}
	return &Module{s, m}, nil
}

// Funcs are the names of the funcs.
func (m *Module) Funcs() []string { return m.module.Funcs() }

// Close gives the module back; with its session it is given back too.
func (m *Module) Close() error { return m.module.Close() }

// Launch runs a func on the GPU and waits for it. Arguments are buffers for pointers, int and int32 for int, float32 and float64 for float.
// What a buffer holds is copied to the GPU if it is not there, and is there only, then.
func (m *Module) Launch(ctx context.Context, name string, g Grid, args ...any) error {
	s := m.session
	o := operation{name: name}
	l := driver.Launch{Module: m.module, Func: name, Grid: atLeastOne(g.Blocks), Block: atLeastOne(g.Threads), Shared: g.Shared, Args: make([]driver.Arg, len(args))}
	at := map[int]*store{}
	for i, a := range args {
		switch a := a.(type) {
		case int:
			l.Args[i] = driver.Int(a)
			if int(l.Args[i].Int) != a {
				return fmt.Errorf("gpu: %s: argument %d is %d, which is no 32-bit int", name, i, a)
			}
		case int32:
			l.Args[i] = driver.Int(int(a))
		case float32:
			l.Args[i] = driver.Float(a)
		case float64:
			l.Args[i] = driver.Float(float32(a))
		case Buffer:
			at[i] = a.inner()
			o.writes = append(o.writes, at[i])
		default:
			return fmt.Errorf("gpu: %s: argument %d is %T: a func takes buffers, ints and floats", name, i, a)
		}
	}
	o.launches = func(memory func(*store) driver.Memory) []driver.Launch {
		for i, b := range at {
			l.Args[i] = driver.At(memory(b), 0)
		}
		return []driver.Launch{l}
	}
	if err := s.runOwn(ctx, o); err != nil {
		return fmt.Errorf("gpu: %s: %w", name, err)
	}
	return nil
}

func atLeastOne(sizes [3]int) [3]int {
	for i := range sizes {
		if sizes[i] == 0 {
			sizes[i] = 1
		}
	}
	return sizes
}

// runOwn runs an operation that only the GPU can do. Buffers that hold something are read as well as written.
func (s *Session) runOwn(ctx context.Context, o operation) error {
	t, give, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	unlock, err := s.hold(stores(o))
	if err != nil {
		return err
	}
	defer unlock()
	for _, b := range o.writes {
		if b.valid[onCPU] || b.valid[onGPU] {
			o.reads = append(o.reads, b)
		}
	}
	begun := time.Now()
	if err := s.runOn(ctx, onGPU, t, o); err != nil {
		return err
	}
	s.record(Decision{Operation: o.name, Place: onGPU.String(), Reason: "a func of your own", Actual: time.Since(begun)})
	return nil
}
