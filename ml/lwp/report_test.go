package lwp

import (
	"math"
	"strings"
	"testing"
)

// TestByMinute: the parts hold all rows, their means are the whole's, and probabilities and frequencies sum to 1.
func TestByMinute(t *testing.T) {
	ms := loadSeason(t)
	report, err := Evaluate(ms, ms, fit(t, ms, RemainingGoals))
	if err != nil {
		t.Fatal(err)
	}
	minutes, err := report.ByMinute(report.Best)
	if err != nil {
		t.Fatal(err)
	}
	rows, logLoss, next := 0, 0.0, 0
	for _, p := range minutes.Parts {
		if p.From != next {
			t.Errorf("a part begins at %d, want %d", p.From, next)
		}
		rows, logLoss, next = rows+p.Rows, logLoss+p.LogLoss*float64(p.Rows), p.To+1
		mean, frequency := 0.0, 0.0
		for k := range p.Mean {
			mean, frequency = mean+p.Mean[k], frequency+p.Frequency[k]
		}
		if math.Abs(mean-1)+math.Abs(frequency-1) > 1e-9 || !(p.ECE > 0 && p.ECE < .5) {
			t.Errorf("%+v", p)
		}
	}
	best := report.best()
	if rows != len(best.Predictions.P) || next != LastMinute+1 || math.Abs(logLoss/float64(rows)-best.LogLoss) > 1e-9 {
		t.Errorf("%d rows up to %d with a log loss of %v, want %d up to %d with %v", rows, next, logLoss/float64(rows), len(best.Predictions.P), LastMinute+1, best.LogLoss)
	}
	if text := minutes.MIMEBundle()["text/plain"].(string); !strings.Contains(text, "76–90") || !strings.Contains(text, report.Best) {
		t.Errorf("got\n%s", text)
	}
	if _, err := report.ByMinute("nothing"); err == nil {
		t.Error("parts of no model were given")
	}
}

// TestWorst: the worst match has the greatest mean log loss, and n matches are given.
func TestWorst(t *testing.T) {
	ms := loadSeason(t)
	report, err := Evaluate(ms, ms, fit(t, ms, RemainingGoals))
	if err != nil {
		t.Fatal(err)
	}
	worst, err := report.Worst(report.Best, 5)
	if err != nil {
		t.Fatal(err)
	}
	all, err := report.Worst(report.Best, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(worst.List) != 5 || len(all.List) != len(ms.Matches) {
		t.Fatalf("got %d and %d matches", len(worst.List), len(all.List))
	}
	sum := 0.0
	for i, m := range all.List {
		sum += m.LogLoss / float64(len(all.List))
		if i > 0 && m.LogLoss > all.List[i-1].LogLoss {
			t.Errorf("match %d is worse than the one before", i)
		}
	}
	if math.Abs(sum-report.best().LogLoss) > 1e-9 {
		t.Errorf("the mean is %v, want %v", sum, report.best().LogLoss)
	}
	first := worst.List[0]
	p := report.best().Predictions
	curve, err := p.Curve(first.Match.ID)
	if err != nil {
		t.Fatal(err)
	}
	if class := [][]float64{curve.Home, curve.Draw, curve.Away}[first.Match.Label()]; class[0] != first.Start || class[45] != first.Half || class[81] != first.Late {
		t.Errorf("got %v, %v, %v of what happened, want %v, %v, %v", first.Start, first.Half, first.Late, class[0], class[45], class[81])
	}
	if text := worst.MIMEBundle()["text/plain"].(string); !strings.Contains(text, first.Match.Date) || !strings.Contains(text, first.Match.Home.Name) {
		t.Errorf("got\n%s", text)
	}
	if _, err := report.Worst("nothing", 1); err == nil {
		t.Error("matches of no model were given")
	}
}
