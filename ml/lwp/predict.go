package lwp

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// Predictor is a fitted model that looks at matches.
type Predictor interface {
	Name() string
	Predict(*Matches) *Predictions
}

// Predictions are a model's answers for every minute of some matches.
type Predictions struct {
	Name    string
	Matches *Matches
	P       [][]float64 // row of match i at minute m: P[i*(LastMinute+1)+m], in the order of Classes
}

// newPredictions makes room for all rows in one block of memory.
func newPredictions(name string, ms *Matches) *Predictions {
	rows := len(ms.Matches) * (LastMinute + 1)
	block := make([]float64, rows*3)
	p := &Predictions{Name: name, Matches: ms, P: make([][]float64, rows)}
	for i := range p.P {
		p.P[i] = block[3*i : 3*i+3 : 3*i+3]
	}
	return p
}

// Labels returns the class of every row, and Groups its match.
func (ms *Matches) Labels() []int {
	out := make([]int, 0, len(ms.Matches)*(LastMinute+1))
	for i := range ms.Matches {
		label := ms.Matches[i].Label()
		for range LastMinute + 1 {
			out = append(out, label)
		}
	}
	return out
}

// Groups returns the match of every row.
func (ms *Matches) Groups() []int64 {
	out := make([]int64, 0, len(ms.Matches)*(LastMinute+1))
	for i := range ms.Matches {
		for range LastMinute + 1 {
			out = append(out, ms.Matches[i].ID)
		}
	}
	return out
}

// Curve is the course of one match: a probability of each outcome at every minute, and what moved it.
type Curve struct {
	Match            *Match
	Minutes          []float64 // 0..LastMinute
	Home, Draw, Away []float64
	Low, High        [][]float64 // of home, draw and away at every minute; nil until Band.Add
	Goals, RedCards  []Mark
}

// Curve returns the course of the match with this id.
func (p *Predictions) Curve(id int64) (*Curve, error) {
	for i := range p.Matches.Matches {
		m := &p.Matches.Matches[i]
		if m.ID != id {
			continue
		}
		c := &Curve{Match: m}
		for minute, row := range p.rows(i) {
			c.Minutes = append(c.Minutes, float64(minute))
			c.Home, c.Draw, c.Away = append(c.Home, row[0]), append(c.Draw, row[1]), append(c.Away, row[2])
		}
		for _, mark := range m.Marks {
			if mark.Kind == MarkGoal {
				c.Goals = append(c.Goals, mark)
			} else {
				c.RedCards = append(c.RedCards, mark)
			}
		}
		return c, nil
	}
	return nil, fmt.Errorf("lwp: no predictions for match %d", id)
}

// rows returns the rows of the i-th match.
func (p *Predictions) rows(i int) [][]float64 { return p.P[i*(LastMinute+1) : (i+1)*(LastMinute+1)] }

// Liveliest returns the id of the match whose probabilities moved most from minute to minute: a good one for a chart.
func (p *Predictions) Liveliest() int64 {
	best, id := -1.0, int64(0)
	for i := range p.Matches.Matches {
		moved, rows := 0.0, p.rows(i)
		for m := 1; m < len(rows); m++ {
			for k := range rows[m] {
				moved += math.Abs(rows[m][k] - rows[m-1][k])
			}
		}
		if moved > best {
			best, id = moved, p.Matches.Matches[i].ID
		}
	}
	return id
}

// WriteCSV writes match_id,minute,p_home,p_draw,p_away, one line per match and minute, with all digits.
func (p *Predictions) WriteCSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("match_id,minute,p_home,p_draw,p_away\n")
	var line []byte
	for i := range p.Matches.Matches {
		for minute, row := range p.rows(i) {
			line = strconv.AppendInt(line[:0], p.Matches.Matches[i].ID, 10)
			line = strconv.AppendInt(append(line, ','), int64(minute), 10)
			for _, v := range row {
				line = strconv.AppendFloat(append(line, ','), v, 'g', -1, 64)
			}
			b.Write(append(line, '\n'))
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("lwp: write predictions: %w", err)
	}
	return nil
}

// SaveCSV writes WriteCSV's lines into a file; missing folders are made.
func (p *Predictions) SaveCSV(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("lwp: save predictions: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("lwp: save predictions: %w", err)
	}
	err = p.WriteCSV(file)
	if e := file.Close(); err == nil && e != nil {
		err = fmt.Errorf("lwp: save predictions: %w", e)
	}
	return err
}
