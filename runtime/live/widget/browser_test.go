package widget

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cancha/internal/cellio"
)

// browser is a front end as ipywidgets' is: it keeps the models that it is told of, and sends what a user does.
type browser struct {
	t *testing.T

	mu     sync.Mutex
	models map[string]map[string]any
	said   []string // messages other than opens: method and state, and output
	of     int64    // whose the last of them was
	cell   int64

	outlet *cellio.Outlet
}

// meant is what callbacks panic with where a test wants that.
const meant = "meant"

func open(t *testing.T) *browser {
	b := &browser{t: t, models: map[string]map[string]any{}, cell: 100}
	b.outlet = cellio.NewOutlet(b.take)
	cellio.Attach(b.outlet)
	cellio.NewRun(1).Message = "cell"
	t.Cleanup(func() {
		for _, m := range residents().list() { // what they hold back is nothing to the next test
			m.close()
		}
		b.outlet.Close()
		cellio.Attach(nil)
	})
	return b
}

// take follows a frame of the engine.
func (b *browser) take(f cellio.Frame) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var c cellio.Comm
	if err := json.Unmarshal(f.Body, &c); err != nil {
		b.t.Errorf("frame %s: %v", f.Kind, err)
	}
	var data struct {
		Method string
		State  map[string]any
		States map[string]any
	}
	_ = json.Unmarshal(c.Data, &data)
	b.of = f.Cell
	switch f.Kind {
	case cellio.KindCommOpen:
		if c.Target != "jupyter.widget" || string(c.Metadata) != `{"version":"2.1.0"}` {
			b.t.Errorf("opened %s with %s", c.Target, c.Metadata)
		}
		b.models[c.ID] = data.State
	case cellio.KindCommClose:
		delete(b.models, c.ID)
	case cellio.KindCommMsg:
		for key, v := range data.State {
			if b.models[c.ID] != nil {
				b.models[c.ID][key] = v
			}
		}
		text, _ := json.Marshal(data.State)
		b.said = append(b.said, fmt.Sprintf("%s %s", data.Method, text))
		if data.States != nil {
			b.said[len(b.said)-1] = fmt.Sprintf("%s %d", data.Method, len(data.States))
		}
	default:
		b.said = append(b.said, fmt.Sprintf("%s %s", f.Kind, f.Body))
	}
	return nil
}

// heard returns what has come since the last call.
func (b *browser) heard() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := strings.Join(b.said, "\n")
	b.said = nil
	return said
}

func (b *browser) model(w Widget) map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.models[w.ID()]
}

// send delivers a message of a user, and ends its run.
func (b *browser) send(w Widget, data string, buffers ...[]byte) {
	b.sendTo(cellio.KindCommMsg, cellio.Comm{ID: w.ID(), Data: json.RawMessage(data)}, buffers...)
}

func (b *browser) sendTo(kind cellio.Kind, c cellio.Comm, buffers ...[]byte) {
	b.t.Helper()
	body, err := json.Marshal(c)
	if err != nil {
		b.t.Fatal(err)
	}
	b.cell++
	run := cellio.NewAside(b.cell)
	run.Message = "moved"
	func() {
		defer func() { // as an engine does
			p := recover()
			run.Failed = p != nil
			if p != nil && p != meant {
				panic(p)
			}
		}()
		run.Do(func() { err = cellio.TakeComm(cellio.Frame{Kind: kind, Cell: b.cell, Body: body, Buffers: buffers}) })
	}()
	run.End()
	if err != nil {
		b.t.Error(err)
	}
}

func update(state string) string {
	return `{"method":"update","state":` + state + `,"buffer_paths":[]}`
}
