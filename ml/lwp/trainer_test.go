package lwp

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"cancha/ml"
	"cancha/ml/forest"
)

// far is a Trainer that grows here, and notes what it was given.
type far struct{ given []forest.Config }

func (f *far) FitClassifier(ctx context.Context, d *ml.Dataset, c forest.Config) (*forest.Classifier, error) {
	f.given = append(f.given, c)
	return forest.FitClassifier(ctx, d, c)
}

func (f *far) FitRegressor(ctx context.Context, d *ml.Dataset, c forest.Config) (*forest.Regressor, error) {
	f.given = append(f.given, c)
	return forest.FitRegressor(ctx, d, c)
}

func (*far) String() string { return "Spark at sc://far:15002" }

// TestTrainer: the forests of a model go to its Trainer, those of a calibration too, by rows and not by matches; the many small fits of an average
// and of a band are refused.
func TestTrainer(t *testing.T) {
	train := loadSeason(t)
	for target, want := range map[Target]int{Outcome: 5, RemainingGoals: 1} {
		f, told := &far{}, 0
		m := fitForest(t, train, Config{Target: target, Calibrate: target == Outcome, Forest: forest.Config{Trees: 4, Seed: 1, Trainer: f, Workers: 1,
			Progress: func(done, total int) {
				if told++; done != told {
					t.Errorf("%s: %d of %d were done when %d had been", target, done, total, told)
				}
			}}})
		if told != 4*want {
			t.Errorf("%s: %d tasks were told, want %d", target, told, 4*want)
		}
		if len(f.given) != want || f.given[0].ByGroup || f.given[0].MinSamplesLeaf == 0 {
			t.Errorf("%s: %d forests were grown there, want %d; the first by %+v", target, len(f.given), want, f.given[0])
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		opened, err := Open(path)
		if err != nil || opened.Info.Place != f.String() || !strings.Contains(opened.MIMEBundle()["text/plain"].(string), f.String()) {
			t.Errorf("%s: opened %v, %v, want one that was grown on %s", target, opened.Info, err, f)
		}
	}
	away := forest.Config{Trees: 4, Trainer: &far{}}
	if _, err := Fit(t.Context(), train, Config{Target: Average, Forest: away}); err == nil || !strings.Contains(err.Error(), "leave Trainer out") {
		t.Errorf("an average: %v", err)
	}
	if _, err := FitBand(t.Context(), train, fit(t, train, Outcome), BandConfig{Refits: 10, Forest: away}); err == nil || !strings.Contains(err.Error(), "leave Trainer out") {
		t.Errorf("a band: %v", err)
	}
}
