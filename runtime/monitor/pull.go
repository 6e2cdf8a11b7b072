package monitor

import (
	"slices"
	"sync"
	"time"

	"cancha/internal/running"
)

const (
	// freshFor is for how long what was seen of a thing is shown again: it costs the same however many look.
	freshFor = 400 * time.Millisecond
	// patience is how long a thing is waited for. A query that is held up by a function of its user may answer only when that lets go of it; until
	// then the page shows what it has seen before. One that is held up by its sink answers at once: without a checkpoint with the numbers of its last
	// report, with one with those of now, since it reads on.
	patience = 250 * time.Millisecond
)

// puller asks the things of a registry.
type puller struct {
	registry *running.Registry
	numbers  running.Question[numbers]
	plans    running.Question[running.Plan]
}

// numbers are what a thing says of itself, as far as it can.
type numbers struct {
	Status   string
	Notes    []string
	Progress running.Progress
	Totals   running.Totals
	Sources  []running.Partition
	Work     running.Work
	Device   running.DeviceState
	Sent     running.Sent
	Epoch    time.Duration // for which the epoch on its way has been that
}

func newPuller(r *running.Registry) *puller {
	return &puller{
		registry: r,
		numbers:  running.Question[numbers]{Ask: ask, Patience: patience, Fresh: freshFor},
		plans:    running.Question[running.Plan]{Ask: askPlan, Patience: patience, Fresh: freshFor},
	}
}

// item is an entry with what was seen of it. Late says that it has not answered: the numbers are older. Hold says of a query whether it is held up.
type item struct {
	*running.Entry
	numbers
	Late bool
	Hold running.Hold
}

// items are all that is listed of some kinds, in the order of their start. No kind is all.
func (p *puller) items(kinds ...running.Kind) []item {
	var wanted []*running.Entry
	for _, e := range p.registry.List() {
		if is(e.Kind, kinds) {
			wanted = append(wanted, e)
		}
	}
	all := make([]item, len(wanted))
	var asking sync.WaitGroup // or each that is held up would be waited for after the other
	for i, e := range wanted {
		asking.Go(func() { all[i] = p.item(e) })
	}
	asking.Wait()
	return all
}

func is(kind running.Kind, kinds []running.Kind) bool {
	if slices.Contains(kinds, kind) {
		return true
	}
	return len(kinds) == 0
}

// item asks one entry.
func (p *puller) item(e *running.Entry) item {
	n, waited := p.numbers.Of(e)
	i := item{Entry: e, numbers: n, Late: waited > 0}
	if i.Hold = running.HoldOf(e, i.Progress, i.Epoch, waited); i.Hold.Silent > 0 {
		i.still()
	}
	return i
}

// still sets the rates to 0, which are those of a report that is over. The slices are shared with other looks.
func (n *numbers) still() {
	n.Progress, n.Sources = n.Progress.Still(), slices.Clone(n.Sources)
	for i := range n.Sources {
		n.Sources[i].Rate = 0
	}
}

// plan asks an entry for its plan; ok is false if it has none. Late is as in item: at the first look the plan is then empty.
func (p *puller) plan(e *running.Entry) (plan running.Plan, late, ok bool) {
	if _, ok = e.Thing().(running.Planner); !ok {
		return running.Plan{}, false, false
	}
	plan, waited := p.plans.Of(e)
	return plan, waited > 0, true
}

// askPlan takes a thing's plan.
func askPlan(t running.Thing) (p running.Plan) {
	if planner, ok := t.(running.Planner); ok {
		p = planner.Plan()
	}
	return p
}

// ask takes a thing's numbers.
func ask(t running.Thing) (n numbers) {
	if s, ok := t.(running.Streamer); ok {
		n.Status, n.Notes, n.Progress, n.Totals, n.Sources = s.Status(), s.Notes(), s.Progress(), s.Totals(), s.Sources()
	}
	if w, ok := t.(running.Worker); ok {
		n.Work = w.Work()
	}
	if d, ok := t.(running.Device); ok {
		n.Device = d.Device()
	}
	if s, ok := t.(running.Sender); ok {
		n.Sent = s.Sent()
	}
	n.Epoch = running.EpochAge(t)
	return n
}
