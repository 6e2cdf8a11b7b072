package widget

import (
	"fmt"
	"slices"

	"cancha/internal/cellio"
	"cancha/runtime/display"
)

// Output is a place for what is printed and displayed. Make one with NewOutput.
type Output struct {
	Control
	inside *inside
}

// inside are the messages whose output the widget takes, innermost last; guarded by the model's lock.
type inside struct{ messages []string }

// NewOutput returns an empty output.
func NewOutput() *Output {
	k := kind{"OutputModel", "OutputView", outputs, outputsVersion, outputs, outputsVersion}
	state := map[string]any{"msg_id": "", "outputs": []any{}}
	return &Output{newControl(k, "", state, drawOutput, func(m *model) {
		m.unechoed = "outputs" // a front end that has sent a picture need not get it back
		m.refine["outputs"] = func(_ map[string]any, v any) (any, bool) { list, ok := v.([]any); return list, ok }
	}), &inside{}}
}

// drawOutput shows the text of what the front end has told that the output holds.
func drawOutput(s map[string]any) picture {
	text := ""
	for _, o := range s["outputs"].([]any) {
		o, _ := o.(map[string]any)
		if t, ok := o["text"].(string); ok {
			text += t
		} else if data, _ := o["data"].(map[string]any); data["text/plain"] != nil {
			text += fmt.Sprint(data["text/plain"], "\n")
		}
	}
	if text == "" {
		return plainly("(no output)")
	}
	p := plainly(text)
	p.html = "<pre>" + p.html + "</pre>"
	return p
}

// With calls f and shows what it prints and displays in the output instead of below the cell. All that the cell, or the callback,
// prints meanwhile comes along, also that of its other goroutines: front ends tell outputs apart by the message that asked for them,
// and by nothing else. What programs print that f starts, and C code, may miss it. A callback's panic in f is shown in the output, a
// cell's below the cell. A callback that recovers from it outside of With prints into the output until the callback ends.
func (o *Output) With(f func()) {
	run := cellio.CurrentRun()
	if run == nil || run.Message == "" {
		f()
		return
	}
	o.direct(func(in []string) []string { return append(in, run.Message) }, true)
	returned := false
	defer func() {
		o.direct(func(in []string) []string { return withoutLast(in, run.Message) }, returned || !run.Aside)
		if !returned && run.Aside {
			cellio.AtEnd(func() { o.release(run) })
		}
	}()
	f()
	returned = true
}

// release tells the front end, at the end of a callback in which f of With has panicked, whose output is taken now. Where the panic
// has ended the callback it is told last, under the same message, and nothing comes after it: then the output goes on taking it.
func (o *Output) release(run *cellio.Run) {
	if !run.Failed {
		o.direct(func(in []string) []string { return in }, true)
	}
}

// withoutLast takes the last of several equal texts out: callbacks that run beside each other need not end in turn.
func withoutLast(texts []string, text string) []string {
	for i := len(texts) - 1; i >= 0; i-- {
		if texts[i] == text {
			return slices.Delete(texts, i, i+1)
		}
	}
	return texts
}

// direct changes whose output is taken and tells the front end, if it is to know. That is not held back: the order of messages is
// what counts.
func (o *Output) direct(change func(in []string) []string, tell bool) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.inside.messages = change(o.inside.messages)
	message := ""
	if n := len(o.inside.messages); n > 0 {
		message = o.inside.messages[n-1]
	}
	o.m.state["msg_id"] = message
	if tell {
		run := cellio.CurrentRun()
		o.m.dirty["msg_id"] = run
		o.m.send(run)
	}
}

// Clear removes what the output shows; with wait set only when the next output arrives, which avoids flicker.
func (o *Output) Clear(wait bool) { o.With(func() { display.Clear(wait) }) }
