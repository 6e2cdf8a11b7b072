package flow

import (
	"cmp"
	"fmt"
	"time"

	"cancha/internal/jsontext"
	"cancha/stream/internal/decode"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// Env is what the operators of one lane, or of the part that lanes share, tell their query.
type Env struct {
	Filtered, Late int64
	LateBy         Lateness
	By             int64  // by how much the latest late row was late
	Bad            string // the reason why the row in hand is bad; empty: it is not
	Err            error  // the first error of a function; it ends the query
	// Reject, unless nil, takes the reasons in place of Bad: behind the lanes there is no record in hand.
	Reject func(reason string)
	// Mark is the watermark of the partition that the row in hand has come from, as its record met it; of a row that a timer gives out, how far event time had
	// come for its key. While Marked is not set the row in hand is neither, but one that an operator gives out as time goes on.
	Mark   int64
	Marked bool
	Hold   int64 // by how much rows can be behind Mark where the row in hand is
	// Tombstone is set while the row in hand is of a record without a value that deletes a row of a table. Filters let it pass, as far as they ask for values:
	// it has none, and the row would stay (see Layout.may).
	Tombstone bool
	// Compared is what comparisons of expressions have met.
	Compared []*eval.Compared
}

// passed is how far event time has come for the row in hand: what its own partition had shown when its record came, or the operator's watermark, which is
// behind that unless the partition was idle. So what is late follows from the order of the records in their partition, whatever the others have shown by then.
func (e *Env) passed(watermark int64) int64 {
	if e.Marked {
		return max(watermark, earlier(e.Mark, e.Hold))
	}
	return watermark
}

// as runs f, which gives out rows at an operator with a hold for which event time has come to a mark there.
func (e *Env) as(mark, hold int64, f func() error) error {
	before, marked, held := e.Mark, e.Marked, e.Hold
	e.Mark, e.Marked, e.Hold = later(mark, hold), true, hold
	err := f()
	e.Mark, e.Marked, e.Hold = before, marked, held
	return err
}

// LateBounds are the times by which late rows are told apart.
var LateBounds = [...]time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// Lateness counts late rows by how late they were: less than each of LateBounds, and more.
type Lateness [len(LateBounds) + 1]int64

// Add counts a row whose time the watermark had passed by so many nanoseconds.
func (l *Lateness) Add(by int64) {
	k := 0
	for k < len(LateBounds) && by >= int64(LateBounds[k]) {
		k++
	}
	l[k]++
}

// late counts a row that came when the watermark had passed its time by so many nanoseconds.
func (e *Env) late(by int64) {
	e.Late++
	e.By = max(0, by)
	e.LateBy.Add(by)
}

func (e *Env) reject(reason string) {
	if e.Reject != nil {
		e.Reject(reason)
		return
	}
	e.Bad = reason
}

// rows runs the n rows that one row has become. One that is bad is left out by itself, and the record's reason is that of the first.
func (e *Env) rows(n int, run func(k int)) {
	first := ""
	for k := 0; k < n && e.Err == nil; k++ {
		e.Bad = ""
		run(k)
		first = cmp.Or(first, e.Bad)
	}
	e.Bad = first
}

// Fatal is an error of a function that ends the query instead of making the record in hand a bad one.
type Fatal struct{ Err error }

func (f Fatal) Error() string { return f.Err.Error() }

// refuse takes the error of a function.
func (e *Env) refuse(name string, err error) {
	if fatal, ok := err.(Fatal); ok {
		e.fail(fatal.Err)
		return
	}
	e.reject(name + ": " + err.Error())
}

// spares tells whether an error of a function says no more than that a tombstone has no values: the column is absent then, and the row is deleted all the same.
func (e *Env) spares(err error) bool {
	_, fatal := err.(Fatal)
	return e.Tombstone && !fatal
}

func (e *Env) fail(err error) {
	if e.Err == nil {
		e.Err = err
	}
}

// Step is a step of a plan with the function that it names, if any.
type Step struct {
	plan.Step
	Func any // of map func: func([]value.Value) (value.Value, error); of filter func: func([]value.Value) (bool, error)
}

// Wrap puts an operator in front of what takes its rows.
type Wrap func(next func(row Row)) func(row Row)

// Stateless compiles an operator without memory and changes the layout as it does. It is nil for operators that only change names, and
// false for those with memory.
func (l *Layout) Stateless(s Step, env *Env) (w Wrap, ok bool, err error) {
	switch s.Op {
	case plan.Filter:
		w, err = l.filter(s, env)
	case plan.Require:
		w, err = l.require(s, env)
	case plan.With:
		w, err = l.with(s)
	case plan.Select:
		err = l.Select(s.Columns)
	case plan.Drop:
		err = l.Drop(s.Columns)
	case plan.Explode:
		w, err = l.explode(s, env)
	case plan.MapFunc:
		w, err = l.mapFunc(s, env)
	case plan.FilterFunc:
		w, err = l.filterFunc(s, env)
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", s.Step, err)
	}
	return w, true, nil
}

func (l *Layout) filter(s Step, env *Env) (Wrap, error) {
	yes, err := eval.Condition(s.Expr, l)
	if err != nil || yes == nil {
		return nil, err
	}
	may, err := l.may(s.Expr)
	if err != nil {
		return nil, err
	}
	return func(next func(row Row)) func(row Row) {
		return func(row Row) {
			if !env.Tombstone && yes(row) || env.Tombstone && may(row) {
				next(row)
				return
			}
			env.Filtered++
		}
	}, nil
}

// require refuses what is of other kinds than are wanted at a path.
func (l *Layout) require(s Step, env *Env) (Wrap, error) {
	n, err := l.Field(s.Path, value.Any)
	if err != nil {
		return nil, err
	}
	passes := decode.Kinds(s.Kinds...)
	refusal := s.Path + ": want " + s.Wanted() + ", got "
	return func(next func(row Row)) func(row Row) {
		return func(row Row) {
			if v := n.Value(row); !passes.Has(v) {
				env.reject(refusal + decode.Describe(v))
				return
			}
			next(row)
		}
	}, nil
}

// with adds a column. One that is a path and nothing else is only a name for it.
func (l *Layout) with(s Step) (Wrap, error) {
	if s.Name == "" {
		return nil, fmt.Errorf("stream: a column without a name")
	}
	if b, ok := l.alias(s.Expr); ok {
		l.name(s.Name, b)
		return nil, nil
	}
	n, err := eval.Compile(s.Expr, l, value.Any)
	if err != nil {
		return nil, err
	}
	at := l.place()
	l.name(s.Name, binding{at: at, kind: n.Kind, beside: l.computedBeside(s.Expr)})
	return func(next func(row Row)) func(row Row) {
		return func(row Row) {
			row[at] = n.Value(row)
			next(row)
		}
	}, nil
}

// explode gives each element of an array a row.
func (l *Layout) explode(s Step, env *Env) (Wrap, error) {
	n, err := l.Field(s.Path, value.Any)
	if err != nil {
		return nil, err
	}
	e := &elements{name: s.Name}
	l.elements = append(l.elements, e)
	var d *decode.JSON
	var values Row // of all elements: one that cannot be read makes the whole record bad, and none of the others counts
	return func(next func(row Row)) func(row Row) {
		return func(row Row) {
			if d == nil { // all that is read of an element is known once the first row comes
				if d, err = decode.NewJSON(e.slots, decode.Shape{}); err != nil {
					env.fail(err)
					return
				}
			}
			v := n.Value(row)
			if v.IsNull() && env.Tombstone {
				env.reject("a tombstone deletes nothing here: it has no " + s.Path + ", whose elements are the table's rows")
				return
			}
			if v.IsNull() {
				return
			}
			if text := v.Text(); v.Kind() != value.JSON || text[0] != '[' {
				env.reject(s.Path + ": want an array, got " + v.Kind().String())
				return
			}
			values = values[:0]
			count, reason := 0, ""
			each(decode.Bytes(v.Text()), func(element []byte) bool {
				for _, slot := range e.slots {
					row[slot.At] = value.Value{}
				}
				if len(e.slots) > 0 { // what nothing is read of may be anything
					reason = d.Decode(element, row)
				}
				for _, slot := range e.slots {
					values = append(values, row[slot.At])
				}
				count++
				return reason == ""
			})
			if reason != "" {
				env.reject(s.Name + ": " + reason)
				return
			}
			env.rows(count, func(k int) {
				for i, slot := range e.slots {
					row[slot.At] = values[k*len(e.slots)+i]
				}
				next(row)
			})
		}
	}, nil
}

// each calls f with each element of an array, whose text was scanned before, until it says no.
func each(array []byte, f func(element []byte) bool) {
	i := jsontext.SkipSpace(array, 1)
	for i < len(array) && array[i] != ']' {
		end := jsontext.SkipValue(array, i, 0)
		if end < 0 || !f(array[i:end]) { // an element that does not end is not possible: the array was scanned
			return
		}
		if i = jsontext.SkipSpace(array, end); i < len(array) && array[i] == ',' {
			i = jsontext.SkipSpace(array, i+1)
		}
	}
}

func (l *Layout) mapFunc(s Step, env *Env) (Wrap, error) {
	_, read, err := l.Read(s.Columns)
	if err != nil {
		return nil, err
	}
	f := s.Func.(func([]value.Value) (value.Value, error))
	at := l.place()
	l.name(s.Name, binding{at: at, kind: value.Any, beside: l.allBeside(s.Columns)})
	args := make(Row, 0, len(s.Columns))
	return func(next func(row Row)) func(row Row) {
		return func(row Row) {
			args = read(args[:0], row)
			v, err := f(args)
			switch {
			case err != nil && env.spares(err):
				v = value.Value{}
			case err != nil:
				env.refuse(s.Name, err)
				return
			}
			row[at] = v
			next(row)
		}
	}, nil
}

func (l *Layout) filterFunc(s Step, env *Env) (Wrap, error) {
	_, read, err := l.Read(s.Columns)
	if err != nil {
		return nil, err
	}
	f := s.Func.(func([]value.Value) (bool, error))
	args, decides := make(Row, 0, len(s.Columns)), l.allBeside(s.Columns)
	return func(next func(row Row)) func(row Row) {
		return func(row Row) {
			if env.Tombstone && !decides {
				next(row)
				return
			}
			args = read(args[:0], row)
			yes, err := f(args)
			switch {
			case err != nil:
				env.refuse(s.Name, err)
			case yes:
				next(row)
			default:
				env.Filtered++
			}
		}
	}, nil
}

// Chain is the operators of a segment, one after another, in front of its end.
func Chain(wraps []Wrap, end func(row Row)) func(row Row) {
	for i := len(wraps) - 1; i >= 0; i-- {
		if wraps[i] != nil {
			end = wraps[i](end)
		}
	}
	return end
}
