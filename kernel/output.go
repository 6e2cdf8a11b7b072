package kernel

import (
	"encoding/json"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// displayBody is a cellio.Display whose bundles stay as they are: a picture of 20 MB is not decoded on its way through.
type displayBody struct {
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
	ID       string          `json:"display_id"`
	Update   bool            `json:"update"`
}

type displayData struct {
	Data      json.RawMessage `json:"data"`
	Metadata  json.RawMessage `json:"metadata"`
	Transient transient       `json:"transient"`
}

type transient struct {
	ID string `json:"display_id,omitempty"`
}

type executeResult struct {
	displayData
	Count int `json:"execution_count"`
}

// Output publishes a frame of a cell's output under the request that ran the cell; frames that are no output are ignored.
// It is the engine's sink and may be called from any goroutine; frames of one goroutine keep their order.
func (k *Kernel) Output(f cellio.Frame) {
	c, ok := k.cells.of(f.Cell)
	if !ok {
		k.log.Warn("output before the first cell", "kind", f.Kind)
		return
	}
	if err := k.output(c, f); err != nil {
		k.log.Error("output that cannot be read", "kind", f.Kind, "cell", f.Cell, "error", err)
	}
}

func (k *Kernel) output(c cellInfo, f cellio.Frame) error {
	switch f.Kind {
	case cellio.KindStream:
		var s cellio.Stream
		if err := json.Unmarshal(f.Body, &s); err != nil {
			return err
		}
		k.publish(c.parent, "stream", s)
	case cellio.KindClear:
		var clear cellio.Clear
		if err := json.Unmarshal(f.Body, &clear); err != nil {
			return err
		}
		k.publish(c.parent, "clear_output", clear)
	case cellio.KindError:
		var e cell.Error
		if err := json.Unmarshal(f.Body, &e); err != nil {
			return err
		}
		k.showError(c, f.Cell, &e)
	case cellio.KindDisplay, cellio.KindResult:
		return k.display(c, f)
	}
	return nil
}

func (k *Kernel) showError(c cellInfo, id int64, e *cell.Error) {
	if e.Traceback == nil {
		e.Traceback = []string{e.Error()}
	}
	if k.cells.showError(id, e) {
		k.publish(c.parent, "error", e)
	}
}

// display publishes a display, an update of one, or a cell's value; a silent cell shows no value.
func (k *Kernel) display(c cellInfo, f cellio.Frame) error {
	var b displayBody
	if err := json.Unmarshal(f.Body, &b); err != nil {
		return err
	}
	d := displayData{Data: object(b.Data), Metadata: object(b.Metadata), Transient: transient{b.ID}}
	switch {
	case f.Kind == cellio.KindResult && c.silent:
	case f.Kind == cellio.KindResult:
		k.history.setOutput(f.Cell, d.Data)
		k.publish(c.parent, "execute_result", executeResult{d, c.count}, f.Buffers...)
	case b.Update:
		k.publish(c.parent, "update_display_data", d, f.Buffers...)
	default:
		k.publish(c.parent, "display_data", d, f.Buffers...)
	}
	return nil
}

// object returns raw, or an empty object where there is none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
