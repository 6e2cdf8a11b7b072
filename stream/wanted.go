package stream

import (
	"fmt"
	"slices"

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
	var w plan.Paths
	for _, s := range steps {
		if w.Take(s.Step) {
			return w.Names, nil
		}
		gives, err := s.gives()
		if err != nil {
			return nil, err
		}
		for _, c := range gives {
			if (w.Given(c.Name) || l.Given(c.Name)) && !s.joinsBy(c.Name) {
				return nil, fmt.Errorf("%s: %w", s.Step, flow.BothHave(c.Name))
			}
			w.Give(c.Name)
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
