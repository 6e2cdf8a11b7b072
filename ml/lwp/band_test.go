package lwp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cancha/ml"
)

// TestBand: low and high lie around a curve, are narrower after more training matches, and close when nothing is left to play.
func TestBand(t *testing.T) {
	ms := loadSeason(t)
	for _, target := range []Target{Average, RemainingGoals} {
		widths := map[int]float64{}
		for _, part := range []int{2, chainParts} {
			train := ms.part(0, part)
			m := fit(t, train, target)
			calls := 0
			band, err := FitBand(t.Context(), train, m, BandConfig{Refits: 10, Progress: func(done, total int) { calls += total / 10 * done }})
			if err != nil {
				t.Fatal(err)
			}
			if calls != 55 {
				t.Errorf("%s: progress was told %d, want 1 to 10 once each", target, calls)
			}
			curve, err := m.Predict(ms).Curve(ms.Matches[len(ms.Matches)-1].ID)
			if err != nil {
				t.Fatal(err)
			}
			band.Add(curve)
			for k, p := range [][]float64{curve.Home, curve.Draw, curve.Away} {
				for minute, v := range p {
					if low, high := curve.Low[k][minute], curve.High[k][minute]; !(low >= 0 && low <= v && v <= high && high <= 1) {
						t.Fatalf("%s, class %d, minute %d: %v lies outside %v to %v", target, k, minute, v, low, high)
					}
					widths[part] += curve.High[k][minute] - curve.Low[k][minute]
				}
			}
		}
		if widths[chainParts] <= 0 || widths[chainParts] >= widths[2] {
			t.Errorf("%s: the band of all matches has a width of %v, that of a quarter %v", target, widths[chainParts], widths[2])
		}
	}
}

func TestBandMistakes(t *testing.T) {
	ms := loadSeason(t)
	m := fit(t, ms, Average)
	for _, c := range []BandConfig{{Refits: 2}, {Share: 1}, {Share: -1}} {
		if _, err := FitBand(t.Context(), ms, m, c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FitBand(ctx, ms, m, BandConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a done context: got %v", err)
	}
	other, err := FitClassifier(t.Context(), ms, "", "constant", func(_ context.Context, d *ml.Dataset) (Classifier, error) {
		return constant{d.Features, d.Classes, []float64{.5, .3, .2}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FitBand(t.Context(), ms, other, BandConfig{}); err == nil || !strings.Contains(err.Error(), "constant") {
		t.Errorf("of a classifier: got %v", err)
	}
}
