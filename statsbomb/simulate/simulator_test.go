package simulate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
)

// ranges are what a match has on average. The real figures are counted over StatsBomb's open data: events and carries over
// 1,318 matches, the rest over 300 league matches of four competitions.
func ranges() []struct {
	name            string
	real, low, high float64
} {
	return []struct {
		name            string
		real, low, high float64
	}{
		{"events", 3528, 3200, 3700},
		{"Pass", 979, 880, 1060},
		{"complete passes", 729, 650, 820},
		{"Ball Receipt*", 910, 800, 1000},
		{"Carry", 789, 720, 880},
		{"Pressure", 314, 270, 350},
		{"Ball Recovery", 116, 95, 135},
		{"Duel", 76, 45, 85},
		{"Clearance", 52, 42, 68},
		{"Block", 39, 30, 44},
		{"Dribble", 36, 27, 40},
		{"Goal Keeper", 32, 23, 36},
		{"Miscontrol", 30, 20, 34},
		{"Interception", 23, 13, 27},
		{"Foul Committed", 24.3, 20, 27},
		{"Substitution", 6.3, 5.2, 6.9},
		{"corners", 10, 8.5, 12.5},
		{"throw-ins", 51, 44, 58},
		{"possessions", 198, 175, 245},
		{"Shot", 25.4, 22.5, 27.5},
		{"xG", 2.73, 2.3, 3.0},
		{"goals", 2.82, 2.3, 3.1},
		{"Own Goal For", .112, .04, .2},
		{"penalties", .27, .12, .36},
		{"yellows", 2.84, 2.2, 3.4},
		{"reds", .156, .1, .3},
		{"home wins", .45, .38, .52},
		{"draws", .25, .18, .30},
		{"away wins", .30, .24, .38},
		// Of a side's goals: 1 would be a Poisson with one rate for all.
		{"variance of goals by mean", 1.21, 1.05, 1.5},
		{"standard deviation of pass share", .109, .055, .13},
		{"goals by xG", 1.0, .9, 1.12},
		{"xG a shot", .102, .085, .125},
		{"goals of the second half", .55, .49, .6},
	}
}

// tally adds up what matches have.
type tally map[string]float64

func (c tally) add(m statsbomb.Match, events []statsbomb.Event) {
	passes := make(map[int]float64)
	for i := range events {
		e := &events[i]
		c["events"]++
		c[e.Type.Name]++
		if e.Red() {
			c["reds"]++
		}
		if e.Card.ID == statsbomb.CardYellow {
			c["yellows"]++
		}
		if e.Goal() && e.Period == 2 {
			c["goals of the second half"]++
		}
		if e.Pass != nil {
			passes[e.Team.ID]++
			c.pass(e.Pass)
		}
		if e.Shot != nil {
			c["xG"] += e.Shot.XG
			if e.Shot.Type.ID == 88 {
				c["penalties"]++
			}
		}
	}
	h, a := float64(m.HomeScore), float64(m.AwayScore)
	share := passes[m.Home.ID] / (passes[m.Home.ID] + passes[m.Away.ID])
	c["possessions"] += float64(events[len(events)-1].Possession)
	c["goals"] += h + a
	c["squares"] += h*h + a*a
	c["share"] += share
	c["share squared"] += share * share
	c[[...]string{"away wins", "draws", "home wins"}[1+cmpScore(h, a)]]++
}

func cmpScore(h, a float64) int {
	switch {
	case h > a:
		return 1
	case h < a:
		return -1
	}
	return 0
}

func (c tally) pass(p *statsbomb.Pass) {
	if p.Outcome.ID == 0 {
		c["complete passes"]++
	}
	switch p.Type.ID {
	case 61:
		c["corners"]++
	case 67:
		c["throw-ins"]++
	}
}

// means turns sums into means a match, and adds what is made of them.
func (c tally) means(matches int) {
	n := float64(matches)
	c["goals of the second half"] *= n / c["goals"]
	for k := range c {
		c[k] /= n
	}
	mean := c["goals"] / 2
	c["variance of goals by mean"] = (c["squares"]/2 - mean*mean) / mean
	c["standard deviation of pass share"] = math.Sqrt(c["share squared"] - c["share"]*c["share"])
	c["goals by xG"] = (c["goals"] - c["Own Goal For"]) / c["xG"]
	c["xG a shot"] = c["xG"] / c["Shot"]
}

func TestTotals(t *testing.T) {
	s := simulate.New(simulate.Config{Seed: 20, Matches: 380})
	c := make(tally)
	for _, m := range s.Matches() {
		events, err := s.Events(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		checkMatch(t, m, events)
		c.add(m, events)
	}
	c.means(380)
	for _, r := range ranges() {
		if got := c[r.name]; !(got >= r.low && got <= r.high) {
			t.Errorf("%s: %.3f a match, want %g to %g", r.name, got, r.low, r.high)
		}
		t.Logf("%-34s real %8.3f  simulated %8.3f", r.name, r.real, c[r.name])
	}
}

// checkMatch checks the order, the clock, the places, the sides and the score of a match.
func checkMatch(t *testing.T, m statsbomb.Match, events []statsbomb.Event) {
	t.Helper()
	score := make(map[int]int)
	steps := 0
	for i := range events {
		e := &events[i]
		if e.Index != i+1 || e.MatchID != m.ID || e.Team.ID != m.Home.ID && e.Team.ID != m.Away.ID {
			t.Fatalf("match %d: event %d has index %d, match %d, team %v", m.ID, i+1, e.Index, e.MatchID, e.Team)
		}
		if i > 0 && e.Period < events[i-1].Period {
			t.Fatalf("match %d: period %d after %d", m.ID, e.Period, events[i-1].Period)
		}
		if i > 0 && e.Period == events[i-1].Period && e.Timestamp < events[i-1].Timestamp {
			if steps++; events[i-1].Timestamp-e.Timestamp > time.Second {
				t.Errorf("match %d, event %d: the clock steps back from %v to %v", m.ID, e.Index, events[i-1].Timestamp, e.Timestamp)
			}
		}
		if p := e.Location; p != nil && !(p.X >= 0 && p.X <= 120 && p.Y >= 0 && p.Y <= 80) {
			t.Errorf("match %d, event %d: at %v", m.ID, e.Index, *p)
		}
		if e.Goal() {
			score[e.Team.ID]++
		}
	}
	if steps > 5 {
		t.Errorf("match %d: the clock steps back %d times", m.ID, steps)
	}
	if score[m.Home.ID] != m.HomeScore || score[m.Away.ID] != m.AwayScore {
		t.Errorf("match %d: goals %d:%d, score %d:%d", m.ID, score[m.Home.ID], score[m.Away.ID], m.HomeScore, m.AwayScore)
	}
	if last := events[len(events)-1]; last.Type.ID != statsbomb.TypeHalfEnd || last.Timestamp < 45*time.Minute || last.Timestamp > 60*time.Minute {
		t.Errorf("match %d ends with %s at %v", m.ID, last.Type.Name, last.Timestamp)
	}
}

// TestSameSeedSameMatches holds one match against the hash it had on every machine so far. A change of the process changes
// the hash: put in the new one, and say in the change that seeds mean other matches from now on.
func TestSameSeedSameMatches(t *testing.T) {
	const want = "1728c5b70ff5033f3d22c3b8c5d61c0d8424fe64cf682ef6f4eb95879336813a"
	if got := hashOf(t, simulate.New(simulate.Config{Seed: 7, Matches: 30, Frames: true}), 9_000_021); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
	other := hashOf(t, simulate.New(simulate.Config{Seed: 8, Matches: 30, Frames: true}), 9_000_021)
	if other == want {
		t.Error("another seed gives the same match")
	}
}

func hashOf(t *testing.T, s *simulate.Simulator, id int64) string {
	t.Helper()
	events, err := s.Events(id)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	var text []byte
	for i := range events {
		if text, err = statsbomb.AppendEvent(text[:0], &events[i]); err != nil {
			t.Fatal(err)
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestFramesChangeNothingElse plays a match with frames and without, in different orders.
func TestFramesChangeNothingElse(t *testing.T) {
	with, without := simulate.New(simulate.Config{Seed: 3, Matches: 12, Frames: true}), simulate.New(simulate.Config{Seed: 3, Matches: 40})
	if a, b := with.Matches(), without.Matches()[:12]; a[5].HomeScore != b[5].HomeScore || a[5].Status360 == b[5].Status360 {
		t.Errorf("match 5 is %+v with frames, %+v without", a[5], b[5])
	}
	for _, id := range []int64{9_000_012, 9_000_001} {
		a, err := with.Events(id)
		if err != nil {
			t.Fatal(err)
		}
		b, err := without.Events(id)
		if err != nil {
			t.Fatal(err)
		}
		frames, players := 0, 0
		for i := range a {
			if a[i].FreezeFrame != nil {
				frames++
				players += len(a[i].FreezeFrame)
			}
			a[i].FreezeFrame, a[i].VisibleArea = nil, nil
			for _, e := range []*statsbomb.Event{&a[i], &b[i]} {
				if e.Shot != nil { // its own freeze frame and the foot are the camera's draws too
					e.Shot.FreezeFrame, e.Shot.BodyPart = nil, statsbomb.Ref{}
				}
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("match %d differs", id)
		}
		if share, mean := float64(frames)/float64(len(a)), float64(players)/float64(frames); share < .8 || share > .95 || mean < 13 || mean > 18 {
			t.Errorf("match %d: frames on %.2f of the events with %.1f players, want .87 and 15", id, share, mean)
		}
	}
}

func TestSchemaReadsAgain(t *testing.T) {
	s := simulate.New(simulate.Config{Seed: 1, Matches: 1, Frames: true})
	events, err := s.Events(s.Fixtures()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		text, err := statsbomb.EncodeEvent(events[i])
		if err != nil {
			t.Fatal(err)
		}
		got, err := statsbomb.DecodeEvent(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.RelatedEvents) == 0 {
			got.RelatedEvents = events[i].RelatedEvents
		}
		if d := events[i].Detail; d != nil && *d == (statsbomb.Detail{}) {
			events[i].Detail = nil
		}
		if !reflect.DeepEqual(got, events[i]) {
			t.Fatalf("event %d read again from %s:\ngot  %+v\nwant %+v", i, text, got, events[i])
		}
	}
}

func TestLineups(t *testing.T) {
	s := simulate.New(simulate.Config{Seed: 5, Matches: 10})
	for _, m := range s.Fixtures() {
		lineups, err := s.Lineups(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for k, l := range lineups {
			start := 0
			for _, p := range l.Players {
				if len(p.Positions) > 0 && p.Positions[0].StartReason == "Starting XI" {
					start++
				}
				for _, spell := range p.Positions {
					if spell.EndReason == "" {
						t.Errorf("match %d: %s has a spell without an end", m.ID, p.Player.Name)
					}
				}
			}
			if want := []statsbomb.Ref{m.Home, m.Away}[k]; l.Team != want || start != 11 {
				t.Errorf("match %d: line-up of %v with %d who start, want %v with 11", m.ID, l.Team, start, want)
			}
		}
	}
}

// TestCalendar checks that a season is a double round robin in the order of an archive.
func TestCalendar(t *testing.T) {
	s := simulate.New(simulate.Config{Teams: 6, Matches: 45})
	type pair struct{ season, home, away int }
	seen := make(map[pair]bool)
	var before statsbomb.Match
	for _, m := range s.Fixtures() {
		p := pair{m.Season.ID, m.Home.ID, m.Away.ID}
		if seen[p] || m.Home.ID == m.Away.ID {
			t.Errorf("%s against %s twice in season %s", m.Home.Name, m.Away.Name, m.Season.Name)
		}
		seen[p] = true
		if m.Date < before.Date || m.Date == before.Date && m.KickOff < before.KickOff {
			t.Errorf("match %d on %s at %s comes after %s at %s", m.ID, m.Date, m.KickOff, before.Date, before.KickOff)
		}
		before = m
	}
	if before.Season.Name != "2022/2023" {
		t.Errorf("match 45 of leagues of 30 matches is in season %s, want 2022/2023", before.Season.Name)
	}
}

// TestRedCardsHurt compares what sides score by ten men and by eleven, a minute.
func TestRedCardsHurt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := simulate.New(simulate.Config{Seed: 2, Matches: 600})
	var short, full, shortMinutes, fullMinutes float64
	for _, m := range s.Fixtures() {
		events, err := s.Events(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		reds := make(map[int]int)
		last := 0.0
		for i := range events {
			e := &events[i]
			now := 45*float64(e.Period-1) + e.Timestamp.Minutes()
			for _, team := range []int{m.Home.ID, m.Away.ID} {
				if span := max(0, now-last); reds[team] > 0 {
					shortMinutes += span
				} else {
					fullMinutes += span
				}
			}
			last = now
			if e.Shot != nil && reds[e.Team.ID] > 0 {
				short += e.Shot.XG
			} else if e.Shot != nil {
				full += e.Shot.XG
			}
			if e.Red() {
				reds[e.Team.ID]++
			}
		}
	}
	if ten, eleven := short/shortMinutes, full/fullMinutes; !(ten < .85*eleven) || shortMinutes < 500 {
		t.Errorf("xG a minute: %.4f with ten men over %.0f minutes, %.4f with eleven", ten, shortMinutes, eleven)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]simulate.Config{"odd": {Teams: 5}, "many": {Teams: 26}, "negative": {Matches: -1}} {
		if c.Validate() == nil {
			t.Errorf("%s: %+v was accepted", name, c)
		}
	}
	if _, err := simulate.New(simulate.Config{Matches: 2}).Events(42); err == nil || errors.Is(err, statsbomb.ErrNoEvents) {
		t.Errorf("events of a match that is not planned: %v", err)
	}
}

func BenchmarkSimulate(b *testing.B) {
	for _, c := range []struct {
		name   string
		frames bool
	}{{"plain", false}, {"frames", true}} {
		b.Run(c.name, func(b *testing.B) {
			s := simulate.New(simulate.Config{Seed: 1, Frames: c.frames})
			ids := s.Fixtures()
			k := 0
			for b.Loop() {
				if _, err := s.Events(ids[k%len(ids)].ID); err != nil {
					b.Fatal(err)
				}
				k++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "matches/s")
		})
	}
	b.Run("scores of 380", func(b *testing.B) {
		for b.Loop() {
			simulate.New(simulate.Config{Seed: 1}).Matches()
		}
	})
}
