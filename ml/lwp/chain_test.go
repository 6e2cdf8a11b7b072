package lwp

import (
	"os"
	"testing"

	"cancha/ml/metric"
	"cancha/statsbomb"
)

// realArchive opens the real matches, or skips the test where there are none.
func realArchive(t *testing.T) statsbomb.Archive {
	t.Helper()
	dir := os.Getenv("CANCHA_DATA")
	if dir == "" {
		t.Skip("CANCHA_DATA is not set: no real matches to train on")
	}
	archive, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// loadReal loads the real matches.
func loadReal(t *testing.T) *Matches {
	t.Helper()
	return load(t, realArchive(t))
}

// TestForwardChaining is how the average was chosen: at four cuts inside the matches before July 2020, each tested on the next
// eighth of them, its log loss is below that of Poisson + xG. A calibrated forest of outcomes is better than one that is not.
func TestForwardChaining(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	train, _, err := loadReal(t).Split("2020-07-01")
	if err != nil {
		t.Fatal(err)
	}
	var average, poisson []float64
	var groups []int64
	for part := chainFirst; part < chainParts; part++ {
		before, next := train.part(0, part), train.part(part, part+1)
		m, err := Fit(t.Context(), before, Config{Target: Average})
		if err != nil {
			t.Fatal(err)
		}
		p, err := FitPoisson(before)
		if err != nil {
			t.Fatal(err)
		}
		a, b := metric.LogLosses(m.Predict(next).P, next.Labels()), metric.LogLosses(p.Predict(next).P, next.Labels())
		d := metric.Paired(a, b, next.Groups(), resamples, 1)
		t.Logf("%d matches from %s on %d from %s: log loss %.4f, Poisson + xG %.4f, difference %v; the forest's weight %g",
			len(before.Matches), before.Matches[0].Date, len(next.Matches), next.Matches[0].Date, metric.Mean(a), metric.Mean(b), d, *m.Info.ForestWeight)
		if d.Mean >= 0 {
			t.Errorf("from %s on, the average's log loss is %v above that of Poisson + xG", next.Matches[0].Date, d.Mean)
		}
		average, poisson, groups = append(average, a...), append(poisson, b...), append(groups, next.Groups()...)
	}
	t.Logf("all: %v", metric.Paired(average, poisson, groups, resamples, 1))
	compareCalibrated(t, train)
}

// compareCalibrated compares forests of outcomes with and without calibration at the last cut.
func compareCalibrated(t *testing.T, train *Matches) {
	t.Helper()
	before, next := train.part(0, chainParts-1), train.part(chainParts-1, chainParts)
	plain := score(fitForest(t, before, Config{Target: Outcome}).Predict(next))
	after := score(fitForest(t, before, Config{Target: Outcome, Calibrate: true}).Predict(next))
	t.Logf("forest of outcomes, calibrated and not: log loss %.4f and %.4f, ECE of the last tenth %.4f and %.4f", after.LogLoss, plain.LogLoss, after.ECELastTenth, plain.ECELastTenth)
	if after.LogLoss >= plain.LogLoss || after.ECELastTenth >= plain.ECELastTenth {
		t.Error("calibration made it no better")
	}
}
