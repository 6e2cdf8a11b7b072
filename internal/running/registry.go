package running

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"cancha/internal/cellio"
)

// keptEnded is how many things stay listed after their end: the newest.
const keptEnded = 100

// Registry is a list of things. The zero value is empty and ready. Its methods may be called from anywhere; it asks a thing nothing while it holds
// its lock.
type Registry struct {
	mu    sync.Mutex
	last  int64
	live  []*Entry // in the order of their start
	ended []*Entry // in the order of their end
	count map[Tally]int64
	read  int64 // bytes, by jobs that have ended
	page  Page
}

// Tally is a kind of things, and how they ended.
type Tally struct {
	Kind  Kind
	State State
}

// Process is the registry of this process, to which everything adds itself that a cell starts. A cell's text names no registry, as it names no
// writer when it prints; so, like the outlet of internal/cellio, there is one.
func Process() *Registry { return cellio.Resident(func() *Registry { return &Registry{} }) }

// State tells whether a thing runs, and if not, how it ended.
type State string

// The states, in the words of Spark's jobs.
const (
	Running   State = "RUNNING"
	Succeeded State = "SUCCEEDED"
	Failed    State = "FAILED"
)

// Entry is a thing in a registry.
type Entry struct {
	ID      int64
	Kind    Kind
	Name    string
	Started time.Time
	Cell    int64 // the execution that started it, by its serial number; 0 outside of cells

	registry *Registry
	origin   string   // the cell whose execution that was
	answers  sync.Map // *Question[T] → *answer[T]

	mu    sync.Mutex // guards what follows
	thing Thing
	state State
	ended time.Time
	err   error
}

// Add lists a thing until the entry is ended. It belongs to the cell that runs.
func (r *Registry) Add(t Thing) *Entry {
	e := &Entry{Kind: t.Kind(), Name: t.Name(), Started: time.Now(), registry: r, thing: t, state: Running}
	if run := cellio.CurrentRun(); run != nil {
		e.Cell, e.origin = run.Cell, run.Origin
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	e.ID = r.last
	r.live = append(r.live, e)
	return e
}

// End notes how the thing ended: err is nil if that was in order. The entry stays listed for a while, with what [Laster] gives in the thing's
// place. A second call, and one on nil, does nothing.
func (e *Entry) End(err error) {
	if e == nil {
		return
	}
	last := e.Thing()
	if l, ok := last.(Laster); ok {
		last = l.Last()
	}
	if !e.finish(last, err) {
		return
	}
	read := int64(0)
	if w, ok := last.(Worker); ok {
		read = w.Work().Read(e.Kind)
	}
	e.registry.retire(e, read)
}

func (e *Entry) finish(last Thing, err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != Running {
		return false
	}
	e.thing, e.ended, e.err, e.state = last, time.Now(), err, Succeeded
	if err != nil {
		e.state = Failed
	}
	return true
}

func (r *Registry) retire(e *Entry, read int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read += read
	r.live = slices.DeleteFunc(r.live, func(o *Entry) bool { return o == e })
	r.ended = append(r.ended, e)
	if n := len(r.ended) - keptEnded; n > 0 {
		r.ended = slices.Delete(r.ended, 0, n)
	}
	if r.count == nil {
		r.count = map[Tally]int64{}
	}
	r.count[Tally{e.Kind, e.State()}]++
}

// Thing is what is listed: after its end, what is left of it.
func (e *Entry) Thing() Thing {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.thing
}

// State tells whether the thing runs, and if not, how it ended.
func (e *Entry) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// Ended is when the thing ended, the zero time while it runs, and the error with which it did.
func (e *Entry) Ended() (time.Time, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended, e.err
}

// Outcome is State and Ended of one moment: asked one after the other, they may be of before and after the thing's end.
func (e *Entry) Outcome() (State, time.Time, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state, e.ended, e.err
}

// Elapsed is how long the thing has run, up to its end.
func (e *Entry) Elapsed() time.Duration {
	if ended, _ := e.Ended(); !ended.IsZero() {
		return ended.Sub(e.Started)
	}
	return time.Since(e.Started)
}

// List returns what runs and what has ended lately, in the order of their start.
func (r *Registry) List() []*Entry {
	r.mu.Lock()
	all := slices.Concat(r.live, r.ended)
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Live returns what runs, in the order of its start.
func (r *Registry) Live() []*Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.live)
}

// Find returns the entry of a number; nil where there is none, or none any more.
func (r *Registry) Find(id int64) *Entry {
	all := r.List()
	i := slices.IndexFunc(all, func(e *Entry) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Tallies counts what has ended since the process began, beyond what is still listed too.
func (r *Registry) Tallies() map[Tally]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[Tally]int64{}
	maps.Copy(counts, r.count)
	return counts
}

// Read is how many bytes have been read by the jobs that have ended since the process began.
func (r *Registry) Read() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// Page is where this process shows what runs.
type Page struct {
	URL     string // with its token, where one is needed
	Proxied string // the path and the token behind the address of a Jupyter server, where jupyter-server-proxy leads to the page
	Port    int
	Off     string // why there is none; empty: there is one
}

// Announce tells where the page is.
func (r *Registry) Announce(p Page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.page = p
}

// Page tells where the page is, or why there is none.
func (r *Registry) Page() Page {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.page == (Page{}) {
		return Page{Off: "this program has no page: an engine of a notebook has one"}
	}
	return r.page
}

// ErrCannot says that a thing cannot do what is asked of it, or not any more.
var ErrCannot = errors.New("cannot")

// Stop ends an entry's thing in order. One that has ended, and one that cannot be stopped, is ErrCannot.
func (e *Entry) Stop(ctx context.Context) error {
	s, ok := e.Thing().(Stopper)
	return e.ask(ok, "be stopped", func() error { return s.Stop(ctx) })
}

// Drain ends an entry's thing once it has read what there is; see Stop.
func (e *Entry) Drain(ctx context.Context) error {
	d, ok := e.Thing().(Drainer)
	return e.ask(ok, "be drained", func() error { return d.Drain(ctx) })
}

func (e *Entry) ask(can bool, what string, call func() error) error {
	switch {
	case e.State() != Running:
		return fmt.Errorf("%s %q has ended: it %w %s", e.Kind, e.Name, ErrCannot, what)
	case !can:
		return fmt.Errorf("a %s %w %s", e.Kind, ErrCannot, what)
	}
	return call()
}
