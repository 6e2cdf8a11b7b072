package simulate

import (
	"fmt"
	"time"

	"cancha/statsbomb"
)

// strength is what a club can do in one week; 0 is the league's average, the unit is a logarithm of a rate.
type strength struct{ attack, defence, control float64 }

// fixture is one match of the calendar.
type fixture struct {
	match      statsbomb.Match // without its score
	home, away int             // clubs
	strengths  [2]strength
}

// league plans seasons of a double round robin: each club meets each other at home and away.
type league struct {
	d      dice
	clubs  []*club
	now    []strength // of each club
	target []strength // what each club drifts back to
}

func newLeague(seed uint64, teams int) *league {
	l := &league{d: newDice(seed, streamLeague)}
	for i := range teams {
		l.clubs = append(l.clubs, newClub(seed, i))
		wealth := l.d.normal(0, 1)
		l.target = append(l.target, strength{
			attack:  .19*wealth + l.d.normal(0, .09),
			defence: .14*wealth + l.d.normal(0, .08),
			control: .11*wealth + l.d.normal(0, .26),
		})
	}
	l.now = append(l.now, l.target...)
	return l
}

// week lets the strengths drift.
func (l *league) week() {
	for i := range l.now {
		s, t := &l.now[i], l.target[i]
		s.attack += .06*(t.attack-s.attack) + l.d.normal(0, .025)
		s.defence += .06*(t.defence-s.defence) + l.d.normal(0, .025)
		s.control += .06*(t.control-s.control) + l.d.normal(0, .03)
	}
}

// summer changes squads: what the clubs drift back to is shaken and drawn a little to the middle.
func (l *league) summer() {
	for i := range l.target {
		t := &l.target[i]
		t.attack = .9*t.attack + l.d.normal(0, .08)
		t.defence = .9*t.defence + l.d.normal(0, .08)
		t.control = .9*t.control + l.d.normal(0, .08)
	}
}

// plan returns the first so many matches, in order of date, kick-off and id.
func (l *league) plan(matches int) []fixture {
	out := make([]fixture, 0, matches)
	for season := 0; len(out) < matches; season++ {
		order := l.d.Perm(len(l.clubs))
		for week := range 2 * (len(order) - 1) {
			for k, pair := range round(order, week) {
				if len(out) < matches {
					out = append(out, l.fixture(len(out), season, week, k, pair))
				}
			}
			l.week()
		}
		l.summer()
	}
	return out
}

// round returns the pairs, home first, of a week of a double round robin by the circle method: one club stays, the others
// turn; the second half of the season repeats the first with the venues changed.
func round(order []int, week int) [][2]int {
	n := len(order)
	turn := week % (n - 1)
	at := func(i int) int {
		if i == 0 {
			return order[0]
		}
		return order[1+(i-1+turn)%(n-1)]
	}
	pairs := make([][2]int, n/2)
	for i := range pairs {
		home, away := at(i), at(n-1-i)
		if (turn+i)%2 == 1 != (week >= n-1) {
			home, away = away, home
		}
		pairs[i] = [2]int{home, away}
	}
	return pairs
}

// firstMatch is the id of the first simulated match: above all ids of the open data, so that both fit into one topic.
const firstMatch = 9_000_001

func (l *league) fixture(number, season, week, k int, pair [2]int) fixture {
	year := 2021 + season
	half := (len(l.clubs)/2 + 1) / 2 // one half plays on Saturday, the other on Sunday
	day := time.Date(year, time.August, 14, 0, 0, 0, 0, time.UTC)
	day = day.AddDate(0, 0, (int(time.Saturday-day.Weekday())+7)%7+7*week+k/half)
	kickOffs := [...]string{"14:00:00.000", "16:15:00.000", "18:30:00.000", "21:00:00.000"}
	home, away := l.clubs[pair[0]], l.clubs[pair[1]]
	return fixture{
		match: statsbomb.Match{
			ID: firstMatch + int64(number), Date: day.Format(time.DateOnly), KickOff: kickOffs[min(k%half, len(kickOffs)-1)],
			Competition: statsbomb.Ref{ID: 9001, Name: "Simulated League"},
			Season:      statsbomb.Ref{ID: 9001 + season, Name: fmt.Sprintf("%d/%d", year, year+1)},
			Stage:       statsbomb.Ref{ID: 1, Name: "Regular Season"}, Week: week + 1, Home: home.ref, Away: away.ref,
			Stadium: statsbomb.Ref{ID: home.ref.ID, Name: "Estadio " + home.ref.Name}, Status: "available", Status360: "available",
		},
		home: pair[0], away: pair[1],
		strengths: [2]strength{l.now[pair[0]], l.now[pair[1]]},
	}
}
