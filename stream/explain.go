package stream

import (
	"fmt"
	"html"
	"strings"

	"cancha/stream/plan"
)

// Explanation is a query as Explain shows it: a tree as text, and as a figure in a notebook.
type Explanation struct {
	plan  *plan.Plan
	reads []string // what is read of each record, a line for each source
	wrong error    // why the query cannot start
}

// Explain shows the query as a tree, its source at the bottom, with what is read of each record, or says why it cannot start.
func (q *Query) Explain() Explanation {
	e := Explanation{plan: q.Plan()}
	g, err := q.build()
	if err != nil {
		e.wrong = err
		return e
	}
	for _, in := range g.inputs {
		if n, err := in.lane(0, nil); err == nil {
			e.reads = append(e.reads, fmt.Sprintf("of each record of %s: %s", describeSource(in.query.source), n.reads()))
		}
	}
	return e
}

// reads lists the paths that a lane decodes, and what is taken of a record beside its value.
func (n *lane) reads() string {
	var parts []string
	for _, s := range n.slots {
		parts = append(parts, fmt.Sprintf("%s (%s)", s.Path, s.Want))
	}
	for _, m := range n.meta {
		parts = append(parts, "@"+m.Name)
	}
	if len(parts) == 0 {
		return "nothing but its time"
	}
	return strings.Join(parts, ", ")
}

// String is the tree as text.
func (e Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.plan.String())
	if e.wrong != nil {
		b.WriteString("It cannot start: " + e.wrong.Error() + "\n")
	}
	for _, line := range e.reads {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// MIMEBundle shows the tree as boxes, one above what it takes its rows from.
func (e Explanation) MIMEBundle() map[string]any {
	var b strings.Builder
	b.WriteString(`<div style="display:inline-block;font-size:90%;line-height:1.4">`)
	boxes(&b, e.plan)
	note := "margin-top:6px"
	if e.wrong != nil {
		fmt.Fprintf(&b, `<div style="%s"><b>It cannot start:</b> %s</div>`, note, html.EscapeString(e.wrong.Error()))
	}
	for _, line := range e.reads {
		fmt.Fprintf(&b, `<div style="%s">%s</div>`, note, html.EscapeString(line))
	}
	b.WriteString("</div>")
	return map[string]any{"text/plain": strings.TrimSuffix(e.String(), "\n"), "text/html": b.String()}
}

// boxes draws a plan: its sinks, its steps from the last to the first, each with the query that it brings in beside it, and its source.
func boxes(b *strings.Builder, p *plan.Plan) {
	box(b, "output", fmt.Sprintf("<b>%s</b>, output %s", html.EscapeString(p.Name), html.EscapeString(p.Output)))
	for _, s := range p.Sinks {
		box(b, "output", "→ "+html.EscapeString(s))
	}
	for i := len(p.Steps) - 1; i >= 0; i-- {
		arrow(b)
		step := p.Steps[i]
		if step.Other == nil {
			box(b, "step", named(step.String()))
			continue
		}
		b.WriteString(`<div style="display:flex;gap:14px;align-items:flex-start"><div>`)
		box(b, "step", named(step.String()))
		b.WriteString(`</div><div style="border-left:2px solid #8888;padding-left:12px">`)
		boxes(b, step.Other)
		b.WriteString(`</div></div>`)
	}
	arrow(b)
	box(b, "source", named(p.Input.String()))
}

// named sets the first word of a step apart: what it does.
func named(step string) string {
	verb, rest, _ := strings.Cut(step, " ")
	return "<b>" + html.EscapeString(verb) + "</b> " + html.EscapeString(rest)
}

func arrow(b *strings.Builder) {
	b.WriteString(`<div style="padding-left:20px;line-height:1;opacity:.6">↑</div>`)
}

// box draws one step. Its colours lie over light and dark pages alike.
func box(b *strings.Builder, kind, text string) {
	colour := map[string]string{"output": "#0072b2", "step": "#888888", "source": "#009e73"}[kind]
	fmt.Fprintf(b, `<div style="max-width:720px;width:fit-content;padding:3px 9px;border:1px solid %s;border-left:5px solid %s;border-radius:4px;background:%s18">%s</div>`,
		colour, colour, colour, text)
}
