package eval

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"cancha/internal/cellio"
	"cancha/internal/master"
	"cancha/kernel/eval/magic"
	"cancha/kernel/eval/tester"
)

// commands are the magics that need nothing compiled.
func commands() map[string]func(*steps, *magic.Command) error {
	return map[string]func(*steps, *magic.Command) error{
		"cd": (*steps).cd, "engine": (*steps).engine, "env": (*steps).env, "errors": (*steps).takeErrors, "get": (*steps).get, "help": (*steps).help,
		"lsmagic": (*steps).lsmagic, "pwd": (*steps).pwd, "reset": (*steps).reset, "streams": (*steps).streams, "writefile": (*steps).writefile,
	}
}

// arguments checks, before anything of a cell runs, arguments of which that can be said.
func arguments(c *magic.Command) error {
	spec, _ := magic.Lookup(c.Name)
	switch {
	case c.Name == "get" && c.Args == "", c.Name == "writefile" && writePath(c.Args) == "":
		return fail(c, "usage: %s", strings.ReplaceAll(spec.Usage, "\n", " or "))
	case c.Name == "reset" && c.Args == "-f", c.Name == "timeit" || c.Name == "time" && c.Kind == magic.Line:
		return nil
	case c.Name == "streams":
		return isStreams(c)
	case isTest(c.Name):
		_, flags, err := testFlags(c)
		if err == nil {
			err = tester.Check(flags)
		}
		if err != nil {
			return fail(c, "%s: %v", spec.Forms()[0], err)
		}
	case spec.Argument == magic.None && c.Args != "", c.Name == "time" && c.Args != "":
		return fail(c, "%s takes no arguments", spec.Forms()[0])
	}
	return nil
}

func (s *steps) pwd(c *magic.Command) error {
	dir, err := os.Getwd()
	if err != nil {
		return fail(c, "%%pwd: %v", err)
	}
	s.print("%s\n", dir)
	return nil
}

// cd changes the directory of the process: that of all cells and of the commands that they start.
func (s *steps) cd(c *magic.Command) error {
	before, err := os.Getwd()
	if err != nil {
		before = "" // removed meanwhile
	}
	dir := c.Args
	switch {
	case dir == "":
		dir = "~"
	case dir == "-" && s.lastDir == "":
		return fail(c, "%%cd -: there was no directory before")
	case dir == "-":
		dir = s.lastDir
	}
	if err := os.Chdir(expandHome(dir)); err != nil {
		return fail(c, "%%cd %s: %v", c.Args, cause(err))
	}
	s.lastDir = before
	return s.pwd(c)
}

// expandHome puts the home directory in the place of a leading ~.
func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// cause leaves out what a file's error repeats of the command.
func cause(err error) error {
	if e := new(os.PathError); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// secret reports whether a variable has a value that has no place in a notebook.
func secret(name string) bool {
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSW"}, func(word string) bool { return strings.Contains(strings.ToUpper(name), word) })
}

// withToken reports whether a value, such as a master of Spark (sc://…;token=…), has a secret in it. Other parameters of a master are hidden as it is printed.
func withToken(value string) bool { return strings.Contains(strings.ToLower(value), "token=") }

func (s *steps) env(c *magic.Command) error {
	name, value, set := strings.Cut(c.Args, "=")
	if !set || strings.ContainsAny(strings.TrimSpace(name), " \t") { // NAME value, in which there may be a =
		name, value, set = strings.Cut(strings.TrimSpace(c.Args), " ")
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case set:
		if err := os.Setenv(name, value); err != nil {
			return fail(c, "%%env %s: %v", c.Args, errors.Unwrap(err))
		}
		s.print("env: %s=%s\n", name, master.HideIn(value))
	case name != "":
		value, ok := os.LookupEnv(name)
		if !ok {
			return fail(c, "%%env %s: there is no such environment variable", name)
		}
		s.print("%s\n", master.HideIn(value))
	default:
		all := os.Environ()
		slices.Sort(all)
		for _, pair := range all {
			if name, value, _ := strings.Cut(pair, "="); secret(name) || withToken(value) {
				pair = name + "=<hidden>"
			}
			s.print("%s\n", master.HideIn(pair))
		}
	}
	return nil
}

func (s *steps) lsmagic(*magic.Command) error {
	var line, whole []string
	for _, spec := range magic.All() {
		if spec.Line {
			line = append(line, "%"+spec.Name)
		}
		if spec.Whole {
			whole = append(whole, "%%"+spec.Name)
		}
	}
	s.print("Line magics:\n%s\n\nCell magics:\n%s\n\n!command is for the shell, ?name explains a name; %%help says more.\n", strings.Join(line, "  "), strings.Join(whole, "  "))
	return nil
}

func (s *steps) help(c *magic.Command) error {
	if name := strings.TrimLeft(c.Args, "%"); name != "" {
		spec, ok := magic.Lookup(name)
		if !ok {
			return form(&magic.Command{Kind: magic.Line, Name: name, Start: c.Start})
		}
		s.print("%s\n", spec.Text())
		return nil
	}
	table := tabwriter.NewWriter(cellio.Stdout, 0, 0, 2, ' ', 0)
	for _, spec := range magic.All() {
		for i, usage := range strings.Split(spec.Usage, "\n") {
			fmt.Fprintf(table, "%s\t%s\n", usage, []string{spec.Brief, ""}[min(i, 1)])
		}
	}
	fmt.Fprintf(table, "!COMMAND\trun a line with sh\n?NAME\texplain a name; ?? shows its source too\n")
	return table.Flush()
}

func (s *steps) reset(*magic.Command) error {
	s.scope.Reset()
	s.session.forget()
	s.print("all names are forgotten; what runs in the background goes on\n")
	return nil
}

func (s *steps) engine(c *magic.Command) error {
	if c.Args != "" {
		if err := s.SetEngine(c.Args); err != nil {
			return fail(c, "%%engine: %v", err)
		}
	}
	mode, reason := s.Engine()
	s.print("%s: %s\n", mode, reason)
	return nil
}

func (s *steps) takeErrors(c *magic.Command) error {
	if c.Args != "" {
		if err := s.SetErrors(c.Args); err != nil {
			return fail(c, "%%errors: %v", err)
		}
	}
	mode, meaning := s.Errors()
	s.print("%s: %s\n", mode, meaning)
	return nil
}

func (s *steps) get(c *magic.Command) error {
	if err := s.getAll(cellio.CurrentRun().Context(), c.Args, s.task); err != nil {
		s.machine.Check() // after an interrupt it does not return
		return fail(c, "%v", err)
	}
	return nil
}

// writePath is the file in the arguments of %%writefile.
func writePath(args string) string {
	rest, _ := strings.CutPrefix(args, "-a")
	if rest != args && rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		rest = args // a file called -about
	}
	return strings.TrimSpace(rest)
}

func (s *steps) writefile(c *magic.Command) error {
	path, add := writePath(c.Args), writePath(c.Args) != c.Args
	name := expandHome(path)
	mode, verb := os.O_TRUNC, "Overwriting"
	if add {
		mode, verb = os.O_APPEND, "Appending to"
	}
	if _, err := os.Stat(name); err != nil {
		verb = "Writing"
	}
	body := s.cell.Body
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n" // front ends send none for the last line
	}
	if err := write(name, mode, body); err != nil {
		return fail(c, "%%%%writefile %s: %v", path, cause(err))
	}
	s.print("%s %s\n", verb, path)
	return nil
}

func write(name string, mode int, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
