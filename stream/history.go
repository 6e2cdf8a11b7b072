package stream

import (
	"fmt"
	"time"
)

// History is a query's newest progress reports, the oldest of them first. It shows itself as a table, a line for each report.
type History []Progress

// Busy returns the reports of epochs that had records: only those have a process rate.
func (h History) Busy() History {
	var busy History
	for _, p := range h {
		if p.NumInputRows > 0 {
			busy = append(busy, p)
		}
	}
	return busy
}

// Seconds returns when each report's epoch began, in seconds since the first one's.
func (h History) Seconds() []float64 {
	return h.values(func(p Progress) float64 { return p.Timestamp.Sub(h[0].Timestamp.Time).Seconds() })
}

// InputRates returns each report's input rate: records over the epoch's length, a second.
func (h History) InputRates() []float64 {
	return h.values(func(p Progress) float64 { return p.InputRowsPerSecond })
}

// ProcessRates returns each report's process rate: records over the time spent on them, a second. It is 0 for an epoch
// without records.
func (h History) ProcessRates() []float64 {
	return h.values(func(p Progress) float64 { return p.ProcessedRowsPerSecond })
}

// BatchDurations returns how many milliseconds of each report's epoch the busiest partition spent on records.
func (h History) BatchDurations() []float64 {
	return h.values(func(p Progress) float64 { return float64(p.BatchDuration) })
}

func (h History) values(of func(Progress) float64) []float64 {
	values := make([]float64, len(h))
	for i, p := range h {
		values[i] = of(p)
	}
	return values
}

// MIMEBundle shows the newest reports as a table.
func (h History) MIMEBundle() map[string]any { return h.shown().bundle() }

// String is the newest reports as aligned text.
func (h History) String() string { return h.shown().text() }

func (h History) shown() *shownTable {
	t := &shownTable{names: []string{"time", "input rate", "process rate", "input rows", "batch duration", "watermark", "late rows",
		"lag", "rows given out"}, left: 1}
	for _, p := range h[max(0, len(h)-shownRows):] {
		t.add(clock(p.Timestamp.Time), rateNumber(p.InputRowsPerSecond), processRate(p), wholeNumber(p.NumInputRows),
			wholeNumber(p.BatchDuration)+" ms", p.watermarkText(), wholeNumber(p.LateRows()), p.lag(), wholeNumber(p.Sink.NumOutputRows))
	}
	t.caption = fmt.Sprintf("%s epochs of %s; times are UTC, the watermark's is event time", wholeNumber(int64(len(t.rows))), h.lengths())
	if len(t.rows) < len(h) {
		t.caption = "the newest " + t.caption
	}
	return t
}

// lengths says how long epochs are: here a second, on Spark as long as a batch takes.
func (h History) lengths() string {
	longest := int64(0) // ms
	for _, p := range h {
		longest = max(longest, p.DurationMs["triggerExecution"])
	}
	if longest < 3000 {
		return "about a second"
	}
	return fmt.Sprintf("up to %d s", (longest+999)/1000)
}

// processRate is a dash for an epoch without records, which has none.
func processRate(p Progress) string {
	if p.NumInputRows == 0 {
		return none
	}
	return rateNumber(p.ProcessedRowsPerSecond)
}

func (p Progress) watermarkText() string {
	w, ok := p.Watermark()
	if !ok {
		return none
	}
	return shortTime(w.Round(time.Second))
}

// lag is how many records of the sources are still to be read.
func (p Progress) lag() string {
	if len(p.Sources) == 0 {
		return none
	}
	return p.Sources[0].Metrics["lag"]
}
