package lwp

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestRealMatches is the measure of the whole room: trained on the matches before July 2020, the forest of remaining goals
// and the average beat frequencies and logistic regression on the later ones, and the average Poisson + xG.
func TestRealMatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	start := time.Now()
	step := func(name string) {
		t.Logf("%-8s %v", name, time.Since(start).Round(time.Millisecond))
		start = time.Now()
	}
	matches := loadReal(t)
	step("load")
	compareWithIndex(t, matches, filepath.Join(os.Getenv("CANCHA_DATA"), "index.csv"))
	train, later, err := matches.Split("2020-07-01")
	if err != nil {
		t.Fatal(err)
	}
	var models []*Model
	for _, target := range []Target{Outcome, RemainingGoals, Average} {
		m, err := Fit(t.Context(), train, Config{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		step("fit " + string(target))
		models = append(models, m)
	}
	report, err := Evaluate(train, later, models...)
	if err != nil {
		t.Fatal(err)
	}
	step("evaluate")
	t.Logf("\n%v", report.MIMEBundle()["text/plain"])
	for _, m := range models {
		t.Logf("%s: %v", m.Name(), m.Importance())
	}
	for _, baseline := range []string{"Poisson + xG", "Poisson + xG + ratings"} {
		for _, m := range models {
			d, err := report.CompareLogLoss(m.Name(), baseline)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("log loss of %s less that of %s: %v (ECE of the last tenth %.4f)", m.Name(), baseline, d, m.Info.Metrics["ece_last_tenth"])
		}
	}
	for name, most := range map[string]float64{"frequencies by minute and score": 0, "logistic regression": 0, "Poisson + xG": 0, "Poisson + xG + ratings": 0.003} {
		for _, m := range models[1:] {
			difference, err := report.Compare(m.Name(), name)
			if err != nil {
				t.Fatal(err)
			}
			if difference.Mean > most {
				t.Errorf("%s less %s: got %v, want at most %v", m.Name(), name, difference, most)
			}
		}
	}
}

// compareWithIndex compares goals after 90 minutes with the index, which was made by another program.
func compareWithIndex(t *testing.T, matches *Matches, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(row []string, name string) int {
		n, err := strconv.Atoi(row[slices.Index(rows[0], name)])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	compared := 0
	for _, row := range rows[1:] {
		m := matches.Find(int64(column(row, "match_id")))
		if m == nil {
			t.Errorf("match %s of the index was not loaded", row[0])
			continue
		}
		compared++
		if int(m.Final.Home.Goals) != column(row, "home_score_90") || int(m.Final.Away.Goals) != column(row, "away_score_90") {
			t.Errorf("match %s: got %d-%d after 90 minutes, want %d-%d", row[0], m.Final.Home.Goals, m.Final.Away.Goals, column(row, "home_score_90"), column(row, "away_score_90"))
		}
	}
	if compared != len(matches.Matches) {
		t.Errorf("the index has %d of %d matches", compared, len(matches.Matches))
	}
}
