package stream

import (
	"encoding/json"
	"slices"
	"time"
)

// Latency sums up durations. The quantiles are those of the newest 4096, the rest is over all.
type Latency struct {
	Count               int64
	Mean, P50, P99, Max time.Duration
}

// MarshalJSON writes the durations in milliseconds, as progress reports do.
func (l Latency) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Count  int64   `json:"count"`
		MeanMs float64 `json:"meanMs"`
		P50Ms  float64 `json:"p50Ms"`
		P99Ms  float64 `json:"p99Ms"`
		MaxMs  float64 `json:"maxMs"`
	}{l.Count, inMilliseconds(l.Mean), inMilliseconds(l.P50), inMilliseconds(l.P99), inMilliseconds(l.Max)})
}

// Latencies are those of a scoring.
type Latencies struct {
	WithoutModel Latency `json:"withoutModel"` // of a batch: decoding alone
	WithModel    Latency `json:"withModel"`    // of a batch: decoding and the model
	SinceSent    Latency `json:"sinceSent"`    // of an event: from the record's producer_timestamp until it is scored
}

// Latency returns how long the batches of a scoring took, with and without the model, and how old events were.
func (r *RunningScore) Latency() Latencies {
	r.kept.Lock()
	defer r.kept.Unlock()
	return Latencies{r.latency.withoutModel.summary(), r.latency.withModel.summary(), r.latency.sinceSent.summary()}
}

type latencies struct{ withoutModel, withModel, sinceSent durations }

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
