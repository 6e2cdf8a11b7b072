package widget

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"cancha/internal/cellio"
	"cancha/runtime/live/comm"
)

// received is the data of a message from the front end.
type received struct {
	Method  string                     `json:"method"`
	State   map[string]json.RawMessage `json:"state"`
	Paths   [][]any                    `json:"buffer_paths"`
	Content json.RawMessage            `json:"content"`
}

// receive handles a message from the front end.
func (m *model) receive(msg comm.Message) {
	var r received
	if json.Unmarshal(msg.Data, &r) != nil {
		return // of no protocol that we know
	}
	switch r.Method {
	case "update":
		m.update(r, msg.Buffers)
	case "request_state":
		m.mu.Lock()
		defer m.mu.Unlock()
		_ = m.tell("update", m.state) // it has reported what went wrong
	case "custom":
		if m.custom != nil {
			m.custom(r.Content)
		}
	}
}

// update takes over what a front end has changed. All front ends are told what has come, unless that is turned off, and then
// what we have made of it where that is something else.
func (m *model) update(r received, buffers [][]byte) {
	values, run := r.values(buffers), cellio.CurrentRun()
	m.mu.Lock()
	if echoes() {
		m.echo(r, buffers)
	}
	wanted := map[string]any{}
	for key, v := range values {
		if !m.has(key) {
			continue
		}
		value, ok := m.refined(key, v)
		if ok {
			wanted[key] = value
		}
		if ok && sameJSON(value, v) {
			delete(m.dirty, key)
		} else {
			m.dirty[key] = run
		}
	}
	told := m.store(wanted)
	m.send(run)
	m.mu.Unlock()
	for _, tell := range told {
		tell()
	}
}

// refined is what a key becomes when a front end sets it to v. The caller holds the lock.
func (m *model) refined(key string, v any) (value any, ok bool) {
	refine := m.refine[key]
	if refine == nil {
		return nil, false
	}
	return refine(m.state, v)
}

// echo tells all front ends what one of them has sent. The caller holds the lock.
func (m *model) echo(r received, buffers [][]byte) {
	state := map[string]json.RawMessage{}
	for key, raw := range r.State {
		if m.has(key) && key != m.unechoed {
			state[key] = raw
		}
	}
	paths, sent := [][]any{}, [][]byte{}
	for i, path := range r.Paths {
		if key, ok := first(path); ok && i < len(buffers) && m.has(key) && key != m.unechoed {
			paths, sent = append(paths, path), append(sent, buffers[i])
		}
	}
	if len(state) == 0 && len(paths) == 0 {
		return
	}
	report(m.comm.Send(map[string]any{"method": "echo_update", "state": state, "buffer_paths": paths}, nil, sent...))
}

func (m *model) has(key string) bool {
	_, ok := m.state[key]
	return ok
}

func first(path []any) (key string, ok bool) {
	if len(path) == 0 {
		return "", false
	}
	key, ok = path[0].(string)
	return key, ok
}

// values decodes the state, with the buffers in their places. A buffer whose path leads nowhere is left out.
func (r *received) values(buffers [][]byte) map[string]any {
	values := map[string]any{}
	for key, raw := range r.State {
		var v any
		_ = json.Unmarshal(raw, &v) // it is a part of what has been decoded
		values[key] = v
	}
	for i, path := range r.Paths {
		if i < len(buffers) {
			place(values, path, buffers[i])
		}
	}
	return values
}

// place puts a buffer where its path leads: keys of objects, at the end a new one, and indices of lists.
func place(in any, path []any, buffer []byte) {
	if len(path) == 0 {
		return
	}
	var next any
	switch c := in.(type) {
	case map[string]any:
		key, ok := path[0].(string)
		if ok && len(path) == 1 {
			c[key] = buffer
		}
		next = c[key]
	case []any:
		at, ok := path[0].(float64)
		if !ok || at != math.Trunc(at) || at < 0 || at >= float64(len(c)) {
			return
		}
		if len(path) == 1 {
			c[int(at)] = buffer
		}
		next = c[int(at)]
	}
	place(next, path[1:], buffer)
}

// sameJSON tells whether a value is what has been decoded from JSON.
func sameJSON(value, decoded any) bool {
	if reflect.DeepEqual(value, decoded) {
		return true
	}
	a, err := json.Marshal(value)
	b, other := json.Marshal(decoded)
	return err == nil && other == nil && string(a) == string(b)
}

// echoVariable turns off, with "0", "no", "n", "false" or "off", that front ends are told what one of them has sent. The name and the
// words are those of ipywidgets.
const echoVariable = "JUPYTER_WIDGETS_ECHO"

func echoes() bool {
	text, set := os.LookupEnv(echoVariable)
	return !set || !slices.Contains([]string{"no", "n", "false", "off", "0", "0.0"}, strings.ToLower(text))
}
