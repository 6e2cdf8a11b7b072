package widget

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"cancha/internal/cellio"
	"cancha/runtime/live/comm"
)

// controlTarget is opened by a front end that has come later, such as a page that was loaded again, to learn of all widgets.
const (
	controlTarget  = "jupyter.widget.control"
	controlVersion = "1."
)

// all knows the widgets of the process.
type all struct {
	mu     sync.Mutex
	models map[string]*model
}

func residents() *all {
	return cellio.Resident(func() *all {
		a := &all{models: map[string]*model{}}
		comm.RegisterTarget(controlTarget, a.opened)
		return a
	})
}

func (a *all) add(m *model) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.models[m.comm.ID()] = m
}

func (a *all) remove(m *model) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.models, m.comm.ID())
}

// list returns the models in the order of their ids.
func (a *all) list() []*model {
	a.mu.Lock()
	defer a.mu.Unlock()
	models := make([]*model, 0, len(a.models))
	for _, id := range slices.Sorted(maps.Keys(a.models)) {
		models = append(models, a.models[id])
	}
	return models
}

// opened takes a control comm. One of another version of its protocol is closed.
func (a *all) opened(c *comm.Comm, open comm.Message) {
	var metadata struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(open.Metadata, &metadata) != nil || !strings.HasPrefix(metadata.Version, controlVersion) {
		report(c.Close())
		return
	}
	c.OnMessage(func(msg comm.Message) {
		var r received
		if json.Unmarshal(msg.Data, &r) == nil && r.Method == "request_states" {
			report(c.Send(a.states(), nil))
		}
	})
}

// states is the answer to request_states.
func (a *all) states() map[string]any {
	states := map[string]any{}
	for _, m := range a.list() {
		m.mu.Lock()
		states[m.comm.ID()] = map[string]any{
			"model_name": m.kind.model, "model_module": m.kind.module, "model_module_version": m.kind.version,
			"state": maps.Clone(m.state),
		}
		m.mu.Unlock()
	}
	return map[string]any{"method": "update_states", "states": states, "buffer_paths": []any{}}
}
