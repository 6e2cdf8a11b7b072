package stream

import (
	"fmt"
	"slices"
	"strings"

	"cancha/stream/internal/flow"
	"cancha/stream/plan"
)

// wanted are the columns that steps need of rows that come to them.
func wanted(l *flow.Layout, steps []step) ([]string, error) {
	if columns, err := l.Columns(); err == nil {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = c.Name
		}
		return names, nil
	}
	w := wants{defined: map[string]bool{}}
	for _, s := range steps {
		if w.take(s) {
			return w.names, nil
		}
		gives, err := s.gives()
		if err != nil {
			return nil, err
		}
		for _, c := range gives {
			if (w.defined[c.Name] || l.Given(c.Name)) && !s.joinsBy(c.Name) {
				return nil, fmt.Errorf("%s: %w", s.Step, flow.BothHave(c.Name))
			}
			w.defined[c.Name] = true
		}
	}
	_, err := l.Columns()
	return nil, err
}

// gives are the columns that a join or a lookup brings from its other side.
func (s step) gives() ([]Column, error) {
	switch {
	case s.Op == plan.Lookup && s.table.query == nil:
		return s.table.rows.Columns, nil
	case s.Op == plan.Lookup || s.Op == plan.Join && s.other != nil:
		g, err := s.other.build()
		if err != nil {
			return nil, err
		}
		return g.columns, nil
	}
	return nil, nil
}

// joinsBy tells whether a column of this name is joined by on both sides: the rows have it once.
func (s step) joinsBy(name string) bool {
	k := slices.Index(s.Join.Right, name)
	return k >= 0 && s.Join.Left[k] == name
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
func (w *wants) take(s step) bool {
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
	case plan.FilterFunc, plan.Process:
		w.fields(s.Columns)
	case plan.MapFunc:
		w.fields(s.Columns)
		w.defined[s.Name] = true
	case plan.Top:
		w.field(s.Name)
	}
	return s.Op == plan.Select || s.Op == plan.Aggregation || s.Op == plan.Process
}
