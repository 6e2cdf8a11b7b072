package check

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"

	"cancha/kernel/cell"
)

// IsComplete tells whether a cell can run as it is, from its syntax alone: "incomplete" where more text could make it one,
// with an indent of a tab for each open bracket, and "invalid" where no text behind it can.
func IsComplete(code string) cell.Completeness {
	pieces, fault := split(code)
	if fault != nil && fault.open {
		return cell.Completeness{Status: "incomplete", Indent: strings.Repeat("\t", fault.depth)}
	}
	if fault != nil {
		return cell.Completeness{Status: "invalid"}
	}
	end := len(strings.TrimRight(code, " \t\r\n"))
	values := listAtEnd(pieces)
	for _, part := range []struct {
		prefix, code string
		list         *piece
	}{
		{declPrefix, keep(code, pieces, importing), nil},
		{declPrefix, keep(code, pieces, declaration), nil},
		{bodyPrefix, enclose(keep(code, pieces, statement, variable), values) + "\n}", values},
	} {
		_, err := parser.ParseFile(token.NewFileSet(), "", part.prefix+part.code, parser.SkipObjectResolution)
		var list scanner.ErrorList
		if !errors.As(err, &list) {
			continue
		}
		if (file{len(part.prefix), part.list}).offset(list[0].Pos.Offset) >= end {
			return cell.Completeness{Status: "incomplete"}
		}
		return cell.Completeness{Status: "invalid"}
	}
	return cell.Completeness{Status: "complete"}
}
