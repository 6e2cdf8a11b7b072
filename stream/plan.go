package stream

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const maxGroups = 4

// groupKey holds a row's keys in the order of GroupBy; the rest is zero.
type groupKey [maxGroups]int64

// plan is a checked query in the form that partitions run. It is read only, and shared by all of them.
type plan struct {
	projection
	dict       *dictionary
	width      int64 // of a window, nanoseconds
	delay      int64
	ahead      int64 // 0 is no limit
	where      test
	eventTimes [2]int // slots of metadata.event_time and the event's own event_time: the first present counts
	keys       []int  // slots of the group paths
	match      int    // which of the keys is the match, by which partitions are cut; -1 if a group may lie in several
	counts     []test // nil is every event
	measures   []sampled
	shares     []part
	outputs    []output
	keyNames   []string
	columns    []Column
}

// sampled is a value whose moments are kept.
type sampled struct {
	value     measure
	condition test
}

// part is a share of a window's events: those whose value at slot of is the row's key number per.
type part struct {
	of, per   int
	condition test
}

// output is where a column's number comes from.
type output struct {
	from  outputKind
	index int // in counts, measures or shares
}

type outputKind uint8

const (
	fromCount outputKind = iota
	fromSize
	fromMin
	fromMax
	fromMean
	fromVariance
	fromShare
)

func (q *Query) compile(dict *dictionary) (*plan, error) {
	p := &plan{dict: dict, width: int64(q.window.width), delay: int64(q.delay), ahead: int64(q.ahead), match: -1}
	for i, path := range []string{"metadata.event_time", "event_time"} {
		var err error
		if p.eventTimes[i], err = p.add(path, kindTime); err != nil {
			return nil, err
		}
	}
	var err error
	if len(q.where) > 0 {
		if p.where, err = And(q.where...).compile(&p.projection, dict); err != nil {
			return nil, err
		}
	}
	if err := p.group(q); err != nil {
		return nil, err
	}
	for _, a := range q.aggregates {
		if err := p.aggregate(a); err != nil {
			return nil, err
		}
	}
	return p, p.checkNames()
}

func (p *plan) group(q *Query) error {
	for i, path := range q.groups {
		slot, err := p.add(path, kindKey)
		if err != nil {
			return err
		}
		p.keys = append(p.keys, slot)
		p.keyNames = append(p.keyNames, path)
		if path == "match_id" && !q.anywhere {
			p.match = i
		}
	}
	return nil
}

func (p *plan) aggregate(a Aggregate) error {
	if err := a.check(); err != nil {
		return err
	}
	condition, err := a.condition.compile(&p.projection, p.dict)
	if err != nil {
		return fmt.Errorf("statistic %s: %w", a.name, err)
	}
	p.columns = append(p.columns, a.columns()...)
	switch a.kind {
	case aggregateCount:
		p.outputs = append(p.outputs, output{fromCount, len(p.counts)})
		p.counts = append(p.counts, condition)
		return nil
	case aggregateShare:
		return p.share(a, condition)
	}
	value, err := a.value.compile(&p.projection)
	if err != nil {
		return fmt.Errorf("statistic %s: %w", a.name, err)
	}
	for _, kind := range momentOutputs(a.kind) {
		p.outputs = append(p.outputs, output{kind, len(p.measures)})
	}
	p.measures = append(p.measures, sampled{value, condition})
	return nil
}

func momentOutputs(kind aggregateKind) []outputKind {
	switch kind {
	case aggregateMin:
		return []outputKind{fromMin}
	case aggregateMax:
		return []outputKind{fromMax}
	case aggregateMean:
		return []outputKind{fromMean}
	case aggregateVariance:
		return []outputKind{fromVariance}
	default:
		return []outputKind{fromSize, fromMin, fromMax, fromMean, fromVariance}
	}
}

func (p *plan) share(a Aggregate, condition test) error {
	of, err := p.add(a.of, kindKey)
	if err != nil {
		return fmt.Errorf("statistic %s: %w", a.name, err)
	}
	per := slices.IndexFunc(p.keyNames, func(name string) bool { return unflatten(name) == unflatten(a.per) })
	if per < 0 {
		return fmt.Errorf("statistic %s: %q is not among the paths of GroupBy, which are %q", a.name, a.per, p.keyNames)
	}
	p.outputs = append(p.outputs, output{fromShare, len(p.shares)})
	p.shares = append(p.shares, part{of, per, condition})
	return nil
}

func (p *plan) checkNames() error {
	seen := map[string]bool{"window_start": true, "window_end": true}
	for _, name := range p.keyNames {
		if seen[name] {
			return fmt.Errorf("stream: GroupBy names %q twice", name)
		}
		seen[name] = true
	}
	for _, c := range p.columns {
		if seen[c.Name] {
			return fmt.Errorf("stream: two columns are named %q; give the statistics different names", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// firstTime returns the time of the first slot that has one.
func firstTime(d *decoder, slots []int) (ns int64, ok bool) {
	for _, slot := range slots {
		if d.present&(1<<slot) != 0 {
			return d.key[slot], true
		}
	}
	return 0, false
}

const noEventTime = "no event_time: neither the envelope's metadata nor the event has one"

// windowStart returns the start of the window that holds an event time.
func (p *plan) windowStart(ns int64) int64 {
	r := ns % p.width
	if r < 0 {
		r += p.width
	}
	return ns - r
}

// noWatermark is the watermark before the first record.
const noWatermark = math.MinInt64

// instant turns nanoseconds since 1970 into a time in UTC.
func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }
