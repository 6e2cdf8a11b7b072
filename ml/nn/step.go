package nn

import (
	"context"
	"errors"
	"fmt"

	"cancha/runtime/gpu/driver"
)

// launches is how many funcs a step launches.
const launches = 15

// together is how many batches are queued before their losses are read: a GPU waits for nobody in between, and who is told of
// progress, or ends the training, waits for at most so many.
const together = 16

// fused is a training on a device: all that it needs is in the device's memory from the first step to the last.
type fused struct {
	*lesson
	queue driver.Queue

	values, labels, order driver.Memory // all rows, their classes, and the order of the epoch
	params, gradient      driver.Memory // see shape
	m, v                  driver.Memory // the optimizer's moments
	losses                driver.Memory // of the batches since they were last read: the sum of each one's rows

	x, y, hidden, delta, out, loss driver.Memory // of a batch

	steps int          // taken so far
	graph driver.Graph // what a whole batch launches between its rows and the optimizer, where the queue can keep it
	apart bool         // the queue has told that it cannot
}

// run trains from the first weights to the network. The memory that it takes is for who gave the device to free.
func (l *lesson) run(ctx context.Context, device driver.Device, queue driver.Queue) (*Network, error) {
	f := &fused{lesson: l, queue: queue}
	if err := f.allocate(device); err != nil {
		return nil, fmt.Errorf("nn: make room for the training: %w", err)
	}
	losses := make([]float64, l.config.Epochs)
	err := f.train(ctx, losses)
	// What is queued uses the memory, whatever has happened.
	if e := f.end(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	params := make([]float32, l.shape.params())
	if err := queue.CopyOut(params, f.params, 0); err != nil {
		return nil, fmt.Errorf("nn: copy the weights out: %w", err)
	}
	return l.network(params, losses)
}

// allocate takes all memory.
func (f *fused) allocate(d driver.Device) error {
	s, rows, batch := f.shape, len(f.lesson.labels), f.config.Batch
	for _, a := range []struct {
		to   *driver.Memory
		kind driver.Type
		n    int
	}{
		{&f.values, driver.Float32, rows * s.in}, {&f.labels, driver.Int32, rows}, {&f.order, driver.Int32, rows},
		{&f.params, driver.Float32, s.params()}, {&f.gradient, driver.Float32, s.params()},
		{&f.m, driver.Float32, s.params()}, {&f.v, driver.Float32, s.params()}, {&f.losses, driver.Float32, together},
		{&f.x, driver.Float32, batch * s.in}, {&f.y, driver.Int32, batch}, {&f.hidden, driver.Float32, batch * s.hidden},
		{&f.delta, driver.Float32, batch * s.hidden}, {&f.out, driver.Float32, batch * s.out}, {&f.loss, driver.Float32, batch},
	} {
		m, err := d.Alloc(a.kind, a.n)
		if err != nil {
			return err
		}
		*a.to = m
	}
	return nil
}

func (f *fused) train(ctx context.Context, losses []float64) error {
	if err := f.fill(); err != nil {
		return fmt.Errorf("nn: copy data and first weights: %w", err)
	}
	for epoch := 1; epoch <= f.config.Epochs; epoch++ {
		if err := f.epoch(ctx, epoch, losses); err != nil {
			return err
		}
	}
	return nil
}

// fill gives the memory that outlives a batch what it begins with.
func (f *fused) fill() error {
	zeros := make([]float32, f.shape.params())
	for _, c := range []struct {
		to    driver.Memory
		slice any
	}{{f.values, f.lesson.values}, {f.labels, f.lesson.labels}, {f.params, f.shape.first(f.config.Seed)}, {f.m, zeros}, {f.v, zeros}} {
		if err := f.queue.CopyIn(c.to, 0, c.slice); err != nil {
			return err
		}
	}
	return nil
}

// epoch sees all rows once.
func (f *fused) epoch(ctx context.Context, epoch int, losses []float64) error {
	if err := f.queue.CopyIn(f.order, 0, order(f.config.Seed, epoch, len(f.lesson.labels))); err != nil {
		return fmt.Errorf("nn: copy the order of epoch %d: %w", epoch, err)
	}
	unread := 0
	for i := range f.batches() {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("nn: training ended before batch %d of epoch %d: %w", i+1, epoch, err)
		}
		if err := f.step(i, unread); err != nil {
			return fmt.Errorf("nn: batch %d of epoch %d: %w", i+1, epoch, err)
		}
		if unread++; unread < together && i < f.batches()-1 {
			continue
		}
		if err := f.read(losses, epoch, i+2-unread, unread); err != nil {
			return err
		}
		unread = 0
	}
	return nil
}

// read takes the losses of some batches, of which the first is batch, and reports them.
func (f *fused) read(losses []float64, epoch, batch, n int) error {
	sums := make([]float32, n)
	if err := f.queue.CopyOut(sums, f.losses, 0); err != nil {
		return fmt.Errorf("nn: copy losses of epoch %d out: %w", epoch, err)
	}
	for i, sum := range sums {
		if err := f.report(losses, epoch, batch+i, float64(sum)/float64(f.rows(batch+i-1))); err != nil {
			return err
		}
	}
	return nil
}

// step queues batch i, from 0, of an epoch; the sum of its losses goes to a place among those that are read together. What differs
// from batch to batch (which rows, how far the optimizer is) comes before and after what a graph can keep.
func (f *fused) step(i, place int) error {
	rows, from := f.rows(i), driver.At(f.order, i*f.config.Batch)
	if err := f.launch("gather_rows", all(f.x), all(f.values), from, driver.Int(rows), driver.Int(f.shape.in)); err != nil {
		return err
	}
	if err := f.launch("gather", all(f.y), all(f.labels), from, driver.Int(rows)); err != nil {
		return err
	}
	if err := f.differentiate(rows); err != nil {
		return err
	}
	if err := f.launch("sum", driver.At(f.losses, place), all(f.loss), driver.Int(rows)); err != nil {
		return err
	}
	f.steps++
	a := f.config.Adam
	first, second := a.Corrections(f.steps)
	return f.launch("adam", all(f.params), all(f.gradient), all(f.m), all(f.v), driver.Int(f.shape.params()), driver.Float(a.Rate),
		driver.Float(a.Beta1), driver.Float(a.Beta2), driver.Float(a.Epsilon), driver.Float(first), driver.Float(second))
}

// differentiate queues losses and gradient of the batch's rows: as a graph, once a whole batch has shown that all funcs are there.
func (f *fused) differentiate(rows int) error {
	queue, able := f.queue.(driver.Capturer)
	switch {
	case !able || f.apart || rows < f.config.Batch || f.steps == 0:
		return f.passes(rows)
	case f.graph == nil:
		graph, err := queue.Capture(func() error { return f.passes(rows) })
		if errors.Is(err, driver.ErrNotSupported) {
			f.apart = true
			return f.passes(rows)
		}
		if err != nil {
			return fmt.Errorf("keep the launches of a batch: %w", err)
		}
		f.graph = graph
	}
	return f.graph.Launch(f.queue)
}

// passes queues the way through the layers and back: losses of the rows, and the gradient of their mean by each parameter.
func (f *fused) passes(rows int) error {
	s, n := f.shape, driver.Int(rows)
	in, hidden, out := driver.Int(s.in), driver.Int(s.hidden), driver.Int(s.out)
	w1, b1, w2, b2 := driver.At(f.params, 0), driver.At(f.params, s.bias1()), driver.At(f.params, s.weight2()), driver.At(f.params, s.bias2())
	dw1, db1, dw2, db2 := driver.At(f.gradient, 0), driver.At(f.gradient, s.bias1()), driver.At(f.gradient, s.weight2()), driver.At(f.gradient, s.bias2())
	as, transposed, zero, one := driver.Int(0), driver.Int(1), driver.Float(0), driver.Float(1)
	for _, l := range []driver.Launch{
		{Func: "sgemm", Args: []driver.Arg{as, as, n, hidden, in, one, all(f.x), w1, zero, all(f.hidden)}},
		{Func: "bias_relu", Args: []driver.Arg{all(f.hidden), b1, n, hidden}},
		{Func: "sgemm", Args: []driver.Arg{as, as, n, out, hidden, one, all(f.hidden), w2, zero, all(f.out)}},
		{Func: "bias", Args: []driver.Arg{all(f.out), b2, n, out}},
		{Func: "softmax_cross_entropy", Args: []driver.Arg{all(f.loss), all(f.out), all(f.out), all(f.y), n, out}}, // out is its gradient now
		{Func: "sgemm", Args: []driver.Arg{transposed, as, hidden, out, n, one, all(f.hidden), all(f.out), zero, dw2}},
		{Func: "column_sums", Args: []driver.Arg{db2, all(f.out), n, out}},
		{Func: "sgemm", Args: []driver.Arg{as, transposed, n, hidden, out, one, all(f.out), w2, zero, all(f.delta)}},
		{Func: "relu_gradient", Args: []driver.Arg{all(f.delta), all(f.hidden), driver.Int(rows * s.hidden)}},
		{Func: "sgemm", Args: []driver.Arg{transposed, as, in, hidden, n, one, all(f.x), all(f.delta), zero, dw1}},
		{Func: "column_sums", Args: []driver.Arg{db1, all(f.delta), n, hidden}},
	} {
		if err := f.queue.Launch(l); err != nil {
			return err
		}
	}
	return nil
}

// end waits for what is queued and lets the graph go.
func (f *fused) end(ctx context.Context) error {
	err := f.queue.Wait(ctx)
	if f.graph != nil {
		err = errors.Join(err, f.graph.Close())
	}
	if err != nil {
		return fmt.Errorf("nn: end the training: %w", err)
	}
	return nil
}

func (f *fused) launch(name string, args ...driver.Arg) error {
	return f.queue.Launch(driver.Launch{Func: name, Args: args})
}

// all is memory from its first element on.
func all(m driver.Memory) driver.Arg { return driver.At(m, 0) }
