package widget

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"cancha/internal/cellio"
	"cancha/runtime/live/comm"
)

// The protocol, and the modules of the front end that hold the models and views.
const (
	target          = "jupyter.widget"
	protocolVersion = "2.1.0"

	controls, controlsVersion = "@jupyter-widgets/controls", "2.0.0"
	base, baseVersion         = "@jupyter-widgets/base", "2.0.0"
	outputs, outputsVersion   = "@jupyter-widgets/output", "1.0.0"
)

// sendEvery is the shortest time between two updates of a widget that need not come at once: Jupyter Server drops what comes more
// often than 1,000 times a second, of all widgets together.
const sendEvery = 50 * time.Millisecond

// refiner makes a value of what has come from outside, already decoded from JSON; ok is false for what is none. It is called with
// the model's lock held and may read the state.
type refiner func(state map[string]any, v any) (value any, ok bool)

// model is what both sides know of a widget, or of a layout or style: its state, key by key. Values are what encoding/json makes
// JSON of; a reference to another model is a string.
type model struct {
	comm *comm.Comm
	kind kind

	// set before the model is opened
	refine   map[string]refiner        // keys that a front end may change
	unechoed string                    // the one of them that is not echoed
	custom   func(msg json.RawMessage) // takes messages that are no state
	parts    []*model                  // layout and style, which end with it

	mu        sync.Mutex
	state     map[string]any
	observers map[string]observer
	attached  bool                   // there is a front end
	dirty     map[string]*cellio.Run // keys that the front end is not yet told, and who has changed them last
	due       time.Time              // not before
	waiting   map[*cellio.Run]bool   // runs of which a goroutine will send what they have made dirty
}

// observer is told when what it looks at has become another.
type observer struct {
	of   func(state map[string]any) any
	tell func(old, new any)
}

// kind is the class of a model on the other side.
type kind struct {
	model, view         string
	module, version     string // of the model
	viewModule, viewVer string
}

// controlKind is a kind of module controls: its names are built from one.
func controlKind(name, view string) kind {
	return kind{name + "Model", view, controls, controlsVersion, controls, controlsVersion}
}

func styleKind(name string) kind {
	return kind{name + "Model", "StyleView", controls, controlsVersion, base, baseVersion}
}

func newModel(k kind, state map[string]any) *model {
	m := &model{
		comm: comm.New(target), kind: k, state: state,
		refine: map[string]refiner{}, observers: map[string]observer{},
		dirty: map[string]*cellio.Run{}, waiting: map[*cellio.Run]bool{},
	}
	maps.Copy(state, map[string]any{
		"_model_name": k.model, "_model_module": k.module, "_model_module_version": k.version,
		"_view_name": k.view, "_view_module": k.viewModule, "_view_module_version": k.viewVer,
		"_view_count": nil,
	})
	return m
}

// reference is how the state of another model names this one.
func (m *model) reference() string { return "IPY_MODEL_" + m.comm.ID() }

// open makes the model known to the front end, its parts first.
func (m *model) open() {
	for _, p := range m.parts {
		p.open()
	}
	m.comm.OnMessage(m.receive)
	m.comm.OnClose(func(comm.Message) { m.forget() })
	m.mu.Lock()
	defer m.mu.Unlock()
	data := map[string]any{"state": m.state, "buffer_paths": []any{}}
	err := m.comm.Open(data, map[string]any{"version": protocolVersion})
	if err == nil {
		m.attached = true
		residents().add(m)
		return
	}
	report(err)
}

// report says on the error output what keeps a widget from its front end; that there is none, or that the cell is interrupted, need
// not be said.
func report(err error) {
	for _, known := range []error{nil, comm.ErrDetached, comm.ErrClosed, cellio.ErrInterrupted} {
		if errors.Is(err, known) {
			return
		}
	}
	fmt.Fprintf(cellio.Stderr, "widget: %v\n", err)
}

// close takes the model and its parts from the front end.
func (m *model) close() {
	m.sendAll()
	if m.forget() {
		report(m.comm.Close())
	}
	for _, p := range m.parts {
		p.close()
	}
}

// forget ends the model's connection. It reports false if there is none.
func (m *model) forget() bool {
	residents().remove(m)
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.attached
	m.attached = false
	return was
}

// get returns the value of a key.
func (m *model) get(key string) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[key]
}

// set changes one key.
func (m *model) set(key string, value any) {
	m.change(func(map[string]any) map[string]any { return map[string]any{key: value} })
}

// change sets the keys that f returns for the state, tells the front end, and then who observes them. Keys that the model does not
// have are left out. f is called with the lock held.
func (m *model) change(f func(state map[string]any) map[string]any) {
	run := cellio.CurrentRun()
	m.mu.Lock()
	values := f(m.state)
	told := m.store(values)
	for key := range values {
		m.dirty[key] = run
	}
	if len(values) > 0 {
		m.schedule(run)
	}
	m.mu.Unlock()
	for _, tell := range told {
		tell()
	}
}

// store sets values and returns how to tell the observers of what is new, in the order of their names. Values that are as they
// were are taken out. The caller holds the lock.
func (m *model) store(values map[string]any) (told []func()) {
	before := m.observed()
	maps.DeleteFunc(values, func(key string, value any) bool {
		old, has := m.state[key]
		return !has || reflect.DeepEqual(old, value)
	})
	maps.Copy(m.state, values)
	after := m.observed()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if tell, old, new := m.observers[name].tell, before[name], after[name]; !reflect.DeepEqual(old, new) {
			told = append(told, func() { tell(old, new) })
		}
	}
	return told
}

// observed is what observers look at, by their names. The caller holds the lock.
func (m *model) observed() map[string]any {
	all := make(map[string]any, len(m.observers))
	for name, o := range m.observers {
		all[name] = o.of(m.state)
	}
	return all
}

// setAll changes several keys.
func (m *model) setAll(values map[string]any) {
	m.change(func(map[string]any) map[string]any { return values })
}

func (m *model) isAttached() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attached
}

// observe sets who is told of changes of a key; nil for nobody.
func (m *model) observe(key string, f func(old, new any)) {
	m.observeOf(key, func(state map[string]any) any { return state[key] }, f)
}

// observeOf sets who is told, under a name, of changes of what is made of the state; nil for nobody.
func (m *model) observeOf(name string, of func(state map[string]any) any, f func(old, new any)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f == nil {
		delete(m.observers, name)
		return
	}
	m.observers[name] = observer{of, f}
}

// schedule sends what a run has made dirty, now or as soon as it is time. The goroutine that waits is started by who has made the
// change, so it belongs to the same cell; a cell's end does not wait for it. What it then finds dirty of a later cell is not its
// own: that cell has a goroutine and an end too, while of the goroutine's own front ends may take no update any more. The caller
// holds the lock.
func (m *model) schedule(run *cellio.Run) {
	switch {
	case m.waiting[run] || !m.attached:
	case time.Until(m.due) <= 0:
		m.send(run)
	default:
		m.later(run)
	}
}

// later sends what a run has made dirty when it is time, and at its end if that comes first. The caller holds the lock.
func (m *model) later(run *cellio.Run) {
	m.waiting[run] = true
	cancel := cellio.AtEnd(func() { m.flush(run) })
	wait := time.Until(m.due)
	go func() {
		defer cancel()
		time.Sleep(wait)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, run)
		m.send(run)
	}()
}

// flush sends what a run has made dirty.
func (m *model) flush(run *cellio.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send(run)
}

// sendAll sends all that is dirty, whoever has changed it.
func (m *model) sendAll() {
	run := cellio.CurrentRun()
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.dirty {
		m.dirty[key] = run
	}
	m.send(run)
}

// send is flush for who holds the lock. What an interrupt keeps from leaving, where much waits to, is sent at the run's end, or soon
// after it.
func (m *model) send(run *cellio.Run) {
	if !m.attached {
		return
	}
	state := map[string]any{}
	for key, by := range m.dirty {
		if by == run {
			state[key] = m.state[key]
			delete(m.dirty, key)
		}
	}
	if len(state) == 0 {
		return
	}
	m.due = time.Now().Add(sendEvery)
	if err := m.tell("update", state); !errors.Is(err, cellio.ErrInterrupted) {
		return
	}
	for key := range state {
		m.dirty[key] = run
	}
	if !m.waiting[run] {
		m.later(run)
	}
}

// tell sends a part of the state, or all of it.
func (m *model) tell(method string, state map[string]any) error {
	err := m.comm.Send(map[string]any{"method": method, "state": state, "buffer_paths": []any{}}, nil)
	report(err)
	return err
}
