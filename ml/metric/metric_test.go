package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	probabilities = [][]float64{{0.7, 0.2, 0.1}, {0.1, 0.3, 0.6}, {0.2, 0.5, 0.3}, {0.4, 0.4, 0.2}}
	labels        = []int{0, 1, 1, 2}
)

// TestAgainstSklearn compares with scikit-learn 1.9.1 (log_loss, accuracy_score, f1_score(average="macro"),
// brier_score_loss(scale_by_half=False)), whose answers are written out as the sums they are; RPS is worked out by hand.
func TestAgainstSklearn(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"log loss", LogLoss(probabilities, labels), -(math.Log(0.7) + math.Log(0.3) + math.Log(0.5) + math.Log(0.2)) / 4},
		{"accuracy", Accuracy(probabilities, labels), 0.5},
		{"macro F1", MacroF1(3, probabilities, labels), (2.0/3 + 2.0/3 + 0) / 3},
		{"Brier", Brier(probabilities, labels), (0.14 + 0.86 + 0.38 + 0.96) / 4},
		{"RPS of a row", RPSs(probabilities, labels)[0], (0.09 + 0.01) / 2},
		{"RPS", RPS(probabilities, labels), (0.05 + 0.185 + 0.065 + 0.4) / 4},
		{"certain and wrong", LogLoss([][]float64{{1, 0}}, []int{1}), 52 * math.Ln2},
		{"ECE", ECE([][]float64{{0.75, 0.25}, {0.75, 0.25}, {0.75, 0.25}, {0.75, 0.25}}, []int{0, 0, 0, 0}, 10), 0.25},
	} {
		if math.Abs(tt.got-tt.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if !math.IsNaN(RPS(nil, nil)) || !math.IsNaN(ECE(nil, nil, 10)) {
		t.Error("no rows must give NaN")
	}
}

func TestReliability(t *testing.T) {
	p := [][]float64{{0.05, 0.95}, {0.1, 0.9}, {0.1, 0.9}, {0, 1}}
	got := Reliability(p, []int{0, 1, 0, 1}, 0, 10)
	if got[0].Count != 2 || got[0].Frequency != 0.5 || got[0].Mean != 0.025 {
		t.Errorf("first bin: got %+v", got[0])
	}
	if got[1].Count != 2 || got[1].Frequency != 0.5 {
		t.Errorf("second bin: got %+v", got[1])
	}
	if last := Reliability(p, []int{0, 1, 0, 1}, 1, 10)[9]; last.Count != 4 {
		t.Errorf("last bin of the other class: got %+v, want all four rows, 0.9 and 1 included", last)
	}
}

func TestConfusion(t *testing.T) {
	c := NewConfusion([]string{"home", "draw", "away"}, probabilities, labels)
	if c.Counts[0][0] != 1 || c.Counts[1][2] != 1 || c.Counts[1][1] != 1 || c.Counts[2][0] != 1 {
		t.Errorf("got %v", c.Counts)
	}
	if c.Accuracy() != 0.5 {
		t.Errorf("accuracy: got %v, want 0.5", c.Accuracy())
	}
	if text := c.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "home") {
		t.Errorf("got %q", text)
	}
}

// TestBootstrapByGroup draws values that are the same within a group: the interval must be as wide as that of one value
// per group, and cover the true mean.
func TestBootstrapByGroup(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var values []float64
	var groups []int64
	for g := range 100 {
		v := rng.NormFloat64()
		for range 50 {
			values, groups = append(values, v), append(groups, int64(g))
		}
	}
	got := Bootstrap(values, groups, 2000, 1)
	if width := got.High - got.Low; width < 0.3 || width > 0.5 {
		t.Errorf("width %v, want about 4 standard errors of 0.1", width)
	}
	if got.Low > 0 || got.High < 0 || got != Bootstrap(values, groups, 2000, 1) {
		t.Errorf("got %v, want an interval around 0, the same for the same seed", got)
	}
	worse := make([]float64, len(values))
	for i := range worse {
		worse[i] = values[i] + 0.01
	}
	if d := Paired(values, worse, groups, 500, 1); math.Abs(d.High+0.01) > 1e-9 || math.Abs(d.Low+0.01) > 1e-9 {
		t.Errorf("paired: got %v, want −0.01 exactly", d)
	}
}

// TestNoProbabilitiesPanic gives every function what it cannot judge: it must say which row, and not score it.
func TestNoProbabilitiesPanic(t *testing.T) {
	nan := math.NaN()
	good, two := [][]float64{{0.5, 0.5}, {1, 0}}, []int{0, 1}
	functions := map[string]func(p [][]float64, labels []int){
		"log loss":    func(p [][]float64, labels []int) { LogLoss(p, labels) },
		"RPS":         func(p [][]float64, labels []int) { RPS(p, labels) },
		"Brier":       func(p [][]float64, labels []int) { Brier(p, labels) },
		"accuracy":    func(p [][]float64, labels []int) { Accuracy(p, labels) },
		"macro F1":    func(p [][]float64, labels []int) { MacroF1(2, p, labels) },
		"ECE":         func(p [][]float64, labels []int) { ECE(p, labels, 10) },
		"reliability": func(p [][]float64, labels []int) { Reliability(p, labels, 0, 10) },
	}
	for function, judge := range functions {
		for _, tt := range []struct {
			name   string
			p      [][]float64
			labels []int
			want   string
		}{
			{"NaN", [][]float64{{0.5, 0.5}, {nan, 1}}, two, "row 1 gives class 0 a probability of NaN"},
			{"infinite", [][]float64{{math.Inf(1), 0}, {0, 1}}, two, "row 0 gives class 0 a probability of +Inf"},
			{"percent", [][]float64{{50, 50}, {100, 0}}, two, "a probability of 50"},
			{"no sum", [][]float64{{0.5, 0.5}, {0.2, 0.2}}, two, "row 1 sum to 0.4"},
			{"label", good, []int{0, 2}, "label 2"},
			{"more labels", good, []int{0, 1, 1}, "2 rows of probabilities for 3 labels"},
			{"ragged", [][]float64{{0.5, 0.5}, {1}}, []int{0, 0}, "row 1 has 1 probabilities"},
		} {
			if got := panics(func() { judge(tt.p, tt.labels) }); !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s: got %q, want a panic with %q", function, tt.name, got, tt.want)
			}
		}
		judge([][]float64{{0.33, 0.66}, {1, 0}}, two) // two digits are enough
	}
	for name, f := range map[string]func(){
		"bins":    func() { ECE(good, two, 0) },
		"curve":   func() { Reliability(good, two, 2, 10) },
		"classes": func() { NewConfusion([]string{"x"}, good, two) },
		"samples": func() { Bootstrap([]float64{1}, []int64{1}, 0, 1) },
	} {
		if got := panics(f); !strings.HasPrefix(got, "metric: ") {
			t.Errorf("%s: got %q, want a panic of metric's own", name, got)
		}
	}
	if got := Bootstrap([]float64{1, nan, 3}, []int64{1, 2, 3}, 100, 1); !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("an interval of NaN: got %v", got)
	}
}

// panics returns what f panics with, or "".
func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}
