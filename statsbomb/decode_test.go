package statsbomb_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb"
)

const shotText = `{"id":"a1","index":7,"period":2,"timestamp":"00:03:04.567","minute":48,"second":4,
"type":{"id":16,"name":"Shot"},"possession":9,"possession_team":{"id":1,"name":"Alba"},"play_pattern":{"id":1,"name":"Regular Play"},
"team":{"id":1,"name":"Alba"},"player":{"id":5,"name":"Ana M\u00fcller"},"position":{"id":23,"name":"Center Forward"},
"location":[108.5,40.25],"duration":0.75,"under_pressure":true,"related_events":["b2","c3"],
"shot":{"statsbomb_xg":0.125,"end_location":[120.0,38.5,1.2],"key_pass_id":"k9","outcome":{"id":97,"name":"Goal"},
"type":{"id":87,"name":"Open Play"},"body_part":{"id":40,"name":"Right Foot"},"technique":{"id":93,"name":"Normal"},"first_time":true,
"deflected":true,"freeze_frame":[{"location":[118.0,40.0],"player":{"id":8,"name":"K"},"position":{"id":1,"name":"Goalkeeper"},"teammate":false}]},
"match_id":42,"freeze_frame":[{"teammate":true,"actor":true,"keeper":false,"location":[108.5,40.25]}],"visible_area":[80.0,0.0,120.0,80.0,80.0,0.0]}`

// The same event as statsbombpy makes it of a match: names in place of objects, columns of other types empty.
const flatText = `{"id":"a1","index":7.0,"period":2,"timestamp":"00:03:04.567","minute":48,"second":4,"type":"Shot","possession":9,
"possession_team":"Alba","possession_team_id":1,"play_pattern":"Regular Play","team":"Alba","team_id":1,"player":"Ana Müller","player_id":5.0,
"position":"Center Forward","location":[108.5,40.25],"duration":0.75,"under_pressure":true,"related_events":["b2","c3"],
"shot_statsbomb_xg":0.125,"shot_end_location":[120.0,38.5,1.2],"shot_key_pass_id":"k9","shot_outcome":"Goal","shot_type":"Open Play",
"shot_body_part":"Right Foot","shot_technique":"Normal","shot_first_time":true,"shot_deflected":true,
"shot_freeze_frame":[{"location":[118.0,40.0],"player":{"id":8,"name":"K"},"position":{"id":1,"name":"Goalkeeper"},"teammate":false}],
"pass_outcome":null,"pass_end_location":NaN,"carry_end_location":null,"duel_type":NaN,"foul_committed_card":null,"substitution_replacement":NaN,
"50_50":null,"match_id":42,"freeze_frame":[{"teammate":true,"actor":true,"keeper":false,"location":[108.5,40.25]}],
"visible_area":[80.0,0.0,120.0,80.0,80.0,0.0]}`

func shotEvent() statsbomb.Event {
	return statsbomb.Event{
		ID: "a1", MatchID: 42, Index: 7, Period: 2, Timestamp: 3*time.Minute + 4567*time.Millisecond, Minute: 48, Second: 4,
		Type: statsbomb.Ref{ID: 16, Name: "Shot"}, Possession: 9, PossessionTeam: statsbomb.Ref{ID: 1, Name: "Alba"},
		PlayPattern: statsbomb.Ref{ID: 1, Name: "Regular Play"}, Team: statsbomb.Ref{ID: 1, Name: "Alba"},
		Player: statsbomb.Ref{ID: 5, Name: "Ana Müller"}, Position: statsbomb.Ref{ID: 23, Name: "Center Forward"},
		Location: &statsbomb.Point{X: 108.5, Y: 40.25}, Duration: .75, UnderPressure: true, RelatedEvents: []string{"b2", "c3"},
		Shot: &statsbomb.Shot{
			XG: .125, End: &statsbomb.Point{X: 120, Y: 38.5, Z: 1.2}, Outcome: statsbomb.Ref{ID: 97, Name: "Goal"},
			Type: statsbomb.Ref{ID: 87, Name: "Open Play"}, BodyPart: statsbomb.Ref{ID: 40, Name: "Right Foot"},
			Technique: statsbomb.Ref{ID: 93, Name: "Normal"}, KeyPass: "k9", FirstTime: true, Flags: statsbomb.FlagDeflected,
			FreezeFrame: []statsbomb.ShotPlayer{{Location: statsbomb.Point{X: 118, Y: 40}, Player: statsbomb.Ref{ID: 8, Name: "K"},
				Position: statsbomb.Ref{ID: 1, Name: "Goalkeeper"}}},
		},
		FreezeFrame: []statsbomb.FramePlayer{{Location: statsbomb.Point{X: 108.5, Y: 40.25}, Teammate: true, Actor: true}},
		VisibleArea: []float64{80, 0, 120, 80, 80, 0},
	}
}

func TestDecodeNested(t *testing.T) {
	got, err := statsbomb.DecodeEvent([]byte(shotText))
	if err != nil {
		t.Fatal(err)
	}
	if want := shotEvent(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !got.Goal() {
		t.Error("the shot is not a goal")
	}
}

func TestDecodeFlattened(t *testing.T) {
	got, err := statsbomb.DecodeEvent([]byte(flatText))
	if err != nil {
		t.Fatal(err)
	}
	want := shotEvent()
	// Names alone do not tell these ids.
	want.PlayPattern.ID, want.Position.ID, want.Shot.BodyPart.ID, want.Shot.Technique.ID = 0, 0, 0, 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeQuirks(t *testing.T) {
	const head = `{"index":1,"period":1,"timestamp":"00:00:01.500","team":{"id":3},`
	tests := []struct {
		name, text string
		want       func(e statsbomb.Event) bool
	}{
		{"own goal for without player and location", `"type":{"id":25,"name":"Own Goal For"}}`,
			func(e statsbomb.Event) bool { return e.Goal() && e.Player == statsbomb.Ref{} && e.Location == nil }},
		{"shot with an end on the ground", `"type":{"id":16,"name":"Shot"},"shot":{"statsbomb_xg":7.5e-05,"end_location":[99.0,41.0]}}`,
			func(e statsbomb.Event) bool {
				return *e.Shot.End == statsbomb.Point{X: 99, Y: 41} && e.Shot.XG == 7.5e-05
			}},
		{"visible area and frame empty", `"type":{"id":30,"name":"Pass"},"visible_area":[],"freeze_frame":[]}`,
			func(e statsbomb.Event) bool { return len(e.VisibleArea) == 0 && len(e.FreezeFrame) == 0 }},
		{"fifty fifty", `"type":{"id":33,"name":"50/50"},"50_50":{"outcome":{"id":4,"name":"Won"}}}`,
			func(e statsbomb.Event) bool { return e.Detail.Outcome == statsbomb.Ref{ID: 4, Name: "Won"} }},
		{"fifty fifty by name", `"type":"50/50","50_50_outcome":"Won"}`,
			func(e statsbomb.Event) bool {
				return e.Type.ID == statsbomb.TypeFiftyFifty && e.Detail.Outcome.Name == "Won"
			}},
		{"negative duration", `"type":{"id":30,"name":"Pass"},"duration":-0.04}`,
			func(e statsbomb.Event) bool { return e.Duration == -.04 }},
		{"outside the pitch", `"type":{"id":30,"name":"Pass"},"location":[120.7,-0.4]}`,
			func(e statsbomb.Event) bool { return *e.Location == statsbomb.Point{X: 120.7, Y: -.4} }},
		{"no location", `"type":{"id":30,"name":"Pass"},"location":null,"pass":{"end_location":[]}}`,
			func(e statsbomb.Event) bool { return e.Location == nil && e.Pass.End == nil }},
		{"second yellow", `"type":{"id":22,"name":"Foul Committed"},"foul_committed":{"penalty":true,"card":{"id":6,"name":"Second Yellow"}}}`,
			func(e statsbomb.Event) bool { return e.Red() && e.Penalty && e.Detail == nil }},
		{"card by name", `"type":"Bad Behaviour","bad_behaviour_card":"Red Card"}`, func(e statsbomb.Event) bool { return e.Red() }},
		{"card of another type", `"type":"Pass","foul_committed_card":"Red Card"}`, func(e statsbomb.Event) bool { return !e.Red() && e.Card == statsbomb.Ref{} }},
		{"receipt without its star", `"type":"Ball Receipt"}`,
			func(e statsbomb.Event) bool { return e.Type == statsbomb.Ref{ID: 42, Name: "Ball Receipt*"} }},
		{"camera on", `"type":"Camera On"}`, func(e statsbomb.Event) bool { return e.Type.ID == statsbomb.TypeCameraOn }},
		{"camera off", `"type":"Camera off"}`, func(e statsbomb.Event) bool { return e.Type.ID == statsbomb.TypeCameraOff }},
		{"unknown type by name", `"type":"Rain"}`, func(e statsbomb.Event) bool { return e.Type == statsbomb.Ref{Name: "Rain"} }},
		{"unknown members", `"type":{"id":30,"name":"Pass","x":[{}]},"obv":{"for":[1,{"a":null}]},"pass":{"xp":0.9}}`,
			func(e statsbomb.Event) bool { return e.Pass != nil }},
		{"formation without lineup", `"type":{"id":35,"name":"Starting XI"},"tactics":{"formation":442}}`,
			func(e statsbomb.Event) bool { return e.Tactics.Formation == 442 && e.Tactics.Lineup == nil }},
		{"goal of a shoot-out", `"type":"Shot","shot_outcome":"Goal","period":5}`, func(e statsbomb.Event) bool { return !e.Goal() }},
		{"escapes", `"type":"Pass","player":{"id":1,"name":"A\"\\\/\u00e9\ud83d\ude00\n"}}`,
			func(e statsbomb.Event) bool { return e.Player.Name == "A\"\\/é😀\n" }},
		{"long decimals", `"type":"Pass","duration":0.30000000000000004}`, func(e statsbomb.Event) bool { return e.Duration == 0.30000000000000004 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := statsbomb.DecodeEvent([]byte(head + tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if e.Timestamp != 1500*time.Millisecond || e.Team.ID != 3 {
				t.Errorf("timestamp %v of team %d, want 1.5s of team 3", e.Timestamp, e.Team.ID)
			}
			if !tt.want(e) {
				t.Errorf("got %+v", e)
			}
			again(t, e)
		})
	}
}

// again writes an event and reads it back.
func again(t *testing.T, e statsbomb.Event) {
	t.Helper()
	text, err := statsbomb.EncodeEvent(e)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatalf("not JSON: %s", text)
	}
	got, err := statsbomb.DecodeEvent(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if !reflect.DeepEqual(got, e) {
		t.Errorf("read again from %s:\ngot  %+v\nwant %+v", text, got, e)
	}
}

func TestDecodeMakesTimestamp(t *testing.T) {
	e, err := statsbomb.DecodeEvent([]byte(`{"type":"Pass","period":2,"minute":47,"second":5}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*time.Minute + 5*time.Second; e.Timestamp != want {
		t.Errorf("timestamp %v, want %v", e.Timestamp, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", ``, "want an object, found the end"},
		{"not an object", `[1]`, "want an object"},
		{"cut off", `{"type":"Pass","period":1,"shot":{"outcome":{"id":9`, "field shot.outcome.id: want , or }, found the end"},
		{"wrong kind", `{"type":"Pass","period":1,"shot":{"outcome":{"id":"x"}}}`, `field shot.outcome.id: want a number, found "\"x`},
		{"no type", `{"period":1,"match_id":12,"index":3}`, "of match 12 with index 3: field type: missing"},
		{"no period", `{"type":"Pass"}`, "field period: want 1 to 5, got 0"},
		{"period six", `{"type":"Pass","period":6}`, "field period: want 1 to 5, got 6"},
		{"fraction", `{"type":"Pass","period":1.5}`, "field period: want a whole number"},
		{"huge", `{"type":"Pass","period":1,"duration":1e999}`, "field duration: the number 1e999 is out of range"},
		{"large id", `{"type":"Pass","period":1,"team":{"id":3000000000}}`, "field team.id: the number"},
		{"timestamp", `{"type":"Pass","period":1,"timestamp":"3:04"}`, "field timestamp: want HH:MM:SS.mmm"},
		{"seconds", `{"type":"Pass","period":1,"timestamp":"00:00:61.000"}`, "field timestamp"},
		{"location", `{"type":"Pass","period":1,"location":[1]}`, "field location: want two or three coordinates, found one"},
		{"coordinates", `{"type":"Pass","period":1,"location":[1,2,3,4]}`, "field location: want two or three coordinates, found more"},
		{"coordinate that is none", `{"type":"Pass","period":1,"location":[NaN,40]}`, "field location: want a number, found nothing"},
		{"null for a coordinate", `{"type":"Pass","period":1,"pass":{"end_location":[60,null]}}`, "field pass.end_location: want a number"},
		{"off the pitch", `{"type":"Pass","period":1,"location":[500,40]}`, "field location: the place (500, 40) is off the pitch, which is 120 by 80 yards"},
		{"beside the pitch", `{"type":"Carry","period":1,"carry":{"end_location":[60,-30]}}`, "is off the pitch"},
		{"player off the pitch", `{"type":"Pass","period":1,"freeze_frame":[{"location":[60,200]}]}`, "field freeze_frame.location: the place (60, 200) is off the pitch"},
		{"area with a hole", `{"type":"Pass","period":1,"visible_area":[1,2,NaN]}`, "field visible_area: want a number"},
		{"player nowhere", `{"type":"Pass","period":1,"freeze_frame":[{"location":[]}]}`, "field freeze_frame.location"},
		{"leading zero", `{"type":"Pass","period":01}`, "field period"},
		{"trailing text", `{"type":"Pass","period":1} x`, "want the end"},
		{"bad escape", `{"type":"Pa\q","period":1}`, "unknown escape"},
		{"control character", "{\"type\":\"Pa\nss\",\"period\":1}", "control character"},
		{"deep", `{"x":` + strings.Repeat("[", 100_000), "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := statsbomb.DecodeEvent([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	e := shotEvent()
	e.Shot.XG = math.NaN()
	if text, err := statsbomb.EncodeEvent(e); err == nil || !strings.Contains(err.Error(), "statsbomb_xg") {
		t.Errorf("got %s, %v; want an error that names statsbomb_xg", text, err)
	}
	e = shotEvent()
	e.Timestamp = -1
	if _, err := statsbomb.EncodeEvent(e); err == nil {
		t.Error("a negative timestamp was written")
	}
}

func TestEncodeIsInverse(t *testing.T) {
	again(t, shotEvent())
	ref := func(id int) statsbomb.Ref { return statsbomb.Ref{ID: id, Name: "n"} }
	end := &statsbomb.Point{X: -.5, Y: 81, Z: 2}
	base := statsbomb.Event{Period: 3, Timestamp: 99*time.Hour + 123456789, Team: ref(1)}
	tests := []struct {
		name string
		edit func(e *statsbomb.Event)
	}{
		{"pass", func(e *statsbomb.Event) {
			e.Type, e.OffCamera, e.Out, e.CounterPress = ref(statsbomb.TypePass), true, true, true
			e.Pass = &statsbomb.Pass{Recipient: ref(2), Length: 3.25, Angle: -3.1, Height: ref(3), End: end, BodyPart: ref(40), Type: ref(61),
				Outcome: ref(9), Technique: ref(104), AssistedShot: "s", Cross: true, Switch: true, ShotAssist: true, GoalAssist: true,
				ThroughBall: true, Flags: statsbomb.FlagInswinging | statsbomb.FlagAerialWon}
		}},
		{"carry", func(e *statsbomb.Event) {
			e.Type, e.Carry = ref(statsbomb.TypeCarry), &statsbomb.Carry{End: end}
		}},
		{"keeper", func(e *statsbomb.Event) {
			e.Type = ref(statsbomb.TypeGoalKeeper)
			e.Detail = &statsbomb.Detail{Kind: ref(26), Outcome: ref(55), Position: ref(44), Technique: ref(45), BodyPart: ref(35), End: end,
				Flags: statsbomb.FlagPunchedOut | statsbomb.FlagSuccessOut}
		}},
		{"foul", func(e *statsbomb.Event) {
			e.Type, e.Card, e.Penalty = ref(statsbomb.TypeFoulCommitted), ref(statsbomb.CardRed), true
			e.Detail = &statsbomb.Detail{Kind: ref(24), Flags: statsbomb.FlagAdvantage}
		}},
		{"foul won", func(e *statsbomb.Event) {
			e.Type, e.Detail = ref(statsbomb.TypeFoulWon), &statsbomb.Detail{Flags: statsbomb.FlagPenalty | statsbomb.FlagDefensive}
		}},
		{"substitution", func(e *statsbomb.Event) {
			e.Type, e.Substitution = ref(statsbomb.TypeSubstitution), &statsbomb.Substitution{Replacement: ref(7), Outcome: ref(103)}
		}},
		{"tactics", func(e *statsbomb.Event) {
			e.Type = ref(statsbomb.TypeTacticalShift)
			e.Tactics = &statsbomb.Tactics{Formation: 433, Lineup: []statsbomb.TacticsPlayer{{Player: ref(9), Position: ref(1), Jersey: 99}}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := base
			tt.edit(&e)
			again(t, e)
		})
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(shotText))
	f.Add([]byte(flatText))
	f.Add([]byte(`{"type":{"id":22},"period":1,"foul_committed":{"card":{"id":5}},"location":[1e-7,-0]}`))
	f.Add([]byte(`{"type":"Goal Keeper","period":5,"goalkeeper_end_location":[1,2],"tactics":{"lineup":[{}]},"minute":-5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := statsbomb.DecodeEvent(text)
		if err != nil {
			return
		}
		plain := strings.TrimPrefix(strings.ReplaceAll(string(text), "NaN", "nil"), "\xef\xbb\xbf")
		if !strings.Contains(string(text), "NaN") && !json.Valid([]byte(plain)) {
			t.Fatalf("read what is not JSON: %q", text)
		}
		written, err := statsbomb.EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := statsbomb.DecodeEvent(written)
		if err != nil {
			t.Fatalf("%v in %s", err, written)
		}
		second, err := statsbomb.EncodeEvent(got)
		if err != nil || string(second) != string(written) {
			t.Fatalf("written again: %v\n%s\n%s", err, second, written)
		}
	})
}
