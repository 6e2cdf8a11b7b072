package streaming_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cancha/statsbomb"
	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// Parts of records that are right.
const (
	anEvent = `"id":"a","index":3,"period":1,"timestamp":"00:00:01.000","type":{"id":30,"name":"Pass"},"team":{"id":7,"name":"A"},"match_id":5`
	aRow    = `"match_id":5,"index":3,"period":1,"minute":0,"second":1,"type":"Pass","team":"A","team_id":7,"location":[0,0],"pass_end_location":[3,4]`
	teams   = `"home_team":{"id":7,"name":"A"},"away_team":{"id":8,"name":"B"}`
	aTime   = `"event_time":"2026-03-01T15:00:01.000Z"`
	noTeams = "no home_team or away_team: the envelope's metadata must tell which team is at home"
	noTime  = "no event_time: neither the envelope's metadata nor the event has one"
)

// record makes a record of an event and metadata.
func record(event, metadata string) string {
	return fmt.Sprintf(`{"event":{%s},"metadata":{%s}}`, event, metadata)
}

// TestForms: which forms of records are scored, and what is said of those that are not. All have been so with the engine before this one, save
// that of several members "metadata" the last counts even where it is no object, and that the queries of this one begin at 1680.
func TestForms(t *testing.T) {
	for _, test := range []struct{ name, record, want string }{
		{"the envelope", record(anEvent, teams+","+aTime), ""},
		{"white space", " { \"event\" : { " + anEvent + " } ,\n\"metadata\" :\t{ " + teams + " , " + aTime + " } } \r", ""},
		{"names with escapes", `{"\u0065vent":{` + anEvent + `},"metadata":{` + teams + `,"event\u005ftime":"2026-03-01T15:00:01.000Z"}}`, ""},
		{"another order", `{"metadata":{` + aTime + `,` + teams + `},"event":{` + anEvent + `}}`, ""},
		{"unknown members", `{"x":[{}],"event":{` + anEvent + `,"y":{"z":1}},"metadata":{"w":NaN,` + teams + `,` + aTime + `}}`, ""},
		{"the event's own time", record(anEvent+","+aTime, teams), ""},
		{"a time with a zone", record(anEvent, teams+`,"event_time":"2026-03-01T16:00:01+01:00"`), ""},
		{"bare, with metadata", `{` + anEvent + `,"metadata":{` + teams + `,` + aTime + `}}`, ""},
		{"bare, with teams", `{` + anEvent + `,` + aTime + `,"metadata":{` + teams + `}}`, ""},
		{"bare", `{` + anEvent + `,` + aTime + `}`, noTeams},
		{"bare, without a time", `{` + anEvent + `,"metadata":{` + teams + `}}`, noTime},
		{"bare, teams outside of metadata", `{` + anEvent + `,` + aTime + `,` + teams + `}`, noTeams},
		{"a flattened row, with teams", `{` + aRow + `,` + aTime + `,"metadata":{` + teams + `}}`, ""},
		{"a flattened row", `{` + aRow + `,` + aTime + `}`, noTeams},
		{"a flattened row in the envelope", record(aRow, teams+","+aTime), ""},
		{"no time", record(anEvent, teams), noTime},
		{"no time, null", record(anEvent, teams+`,"event_time":null`), noTime},
		{"a time beside the event", `{"event":{` + anEvent + `},` + aTime + `,"metadata":{` + teams + `}}`, noTime},
		{"a word for a time", record(anEvent+","+aTime, teams+`,"event_time":"yesterday"`), "metadata.event_time: want an RFC 3339 time, got another text"},
		{"a number for a time", record(anEvent, teams+`,"event_time":17`), "metadata.event_time: want an RFC 3339 time, got another number"},
		{"no such day", record(anEvent, teams+`,"event_time":"2026-02-30T15:00:01.000Z"`), "metadata.event_time: want an RFC 3339 time, got another text"},
		{"a number for the event's own time", record(anEvent+`,"event_time":{}`, teams+","+aTime), "event_time: want an RFC 3339 time, got an object"},
		{"a time of long ago", record(anEvent, teams+`,"event_time":"1678-01-01T00:00:00Z"`), "event time is outside the years 1680 to 2260"},
		{"a word for when it was sent", record(anEvent, teams+","+aTime+`,"producer_timestamp":"soon"`), "metadata.producer_timestamp: want an RFC 3339 time, got another text"},
		{"no metadata", `{"event":{` + anEvent + `}}`, noTeams},
		{"metadata null", `{"event":{` + anEvent + `},"metadata":null}`, noTeams},
		{"metadata a number", `{"event":{` + anEvent + `},"metadata":7}`, "metadata.event_time: want an RFC 3339 time, got another number"},
		{"metadata twice", `{"event":{` + anEvent + `},"metadata":{` + teams + `,` + aTime + `},"metadata":{"source":"x"}}`, noTeams},
		{"metadata twice, then null", `{"event":{` + anEvent + `},"metadata":{` + teams + `,` + aTime + `},"metadata":null}`, noTeams},
		{"metadata twice, then a number", `{"event":{` + anEvent + `},"metadata":{` + teams + `,` + aTime + `},"metadata":7}`, "metadata.event_time: want an RFC 3339 time, got another number"},
		{"the event twice", `{"event":{"x":1},"event":{` + anEvent + `},"metadata":{` + teams + `,` + aTime + `}}`, ""},
		{"the event twice, then wrong", `{"event":{` + anEvent + `},"event":{"x":1},"metadata":{` + teams + `,` + aTime + `}}`, "decode event: field type: missing"},
		{"no event", `{"metadata":{` + teams + `,` + aTime + `}}`, "decode event: field type: missing"},
		{"event null", `{"event":null,"metadata":{` + teams + `,` + aTime + `}}`, "decode event: field type: missing"},
		{"event a number", `{"event":7,"metadata":{` + teams + `,` + aTime + `}}`, "event_time: want an RFC 3339 time, got another number"},
		{"no match", record(strings.Replace(anEvent, `"match_id":5`, `"match_id":0`, 1), teams+","+aTime), "no match_id"},
		{"a period too many", record(`"period":9,"type":30,"match_id":5`, teams+","+aTime), "decode event of match 5: field period: want 1 to 5, got 9"},
		{"a timestamp that is a number", record(`"match_id":5,"period":1,"timestamp":7,"type":30`, teams+","+aTime), `decode event of match 5: field timestamp: want a string, found "7,\"type\":30}" at byte 37`},
		{"a home team without an id", record(anEvent, `"home_team":{"name":"A"},"away_team":{"id":8},`+aTime), noTeams},
		{"a home team by its name", record(anEvent, `"home_team":"A","away_team":{"id":8},`+aTime), "metadata.home_team.id: want an integer or a text, got another text"},
		{"an id that is a text", record(anEvent, `"home_team":{"id":"7"},"away_team":{"id":8},`+aTime), noTeams},
		{"an id that is a fraction", record(anEvent, `"home_team":{"id":7},"away_team":{"id":8.5},`+aTime), "metadata.away_team.id: want an integer or a text, got another number"},
		{"a name that is an array", record(anEvent, `"home_team":{"id":7,"name":[1]},"away_team":{"id":8},`+aTime), "metadata.home_team.name: want an integer or a text, got an array"},
		{"a source that is an object", record(anEvent, teams+","+aTime+`,"source":{}`), "metadata.source: want an integer or a text, got an object"},
		{"a mark before the event", "{\"event\":\xef\xbb\xbf{" + anEvent + `},"metadata":{` + teams + `,` + aTime + `}}`, "not JSON: invalid character 'ï' looking for beginning of value at byte 10"},
		{"an array", `[1]`, "not an event: want a JSON object"},
		{"null", `null`, "not an event: want a JSON object"},
		{"nothing", ``, "not JSON: the record has no value"},
		{"half", record(anEvent, teams)[:60], "not JSON: unexpected end of JSON input at byte 60"},
		{"a comma too many", record(anEvent, teams+","+aTime+","), "not JSON: invalid character '}' looking for beginning of object key string"},
		{"more behind it", record(anEvent, teams+","+aTime) + " x", "not JSON: invalid character 'x' after top-level value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			board, running := scored(t, stream.Memory("t", [][]stream.Record{{{Value: []byte(test.record)}}}))
			reason := ""
			if bad := running.BadRecords(); bad.Total > 0 {
				reason = bad.Newest[0].Reason
			}
			if reason != test.want && (test.want == "" || !strings.HasPrefix(reason, test.want+" at byte ")) {
				t.Fatalf("got %q, want %q", reason, test.want)
			}
			if got := board.Predictions(); (got.Len() == 1) != (test.want == "") {
				t.Errorf("got %d predictions", got.Len())
			}
			for _, p := range board.Predictions().List {
				checkScored(t, p)
			}
		})
	}
}

func checkScored(t *testing.T, p streaming.Prediction) {
	t.Helper()
	if p.MatchID != 5 || p.Index != 3 || p.Type.ID != statsbomb.TypePass || p.Team.ID != 7 || p.HomeTeam != (statsbomb.Ref{ID: 7, Name: "A"}) ||
		p.AwayTeam != (statsbomb.Ref{ID: 8, Name: "B"}) || p.EventTime.Format(timeForm) != "2026-03-01T15:00:01.000Z" || p.Timestamp.Seconds() != 1 {
		t.Errorf("got %+v", p)
	}
}

// TestMinuteStatisticsOfForms: the statistics of bare events and of flattened rows are those of the envelope.
func TestMinuteStatisticsOfForms(t *testing.T) {
	pass := anEvent + `,"location":[0,0],"pass":{"end_location":[3,4]},"possession_team":{"id":7,"name":"A"}`
	row := aRow + `,"possession_team":"A","possession_team_id":7`
	want := ""
	for _, text := range []string{record(pass, aTime), record(pass+","+aTime, ""), `{` + pass + `,` + aTime + `}`, record(row, aTime), `{` + row + `,` + aTime + `}`} {
		running := finish(t, streaming.MinuteStatistics(stream.Memory("rows", [][]stream.Record{{{Value: []byte(text)}}})))
		got := running.Results()
		if got.Len() != 1 || got.Row(0).Int("passes") != 1 || got.Row(0).Float("pass_length_mean") != 5 || got.Row(0).Int("team_id") != 7 ||
			got.Row(0).Float("possession") != 1 {
			t.Fatalf("%s: got %d rows, bad %+v", text, got.Len(), running.BadRecords())
		}
		if csv := windowsCSV(t, running); want == "" {
			want = csv
		} else if csv != want {
			t.Errorf("%s: got\n%s\nwant\n%s", text, csv, want)
		}
	}
}

// TestIDs: what is no id makes a record bad, and no group of its own.
func TestIDs(t *testing.T) {
	for value, want := range map[string]string{`{"id":1}`: "an object", `[1]`: "an array", `true`: "true or false", `1.5`: "another number", `1e400`: "another number",
		`1e30`: "another number", `5`: "", `"five"`: ""} {
		for path, event := range map[string]string{"match_id": `"match_id":%s,"team":{"id":7}`, "team.id": `"match_id":5,"team":{"id":%s}`,
			"possession_team.id": `"match_id":5,"team":{"id":7},"possession_team":{"id":%s}`} {
			text := record(`"period":1,`+fmt.Sprintf(event, value), aTime)
			running := finish(t, streaming.MinuteStatistics(stream.Memory("ids", [][]stream.Record{{{Value: []byte(text)}}})))
			bad := running.BadRecords()
			if want == "" {
				if bad.Total != 0 || running.Results().Len() != 1 {
					t.Errorf("%s %s: got %+v", path, value, bad.Reasons)
				}
				continue
			}
			if wanted := path + ": want an integer or a text, got " + want; bad.Total != 1 || bad.Newest[0].Reason != wanted || running.Results().Len() != 0 {
				t.Errorf("%s %s: got %+v, want %q", path, value, bad.Reasons, wanted)
			}
		}
	}
}

// TestTypeIs: flattened rows have the type's name, receipts with a star or without.
func TestTypeIs(t *testing.T) {
	for text, want := range map[string]int64{`{"type":{"id":42,"name":"Ball Receipt*"}}`: 1, `{"type":"Ball Receipt*"}`: 1, `{"type":"Ball Receipt"}`: 1, `{"type":"Shot"}`: 1,
		`{"type":"Pass"}`: 0, `{"type":{"id":30}}`: 0} {
		text = strings.Replace(text, `{"type"`, `{`+aTime+`,"match_id":5,"type"`, 1)
		q := streaming.Events(stream.Memory("t", [][]stream.Record{{{Value: []byte(text)}}})).GroupBy("match_id").Window(stream.Tumbling(60e9)).
			Agg(stream.CountIf("n", streaming.TypeIs(statsbomb.TypeBallReceipt, statsbomb.TypeShot)))
		if rows := finish(t, q).Results(); rows.Len() != 1 || rows.Row(0).Int("n") != want {
			t.Errorf("%s: got %d rows, want one with %d", text, rows.Len(), want)
		}
	}
}

// FuzzRecord: what is scored is JSON, save for the word NaN, and nothing makes the reader fall over.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(record(anEvent, teams+","+aTime)))
	f.Add([]byte(`{` + aRow + `,` + aTime + `,"metadata":{` + teams + `}}`))
	f.Add([]byte(`{"event":{"period":1,"type":"Shot","shot":{"end_location":[1,2,3],"freeze_frame":[{}]}},"metadata":7}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := streaming.NewReader()
		reason := read(text)
		if again := read(text); again != reason {
			t.Fatalf("got %q, then %q", reason, again)
		}
		if reason == "" && !json.Valid([]byte(strings.ReplaceAll(string(text), "NaN", "nil"))) && !json.Valid([]byte(strings.ReplaceAll(string(text), "NaN", "0"))) {
			t.Fatal("this is no JSON")
		}
	})
}
