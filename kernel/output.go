package kernel

import (
	"context"
	"encoding/json"
	"strconv"

	"cancha/internal/cellio"
)

// Output publishes a frame of a cell's output under the request that ran the cell; frames that are no output are ignored. It is the
// engine's sink and may be called from any goroutine; frames of one goroutine keep their order. It does not wait: callers ask
// [Kernel.Acquire] first, or bring little.
//
// If a cell prints more than 20 MB, the middle is not shown. A note says so, with the file in Config.Overflow that holds all of it. Such
// files can be read by the user only (mode 0600). They hold at most 1 GB each and 2 GB together, and are removed after a week, or when
// newer ones need the room. If there is no such file, or the disk is full, the note says that instead. The files are written synchronously:
// a disk that hangs holds up a cell that has printed more than 1 MB, and with it all that its engine sends.
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
		k.stream(c, s)
	case cellio.KindClear:
		var clear cellio.Clear
		if err := json.Unmarshal(f.Body, &clear); err != nil {
			return err
		}
		k.publish(c.parent, "clear_output", clear)
	case cellio.KindDisplay, cellio.KindUpdate, cellio.KindResult:
		return k.display(c, f)
	case cellio.KindInput:
		return k.input(f)
	case cellio.KindCommOpen, cellio.KindCommMsg, cellio.KindCommClose:
		return k.commOutput(c, f)
	}
	return nil
}

// stream publishes what a cell has printed, as far as it is to be shown.
func (k *Kernel) stream(c cellInfo, s cellio.Stream) {
	c.text.mu.Lock()
	defer c.text.mu.Unlock()
	show, say := c.text.add(s)
	if show != "" {
		k.publish(c.parent, "stream", cellio.Stream{Name: s.Name, Text: show})
	}
	if say != "" {
		k.publish(c.parent, "stream", cellio.Stream{Name: "stderr", Text: say})
	}
}

// endOutput publishes what was held back of a cell's output. What its goroutines print later is shown as it comes.
func (k *Kernel) endOutput(id int64) {
	c, ok := k.cells.of(id)
	if !ok {
		return
	}
	for _, s := range c.text.end() {
		k.publish(c.parent, "stream", s)
	}
}

// Acquire waits until front ends can take more output, and reserves room for as much of it as it returns; with Release it is the engine's
// gate. A subscriber that reads slowly is waited for here, and nowhere else.
func (k *Kernel) Acquire(ctx context.Context, want cellio.Credit) (cellio.Credit, error) {
	if c := k.channels.Load(); c != nil {
		if p, ok := c.IOPub.(patient); ok {
			if err := p.Wait(ctx); err != nil {
				return cellio.Credit{}, err
			}
		}
	}
	return k.limit.Acquire(ctx, want)
}

// Release gives back room that was reserved.
func (k *Kernel) Release(c cellio.Credit) { k.limit.Release(c) }

// patient is a Publisher that tells when its subscribers can take more.
type patient interface {
	Wait(ctx context.Context) error
}

// display publishes a display, an update of one, or a cell's value; a silent cell shows no value. A body is passed on as it is: see
// fields for why.
func (k *Kernel) display(c cellInfo, f cellio.Frame) error {
	b, err := fields(f.Body)
	if err != nil {
		return err
	}
	switch {
	case f.Kind == cellio.KindResult && c.silent:
	case f.Kind == cellio.KindResult:
		k.history.setOutput(f.Cell, b["data"])
		content := append(f.Body[:len(f.Body)-1:len(f.Body)-1], `,"execution_count":`...)
		content = append(strconv.AppendInt(content, int64(c.count), 10), '}')
		k.publish(c.parent, "execute_result", content, f.Buffers...)
	case f.Kind == cellio.KindUpdate:
		k.publish(c.parent, "update_display_data", f.Body, f.Buffers...)
	default:
		k.publish(c.parent, "display_data", f.Body, f.Buffers...)
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
