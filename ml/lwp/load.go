package lwp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"cancha/internal/callback"
	"cancha/internal/running"
	"cancha/statsbomb"
)

// Classes are the outcomes in the order of all probabilities here. The order is natural (RPS needs it) and is written
// into every model file.
func Classes() []string { return []string{"home", "draw", "away"} }

// Match is a match as the model sees it.
type Match struct {
	statsbomb.Match
	Prior  Prior
	States []State // at minutes 0..LastMinute
	Final  State   // after 90 minutes and stoppage
	Marks  []Mark  // goals and red cards, in order
}

// Mark is a goal or a red card, for a chart of a match.
type Mark struct {
	Minute int    // whole minutes played, stoppage time of the first half as 45
	Kind   string // MarkGoal or MarkRed
	Home   bool   // of the home team
	Player string
}

// Kinds of marks.
const (
	MarkGoal = "goal"
	MarkRed  = "red card"
)

// Label returns the class of the result after 90 minutes and stoppage: 0 home, 1 draw, 2 away.
func (m *Match) Label() int {
	switch {
	case m.Final.Home.Goals > m.Final.Away.Goals:
		return 0
	case m.Final.Home.Goals == m.Final.Away.Goals:
		return 1
	}
	return 2
}

// Matches are the matches of an archive that have events, in order of date.
type Matches struct {
	Source   string // of the archive: "open-data", "api" or "simulator"
	Matches  []Match
	NoEvents int               // matches that are listed without events and left out, except from the ratings
	all      []statsbomb.Match // all listed, in order of date
	ratings  *Ratings          // after the last of them
}

// Load reads all matches of an archive, several at a time, and rates the teams. Progress, if not nil, is called after
// each match listed, from one goroutine at a time. Matches without events are left out; any other trouble ends it.
func Load(ctx context.Context, archive statsbomb.Archive, progress func(done, total int)) (*Matches, error) {
	listed := archive.Matches()
	loaded := make([]*Match, len(listed))
	job := running.NewJob(running.Load, "matches: "+archive.Source(), len(listed), "matches")
	if err := job.Do(func() error { return loadAll(ctx, archive, listed, loaded, progress, job) }); err != nil {
		return nil, err
	}
	out := &Matches{Source: archive.Source(), all: listed}
	for _, m := range loaded {
		if m != nil {
			out.Matches = append(out.Matches, *m)
		}
	}
	out.NoEvents = len(listed) - len(out.Matches)
	if len(out.Matches) == 0 {
		return nil, fmt.Errorf("lwp: none of the %d matches listed has events; fetch them first", len(listed))
	}
	out.ratings = out.rate("9999")
	return out, nil
}

// loadAll fills loaded; entries of matches without events stay nil.
func loadAll(ctx context.Context, archive statsbomb.Archive, listed []statsbomb.Match, loaded []*Match, progress func(done, total int), job *running.Job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	var mu sync.Mutex // guards done and the calls of progress
	done := 0
	loadOne := func(i int) error {
		m, err := loadMatch(archive, listed[i])
		if err != nil {
			return err
		}
		loaded[i] = m
		job.Advance(1)
		if m != nil {
			job.Handle(int64(len(m.States)), 0)
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		if progress != nil {
			progress(done, len(listed))
		}
		return nil
	}
	calling := callback.Within(ctx)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(listed) {
					return
				}
				err := callback.Do(calling, func() error { return loadOne(i) }) // the archive and progress may be a user's own
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// loadMatch reads one match; nil without error when it has no events.
func loadMatch(archive statsbomb.Archive, listed statsbomb.Match) (*Match, error) {
	events, err := archive.Events(listed.ID)
	if errors.Is(err, statsbomb.ErrNoEvents) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lwp: read match %d: %w", listed.ID, err)
	}
	home, away := listed.Home.ID, listed.Away.ID
	m := &Match{Match: listed, States: snapshots(home, away, events), Final: finalState(home, away, events)}
	for i := range events {
		m.mark(&events[i])
	}
	return m, nil
}

// mark notes a goal or a red card of the 90 minutes.
func (m *Match) mark(e *statsbomb.Event) {
	if e.Period > 2 || !e.Goal() && !e.Red() {
		return
	}
	kind := MarkGoal
	if e.Red() {
		kind = MarkRed
	}
	m.Marks = append(m.Marks, Mark{Minute: int(playedMinutes(e.Period, e.Timestamp)), Kind: kind, Home: e.Team.ID == m.Home.ID, Player: e.Player.Name})
}

// rate gives every match its prior: what the ratings said before its day. Matches of one day are rated together
// afterwards, for local kick-off times do not tell which came first. It returns the ratings of all days before the
// given date.
func (ms *Matches) rate(before string) *Ratings {
	at := make(map[int64]*Match, len(ms.Matches))
	for i := range ms.Matches {
		at[ms.Matches[i].ID] = &ms.Matches[i]
	}
	ratings := NewRatings()
	for i := 0; i < len(ms.all) && ms.all[i].Date < before; {
		day := i
		ratings.advance(ms.all[day].Date)
		for ; i < len(ms.all) && ms.all[i].Date == ms.all[day].Date; i++ {
			if m := at[ms.all[i].ID]; m != nil {
				m.Prior = ratings.Prior(m.Match.Home.ID, m.Match.Away.ID, m.Neutral)
			}
		}
		for _, listed := range ms.all[day:i] {
			if m := at[listed.ID]; m != nil || !listed.NoScore {
				ratings.Update(result(listed, m))
			}
		}
	}
	return ratings
}

// result returns a match for the ratings: from its events where there are any, else from the list.
func result(listed statsbomb.Match, m *Match) Result {
	r := Result{Home: listed.Home.ID, Away: listed.Away.ID, Neutral: listed.Neutral, Date: listed.Date,
		Goals: [2]int{listed.HomeScore, listed.AwayScore}, XG: [2]float64{-1, -1}}
	if m == nil {
		return r
	}
	r.Goals = [2]int{int(m.Final.Home.Goals), int(m.Final.Away.Goals)}
	r.XG = [2]float64{m.Final.Home.xg(), m.Final.Away.xg()}
	r.Box = [2]int{int(m.Final.Home.Box), int(m.Final.Away.Box)}
	r.FinalThird = [2]int{int(m.Final.Home.FinalThird), int(m.Final.Away.FinalThird)}
	return r
}

// xg returns the expected goals.
func (s *Side) xg() float64 { return float64(s.XG) / xgUnit }
