package lwp

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cancha/ml/forest"
	"cancha/ml/modelfile"
	"cancha/statsbomb"
)

// TestTrainAndEvaluate runs the whole way on a short season.
func TestTrainAndEvaluate(t *testing.T) {
	ms := loadSeason(t)
	train, later, err := ms.Split(ms.DateAt(0.7))
	if err != nil {
		t.Fatal(err)
	}
	if train.Matches[len(train.Matches)-1].Date >= later.Matches[0].Date {
		t.Fatal("a training match was played on or after the first later one")
	}
	outcome, goals := fit(t, train, Outcome), fit(t, train, RemainingGoals)
	report, err := Evaluate(train, later, outcome, goals)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Models) != 6 {
		t.Fatalf("got %d models, want four baselines and two forests", len(report.Models))
	}
	for _, s := range report.Models {
		if !(s.RPS > 0.02 && s.RPS < 0.23) {
			t.Errorf("%s: RPS %v is not that of a model that looks at the score", s.Name, s.RPS)
		}
		for i, row := range s.Predictions.P {
			if sum := row[0] + row[1] + row[2]; math.Abs(sum-1) > 1e-9 || min(row[0], row[1], row[2]) < 0 {
				t.Fatalf("%s, row %d: %v sums to %v", s.Name, i, row, sum)
			}
		}
	}
	if best, _ := report.Find(report.Best); best.Difference.Mean != 0 || goals.Info.Metrics["rps"] == 0 {
		t.Errorf("best model differs from itself by %v; metrics %v", best.Difference, goals.Info.Metrics)
	}
	text := report.MIMEBundle()["text/plain"].(string)
	for _, part := range []string{"Poisson + xG", "forest, outcome", "simulated matches", "log loss"} {
		if !strings.Contains(text, part) {
			t.Errorf("the table lacks %q:\n%s", part, text)
		}
	}
	if _, differences, _ := strings.Cut(text, "\n\n"); strings.Contains(strings.Split(differences, "\nAbove 0")[0], report.Best) || !strings.Contains(differences, "logistic") {
		t.Errorf("the second table is not of all models but the best:\n%s", text)
	}
	checkShows(t, report, later)
	sum := 0.0
	for _, s := range goals.Importance() {
		sum += s.Share
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("importance sums to %v, want 1", sum)
	}
}

// checkShows looks at what a notebook draws.
func checkShows(t *testing.T, report *Report, later *Matches) {
	t.Helper()
	p := report.BestPredictions()
	curve, err := p.Curve(p.Liveliest())
	if err != nil {
		t.Fatal(err)
	}
	if len(curve.Minutes) != LastMinute+1 || len(curve.Draw) != LastMinute+1 {
		t.Errorf("curve: got %d minutes, want %d", len(curve.Minutes), LastMinute+1)
	}
	if got, want := len(curve.Goals), int(curve.Match.Final.Home.Goals+curve.Match.Final.Away.Goals); got != want {
		t.Errorf("curve: got %d goals, want %d", got, want)
	}
	if _, err := p.Curve(-1); err == nil {
		t.Error("a curve of no match was given")
	}
	rows, count := len(later.Matches)*(LastMinute+1), 0
	for _, b := range report.Calibration(0) {
		count += b.Count
	}
	if count != rows || math.Abs(report.Confusion().Accuracy()-report.best().Accuracy) > 1e-12 {
		t.Errorf("calibration holds %d of %d rows; accuracy %v and %v", count, rows, report.Confusion().Accuracy(), report.best().Accuracy)
	}
	if _, err := report.Compare("Poisson + xG", "nothing"); err == nil {
		t.Error("a comparison with no model was given")
	}
}

func TestPredictionsCSV(t *testing.T) {
	ms := loadSeason(t)
	p := FitFrequencies(ms).Predict(ms)
	path := filepath.Join(t.TempDir(), "out", "predictions.csv")
	if err := p.SaveCSV(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if lines[0] != "match_id,minute,p_home,p_draw,p_away" || len(lines) != 1+len(ms.Matches)*(LastMinute+1) {
		t.Fatalf("got header %q and %d lines", lines[0], len(lines))
	}
	for _, line := range lines[1:] {
		f, sum := strings.Split(line, ","), 0.0
		for _, v := range f[2:] {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += x
		}
		if len(f) != 5 || math.Abs(sum-1) > 1e-9 {
			t.Fatalf("line %q sums to %v", line, sum)
		}
	}
}

// TestSavedModelPredictsTheSame saves and opens both targets, and refuses files that were cut.
func TestSavedModelPredictsTheSame(t *testing.T) {
	ms := loadSeason(t)
	for _, target := range []Target{Outcome, RemainingGoals, Average} {
		m := fit(t, ms, target)
		path := filepath.Join(t.TempDir(), "models", "lwp_model")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		opened, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, want := opened.Predict(ms), m.Predict(ms)
		for i := range want.P {
			if [3]float64(got.P[i]) != [3]float64(want.P[i]) {
				t.Fatalf("%s, row %d: got %v, want %v", target, i, got.P[i], want.P[i])
			}
		}
		if opened.Info.Source != "simulator" || !opened.Info.TrainedAt.Equal(m.Info.TrainedAt) || opened.ratings.Prior(1, 2, false) != m.ratings.Prior(1, 2, false) {
			t.Errorf("%s: information or ratings differ: %+v", target, opened.Info)
		}
		data, _ := os.ReadFile(path)
		if err := os.WriteFile(path, data[:len(data)*2/3], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, modelfile.ErrTruncated) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: a file cut short: got %v", target, err)
		}
	}
}

// TestOpenRefusesAnotherModelsForest swaps the forests of the two targets in files with right checksums.
func TestOpenRefusesAnotherModelsForest(t *testing.T) {
	ms := loadSeason(t)
	m := fit(t, ms, RemainingGoals)
	for name, damage := range map[string]func(*Model){
		"target":      func(m *Model) { m.Info.Target = Outcome },
		"no target":   func(m *Model) { m.Info.Target = "" },
		"class order": func(m *Model) { m.Info.Classes = []string{"home", "away", "draw"} },
		"no rating":   func(m *Model) { m.ratings = &Ratings{teams: map[int]*Rating{1: {Team: 1, Attack: math.NaN()}}} },
		"huge rating": func(m *Model) { m.ratings = &Ratings{teams: map[int]*Rating{1: {Team: 1, Elo: math.Inf(1)}}} },
		"one team":    func(m *Model) { m.ratings = &Ratings{teams: map[int]*Rating{1: {Team: 1}, 2: {Team: 1}}} },
		"averages":    func(m *Model) { m.ratings = &Ratings{Base: 1e300} },
	} {
		damaged := *m
		damage(&damaged)
		path := filepath.Join(t.TempDir(), "model")
		if err := damaged.Save(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s: a model that contradicts itself was opened", name)
		}
	}
}

func TestSameSeedSameModel(t *testing.T) {
	ms := loadSeason(t)
	bytesOf := func(workers int) []byte {
		m, err := Fit(t.Context(), ms, Config{Target: Average, Forest: forest.Config{Trees: 6, Seed: 5, Workers: workers}})
		if err != nil {
			t.Fatal(err)
		}
		m.Info.TrainedAt = m.Info.TrainedAt.Truncate(1e15)
		f := &modelfile.File{Kind: fileKind, Version: fileVersion}
		if err := m.store(f); err != nil {
			t.Fatal(err)
		}
		data, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if !bytes.Equal(bytesOf(1), bytesOf(3)) {
		t.Error("one and three workers gave different model files")
	}
}

func TestMistakesAreErrors(t *testing.T) {
	ms := loadSeason(t)
	if _, _, err := ms.Split("1900-01-01"); err == nil {
		t.Error("a split without training matches was made")
	}
	if _, _, err := ms.Split(ms.DateAt(0.5)[:7]); err == nil || !strings.Contains(err.Error(), "YYYY-MM-DD") {
		t.Errorf("a split at a month: got %v", err)
	}
	if _, err := Fit(t.Context(), ms, Config{Target: "goals"}); err == nil {
		t.Error("an unknown target was trained")
	}
	if _, err := Evaluate(ms, ms); err == nil {
		t.Error("an evaluation without a model was made")
	}
	if _, err := Load(t.Context(), empty{}, nil); err == nil {
		t.Error("an archive without events was loaded")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, archive(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("loading with a done context: got %v", err)
	}
	if _, err := Fit(ctx, ms, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("training with a done context: got %v", err)
	}
}

// empty is an archive whose one match has no events.
type empty struct{}

func (empty) Source() string                          { return "open-data" }
func (empty) Matches() []statsbomb.Match              { return []statsbomb.Match{{ID: 1}} }
func (empty) Events(int64) ([]statsbomb.Event, error) { return nil, statsbomb.ErrNoEvents }

func TestDayAfter(t *testing.T) {
	for to, want := range map[string]string{"2022-02-28": "2022-03-01", "": ""} {
		if got := (Info{To: to}).DayAfter(); got != want {
			t.Errorf("%q: got %q, want %q", to, got, want)
		}
	}
}
