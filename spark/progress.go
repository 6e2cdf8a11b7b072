package spark

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"cancha/internal/running"
	"cancha/stream"
)

// reported is a report of Spark's as it comes over Connect. It differs from the one that Spark's own listeners see: offsets are JSON inside of texts,
// and the sums over sources are not there (4.0, 4.2).
type reported struct {
	running.Progress
	Sources         []reportedSource           `json:"sources"`
	ObservedMetrics map[string]json.RawMessage `json:"observedMetrics"` // by the names of observations
}

type reportedSource struct {
	running.SourceProgress
	StartOffset  json.RawMessage `json:"startOffset"`
	EndOffset    json.RawMessage `json:"endOffset"`
	LatestOffset json.RawMessage `json:"latestOffset"`
}

// moment is where a report stands among those of a query. Spark reports of a batch before it has begun, too, if it is long in coming.
type moment struct {
	timestamp string // in one form, which sorts
	batch     int64
}

func (r reported) moment() moment { return moment{r.Timestamp, r.BatchID} }

// behind are the reports that were made after the moment.
func (m moment) behind(all []reported) []reported {
	at := slices.IndexFunc(all, func(r reported) bool {
		return r.Timestamp > m.timestamp || r.Timestamp == m.timestamp && r.BatchID > m.batch
	})
	if at < 0 {
		return nil
	}
	return all[at:]
}

// ran tells whether the report is of a batch that has run.
func (r reported) ran() bool {
	_, ran := r.DurationMs["addBatch"]
	return ran
}

// report reads a report, and completes it.
func report(text string) (reported, error) {
	var r reported
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return reported{}, err
	}
	p := &r.Progress
	var rows int64
	var in, through float64
	p.Sources = []running.SourceProgress{}
	for _, s := range r.Sources {
		s.SourceProgress.StartOffset, s.SourceProgress.EndOffset = offsets(s.StartOffset), offsets(s.EndOffset)
		s.SourceProgress.LatestOffset = offsets(s.LatestOffset)
		rows, in, through = rows+s.NumInputRows, in+s.InputRowsPerSecond, through+s.ProcessedRowsPerSecond
		p.Sources = append(p.Sources, s.SourceProgress)
	}
	if p.NumInputRows == 0 {
		p.NumInputRows, p.InputRowsPerSecond, p.ProcessedRowsPerSecond = rows, in, through
	}
	return r, nil
}

// observation is what a query has observed in a batch: over Connect a row, whose schema has the names (4.0).
type observation struct {
	Values []json.RawMessage `json:"values"`
	Schema struct {
		Fields []struct {
			Name string `json:"name"`
		} `json:"fields"`
	} `json:"schema"`
}

// observed is a whole number that an observation has counted in the batch; 0 if there is none.
func (r reported) observed(name, column string) (n int64) {
	var o observation
	_ = json.Unmarshal(r.ObservedMetrics[name], &o) // what is none of this form has no values
	for i, f := range o.Schema.Fields {
		if f.Name == column && i < len(o.Values) {
			_ = json.Unmarshal(o.Values[i], &n) // what is no number is none
		}
	}
	return n
}

// offsets reads those of a topic's partitions, {"topic":{"0":123}}, as JSON or as JSON inside of a text. What sources count that have no partitions
// is not shown.
func offsets(raw json.RawMessage) running.Offsets {
	var inside string
	if json.Unmarshal(raw, &inside) == nil {
		raw = json.RawMessage(inside)
	}
	var o running.Offsets
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// add counts a report.
func add(t *running.Totals, p running.Progress) {
	t.Records += p.NumInputRows
	t.Rows += max(0, p.Sink.NumOutputRows) // -1: the sink does not tell
	t.Bytes = 0
	for _, o := range p.StateOperators {
		t.Late += o.NumRowsDroppedByWatermark
		t.Bytes += o.MemoryUsedBytes
	}
}

// progressOf is a report in the words of package stream.
func progressOf(p running.Progress) stream.Progress {
	is := stream.Progress{
		ID: p.ID, RunID: p.RunID, Name: p.Name, Timestamp: instant(p.Timestamp), BatchID: p.BatchID, BatchDuration: p.BatchDuration,
		NumInputRows: p.NumInputRows, InputRowsPerSecond: p.InputRowsPerSecond, ProcessedRowsPerSecond: p.ProcessedRowsPerSecond,
		DurationMs: p.DurationMs, EventTime: map[string]stream.Instant{}, Sink: stream.SinkProgress(p.Sink),
	}
	for name, text := range p.EventTime {
		if t := instant(text); !t.IsZero() && name != "avg" { // local queries have no average time
			is.EventTime[name] = t
		}
	}
	for _, o := range p.StateOperators {
		is.StateOperators = append(is.StateOperators, stream.StateOperator(o))
	}
	for _, s := range p.Sources {
		is.Sources = append(is.Sources, stream.SourceProgress{
			Description: s.Description, StartOffset: stream.Offsets(s.StartOffset), EndOffset: stream.Offsets(s.EndOffset),
			LatestOffset: stream.Offsets(s.LatestOffset), NumInputRows: s.NumInputRows, InputRowsPerSecond: s.InputRowsPerSecond,
			ProcessedRowsPerSecond: s.ProcessedRowsPerSecond, Metrics: s.Metrics,
		})
	}
	return is
}

func instant(text string) stream.Instant {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return stream.Instant{}
	}
	return stream.Instant{Time: t}
}

// partitions are those of the topics in a report.
func partitions(p running.Progress) []running.Partition {
	all := []running.Partition{}
	watermark := instant(p.EventTime["watermark"]).Time
	for _, s := range p.Sources {
		for topic, ends := range s.EndOffset {
			for id, end := range ends {
				n, err := strconv.Atoi(id)
				if err != nil {
					continue
				}
				all = append(all, running.Partition{Source: s.Description, Topic: topic, ID: n, Offset: end,
					Lag: max(0, s.LatestOffset[topic][id]-end), Watermark: watermark})
			}
		}
	}
	slices.SortFunc(all, func(a, b running.Partition) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	return all
}
