package statsbomb

import (
	"cmp"
	"fmt"
	"slices"
)

// Filter chooses matches. The zero Filter takes all; each field that is set leaves out what does not fit it.
type Filter struct {
	Competition int    // id, such as 11 for La Liga
	Seasons     []int  // ids
	Last        int    // the last so many seasons of each competition, counted before From and To
	From, To    string // first and last date, YYYY-MM-DD, both included
	Team        int    // id of a side that plays, at home or away
	Frames      bool   // only matches that are listed with 360 frames
}

// Select returns the matches of an archive that a filter takes, in the archive's order.
func Select(a Archive, f Filter) []Match { return f.Apply(a.Matches()) }

// Select returns the folder's matches that a filter takes.
func (f *Folder) Select(filter Filter) []Match { return Select(f, filter) }

// Seasons returns the seasons of a competition of which the folder lists matches, the latest first. competitions.json may
// name more: a folder holds a part of the open data as a rule.
func (f *Folder) Seasons(competition int) []Ref { return Seasons(seasonsOf(f.matches), competition) }

// seasonsOf returns the competitions and seasons that matches belong to.
func seasonsOf(matches []Match) []Competition {
	var list []Competition
	for _, m := range matches {
		if c := (Competition{Competition: m.Competition, Season: m.Season}); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// Seasons returns the seasons of a competition, the latest first. Season ids tell nothing of time (2019/2020 is 42, 2004/2005
// is 37), so the names order them.
func Seasons(list []Competition, competition int) []Ref {
	var seasons []Ref
	for _, c := range list {
		if c.Competition.ID == competition && !slices.Contains(seasons, c.Season) {
			seasons = append(seasons, c.Season)
		}
	}
	slices.SortFunc(seasons, func(a, b Ref) int { return cmp.Or(cmp.Compare(b.Name, a.Name), cmp.Compare(b.ID, a.ID)) })
	return seasons
}

// Apply returns the matches that the filter takes, in their order. The slice is new.
func (f Filter) Apply(matches []Match) []Match {
	last := f.lastSeasons(matches)
	var out []Match
	for _, m := range matches {
		if f.takes(m) && (last == nil || last[seasonKey{m.Competition.ID, m.Season.ID}]) {
			out = append(out, m)
		}
	}
	return out
}

func (f Filter) takes(m Match) bool {
	return (f.Competition == 0 || m.Competition.ID == f.Competition) &&
		(len(f.Seasons) == 0 || slices.Contains(f.Seasons, m.Season.ID)) &&
		(f.From == "" || m.Date >= f.From) && (f.To == "" || m.Date <= f.To) &&
		(f.Team == 0 || m.Home.ID == f.Team || m.Away.ID == f.Team) &&
		(!f.Frames || m.Status360 == "available")
}

type seasonKey struct{ competition, season int }

func (f Filter) lastSeasons(matches []Match) map[seasonKey]bool {
	if f.Last <= 0 {
		return nil
	}
	list := seasonsOf(matches)
	keep := make(map[seasonKey]bool)
	for _, c := range list {
		seasons := Seasons(list, c.Competition.ID)
		for _, s := range seasons[:min(f.Last, len(seasons))] {
			keep[seasonKey{c.Competition.ID, s.ID}] = true
		}
	}
	return keep
}

// Subset is an Archive of which only some matches are listed.
type Subset struct {
	archive Archive
	matches []Match
	listed  map[int64]bool
}

// Where returns the part of an archive that a filter takes.
func Where(a Archive, f Filter) *Subset {
	s := &Subset{archive: a, matches: Select(a, f), listed: make(map[int64]bool)}
	for _, m := range s.matches {
		s.listed[m.ID] = true
	}
	return s
}

// Source is the source of the archive behind.
func (s *Subset) Source() string { return s.archive.Source() }

// Matches returns the matches that the filter took. The slice is the caller's.
func (s *Subset) Matches() []Match { return slices.Clone(s.matches) }

// Events returns the events of a match that the filter took.
func (s *Subset) Events(matchID int64) ([]Event, error) {
	if !s.listed[matchID] {
		return nil, fmt.Errorf("match %d is not among the matches selected", matchID)
	}
	return s.archive.Events(matchID)
}
