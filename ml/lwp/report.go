package lwp

import (
	"cmp"
	"fmt"
	"slices"

	"cancha/ml/metric"
	"cancha/runtime/grid"
)

// Minutes are a model's figures on later matches in one part of the match after another.
type Minutes struct {
	Name  string // of the model
	Parts []MinutePart
}

// MinutePart is one part of the match.
type MinutePart struct {
	From, To          int // minutes, both included
	Rows              int
	RPS, LogLoss, ECE float64    // ECE class-wise, ten bins
	Mean, Frequency   [3]float64 // mean probability of each class, and how often it happened
}

// minuteParts are the parts by the minute that each begins with: quarters of an hour.
func minuteParts() []int { return []int{0, 16, 31, 46, 61, 76} }

// ByMinute returns the calibration of the model with this name, by the quarter of an hour.
func (r *Report) ByMinute(name string) (*Minutes, error) {
	s, err := r.Find(name)
	if err != nil {
		return nil, err
	}
	out, labels, starts := &Minutes{Name: name}, r.later.Labels(), minuteParts()
	for k, from := range starts {
		to := LastMinute
		if k+1 < len(starts) {
			to = starts[k+1] - 1
		}
		out.Parts = append(out.Parts, minutePart(s.Predictions.P, labels, from, to))
	}
	return out, nil
}

// minutePart works out the figures of the rows from a minute to another.
func minutePart(p [][]float64, labels []int, from, to int) MinutePart {
	m := MinutePart{From: from, To: to}
	var rows [][]float64
	var happened []int
	for i, row := range p {
		if minute := i % (LastMinute + 1); minute < from || minute > to {
			continue
		}
		rows, happened = append(rows, row), append(happened, labels[i])
		m.Frequency[labels[i]]++
		for k, v := range row {
			m.Mean[k] += v
		}
	}
	m.Rows, m.RPS, m.LogLoss, m.ECE = len(rows), metric.RPS(rows, happened), metric.LogLoss(rows, happened), metric.ECE(rows, happened, metric.CalibrationBins)
	for k := range m.Mean {
		m.Mean[k] /= float64(m.Rows)
		m.Frequency[k] /= float64(m.Rows)
	}
	return m
}

// MIMEBundle shows the parts as a table.
func (m *Minutes) MIMEBundle() map[string]any {
	g := grid.Grid{Caption: "By the minute: " + m.Name, Header: []string{"minutes", "rows", "RPS", "log loss", "ECE"},
		Note: "Of each result, the mean probability and how often it happened: the closer, the better the model is calibrated."}
	for _, class := range Classes() {
		g.Header = append(g.Header, class, "happened")
	}
	for _, p := range m.Parts {
		row := []string{fmt.Sprintf("%d–%d", p.From, p.To), count(p.Rows), four(p.RPS), four(p.LogLoss), three(p.ECE)}
		for k := range p.Mean {
			row = append(row, three(p.Mean[k]), three(p.Frequency[k]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g.MIMEBundle()
}

// Misses are the later matches that a model got most wrong, the worst first.
type Misses struct {
	Name string // of the model
	List []Miss
}

// Miss is one of them.
type Miss struct {
	Match        *Match
	LogLoss, RPS float64 // means over its minutes
	Baseline     float64 // log loss of Poisson + xG
	Start        float64 // probability of what happened at kick-off,
	Half         float64 // at half-time
	Late         float64 // and at the beginning of the last tenth
}

// Worst returns the n later matches, fewer if there are no more, in which the model with this name has the greatest log loss. Late goals
// that turn a match cannot be foreseen; the matches to look at are those that Poisson + xG got less wrong.
func (r *Report) Worst(name string, n int) (*Misses, error) {
	s, err := r.Find(name)
	if err != nil {
		return nil, err
	}
	baseline, err := r.Find(published().name)
	if err != nil {
		return nil, err
	}
	const rows = LastMinute + 1
	out := &Misses{Name: name}
	for i := range r.later.Matches {
		m, p := &r.later.Matches[i], s.Predictions.rows(i)
		class := m.Label()
		out.List = append(out.List, Miss{Match: m, LogLoss: metric.Mean(s.logLoss[i*rows : (i+1)*rows]), RPS: metric.Mean(s.rps[i*rows : (i+1)*rows]),
			Baseline: metric.Mean(baseline.logLoss[i*rows : (i+1)*rows]), Start: p[0][class], Half: p[45][class], Late: p[lastTenth][class]})
	}
	slices.SortStableFunc(out.List, func(a, b Miss) int { return cmp.Compare(b.LogLoss, a.LogLoss) })
	out.List = out.List[:min(max(n, 0), len(out.List))]
	return out, nil
}

// MIMEBundle shows the matches as a table.
func (m *Misses) MIMEBundle() map[string]any {
	g := grid.Grid{Caption: "Most wrong: " + m.Name, Header: []string{"date", "match", "result", "log loss", "Poisson + xG's", "RPS", "minute 0", "45", fmt.Sprint(lastTenth)},
		Note: "Means over all minutes; on the right the probability of what happened. Results are after 90 minutes."}
	for _, x := range m.List {
		g.Rows = append(g.Rows, []string{x.Match.Date, x.Match.Home.Name + " – " + x.Match.Away.Name,
			fmt.Sprintf("%d:%d", x.Match.Final.Home.Goals, x.Match.Final.Away.Goals), three(x.LogLoss), three(x.Baseline), three(x.RPS),
			three(x.Start), three(x.Half), three(x.Late)})
	}
	return g.MIMEBundle()
}
