package cellio

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// OnComm sets who takes the comm frames that come from the kernel. Like the outlet there is one for the process.
func OnComm(take func(Frame)) { attached.comms.Store(&take) }

// TakeComm hands a comm frame from the kernel over and returns when its handler has. Call it in a run of the frame's cell. Where
// nobody knows of comms one that is opened is closed at once.
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

// Resident returns the process's one value of type T, which is made when it is first asked for. It is for what cells share by its
// nature, such as the open comms: front ends know them by name, whichever cell has made them.
func Resident[T any](make func() *T) *T {
	once, _ := attached.residents.LoadOrStore(reflect.TypeFor[T](), sync.OnceValue(make))
	return once.(func() *T)()
}
