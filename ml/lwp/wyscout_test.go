package lwp

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"cancha/ml"
	"cancha/ml/linear"
	"cancha/ml/metric"
	"cancha/statsbomb"
)

// The two tournaments of national teams in the second set; the other 1,822 matches are of five leagues.
const (
	worldCup = "1043"
	euro     = "1055"
)

// wyscout reads the second set of matches, a row a minute made by another program, as Matches: those of the five leagues. It names no teams, so all that is known
// before a match is Elo: priors are filled by priorsFromElo.
func wyscout(t *testing.T) *Matches {
	t.Helper()
	dir := os.Getenv("CANCHA_DATA")
	if dir == "" {
		t.Skip("CANCHA_DATA is not set: no real matches to train on")
	}
	file, err := os.Open(filepath.Join(dir, "features", "wyscout_minutes.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	ms := &Matches{Source: "wyscout", ratings: NewRatings()}
	for i := 1; i < len(rows); i += LastMinute + 1 {
		if c := rows[i][at["competition_id"]]; c == worldCup || c == euro {
			continue
		}
		ms.Matches = append(ms.Matches, wyscoutMatch(rows[i:i+LastMinute+1], at))
	}
	return ms
}

// wyscoutMatch reads the rows of one match.
func wyscoutMatch(rows [][]string, at map[string]int) Match {
	number := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[at[name]], 64)
		if err != nil {
			panic(err) // not a table of ours
		}
		return v
	}
	first := rows[0]
	m := Match{Match: statsbomb.Match{ID: int64(number(first, "match_id")), Date: first[at["match_date"]]}}
	m.Prior = Prior{Elo: number(first, "elo_home") - number(first, "elo_away"), Neutral: number(first, "neutral") == 1}
	m.Final.Home.Goals, m.Final.Away.Goals = int32(number(first, "final_home")), int32(number(first, "final_away"))
	for minute, row := range rows {
		s := State{minute: int32(minute)}
		for side, of := range map[string]*Side{"_home": &s.Home, "_away": &s.Away} {
			count := func(name string) int32 { return int32(number(row, name+side)) }
			*of = Side{Goals: count("goals"), Reds: count("reds"), Yellows: count("yellows"), Shots: count("shots"), OnTarget: count("sot"),
				XG: int64(math.Round(number(row, "xgg"+side) * xgUnit)), Passes: count("passes"), Completed: count("passes_cmp"),
				FinalThird: count("final3"), Box: count("box"), Corners: count("corners"), Fouls: count("fouls")}
		}
		m.States = append(m.States, s)
	}
	return m
}

// priorsFromElo gives all matches the goals that a Poisson regression of the training matches expects by Elo and ground.
func priorsFromElo(t *testing.T, train *Matches, all ...*Matches) {
	t.Helper()
	columns := func(p Prior, side float64) []float32 {
		if p.Neutral {
			return []float32{float32(side * p.Elo / 400), 0}
		}
		return []float32{float32(side * p.Elo / 400), float32(side)}
	}
	d := &ml.Dataset{Features: []string{"elo", "home"}}
	for i := range train.Matches {
		m := &train.Matches[i]
		d.Values = append(append(d.Values, columns(m.Prior, 1)...), columns(m.Prior, -1)...)
		d.Targets = append(d.Targets, float64(m.Final.Home.Goals), float64(m.Final.Away.Goals))
	}
	fit, err := linear.FitPoisson(d, nil, linear.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ms := range all {
		for i := range ms.Matches {
			p := &ms.Matches[i].Prior
			p.Home, p.Away = fit.Rate(columns(*p, 1), 0), fit.Rate(columns(*p, -1), 0)
		}
	}
}

// TestWyscout: on matches of another provider, where teams are known by Elo alone, the average is not worse than Poisson + xG.
func TestWyscout(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	train, later, err := wyscout(t).Split("2018-02-15")
	if err != nil {
		t.Fatal(err)
	}
	priorsFromElo(t, train, train, later)
	m, err := Fit(t.Context(), train, Config{Target: Average})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Evaluate(train, later, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the forest's weight is %g\n%v", *m.Info.ForestWeight, report.MIMEBundle()["text/plain"])
	for name, compare := range map[string]func(a, b string) (metric.Interval, error){"RPS": report.Compare, "log loss": report.CompareLogLoss} {
		d, err := compare(m.Name(), "Poisson + xG")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s less that of Poisson + xG: %v", name, d)
		if d.Low > 0 {
			t.Errorf("%s less that of Poisson + xG: got %v, want no worse", name, d)
		}
	}
	if e := report.best().ECELastTenth; e > .014 {
		t.Errorf("ECE of the last tenth: got %.4f, want at most .014", e)
	}
}
