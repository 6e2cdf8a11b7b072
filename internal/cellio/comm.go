package cellio

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// OnComm sets the function that takes the comm frames from the kernel. Like the outlet, there is one for the whole process.
func OnComm(take func(Frame)) { attached.comms.Store(&take) }

// TakeComm hands over a comm frame from the kernel and returns when its handler has returned. Call it in a run of the frame's cell. If
// nothing in the process knows of comms, a comm that is opened is closed at once.
func TakeComm(f Frame) error {
	if take := attached.comms.Load(); take != nil {
		(*take)(f)
		return nil
	}
	if f.Kind != KindCommOpen {
		return nil
	}
	var c Comm
	if err := json.Unmarshal(f.Body, &c); err != nil {
		return fmt.Errorf("read %s: %w", f.Kind, err)
	}
	return Emit(KindCommClose, Comm{ID: c.ID})
}

// Resident returns the process's only value of type T, and makes it at the first call. It is for what all cells share by nature, such as
// the open comms, which front ends know by name, whichever cell has opened them.
func Resident[T any](make func() *T) *T {
	once, _ := attached.residents.LoadOrStore(reflect.TypeFor[T](), sync.OnceValue(make))
	return once.(func() *T)()
}
