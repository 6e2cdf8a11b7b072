package streaming

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"cancha/runtime/grid"
	"cancha/statsbomb"
	"cancha/stream"
)

// Prediction is what a model says of a match after one of its events.
type Prediction struct {
	MatchID            int64
	EventTime          time.Time
	Period             int
	Timestamp          time.Duration // since the start of the period
	Minute, Second     int
	Index              int // of the event in its match
	Type               statsbomb.Ref
	Team               statsbomb.Ref
	Goal               bool // the event is a goal for Team
	Red                bool // the event sends a player of Team off
	HomeTeam, AwayTeam statsbomb.Ref
	HomeGoals          int // of the match's events scored so far, this one included
	AwayGoals          int
	Home, Draw, Away   float64 // probabilities of the results
}

// Score writes the goals so far, as "2:1".
func (p Prediction) Score() string { return fmt.Sprintf("%d:%d", p.HomeGoals, p.AwayGoals) }

func (p Prediction) row() []stream.Value {
	return []stream.Value{stream.IntOf(p.MatchID), stream.TimeOf(p.EventTime), stream.IntOf(int64(p.Period)), stream.TextOf(timestamp(p.Timestamp)),
		stream.FloatOf(p.Home), stream.FloatOf(p.Draw), stream.FloatOf(p.Away)}
}

func timestamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

// Predictions returns the newest predictions that were kept, sorted by match, event time, period, time stamp and index.
func (b *Board) Predictions() *Predictions {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Predictions{List: slices.Clone(b.recent[max(0, len(b.recent)-b.keep):]), Total: b.total}
	slices.SortStableFunc(p.List, compare)
	return p
}

// Latest returns the newest prediction of each match, sorted by match.
func (b *Board) Latest() *Predictions {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Predictions{Total: int64(len(b.latest))}
	for _, each := range b.latest {
		p.List = append(p.List, each)
	}
	slices.SortFunc(p.List, compare)
	return p
}

func compare(a, b Prediction) int {
	return cmp.Or(cmp.Compare(a.MatchID, b.MatchID), a.EventTime.Compare(b.EventTime), cmp.Compare(a.Period, b.Period),
		cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.Index, b.Index))
}

// SourceCount is how many records said that they come from a source.
type SourceCount struct {
	Source  string // "open-data", "api", "simulator", or "unknown"
	Records int64
}

// Sources tells where the scored records come from, by name.
func (b *Board) Sources() []SourceCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	var counts []SourceCount
	for source, n := range b.sources {
		counts = append(counts, SourceCount{source, n})
	}
	slices.SortFunc(counts, func(a, b SourceCount) int { return cmp.Compare(a.Source, b.Source) })
	return counts
}

// OtherSources tells which of the scored records do not come from the source that a model was trained on: probabilities
// for them deserve a warning.
func (b *Board) OtherSources(trained string) []SourceCount {
	return slices.DeleteFunc(b.Sources(), func(c SourceCount) bool { return c.Source == trained })
}

// Predictions are predictions of matches.
type Predictions struct {
	List  []Prediction
	Total int64 // how many there were; more than in the list if some were left out
}

// Len returns the number of predictions in the list.
func (p *Predictions) Len() int { return len(p.List) }

// Match returns the predictions of one match.
func (p *Predictions) Match(id int64) *Predictions {
	one := &Predictions{Total: p.Total}
	for _, each := range p.List {
		if each.MatchID == id {
			one.List = append(one.List, each)
		}
	}
	return one
}

// WriteCSV writes the file predictions.csv: match_id, event_time (RFC 3339 with milliseconds), period, timestamp
// (HH:MM:SS.mmm), p_home, p_draw, p_away, in the order of the list.
func (p *Predictions) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"match_id", "event_time", "period", "timestamp", "p_home", "p_draw", "p_away"}) // errors are kept for Flush
	for _, each := range p.List {
		out.Write([]string{strconv.FormatInt(each.MatchID, 10), each.EventTime.UTC().Format("2006-01-02T15:04:05.000Z"), strconv.Itoa(each.Period),
			timestamp(each.Timestamp), stream.FloatOf(each.Home).String(), stream.FloatOf(each.Draw).String(), stream.FloatOf(each.Away).String()})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write predictions as CSV: %w", err)
	}
	return nil
}

// shownPredictions is how many predictions are shown at most.
const shownPredictions = 20

// MIMEBundle shows the newest predictions of the list as a table.
func (p *Predictions) MIMEBundle() map[string]any { return p.grid().MIMEBundle() }

// String is the newest predictions of the list as aligned text.
func (p *Predictions) String() string { return p.grid().Text() }

func (p *Predictions) grid() grid.Grid {
	g := grid.Grid{Header: []string{"match", "home", "away", "score", "minute", "home win", "draw", "away win"}}
	percent := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }
	for _, each := range p.List[max(0, len(p.List)-shownPredictions):] {
		g.Rows = append(g.Rows, []string{strconv.FormatInt(each.MatchID, 10), each.HomeTeam.Name, each.AwayTeam.Name, each.Score(),
			fmt.Sprintf("%d:%02d", each.Minute, each.Second), percent(each.Home), percent(each.Draw), percent(each.Away)})
	}
	g.Note = fmt.Sprintf("%d of %d rows", len(g.Rows), max(int64(len(p.List)), p.Total))
	return g
}

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

// Latency returns how long the batches of a scoring took, with and without the model, and how old events were.
func (b *Board) Latency() Latencies {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Latencies{b.latency[0].summary(), b.latency[1].summary(), b.latency[2].summary()}
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
