package lwp

import (
	"fmt"

	"cancha/ml/linear"
)

// Frequencies is the simplest baseline: how often matches ended which way from this score at about this minute.
type Frequencies struct {
	p [LastMinute + 1][2*mostLead + 1][3]float64
}

const (
	mostLead = 3 // greater leads count as this
	window   = 5 // minutes before and after that count as well
)

// FitFrequencies counts the outcomes of the training matches by lead, over minutes within five of each; one match of
// each outcome is added everywhere, so that nothing is certain.
func FitFrequencies(train *Matches) *Frequencies {
	var counts [LastMinute + 1][2*mostLead + 1][3]float64
	for i := range train.Matches {
		m := &train.Matches[i]
		for minute := range m.States {
			counts[minute][leadIndex(&m.States[minute])][m.Label()]++
		}
	}
	f := &Frequencies{}
	for minute := range f.p {
		from, to := max(minute-window, 0), min(minute+window, LastMinute)
		for lead := range f.p[minute] {
			row, sum := &f.p[minute][lead], 0.0
			for k := range row {
				row[k] = 1
				for at := from; at <= to; at++ {
					row[k] += counts[at][lead][k] / float64(to-from+1)
				}
				sum += row[k]
			}
			for k := range row {
				row[k] /= sum
			}
		}
	}
	return f
}

// leadIndex returns the home team's lead as an index from 0.
func leadIndex(s *State) int {
	return int(min(max(s.Home.Goals-s.Away.Goals, -mostLead), mostLead)) + mostLead
}

// Name returns the baseline's name in tables.
func (f *Frequencies) Name() string { return "frequencies by minute and score" }

// Predict returns the frequencies for every row.
func (f *Frequencies) Predict(ms *Matches) *Predictions { return predict(f.Name(), f, ms) }

func (f *Frequencies) look(b *batch, s *State, _ Prior) (home, away float64) {
	b.values = append(b.values, float32(min(s.Minute(), LastMinute)), float32(leadIndex(s)))
	return 0, 0
}

func (f *Frequencies) answer(b *batch, dst [][]float64) {
	for i := range dst {
		copy(dst[i], f.p[int(b.values[2*i])][int(b.values[2*i+1])][:])
	}
}

// Logistic is a multinomial logistic regression on the columns of the forest of outcomes.
type Logistic struct{ fit *linear.Logistic }

// FitLogistic fits the regression on the training matches.
func FitLogistic(train *Matches) (*Logistic, error) {
	fit, err := linear.FitLogistic(OutcomeDataset(train), linear.Config{})
	if err != nil {
		return nil, fmt.Errorf("lwp: fit the logistic regression: %w", err)
	}
	return &Logistic{fit}, nil
}

// Name returns the baseline's name in tables.
func (l *Logistic) Name() string { return "logistic regression" }

// Predict returns the probabilities for every row.
func (l *Logistic) Predict(ms *Matches) *Predictions { return predict(l.Name(), classes{l.fit}, ms) }

// Poisson is a regression of each side's remaining goals on ratings, score, red cards, expected goals and territory;
// Skellam turns the two rates into probabilities.
type Poisson struct{ rates }

// FitPoisson fits the regression on the training matches as it is published: all that it knows of the teams is Elo.
func FitPoisson(train *Matches) (*Poisson, error) { return fitPoisson(train, published(), 1) }

// FitRatedPoisson fits the regression with the ratings of attack and defence beside Elo.
func FitRatedPoisson(train *Matches) (*Poisson, error) { return fitPoisson(train, rated(), 1) }

// fitPoisson fits a regression to every step-th minute.
func fitPoisson(train *Matches, f formula, step int) (*Poisson, error) {
	d, offset := rateDatasets(train, step, f.columns, plainly, f.row)
	fit, err := linear.FitPoisson(d, offset, linear.Config{})
	if err != nil {
		return nil, fmt.Errorf("lwp: fit %s: %w", f.name, err)
	}
	return &Poisson{rates{fit, f}}, nil
}

// Name returns the baseline's name in tables.
func (p *Poisson) Name() string { return p.of.name }

// Predict returns the probabilities for every row.
func (p *Poisson) Predict(ms *Matches) *Predictions { return predict(p.Name(), p.rates, ms) }
