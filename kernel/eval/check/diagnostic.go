package check

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// maxDiagnostics is how many errors of a cell are told; gc stops at ten too.
const maxDiagnostics = 10

// Diagnostic is one thing wrong with a cell. Line and Column count from 1, the column in bytes; Offset is the byte in the
// cell's code.
type Diagnostic struct {
	Offset       int
	Line, Column int
	Text         string

	of      *text  // another cell that it is about, nil for the cell itself
	there   int    // the byte in the code of that cell
	missing string // the name that nothing declares, if that is all that is wrong: "g", or "P.Area" for a method
}

// Error refuses a cell. Nothing of it has run and nothing is declared.
type Error struct {
	Cell        string // "cell 3"
	Code        string
	Diagnostics []Diagnostic

	all []Diagnostic // those too that are not told
}

// Error is the first diagnostic with its position: "cell 3:2:5: undefined: nope".
func (e *Error) Error() string {
	if len(e.Diagnostics) == 0 {
		return e.Cell + ": cannot be compiled"
	}
	return e.Diagnostics[0].in(e.Cell)
}

// in is the diagnostic with its position, of a cell unless it is about another one.
func (d Diagnostic) in(cell string) string {
	if d.of != nil {
		cell = d.of.cell
	}
	return cell + d.String()
}

func (d Diagnostic) String() string { return fmt.Sprintf(":%d:%d: %s", d.Line, d.Column, d.Text) }

// Lines are all diagnostics, each with its source line and a caret.
func (e *Error) Lines() []string {
	var out []string
	for _, d := range e.Diagnostics {
		source := strings.Split(e.Code, "\n")
		if d.of != nil {
			source = strings.Split(d.of.code, "\n")
		}
		out = append(out, d.in(e.Cell))
		if d.Line >= 1 && d.Line <= len(source) {
			out = append(out, caret(source[d.Line-1], d.Line, d.Column)...)
		}
	}
	return out
}

// caret shows a source line with a mark under a column. Tabs before the mark are repeated, so that it stands right
// whatever their width.
func caret(line string, number, column int) []string {
	margin := fmt.Sprintf("%5d | ", number)
	var pad strings.Builder
	for i, r := range line {
		if i >= column-1 {
			break
		}
		if r == '\t' {
			pad.WriteByte('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return []string{margin + strings.TrimRight(line, "\r"), strings.Repeat(" ", len(margin)-2) + "| " + pad.String() + "^"}
}

// collector gathers a cell's diagnostics in the order of their positions.
type collector struct {
	text  *text
	list  []Diagnostic
	seen  map[string]bool
	plain func(text string) string // writes types as a user knows them
	hints map[string]string        // type error → what mends it
}

// magicLine is a line that no Go begins with.
var magicLine = regexp.MustCompile(`^\s*%{1,2}[\pL_]`)

func (c *collector) add(offset int, msg string) { c.addMissing(offset, msg, "") }

// addMissing is add for a name that nothing declares.
func (c *collector) addMissing(offset int, msg, missing string) {
	offset = c.text.origin(max(offset, 0))
	home, there := c.text.home(offset)
	line, column := home.position(there)
	if magicLine.MatchString(home.line(line)) {
		msg += " (a magic belongs at the top level of a cell)"
	}
	d := Diagnostic{Offset: offset, Line: line, Column: column, Text: msg, there: there, missing: missing}
	if home != c.text {
		d.of = home
	}
	key := fmt.Sprint(home.cell, line, ":", msg)
	if c.seen[key] {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[key] = true
	at := len(c.list)
	for at > 0 && c.list[at-1].Offset > offset {
		at--
	}
	c.list = append(c.list[:at], append([]Diagnostic{d}, c.list[at:]...)...)
}

// addSyntax adds what the parser said about a file made from the cell.
func (c *collector) addSyntax(err error, place file) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		c.add(0, err.Error())
		return
	}
	for _, e := range list {
		offset, msg := place.offset(e.Pos.Offset), e.Msg
		if offset >= len(strings.TrimRight(c.text.code, " \t\r\n")) { // at the brace that we put behind the cell
			msg = strings.NewReplacer("found '}'", "found the end of the cell", "found ')'", "found the end of the cell", "found newline", "found the end of the cell").Replace(msg)
		}
		c.add(offset, "syntax error: "+msg)
	}
}

// addType adds what the type checker said, unless it is one of the things that a notebook forgives: an unused variable, an
// unused import. Method is the one that is missing, if that is what it said.
func (c *collector) addType(fset *token.FileSet, err error, method string) {
	var e types.Error
	if !errors.As(err, &e) {
		c.add(0, err.Error())
		return
	}
	if e.Soft && strings.Contains(e.Msg, "and not used") { // variables, imports, labels; other soft errors are errors
		return
	}
	if strings.HasPrefix(e.Msg, "\t") { // the second half of an error: where the other declaration is
		return
	}
	if c.text.offset(fset, e.Pos) > c.text.shown { // an expression of ours, whose variable's type does not fit: refuseEmbedded tells it
		return
	}
	msg := strings.NewReplacer(bodyName, "the cell", "argument to "+valuesName, "the cell's last line", "call to "+valuesName, "the cell's last line").Replace(e.Msg)
	msg = adoptedAgain.ReplaceAllString(msg, "method $1.$2 already declared")
	msg = c.plain(mustVariant.ReplaceAllString(msg, mustName))
	missing := method
	if hint, ok := c.hints[e.Msg]; ok {
		msg += " (" + hint + ")"
	} else if m := undefinedName.FindStringSubmatch(e.Msg); m != nil {
		missing = m[1]
	}
	c.addMissing(c.text.offset(fset, e.Pos), msg, missing)
}

// undefinedName is what go/types says of a name that nothing declares.
var undefinedName = regexp.MustCompile(`^undefined: ([\pL_][\pL\pN_]*)$`)

func (c *collector) err(name string) error {
	if len(c.list) == 0 {
		return nil
	}
	all := c.list
	if len(c.list) > maxDiagnostics {
		c.list = c.list[:maxDiagnostics]
	}
	return &Error{Cell: name, Code: c.text.own(), Diagnostics: c.list, all: all}
}
