package stream

import (
	"cancha/stream/plan"
)

// InputPlanner is a Source or a Format that says in a plan what another engine has to know to read the same records by itself.
type InputPlanner interface{ PlanInput(in *plan.Input) }

// OutletPlanner is a Sink that says in a plan what another engine has to know to write the same records by itself.
type OutletPlanner interface{ PlanOutlet(out *plan.Outlet) }

// planInput has source and format say what they are.
func (q *Query) planInput(in *plan.Input) {
	var format Format = JSONFormat()
	if q.format != nil {
		format = q.format
	}
	for _, of := range []any{q.source, format} {
		if p, ok := of.(InputPlanner); ok {
			p.PlanInput(in)
		}
	}
}

// outletOf is a sink as another engine may write it.
func outletOf(sink Sink) (out plan.Outlet) {
	if p, ok := sink.(OutletPlanner); ok {
		p.PlanOutlet(&out)
	}
	return out
}

// plan is the rows as a plan holds them.
func (r *Rows) plan() *plan.Table {
	t := &plan.Table{Rows: r.rows}
	for _, c := range r.Columns {
		t.Names, t.Kinds = append(t.Names, c.Name), append(t.Kinds, c.Kind)
	}
	return t
}

// PlanInput implements InputPlanner.
func (o JSONOptions) PlanInput(in *plan.Input) {
	in.Shape = plan.Shape{Kind: "json", Envelope: o.shape.Envelope, Beside: o.shape.Beside, Flat: o.shape.Flat, TextNumbers: o.shape.TextNumbers}
}

// PlanInput implements InputPlanner.
func (o CSVOptions) PlanInput(in *plan.Input) {
	in.Shape = plan.Shape{Kind: "csv", Columns: o.columns, Separator: o.separator}
}

// PlanInput implements InputPlanner.
func (TextOptions) PlanInput(in *plan.Input) { in.Shape = plan.Shape{Kind: "text"} }
