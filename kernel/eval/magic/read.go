package magic

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// reader goes through a cell once. Its parts are the commands and the spans of Go between them, in order.
type reader struct {
	code  string
	at    int // what comes before has been read
	parts []part
}

// part is a span of Go, the command in front of it, or both.
type part struct {
	command *Command
	golang  span // empty where start == end
}

var (
	name     = regexp.MustCompile(`^[\pL_][\pL\pN_]*`)
	option   = regexp.MustCompile(`^-[a-z]+[ \t]*\d+[ \t]+`)
	question = regexp.MustCompile(`^(\?{1,2})?(%{0,2}[\pL_][\pL\pN_.]*)(\?{1,2})?$`)
)

// head reads a cell magic on the first line that is not blank.
func (r *reader) head() *Command {
	start := len(r.code) - len(strings.TrimLeft(r.code, " \t\r\n"))
	if !strings.HasPrefix(r.code[start:], "%%") || isHelp(r.line(start)) {
		return nil
	}
	c := r.magic(start, Whole)
	r.at = c.End
	if r.at < len(r.code) { // behind the end of the line
		r.at++
	}
	return c
}

// line is the text from an offset to the end of its line, white space at its end left out.
func (r *reader) line(start int) string {
	line, _, _ := strings.Cut(r.code[start:], "\n")
	return strings.TrimRight(line, " \t\r")
}

// magic reads %name args or %%name args.
func (r *reader) magic(start int, kind Kind) *Command {
	line := r.line(start)
	signs := 1
	if kind == Whole {
		signs = 2
	}
	c := &Command{Kind: kind, Name: name.FindString(line[signs:]), Start: start, End: start + len(line)}
	rest := line[signs+len(c.Name):]
	c.Args = strings.TrimLeft(rest, " \t")
	c.ArgsStart = c.End - len(c.Args)
	return c
}

// read splits what is left of the cell at its commands.
func (r *reader) read() {
	for r.at < len(r.code) {
		start, ok := r.golangUntilCommand()
		if !ok {
			return
		}
		r.command(start)
	}
}

// golangUntilCommand reads Go up to the next command and returns where that begins; ok is false at the end of the cell.
func (r *reader) golangUntilCommand() (start int, ok bool) {
	s := r.scan(r.at)
	for {
		offset, tok := s.next()
		if tok == token.EOF {
			r.add(nil, span{r.at, len(r.code)})
			r.at = len(r.code)
			return 0, false
		}
		if s.begins && s.depth == 0 && r.isCommand(offset) {
			r.add(nil, span{r.at, offset})
			r.at = offset
			return offset, true
		}
		s.take(tok)
	}
}

// isCommand tells whether a command stands at the offset, where a statement could begin.
func (r *reader) isCommand(offset int) bool {
	before := r.code[:offset]
	if strings.TrimLeft(before[strings.LastIndexByte(before, '\n')+1:], " \t") != "" {
		return false // not the first on its line
	}
	line := r.line(offset)
	return line[0] == '%' || line[0] == '!' || isHelp(line)
}

func isHelp(line string) bool {
	m := question.FindStringSubmatch(line)
	return m != nil && (m[1] != "" || m[3] != "")
}

// command reads the command at an offset and, where it takes one, the statement behind it.
func (r *reader) command(start int) {
	line := r.line(start)
	r.at = start + len(line)
	switch {
	case isHelp(line):
		m := question.FindStringSubmatch(line)
		detail := max(len(m[1]), len(m[3])) - 1
		r.add(&Command{Kind: Help, Name: m[2], Detail: detail, Start: start, End: r.at, ArgsStart: start}, span{})
	case line[0] == '!':
		r.shell(start)
	case strings.HasPrefix(line, "%%"):
		r.add(r.magic(start, Whole), span{})
	default:
		c := r.magic(start, Line)
		if spec, ok := Lookup(c.Name); ok && spec.Statement() {
			r.statement(c)
			return
		}
		r.add(c, span{})
	}
}

// shell reads a line for the shell, with those that it goes on in.
func (r *reader) shell(start int) {
	end := r.at
	for strings.HasSuffix(r.code[start:end], `\`) {
		next := strings.IndexByte(r.code[end:], '\n')
		if next < 0 {
			break
		}
		end += next + 1
		end += len(r.line(end))
	}
	r.at = end
	args := strings.TrimSpace(r.code[start+1 : end])
	r.add(&Command{Kind: Shell, Args: args, Start: start, End: end, ArgsStart: end - len(args)}, span{})
}

// statement reads the Go behind a magic and its options: all statements that begin on its line.
func (r *reader) statement(c *Command) {
	options := 0
	for {
		m := option.FindString(c.Args[options:])
		if m == "" {
			break
		}
		options += len(m)
	}
	begin := c.ArgsStart + options
	end := r.statementEnd(begin, c.End)
	c.Args = strings.TrimSpace(c.Args[:options])
	c.End = begin
	r.at = end
	r.add(c, span{begin, end})
}

// statementEnd is where the statements end that begin between begin and the end of the line.
func (r *reader) statementEnd(begin, line int) int {
	s := r.scan(begin)
	end := line
	for {
		offset, tok := s.next()
		switch {
		case tok == token.EOF:
			return len(r.code)
		case s.begins && s.depth == 0 && offset > line:
			return end
		}
		s.take(tok)
		if s.begins && s.depth == 0 {
			end = max(end, min(offset+1, len(r.code)))
		}
	}
}

func (r *reader) add(c *Command, golang span) { r.parts = append(r.parts, part{c, golang}) }

// steps are the parts, Go without a token left out.
func (r *reader) steps() []Step {
	var steps []Step
	for _, p := range r.parts {
		s := Step{Command: p.command}
		if strings.TrimSpace(r.code[p.golang.start:p.golang.end]) != "" {
			s.Go = blank(r.code, []span{p.golang})
		}
		if s.Command != nil || s.Go != "" {
			steps = append(steps, s)
		}
	}
	return steps
}

func (r *reader) golang() []span {
	var all []span
	for _, p := range r.parts {
		if p.golang.start < p.golang.end {
			all = append(all, p.golang)
		}
	}
	return all
}

// tokens reads Go from an offset of the cell. The scanner's errors are left to those who compile the Go.
type tokens struct {
	scanner scanner.Scanner
	file    *token.File
	from    int
	depth   int
	begins  bool // a statement could begin here
}

func (r *reader) scan(from int) *tokens {
	t := &tokens{file: token.NewFileSet().AddFile("", -1, len(r.code)-from), from: from, begins: true}
	t.scanner.Init(t.file, []byte(r.code[from:]), func(token.Position, string) {}, 0)
	return t
}

func (t *tokens) next() (offset int, tok token.Token) {
	pos, tok, _ := t.scanner.Scan()
	return t.from + t.file.Offset(pos), tok
}

func (t *tokens) take(tok token.Token) {
	switch tok {
	case token.LPAREN, token.LBRACK, token.LBRACE:
		t.depth++
	case token.RPAREN, token.RBRACK, token.RBRACE:
		t.depth = max(t.depth-1, 0)
	}
	t.begins = tok == token.SEMICOLON
}
