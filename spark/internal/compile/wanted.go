package compile

import (
	"errors"
	"slices"

	"cancha/stream/plan"
)

// wanted are the columns that steps need of rows that come to them: all that there are, or of records the paths that are named before a step
// has given them.
func (l *layout) wanted(steps []plan.Step) ([]string, error) {
	if !l.open {
		return slices.Clone(l.columns), nil
	}
	var w plan.Paths
	for _, s := range steps {
		if w.Take(s) {
			return w.Names, nil
		}
		gives, err := l.gives(s)
		if err != nil {
			return nil, err
		}
		for _, name := range gives {
			w.Give(name)
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
