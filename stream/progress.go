package stream

import (
	"encoding/json"
	"fmt"
	"time"

	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
)

// Progress tells what a query did in one epoch, about a second. Its JSON has the names and the form of Spark's
// StreamingQueryProgress, so that what reads that reads this. An epoch stands for Spark's micro-batch, though records are
// handled as they come.
type Progress struct {
	ID                     string             `json:"id"`    // of the query
	RunID                  string             `json:"runId"` // of this run of it
	Name                   string             `json:"name"`
	Timestamp              Instant            `json:"timestamp"` // start of the epoch
	BatchID                int64              `json:"batchId"`
	BatchDuration          int64              `json:"batchDuration"` // milliseconds of the epoch spent on records, by the busiest partition
	NumInputRows           int64              `json:"numInputRows"`
	InputRowsPerSecond     float64            `json:"inputRowsPerSecond"`     // records over the epoch's length
	ProcessedRowsPerSecond float64            `json:"processedRowsPerSecond"` // records over the time spent on them
	DurationMs             map[string]int64   `json:"durationMs"`
	EventTime              map[string]Instant `json:"eventTime"` // min, max, watermark; absent where unknown
	StateOperators         []StateOperator    `json:"stateOperators"`
	Sources                []SourceProgress   `json:"sources"`
	Sink                   SinkProgress       `json:"sink"`
}

// StateOperator tells what an operator with memory keeps. The JSON names are Spark's.
type StateOperator struct {
	OperatorName              string           `json:"operatorName"`
	NumRowsTotal              int64            `json:"numRowsTotal"`   // rows or groups that it keeps
	NumRowsUpdated            int64            `json:"numRowsUpdated"` // rows that changed in the epoch
	NumRowsRemoved            int64            `json:"numRowsRemoved"` // rows whose window was closed in the epoch
	NumRowsDroppedByWatermark int64            `json:"numRowsDroppedByWatermark"`
	MemoryUsedBytes           int64            `json:"memoryUsedBytes"` // about
	CustomMetrics             map[string]int64 `json:"customMetrics"`
}

// Offsets are the offsets of a topic's partitions: {"topic": {"0": 123}}.
type Offsets map[string]map[string]int64

// SourceProgress tells how far a source was read. The JSON names are Spark's.
type SourceProgress struct {
	Description            string            `json:"description"`
	StartOffset            Offsets           `json:"startOffset"`  // at the epoch's start
	EndOffset              Offsets           `json:"endOffset"`    // next to be read
	LatestOffset           Offsets           `json:"latestOffset"` // end of the topic, as far as known
	NumInputRows           int64             `json:"numInputRows"`
	InputRowsPerSecond     float64           `json:"inputRowsPerSecond"`
	ProcessedRowsPerSecond float64           `json:"processedRowsPerSecond"`
	Metrics                map[string]string `json:"metrics"` // lag, lost and badRecords, since the start
}

// SinkProgress tells what was given out. The JSON names are Spark's.
type SinkProgress struct {
	Description   string            `json:"description"`
	NumOutputRows int64             `json:"numOutputRows"` // in the epoch
	Metrics       map[string]string `json:"metrics"`
}

// Instant is a time that JSON shows as Spark does: UTC with milliseconds.
type Instant struct{ time.Time }

// MarshalJSON writes the time as 2006-01-02T15:04:05.000Z.
func (t Instant) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON reads an RFC 3339 time.
func (t *Instant) UnmarshalJSON(b []byte) error { return t.Time.UnmarshalJSON(b) }

func (t Instant) String() string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Watermark returns the query's watermark, and whether there is one yet.
func (p Progress) Watermark() (time.Time, bool) {
	w, ok := p.EventTime["watermark"]
	return w.Time, ok
}

// LateRows returns how many events were dropped in the epoch because their window was closed.
func (p Progress) LateRows() int64 {
	var n int64
	for _, s := range p.StateOperators {
		n += s.NumRowsDroppedByWatermark
	}
	return n
}

// StateRows returns how many rows the open windows have.
func (p Progress) StateRows() int64 {
	var n int64
	for _, s := range p.StateOperators {
		n += s.NumRowsTotal
	}
	return n
}

// rate is n per second of d; 0 if no time has passed.
func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// eventTimes are the entries of Progress.EventTime that are known.
func eventTimes(low, high, watermark int64) map[string]Instant {
	times := map[string]Instant{}
	if low <= high {
		times["min"], times["max"] = Instant{value.Nanos(low).Time()}, Instant{value.Nanos(high).Time()}
	}
	if watermark != flow.NoWatermark {
		times["watermark"] = Instant{value.Nanos(watermark).Time()}
	}
	return times
}

// Totals tells what a query did from its start to now.
type Totals struct {
	Records  int64         `json:"records"`          // read, bad ones included
	Bad      int64         `json:"bad"`              // records that could not be used: see BadRecords
	Late     int64         `json:"late"`             // rows dropped because what they belong to was closed
	LateBy   []LateCount   `json:"lateBy,omitempty"` // of them, by how far the watermark had passed their time; those that there were
	Filtered int64         `json:"filtered"`         // rows that Filter, FilterFunc, Deduplicate, Lookup and Top left out
	Future   int64         `json:"future"`           // events far ahead of all others, which do not move the watermark, those that Filter leaves out among them: see MaxAhead
	Lost     int64         `json:"lost"`             // records that retention removed before they could be read
	Rows     int64         `json:"rows"`             // rows given out
	Retries  int64         `json:"retries"`          // how often a source could not read and tried again
	Bytes    int64         `json:"bytes"`            // of state now, about
	Elapsed  time.Duration `json:"-"`                // since the start, up to the end if it has ended
}

// LateCount is how many rows were late by less than a time, and by no less than the next shorter one: 1 s, 10 s, 1 min, 10 min, 1 h.
type LateCount struct {
	Below time.Duration // 0: an hour or more
	Rows  int64
}

// MarshalJSON writes the time in milliseconds, absent for an hour or more.
func (l LateCount) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		BelowMs int64 `json:"belowMs,omitempty"`
		Rows    int64 `json:"rows"`
	}{l.Below.Milliseconds(), l.Rows})
}

// String is such as "3 by less than 10s".
func (l LateCount) String() string {
	if l.Below == 0 {
		return fmt.Sprintf("%s by an hour or more", wholeNumber(l.Rows))
	}
	return fmt.Sprintf("%s by less than %v", wholeNumber(l.Rows), l.Below)
}

// lateCounts lists what there is of counts.
func lateCounts(of flow.Lateness) []LateCount {
	list := []LateCount{}
	for k, n := range of {
		switch {
		case n == 0:
		case k == len(flow.LateBounds):
			list = append(list, LateCount{0, n})
		default:
			list = append(list, LateCount{flow.LateBounds[k], n})
		}
	}
	return list
}

// MarshalJSON writes the counts, and elapsedMs, the milliseconds since the start.
func (t Totals) MarshalJSON() ([]byte, error) {
	type counts Totals
	return json.Marshal(struct {
		counts
		ElapsedMs int64 `json:"elapsedMs"`
	}{counts(t), t.Elapsed.Milliseconds()})
}
