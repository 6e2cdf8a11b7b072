package metric

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestScoresAgainstSklearn compares with testdata/scores.json, which testdata/scores.py wrote with scikit-learn 1.9.1.
func TestScoresAgainstSklearn(t *testing.T) {
	text, err := os.ReadFile("testdata/scores.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Weights, Targets, Predicted []float64
		Tables                      []struct {
			P               [][]float64
			Labels          []int
			Plain, Weighted map[string]float64
		}
		Plain    map[string]float64 `json:"regression_plain"`
		Weighted map[string]float64 `json:"regression_weighted"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	compare := func(what string, got, want map[string]float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%s: got %d figures, want %d", what, len(got), len(want))
		}
		for name, v := range want {
			if math.Abs(got[name]-v) > 1e-12 {
				t.Errorf("%s: %s: got %v, want %v", what, name, got[name], v)
			}
		}
	}
	for _, table := range want.Tables {
		figures := func(w []float64) map[string]float64 {
			predicted := make([]int, len(table.P))
			for i, row := range table.P {
				predicted[i] = most(row)
			}
			return map[string]float64{"auc": ROCAUC(table.P, table.Labels, w), "ap": MacroAveragePrecision(table.P, table.Labels, w),
				"f1": F1(predicted, table.Labels, w), "accuracy": Share(predicted, table.Labels, w)}
		}
		compare("classes", figures(nil), table.Plain)
		compare("weighted classes", figures(want.Weights), table.Weighted)
	}
	figures := func(w []float64) map[string]float64 {
		p, y := want.Predicted, want.Targets
		return map[string]float64{"r2": R2(p, y, w), "d2": D2Poisson(p, y, w), "mse": MeanSquaredError(p, y, w),
			"mae": MeanAbsoluteError(p, y, w), "deviance": WeightedMean(PoissonDeviances(p, y), w)}
	}
	compare("numbers", figures(nil), want.Plain)
	compare("weighted numbers", figures(want.Weights), want.Weighted)
}

// TestEdges: what has no score is NaN, and constant targets are as scikit-learn has them.
func TestEdges(t *testing.T) {
	nan, yes := math.NaN(), []bool{true, true}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"AUC where all happened", AUC([]float64{1, 2}, yes, nil), nan},
		{"AUC of a NaN", AUC([]float64{1, nan, 3}, []bool{true, false, true}, nil), nan},
		{"AUC of rows that weigh nothing", AUC([]float64{1, 2}, []bool{true, false}, []float64{1, 0}), nan},
		{"AUC of equal scores", AUC([]float64{1, 1}, []bool{true, false}, nil), 0.5},
		{"average precision where nothing happened", AveragePrecision([]float64{1, 2}, []bool{false, false}, nil), nan},
		{"average precision where all happened", AveragePrecision([]float64{1, 2}, yes, nil), 1},
		{"AUC of an absent class", ROCAUC([][]float64{{0.5, 0.5, 0}, {0.5, 0.5, 0}}, []int{0, 1}, nil), nan},
		{"R² of one row", R2([]float64{1}, []float64{1}, nil), nan},
		{"R² of constant targets, hit", R2([]float64{2, 2}, []float64{2, 2}, nil), 1},
		{"R² of constant targets, missed", R2([]float64{2, 3}, []float64{2, 2}, nil), 0},
		{"deviance of a mean of 0", D2Poisson([]float64{0, 1}, []float64{0, 1}, nil), nan},
		{"F1 of no rows", F1(nil, nil, nil), nan},
		{"mean of nothing", WeightedMean(nil, nil), nan},
	} {
		if tt.got != tt.want && !(math.IsNaN(tt.got) && math.IsNaN(tt.want)) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// TestPromises: what the caller has promised and not kept is a panic.
func TestPromises(t *testing.T) {
	for name, f := range map[string]func(){
		"scores":    func() { AUC([]float64{1}, nil, nil) },
		"weights":   func() { R2([]float64{1, 2}, []float64{1, 2}, []float64{1}) },
		"negative":  func() { WeightedMean([]float64{1}, []float64{-1}) },
		"targets":   func() { MeanSquaredError([]float64{1}, nil, nil) },
		"predicted": func() { F1([]int{1}, nil, nil) },
		"class":     func() { Share([]int{-1}, []int{0}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
