package stream

import (
	"slices"

	"cancha/internal/running"
	"cancha/stream/plan"
)

// Plan implements running.Planner.
func (l *listed) Plan() running.Plan {
	d := drawing{r: l.r, lanes: l.r.all(), inputs: slices.Clone(l.r.graph.inputs)}
	d.plan.Text = l.r.query.Plan().String()
	l.r.graph.mu.Lock()
	d.ops = slices.Clone(l.r.graph.ops)
	last, _ := d.query(l.r.query)
	l.r.graph.mu.Unlock()
	p := l.r.query.Plan()
	rows := l.r.given.Load() // each change counts: sinks get it
	output := d.node("output", "output "+p.Output)
	d.edge(last, output, rows)
	for i, sink := range p.Sinks {
		count := rows
		if i >= len(l.r.query.sinks) {
			count = unknown // of dead letters
		}
		d.edge(output, d.node("sink", sink), count)
	}
	if !l.r.work.draws() {
		d.forget(rows, output)
	}
	return d.plan
}

// forget takes out the numbers of a run that is elsewhere: of its rows only those are known that come back.
func (d *drawing) forget(rows int64, output int) {
	for i := range d.plan.Nodes {
		d.plan.Nodes[i].Metrics = []running.Metric{}
	}
	for i, e := range d.plan.Edges {
		d.plan.Edges[i].Rows = unknown
		if e.To == output || e.From == output {
			d.plan.Edges[i].Rows = rows
		}
	}
}

// drawing makes a plan's graph of a run, in the order in which build has made the run's own. The caller holds the graph's lock.
type drawing struct {
	r      *Running
	lanes  map[*input][]*lane
	inputs []*input // not drawn yet
	ops    []stage  // not drawn yet
	plan   running.Plan
}

func (d *drawing) node(kind, text string, metrics ...running.Metric) int {
	verb, rest := text, ""
	if i := slices.Index([]byte(text), ' '); i > 0 {
		verb, rest = text[:i], text[i+1:]
	}
	id := len(d.plan.Nodes)
	d.plan.Nodes = append(d.plan.Nodes, running.Node{ID: id, Kind: kind, Name: verb, Detail: rest, Metrics: append([]running.Metric{}, metrics...)})
	return id
}

func (d *drawing) edge(from, to int, rows int64) {
	d.plan.Edges = append(d.plan.Edges, running.Edge{From: from, To: to, Rows: rows})
}

// query draws a query from its source on, and returns its last node and how many rows have left that.
func (d *drawing) query(q *Query) (last int, rows int64) {
	in := d.input(q)
	records, filtered := d.read(in)
	at := d.node("source", q.Plan().Input.String(), running.Metric{Name: "records", Value: records})
	rows = d.good(records)
	aggregated, behind := false, d.behind(q, records, filtered)
	for i, s := range q.steps {
		other, brought := 0, int64(0)
		if s.other != nil {
			other, brought = d.query(s.other)
		}
		next := d.node("step", s.String(), d.kept(in, s, &aggregated)...)
		d.edge(at, next, rows)
		if s.other != nil {
			d.edge(other, next, brought)
		}
		at, rows = next, behind[i]
	}
	return at, rows
}

// input takes the input that reads a query's source.
func (d *drawing) input(q *Query) *input {
	i := slices.IndexFunc(d.inputs, func(in *input) bool { return in.query == q })
	if i < 0 {
		return nil
	}
	in := d.inputs[i]
	d.inputs = slices.Delete(d.inputs, i, i+1)
	return in
}

// read is how many records an input has had, and how many rows its lanes have left out.
func (d *drawing) read(in *input) (records, filtered int64) {
	for _, n := range d.lanes[in] {
		n.mu.Lock()
		records += n.records
		filtered += n.env.Filtered
		n.mu.Unlock()
	}
	return records, filtered
}

// unknown is the number of rows where nobody counts them.
const unknown = -1

// behind is how many rows have left each step of a query, as far as that follows from what lanes count: the records, the bad ones among them where
// there is one source, and the rows that all filters together have left out.
func (d *drawing) behind(q *Query, records, filtered int64) []int64 {
	all := slices.Repeat([]int64{unknown}, len(q.steps))
	lead, filters := q.steps, 0
	if i := slices.IndexFunc(lead, func(s step) bool { return !stateless(s) }); i >= 0 {
		lead = lead[:i]
	}
	for _, s := range lead {
		if filters += filterOf(s); s.Op == plan.Explode { // makes several rows of one
			return all
		}
	}
	rows, left := d.good(records), 0
	for i, s := range lead {
		left += filterOf(s)
		switch {
		case rows == unknown:
		case left == 0:
			all[i] = rows
		case left == filters:
			all[i] = max(0, rows-filtered)
		}
	}
	return all
}

// filterOf is 1 for a step that leaves rows out.
func filterOf(s step) int {
	if s.Op == plan.Filter || s.Op == plan.FilterFunc {
		return 1
	}
	return 0
}

// good is how many of an input's records could be used.
func (d *drawing) good(records int64) int64 {
	bad := d.r.bad.number()
	if bad > 0 && len(d.r.graph.inputs) > 1 {
		return unknown // of which source they are is not counted
	}
	return max(0, records-bad)
}

// kept is what a step with memory keeps.
func (d *drawing) kept(in *input, s step, aggregated *bool) []running.Metric {
	if stateless(s) || s.Op == plan.Union || s.Op == plan.Records {
		return nil
	}
	if s.Op == plan.Aggregation && !*aggregated && in != nil && in.merge != nil {
		*aggregated = true
		return d.windows(in)
	}
	*aggregated = true
	if len(d.ops) == 0 {
		return nil
	}
	op := d.ops[0]
	d.ops = d.ops[1:]
	rows, bytes := op.State()
	return []running.Metric{{Name: "state rows", Value: rows}, {Name: "state bytes", Value: bytes}}
}

// windows is what the lanes of an input keep in windows.
func (d *drawing) windows(in *input) []running.Metric {
	rows, bytes, late := int64(0), int64(0), int64(0)
	for _, n := range d.lanes[in] {
		n.mu.Lock()
		if n.windows != nil {
			rows, bytes = rows+n.windows.Rows, bytes+n.windows.Size()
		}
		late += n.env.Late
		n.mu.Unlock()
	}
	return []running.Metric{{Name: "state rows", Value: rows}, {Name: "state bytes", Value: bytes}, {Name: "late rows", Value: late}}
}
