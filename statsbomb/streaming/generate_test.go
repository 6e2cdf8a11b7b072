package streaming_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"cancha/stream"
)

// generator makes matches of our own invention: events with the members that StatsBomb's have, in its order, about 700
// bytes each as compact JSON.
type generator struct {
	random  *rand.Rand
	kickoff time.Time
}

func newGenerator(seed uint64) *generator {
	return &generator{rand.New(rand.NewPCG(seed, 1)), time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)}
}

type ref struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type sentEvent struct {
	ID             string         `json:"id"`
	Index          int            `json:"index"`
	Period         int            `json:"period"`
	Timestamp      string         `json:"timestamp"`
	Minute         int            `json:"minute"`
	Second         int            `json:"second"`
	Type           ref            `json:"type"`
	Possession     int            `json:"possession"`
	PossessionTeam *ref           `json:"possession_team,omitempty"`
	PlayPattern    ref            `json:"play_pattern"`
	Team           *ref           `json:"team,omitempty"`
	Player         ref            `json:"player"`
	Position       ref            `json:"position"`
	Location       []float64      `json:"location,omitempty"`
	Duration       float64        `json:"duration"`
	UnderPressure  bool           `json:"under_pressure,omitempty"`
	Related        []string       `json:"related_events"`
	Pass           map[string]any `json:"pass,omitempty"`
	Carry          map[string]any `json:"carry,omitempty"`
	MatchID        int64          `json:"match_id"`
}

type sentMetadata struct {
	ProducerTimestamp string `json:"producer_timestamp"`
	ProducerID        string `json:"producer_id"`
	EventTime         string `json:"event_time"`
	Source            string `json:"source"`
	SourceMatchID     int64  `json:"source_match_id"`
	HomeTeam          ref    `json:"home_team"`
	AwayTeam          ref    `json:"away_team"`
}

type sent struct {
	Event    sentEvent    `json:"event"`
	Metadata sentMetadata `json:"metadata"`
}

const timeForm = "2006-01-02T15:04:05.000Z"

func (g *generator) tenth(limit float64) float64 { return math.Round(g.random.Float64()*limit*10) / 10 }

func (g *generator) uuid() string {
	return fmt.Sprintf("%08x-%04x-4%03x-9%03x-%012x", g.random.Uint32(), g.random.Uint32()&0xffff, g.random.Uint32()&0xfff,
		g.random.Uint32()&0xfff, g.random.Uint64()&0xffffffffffff)
}

// match makes n events of a match, about 1.5 s apart, in the order of their event time.
func (g *generator) match(id int64, n int) []sent {
	teams := [2]ref{{int(id)*2%1000 + 1, "Racing de Papel"}, {int(id)*2%1000 + 2, "Deportivo Ñandú"}}
	events := make([]sent, n)
	at := time.Duration(0)
	for i := range events {
		at += time.Duration(g.random.IntN(3000)) * time.Millisecond
		events[i] = g.event(id, i+1, at, teams)
	}
	return events
}

func (g *generator) event(match int64, index int, at time.Duration, teams [2]ref) sent {
	side := g.random.IntN(2)
	holder := side
	if g.random.IntN(10) == 0 {
		holder = 1 - side
	}
	e := sentEvent{ID: g.uuid(), Index: index, Period: 1, Timestamp: "00" + time.Time{}.Add(at).Format(":04:05.000"),
		Minute: int(at / time.Minute), Second: int(at/time.Second) % 60, Type: ref{42, "Ball Receipt*"}, Possession: index / 7,
		PossessionTeam: &teams[holder], PlayPattern: ref{1, "Regular Play"}, Team: &teams[side],
		Player: ref{3000 + g.random.IntN(22), "Jorginho de la Peña"}, Position: ref{g.random.IntN(25) + 1, "Right Center Midfield"},
		Location: []float64{g.tenth(120), g.tenth(80)}, Duration: math.Round(g.random.Float64()*3e6) / 1e6,
		UnderPressure: g.random.IntN(5) == 0, Related: []string{g.uuid(), g.uuid()}, MatchID: match}
	end := []float64{g.tenth(120), g.tenth(80)}
	switch k := g.random.IntN(100); {
	case k < 38:
		e.Type = ref{30, "Pass"}
		e.Pass = map[string]any{"recipient": e.Player, "length": g.tenth(60), "angle": g.random.Float64(), "height": ref{1, "Ground Pass"},
			"end_location": end, "body_part": ref{40, "Right Foot"}}
		if k == 0 {
			delete(e.Pass, "end_location")
		}
	case k < 62:
		e.Type = ref{43, "Carry"}
		e.Carry = map[string]any{"end_location": end}
	case k == 62:
		e.Location = nil
	case k == 63:
		e.PossessionTeam = nil
	case k == 64:
		e.Team = nil
	case k == 65:
		e.Period = 6
	}
	when := g.kickoff.Add(at)
	return sent{e, sentMetadata{when.Format(timeForm), "generator-1", when.Format(timeForm), "simulator", match, teams[0], teams[1]}}
}

// records makes records of events, in the order of event time, ties by match and index.
func records(matches ...[]sent) []stream.Record {
	all := slices.Concat(matches...)
	slices.SortStableFunc(all, func(a, b sent) int {
		switch {
		case a.Metadata.EventTime != b.Metadata.EventTime:
			if a.Metadata.EventTime < b.Metadata.EventTime {
				return -1
			}
			return 1
		case a.Event.MatchID != b.Event.MatchID:
			return int(a.Event.MatchID - b.Event.MatchID)
		}
		return a.Event.Index - b.Event.Index
	})
	made := make([]stream.Record, len(all))
	for i, e := range all {
		value, err := json.Marshal(e)
		if err != nil {
			panic(err) // a test's own data
		}
		made[i] = stream.Record{Key: strconv.AppendInt(nil, e.Event.MatchID, 10), Value: value}
	}
	return made
}

// partitioned spreads records over n partitions by match.
func partitioned(all []stream.Record, n int) [][]stream.Record {
	partitions := make([][]stream.Record, n)
	for _, r := range all {
		match, _ := strconv.Atoi(string(r.Key))
		p := match % n
		partitions[p] = append(partitions[p], r)
	}
	return partitions
}

// season makes matches of n events each, with ids from 1.
func season(seed uint64, matches, n int) []stream.Record {
	g := newGenerator(seed)
	var all [][]sent
	for id := range matches {
		all = append(all, g.match(int64(id)+1, n))
	}
	return records(all...)
}
