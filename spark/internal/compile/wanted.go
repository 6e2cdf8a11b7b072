package compile

import (
	"errors"
	"slices"
	"strings"

	"cancha/stream/plan"
)

// wanted are the columns that steps need of rows that come to them: all that there are, or of records the paths that are named before a step
// has given them.
func (l *layout) wanted(steps []plan.Step) ([]string, error) {
	if !l.open {
		return slices.Clone(l.columns), nil
	}
	w := wants{defined: map[string]bool{}}
	for _, s := range steps {
		if w.take(s) {
			return w.names, nil
		}
		gives, err := l.gives(s)
		if err != nil {
			return nil, err
		}
		for _, name := range gives {
			w.defined[name] = true
		}
	}
	return nil, errors.New("spark: records have no columns yet; add .Select with the paths to give out")
}

// gives are the columns that a join or a lookup brings from its other side. They are compiled on trial, which leaves no trace.
func (l *layout) gives(s plan.Step) ([]string, error) {
	switch {
	case s.Op == plan.Lookup && s.Table != nil:
		return s.Table.Names, nil
	case s.Other == nil || s.Op != plan.Lookup && s.Op != plan.Join:
		return nil, nil
	}
	trial := &compiler{options: l.options, mode: "append", taken: map[string]bool{}, table: s.Op == plan.Lookup}
	other, err := trial.other(s.Other)
	if err != nil {
		return nil, err
	}
	return other.columns, nil
}

// wants collects the fields that steps name before any of them gives them.
type wants struct {
	names   []string
	defined map[string]bool
}

func (w *wants) field(path string) {
	for name := range w.defined {
		if rest, ok := strings.CutPrefix(path, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	if !slices.Contains(w.names, path) {
		w.names = append(w.names, path)
	}
}

func (w *wants) fields(paths ...[]string) {
	for _, list := range paths {
		for _, path := range list {
			w.field(path)
		}
	}
}

// take notes what a step names; it is true for a step behind which nothing but what it names is left.
func (w *wants) take(s plan.Step) bool {
	s.Expr.Fields(w.field)
	for _, a := range s.Aggregates {
		a.Expr.Fields(w.field)
		a.Condition.Fields(w.field)
	}
	w.fields(s.Keys, s.Join.Left)
	switch s.Op {
	case plan.Select:
		w.fields(s.Columns)
	case plan.Explode:
		w.field(s.Path)
		w.defined[s.Name] = true
	case plan.With:
		w.defined[s.Name] = true
	case plan.Top:
		w.field(s.Name)
	}
	return s.Op == plan.Select || s.Op == plan.Aggregation
}
