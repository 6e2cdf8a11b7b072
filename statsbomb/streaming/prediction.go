package streaming

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"cancha/runtime/grid"
	"cancha/statsbomb"
	"cancha/stream"
)

// Prediction is what a model says of a match after one of its events.
type Prediction struct {
	MatchID            int64
	EventTime          time.Time
	Period             int
	Timestamp          time.Duration // since the start of the period
	Minute, Second     int
	Index              int // of the event in its match
	Type               statsbomb.Ref
	Team               statsbomb.Ref
	Goal               bool // the event is a goal for Team
	Red                bool // the event sends a player of Team off
	HomeTeam, AwayTeam statsbomb.Ref
	HomeGoals          int // of the match's events scored so far, this one included
	AwayGoals          int
	Home, Draw, Away   float64 // probabilities of the results
}

// Score writes the goals so far, as "2:1".
func (p Prediction) Score() string { return fmt.Sprintf("%d:%d", p.HomeGoals, p.AwayGoals) }

// appendTimestamp appends HH:MM:SS.mmm.
func appendTimestamp(dst []byte, d time.Duration) []byte {
	ms := d.Milliseconds()
	hours, ms := ms/3_600_000, ms%3_600_000
	if hours < 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, hours, 10)
	minutes, seconds, rest := ms/60_000, ms/1000%60, ms%1000
	return append(dst, ':', digit(minutes/10), digit(minutes%10), ':', digit(seconds/10), digit(seconds%10),
		'.', digit(rest/100), digit(rest/10%10), digit(rest%10))
}

func digit(n int64) byte { return byte('0' + n) }

// stampLength is how many bytes appendTimestamp appends.
func stampLength(d time.Duration) int {
	n := len("00:00:00.000")
	for hours := d / (100 * time.Hour); hours > 0; hours /= 10 {
		n++
	}
	return n
}

func compare(a, b Prediction) int {
	return cmp.Or(cmp.Compare(a.MatchID, b.MatchID), a.EventTime.Compare(b.EventTime), cmp.Compare(a.Period, b.Period),
		cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.Index, b.Index))
}

// Predictions are predictions of matches.
type Predictions struct {
	List  []Prediction
	Total int64 // how many there were; more than in the list if some were left out
}

// Len returns the number of predictions in the list.
func (p *Predictions) Len() int { return len(p.List) }

// Match returns the predictions of one match.
func (p *Predictions) Match(id int64) *Predictions {
	one := &Predictions{Total: p.Total}
	for _, each := range p.List {
		if each.MatchID == id {
			one.List = append(one.List, each)
		}
	}
	return one
}

// WriteCSV writes the file predictions.csv: match_id, event_time (RFC 3339 with milliseconds), period, timestamp
// (HH:MM:SS.mmm), p_home, p_draw, p_away, in the order of the list.
func (p *Predictions) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"match_id", "event_time", "period", "timestamp", "p_home", "p_draw", "p_away"}) // errors are kept for Flush
	for _, each := range p.List {
		out.Write([]string{strconv.FormatInt(each.MatchID, 10), each.EventTime.UTC().Format("2006-01-02T15:04:05.000Z"), strconv.Itoa(each.Period),
			string(appendTimestamp(nil, each.Timestamp)), stream.FloatOf(each.Home).String(), stream.FloatOf(each.Draw).String(), stream.FloatOf(each.Away).String()})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write predictions as CSV: %w", err)
	}
	return nil
}

// shownPredictions is how many predictions are shown at most.
const shownPredictions = 20

// MIMEBundle shows the newest predictions of the list as a table.
func (p *Predictions) MIMEBundle() map[string]any { return p.grid().MIMEBundle() }

// String is the newest predictions of the list as aligned text.
func (p *Predictions) String() string { return p.grid().Text() }

func (p *Predictions) grid() grid.Grid {
	g := grid.Grid{Header: []string{"match", "home", "away", "score", "minute", "home win", "draw", "away win"}}
	percent := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }
	for _, each := range p.List[max(0, len(p.List)-shownPredictions):] {
		g.Rows = append(g.Rows, []string{strconv.FormatInt(each.MatchID, 10), each.HomeTeam.Name, each.AwayTeam.Name, each.Score(),
			fmt.Sprintf("%d:%02d", each.Minute, each.Second), percent(each.Home), percent(each.Draw), percent(each.Away)})
	}
	g.Note = fmt.Sprintf("%d of %d rows", len(g.Rows), max(int64(len(p.List)), p.Total))
	return g
}
