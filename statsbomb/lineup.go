package statsbomb

import (
	"encoding/json"
	"fmt"
)

// Lineup is a side's squad of a match, and who played where from when to when.
type Lineup struct {
	Team    Ref
	Players []LineupPlayer
}

// LineupPlayer is a player of a Lineup.
type LineupPlayer struct {
	Player    Ref
	Nickname  string
	Jersey    int
	Country   Ref
	Cards     []LineupCard
	Positions []LineupPosition // empty for a substitute who stayed on the bench
}

// LineupCard is a card as lineups list it.
type LineupCard struct {
	Time   string `json:"time"` // MM:SS of the match
	Card   string `json:"card_type"`
	Reason string `json:"reason"`
	Period int    `json:"period"`
}

// LineupPosition is a spell of a player in a position. To is empty for a spell that lasted until the final whistle.
type LineupPosition struct {
	ID          int    `json:"position_id"`
	Position    string `json:"position"`
	From        string `json:"from"` // MM:SS of the match
	To          string `json:"to"`
	FromPeriod  int    `json:"from_period"`
	ToPeriod    int    `json:"to_period"`
	StartReason string `json:"start_reason"`
	EndReason   string `json:"end_reason"`
}

type lineupJSON struct {
	TeamID   int                `json:"team_id"`
	TeamName string             `json:"team_name"`
	Lineup   []lineupPlayerJSON `json:"lineup"`
}

type lineupPlayerJSON struct {
	ID        int              `json:"player_id"`
	Name      string           `json:"player_name"`
	Nickname  string           `json:"player_nickname"` // nullable
	Jersey    int              `json:"jersey_number"`
	Country   *Ref             `json:"country,omitempty"`
	Cards     []LineupCard     `json:"cards"`
	Positions []LineupPosition `json:"positions"`
}

// DecodeLineups reads a lineups file: the two sides of a match.
func DecodeLineups(text []byte) ([]Lineup, error) {
	var list []lineupJSON
	if err := unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode lineups: %w", err)
	}
	out := make([]Lineup, len(list))
	for i, l := range list {
		if l.TeamID == 0 {
			return nil, fmt.Errorf("decode lineups: entry %d lacks team_id", i+1)
		}
		out[i] = Lineup{Team: Ref{l.TeamID, l.TeamName}, Players: make([]LineupPlayer, len(l.Lineup))}
		for k, p := range l.Lineup {
			out[i].Players[k] = LineupPlayer{Ref{p.ID, p.Name}, p.Nickname, p.Jersey, value(p.Country), p.Cards, p.Positions}
		}
	}
	return out, nil
}

// EncodeLineups is the inverse of DecodeLineups.
func EncodeLineups(list []Lineup) ([]byte, error) {
	out := make([]lineupJSON, len(list))
	for i, l := range list {
		out[i] = lineupJSON{l.Team.ID, l.Team.Name, make([]lineupPlayerJSON, len(l.Players))}
		for k, p := range l.Players {
			out[i].Lineup[k] = lineupPlayerJSON{p.Player.ID, p.Player.Name, p.Nickname, p.Jersey, present(p.Country), p.Cards, p.Positions}
		}
	}
	return json.Marshal(out)
}
