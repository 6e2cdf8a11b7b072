package eval

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"cancha/internal/cellio"
	"cancha/kernel/eval/check"
)

// who lists the names that there are where it stands.
func (s *steps) who() (func() error, error) {
	var names []string
	for _, d := range s.scope.Declared() {
		names = append(names, d.Name)
	}
	return func() error {
		if len(names) == 0 {
			s.print("no names are declared\n")
			return nil
		}
		s.print("%s\n", strings.Join(names, "  "))
		return nil
	}, nil
}

// shortWidth is how many characters of a type and of a value %whos shows.
const shortWidth = 48

// whos lists them with type, value and cell.
func (s *steps) whos() (func() error, error) {
	list := s.scope.Declared()
	values := s.values(list)
	return func() error {
		if len(list) == 0 {
			s.print("no names are declared\n")
			return nil
		}
		table := tabwriter.NewWriter(cellio.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "Name\tType\tValue\tCell")
		fmt.Fprintln(table, "----\t----\t-----\t----")
		shown := values()
		for _, d := range list {
			typ, value := d.Type, shown[d.Name]
			if d.Kind == "type" {
				typ, value = "type", d.Type
			}
			value = strings.TrimPrefix(value, typ+" ") // of an old type
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", d.Name, cutLine(typ), cutLine(value), strings.TrimPrefix(d.Cell, "cell "))
		}
		return table.Flush()
	}, nil
}

// values compiles an expression of all variables and constants. The function that it returns, to be called in the cell, gives
// their values in short. What cannot be put into an interface is left out.
func (s *steps) values(list []check.Declared) (read func() map[string]string) {
	var names []string
	for _, d := range list {
		if d.Kind == "variable" || d.Kind == "constant" {
			names = append(names, d.Name)
		}
	}
	if run, err := s.valuesOf(names); err == nil {
		return run
	}
	var single []func() map[string]string
	for _, name := range names {
		if run, err := s.valuesOf([]string{name}); err == nil {
			single = append(single, run)
		}
	}
	return func() map[string]string {
		all := map[string]string{}
		for _, run := range single {
			for name, text := range run() {
				all[name] = text
			}
		}
		return all
	}
}

// valuesOf compiles the reading of some names.
func (s *steps) valuesOf(names []string) (read func() map[string]string, err error) {
	if len(names) == 0 {
		return func() map[string]string { return nil }, nil
	}
	run, _, err := s.piece("[]interface{}{"+strings.Join(names, ", ")+"}", false)
	if err != nil {
		return nil, err
	}
	return func() map[string]string {
		run()
		texts := map[string]string{}
		shown := s.machine.Shown(s.request.Cell)
		if len(shown) != 1 {
			return texts
		}
		values, _ := shown[0].([]interface{})
		for i, v := range values {
			texts[names[i]] = s.machine.Short(v, shortWidth)
			if typ, old := s.machine.OldName(v); old {
				texts[names[i]] = typ + " " + texts[names[i]]
			}
		}
		return texts
	}, nil
}

// cutLine shortens a text to one line of a table.
func cutLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > shortWidth {
		return string(r[:shortWidth-1]) + "…"
	}
	return text
}
