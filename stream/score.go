package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cancha/statsbomb"
)

// Scorer is a model of a match as it goes: it keeps the state of each match it has seen events of, and says after each
// event how the match will end.
type Scorer interface {
	// Classes returns the names of the results, in the order of the probabilities: "home", "draw" and "away", in any order.
	Classes() []string
	// Score takes the next events, of one or several matches, each match's in the order of the stream, and fills
	// probabilities[i], which is as long as Classes, with the state after events[i]; they are not negative and sum to 1.
	// Calls come one after another, never two at a time; events and probabilities are the caller's again afterwards.
	// How a stream is cut into calls must not change the answers. An error ends the query.
	Score(events []statsbomb.MatchEvent, probabilities [][]float64) error
}

// MatchEvent is an event as it came in a record.
type MatchEvent struct {
	Event        statsbomb.Event
	EventTime    time.Time     // UTC
	ProducerTime time.Time     // when the record was sent; zero if the record does not say
	Home, Away   statsbomb.Ref // the teams of the match
	SourceKind   string        // "open-data", "api", "simulator"; empty if the record does not say
	Partition    int
	Offset       int64
}

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

// PredictionSink takes predictions as they come, in the order in which each match's events came. Calls come one after
// another; an error ends the query. The slice is valid during the call.
type PredictionSink interface {
	Write(ctx context.Context, predictions []Prediction) error
}

// DefaultKeepPredictions is how many predictions a running scoring keeps, about 300 bytes each.
const DefaultKeepPredictions = 200_000

// Scoring is a plan: which records to read, and the model that scores them. Its methods return a changed copy.
type Scoring struct {
	source Source
	scorer Scorer
	name   string
	limit  int64
	keep   int
	batch  int
	wait   time.Duration
	sinks  []PredictionSink
}

// Score starts a scoring of a source's events by a model.
func Score(source Source, scorer Scorer) *Scoring {
	return &Scoring{source: source, scorer: scorer, name: "scoring", keep: DefaultKeepPredictions, batch: 4096, wait: 5 * time.Millisecond}
}

func (s *Scoring) with(change func(*Scoring)) *Scoring {
	c := *s
	change(&c)
	return &c
}

// Name gives the scoring the name that progress reports carry.
func (s *Scoring) Name(name string) *Scoring { return s.with(func(s *Scoring) { s.name = name }) }

// MaxRecords ends the scoring after exactly n records, bad ones included; 0, as unless set, is endless.
func (s *Scoring) MaxRecords(n int64) *Scoring { return s.with(func(s *Scoring) { s.limit = n }) }

// Keep bounds how many predictions Predictions can give: the newest n, DefaultKeepPredictions unless set. Sinks get all.
func (s *Scoring) Keep(n int) *Scoring { return s.with(func(s *Scoring) { s.keep = n }) }

// Batch bounds what the model gets in one call: at most n events, and no more than come within wait; 4096 and 5 ms unless
// set. Nothing waits for more events than have been read: a slow stream is scored event by event.
func (s *Scoring) Batch(n int, wait time.Duration) *Scoring {
	return s.with(func(s *Scoring) { s.batch, s.wait = n, wait })
}

// To adds a sink.
func (s *Scoring) To(sink PredictionSink) *Scoring {
	return s.with(func(s *Scoring) { s.sinks = append(slices.Clip(s.sinks), sink) })
}

// Start checks the plan and runs it; it does not wait. It ends as a Query does.
func (s *Scoring) Start(ctx context.Context) (*RunningScore, error) {
	classes, err := s.validate()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	p := &scorePlan{}
	if err := p.build(); err != nil { // unreachable: the paths are ours
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	return startScore(ctx, s, p, classes), nil
}

// validate returns where home, draw and away stand among the model's classes.
func (s *Scoring) validate() (classes [3]int, err error) {
	switch {
	case s.source == nil:
		return classes, errors.New("stream: no source to score")
	case s.scorer == nil:
		return classes, errors.New("stream: no model; Score wants one, such as the one that notebook 02 trains")
	case s.limit < 0 || s.keep < 1 || s.batch < 1 || s.wait < 0:
		return classes, fmt.Errorf("stream: MaxRecords(%d), Keep(%d), Batch(%d, %v): want at least 0, 1, 1 and 0",
			s.limit, s.keep, s.batch, s.wait)
	}
	names := s.scorer.Classes()
	for i, want := range []string{"home", "draw", "away"} {
		if classes[i] = slices.Index(names, want); classes[i] < 0 || len(names) != 3 {
			return classes, fmt.Errorf("stream: the model's classes are %q; want home, draw and away", names)
		}
	}
	return classes, nil
}
