package eval

import (
	"fmt"
	"math"
	"strings"

	"cancha/kernel/eval/lower"
	"cancha/kernel/eval/primitive"
)

// marked is a function of the lowered program and the line that it is at.
type marked struct {
	lower.Function
	line *int // nil where it has not been asked for
}

// remember keeps what a traceback may want to know of a unit's functions.
func (p *Program) remember(unit *lower.Unit) {
	for name, f := range unit.Names {
		m := marked{Function: f}
		if f.Name == "" {
			m.line = unit.Body.Line
		}
		p.names.Store(name, m)
	}
}

// frame returns the frame of a function of the lowered program, with its place; false for any other name.
func (p *Program) frame(lowered string) (primitive.Frame, bool) {
	v, ok := p.names.Load(lowered)
	if !ok {
		return primitive.Frame{}, false
	}
	m := v.(marked)
	f := primitive.Frame{Function: m.Name, Cell: m.Cell}
	if m.line == nil && m.Marker != "" {
		if v := p.back.Variable(m.Marker); v.IsValid() {
			m.line, _ = v.Addr().Interface().(*int)
			p.names.Store(lowered, m)
		}
	}
	if m.Name == "" {
		if own := p.machine.Line(); own != nil {
			m.line = own
		}
	}
	if m.line != nil {
		f.Line = *m.line
	}
	return f, true
}

// traceback writes down a panic: the functions of the cells that it left, innermost first, and the line that it came from.
func (p *Program) traceback(head string, frames []primitive.Frame) []string {
	lines := []string{head}
	for _, f := range frames {
		if f.Function == "" && f.Line > p.length(f.Cell) {
			continue // of what was generated for a cell
		}
		if f.Function == "" {
			lines = append(lines, "    at "+f.Place())
			continue
		}
		lines = append(lines, fmt.Sprintf("    in %s (%s)", f.Function, f.Place()))
	}
	if len(frames) == 0 || frames[0].Line == 0 {
		return lines
	}
	return append(lines, p.sourceLine(frames[0])...)
}

// length is how many lines a cell has.
func (p *Program) length(cell string) int {
	code, ok := p.sources.Load(cell)
	if !ok {
		return math.MaxInt
	}
	return strings.Count(code.(string), "\n") + 1
}

// sourceLine is a line of a cell, with a caret below its first character.
func (p *Program) sourceLine(f primitive.Frame) []string {
	code, ok := p.sources.Load(f.Cell)
	if !ok {
		return nil
	}
	source := strings.Split(code.(string), "\n")
	if f.Line > len(source) {
		return nil
	}
	text := strings.TrimRight(source[f.Line-1], "\r")
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	return []string{fmt.Sprintf("%5d | %s", f.Line, text), "      | " + indent + "^"}
}
