package eval

import (
	"strings"
	"unicode/utf8"

	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/magic"
)

// Complete returns how the code at a cursor may go on.
func (p *Program) Complete(q cell.Question) cell.Completion {
	c := magic.Parse(q.Code)
	at := check.ByteOffset(q.Code, q.Cursor)
	if command := c.At(at); command != nil {
		return p.completeCommand(c, command, at)
	}
	switch {
	case c.Raw():
		return cell.Completion{Matches: []cell.Match{}, Start: q.Cursor, End: q.Cursor}
	case c.Go == q.Code:
		return p.scope.Complete(q.Code, q.Cursor)
	}
	found := p.scope.Complete(c.Go, utf8.RuneCountInString(c.Go[:at]))
	return translate(found, c.Go, q.Code)
}

// Inspect explains the name at a cursor.
func (p *Program) Inspect(q cell.Question) cell.Inspection {
	c := magic.Parse(q.Code)
	at := check.ByteOffset(q.Code, q.Cursor)
	switch command := c.At(at); {
	case command == nil && c.Go == q.Code:
		return p.scope.Inspect(q.Code, q.Cursor, q.Detail)
	case command == nil:
		return p.scope.Inspect(c.Go, utf8.RuneCountInString(c.Go[:at]), q.Detail)
	case command.Kind == magic.Help && !strings.HasPrefix(command.Name, "%"):
		return p.scope.Inspect(command.Name, utf8.RuneCountInString(command.Name), max(q.Detail, command.Detail))
	case command.Kind == magic.Shell:
		return cell.Inspection{}
	default:
		return inspectMagic(strings.TrimLeft(command.Name, "%"))
	}
}

// IsComplete tells whether a cell can run as it is. A cell magic that takes text ends with a blank line.
func (p *Program) IsComplete(code string) cell.Completeness {
	c := magic.Parse(code)
	if h := c.Head; h != nil {
		switch spec, _ := magic.Lookup(h.Name); {
		case !spec.Whole: // the error can be had now
			return cell.Completeness{Status: "complete"}
		case c.Raw() && !strings.HasSuffix(strings.TrimRight(c.Body, " \t"), "\n\n"):
			return cell.Completeness{Status: "incomplete"}
		case c.Raw():
			return cell.Completeness{Status: "complete"}
		}
	}
	for _, s := range c.Steps {
		if s.Command != nil && s.Command.Kind == magic.Shell && strings.HasSuffix(strings.TrimRight(s.Command.Args, " \t\r\n"), `\`) {
			return cell.Completeness{Status: "incomplete"}
		}
	}
	return check.IsComplete(c.Go)
}

// translate turns code points of one text into those of another that has the same bytes at the same places.
func translate(c cell.Completion, from, to string) cell.Completion {
	c.Start = utf8.RuneCountInString(to[:check.ByteOffset(from, c.Start)])
	c.End = utf8.RuneCountInString(to[:check.ByteOffset(from, c.End)])
	return c
}
