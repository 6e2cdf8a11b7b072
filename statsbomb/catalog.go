package statsbomb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// The lists of the open data are small and regular, so encoding/json reads them. The structs below are their published
// form; the exported types are what the code wants to know of it.

type competitionJSON struct {
	CompetitionID   int    `json:"competition_id"`
	SeasonID        int    `json:"season_id"`
	CountryName     string `json:"country_name"`
	CompetitionName string `json:"competition_name"`
	SeasonName      string `json:"season_name"`
}

type matchJSON struct {
	MatchID     int64  `json:"match_id"`
	Date        string `json:"match_date"`
	KickOff     string `json:"kick_off"` // nullable
	Competition struct {
		ID      int    `json:"competition_id"`
		Country string `json:"country_name"`
		Name    string `json:"competition_name"`
	} `json:"competition"`
	Season struct {
		ID   int    `json:"season_id"`
		Name string `json:"season_name"`
	} `json:"season"`
	Home      homeJSON `json:"home_team"`
	Away      awayJSON `json:"away_team"`
	HomeScore *int     `json:"home_score"`
	AwayScore *int     `json:"away_score"`
	Status    string   `json:"match_status"`
	Status360 string   `json:"match_status_360"`
	Week      int      `json:"match_week"`
	Stage     *Ref     `json:"competition_stage,omitempty"`
	Stadium   *venue   `json:"stadium,omitempty"`
	Referee   *Ref     `json:"referee,omitempty"`
}

type homeJSON struct {
	ID       int    `json:"home_team_id"`
	Name     string `json:"home_team_name"`
	Country  *Ref   `json:"country,omitempty"`
	Managers []Ref  `json:"managers,omitempty"`
}

type awayJSON struct {
	ID       int    `json:"away_team_id"`
	Name     string `json:"away_team_name"`
	Country  *Ref   `json:"country,omitempty"`
	Managers []Ref  `json:"managers,omitempty"`
}

type venue struct {
	Ref
	Country *Ref `json:"country,omitempty"`
}

// DecodeCompetitions reads competitions.json: one entry for each season of each competition.
func DecodeCompetitions(text []byte) ([]Competition, error) {
	var list []competitionJSON
	if err := unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode competitions: %w", err)
	}
	out := make([]Competition, len(list))
	for i, c := range list {
		if c.CompetitionID == 0 || c.SeasonID == 0 {
			return nil, fmt.Errorf("decode competitions: entry %d lacks competition_id or season_id", i+1)
		}
		out[i] = Competition{Ref{c.CompetitionID, c.CompetitionName}, Ref{c.SeasonID, c.SeasonName}, c.CountryName}
	}
	return out, nil
}

// EncodeCompetitions is the inverse of DecodeCompetitions.
func EncodeCompetitions(list []Competition) ([]byte, error) {
	out := make([]competitionJSON, len(list))
	for i, c := range list {
		out[i] = competitionJSON{c.Competition.ID, c.Season.ID, c.Country, c.Competition.Name, c.Season.Name}
	}
	return json.Marshal(out)
}

// DecodeMatches reads a season's list of matches.
func DecodeMatches(text []byte) ([]Match, error) {
	var list []matchJSON
	if err := unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode matches: %w", err)
	}
	out := make([]Match, len(list))
	for i := range list {
		if list[i].MatchID == 0 || list[i].Home.ID == 0 || list[i].Away.ID == 0 {
			return nil, fmt.Errorf("decode matches: entry %d (match %d) lacks match_id, home_team_id or away_team_id", i+1, list[i].MatchID)
		}
		out[i] = list[i].match()
	}
	return out, nil
}

func (m *matchJSON) match() Match {
	return Match{
		ID: m.MatchID, Date: m.Date, KickOff: m.KickOff,
		Competition: Ref{m.Competition.ID, m.Competition.Name}, Season: Ref{m.Season.ID, m.Season.Name},
		Stage: value(m.Stage), Week: m.Week,
		Home: Ref{m.Home.ID, m.Home.Name}, Away: Ref{m.Away.ID, m.Away.Name},
		Managers: [2][]Ref{m.Home.Managers, m.Away.Managers}, Stadium: m.stadium(), Referee: value(m.Referee),
		HomeScore: value(m.HomeScore), AwayScore: value(m.AwayScore),
		NoScore: m.HomeScore == nil || m.AwayScore == nil, Status: m.Status, Status360: m.Status360,
		Neutral: m.neutral(),
	}
}

func (m *matchJSON) stadium() Ref {
	if m.Stadium == nil {
		return Ref{}
	}
	return m.Stadium.Ref
}

// neutral tells whether the side listed first plays abroad or in a tournament at an unknown place. The data have no field
// for it; competitions between countries carry the name of a region in place of a country.
func (m *matchJSON) neutral() bool {
	switch m.Competition.Country {
	case "International", "Europe", "Africa", "South America", "North and Central America", "Asia":
		if m.Stadium == nil || m.Stadium.Country == nil || m.Home.Country == nil {
			return true
		}
		return m.Stadium.Country.ID != m.Home.Country.ID
	}
	return false
}

// value is *p, or zero where the data have null or nothing.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// EncodeMatches writes a season's list in the published form. Neutral ground is not part of that form and is not written.
func EncodeMatches(list []Match) ([]byte, error) {
	out := make([]matchJSON, len(list))
	for i := range list {
		m, j := &list[i], &out[i]
		j.MatchID, j.Date, j.KickOff, j.Week = m.ID, m.Date, m.KickOff, m.Week
		j.Competition.ID, j.Competition.Name = m.Competition.ID, m.Competition.Name
		j.Season.ID, j.Season.Name = m.Season.ID, m.Season.Name
		j.Home.ID, j.Home.Name, j.Home.Managers = m.Home.ID, m.Home.Name, m.Managers[0]
		j.Away.ID, j.Away.Name, j.Away.Managers = m.Away.ID, m.Away.Name, m.Managers[1]
		j.Status, j.Status360 = m.Status, m.Status360
		if !m.NoScore {
			j.HomeScore, j.AwayScore = &m.HomeScore, &m.AwayScore
		}
		j.Stage, j.Referee = present(m.Stage), present(m.Referee)
		if m.Stadium != (Ref{}) {
			j.Stadium = &venue{Ref: m.Stadium}
		}
	}
	return json.Marshal(out)
}

func present(r Ref) *Ref {
	if r == (Ref{}) {
		return nil
	}
	return &r
}

// compareMatches orders matches by date, kick-off and id.
func compareMatches(a, b Match) int {
	return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.KickOff, b.KickOff), cmp.Compare(a.ID, b.ID))
}

// unmarshal is json.Unmarshal whose errors say where.
func unmarshal(text []byte, v any) error {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	err := json.Unmarshal(text, v)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("field %s: want %s, found a JSON %s at byte %d", kind.Field, kind.Type, kind.Value, kind.Offset)
	case errors.As(err, &syntax):
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	}
	return err
}
