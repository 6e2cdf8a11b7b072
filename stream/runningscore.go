package stream

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"cancha/statsbomb"
)

// RunningScore is a scoring that was started. Its methods may be called from anywhere, at any time, after its end too.
type RunningScore struct {
	run
	scoring *Scoring
	plan    *scorePlan
	dict    *dictionary
	classes [3]int

	// calling is held while the model is called; a lane's lock is held already. The fields below it are the call's.
	calling       sync.Mutex
	events        []statsbomb.MatchEvent
	probabilities [][]float64
	predictions   []Prediction
	goals         map[int64][2]int // of each match's sides, so far

	// kept guards what can be asked for.
	kept    sync.Mutex
	recent  []Prediction
	latest  map[int64]Prediction
	total   int64
	sources map[string]int64
	latency latencies
}

func startScore(ctx context.Context, s *Scoring, p *scorePlan, classes [3]int) *RunningScore {
	r := &RunningScore{scoring: s, plan: p, dict: newDictionary(), classes: classes, goals: map[int64][2]int{},
		latest: map[int64]Prediction{}, sources: map[string]int64{}}
	r.prepare(s.name, s.source, DefaultIdleAfter, s.limit)
	r.start(ctx, scoreJob{r})
	return r
}

// scoreJob is a RunningScore as its run sees it.
type scoreJob struct{ *RunningScore }

func (r scoreJob) worker(partition int) worker { return newScoreLane(r.RunningScore, partition) }

func (r scoreJob) settle(context.Context, *lane) error { return nil }

func (r scoreJob) tick(context.Context) error { return nil }

func (r scoreJob) drain(context.Context) error { return nil }

func (r scoreJob) describe(p *Progress, sum workReport) {
	p.DurationMs["decode"] = sum.decoding.Milliseconds()
	p.DurationMs["score"] = sum.scoring.Milliseconds()
	p.StateOperators = []StateOperator{}
	p.Sink = SinkProgress{Description: fmt.Sprintf("predictions and %d sinks", len(r.scoring.sinks)), NumOutputRows: r.outputRows()}
}

func (r scoreJob) outputRows() int64 {
	r.kept.Lock()
	defer r.kept.Unlock()
	return r.total
}

// score calls the model with a lane's events and keeps what it says. It returns how long the model took.
func (r *RunningScore) score(batch []MatchEvent, decoding time.Duration) (took time.Duration, err error) {
	r.calling.Lock()
	defer r.calling.Unlock()
	r.fill(batch)
	start := time.Now()
	err = r.callModel()
	took = time.Since(start)
	if err != nil {
		return took, fmt.Errorf("score %d events: %w", len(batch), err)
	}
	if err := r.predict(batch); err != nil {
		return took, err
	}
	r.keepAll(batch, decoding, took)
	for _, sink := range r.scoring.sinks {
		if err := sink.Write(r.ctx, r.predictions); err != nil {
			return took, fmt.Errorf("write %d predictions to a sink: %w", len(r.predictions), err)
		}
	}
	return took, nil
}

// fill prepares the model's arguments, in memory that is used again.
func (r *RunningScore) fill(batch []MatchEvent) {
	r.events = r.events[:0]
	for _, e := range batch {
		r.events = append(r.events, statsbomb.MatchEvent{Event: e.Event, Home: e.Home, Away: e.Away})
	}
	for len(r.probabilities) < len(batch) {
		r.probabilities = append(r.probabilities, make([]float64, len(r.classes)))
	}
}

// callModel calls the model; a panic in it ends the query, not the program.
func (r *RunningScore) callModel() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model panicked: %v", p)
		}
	}()
	return r.scoring.scorer.Score(r.events, r.probabilities[:len(r.events)])
}

func (r *RunningScore) predict(batch []MatchEvent) error {
	r.predictions = r.predictions[:0]
	for i, e := range batch {
		p := r.probabilities[i]
		goals := r.count(e)
		if err := checkProbabilities(p); err != nil {
			return fmt.Errorf("match %d, event %d: %w", e.Event.MatchID, e.Event.Index, err)
		}
		r.predictions = append(r.predictions, Prediction{MatchID: e.Event.MatchID, EventTime: e.EventTime, Period: e.Event.Period,
			Timestamp: e.Event.Timestamp, Minute: e.Event.Minute, Second: e.Event.Second, Index: e.Event.Index,
			Type: e.Event.Type, Team: e.Event.Team, Goal: e.Event.Goal(), Red: e.Event.Red(), HomeTeam: e.Home, AwayTeam: e.Away,
			HomeGoals: goals[0], AwayGoals: goals[1],
			Home: p[r.classes[0]], Draw: p[r.classes[1]], Away: p[r.classes[2]]})
	}
	return nil
}

// count returns the goals of both sides, with an event's.
func (r *RunningScore) count(e MatchEvent) [2]int {
	goals := r.goals[e.Event.MatchID]
	switch {
	case !e.Event.Goal():
	case e.Event.Team.ID == e.Home.ID:
		goals[0]++
	case e.Event.Team.ID == e.Away.ID:
		goals[1]++
	}
	r.goals[e.Event.MatchID] = goals
	return goals
}

func (r *RunningScore) keepAll(batch []MatchEvent, decoding, scoring time.Duration) {
	r.kept.Lock()
	defer r.kept.Unlock()
	now := time.Now()
	for i, e := range batch {
		r.sources[cmp.Or(e.SourceKind, "unknown")]++
		r.latest[e.Event.MatchID] = r.predictions[i]
		if !e.ProducerTime.IsZero() {
			r.latency.sinceSent.add(now.Sub(e.ProducerTime))
		}
	}
	r.total += int64(len(batch))
	r.latency.withoutModel.add(decoding)
	r.latency.withModel.add(decoding + scoring)
	r.recent = append(r.recent, r.predictions...)
	if len(r.recent) > r.scoring.keep+r.scoring.keep/4 {
		r.recent = slices.Clone(r.recent[len(r.recent)-r.scoring.keep:])
	}
}

// Predictions returns the newest predictions that were kept, sorted by match, event time, period, time stamp and index.
func (r *RunningScore) Predictions() *Predictions {
	r.kept.Lock()
	defer r.kept.Unlock()
	p := &Predictions{List: slices.Clone(r.recent[max(0, len(r.recent)-r.scoring.keep):]), Total: r.total}
	slices.SortStableFunc(p.List, comparePredictions)
	return p
}

// Latest returns the newest prediction of each match, sorted by match.
func (r *RunningScore) Latest() *Predictions {
	r.kept.Lock()
	defer r.kept.Unlock()
	p := &Predictions{Total: int64(len(r.latest))}
	for _, each := range r.latest {
		p.List = append(p.List, each)
	}
	slices.SortFunc(p.List, comparePredictions)
	return p
}

// SourceCount is how many records said that they come from a source.
type SourceCount struct {
	Source  string // "open-data", "api", "simulator", or "unknown"
	Records int64
}

// Sources tells where the scored records come from, by name.
func (r *RunningScore) Sources() []SourceCount {
	r.kept.Lock()
	defer r.kept.Unlock()
	var counts []SourceCount
	for source, n := range r.sources {
		counts = append(counts, SourceCount{source, n})
	}
	slices.SortFunc(counts, func(a, b SourceCount) int { return cmp.Compare(a.Source, b.Source) })
	return counts
}

// OtherSources tells which of the scored records do not come from the source that a model was trained on: probabilities
// for them deserve a warning.
func (r *RunningScore) OtherSources(trained string) []SourceCount {
	return slices.DeleteFunc(r.Sources(), func(c SourceCount) bool { return c.Source == trained })
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

func comparePredictions(a, b Prediction) int {
	return cmp.Or(cmp.Compare(a.MatchID, b.MatchID), a.EventTime.Compare(b.EventTime), cmp.Compare(a.Period, b.Period),
		cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.Index, b.Index))
}

// WriteCSV writes the file predictions.csv: match_id, event_time (RFC 3339 with milliseconds), period, timestamp
// (HH:MM:SS.mmm), p_home, p_draw, p_away, in the order of the list.
func (p *Predictions) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"match_id", "event_time", "period", "timestamp", "p_home", "p_draw", "p_away"}) // errors are kept for Flush
	for _, each := range p.List {
		out.Write([]string{strconv.FormatInt(each.MatchID, 10), Instant{each.EventTime}.String(), strconv.Itoa(each.Period),
			formatTimestamp(each.Timestamp), formatExact(each.Home), formatExact(each.Draw), formatExact(each.Away)})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write predictions as CSV: %w", err)
	}
	return nil
}

func formatTimestamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}
