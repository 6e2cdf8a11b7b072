package stream

import (
	"math"
	"strconv"
	"sync"

	"cancha/stream/checkpoint"
	"cancha/stream/internal/changelog"
	"cancha/stream/internal/flow"
)

// part is a part of the state: a section of a snapshot. log may be nil.
type part struct {
	name   string
	head   func(dst []byte) []byte
	log    *changelog.Log
	lock   sync.Locker // what log is worked with under, beside a query that goes on
	lane   *lane       // whose part it is, if any
	atOnce bool        // its items cannot be asked for later what they are now
	bytes  []byte      // before those of log
	oldest int64       // the first snapshot that is still needed
}

// begin begins a part, at the moment that the snapshot is of. The room of the epoch before is used again, whose snapshot has been written: to make and to
// clear it anew, tens of megabytes each second, costs as much as to fill it.
func (p part) begin(room []byte, epoch int64) *part {
	if p.lane != nil {
		p.lane.mu.Lock() // Begin may give it an id meanwhile
		defer p.lane.mu.Unlock()
	}
	p.bytes, p.oldest = checkpoint.AppendHead(room, p.head(nil)), epoch
	if p.log == nil {
		return &p
	}
	p.log.Begin(p.bytes, epoch)
	for p.atOnce && p.log.Step(math.MaxInt) {
	}
	return &p
}

// stepItems is how many items are encoded while a lane, or all that is behind the lanes, waits.
var stepItems = 1000 // few in tests

// encode writes what was begun.
func (p *part) encode() checkpoint.Section {
	if p.log == nil {
		return checkpoint.Section{Name: p.name, Bytes: p.bytes}
	}
	p.log.Arrange()
	for more := true; more; {
		p.lock.Lock()
		if more = p.log.Step(stepItems); !more {
			p.bytes, p.oldest = p.log.End(), p.log.Oldest(p.oldest)
		}
		p.lock.Unlock()
	}
	return checkpoint.Section{Name: p.name, Bytes: p.bytes}
}

// parts are all parts of a unit's state. The caller holds publishing and the graph's lock.
func (k *keeper) parts(u *unit) []part {
	r := k.r
	parts := []part{{name: "results", head: u.results.Head, log: u.results.Log(), lock: &r.publishing}}
	for i, in := range r.graph.inputs {
		for _, n := range r.of(in) {
			if n.unit == u {
				of := Partition{n.topic, n.partition}
				name := strconv.Itoa(i) + " " + laneName(of)
				parts = append(parts, part{name: "lane " + name, head: n.head, log: n.log(), lock: &n.mu, lane: n, atOnce: n.handler != nil})
				if m := in.merge; m != nil && m.keyed {
					kept := owned{&m.owners, of}
					parts = append(parts, part{name: "owners " + name, head: kept.Head, log: kept.Log(), lock: &m.owners.mu})
				}
			}
		}
	}
	if !k.shared {
		parts = append(parts, part{name: "times", head: k.times})
		for name, kept := range r.graph.states() {
			parts = append(parts, part{name: name, head: kept.Head, log: kept.Log(), lock: &r.graph.mu})
		}
	}
	return parts
}

// laneName is a partition as snapshots name it.
func laneName(p Partition) string { return strconv.Itoa(p.ID) + " " + p.Topic }

// states are those behind the lanes, by the names of their sections.
func (g *graph) states() map[string]flow.Kept {
	kept := map[string]flow.Kept{}
	for i, s := range g.ops {
		if k, ok := s.Op.(flow.Kept); ok {
			kept["operator "+strconv.Itoa(i)] = k
		}
	}
	for i, t := range g.tables {
		kept["table "+strconv.Itoa(i)] = t
	}
	return kept
}

// times writes how far event time has come on each timeline.
func (k *keeper) times(dst []byte) []byte {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	for _, t := range k.r.graph.timelines {
		dst = changelog.AppendInt(changelog.AppendInt(dst, t.watermark), t.advanced)
		dst = changelog.AppendBool(dst, t.drained)
	}
	return dst
}

// kept is the state of a lane; nil where it has none.
func (n *lane) kept() flow.Kept {
	switch {
	case n.handler != nil && n.keeping != nil:
		return n.keeping
	case n.windows != nil:
		return n.windows
	}
	return nil
}

func (n *lane) log() *changelog.Log {
	if kept := n.kept(); kept != nil {
		return kept.Log()
	}
	return nil
}

// afterID parts the ID of a partition from what its source has seen of it, in one text: snapshots of earlier versions have the ID alone, which holds no such byte.
const afterID = "\x00"

func joinID(id, seen string) string {
	if seen == "" {
		return id
	}
	return id + afterID + seen
}

// head writes how far a lane has come.
func (n *lane) head(dst []byte) []byte {
	dst = changelog.AppendInt(changelog.AppendText(dst, joinID(n.id, n.seen)), n.next)
	dst = n.clock.Append(dst)
	if kept := n.kept(); kept != nil {
		dst = kept.Head(dst)
	}
	return dst
}

// keep has the lane note what changes.
func (n *lane) keep() error {
	if n.handler != nil {
		n.keeping = &handlerState{name: n.in.records.Name, keeper: n.handler.(Keeper)}
	}
	if kept := n.kept(); kept != nil {
		kept.Keep()
	}
	if n.keeping != nil {
		return n.keeping.fault
	}
	return nil
}
