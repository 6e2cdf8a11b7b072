package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"cancha/jobs/local"
	"cancha/jobs/operation"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/rabbitmq"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
	"cancha/runtime/gpu"
)

// Config says whose jobs are opened. The zero value are those of the RabbitMQ that the environment names (Remote), and without one those of
// this user on this machine, with a worker for the CPU.
type Config struct {
	// Folder has the jobs of this machine, whatever the environment says; "": what Folder returns. The first process that opens it has the
	// scheduler, and a worker for the CPU; others use these.
	Folder string
	// Broker carries the jobs of several machines, whose scheduler and workers are elsewhere; Folder does not count then. Close leaves it open.
	Broker queue.Broker
	// Schedule makes this process the scheduler of Broker's jobs, which it keeps in Folder. It runs none.
	Schedule bool
	// NoWorkers has the process that has the scheduler run no jobs.
	NoWorkers bool
	// Session, where it has a GPU, is that of a worker for the GPU, beside the one for the CPU.
	Session *gpu.Session
	// Settings are the scheduler's.
	Settings scheduler.Settings
	// Grace is for how long a job that runs in this process may go on after its context has ended, by its timeout, its deadline or because
	// it was cancelled; then its attempt has ended all the same, and the slot in which the function goes on is lost until it returns. 0: 5
	// s.
	Grace time.Duration
	// Forget is for how long the broker keeps answers and results for a process that is away: one that has ended, or whose connection has
	// broken. 0: an hour. Who asks a question and ends leaves a queue behind for so long.
	Forget time.Duration
	Logger *slog.Logger // nil: silence
}

// Cluster is what was opened.
type Cluster struct {
	config  Config
	broker  queue.Broker
	answers *answers
	closers []func() error
	mu      sync.Mutex // held while workers begin and end
	workers []*worker.Worker
	named   map[string]*worker.Worker // those of Register
	lead    lead
	heir    bool // it waits for the end of another one
	maps    calls
}

// Open opens jobs. The context is for the call alone; Close ends what it has begun.
func Open(ctx context.Context, c Config) (*Cluster, error) {
	k := newCluster(c)
	err := k.open(ctx)
	if err == nil {
		k.answers, err = listen(ctx, k.broker, cmp.Or(k.config.Forget, time.Hour))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("jobs: open: %w", err), k.Close())
	}
	return k, nil
}

func newCluster(c Config) *Cluster {
	return &Cluster{config: c, named: map[string]*worker.Worker{}, lead: lead{taken: make(chan struct{})}}
}

func (k *Cluster) open(ctx context.Context) error {
	if elsewhere, err := k.visit(ctx); elsewhere || err != nil {
		return err
	}
	folder, err := k.folder()
	if err != nil {
		return err
	}
	if k.config.Schedule {
		return k.schedule(ctx, folder)
	}
	err = k.hold(ctx, folder)
	if errors.Is(err, local.ErrHeld) {
		k.lead.why = err
		return k.join(ctx, folder)
	}
	return err
}

// visit takes the broker that others share, if there is one, and tells whether the scheduler is elsewhere, too.
func (k *Cluster) visit(ctx context.Context) (elsewhere bool, err error) {
	k.broker = k.config.Broker
	switch {
	case k.broker != nil:
		return !k.config.Schedule, nil
	case k.config.Schedule:
		return false, errors.New("Schedule is for the jobs of a Broker, and there is none")
	case k.config.Folder != "":
		return false, nil
	}
	if k.broker, err = Remote(ctx, "", k.config.Logger); k.broker == nil || err != nil {
		return false, err
	}
	k.closers = append(k.closers, k.broker.Close)
	return true, nil
}

func (k *Cluster) folder() (string, error) {
	if k.config.Folder != "" {
		return k.config.Folder, nil
	}
	return Folder()
}

// joining is how long another process may take from having the folder to serving it.
const joining = 5 * time.Second

// join uses the jobs of a process that has the folder, and takes its place when that has gone, at once where it is just closing.
func (k *Cluster) join(ctx context.Context, folder string) error {
	limit, cancel := context.WithTimeout(ctx, joining)
	defer cancel()
	for {
		b, err := local.Dial(limit, local.Socket(folder), "")
		if err == nil {
			k.broker = b
			k.closers = append(k.closers, b.Close)
			k.standBy(func(heir *Cluster, ctx context.Context) error { return heir.hold(ctx, folder) })
			return nil
		}
		if held := k.hold(ctx, folder); !errors.Is(held, local.ErrHeld) {
			return held
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit.Done():
			return fmt.Errorf("another process has %s and does not serve it: %w", folder, err)
		}
	}
}

// hold makes this process the one that has the jobs of the machine. The error is local.ErrHeld where another one is.
func (k *Cluster) hold(ctx context.Context, folder string) error {
	b, err := local.Open(folder, local.Options{Logger: k.config.Logger})
	if err != nil {
		return err
	}
	k.broker = b
	k.closers = append(k.closers, b.Close)
	if err := k.begin(ctx, folder); err != nil {
		return err
	}
	s, err := local.Serve(b, local.Socket(folder), "")
	if err != nil {
		return err
	}
	k.closers = append(k.closers, s.Close)
	if k.config.NoWorkers {
		return nil
	}
	return k.compute(ctx)
}

// schedule makes this process the scheduler of the broker's jobs, or lets it wait until it can be.
func (k *Cluster) schedule(ctx context.Context, folder string) error {
	err := k.begin(ctx, folder)
	if errors.Is(err, store.ErrHeld) || errors.Is(err, scheduler.ErrLed) {
		k.lead.why = err
		if err := k.end(); err != nil { // the heir opens the store
			return err
		}
		k.standBy(func(heir *Cluster, ctx context.Context) error {
			heir.broker = k.broker
			return heir.begin(ctx, folder)
		})
		return nil
	}
	return err
}

// begin has a scheduler of the broker's jobs, which it keeps in a folder.
func (k *Cluster) begin(ctx context.Context, folder string) error {
	st, err := store.Open(filepath.Join(folder, "store"))
	if err != nil {
		return err
	}
	k.closers = append(k.closers, st.Close)
	s, err := k.start(ctx, st)
	if err != nil {
		return err
	}
	k.closers = append(k.closers, s.Close)
	k.lead.take(s)
	return nil
}

// start starts the scheduler. An heir waits while one of another folder leads, and has the store open meanwhile: to open it takes time
// where it has many jobs.
func (k *Cluster) start(ctx context.Context, st *store.Store) (*scheduler.Scheduler, error) {
	for {
		s, err := scheduler.Start(ctx, k.broker, st, k.config.Settings, k.config.Logger)
		if !k.heir || !errors.Is(err, scheduler.ErrLed) {
			return s, err
		}
		select {
		case <-time.After(standing):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Broker carries the jobs; it is the cluster's, which closes it.
func (k *Cluster) Broker() queue.Broker { return k.broker }

// The environment that says where jobs are. RABBITMQ_HOST is the contract's.
const (
	variableFolder = "CANCHA_JOBS"
	variableHost   = "RABBITMQ_HOST"
)

// Remote connects to the RabbitMQ that the environment names by RABBITMQ_HOST, and RABBITMQ_PORT, _USER, _PASS and _VHOST beside it, and
// waits for one that is not there yet as long as the context allows. It is nil, without an error, where RABBITMQ_HOST is empty. Name is
// what the server's page calls the connections; "": the name of the program. logger may be nil.
func Remote(ctx context.Context, name string, logger *slog.Logger) (queue.Broker, error) {
	if os.Getenv(variableHost) == "" {
		return nil, nil
	}
	c, err := rabbitmq.FromEnv()
	if err != nil {
		return nil, err
	}
	c.Name, c.Logger = name, logger
	b, err := rabbitmq.Dial(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s is %s: %w", variableHost, c.Host, err)
	}
	return b, nil
}

// Folder is where the jobs of this user on this machine are, unless something else is said: $CANCHA_JOBS, or else cancha/jobs in the user's
// cache folder.
func Folder() (string, error) {
	if folder := os.Getenv(variableFolder); folder != "" {
		return folder, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("jobs: give a folder: %w", err)
	}
	return filepath.Join(cache, "cancha", "jobs"), nil
}

// ShareOfMemory is how much of a machine's memory a worker's jobs on the CPU may ask for together.
const ShareOfMemory = 0.8

// compute starts a worker for the CPU, and one for the GPU where there is a session with one.
func (k *Cluster) compute(ctx context.Context) error {
	cpu, err := gpu.NewSession(ctx, gpu.Config{Device: gpu.CPU})
	if err != nil {
		return err
	}
	k.closers = append(k.closers, cpu.Close)
	about, _ := cpu.Devices()
	self := placement.Worker{Device: placement.CPU, Model: about.Name, Memory: ShareOfMemory * float64(about.Memory)}
	if err := k.work(ctx, self, operation.Funcs(cpu), false); err != nil {
		return err
	}
	if k.config.Session == nil {
		return nil
	}
	if _, device := k.config.Session.Devices(); device != nil {
		return k.work(ctx, placement.Worker{Device: placement.GPU, Model: device.Name, Memory: float64(device.Memory)},
			operation.Funcs(k.config.Session), false)
	}
	return nil
}

// work starts a worker of this process.
func (k *Cluster) work(ctx context.Context, self placement.Worker, funcs map[string]Func, own bool) error {
	host, _ := os.Hostname() // or a word by chance alone
	self.ID = fmt.Sprintf("%s-%s-%s", host, strings.ToLower(rand.Text()[:6]), self.Device)
	w, err := worker.Start(ctx, worker.Config{Broker: k.broker, Worker: self, Funcs: funcs, Own: own, Grace: k.config.Grace,
		Beat: k.config.Settings.Lease / 5, Logger: k.config.Logger})
	if err != nil {
		return err
	}
	if s := k.Scheduler(); s != nil { // or Workers, asked next, would not know it yet
		if err := s.Heard(ctx, w.ID()); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	k.workers = append(k.workers, w)
	return nil
}

// Register has jobs of a type run by a function of this process, so many at a time (0: one for each processor), until Close. A name that
// was registered here before, as when a cell is run again, has this function from now on, and all its slots: jobs that the other one runs come again.
//
// The function should return soon after its context has ended. One that does not is waited for as long as Config.Grace says; then the
// attempt has ended, and the slot is lost until the function returns: nothing but the end of the process stops it. A function that ends the
// process has used up an attempt each time, so that its job is dead after them.
func (k *Cluster) Register(ctx context.Context, name string, f Func, together int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers.over() {
		return fmt.Errorf("jobs: register %q: %w", name, ErrClosed)
	}
	if together <= 0 {
		together = runtime.GOMAXPROCS(0)
	}
	if err := k.unregister(name); err != nil {
		return fmt.Errorf("jobs: register %q: %w", name, err)
	}
	if err := k.work(ctx, placement.Worker{Device: placement.CPU, Slots: together}, map[string]Func{name: f}, true); err != nil {
		return fmt.Errorf("jobs: register %q: %w", name, err)
	}
	k.named[name] = k.workers[len(k.workers)-1]
	return nil
}

// worker is that of a name; nil: there is none.
func (k *Cluster) worker(name string) *worker.Worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.named[name]
}

// unregister ends the worker of a name, if there is one.
func (k *Cluster) unregister(name string) error {
	old := k.named[name]
	if old == nil {
		return nil
	}
	delete(k.named, name)
	k.workers = slices.DeleteFunc(k.workers, func(w *worker.Worker) bool { return w == old })
	return old.Close()
}

// Close ends what Open has begun in this process; who still waits for a job gets ErrClosed. Jobs that run here come again when the folder
// is opened next, or on other workers.
func (k *Cluster) Close() (err error) {
	if k.answers != nil {
		err = k.answers.close()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		err = errors.Join(err, w.Close())
	}
	k.workers = nil
	return errors.Join(err, k.end())
}

// end closes what was opened, the last one first.
func (k *Cluster) end() (err error) {
	for i := range k.closers {
		err = errors.Join(err, k.closers[len(k.closers)-1-i]())
	}
	k.closers = nil
	return err
}
