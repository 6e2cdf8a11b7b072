package kernel

import (
	"encoding/json"
	"strconv"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

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
	case cellio.KindInput:
		return k.input(f)
	case cellio.KindCommOpen, cellio.KindCommMsg, cellio.KindCommClose:
		return k.commOutput(c, f)
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
	b, err := fields(f.Body)
	if err != nil {
		return err
	}
	data := object(b["data"])
	content := displayContent(data, object(b["metadata"]), b["display_id"])
	switch {
	case f.Kind == cellio.KindResult && c.silent:
	case f.Kind == cellio.KindResult:
		k.history.setOutput(f.Cell, data)
		content = append(content[:len(content)-1], `,"execution_count":`...)
		content = append(strconv.AppendInt(content, int64(c.count), 10), '}')
		k.publish(c.parent, "execute_result", content, f.Buffers...)
	case string(b["update"]) == "true":
		k.publish(c.parent, "update_display_data", content, f.Buffers...)
	default:
		k.publish(c.parent, "display_data", content, f.Buffers...)
	}
	return nil
}

// displayContent puts a display's parts together as they are: see fields for why.
func displayContent(data, metadata, id json.RawMessage) json.RawMessage {
	content := make([]byte, 0, len(data)+len(metadata)+len(id)+128)
	content = append(append(content, `{"data":`...), data...)
	content = append(append(content, `,"metadata":`...), metadata...)
	content = append(content, `,"transient":{`...)
	if len(id) > 0 && string(id) != `""` {
		content = append(append(content, `"display_id":`...), id...)
	}
	return append(content, `}}`...)
}

// object returns raw, or an empty object where there is none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
