package kernel

import (
	"encoding/json"
	"strings"
	"testing"

	"cancha/internal/cellio"
	"cancha/kernel/wire"
)

type nowhere struct{}

func (nowhere) Publish([][]byte) error { return nil }

// BenchmarkLargeDisplay passes a display of 20 MB from the engine's frame to signed frames.
func BenchmarkLargeDisplay(b *testing.B) {
	session, err := wire.NewSession("key", "", "kernel")
	if err != nil {
		b.Fatal(err)
	}
	k := &Kernel{session: session, cells: newCellMemory(), history: newHistory(nil), limit: newLimiter()}
	k.channels.Store(&Channels{IOPub: nowhere{}})
	id := k.cells.begin(cellInfo{parent: json.RawMessage(`{"msg_id":"1"}`)})
	body, err := json.Marshal(cellio.Display{Data: map[string]any{"image/png": strings.Repeat("A", 20<<20), "text/plain": "x"}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		k.Output(cellio.Frame{Kind: cellio.KindDisplay, Cell: id, Body: body})
	}
}
