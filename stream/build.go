package stream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cancha/internal/callback"
	"cancha/stream/internal/eval"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
	"cancha/stream/plan"
)

// graph is a query that has been checked, in the form that it runs in: inputs, whose records lanes take through the steps without memory, and
// behind them the operators with memory, which all lanes share under one lock.
type graph struct {
	query    *Query
	inputs   []*input
	columns  []Column
	identity []int // in update and complete mode, the columns that tell rows apart
	united   bool  // there are rows of several queries

	timelines []*timeline // the query's own first
	now       *timeline   // of what is being built

	calls callback.Count // of what users have handed to the queries

	mu     sync.Mutex // guards what follows
	env    flow.Env
	ops    []stage // those that rows reach first come first
	merges []*merge
	tables []*flow.Table // that queries fill
	last   *flow.Groups  // the aggregation behind the lanes whose changes are given out; nil: there is none
	clocks []*flow.Processor
	unit   *unit   // whose rows are being made
	ready  []*unit // that have rows to be given out
	slab   []Value
}

// timeline is the inputs that have one watermark: those of a query and of all that are joined to it, or of a table. What a table holds does not wait
// for the query that looks it up, nor the other way round.
type timeline struct {
	inputs    []*input
	watermark int64 // the least of the inputs', which never goes back; Running.mu guards it
	advanced  int64 // up to which windows have been closed; graph.mu guards it, and drained
	drained   bool  // all inputs have ended, and what was left has been given out
	ops       int   // operators with memory behind the lanes
	merges    int   // aggregations in the lanes
	holds     bool  // a step holds rows back: not all of what has come has been given out
}

func (g *graph) timeline() *timeline {
	t := &timeline{watermark: flow.NoWatermark, advanced: flow.NoWatermark}
	g.timelines = append(g.timelines, t)
	return t
}

// stage is an operator with memory, and by how much the rows that come to it can be behind the watermark, in nanoseconds.
type stage struct {
	flow.Op
	hold int64
	on   *timeline
}

// input is a source with the steps that its lanes take.
type input struct {
	query *Query
	lead  []step // without memory
	waits []*input
	end   func(l *flow.Layout, n *lane) (func(row flow.Row), error)
	entry flow.Emit // takes what lanes have collected; nil where they keep windows
	merge *merge
	hold  time.Duration // by how much the rows can be behind the watermark, as far as its steps are built
	on    *timeline
	after []step // of other queries, which take its rows behind its own steps

	table    string // that its rows fill; empty: none
	deletes  bool   // tombstones delete rows of the table that its rows fill
	deleting bool   // the row in hand is of a tombstone; graph.mu guards it

	records *RecordProcessing // nil: records are decoded by the query's format
	calls   *callback.Count   // the graph's
}

// merge is an aggregation whose windows lie in the lanes of an input, in parts.
type merge struct {
	in       *input
	grouping *flow.Grouping
	keyed    bool   // each lane closes its own windows
	owners   owners // of the key that records are cut into partitions by, where keyed
	emit     flow.Emit
}

// tail makes what takes the rows of a query, once their columns are known.
type tail func(columns []Column) (flow.Emit, error)

// build checks the query and compiles it.
func (q *Query) build() (*graph, error) {
	g := &graph{query: q}
	g.now = g.timeline()
	if err := q.check(); err != nil {
		return nil, err
	}
	err := g.source(q, nil, func(columns []Column) (flow.Emit, error) {
		g.columns = columns
		return func(row flow.Row, _ int64) { g.put(g.kept(row)) }, nil
	})
	if err != nil {
		return nil, err
	}
	return g, g.checkMode()
}

// slabValues is how many values are made at once for rows. One that is kept keeps the others of its slab, which is why they are few.
const slabValues = 64

// put takes a row that is to be given out.
func (g *graph) put(row []Value) {
	if len(g.unit.out) == 0 {
		g.ready = append(g.ready, g.unit)
	}
	g.unit.out = append(g.unit.out, row)
}

// kept is a copy of a row. Rows that replace each other are kept one by one, and have no slab.
func (g *graph) kept(row flow.Row) []Value {
	if g.query.mode != Append || len(row) > slabValues/2 {
		g.slab = make([]Value, len(row))
	} else if len(g.slab) < len(row) {
		g.slab = make([]Value, slabValues)
	}
	kept := g.slab[:len(row):len(row)]
	g.slab = g.slab[len(row):]
	for i, v := range row {
		kept[i] = v.Clone()
	}
	return kept
}

// source builds a query's input and all its steps, whose rows go to end and through the steps after it.
func (g *graph) source(q *Query, after []step, end tail) error {
	in := &input{query: q, after: after, on: g.now, calls: &g.calls}
	g.inputs, g.now.inputs = append(g.inputs, in), append(g.now.inputs, in)
	first := 0
	for first < len(q.steps) && stateless(q.steps[first]) {
		first++
	}
	if first < len(q.steps) && q.steps[first].Op == plan.Records {
		return g.processed(in, q.steps[first:], end)
	}
	in.lead = q.steps[:first]
	rest := q.steps[first:]
	if len(rest) > 0 && rest[0].Op == plan.Aggregation && rest[0].Window.Kind != "session" {
		return g.inLanes(in, rest, end)
	}
	return g.collected(in, rest, end)
}

func stateless(s step) bool {
	return slices.Contains([]plan.Op{plan.Filter, plan.Require, plan.With, plan.Select, plan.Drop, plan.Explode, plan.MapFunc, plan.FilterFunc}, s.Op)
}

// inLanes lets each lane aggregate its own records; what follows takes the merged rows.
func (g *graph) inLanes(in *input, steps []step, end tail) error {
	s := steps[0].Step
	in.end = func(l *flow.Layout, n *lane) (func(row flow.Row), error) {
		grouping, err := flow.NewGrouping(s, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		n.windows = flow.NewWindows(grouping, &n.env, n.claim)
		return func(row flow.Row) { n.windows.Add(row, n.t, n.clock.Watermark) }, nil
	}
	probe, err := in.lane(0, nil)
	if err != nil {
		return err
	}
	m := &merge{in: in, grouping: probe.windows.Grouping}
	m.owners.key = slices.Index(s.Keys, in.query.keyedBy)
	m.keyed = in.query.keyedBy != "" && m.owners.key >= 0
	g.merges = append(g.merges, m)
	g.now.merges++
	in.merge, in.on.holds = m, true
	m.emit, err = g.chain(in, m.grouping.Columns, steps[1:], end)
	return err
}

// collected lets lanes collect rows, which the next step with memory takes.
func (g *graph) collected(in *input, steps []step, end tail) error {
	var columns []Column
	var behind []flow.Step
	for _, s := range slices.Concat(steps, in.after) {
		behind = append(behind, s.flow(&g.calls))
	}
	in.end = func(l *flow.Layout, n *lane) (func(row flow.Row), error) {
		names, err := wanted(l, steps)
		if err != nil {
			return nil, err
		}
		var read func(dst, row flow.Row) flow.Row
		if columns, read, err = l.Keep(names, l.Demands(names, behind)); err != nil {
			return nil, err
		}
		n.width = len(columns)
		return func(row flow.Row) {
			n.rows = read(n.rows, row)
			n.times, n.marks = append(n.times, n.t), append(n.marks, n.mark)
			if in.deletes {
				n.deletes = append(n.deletes, n.env.Tombstone)
			}
		}, nil
	}
	if _, err := in.lane(0, nil); err != nil {
		return err
	}
	var err error
	in.entry, err = g.chain(in, columns, steps, end)
	return err
}

// chain builds the steps behind the lanes.
func (g *graph) chain(in *input, columns []Column, steps []step, end tail) (flow.Emit, error) {
	var lead []flow.Step
	for len(steps) > 0 && stateless(steps[0]) {
		lead = append(lead, steps[0].flow(&g.calls))
		steps = steps[1:]
	}
	return flow.Out(columns, lead, &g.env, func(l *flow.Layout) (flow.Emit, error) {
		if len(steps) > 0 {
			return g.operator(in, l, steps, end)
		}
		last, read, err := l.Export()
		if err != nil {
			return nil, err
		}
		emit, err := end(last)
		buffer := make(flow.Row, 0, len(last))
		return func(row flow.Row, t int64) {
			buffer = read(buffer[:0], row)
			emit(buffer, t)
		}, err
	})
}

// operator builds the first of steps, which has memory, and what follows it.
func (g *graph) operator(in *input, l *flow.Layout, steps []step, end tail) (flow.Emit, error) {
	in.hold = steps[0].meets(in.hold)
	op, columns, err := g.compile(in, l, steps[0], slices.Concat(steps[1:], in.after))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", steps[0].Step, err)
	}
	if op == nil { // a union
		return g.union(in, l, steps, end)
	}
	hold := int64(in.hold)
	g.ops, in.on.ops = append(g.ops, stage{op, hold, in.on}), in.on.ops+1
	in.on.holds = in.on.holds || steps[0].Op != plan.Lookup && steps[0].Op != plan.Deduplicate
	in.hold = steps[0].holds(in.hold)
	emit, err := g.chain(in, columns, steps[1:], end)
	if err != nil {
		return nil, err
	}
	op.Then(emit)
	return g.marked(hold, op.Push), nil
}

// marked gives rows to an operator with what they can be behind the watermark that their record met.
func (g *graph) marked(hold int64, push flow.Emit) flow.Emit {
	if hold == 0 {
		return push
	}
	return func(row flow.Row, t int64) {
		before := g.env.Hold
		g.env.Hold = hold
		push(row, t)
		g.env.Hold = before
	}
}

func (g *graph) compile(in *input, l *flow.Layout, s step, after []step) (flow.Op, []Column, error) {
	switch s.Op {
	case plan.Aggregation:
		return g.aggregation(l, s)
	case plan.Deduplicate:
		op, columns, err := flow.NewDeduplicator(s.Step, l, &g.env)
		return op, columns, err
	case plan.Top:
		op, columns, err := flow.NewTops(s.Step, l, &g.env)
		return op, columns, err
	case plan.Process:
		op, err := flow.NewProcessor(s.Step, s.functions.flow(&g.calls), l, int64(in.hold), &g.env)
		g.clocks = append(g.clocks, op)
		return op, s.functions.Columns, err
	case plan.Join:
		return g.join(in, l, s, after)
	case plan.Lookup:
		return g.lookup(in, l, s, after)
	}
	return nil, nil, nil
}

func (g *graph) aggregation(l *flow.Layout, s step) (flow.Op, []Column, error) {
	grouping, err := flow.NewGrouping(s.Step, l)
	if err != nil {
		return nil, nil, err
	}
	if s.Window.Kind == "session" {
		return flow.NewSessions(grouping, &g.env), grouping.Columns, nil
	}
	g.last = flow.NewGroups(grouping, &g.env)
	return g.last, grouping.Columns, nil
}

// pairs checks what a join is on.
func pairs(s plan.JoinSpec) error {
	if len(s.Left) == 0 || len(s.Left) != len(s.Right) {
		return fmt.Errorf("stream: joined on %q and %q; want as many columns on both sides, at least one: On, or Same(\"id\")", s.Left, s.Right)
	}
	return nil
}

func (g *graph) join(in *input, l *flow.Layout, s step, after []step) (flow.Op, []Column, error) {
	switch {
	case s.other == nil:
		return nil, nil, errors.New("stream: a join without a second query")
	case s.Join.Before < 0 || s.Join.After < 0 || s.Join.Before > maxSpan || s.Join.After > maxSpan:
		return nil, nil, fmt.Errorf("stream: a join within %v before and %v after: want 0 to %v", s.Join.Before, s.Join.After, maxSpan)
	}
	if err := pairs(s.Join); err != nil {
		return nil, nil, err
	}
	var j *flow.Joiner
	var columns []Column
	err := g.source(s.other, after, func(right []Column) (emit flow.Emit, err error) {
		j, columns, err = flow.NewJoiner(s.Join, l, flow.Closed(right), &g.env)
		if err != nil {
			return nil, err
		}
		return g.marked(int64(in.hold), j.Right().Push), nil
	})
	if err != nil {
		return nil, nil, err
	}
	return j, columns, nil
}

func (g *graph) lookup(in *input, l *flow.Layout, s step, after []step) (flow.Op, []Column, error) {
	if err := pairs(s.Join); err != nil {
		return nil, nil, err
	}
	t, err := g.table(in, s.table, s.Join.Right, after)
	if err != nil {
		return nil, nil, err
	}
	return flow.NewLooker(s.Join, l, t, &g.env)
}

// table builds a table: of rows, or of what another query gives, for which the input waits.
func (g *graph) table(in *input, t *Table, keys []string, after []step) (table *flow.Table, err error) {
	if err := t.check(keys); err != nil {
		return nil, err
	}
	if t.query == nil {
		if table, err = flow.NewTable(t.rows.Columns, keys); err != nil {
			return nil, err
		}
		for _, row := range t.rows.rows {
			table.Put(row)
		}
		return table, nil
	}
	var fed *input
	from, own := len(g.inputs), g.now
	g.now = g.timeline()
	defer func() { g.now = own }()
	err = g.source(t.query, after, func(columns []Column) (flow.Emit, error) {
		if table, err = flow.NewTable(columns, keys); err != nil {
			return nil, err
		}
		g.tables = append(g.tables, table)
		return func(row flow.Row, _ int64) {
			if fed.deleting {
				table.Delete(row, &g.env)
				return
			}
			table.Put(row)
		}, nil
	})
	fed = g.inputs[from]
	fed.deletes = !slices.ContainsFunc(t.query.steps, func(s step) bool { return !stateless(s) })
	for _, f := range g.inputs[from:] {
		f.table = cmp.Or(f.table, t.name) // a table that fills this one has its own name
	}
	in.waits = append(in.waits, g.inputs[from:]...)
	return table, err
}

// union lets another query's rows go the same way. What follows needs the columns of the first query and is built before the second; the second's
// operators go in front of it all the same: what they give out at a watermark must come before what follows sees that watermark.
func (g *graph) union(in *input, l *flow.Layout, steps []step, end tail) (flow.Emit, error) {
	columns, read, err := l.Export()
	if err != nil {
		return nil, fmt.Errorf("union: %w", err)
	}
	if steps[0].other == nil {
		return nil, errors.New("stream: a union without a second query")
	}
	g.united = true
	from := len(g.ops)
	emit, err := g.chain(in, columns, steps[1:], end)
	if err != nil {
		return nil, err
	}
	last, to := g.last, len(g.ops)
	err = g.source(steps[0].other, slices.Concat(steps[1:], in.after), func(others []Column) (flow.Emit, error) { return sameColumns(columns, others, emit) })
	g.last = last
	g.ops = slices.Concat(g.ops[:from], g.ops[to:], g.ops[from:to])
	buffer := make(flow.Row, 0, len(columns))
	return func(row flow.Row, t int64) {
		buffer = read(buffer[:0], row)
		emit(buffer, t)
	}, err
}

// sameColumns puts rows of other columns in the order of the first.
func sameColumns(columns, others []Column, emit flow.Emit) (flow.Emit, error) {
	at := make([]int, len(columns))
	for i, c := range columns {
		at[i] = slices.IndexFunc(others, func(o Column) bool { return o.Name == c.Name })
		if at[i] < 0 || len(others) != len(columns) {
			return nil, fmt.Errorf("stream: a union of columns %v with %v: want the same names; add .Select", names(columns), names(others))
		}
	}
	row := make(flow.Row, len(columns))
	return func(other flow.Row, t int64) {
		for i, k := range at {
			row[i] = other[k]
		}
		emit(row, t)
	}, nil
}

func names(columns []Column) []string { return (&Rows{Columns: columns}).Names() }

// filtersBehind tells whether rows of the last aggregation are filtered.
func (q *Query) filtersBehind() bool {
	for _, s := range slices.Backward(q.steps) {
		switch s.Op {
		case plan.Filter, plan.FilterFunc, plan.Require:
			return true
		case plan.Aggregation:
			return false
		}
	}
	return false
}

// checkMode finds what tells changed rows apart, where they are given out.
func (g *graph) checkMode() error {
	if g.query.mode == Append {
		return nil
	}
	var grouping *flow.Grouping
	switch {
	case g.query.mode == Complete && g.query.filtersBehind():
		return errors.New("stream: in the complete mode a row that Filter lets through, and then no longer, would stay; filter what a sink or Results has (Rows.Filter), or use Output(Append)")
	case g.last != nil && len(g.ops) > 0 && g.ops[len(g.ops)-1].Op == flow.Op(g.last):
		grouping = g.last.Grouping
	case len(g.merges) == 1 && len(g.ops) == 0 && !g.united:
		grouping = g.merges[0].grouping
	default:
		return fmt.Errorf("stream: the %s mode gives out the rows of an aggregation as they change; here other operators with memory follow it, or there is none: use Output(Append)", g.query.mode)
	}
	g.identity = []int{} // of an aggregation without keys and windows: it has one row
	for _, c := range grouping.Columns[:grouping.Identity()] {
		at := slices.IndexFunc(g.columns, func(o Column) bool { return o.Name == c.Name })
		if at < 0 && c.Name != "window_end" {
			return fmt.Errorf("stream: the %s mode needs the column %q to tell rows apart; keep it in Select", g.query.mode, c.Name)
		}
		if at >= 0 {
			g.identity = append(g.identity, at)
		}
	}
	return nil
}

// lane compiles the way of one partition's records.
func (in *input) lane(partition int, claim func(keys flow.Row, end int64) string) (*lane, error) {
	n := &lane{in: in, partition: partition, claim: claim, next: -1, given: -1, settled: flow.NoWatermark, restarts: restart{next: -1}, began: restart{next: -1}, clock: flow.NewClock(in.query.delay, in.query.ahead)}
	l := flow.Open()
	if !in.query.time.None() {
		t, err := eval.Compile(in.query.time, l, value.Time)
		if err != nil {
			return nil, fmt.Errorf("event time: %w", err)
		}
		n.time = t.Value
		if of := in.query.time; of.Op == "from_unix" {
			raw, err := eval.Compile(of.Args[0], l, value.Float) // compiled above, too
			if err != nil {
				return nil, fmt.Errorf("event time: %w", err)
			}
			n.raw = raw.Value
		}
	}
	var wraps []flow.Wrap
	for _, s := range in.lead {
		w, _, err := l.Stateless(s.flow(in.calls), &n.env)
		if err != nil {
			return nil, err
		}
		wraps = append(wraps, w)
	}
	last, err := in.end(l, n)
	if err != nil {
		return nil, err
	}
	n.run, n.env.Compared = flow.Chain(wraps, last), l.Compared()
	n.row, n.meta = make(flow.Row, l.Width()), l.Meta()
	n.slots = slotsOf(l.Slots())
	format := in.query.format
	if format == nil {
		format = JSONFormat()
	}
	n.watermark.Store(flow.NoWatermark)
	n.safe.Store(-1)
	_, n.blind = in.query.source.(Unmeasured)
	n.decoder, err = format.Decoder(n.slots)
	if err == nil && n.decoder == nil {
		err = fmt.Errorf("stream: the format %q gave no Decoder and no error", format.Name())
	}
	return n, err
}
