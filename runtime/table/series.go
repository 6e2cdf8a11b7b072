package table

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Series is a named column to make a table of, for whoever has columns and not rows.
type Series struct {
	Name string
	// Values are []int64, []float64, []string, []bool, []time.Time or []time.Duration, which become columns of that type, or []any, whose values
	// decide as those of Of do; a nil among them is missing. The table keeps the slice: do not change it.
	Values any
	// Missing tells which values are missing, one for each; nil: none, or those of []any that are nil.
	Missing []bool
}

// New makes a table of columns. Columns of different lengths, two of one name, and values that are no such slice are errors.
func New(series ...Series) (*Table, error) {
	t := &Table{}
	for i, s := range series {
		c, err := s.column()
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.Columns(), s.Name) {
			return nil, fmt.Errorf("table: two columns are called %q: give one another name", s.Name)
		}
		if i > 0 && c.length != t.rows {
			return nil, fmt.Errorf("table: column %q has %d values where %q has %d", s.Name, c.length, series[0].Name, t.rows)
		}
		t.columns, t.rows = append(t.columns, c), c.length
	}
	return t, nil
}

func (s Series) column() (*column, error) {
	c := newColumn(s.Name, anything)
	switch v := s.Values.(type) {
	case []int64:
		c.kind, c.ints, c.length = integer, v, len(v)
	case []float64:
		c.kind, c.nums, c.length = float, v, len(v)
	case []string:
		c.kind, c.texts, c.length = text, v, len(v)
	case []bool:
		c.kind, c.others, c.length = boolean, boxes(v), len(v)
	case []time.Time:
		c.kind, c.others, c.length = instant, boxes(v), len(v)
	case []time.Duration:
		c.kind, c.others, c.length = span, boxes(v), len(v)
	case []any:
		c = collect(s.Name, len(v), func(i int) reflect.Value {
			if s.Missing != nil && i < len(s.Missing) && s.Missing[i] {
				return reflect.Value{}
			}
			return reflect.ValueOf(v[i])
		})
		return c, s.marked(c.length)
	default:
		return nil, fmt.Errorf("table: column %q has a %T: want []int64, []float64, []string, []bool, []time.Time, []time.Duration or []any", s.Name, v)
	}
	if slices.Contains(s.Missing, true) {
		c.missing = s.Missing
	}
	return c, s.marked(c.length)
}

// marked refuses marks of missing values that are not one for each.
func (s Series) marked(length int) error {
	if s.Missing != nil && len(s.Missing) != length {
		return fmt.Errorf("table: column %q has %d values and %d marks of missing ones", s.Name, length, len(s.Missing))
	}
	return nil
}

func boxes[T any](values []T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
