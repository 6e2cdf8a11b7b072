// Package magic reads a cell as a list of steps: pieces of Go, and the commands between them that are not Go. It ends at the
// list: nothing is run here, and whether the Go is right is not asked.
//
//	%name args     a line magic. Where it takes a statement (%time f(x)) that is Go, and may go on over several lines
//	%%name args    a cell magic, on the first line that is not blank: about the rest of the cell
//	!command       a line for the shell; one that ends in a backslash goes on in the next
//	?name  name?   help about a name or a magic; two marks ask for the source too
//
// Such a line stands where a statement of the cell's top level could begin. No statement of Go begins with %, ? or a name
// followed by ?; one that begins with ! is an expression whose value nobody uses. In a string, a comment, a block or in the
// middle of an expression all of these are left to Go.
//
// The Go of a step has every byte of the cell at its place, what is not Go blanked out, so that the positions of errors are
// those of the cell.
package magic

import "strings"

// Kind tells what sort of command a line is.
type Kind int

// The sorts of commands.
const (
	Line  Kind = iota // %name
	Whole             // %%name
	Shell             // !command
	Help              // ?name
)

// Command is a line that is not Go. Offsets are bytes of the cell.
type Command struct {
	Kind   Kind
	Name   string // of the magic without %, of what help is asked about; empty for Shell
	Args   string // what follows the name, less the white space around it and a statement
	Detail int    // Help: 1 asks for the source too

	Start, End int // from the sign to the end of its line; where a statement follows, to its first byte
	ArgsStart  int
}

// Step is a piece of Go, or a command. A command that takes Go (see [Spec.Go]) has both.
type Step struct {
	Command *Command
	Go      string // as long as the cell, blank but for this step's part of it; "" for a command that takes none
}

// Cell is a cell's text, taken apart.
type Cell struct {
	Source string
	Go     string   // the Go of all steps
	Head   *Command // the cell magic that the steps are subject to, nil for most cells
	Body   string   // the text behind the line of Head, unread where that takes no Go
	Steps  []Step   // in the order in which they run
}

// Plain tells whether the cell is nothing but Go.
func (c *Cell) Plain() bool {
	return c.Head == nil && (len(c.Steps) == 0 || len(c.Steps) == 1 && c.Steps[0].Command == nil)
}

// Raw tells whether the cell's Body is text for its Head, not Go.
func (c *Cell) Raw() bool {
	if c.Head == nil {
		return false
	}
	spec, ok := Lookup(c.Head.Name)
	return !ok || !spec.Go || !spec.Whole
}

// At returns the command that holds a byte offset of the cell, nil if the offset is in Go. The end of a command and the blanks after it
// belong to it.
func (c *Cell) At(offset int) *Command {
	if c.Head != nil && c.within(c.Head, offset) {
		return c.Head
	}
	for _, s := range c.Steps {
		if k := s.Command; k != nil && (offset < k.End || s.Go == "") && c.within(k, offset) {
			return k
		}
	}
	return nil
}

func (c *Cell) within(k *Command, offset int) bool {
	return k.Start <= offset && (offset <= k.End || strings.Trim(c.Source[k.End:offset], " \t") == "")
}

// Parse takes a cell apart. It accepts any text.
func Parse(code string) *Cell {
	c := &Cell{Source: code}
	r := reader{code: code}
	if head := r.head(); head != nil {
		c.Head, c.Body = head, code[r.at:]
		if c.Raw() {
			c.Go = blank(code, nil)
			return c
		}
	} else if !mayHold(code) {
		c.Go = code
		if strings.TrimSpace(code) != "" {
			c.Steps = []Step{{Go: code}}
		}
		return c
	}
	r.read()
	c.Steps, c.Go = r.steps(), blank(code, r.golang())
	c.testLast()
	return c
}

// testLast has a %test or %bench above a cell's Go run behind it, for the tests that the Go declares.
func (c *Cell) testLast() {
	if c.Head != nil || len(c.Steps) < 2 || c.Steps[0].Command == nil || c.Steps[0].Command.Kind != Line {
		return
	}
	if spec, _ := Lookup(c.Steps[0].Command.Name); spec.Argument == Test {
		c.Steps = append(c.Steps[1:], c.Steps[0])
	}
}

// mayHold tells quickly that a cell has no line which could be a command.
func mayHold(code string) bool {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		if line != "" && (strings.IndexByte("%!?", line[0]) >= 0 || line[len(line)-1] == '?') {
			return true
		}
	}
	return false
}

// span is the bytes [start, end) of a cell.
type span struct{ start, end int }

// blank returns a text with all bytes outside of the spans, which are in order, turned into spaces; line ends stay.
func blank(code string, keep []span) string {
	out := []byte(code)
	at := 0
	for _, s := range append(keep, span{len(code), len(code)}) {
		for i := at; i < s.start; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
		at = max(at, s.end)
	}
	return string(out)
}
