package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/runtime/gpu/driver"
)

// Job is work that a session runs whole on one side, with memory of its own there: the training of a network, say. It has one of the
// session's turns until it ends. The numbers are for the cost model.
type Job struct {
	Name     string
	Size     int     // elements, by which it is told how far it is from paying
	Bytes    int64   // read and written in the memory of where it runs
	Flops    float64 // floating-point operations
	Launches int
	Copied   int64 // bytes that go to the device first, or come back from it at last, beside what Reads lack there

	// Unfit is why a GPU cannot do the work: the CPU does it, and Explain gives this as the reason. "" where it can.
	Unfit string

	// Reads are buffers of the session that Run finds on its device, see [Memory]. What is copied there stays for the next job.
	Reads []Buffer

	// Run does the work, with the queue that it is given. What it allocates of the device counts against the session's memory, and is
	// freed when it has returned; it must not free any of it, nor use the device any more then. It may be called a second time, for the
	// CPU to begin anew where the GPU has failed. It may make buffers of the session, but not wait for a turn, as all operations do: the
	// turn may be its own.
	Run func(ctx context.Context, d driver.Device, q driver.Queue) error

	// CPU, if set, does the work on the CPU in the place of Run, where a room has something better there than the device's funcs.
	CPU func(ctx context.Context) error
}

// Memory is where a buffer among a job's Reads lies on the device that its Run is given. Run must not write to it.
func Memory(d driver.Device, b Buffer) (driver.Memory, error) {
	own, ok := d.(*jobDevice)
	if !ok || !slices.Contains(own.reads, b.inner()) {
		return nil, fmt.Errorf("gpu: a buffer of %d elements is not among what the job reads", b.Len())
	}
	return b.inner().memory[own.at], nil
}

// Do runs a job where the session chooses, when its turn has come. Explain and Metrics tell of it as of an operation; the time of its
// funcs is that from a launch, the first one or the first after a copy out, to the last one before the next copy out or the end, other copies
// taken away.
func (s *Session) Do(ctx context.Context, j Job) error {
	t, give, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", j.Name, err)
	}
	defer give()
	if s.isClosed() {
		return fmt.Errorf("gpu: %s: the session is %w", j.Name, ErrClosed)
	}
	o := operation{name: j.Name, size: j.Size, work: work{j.Bytes, j.Flops, j.Launches}, copied: j.Copied, unfit: j.Unfit}
	for _, b := range j.Reads {
		o.reads = append(o.reads, b.inner())
	}
	unlock, err := s.hold(stores(o))
	if err != nil {
		return fmt.Errorf("gpu: %s: %w", j.Name, err)
	}
	defer unlock()
	return s.where(ctx, o, func(at side) error {
		if at == onCPU && j.CPU != nil {
			return s.runOnCPU(ctx, j.CPU)
		}
		return s.runJob(ctx, at, t, j, o)
	})
}

// runOnCPU has a job do its work without a device.
func (s *Session) runOnCPU(ctx context.Context, f func(context.Context) error) error {
	begun := time.Now()
	if err := f(ctx); err != nil {
		return err
	}
	s.count(func(m *Metrics) {
		m.Operations[onCPU]++
		m.FuncTime[onCPU] += time.Since(begun)
	})
	return nil
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// runJob runs a job on one side.
func (s *Session) runJob(ctx context.Context, at side, t *turn, j Job, o operation) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m, p := &meter{Queue: t[at]}, s.places[at]
	if err := s.gather(at, t, o); err != nil {
		return p.note(errors.Join(err, t[at].Wait(context.WithoutCancel(ctx))))
	}
	took, err := s.timed(ctx, at, t, j, m, o.reads)
	if err != nil {
		return p.note(err)
	}
	s.count(func(all *Metrics) {
		all.Operations[at]++
		all.FuncTime[at] += took
		if at == onGPU {
			all.Launches += m.launches
			all.CopyIn, all.CopyOut = all.CopyIn+m.copyIn, all.CopyOut+m.copyOut
			all.BytesIn, all.BytesOut = all.BytesIn+m.bytesIn, all.BytesOut+m.bytesOut
		}
	})
	return nil
}

// timed runs a job, waits for all that it has queued, and gives back what it took, even where the job panics.
func (s *Session) timed(ctx context.Context, at side, t *turn, j Job, m *meter, reads []*store) (took time.Duration, err error) {
	d := &jobDevice{Device: s.places[at].device, session: s, at: at, turn: t, reads: reads}
	defer func() {
		err = errors.Join(err, t[at].Wait(context.WithoutCancel(ctx)), d.free()) // what was launched uses the memory until it has run
	}()
	if err := j.Run(ctx, d, m.queue()); err != nil {
		return 0, err
	}
	err = m.pause()
	return m.took, err
}

// jobDevice is the device as a job has it: what is allocated counts, and makes room where there is none.
type jobDevice struct {
	driver.Device
	session *Session
	at      side
	turn    *turn
	reads   []*store
	all     []driver.Memory
}

// Alloc takes memory, if need be in the place of what no operation uses now.
func (d *jobDevice) Alloc(t driver.Type, n int) (driver.Memory, error) {
	m, err := d.session.allocate(t, n, d.at, d.turn)
	if err == nil {
		d.all = append(d.all, m)
	}
	return m, err
}

// NewQueue is refused: the job has its queue.
func (d *jobDevice) NewQueue() (driver.Queue, error) {
	return nil, errors.New("make a queue: a job works with the one that it is given")
}

// Close is refused: the device is the session's.
func (d *jobDevice) Close() error { return errors.New("close the device: it is the session's") }

func (d *jobDevice) free() error {
	var errs []error
	for _, m := range d.all {
		errs = append(errs, d.session.places[d.at].free(m))
	}
	return errors.Join(errs...)
}

// meter counts what a job does with its queue.
type meter struct {
	driver.Queue
	launches          int
	copyIn, copyOut   time.Duration
	bytesIn, bytesOut int64

	keeping bool          // launches are kept for a graph
	first   driver.Event  // before the first launch since the last pause; nil: none
	before  time.Duration // that copies took until then
	took    time.Duration // of funcs until the last pause
}

// begin marks the first launch after a pause: what a job prepares before it is no time of its funcs.
func (m *meter) begin() (err error) {
	if m.first == nil && !m.keeping {
		m.before = m.copyIn + m.copyOut
		m.first, err = m.Queue.Record()
	}
	return err
}

// pause waits for what was launched, and adds its time up: from the first launch to the last, copies taken away. What a job does until it launches
// again is no time of its funcs either.
func (m *meter) pause() error {
	if m.first == nil {
		return nil
	}
	after, err := m.Queue.Record()
	if err != nil {
		return err
	}
	took, err := after.Since(m.first)
	m.took += max(0, took-(m.copyIn+m.copyOut-m.before))
	m.first = nil
	return err
}

// queue is the meter as a queue that can do what the one behind it can.
func (m *meter) queue() driver.Queue {
	if c, ok := m.Queue.(driver.Capturer); ok {
		return &capturingMeter{m, c}
	}
	return m
}

func (m *meter) CopyIn(dst driver.Memory, offset int, src any) error {
	begun := time.Now()
	if err := m.Queue.CopyIn(dst, offset, src); err != nil {
		return err
	}
	m.copyIn += time.Since(begun)
	m.bytesIn += size(src)
	return nil
}

func (m *meter) CopyOut(dst any, src driver.Memory, offset int) error {
	if err := errors.Join(m.pause(), m.Queue.Wait(context.Background())); err != nil { // for the funcs, whose time is not the copy's
		return err
	}
	begun := time.Now()
	if err := m.Queue.CopyOut(dst, src, offset); err != nil {
		return err
	}
	m.copyOut += time.Since(begun)
	m.bytesOut += size(dst)
	return nil
}

// size is how many bytes a slice has that was copied.
func size(slice any) int64 {
	t, n, _ := driver.SliceType(slice) // a copy of anything else has failed
	return int64(n) * int64(t.Size())
}

func (m *meter) Launch(l driver.Launch) error {
	if err := m.begin(); err != nil {
		return err
	}
	m.launches++
	return m.Queue.Launch(l)
}

// capturingMeter is the meter of a queue that keeps sequences of launches.
type capturingMeter struct {
	*meter
	capturer driver.Capturer
}

func (m *capturingMeter) Capture(f func() error) (driver.Graph, error) {
	before := m.launches
	m.keeping = true
	defer func() { m.keeping, m.launches = false, before }() // nothing has been launched
	g, err := m.capturer.Capture(f)
	if err != nil {
		return nil, err
	}
	return &meteredGraph{g}, nil
}

// meteredGraph runs on the queue behind the meter, which counts it as the one launch that it costs.
type meteredGraph struct{ driver.Graph }

func (g *meteredGraph) Launch(q driver.Queue) error {
	m, ok := q.(*capturingMeter)
	if !ok {
		return fmt.Errorf("launch a graph: on a queue that is not its job's: %w", driver.ErrLaunch)
	}
	if err := m.begin(); err != nil {
		return err
	}
	m.launches++
	return g.Graph.Launch(m.Queue)
}
