package nn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
	"cancha/runtime/gpu/host"
)

// table returns rows of random numbers, whose classes depend on them.
func table(r *rand.Rand, rows, columns, classes int) *ml.Dataset {
	d := &ml.Dataset{}
	for j := range columns {
		d.Features = append(d.Features, fmt.Sprint("x", j))
	}
	for k := range classes {
		d.Classes = append(d.Classes, fmt.Sprint(k))
	}
	for range rows {
		sum := 0.0
		for range columns {
			v := r.NormFloat64()
			sum += v
			d.Values = append(d.Values, float32(v))
		}
		d.Labels = append(d.Labels, min(max(int(sum+float64(classes)/2), 0), classes-1))
	}
	return d
}

// trainer is a way of training that takes what Fit takes.
type trainer func(context.Context, *ml.Dataset, Config) (*Network, error)

// withBLAS trains a graph of gorgonia on the house's BLAS.
func withBLAS(ctx context.Context, d *ml.Dataset, c Config) (*Network, error) {
	defer UseBLAS(0)()
	return FitGraph(ctx, d, c)
}

// on trains on a CPU of so many cores, behind a queue of the test's making.
func on(cores int, wrap func(driver.Queue) driver.Queue) trainer {
	return func(ctx context.Context, d *ml.Dataset, c Config) (*Network, error) {
		device, err := host.Driver{}.Open(ctx, 0, driver.Options{Cores: cores})
		if err != nil {
			return nil, err
		}
		defer device.Close()
		q, err := device.NewQueue()
		if err != nil {
			return nil, err
		}
		return FitOn(ctx, device, wrap(q), d, c)
	}
}

func plain(q driver.Queue) driver.Queue { return q }

// trainers are all ways of training.
func trainers() map[string]trainer {
	return map[string]trainer{
		"fused": Fit, "fused, three cores": on(3, plain), "fused, with a graph": on(1, func(q driver.Queue) driver.Queue { return &recorder{Queue: q} }),
		"gorgonia": FitGraph, "gorgonia with own Sgemm": fitSolver, "gorgonia with own BLAS": withBLAS,
	}
}

// recorder is a queue that keeps launches, as a GPU's does.
type recorder struct {
	driver.Queue
	keeps    *recorded
	captured int
	launched int // graphs
}

type recorded struct{ all []driver.Launch }

func (r *recorder) Capture(f func() error) (driver.Graph, error) {
	r.captured++
	r.keeps = &recorded{}
	defer func() { r.keeps = nil }()
	return r.keeps, f()
}

func (r *recorder) Launch(l driver.Launch) error {
	if r.keeps != nil {
		r.keeps.all = append(r.keeps.all, l)
		return nil
	}
	return r.Queue.Launch(l)
}

func (g *recorded) Launch(q driver.Queue) error {
	q.(*recorder).launched++
	for _, l := range g.all {
		if err := q.Launch(l); err != nil {
			return err
		}
	}
	return nil
}

func (g *recorded) Close() error { return nil }

// curve is the loss of each batch.
func curve(t *testing.T, fit trainer, d *ml.Dataset, c Config) (losses []float64, n *Network) {
	t.Helper()
	c.Progress = func(_, _ int, loss float64) { losses = append(losses, loss) }
	n, err := fit(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	return losses, n
}

// TestCurves: over five epochs all ways of training have the losses of the reference, on shapes of which some batches do not divide.
func TestCurves(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, shape := range []struct{ rows, columns, hidden, classes, batch int }{
		{1, 1, 1, 2, 64}, {2, 3, 1, 2, 1}, {7, 5, 4, 3, 2}, {64, 6, 17, 5, 64}, {65, 6, 16, 5, 64}, {300, 33, 40, 10, 32}, {97, 2, 70, 3, 50},
	} {
		t.Run(fmt.Sprintf("%+v", shape), func(t *testing.T) {
			d := table(r, shape.rows, shape.columns, shape.classes)
			clear(d.Values[:shape.columns]) // all units of the first row are at 0, where relu has no derivative of its own
			c := Config{Hidden: shape.hidden, Batch: shape.batch, Epochs: 5, Seed: r.Uint64()}
			l, err := prepare(d, c)
			if err != nil {
				t.Fatal(err)
			}
			want := reference{l.shape, float64s(l.shape.first(c.Seed))}
			losses := want.train(l)
			for name, fit := range trainers() {
				got, n := curve(t, fit, d, c)
				if len(got) != len(losses) {
					t.Fatalf("%s: %d batches, want %d", name, len(got), len(losses))
				}
				for i := range losses {
					if !(math.Abs(got[i]-losses[i]) <= 1e-4) {
						t.Fatalf("%s: the loss of batch %d is %v, want %v", name, i, got[i], losses[i])
					}
				}
				row := d.Row(0)
				p := make([]float64, shape.classes)
				n.ProbaTo(p, row)
				_, wanted := want.forward(row)
				for k := range p {
					if !(math.Abs(p[k]-wanted[k]) <= 1e-3) {
						t.Errorf("%s: trained, class %d has %v, want %v", name, k, p[k], wanted[k])
					}
				}
			}
		})
	}
}

// TestCurvesOfDigits: over five epochs the losses of the two ways differ by less than 1e-4, batch by batch, at the size of digits.
func TestCurvesOfDigits(t *testing.T) {
	d := digits(1, 300, 28, 10)
	c := Config{Epochs: 5, Seed: 3}
	want, _ := curve(t, withBLAS, d, c)
	got, n := curve(t, Fit, d, c)
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(got[i]-want[i]))
	}
	t.Logf("%d batches, largest difference %.2g", len(want), worst)
	if !(worst < 1e-4) || len(got) != len(want) {
		t.Errorf("losses of %d and %d batches differ by up to %v", len(got), len(want), worst)
	}
	if !(n.Losses[4] < n.Losses[0]/4) {
		t.Errorf("epochs have losses of %v: nothing was learned", n.Losses)
	}
	right, p := 0, must(n.PredictProba(t.Context(), digits(2, 200, 28, 10)))
	for i, label := range digits(2, 200, 28, 10).Labels {
		if slices.Index(p[i], slices.Max(p[i])) == label {
			right++
		}
	}
	if right < 180 {
		t.Errorf("%d of 200 unseen digits are recognized", right)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestGradient: the gradient that a device computes is that of the loss, by the chain rule and by finite differences, both in float64.
func TestGradient(t *testing.T) {
	for i := range 20 {
		r := rand.New(rand.NewPCG(uint64(i), 5))
		rows := 1 + r.IntN(20)
		d := table(r, rows, 1+r.IntN(12), 2+r.IntN(5))
		l := must(prepare(d, Config{Hidden: 1 + r.IntN(20), Seed: uint64(i)}))
		f := &fused{lesson: l}
		device, queue := openHost(t)
		f.queue = queue
		if err := errors.Join(f.allocate(device), f.fill(), queue.CopyIn(f.order, 0, order(1, 1, rows)), f.step(0, 0)); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, l.shape.params())
		if err := queue.CopyOut(got, f.gradient, 0); err != nil {
			t.Fatal(err)
		}
		want := reference{l.shape, float64s(l.shape.first(l.config.Seed))}
		all, some := order(1, 1, rows), []int{0, l.shape.bias1(), l.shape.weight2(), l.shape.bias2(), r.IntN(len(got)), r.IntN(len(got))}
		chain := want.gradient(d, all)
		for j := range got {
			if !(math.Abs(float64(got[j])-chain[j]) <= 1e-5*(1+math.Abs(chain[j]))) {
				t.Fatalf("case %d, %+v: parameter %d has a gradient of %v, want %v", i, l.shape, j, got[j], chain[j])
			}
		}
		for at, difference := range want.differences(d, all, some) {
			if j := some[at]; !(math.Abs(float64(got[j])-difference) <= 1e-4*(1+math.Abs(difference))) {
				t.Errorf("case %d, %+v: parameter %d has a gradient of %v, by finite differences %v", i, l.shape, j, got[j], difference)
			}
		}
	}
}

func openHost(t *testing.T) (driver.Device, driver.Queue) {
	t.Helper()
	device := must(host.Driver{}.Open(t.Context(), 0, driver.Options{}))
	t.Cleanup(func() { _ = device.Close() })
	return device, must(device.NewQueue())
}

// TestDeterminism: the same seed gives the same network bit for bit, on one core and on three, with a graph and without; another one does not.
func TestDeterminism(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 1)), 200, 20, 4)
	c := Config{Hidden: 70, Batch: 30, Epochs: 2, Seed: 9, Standardize: true}
	_, want := curve(t, Fit, d, c)
	for name, fit := range trainers() {
		_, a := curve(t, fit, d, c)
		_, b := curve(t, fit, d, c)
		if !slices.Equal(a.params, b.params) {
			t.Errorf("%s: two networks of one seed", name)
		}
		if strings.HasPrefix(name, "fused") && !slices.Equal(a.params, want.params) {
			t.Errorf("%s: not the network of one core", name)
		}
	}
	c.Seed++
	if _, other := curve(t, Fit, d, c); slices.Equal(other.params, want.params) {
		t.Error("another seed gave the same network")
	}
}

// TestGraphIsUsed: a queue that keeps launches keeps those of a whole batch once, and runs them for all whole batches after the first.
func TestGraphIsUsed(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 1)), 100, 3, 2)
	r := &recorder{}
	if _, err := on(1, func(q driver.Queue) driver.Queue { r.Queue = q; return r })(t.Context(), d, Config{Hidden: 4, Batch: 30, Epochs: 3}); err != nil {
		t.Fatal(err)
	}
	if r.captured != 1 || r.launched != 3*3-1 {
		t.Errorf("kept %d times, launched %d times, want 1 and 8", r.captured, r.launched)
	}
}

// TestRefused: what cannot be learned from is named, by both ways of training.
func TestRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		change func(d *ml.Dataset, c *Config)
		says   string
	}{
		"no rows":         {func(d *ml.Dataset, _ *Config) { d.Values, d.Labels = nil, nil }, "no rows"},
		"no columns":      {func(d *ml.Dataset, _ *Config) { *d = ml.Dataset{Classes: d.Classes} }, "no rows"},
		"no labels":       {func(d *ml.Dataset, _ *Config) { d.Labels = nil }, "no labels"},
		"one class":       {func(d *ml.Dataset, _ *Config) { d.Classes = d.Classes[:1]; clear(d.Labels) }, "1 classes"},
		"label too large": {func(d *ml.Dataset, _ *Config) { d.Labels[3] = 2 }, "label 2 of row 3"},
		"label below 0":   {func(d *ml.Dataset, _ *Config) { d.Labels[0] = -1 }, "label -1 of row 0"},
		"too few labels":  {func(d *ml.Dataset, _ *Config) { d.Labels = d.Labels[1:] }, "labels for"},
		"NaN":             {func(d *ml.Dataset, _ *Config) { d.Values[4] = float32(math.NaN()) }, `"x1" of row 1 is NaN`},
		"infinite":        {func(d *ml.Dataset, _ *Config) { d.Values[0] = float32(math.Inf(-1)) }, "-Inf"},
		"ragged":          {func(d *ml.Dataset, _ *Config) { d.Values = d.Values[1:] }, "no whole number of rows"},
		"weights":         {func(d *ml.Dataset, _ *Config) { d.Weights = []float64{1, 2, 1, 1, 1, 1, 1, 1} }, "row 1 weighs 2"},
		"hidden":          {func(_ *ml.Dataset, c *Config) { c.Hidden = -1 }, "-1 hidden"},
		"batch":           {func(_ *ml.Dataset, c *Config) { c.Batch = -1 }, "batches of -1"},
		"epochs":          {func(_ *ml.Dataset, c *Config) { c.Epochs = -1 }, "-1 epochs"},
		"too many epochs": {func(_ *ml.Dataset, c *Config) { c.Epochs = 1 << 50 }, "between 1 and 1000000"},
		"two of one name": {func(d *ml.Dataset, _ *Config) { d.Features[1] = d.Features[0] }, "both named"},
		"beyond float32": {func(d *ml.Dataset, _ *Config) {
			d.Exact = make([]float64, len(d.Values))
			for i := range d.Exact {
				d.Exact[i] = 1.7e9 + float64(i)
				d.Values[i] = float32(d.Exact[i])
			}
		}, `"x0"`},
		"rate":            {func(_ *ml.Dataset, c *Config) { c.Adam.Rate = -1 }, "learning rate"},
		"rate of NaN":     {func(_ *ml.Dataset, c *Config) { c.Adam.Rate = float32(math.NaN()) }, "learning rate"},
		"beta":            {func(_ *ml.Dataset, c *Config) { c.Adam.Beta1 = 1 }, "betas of 1"},
		"epsilon":         {func(_ *ml.Dataset, c *Config) { c.Adam.Epsilon = -1 }, "epsilon"},
		"beyond a device": {func(_ *ml.Dataset, c *Config) { c.Hidden = math.MaxInt32 }, "more than a device counts"},
		"last step too far": {func(d *ml.Dataset, c *Config) {
			for i := range d.Values {
				d.Values[i] *= 1e30
			}
			c.Adam.Rate, c.Adam.Epsilon, c.Batch, c.Epochs = 3e38, 1e-38, 8, 1
		}, "lower learning rate"},
		"rate far too high": {func(_ *ml.Dataset, c *Config) { c.Adam.Rate, c.Epochs = 1e38, 50 }, "lower learning rate"},
	} {
		t.Run(name, func(t *testing.T) {
			d, config := table(r, 8, 3, 2), Config{Hidden: 3, Batch: 4}
			c.change(d, &config)
			for _, fit := range []trainer{Fit, FitGraph} {
				if n, err := fit(t.Context(), d, config); err == nil || !strings.Contains(err.Error(), c.says) || n != nil {
					t.Errorf("got %v, want an error that says %q", err, c.says)
				}
			}
		})
	}
}

// TestOneClassInTheRows: that all rows are of one class is no mistake.
func TestOneClassInTheRows(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 1)), 50, 3, 4)
	for i := range d.Labels {
		d.Labels[i] = 2
	}
	_, n := curve(t, Fit, d, Config{Epochs: 100, Hidden: 8, Adam: gpu.Adam{Rate: 0.02}})
	p := make([]float64, 4)
	if n.ProbaTo(p, d.Row(0)); !(p[2] > 0.9) {
		t.Errorf("got %v", p)
	}
}

// TestStandardize: columns of whatever unit and offset are learned from; one that never changes does no harm.
func TestStandardize(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 1)), 400, 3, 2)
	for i := 0; i < len(d.Values); i += 3 {
		d.Values[i], d.Values[i+1] = 1e6+1e4*d.Values[i], 1e-4*d.Values[i+1]
	}
	for i := 2; i < len(d.Values); i += 3 {
		d.Values[i] = 0.3 // of which the mean of 400 is not quite 0.3
	}
	c := Config{Epochs: 30, Hidden: 16, Standardize: true}
	row, other := d.Values[:3], []float32{d.Values[0], d.Values[1], 0.301}
	for name, fit := range trainers() {
		_, n := curve(t, fit, d, c)
		if !(n.Losses[29] < 0.5) {
			t.Errorf("%s: epochs have losses of %v", name, n.Losses)
		}
		var at, beside [2]float64
		n.ProbaTo(at[:], row)
		n.ProbaTo(beside[:], other)
		if math.Abs(at[0]-beside[0]) > 0.01 {
			t.Errorf("%s: a little off what the column always was: %v, at it %v", name, beside, at)
		}
	}
}

// TestCancel: a training ends between two batches, with the cause.
func TestCancel(t *testing.T) {
	d, stop := table(rand.New(rand.NewPCG(1, 1)), 1000, 3, 2), errors.New("stop")
	for name, fit := range trainers() {
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := 0
		n, err := fit(ctx, d, Config{Hidden: 4, Batch: 10, Epochs: 1000, Progress: func(epoch, batch int, _ float64) {
			if seen++; epoch == 2 && batch == 5 {
				cancel(stop)
			}
		}})
		if !errors.Is(err, stop) || n != nil {
			t.Errorf("%s: got %v", name, err)
		}
		if seen > 100+5+together {
			t.Errorf("%s: %d batches were reported, %d of them after the end", name, seen, seen-105)
		}
		cancel(nil)
	}
}

// TestProgress: each batch is reported once, in order.
func TestProgress(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 1)), 103, 3, 2)
	for name, fit := range trainers() {
		var got []int
		_, err := fit(t.Context(), d, Config{Hidden: 4, Batch: 3, Epochs: 2, Progress: func(epoch, batch int, _ float64) { got = append(got, 1000*epoch+batch) }})
		if err != nil {
			t.Fatal(err)
		}
		var want []int
		for epoch := 1; epoch <= 2; epoch++ {
			for batch := 1; batch <= 35; batch++ {
				want = append(want, 1000*epoch+batch)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// faulty is a device, and its queue, of which one call fails.
type faulty struct {
	driver.Device
	driver.Queue
	calls, fails int
	open         map[driver.Memory]bool
}

var errFault = errors.New("fault")

func (f *faulty) call() error {
	if f.calls++; f.calls == f.fails {
		return errFault
	}
	return nil
}

func (f *faulty) Alloc(t driver.Type, n int) (driver.Memory, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	m, err := f.Device.Alloc(t, n)
	f.open[m] = true
	return &counted{m, f}, err
}

func (f *faulty) CopyIn(dst driver.Memory, offset int, src any) error {
	return errors.Join(f.call(), f.Queue.CopyIn(dst.(*counted).Memory, offset, src))
}

func (f *faulty) CopyOut(dst any, src driver.Memory, offset int) error {
	return errors.Join(f.call(), f.Queue.CopyOut(dst, src.(*counted).Memory, offset))
}

func (f *faulty) Launch(l driver.Launch) error {
	l.Args = slices.Clone(l.Args)
	for i, a := range l.Args {
		if m, ok := a.Memory.(*counted); ok {
			l.Args[i].Memory = m.Memory
		}
	}
	return errors.Join(f.call(), f.Queue.Launch(l))
}

func (f *faulty) Wait(ctx context.Context) error { return errors.Join(f.call(), f.Queue.Wait(ctx)) }
func (f *faulty) Close() error                   { return f.Device.Close() }

type counted struct {
	driver.Memory
	of *faulty
}

func (c *counted) Free() error {
	delete(c.of.open, c.Memory)
	return c.Memory.Free()
}

// TestFaults: whichever call of a device fails, the training ends with its error, and all memory is given back.
func TestFaults(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 1)), 7, 3, 2)
	for fails := 1; ; fails++ {
		device, queue := openHost(t)
		f := &faulty{Device: device, Queue: queue, fails: fails, open: map[driver.Memory]bool{}}
		_, err := FitOn(t.Context(), f, f, d, Config{Hidden: 4, Batch: 4, Epochs: 2})
		if len(f.open) != 0 {
			t.Errorf("call %d fails: %d memories are left", fails, len(f.open))
		}
		if f.calls < fails {
			if err != nil || fails < 70 {
				t.Errorf("%d calls, and none failed: %v", f.calls, err)
			}
			return
		}
		if !errors.Is(err, errFault) {
			t.Errorf("call %d fails: got %v", fails, err)
		}
	}
}

// TestSession: a session runs the training, and tells where and why.
func TestSession(t *testing.T) {
	s := must(gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU}))
	defer s.Close()
	d := table(rand.New(rand.NewPCG(1, 1)), 100, 3, 2)
	c := Config{Hidden: 4, Epochs: 2}
	_, want := curve(t, Fit, d, c)
	c.Session = s
	_, got := curve(t, Fit, d, c)
	if !slices.Equal(got.params, want.params) {
		t.Error("not the network that Fit makes without a session")
	}
	all := s.Explain().Decisions
	if len(all) != 1 || all[0].Operation != "train a network" || all[0].Place != "CPU" || all[0].Reason != "the device is set to cpu" || all[0].Actual <= 0 {
		t.Errorf("got %+v", all)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Fit(t.Context(), d, c); !errors.Is(err, gpu.ErrClosed) {
		t.Errorf("a closed session: got %v", err)
	}
}
