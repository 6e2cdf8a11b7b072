package running

import (
	"fmt"
	"time"
)

const (
	// silentAfter is from when on a query without a report counts as held up, beyond the time for which it may have none. One that is not reports each
	// second.
	silentAfter = 4 * time.Second
	// slowAfter is the same of an epoch on its way. A large snapshot and a slow sink take seconds.
	slowAfter = 10 * time.Second
)

// Epochal is a query that gives out its rows in epochs, each behind a snapshot of its own.
type Epochal interface {
	// EpochAge is for how long the epoch has been on its way that was begun last: its snapshot is being written, or the sinks have not taken all of its
	// rows. 0: none is.
	EpochAge() time.Duration
}

// EpochAge is that of a thing; 0 of one that has no epochs.
func EpochAge(t Thing) time.Duration {
	if e, ok := t.(Epochal); ok {
		return e.EpochAge()
	}
	return 0
}

// Quiet is a query that may report more seldom, or more often, than each second.
type Quiet interface {
	// Quiet is for how long one that is not held up may report nothing.
	Quiet() time.Duration
}

// quiet is that of a thing.
func quiet(t Thing) time.Duration {
	if q, ok := t.(Quiet); ok {
		return q.Quiet()
	}
	return time.Second
}

// Hold tells that a query is held up. The zero Hold is that of one that is not.
type Hold struct {
	Silent time.Duration // for so long it has reported nothing: its numbers are of then
	Epoch  time.Duration // for so long an epoch has been on its way, while the query reads on and reports
}

// HoldOf tells whether an entry is held up, from its newest report, the age of its epoch, and for how long it has been waited for (Question). How old the
// report and the epoch are counts only where there is an answer: the one before may be of a look that was long ago.
func HoldOf(e *Entry, p Progress, epoch, waited time.Duration) (h Hold) {
	if e.Kind != Query || e.State() != Running {
		return h
	}
	silent := waited
	if at := p.Reported(); waited == 0 && !at.IsZero() {
		silent = time.Since(at)
	}
	if silent >= quiet(e.Thing())+silentAfter {
		h.Silent = silent
	}
	if waited == 0 && epoch >= slowAfter {
		h.Epoch = epoch
	}
	return h
}

// Is tells whether there is a hold at all.
func (h Hold) Is() bool { return h != Hold{} }

// String says what holds the query up, as a user reads it; nothing where nothing does.
func (h Hold) String() string {
	switch {
	case h.Silent > 0:
		return fmt.Sprintf("No report for %v: held up by its sink or a function", h.Silent.Truncate(time.Second))
	case h.Epoch > 0:
		return fmt.Sprintf("An epoch has been on its way for %v: held up by its sink or its checkpoint", h.Epoch.Truncate(time.Second))
	}
	return ""
}

// Reported is when a report was made, which is at its end; the zero time where that is unknown.
func (p Progress) Reported() time.Time {
	begin, err := time.Parse(time.RFC3339, p.Timestamp)
	if err != nil {
		return time.Time{}
	}
	return begin.Add(time.Duration(p.DurationMs["triggerExecution"]) * time.Millisecond)
}

// Still is a report without its rates, which are of a time that is over.
func (p Progress) Still() Progress {
	p.InputRowsPerSecond, p.ProcessedRowsPerSecond = 0, 0
	sources := append([]SourceProgress(nil), p.Sources...) // others have them too
	for i := range sources {
		sources[i].InputRowsPerSecond, sources[i].ProcessedRowsPerSecond = 0, 0
	}
	p.Sources = sources
	return p
}
