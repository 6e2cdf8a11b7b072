package eval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval/check"
	"cancha/kernel/eval/magic"
)

// steps runs a cell that has magics: its pieces of Go and its commands, in order. The pieces are compiled, and the commands
// looked at, before the first of them runs, so that a cell in which anything is wrong changes nothing. Only what follows a command
// that decides how Go is understood (%get, %reset, %engine, %errors) has to wait for it, and Go that embeds files, which commands may make.
type steps struct {
	*Program
	cell    *magic.Cell
	task    *task
	request cell.Request
	name    string // "cell 3"
	pages   []map[string]any
	meter   *meter     // of %%time
	begun   int        // how many of the steps have been compiled
	sql     magic.Step // of %%sql

	statements []check.Statement // of the pieces of Go
}

// magicError is a command that is wrong, or failed.
type magicError struct {
	command *magic.Command
	text    string
	name    string // of the error, where it is no "magic error"
}

func (e *magicError) Error() string { return e.text }

// fail returns the error of a command.
func fail(c *magic.Command, format string, args ...any) error {
	return &magicError{command: c, text: fmt.Sprintf(format, args...)}
}

// runSteps runs a cell that has magics; pages are for the pager. It has the turn all the time: magics change what all cells share.
func (p *Program) runSteps(t *task, c *magic.Cell) (pages []map[string]any, fault *cell.Error) {
	if err := p.takeTurn(t); err != nil {
		return nil, compileError(err)
	}
	s := &steps{Program: p, cell: c, task: t, request: t.request, name: t.name}
	if err := s.validate(); err != nil {
		return nil, s.fault(err)
	}
	done, err := s.begin()
	if err != nil {
		return nil, s.fault(err)
	}
	defer done()
	for list := s.list(); len(list) > 0; {
		n := phase(list)
		if fault := s.phase(list[:n], n == len(list)); fault != nil {
			return nil, fault
		}
		list = list[n:]
	}
	return s.pages, nil
}

// list are the steps. A cell magic that is about the rest of its cell as a whole is the only one; one that runs tests is the last.
func (s *steps) list() []magic.Step {
	switch h := s.cell.Head; {
	case h == nil:
	case h.Name == "timeit", h.Name == "writefile":
		return []magic.Step{{Command: h, Go: s.cell.Go}}
	case h.Name == "sql":
		return []magic.Step{s.sql}
	case isTest(h.Name):
		return append(slices.Clone(s.cell.Steps), magic.Step{Command: h})
	}
	return s.cell.Steps
}

// phase is how many steps can be compiled before the first of them runs.
func phase(list []magic.Step) int {
	for i, s := range list {
		if s.Command != nil && slices.Contains([]string{"get", "reset", "engine", "errors"}, s.Command.Name) && s.Command.Kind == magic.Line {
			return max(i, 1)
		}
		if i > 0 && check.Embeds(s.Go) {
			return i
		}
	}
	return len(list)
}

// phase compiles and runs some steps, with the modules that they import; last tells that no others follow.
func (s *steps) phase(list []magic.Step, last bool) *cell.Error {
	for _, step := range list {
		if err := s.getImports(s.task, step.Go); err != nil {
			return importError(err)
		}
	}
	run, err := s.compileAll(list, last)
	if err != nil {
		return s.fault(err)
	}
	if s.meter != nil && last {
		run = append(run, func() error { s.meter.report(); return nil })
	}
	var failed error
	fault := s.execute(text{s.task, s.name, s.request.Code, nil, s.statements}, func() {
		if s.meter != nil {
			s.meter.start()
		}
		for _, f := range run {
			if failed = f(); failed != nil {
				return
			}
			s.machine.Check() // compiled code does not notice an interrupt
		}
	})
	if fault == nil && failed != nil {
		if e := (*magicError)(nil); errors.As(failed, &e) {
			s.stopped(text{task: s.task, name: s.name, list: s.statements}, strings.Count(s.request.Code[:e.command.Start], "\n")+1)
		}
		fault = s.fault(failed)
	}
	for _, step := range list {
		s.task.began = s.task.began || step.Go != "" || step.Command != nil && !repeatable(step.Command)
		s.imported(step.Go)
	}
	return fault
}

// repeatable reports whether a command may run once more in another engine: it tells something, or sets what is carried over and what it
// would set again. %cd goes on from where it has led.
func repeatable(c *magic.Command) bool {
	return c.Kind == magic.Help || slices.Contains([]string{"engine", "env", "errors", "get", "help", "lsmagic", "pwd", "reset", "streams", "who", "whos"}, c.Name)
}

// compileAll compiles steps: all of them, or none.
func (s *steps) compileAll(list []magic.Step, last bool) (run []func() error, err error) {
	if err := s.building.lock(s.task.ctx); err != nil {
		return nil, err
	}
	defer s.building.unlock()
	if err := s.settle(s.task, nil); err != nil {
		return nil, err
	}
	if err := s.rehearse(list); err != nil {
		return nil, err
	}
	undo, keep := s.scope.Mark()
	s.task.parts = true
	for i, step := range list {
		s.begun++
		f, err := s.prepare(step, last && i == len(list)-1)
		if err != nil {
			undo()
			return nil, err
		}
		run = append(run, f)
	}
	s.task.parts = false
	if err := s.task.take(); err != nil {
		undo()
		return nil, err
	}
	keep()
	return run, nil
}

// rehearse checks all pieces of Go, one on the ground of the other, and forgets them again: almost all that can be wrong with the
// last of them is seen before the first is compiled.
func (s *steps) rehearse(list []magic.Step) error {
	undo, _ := s.scope.Mark()
	defer undo()
	for _, step := range list {
		if step.Go == "" {
			continue
		}
		check := s.scope.Check
		if step.Command != nil && step.Command.Name == "timeit" {
			check = s.checkLoop
		}
		c, err := check(s.name, step.Go)
		if err != nil {
			return err
		}
		s.scope.Lock()
		s.scope.Commit(c)
		s.scope.Unlock()
		if woken, _ := s.scope.Wake(c); woken != nil {
			s.scope.Lock()
			s.scope.Commit(woken)
			s.scope.Unlock()
		}
	}
	return nil
}

// prepare returns the function that runs a step.
func (s *steps) prepare(step magic.Step, last bool) (func() error, error) {
	c := step.Command
	if c == nil {
		return s.golang(step.Go, last)
	}
	switch c.Kind {
	case magic.Shell:
		return func() error { return s.shell(c) }, nil
	case magic.Help:
		return func() error { s.pages = append(s.pages, s.page(c)); return nil }, nil
	}
	switch c.Name {
	case "time":
		return s.timed(step.Go, last)
	case "timeit":
		return s.timeit(c, step.Go)
	case "test", "bench":
		return s.test(c)
	case "who":
		return s.who()
	case "whos":
		return s.whos()
	}
	f := commands()[c.Name]
	return func() error { return f(s, c) }, nil
}

// golang compiles a piece of Go. Where it is the last step, the value of its last expression is shown.
func (s *steps) golang(code string, last bool) (func() error, error) {
	run, show, err := s.piece(code, last)
	if err != nil {
		return nil, err
	}
	return func() error { run(); show(); return nil }, nil
}

func (s *steps) piece(code string, last bool) (run, show func(), err error) {
	c, err := s.scope.Check(s.name, code)
	if err != nil {
		return nil, nil, err
	}
	if line := c.Leaves(); line > 0 && !last {
		return nil, nil, c.RefuseLine(line, "return and defer concern a whole cell, and magics split this one: put what follows into a cell of its own")
	}
	c.LeaveToLater(s.mentionedLater())
	s.effects(c)
	outdated := c.Outdated()
	s.scope.Lock()
	s.statements = append(s.statements, c.Statements()...)
	s.scope.Unlock()
	unit, entry, err := s.build(c, s.task)
	if err != nil {
		return nil, nil, err
	}
	first, woken := s.wake(c, s.task)
	notes := slices.Concat(s.waitingNotes(c), unit.Notes, outdated, c.Remarks, woken)
	entry = inOrder(first, entry)
	start := func() {
		s.note(s.request.Cell, notes)
		entry()
	}
	return start, func() {
		if !last {
			s.machine.Shown(s.request.Cell) // which nobody wants to see
			return
		}
		s.result(s.task, c.Last())
	}, nil
}

// mentionedLater are the names in the pieces of Go that follow.
func (s *steps) mentionedLater() map[string]bool {
	var code strings.Builder
	for _, step := range s.list()[s.begun:] {
		code.WriteString(step.Go + "\n")
	}
	return check.Mentioned(code.String())
}

// fault is the error of a cell as a user sees it.
func (s *steps) fault(err error) *cell.Error {
	switch e := err.(type) {
	case *check.Error:
		e.Code = s.request.Code // the piece has blanks for everything else
		return compileError(e)
	case *magicError:
		return s.magicFault(e)
	}
	return compileError(err)
}

// magicFault shows a command's error with its line.
func (s *steps) magicFault(e *magicError) *cell.Error {
	code := s.request.Code
	before := code[:e.command.Start]
	line := strings.Count(before, "\n") + 1
	source, _, _ := strings.Cut(code[e.command.Start:], "\n")
	trace := []string{fmt.Sprintf("%s:%d: %s", s.name, line, e.text), fmt.Sprintf("%5d | %s", line, strings.TrimRight(source, "\r"))}
	return &cell.Error{Name: cmp.Or(e.name, "magic error"), Value: e.text, Traceback: strings.Split(strings.Join(trace, "\n"), "\n")}
}

// validate refuses commands that do not exist, or not in this form.
func (s *steps) validate() error {
	if h := s.cell.Head; h != nil {
		if err := form(h); err != nil {
			return err
		}
		if err := arguments(h); err != nil {
			return err
		}
		if h.Name == "sql" {
			var err error
			if s.sql, err = s.sqlStep(h); err != nil {
				return err
			}
		}
	}
	for _, step := range s.cell.Steps {
		if step.Command == nil {
			continue
		}
		if err := s.validateStep(step.Command, step.Go); err != nil {
			return err
		}
	}
	return nil
}

// validateStep is validate for one command and the Go behind it.
func (s *steps) validateStep(c *magic.Command, code string) error {
	switch {
	case c.Kind == magic.Help, c.Kind == magic.Shell && c.Args != "":
		return nil
	case c.Kind == magic.Shell:
		return fail(c, "! needs a command, such as !ls")
	case c.Kind == magic.Whole:
		return fail(c, "%%%%%s belongs on the first line of a cell", c.Name)
	}
	if h := s.cell.Head; h != nil && h.Name == "timeit" {
		return fail(c, "%%%%timeit times Go: there can be no other magics in its cell")
	}
	if err := form(c); err != nil {
		return err
	}
	if err := arguments(c); err != nil {
		return err
	}
	if c.Args != "" {
		var err error
		switch c.Name {
		case "engine":
			err = s.canRun(c.Args)
		case "errors":
			err = isErrors(c.Args)
		}
		if err != nil {
			return fail(c, "%%%s: %v", c.Name, err)
		}
	}
	if spec, _ := magic.Lookup(c.Name); spec.Statement() && code == "" {
		return fail(c, "%%%s needs a statement: %s", c.Name, usage(spec, 0))
	}
	return nil
}

// usage is how a magic is written, in the n-th of its forms.
func usage(s magic.Spec, n int) string { return strings.Split(s.Usage, "\n")[n] }

// form checks that a magic exists and can be written with so many signs.
func form(c *magic.Command) error {
	sign := "%"
	if c.Kind == magic.Whole {
		sign = "%%"
	}
	spec, ok := magic.Lookup(c.Name)
	if !ok {
		near := magic.Near(c.Name)
		if len(near) == 0 {
			return fail(c, "there is no magic %s%s; %%lsmagic lists all", sign, c.Name)
		}
		return fail(c, "there is no magic %s%s; there is %s (%%lsmagic lists all)", sign, c.Name, strings.Join(near, " and "))
	}
	if !slices.Contains(spec.Forms(), sign+c.Name) {
		return fail(c, "%s is written %s", sign+c.Name, strings.Join(spec.Forms(), " or "))
	}
	return nil
}

// begin does what a cell magic does before the steps. Done is to be called behind them.
func (s *steps) begin() (done func(), err error) {
	h := s.cell.Head
	if h == nil {
		return func() {}, nil
	}
	switch h.Name {
	case "time":
		s.meter = &meter{}
	case "native", "interp":
		before := s.mode.get()
		if err := s.SetEngine(h.Name); err != nil {
			return nil, fail(h, "%v", err)
		}
		return func() { s.mode.set(before) }, nil
	}
	return func() {}, nil
}

func (s *steps) print(format string, args ...any) { fmt.Fprintf(cellio.Stdout, format, args...) }
