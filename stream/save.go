package stream

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"cancha/stream/internal/changelog"
)

// Keeper is a RecordHandler whose state a checkpoint can hold: entries, each under a key of its own.
type Keeper interface {
	RecordHandler
	// Changes tells what has changed since the call before. The first call comes before the first record, if there is a checkpoint; all are between
	// batches.
	Changes(changed, removed func(key string))
	// Save appends the entry of a key, as it is now; of a key that has not been removed it may be asked at any time between batches.
	Save(dst []byte, key string) []byte
	// Load takes over an entry that Save has written, in the order in which keys were made, before the first record.
	Load(key string, saved []byte) error
}

// handlerState is the state of a RecordHandler as snapshots have it.
type handlerState struct {
	name   string // of its process
	keeper Keeper
	log    *changelog.Log
	known  map[string]*changelog.Entry
	fault  error // the first panic of the handler: a snapshot would lack what it was asked for
}

// ask calls a method of the handler. A panic in it ends the query, by the epoch that finds the fault, not the program.
func (h *handlerState) ask(method string, call func()) {
	if err := contained("process "+h.name+": "+method, func() error { call(); return nil }); err != nil && h.fault == nil {
		h.fault = fmt.Errorf("process %s: %s: %w", h.name, method, err)
	}
}

// handlerItem is an entry of a handler.
type handlerItem struct {
	of  *handlerState
	key string
}

// Append implements changelog.Item.
func (i handlerItem) Append(dst []byte) []byte {
	saved := dst
	i.of.ask("Save", func() { saved = i.of.keeper.Save(changelog.AppendText(dst, i.key), i.key) })
	return saved
}

// Keep implements flow.Kept.
func (h *handlerState) Keep() {
	h.log, h.known = changelog.New(), map[string]*changelog.Entry{}
	h.Log() // from now on the handler notes what changes
}

// Log implements flow.Kept.
func (h *handlerState) Log() *changelog.Log {
	h.ask("Changes", func() { h.keeper.Changes(h.changed, h.removed) })
	return h.log
}

func (h *handlerState) changed(key string) {
	if e := h.known[key]; e != nil {
		h.log.Touch(e)
		return
	}
	h.known[key] = h.log.Add(handlerItem{h, key})
}

func (h *handlerState) removed(key string) {
	h.log.Remove(h.known[key])
	delete(h.known, key)
}

// Head implements flow.Kept.
func (h *handlerState) Head(dst []byte) []byte { return dst }

// Load implements flow.Kept.
func (h *handlerState) Load(head []byte, items []changelog.Saved) error {
	if len(head) > 0 {
		return errState
	}
	for _, item := range items {
		b := changelog.BytesOf(item.Bytes)
		key := b.Text()
		var err error
		h.ask("Load", func() { err = h.keeper.Load(key, b.Rest()) })
		if err = cmp.Or(h.fault, err); err != nil {
			return err
		}
		h.known[key] = h.log.Restore(item, handlerItem{h, key})
	}
	h.log.Restored()
	return nil
}

// kept refuses a keyed process whose state no checkpoint can hold.
func (p *Processing) kept() error {
	state := p.State()
	if isMarshaler(state) {
		return nil
	}
	if why := unsavable(reflect.TypeOf(state), nil); why != "" {
		return fmt.Errorf("checkpoint: the state of the process %q, a %T, cannot be saved: %s; export its fields, or give it the methods MarshalBinary and UnmarshalBinary",
			p.Name, state, why)
	}
	return nil
}

func isMarshaler(state any) bool {
	_, writes := state.(encoding.BinaryMarshaler)
	_, reads := state.(encoding.BinaryUnmarshaler)
	return writes && reads
}

// unsavable tells why encoding/json would lose a part of a value; "" if it does not. inside are the types that it lies in.
func unsavable(t reflect.Type, inside []reflect.Type) string {
	for _, o := range inside {
		if o == t {
			return ""
		}
	}
	inside = append(inside, t)
	switch {
	case t == nil:
		return "it is nil"
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return unsavable(t.Elem(), inside)
	case reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() || f.Tag.Get("json") == "-" {
				return "the field " + f.Name + " of " + t.String() + " is not exported"
			}
			if why := unsavable(f.Type, inside); why != "" {
				return why
			}
		}
		return ""
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return "it holds a " + t.String()
	}
	return ""
}

// saveState writes the state of a key.
func saveState(state any) ([]byte, error) {
	if m, ok := state.(encoding.BinaryMarshaler); ok && isMarshaler(state) {
		return m.MarshalBinary()
	}
	return json.Marshal(state)
}

// loadState reads a state that saveState has written. One that is JSON takes nothing of what State puts into a new one: what the rows have taken out since
// would be there again.
func loadState(state any, saved []byte) (any, error) {
	if m, ok := state.(encoding.BinaryUnmarshaler); ok && isMarshaler(state) {
		return state, m.UnmarshalBinary(saved)
	}
	v := reflect.New(reflect.TypeOf(state))
	if _, own := state.(json.Unmarshaler); own {
		v.Elem().Set(reflect.ValueOf(state))
	}
	err := json.Unmarshal(saved, v.Interface())
	return v.Elem().Interface(), err
}
