package lwp

import (
	"math"
	"slices"
	"testing"
)

func TestRatings(t *testing.T) {
	r := NewRatings()
	start := r.Prior(1, 2, false)
	if start.Elo != 0 || start.Home <= start.Away {
		t.Errorf("unknown teams: got %+v, want no Elo difference and an advantage at home", start)
	}
	if n := r.Prior(1, 2, true); n.Home != n.Away {
		t.Errorf("neutral ground: got %v and %v goals, want the same", n.Home, n.Away)
	}
	for range 10 {
		r.Update(Result{Home: 1, Away: 2, Goals: [2]int{3, 0}, XG: [2]float64{2.5, 0.5}})
	}
	strong := r.Prior(1, 2, true)
	if strong.Elo <= 0 || strong.Home < 1.3*strong.Away {
		t.Errorf("after ten wins: got %+v", strong)
	}
	sum := 0.0
	for _, team := range r.Teams() {
		sum += team.Elo
		if team.Played != 10 {
			t.Errorf("team %d: got %d matches, want 10", team.Team, team.Played)
		}
	}
	if math.Abs(sum) > 1e-9 {
		t.Errorf("Elo points appeared from nowhere: %v", sum)
	}
}

// TestUnknownXGUsesGoals must give another standing than the same goals with low expected goals.
func TestUnknownXGUsesGoals(t *testing.T) {
	with, without := NewRatings(), NewRatings()
	with.Update(Result{Home: 1, Away: 2, Goals: [2]int{4, 0}, XG: [2]float64{1, 1}})
	without.Update(Result{Home: 1, Away: 2, Goals: [2]int{4, 0}, XG: [2]float64{-1, -1}})
	if a, b := with.Prior(1, 2, true), without.Prior(1, 2, true); b.Home <= a.Home {
		t.Errorf("got %v expected goals from goals alone, %v with low expected goals", b.Home, a.Home)
	}
}

// TestRatingsOfASlip rates what no match is, again and again: the ratings must stay numbers that give goals.
func TestRatingsOfASlip(t *testing.T) {
	for _, m := range []Result{
		{Goals: [2]int{1_000_000, 0}, XG: [2]float64{-1, -1}},
		{Goals: [2]int{3, -1_000_000}, XG: [2]float64{-1, -1}},
		{Goals: [2]int{1, 1}, XG: [2]float64{1e300, math.Inf(1)}},
		{Goals: [2]int{1, 1}, XG: [2]float64{math.NaN(), 1}},
		{Goals: [2]int{1, 1}, XG: [2]float64{1, 1}, Box: [2]int{1 << 30, -1 << 30}, FinalThird: [2]int{1 << 30, -5}},
	} {
		r := NewRatings()
		m.Home, m.Away = 1, 2
		for range 50 {
			r.Update(m)
		}
		p := r.Prior(1, 2, false)
		for k, g := range p.Goals {
			if !(min(g[0], g[1]) > 1e-3 && max(g[0], g[1]) < 100) {
				t.Errorf("%+v: got %v by measure %d", m, g, k)
			}
		}
		if !(p.Home > 1e-3 && p.Home < 50 && p.Away > 1e-3 && p.Away < 50) || math.Abs(p.Elo) > 2000 {
			t.Errorf("%+v: got %+v", m, p)
		}
	}
}

func TestMarginFactor(t *testing.T) {
	for margin, want := range map[int]float64{0: 1, 1: 1, -1: 1, 2: 1.5, -3: 1.75, 4: 1.875} {
		if got := marginFactor(margin); got != want {
			t.Errorf("margin %d: got %v, want %v", margin, got, want)
		}
	}
}

// TestPriorsComeFromEarlierDays turns the results of the last third of a season around: no earlier prior may move, nor
// one of the first of those days.
func TestPriorsComeFromEarlierDays(t *testing.T) {
	ms := loadSeason(t)
	day := ms.DateAt(0.67)
	before := make([]Prior, len(ms.Matches))
	for i := range ms.Matches {
		before[i] = ms.Matches[i].Prior
	}
	for i := range ms.Matches {
		if m := &ms.Matches[i]; m.Date >= day {
			m.Final.Home, m.Final.Away = m.Final.Away, m.Final.Home
			m.Final.Home.Goals += 5
		}
	}
	ms.rate("9999")
	changed := 0
	for i := range ms.Matches {
		if ms.Matches[i].Prior == before[i] {
			continue
		}
		changed++
		if ms.Matches[i].Date <= day {
			t.Errorf("the prior of %s changed with results from %s on", ms.Matches[i].Date, day)
		}
	}
	if changed == 0 {
		t.Error("no later prior changed: the ratings do not follow the results")
	}
}

// TestScheduledMatchesRateNobody adds a match that is listed without a score and without events, on the first day.
func TestScheduledMatchesRateNobody(t *testing.T) {
	ms := loadSeason(t)
	before := make([]Prior, len(ms.Matches))
	for i := range ms.Matches {
		before[i] = ms.Matches[i].Prior
	}
	scheduled := ms.all[0]
	scheduled.ID, scheduled.HomeScore, scheduled.AwayScore, scheduled.NoScore = -1, 0, 0, true
	ms.all = slices.Insert(ms.all, 0, scheduled)
	ms.rate("9999")
	for i := range ms.Matches {
		if ms.Matches[i].Prior != before[i] {
			t.Fatalf("the prior of %s changed with a match that has not been played", ms.Matches[i].Date)
		}
	}
}

// TestStrengths: a new team's first match moves it far, its thirtieth little; what is known fades in years; passes into the box and the
// final third count where there are any.
func TestStrengths(t *testing.T) {
	r := NewRatings()
	win := Result{Home: 1, Away: 2, Goals: [2]int{3, 0}, XG: [2]float64{2.5, .5}, Box: [2]int{16, 5}, FinalThird: [2]int{50, 20}, Date: "2019-08-01", Neutral: true}
	first, last := 0.0, 0.0
	for i := range 30 {
		before := r.Prior(1, 2, true)
		r.Update(win)
		after := r.Prior(1, 2, true)
		for k := range strengths {
			if after.Goals[k][0] < before.Goals[k][0] || after.Goals[k][1] > before.Goals[k][1] {
				t.Fatalf("measure %d, match %d: %v became %v after a win", k, i, before.Goals[k], after.Goals[k])
			}
		}
		if last = after.Goals[1][0] - before.Goals[1][0]; i == 0 {
			first = last
		}
	}
	if first < 5*last {
		t.Errorf("the first match moved %v, the last %v", first, last)
	}
	strong := r.Prior(1, 2, true)
	r.advance("2019-08-01") // the same day
	if r.Prior(1, 2, true) != strong {
		t.Error("ratings changed on the day of the match")
	}
	r.advance("2031-08-01")
	later := r.Prior(1, 2, true)
	for k := range strengths {
		if now := math.Log(later.Goals[k][0] / later.Goals[k][1]); now <= 0 || now > .3*math.Log(strong.Goals[k][0]/strong.Goals[k][1]) {
			t.Errorf("measure %d: after twelve years %v of %v are left", k, later.Goals[k], strong.Goals[k])
		}
	}
	if later.Home != strong.Home || later.Elo != strong.Elo {
		t.Error("the other ratings forget, too")
	}
	less := NewRatings()
	win.Box, win.FinalThird = [2]int{5, 16}, [2]int{20, 50}
	less.Update(win)
	more := NewRatings()
	win.Box, win.FinalThird = [2]int{16, 5}, [2]int{50, 20}
	more.Update(win)
	a, b := less.Prior(1, 2, true), more.Prior(1, 2, true)
	if a.Goals[0] != b.Goals[0] || a.Goals[1][0] >= b.Goals[1][0] || a.Goals[2][0] >= b.Goals[2][0] {
		t.Errorf("with few and with many entries: got %v and %v", a.Goals, b.Goals)
	}
}

// TestStrengthOfEqualTeams: two teams whose matches end as an average one would stay average, and their variance falls.
func TestStrengthOfEqualTeams(t *testing.T) {
	r := NewRatings()
	mean := math.Exp(r.Base)
	for range 10 {
		r.Update(Result{Home: 1, Away: 2, Neutral: true, XG: [2]float64{mean, mean}, Goals: [2]int{1, 1}})
	}
	s := r.team(1).Strengths[0]
	if math.Abs(s.Attack) > .2 || s.AttackVariance >= unknown/2 || s.AttackVariance <= 0 {
		t.Errorf("got %+v", s)
	}
}
