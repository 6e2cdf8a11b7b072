// Package plan is a query as data: sources, expressions, operators and sinks, with no function hidden inside. An engine runs it, Explain
// prints it, and two plans can be compared.
package plan

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"cancha/stream/internal/value"
)

// Plan is a query.
type Plan struct {
	Name    string
	Input   Input
	Steps   []Step
	Output  string        // append, update or complete
	Trigger time.Duration // how long changed rows may wait for others; 0: as soon as nothing more is there to be read
	Limit   int64         // records; 0: no end
	MaxTime time.Duration // of the clock; 0: no end
	Now     bool          // it ends with what the sources held when they were opened
	Sinks   []string
	Outlets []Outlet // what another engine has to know of Sinks; those of dead letters are not among them
	// Checkpoint is where snapshots are kept; empty: nowhere.
	Checkpoint string
	Epoch      time.Duration // between snapshots
}

// Input is what a query reads.
type Input struct {
	Source    string
	Identity  string // what is read, wherever it is; empty: Source
	Format    string
	EventTime Expr // none: the record's own time stamp
	Delay     time.Duration
	IdleAfter time.Duration
	MaxAhead  time.Duration
	KeyedBy   string // the path by which records are cut into partitions; empty: unknown
	Shape     Shape
	Kafka     *Kafka // nil: the source is none that another engine could read by itself
}

// Op names a step.
type Op string

// The steps of a plan.
const (
	Filter      Op = "filter"
	Require     Op = "require"
	With        Op = "with"
	Select      Op = "select"
	Drop        Op = "drop"
	Explode     Op = "explode"
	MapFunc     Op = "map func"
	FilterFunc  Op = "filter func"
	Aggregation Op = "aggregate"
	Deduplicate Op = "deduplicate"
	Union       Op = "union"
	Join        Op = "join"
	Lookup      Op = "lookup"
	Process     Op = "process"
	Records     Op = "process records"
	Top         Op = "top"
)

// Step is one operator. Which fields count depends on Op.
type Step struct {
	Op         Op
	Expr       Expr     // of filter, with
	Name       string   // the column of with, explode; the function of map, process; the table of lookup
	Path       string   // of explode, require
	Kinds      []Kind   // of require
	Columns    []string // of select, drop; read by functions
	Keys       []string // of aggregate, deduplicate, process, top
	Window     Window
	Aggregates []Aggregate
	Other      *Plan // of union, join
	Join       JoinSpec
	N          int  // of top
	Descending bool // of top
	Ties       bool // of top: rows equal to the last one stay
	TimeToLive time.Duration
	Adds       []string // columns that a function gives
	// Holds is what the columns are that a process gives, or the table of a lookup has, each with its kind: "total: a number". Explain leaves it out.
	Holds []string
	Table *Table // the rows of a lookup in fixed ones, which the plan shares; Explain leaves them out
}

// Window says which spans of event time rows are grouped by.
type Window struct {
	Kind  string // tumbling, sliding, session; empty: none
	Width time.Duration
	Step  time.Duration // of sliding
	Gap   time.Duration // of session
}

// JoinSpec is the condition of a join of two streams.
type JoinSpec struct {
	Kind          string   // inner, left, full
	Left, Right   []string // columns that are equal, pairwise
	Before, After time.Duration
}

func (w Window) String() string {
	switch w.Kind {
	case "":
		return "no window"
	case "sliding":
		return fmt.Sprintf("sliding %v every %v", w.Width, w.Step)
	case "session":
		return fmt.Sprintf("session with gaps of %v", w.Gap)
	}
	return fmt.Sprintf("%s %v", w.Kind, w.Width)
}

// Equal tells whether two plans compute the same in the same way.
func (p *Plan) Equal(o *Plan) bool { return reflect.DeepEqual(p, o) }

// String writes the plan as a tree, its source at the bottom as in Spark's explain.
func (p *Plan) String() string {
	var b strings.Builder
	p.write(&b, "")
	return b.String()
}

func (p *Plan) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s: output %s", indent, p.Name, p.Output)
	if p.Trigger > 0 {
		fmt.Fprintf(b, " every %v", p.Trigger)
	}
	if p.Limit > 0 {
		fmt.Fprintf(b, ", %d records", p.Limit)
	}
	if p.MaxTime > 0 {
		fmt.Fprintf(b, ", for %v", p.MaxTime)
	}
	if p.Now {
		b.WriteString(", what is available now")
	}
	if p.Checkpoint != "" {
		fmt.Fprintf(b, ", checkpoint %s every %v", p.Checkpoint, p.Epoch)
	}
	b.WriteByte('\n')
	for _, s := range p.Sinks {
		fmt.Fprintf(b, "%s→ %s\n", indent, s)
	}
	for i := len(p.Steps) - 1; i >= 0; i-- {
		indent += "  "
		fmt.Fprintf(b, "%s%s\n", indent, p.Steps[i])
		if other := p.Steps[i].Other; other != nil {
			other.write(b, indent+"  │ ")
		}
	}
	fmt.Fprintf(b, "%s  %s\n", indent, p.Input)
}

func (i Input) String() string {
	s := "read " + i.Source + " as " + i.Format
	if i.EventTime.None() {
		s += ", event time: the record's time stamp"
	} else {
		s += ", event time: " + i.EventTime.String()
	}
	s += fmt.Sprintf(", watermark %v behind", i.Delay)
	if i.KeyedBy != "" {
		s += ", keyed by " + i.KeyedBy
	}
	return s
}

// String writes the step in one line.
func (s Step) String() string {
	switch s.Op {
	case Filter:
		return "filter " + s.Expr.String()
	case With:
		return fmt.Sprintf("with %s = %s", s.Name, s.Expr)
	case Select, Drop:
		return fmt.Sprintf("%s %s", s.Op, strings.Join(s.Columns, ", "))
	case Require:
		return fmt.Sprintf("require %s: %s", s.Path, s.Wanted())
	case Explode:
		return fmt.Sprintf("explode %s as %s", s.Path, s.Name)
	case Aggregation:
		return s.aggregation()
	case Deduplicate:
		return fmt.Sprintf("deduplicate by %s%s", strings.Join(s.Keys, ", "), s.life())
	case Join:
		return fmt.Sprintf("%s join on %s, from %v before to %v after", s.Join.Kind, s.pairs(), s.Join.Before, s.Join.After)
	case Lookup:
		return fmt.Sprintf("%s lookup in %s on %s", s.Join.Kind, s.Name, s.pairs())
	case Top:
		return s.top()
	case Union:
		return "union"
	case MapFunc, FilterFunc, Process, Records:
		return s.function()
	}
	return string(s.Op)
}

// Wanted says of a require which kinds of values it lets through: "an integer or a text".
func (s Step) Wanted() string {
	kinds := make([]string, len(s.Kinds))
	for i, k := range s.Kinds {
		kinds[i] = k.String()
		if k == value.JSON {
			kinds[i] = "an object or an array"
		}
	}
	return strings.Join(kinds, " or ")
}

func (s Step) aggregation() string {
	parts := make([]string, len(s.Aggregates))
	for i, a := range s.Aggregates {
		parts[i] = a.String()
	}
	by := "all rows"
	if len(s.Keys) > 0 {
		by = "by " + strings.Join(s.Keys, ", ")
	}
	return fmt.Sprintf("aggregate %s, %s%s: %s", by, s.Window, s.life(), strings.Join(parts, "; "))
}

func (s Step) life() string {
	if s.TimeToLive == 0 {
		return ""
	}
	return fmt.Sprintf(", kept %v", s.TimeToLive)
}

func (s Step) pairs() string {
	pairs := make([]string, len(s.Join.Left))
	for i := range pairs {
		if pairs[i] = s.Join.Left[i]; i < len(s.Join.Right) && s.Join.Right[i] != s.Join.Left[i] {
			pairs[i] += " = " + s.Join.Right[i]
		}
	}
	return strings.Join(pairs, ", ")
}

func (s Step) top() string {
	order, ties := "least", ""
	if s.Descending {
		order = "greatest"
	}
	if s.Ties {
		ties = ", ties stay"
	}
	by := ""
	if len(s.Keys) > 0 {
		by = " per " + strings.Join(s.Keys, ", ")
	}
	return fmt.Sprintf("the %d %s by %s%s%s", s.N, order, s.Name, by, ties)
}

func (s Step) function() string {
	t := string(s.Op) + " " + s.Name
	if len(s.Keys) > 0 {
		t += " by " + strings.Join(s.Keys, ", ")
	}
	if len(s.Columns) > 0 {
		t += " of " + strings.Join(s.Columns, ", ")
	}
	if len(s.Adds) > 0 {
		t += " → " + strings.Join(s.Adds, ", ")
	}
	return t + s.life()
}

// Same returns what must be the same in another plan for it to go on from where this one has come: the sources, the steps and their order, line by
// line. Name, sinks, limits and times of output may differ, and what no state depends on: IdleAfter, MaxAhead, the rows of a table. What a function does is
// known by its name alone.
func (p *Plan) Same() []string {
	lines := []string{p.Input.same() + ", output " + p.Output}
	for _, s := range p.Steps {
		lines = append(lines, s.same())
		if s.Other != nil {
			for _, line := range s.Other.Same() {
				lines = append(lines, "│ "+line)
			}
		}
	}
	return lines
}

func (i Input) same() string {
	if i.Identity != "" {
		i.Source = i.Identity
	}
	return i.String()
}

// same is the step in one line, with what its columns hold.
func (s Step) same() string {
	if len(s.Holds) == 0 {
		return s.String()
	}
	return fmt.Sprintf("%s (%s)", s, strings.Join(s.Holds, ", "))
}
