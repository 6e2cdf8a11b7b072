package eval

import (
	"fmt"
	"strings"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/primitive"
)

// display is how the values of a last expression are shown; ok is false for nil, which is not.
func (p *Program) display(values []any, last check.Last) (d cellio.Display, ok bool) {
	if !last.List {
		values = withoutError(values)
	}
	if len(values) > 1 {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = p.typed(v, p.machine.Text(v))
		}
		text := "(" + strings.Join(texts, ", ") + ")"
		return cellio.Display{Data: map[string]any{"text/plain": text}, Metadata: map[string]any{}}, true
	}
	v := values[0]
	if v == nil {
		return d, false
	}
	shown, text, own := p.machine.Present(v)
	d = p.render(shown)
	if own && onlyText(d) && primitive.IsTextOf(shown) {
		d.Data["text/plain"] = text
	}
	if text, ok := d.Data["text/plain"].(string); ok {
		d.Data["text/plain"] = p.typed(v, p.machine.Named(text, v))
	}
	return d, true
}

// typed puts the name of a value's type in front of its text where that has been declared anew since: P (cell 3) {X:1}.
func (p *Program) typed(v any, text string) string {
	if name, old := p.machine.OldName(v); old {
		return name + " " + text
	}
	return text
}

// withoutError is what a user wants to see of a call's results: of a value and an error the error if there is one, else
// the value.
func withoutError(values []any) []any {
	if len(values) < 2 {
		return values
	}
	switch err := values[len(values)-1].(type) {
	case nil:
		return values[:len(values)-1]
	case error:
		return []any{err}
	}
	return values
}

func onlyText(d cellio.Display) bool {
	_, ok := d.Data["text/plain"]
	return ok && len(d.Data) == 1
}

// userExpressions evaluates the expressions that came with a request, each as a cell of its own that shows nothing.
func (p *Program) userExpressions(t *task) map[string]map[string]any {
	if len(t.request.UserExpressions) == 0 {
		return nil
	}
	out := map[string]map[string]any{}
	for key, code := range t.request.UserExpressions {
		out[key] = p.userExpression(key, code, t)
	}
	return out
}

func (p *Program) userExpression(key, code string, t *task) map[string]any {
	name := fmt.Sprintf("expression %s", key)
	unit, run, err := p.compile(name, code, t)
	if err != nil {
		return errorReply(compileError(err))
	}
	d := cellio.Display{Data: map[string]any{}, Metadata: map[string]any{}}
	if fault := p.execute(text{t, name, code, unit.Body.Line, unit.Statements}, func() {
		run()
		if values := p.judge(name, unit.Last, p.machine.Shown(t.request.Cell)); unit.Shows && len(values) > 0 && !unit.Last.Quiet {
			var ok bool
			if d, ok = p.display(values, unit.Last); !ok {
				d = cellio.Display{Data: map[string]any{"text/plain": "<nil>"}, Metadata: map[string]any{}}
			}
		}
	}); fault != nil {
		return errorReply(fault)
	}
	if text, ok := d.Data["text/plain"].(string); ok {
		d.Data["text/plain"] = cellio.Plain(text)
	}
	return map[string]any{"status": "ok", "data": d.Data, "metadata": d.Metadata}
}

func errorReply(e *cell.Error) map[string]any {
	traceback := make([]string, len(e.Traceback))
	for i, line := range e.Traceback {
		traceback[i] = cellio.Plain(line)
	}
	return map[string]any{"status": "error", "ename": cellio.Plain(e.Name), "evalue": cellio.Plain(e.Value), "traceback": traceback}
}
