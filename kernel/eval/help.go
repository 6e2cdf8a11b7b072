package eval

import (
	"regexp"
	"strings"

	"cancha/kernel/cell"
)

// help is a line "?name", "name?" or "name??": the name is to be explained, with its source for two marks.
type help struct {
	name   string
	detail int
}

var helpLine = regexp.MustCompile(`^\s*(\?{1,2})?([\pL_][\pL\pN_.]*)(\?{1,2})?\s*$`)

// helpLines takes such lines out of a cell, leaving empty ones. A question mark outside of strings and comments is never Go,
// so only raw strings and comments over several lines could be meant otherwise; a cell with either is left alone.
func helpLines(code string) (rest string, found []help) {
	if !strings.Contains(code, "?") || strings.Contains(code, "`") || strings.Contains(code, "/*") {
		return code, nil
	}
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		m := helpLine.FindStringSubmatch(line)
		if m == nil || m[1] == "" && m[3] == "" {
			continue
		}
		lines[i] = strings.Repeat(" ", len(line))
		found = append(found, help{m[2], max(len(m[1]), len(m[3])) - 1})
	}
	return strings.Join(lines, "\n"), found
}

// page is what the pager shows for a name.
func (p *Program) page(h help) map[string]any {
	in := p.Inspect(cell.Question{Code: h.name, Cursor: len([]rune(h.name)), Detail: h.detail})
	if !in.Found {
		return map[string]any{"text/plain": h.name + ": nothing is known by that name"}
	}
	return in.Data
}
