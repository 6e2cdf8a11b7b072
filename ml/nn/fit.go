package nn

import (
	"context"
	"errors"
	"fmt"

	"cancha/ml"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/host"
)

// Fit trains a network on the labels of the dataset, where the session of the settings chooses; without one on the CPU. It returns
// between two batches, with ctx's cause, when ctx is done.
func Fit(ctx context.Context, d *ml.Dataset, c Config) (*Network, error) {
	l, err := prepare(d, c)
	if err != nil {
		return nil, err
	}
	var n *Network
	run := func(ctx context.Context, device driver.Device, queue driver.Queue) (err error) {
		n, err = l.run(ctx, device, queue)
		return err
	}
	err = l.listed.Do(func() error {
		if c.Session == nil {
			return onHost(ctx, run)
		}
		return c.Session.Do(ctx, l.job(run))
	})
	return n, err
}

// FitOn trains a network as Fit does, on an open device: its queue runs the launches, and its memory holds the data, the parameters and
// their moments until FitOn returns. The session of the settings is not asked.
func FitOn(ctx context.Context, device driver.Device, queue driver.Queue, d *ml.Dataset, c Config) (*Network, error) {
	l, err := prepare(d, c)
	if err != nil {
		return nil, err
	}
	own := &owner{Device: device}
	var n *Network
	err = l.listed.Do(func() (err error) {
		n, err = l.run(ctx, own, queue)
		return errors.Join(err, own.free())
	})
	return n, err
}

// owner frees what was allocated of a device.
type owner struct {
	driver.Device
	all []driver.Memory
}

// Alloc takes memory of the device.
func (o *owner) Alloc(t driver.Type, n int) (driver.Memory, error) {
	m, err := o.Device.Alloc(t, n)
	if err == nil {
		o.all = append(o.all, m)
	}
	return m, err
}

func (o *owner) free() error {
	var errs []error
	for _, m := range o.all {
		errs = append(errs, m.Free())
	}
	return errors.Join(errs...)
}

// onHost runs on the CPU.
func onHost(ctx context.Context, run func(context.Context, driver.Device, driver.Queue) error) (err error) {
	device, err := host.Driver{}.Open(ctx, 0, driver.Options{})
	if err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	queue, err := device.NewQueue()
	if err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	return run(ctx, device, queue)
}

// job is the training as a session sees it.
func (l *lesson) job(run func(context.Context, driver.Device, driver.Queue) error) gpu.Job {
	s, steps, rows := l.shape, float64(l.config.Epochs*l.batches()), float64(l.config.Epochs*len(l.labels))
	layers := float64(s.in*s.hidden + s.hidden*s.out)
	return gpu.Job{
		Name: "train a network", Size: len(l.values), Copied: 4 * int64(len(l.values)+len(l.labels)+3*s.params()),
		Launches: int(steps) * launches,
		// Adam reads four numbers of each parameter and writes three; a layer reads its weights twice and writes their gradient.
		Bytes: int64(steps)*int64(s.params())*4*(7+3) + int64(rows)*4*int64(3*s.in+8*s.hidden+6*s.out),
		Flops: rows*6*layers + steps*14*float64(s.params()),
		Run:   run,
	}
}
