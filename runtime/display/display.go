// Package display shows one value in several MIME types at once. It decides which types a value has and ends there: how
// a chart or a table is drawn is their own business, and how a display travels is the hall's.
//
// A value is asked in this order:
//
//  1. its own methods MIMEBundle() map[string]any and, optionally, MIMEMetadata() map[string]any;
//  2. the renderers that the program has attached to the hall (charts, matrices, tables);
//  3. what this package knows: images, errors, fmt.Stringer, bytes, and Go's own kinds as text.
//
// Every display has text/plain, none needs a script, and a method that panics is shown as such instead of ending the
// cell. Outside a cell (go run, go test) Show prints text/plain on standard output, so the same code runs there.
package display

import (
	"errors"
	"fmt"

	"cancha/internal/cellio"
)

// Show displays each value, one output below the other.
func Show(values ...any) {
	for _, v := range values {
		send(Of(v))
	}
}

// ShowAs displays v under an id of the caller's choice; [Update] with the same id replaces what is seen, in place.
// An id should be unique in the notebook.
func ShowAs(id string, v any) {
	d := Of(v)
	d.Transient.ID = id
	send(d)
}

// Update replaces what ShowAs displayed under id, whichever cell displayed it. An id that was never shown changes nothing.
// Outside a cell it prints v.
func Update(id string, v any) {
	d := Of(v)
	d.Transient.ID, d.Update = id, true
	send(d)
}

// Clear removes the cell's output; with wait set only when the next output arrives, which avoids flicker.
// Outside a cell it does nothing.
func Clear(wait bool) {
	if err := cellio.Emit(cellio.KindClear, cellio.Clear{Wait: wait}); err != nil && !errors.Is(err, cellio.ErrDetached) && !errors.Is(err, cellio.ErrInterrupted) {
		fmt.Fprintf(cellio.Stderr, "display: clear output: %v\n", err)
	}
}

// send emits d. What cannot be emitted (too large for a frame, say) is reported where the cell's author sees it.
func send(d cellio.Display) {
	err := cellio.Emit(cellio.KindDisplay, d)
	if errors.Is(err, cellio.ErrDetached) {
		fmt.Println(d.Data[mimeText])
		return
	}
	if err != nil && !errors.Is(err, cellio.ErrInterrupted) { // the cell ends, and says so
		fmt.Fprintf(cellio.Stderr, "display: %v\n", err)
	}
}
