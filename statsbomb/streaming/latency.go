package streaming

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"cancha/runtime/grid"
)

// Latency sums up durations. The quantiles are those of the newest 4096, the rest is over all.
type Latency struct {
	Count               int64
	Mean, P50, P99, Max time.Duration
}

// MarshalJSON writes the durations in milliseconds, as progress reports do.
func (l Latency) MarshalJSON() ([]byte, error) {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return json.Marshal(struct {
		Count  int64   `json:"count"`
		MeanMs float64 `json:"meanMs"`
		P50Ms  float64 `json:"p50Ms"`
		P99Ms  float64 `json:"p99Ms"`
		MaxMs  float64 `json:"maxMs"`
	}{l.Count, ms(l.Mean), ms(l.P50), ms(l.P99), ms(l.Max)})
}

// Latencies are those of a scoring.
type Latencies struct {
	WithoutModel Latency `json:"withoutModel"` // of a batch: decoding alone
	WithModel    Latency `json:"withModel"`    // of a batch: decoding and the model
	SinceSent    Latency `json:"sinceSent"`    // of an event: from the record's producer_timestamp until it is scored
}

// MIMEBundle shows the latencies as a table.
func (l Latencies) MIMEBundle() map[string]any { return l.grid().MIMEBundle() }

// String is the latencies as aligned text.
func (l Latencies) String() string { return l.grid().Text() }

func (l Latencies) grid() grid.Grid {
	g := grid.Grid{Header: []string{"latency in ms", "count", "mean", "median", "99 %", "max"},
		Note: "median and 99 % quantile of the newest 4,096, the rest of all"}
	ms := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
	}
	for _, each := range []struct {
		name string
		of   Latency
	}{{"batch without the model", l.WithoutModel}, {"batch with the model", l.WithModel}, {"event since it was sent", l.SinceSent}} {
		g.Rows = append(g.Rows, []string{each.name, strconv.FormatInt(each.of.Count, 10), ms(each.of.Mean), ms(each.of.P50), ms(each.of.P99), ms(each.of.Max)})
	}
	return g
}

// durations collects durations; the zero value is empty.
type durations struct {
	count    int64
	sum, max time.Duration
	newest   []time.Duration // a ring once it is full
}

const keptDurations = 4096

func (d *durations) add(each time.Duration) {
	if len(d.newest) < keptDurations {
		d.newest = append(d.newest, each)
	} else {
		d.newest[d.count%keptDurations] = each
	}
	d.count++
	d.sum += each
	d.max = max(d.max, each)
}

func (d *durations) summary() Latency {
	if d.count == 0 {
		return Latency{}
	}
	sorted := slices.Sorted(slices.Values(d.newest))
	at := func(q float64) time.Duration { return sorted[int(q*float64(len(sorted)-1)+0.5)] }
	return Latency{Count: d.count, Mean: d.sum / time.Duration(d.count), P50: at(.5), P99: at(.99), Max: d.max}
}
