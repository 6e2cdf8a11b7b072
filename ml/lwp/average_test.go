package lwp

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"cancha/ml/forest"
	"cancha/ml/modelfile"
)

// TestAverageLiesBetween: the rates are those that the regressions promise times the forest's ratios to the power of its weight.
func TestAverageLiesBetween(t *testing.T) {
	ms := loadSeason(t)
	c, err := Config{Target: Average, Forest: forest.Config{Trees: 5, Seed: 1}}.normalize(1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := fitMembers(t.Context(), ms, averageStep, c.Forest)
	if err != nil {
		t.Fatal(err)
	}
	s, prior := &ms.Matches[7].States[30], ms.Matches[7].Prior
	home, away, _ := a.promised(nil, s, prior)
	want, got := make([]float64, 3), [][]float64{make([]float64, 3)}
	for _, a.weight = range []float64{0, .5, 1} {
		b := batch{of: a}
		b.add(s, prior)
		if err := b.run(got); err != nil {
			t.Fatal(err)
		}
		outcomeTo(want, int(s.Home.Goals-s.Away.Goals), home*math.Pow(b.raw[0], a.weight), away*math.Pow(b.raw[1], a.weight))
		if !slices.Equal(got[0], want) {
			t.Errorf("weight %v: got %v, want %v", a.weight, got[0], want)
		}
	}
}

// TestChosenWeight: the weight is one of chainWeights; the parts are in order and share no day.
func TestChosenWeight(t *testing.T) {
	ms := simulated(t, 5, 60)
	for part := 1; part < chainParts; part++ {
		before, next := ms.part(0, part), ms.part(part, part+1)
		if len(before.Matches) == 0 || len(next.Matches) == 0 || before.Matches[len(before.Matches)-1].Date >= next.Matches[0].Date {
			t.Fatalf("part %d: %d matches before, %d after", part, len(before.Matches), len(next.Matches))
		}
	}
	m := fit(t, ms, Average)
	if !slices.Contains(chainWeights(), *m.Info.ForestWeight) {
		t.Errorf("got a weight of %v", *m.Info.ForestWeight)
	}
	few := *ms
	few.Matches = ms.Matches[:chainLeast-1]
	if m := fit(t, &few, Average); *m.Info.ForestWeight != .5 {
		t.Errorf("of too few matches to choose by: got %v, want one half", *m.Info.ForestWeight)
	}
}

// TestOpenRefusesAnAverage that contradicts itself, in files with right checksums.
func TestOpenRefusesAnAverage(t *testing.T) {
	m := fit(t, loadSeason(t), Average)
	for name, damage := range map[string]func(m *Model, a *average){
		"no weight":     func(m *Model, _ *average) { m.Info.ForestWeight = nil },
		"weight of 2":   func(m *Model, _ *average) { w := 2.0; m.Info.ForestWeight = &w },
		"columns":       func(_ *Model, a *average) { a.plain.Features = goalColumns() },
		"other columns": func(_ *Model, a *average) { a.poissons[0].Features = published().columns },
		"coefficients":  func(_ *Model, a *average) { a.poissons[1].Coefficient = a.poissons[1].Coefficient[1:] },
		"too great":     func(_ *Model, a *average) { a.poissons[2].Intercept = 1e9 },
		"no strengths":  func(m *Model, _ *average) { m.ratings.levels[1].Base = 1e9 },
	} {
		damaged, of, ratings := *m, *m.of.(*average), *m.ratings
		for k, p := range of.poissons {
			own := *p
			of.poissons[k] = &own
		}
		plain := *of.plain
		of.plain, damaged.of, damaged.ratings = &plain, &of, &ratings
		damage(&damaged, &of)
		path := filepath.Join(t.TempDir(), "model")
		if err := damaged.Save(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s: was opened", name)
		}
	}
	path := filepath.Join(t.TempDir(), "model")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := modelfile.Open(path, fileKind, forestVersion); !errors.Is(err, modelfile.ErrNewer) {
		t.Errorf("a program that knows no average: got %v, want that the file is newer", err)
	}
}
