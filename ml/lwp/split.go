package lwp

import (
	"fmt"
	"sort"
	"time"

	"cancha/runtime/grid"
)

// Split divides the matches at a date, YYYY-MM-DD: those before it to learn from, those on it or later to test on. The
// ratings that a model takes along end the day before. Both parts share the matches with ms. A date in another form is an
// error, for as text 2020-7-1 comes after 2020-12-31.
func (ms *Matches) Split(cut string) (train, later *Matches, err error) {
	if _, err := time.Parse(time.DateOnly, cut); err != nil {
		return nil, nil, fmt.Errorf("lwp: split at %q: a date is written YYYY-MM-DD", cut)
	}
	k := sort.Search(len(ms.Matches), func(i int) bool { return ms.Matches[i].Date >= cut })
	if k == 0 || k == len(ms.Matches) {
		return nil, nil, fmt.Errorf("lwp: splitting %d matches at %q leaves %d before and %d after; both sides need some (they run from %s to %s)",
			len(ms.Matches), cut, k, len(ms.Matches)-k, ms.Matches[0].Date, ms.Matches[len(ms.Matches)-1].Date)
	}
	train = &Matches{Source: ms.Source, Matches: ms.Matches[:k:k], all: ms.all, ratings: ms.rate(cut)}
	later = &Matches{Source: ms.Source, Matches: ms.Matches[k:], all: ms.all, ratings: ms.ratings}
	return train, later, nil
}

// DateAt returns the date before which a share of the matches was played, for Split. Share lies between 0 and 1.
func (ms *Matches) DateAt(share float64) string {
	k := int(share * float64(len(ms.Matches)))
	return ms.Matches[min(max(k, 0), len(ms.Matches)-1)].Date
}

// Find returns the match with this id, or nil.
func (ms *Matches) Find(id int64) *Match {
	for i := range ms.Matches {
		if ms.Matches[i].ID == id {
			return &ms.Matches[i]
		}
	}
	return nil
}

// MIMEBundle shows what was loaded.
func (ms *Matches) MIMEBundle() map[string]any {
	goals, outcomes := 0, [3]int{}
	for i := range ms.Matches {
		m := &ms.Matches[i]
		goals += int(m.Final.Home.Goals + m.Final.Away.Goals)
		outcomes[m.Label()]++
	}
	n := len(ms.Matches)
	g := grid.Grid{Caption: fmt.Sprintf("%s matches (%s)", count(n), sourceName(ms.Source)), Header: []string{"", ""}}
	if n > 0 {
		g.Rows = [][]string{
			{"dates", ms.Matches[0].Date + " – " + ms.Matches[n-1].Date},
			{"listed without events", count(ms.NoEvents)},
			{"rows, one a minute", count(n * (LastMinute + 1))},
			{"goals per match", fmt.Sprintf("%.2f", float64(goals)/float64(n))},
			{"home win, draw, away win", fmt.Sprintf("%d, %d, %d", outcomes[0], outcomes[1], outcomes[2])},
		}
	}
	return g.MIMEBundle()
}

// sourceName says where matches come from, in words for a reader.
func sourceName(source string) string {
	if source == "simulator" {
		return "simulated matches"
	}
	return "source: " + source
}
