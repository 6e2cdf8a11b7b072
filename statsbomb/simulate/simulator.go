package simulate

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"cancha/statsbomb"
)

// Config says what to simulate. The zero Config is a season of twenty clubs without 360 frames.
type Config struct {
	Seed    uint64 // the same seed gives the same matches
	Matches int    // default 380
	Teams   int    // an even number from 2 to 24; default 20
	Frames  bool   // with 360 frames; they take most of the time and of the bytes
}

const (
	defaultMatches = 380
	defaultTeams   = 20
	maxTeams       = 24 // a season of more would not fit a year
)

func (c Config) withDefaults() Config {
	if c.Matches == 0 {
		c.Matches = defaultMatches
	}
	if c.Teams == 0 {
		c.Teams = defaultTeams
	}
	return c
}

// Validate tells what cannot be simulated.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Matches < 0 {
		errs = append(errs, fmt.Errorf("matches: want at least 1, got %d", c.Matches))
	}
	if c.Teams < 2 || c.Teams > maxTeams || c.Teams%2 != 0 {
		errs = append(errs, fmt.Errorf("teams: want an even number from 2 to %d, got %d", maxTeams, c.Teams))
	}
	return errors.Join(errs...)
}

// Simulator is a statsbomb.Archive of simulated matches. Goroutines may share it.
type Simulator struct {
	config   Config
	clubs    []*club
	fixtures []fixture
	scored   func() []statsbomb.Match // the list with final scores, made on first use
}

// New plans the matches; none is played yet. It panics on a Config that Validate refuses.
func New(config Config) *Simulator {
	if err := config.Validate(); err != nil {
		panic("simulate: " + err.Error())
	}
	config = config.withDefaults()
	l := newLeague(config.Seed, config.Teams)
	s := &Simulator{config: config, fixtures: l.plan(config.Matches), clubs: l.clubs}
	s.scored = sync.OnceValue(s.playAll)
	return s
}

// Source returns "simulator".
func (s *Simulator) Source() string { return statsbomb.SourceSimulator }

// Matches returns all matches with their final scores, ordered by date, kick-off and id. The first call plays them all, on
// all cores, without keeping their events. The slice is the caller's.
func (s *Simulator) Matches() []statsbomb.Match { return slices.Clone(s.scored()) }

// Fixtures returns all matches without their scores, at once.
func (s *Simulator) Fixtures() []statsbomb.Match {
	out := make([]statsbomb.Match, len(s.fixtures))
	for i := range out {
		out[i] = s.list(i)
	}
	return out
}

func (s *Simulator) list(i int) statsbomb.Match {
	m := s.fixtures[i].match
	if !s.config.Frames {
		m.Status360 = "unscheduled"
	}
	return m
}

func (s *Simulator) playAll() []statsbomb.Match {
	out := s.Fixtures()
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(out)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(out); i = int(next.Add(1)) - 1 {
				g := s.game(i)
				g.rec.silent = true
				g.play()
				out[i].HomeScore, out[i].AwayScore = g.score[0], g.score[1]
			}
		})
	}
	group.Wait()
	return out
}

// Events plays a match and returns its events, ordered by (period, index), with match_id and, if configured, 360 frames.
func (s *Simulator) Events(matchID int64) ([]statsbomb.Event, error) {
	i := int(matchID - firstMatch)
	if i < 0 || i >= len(s.fixtures) {
		return nil, fmt.Errorf("match %d is not simulated: ids run from %d to %d", matchID, int64(firstMatch), firstMatch+int64(len(s.fixtures))-1)
	}
	g := s.game(i)
	g.play()
	return g.rec.events, nil
}

// Lineups returns both squads of a match.
func (s *Simulator) Lineups(matchID int64) ([]statsbomb.Lineup, error) {
	events, err := s.Events(matchID)
	if err != nil {
		return nil, err
	}
	f := &s.fixtures[matchID-firstMatch]
	return []statsbomb.Lineup{lineup(s.clubs[f.home], events), lineup(s.clubs[f.away], events)}, nil
}

// game sets up a match from its fixture.
func (s *Simulator) game(i int) *game {
	f := &s.fixtures[i]
	g := &game{d: newDice(s.config.Seed, streamMatch+uint64(i))}
	g.rec = newRecorder(f.match.ID, mix(s.config.Seed, uint64(f.match.ID)))
	g.camera = camera{d: newDice(s.config.Seed, streamFrames+uint64(i)), on: s.config.Frames}
	g.sides[0].club, g.sides[1].club = s.clubs[f.home], s.clubs[f.away]
	g.prepare(f.strengths)
	return g
}
