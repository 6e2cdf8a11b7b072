package statsbomb

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// WithResults returns an archive that lists more matches beside its own: such as those of which only the result is known, for
// ratings of teams. Of a match that the archive lists itself its own word stands. Events of the others are ErrNoEvents.
func WithResults(a Archive, more []Match) Archive {
	known := map[int64]bool{}
	for _, m := range a.Matches() {
		known[m.ID] = true
	}
	r := &results{Archive: a, only: map[int64]bool{}}
	for _, m := range more {
		if !known[m.ID] && !r.only[m.ID] {
			r.only[m.ID] = true
			r.more = append(r.more, m)
		}
	}
	return r
}

// results is an archive with further matches.
type results struct {
	Archive
	more []Match
	only map[int64]bool // ids of more
}

func (r *results) Matches() []Match {
	all := append(r.Archive.Matches(), r.more...)
	slices.SortStableFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.KickOff, b.KickOff), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (r *results) Events(id int64) ([]Event, error) {
	if r.only[id] {
		return nil, fmt.Errorf("statsbomb: match %d: only its result is known: %w", id, ErrNoEvents)
	}
	return r.Archive.Events(id)
}

// ReadResults reads results from a CSV table whose first line names the columns: match_id, match_date (YYYY-MM-DD), home_team_id,
// away_team_id, home_score and away_score, and if it has them home_team_name, away_team_name, kick_off, competition_id,
// competition_name, season_id, season_name and neutral (1 where neither side is at home). Other columns are passed over. A line
// without scores is a match still to be played.
func ReadResults(r io.Reader) ([]Match, error) {
	lines := csv.NewReader(r)
	header, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("statsbomb: read results: %w; the first line names the columns", err)
	}
	t := resultTable{at: map[string]int{}}
	for i, name := range header {
		t.at[name] = i
	}
	for _, name := range []string{"match_id", "match_date", "home_team_id", "away_team_id", "home_score", "away_score"} {
		if _, ok := t.at[name]; !ok {
			return nil, fmt.Errorf("statsbomb: read results: no column %q among %q", name, header)
		}
	}
	var out []Match
	for {
		t.line, err = lines.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("statsbomb: read results: %w", err)
		}
		m, err := t.match()
		if err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("statsbomb: read results, line %d: %w", line, err)
		}
		out = append(out, m)
	}
}

// resultTable is a line of results and where its columns are.
type resultTable struct {
	at   map[string]int
	line []string
}

// text is the value of a column, empty if there is no such column.
func (t *resultTable) text(name string) string {
	if i, ok := t.at[name]; ok {
		return t.line[i]
	}
	return ""
}

// number is the value of a column; empty is 0.
func (t *resultTable) number(name string, err *error) int {
	text := t.text(name)
	if text == "" {
		return 0
	}
	n, e := strconv.Atoi(text)
	if e != nil && *err == nil {
		*err = fmt.Errorf("%s is %q, not a whole number", name, text)
	}
	return n
}

func (t *resultTable) match() (Match, error) {
	var err error
	ref := func(of string) Ref { return Ref{t.number(of+"_id", &err), t.text(of + "_name")} }
	m := Match{ID: int64(t.number("match_id", &err)), Date: t.text("match_date"), KickOff: t.text("kick_off"),
		Competition: ref("competition"), Season: ref("season"), Home: ref("home_team"), Away: ref("away_team"),
		HomeScore: t.number("home_score", &err), AwayScore: t.number("away_score", &err),
		NoScore: t.text("home_score") == "" || t.text("away_score") == "", Neutral: t.number("neutral", &err) == 1}
	return m, err
}
