package lwp

import (
	"path/filepath"
	"slices"
	"testing"

	"cancha/ml/forest"
	"cancha/ml/modelfile"
)

// TestCalibrated: on matches that neither forest has seen the calibrated one is nearer to what happens in the last tenth; it is saved and
// opened, and answers on the stream as in the table.
func TestCalibrated(t *testing.T) {
	train, later := loadSeason(t), simulated(t, 11, 60)
	plain, m := fit(t, train, Outcome), fitForest(t, train, Config{Target: Outcome, Calibrate: true, Forest: forest.Config{Trees: 20, Seed: 1}})
	before, after := score(plain.Predict(later)), score(m.Predict(later))
	if after.ECELastTenth >= before.ECELastTenth {
		t.Errorf("calibrated: ECE of the last tenth %.4f, log loss %.4f; before %.4f, %.4f", after.ECELastTenth, after.LogLoss, before.ECELastTenth, before.LogLoss)
	}
	path := filepath.Join(t.TempDir(), "model")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(opened.Predict(later).P, after.Predictions.P, slices.Equal[[]float64]) || opened.Name() != "forest, outcome, calibrated" {
		t.Errorf("%s answers otherwise after it was saved", opened.Name())
	}
	if len(opened.Importance()) != len(outcomeColumns()) || opened.Info.Trees != 20 {
		t.Errorf("got %d shares and %d trees", len(opened.Importance()), opened.Info.Trees)
	}
	if _, err := Fit(t.Context(), train, Config{Target: Average, Calibrate: true}); err == nil {
		t.Error("an average was calibrated")
	}
}

// TestOpenRefusesACalibration that does not fit.
func TestOpenRefusesACalibration(t *testing.T) {
	train := loadSeason(t)
	m := fitForest(t, train, Config{Target: Outcome, Calibrate: true, Forest: forest.Config{Trees: 2, Seed: 1}})
	for name, damage := range map[string]func(c *calibrationMeta){
		"columns":     func(c *calibrationMeta) { c.Features = c.Features[1:] },
		"one class":   func(c *calibrationMeta) { c.Coefficient = c.Coefficient[1:] },
		"a huge one":  func(c *calibrationMeta) { c.Intercept[0] = 1e300 },
		"a short one": func(c *calibrationMeta) { c.Coefficient[0] = c.Coefficient[0][1:] },
	} {
		f := &modelfile.File{Kind: fileKind, Version: averageVersion}
		if err := m.store(f); err != nil {
			t.Fatal(err)
		}
		var meta calibrationMeta
		if err := f.Meta("calibration", &meta); err != nil {
			t.Fatal(err)
		}
		damage(&meta)
		if err := f.SetMeta("calibration", meta); err != nil {
			t.Fatal(err)
		}
		if _, err := loadCalibrated(f, outcomes{}); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
}
