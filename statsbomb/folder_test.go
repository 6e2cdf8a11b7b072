package statsbomb_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cancha/statsbomb"
)

const (
	matchesText = `[
{"match_id":20,"match_date":"2020-09-02","kick_off":null,"competition":{"competition_id":7,"country_name":"Nowhere","competition_name":"League"},
 "season":{"season_id":3,"season_name":"2020/2021"},"home_team":{"home_team_id":1,"home_team_name":"Alba"},
 "away_team":{"away_team_id":2,"away_team_name":"Béla","managers":[{"id":5,"name":"M","nickname":null}]},"home_score":1,"away_score":0,
 "match_status":"available","match_status_360":"available","match_week":2,"competition_stage":{"id":1,"name":"Regular Season"}},
{"match_id":10,"match_date":"2020-09-01","kick_off":"18:00:00.000","competition":{"competition_id":7,"country_name":"Nowhere","competition_name":"League"},
 "season":{"season_id":3,"season_name":"2020/2021"},"home_team":{"home_team_id":2,"home_team_name":"Béla"},
 "away_team":{"away_team_id":1,"away_team_name":"Alba"},"home_score":null,"away_score":null,"match_status":"available","match_status_360":null}]`
	olderText = `[{"match_id":5,"match_date":"2019-09-01","competition":{"competition_id":7},"season":{"season_id":90,"season_name":"2019/2020"},
 "home_team":{"home_team_id":1},"away_team":{"away_team_id":2}}]`
	eventsText = `[{"id":"u2","index":2,"period":1,"timestamp":"00:00:02.000","type":{"id":30,"name":"Pass"},"team":{"id":1}},
 {"id":"u1","index":1,"period":1,"timestamp":"00:00:01.000","type":{"id":35,"name":"Starting XI"},"team":{"id":1}},
 {"id":"u3","index":3,"period":2,"timestamp":"00:00:01.000","type":{"id":16,"name":"Shot"},"team":{"id":1},"shot":{"outcome":{"id":97,"name":"Goal"}}}]`
	framesText = `[{"event_uuid":"u2","visible_area":[],"freeze_frame":[{"teammate":true,"actor":true,"keeper":false,"location":[1.5,2.5]}]},
 {"event_uuid":"other","visible_area":[1,2],"freeze_frame":[]}]`
	lineupsText = `[{"team_id":1,"team_name":"Alba","lineup":[{"player_id":9,"player_name":"N","player_nickname":null,"jersey_number":4,
 "country":{"id":1,"name":"X"},"cards":[{"time":"10:00","card_type":"Yellow Card","reason":"Foul Committed","period":1}],
 "positions":[{"position_id":3,"position":"Right Center Back","from":"00:00","to":null,"from_period":1,"to_period":null,"start_reason":"Starting XI","end_reason":"Final Whistle"}]}]}]`
)

func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			text = string(pack(t, text))
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func smallFolder(t *testing.T) *statsbomb.Folder {
	t.Helper()
	f, err := statsbomb.OpenFolder(writeFolder(t, map[string]string{
		"matches/7/3.json": matchesText, "matches/7/90.json.gz": olderText,
		"events/20.json.gz": eventsText, "three-sixty/20.json": framesText, "lineups/20.json": lineupsText,
		"events/5.json": "[]",
	}))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func ids(matches []statsbomb.Match) []int64 {
	var out []int64
	for _, m := range matches {
		out = append(out, m.ID)
	}
	return out
}

func TestFolderLists(t *testing.T) {
	f := smallFolder(t)
	if got, want := ids(f.Matches()), []int64{5, 10, 20}; !reflect.DeepEqual(got, want) {
		t.Errorf("matches %v, want %v by date", got, want)
	}
	if got, want := f.Seasons(7), []statsbomb.Ref{{ID: 3, Name: "2020/2021"}, {ID: 90, Name: "2019/2020"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("seasons %v, want %v", got, want)
	}
	m, ok := f.Match(20)
	if !ok || m.KickOff != "" || m.Away.Name != "Béla" || m.HomeScore != 1 || m.Week != 2 || len(m.Managers[1]) != 1 || m.Neutral {
		t.Errorf("match 20 is %+v", m)
	}
	if f.Source() != "open-data" {
		t.Errorf("source %q", f.Source())
	}
}

// TestFolderTellsItsSource: a folder says where its matches come from, and one that says nothing we know holds open data.
func TestFolderTellsItsSource(t *testing.T) {
	for mark, want := range map[string]string{"api\n": "api", "simulator": "simulator", "open-data\n": "open-data", "elsewhere": "open-data", "": "open-data"} {
		dir := writeFolder(t, map[string]string{"matches/7/3.json": matchesText, statsbomb.SourceFile: mark})
		f, err := statsbomb.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if f.Source() != want {
			t.Errorf("marked %q: source %q, want %q", mark, f.Source(), want)
		}
	}
}

// TestFolderFollowsLinks links the folder of matches, a folder in it, and one that leads back.
func TestFolderFollowsLinks(t *testing.T) {
	elsewhere := writeFolder(t, map[string]string{"m/7/3.json": matchesText, "older/90.json": olderText})
	dir := t.TempDir()
	for link, to := range map[string]string{
		filepath.Join(dir, "matches"):             filepath.Join(elsewhere, "m"),
		filepath.Join(elsewhere, "m", "8"):        filepath.Join(elsewhere, "older"),
		filepath.Join(elsewhere, "older", "back"): filepath.Join(elsewhere, "m"),
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	f, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(f.Matches()); got != 3 {
		t.Errorf("got %d matches behind links, want 3", got)
	}
	if err := os.Symlink(filepath.Join(dir, "none"), filepath.Join(elsewhere, "m", "9")); err != nil {
		t.Fatal(err)
	}
	if _, err := statsbomb.OpenFolder(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "matches", "9")) {
		t.Errorf("a link to nothing: got %v, want its name", err)
	}
}

func TestFolderEvents(t *testing.T) {
	f := smallFolder(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			events, err := f.Events(20)
			if err != nil {
				t.Error(err)
				return
			}
			if len(events) != 3 || events[0].ID != "u1" || events[1].ID != "u2" || events[2].MatchID != 20 {
				t.Errorf("events %+v", events)
			}
			if len(events[1].FreezeFrame) != 1 || events[0].FreezeFrame != nil {
				t.Error("the frame is not with event u2 alone")
			}
		})
	}
	group.Wait()
	for _, id := range []int64{10, 5} {
		if _, err := f.Events(id); !errors.Is(err, statsbomb.ErrNoEvents) {
			t.Errorf("events of match %d: %v, want ErrNoEvents", id, err)
		}
	}
	if _, err := f.Events(99); err == nil || errors.Is(err, statsbomb.ErrNoEvents) {
		t.Errorf("events of a match that is not listed: %v", err)
	}
}

func TestFolderLineups(t *testing.T) {
	f := smallFolder(t)
	lineups, err := f.Lineups(20)
	if err != nil {
		t.Fatal(err)
	}
	p := lineups[0].Players[0]
	if p.Player.ID != 9 || p.Nickname != "" || p.Cards[0].Card != "Yellow Card" || p.Positions[0].To != "" {
		t.Errorf("player %+v", p)
	}
	text, err := statsbomb.EncodeLineups(lineups)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := statsbomb.DecodeLineups(text); err != nil || !reflect.DeepEqual(got, lineups) {
		t.Errorf("read again: %+v, %v", got, err)
	}
	if _, err := f.Lineups(10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lineups of match 10: %v, want fs.ErrNotExist", err)
	}
}

func TestMatchesReadAgain(t *testing.T) {
	list, err := statsbomb.DecodeMatches([]byte(matchesText))
	if err != nil {
		t.Fatal(err)
	}
	text, err := statsbomb.EncodeMatches(list)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := statsbomb.DecodeMatches(text); err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("read again: %+v, %v\nwant %+v", got, err, list)
	}
}

func TestNeutral(t *testing.T) {
	const text = `[{"match_id":1,"competition":{"competition_id":43,"country_name":"International"},"season":{"season_id":1},
"home_team":{"home_team_id":1,"country":{"id":11,"name":"A"}},"away_team":{"away_team_id":2},"stadium":{"id":1,"name":"S","country":{"id":COUNTRY,"name":"?"}}}]`
	for country, want := range map[string]bool{"11": false, "12": true} {
		list, err := statsbomb.DecodeMatches([]byte(strings.ReplaceAll(text, "COUNTRY", country)))
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Neutral != want {
			t.Errorf("stadium in country %s: neutral %v, want %v", country, list[0].Neutral, want)
		}
	}
}

func TestFolderErrors(t *testing.T) {
	cut := string(pack(t, eventsText))
	cut = cut[:len(cut)-20]
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no matches", map[string]string{"events/1.json": "[]"}, "no folder \"matches\""},
		{"broken list", map[string]string{"matches/7/3.json": `[{"match_id":1`}, filepath.Join("7", "3.json") + ": decode matches"},
		{"wrong kind", map[string]string{"matches/7/3.json": `[{"match_id":"x"}]`}, "match_id: want int64"},
		{"no team", map[string]string{"matches/7/3.json": `[{"match_id":1}]`}, "home_team_id"},
		{"twice", map[string]string{"matches/7/90.json": olderText, "matches/8/90.json": olderText}, "match 5 is listed twice"},
		{"broken competitions", map[string]string{"matches/7/3.json": "[]", "competitions.json": "{"}, "competitions.json"},
		{"broken events", map[string]string{"matches/7/90.json": olderText, "events/5.json": `[{"period":1}]`},
			filepath.Join("events", "5.json") + ": decode event 1 of the file: field type: missing"},
		{"not gzip", map[string]string{"matches/7/90.json": olderText, "events/5.json.gz.txt": ""}, "no events"},
		{"truncated gzip", map[string]string{"matches/7/90.json": olderText, "events/5.json.gz": "CUT"}, "unpack"},
		{"broken frames", map[string]string{"matches/7/90.json": olderText, "events/5.json": eventsText, "three-sixty/5.json": `[{}]`}, "event_uuid: missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeFolder(t, tt.files)
			if tt.files["events/5.json.gz"] == "CUT" {
				if err := os.WriteFile(filepath.Join(dir, "events", "5.json.gz"), []byte(cut), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			f, err := statsbomb.OpenFolder(dir)
			if err == nil {
				_, err = f.Events(5)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// TestFolderRefusesAHugeFile has a file of a gigabyte that takes no room.
func TestFolderRefusesAHugeFile(t *testing.T) {
	dir := writeFolder(t, map[string]string{"matches/7/3.json": matchesText})
	if err := os.Truncate(filepath.Join(dir, "matches", "7", "3.json"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := statsbomb.OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "3.json holds more than") {
		t.Errorf("got %v", err)
	}
}

func TestFilter(t *testing.T) {
	f := smallFolder(t)
	tests := []struct {
		name   string
		filter statsbomb.Filter
		want   []int64
	}{
		{"all", statsbomb.Filter{}, []int64{5, 10, 20}},
		{"competition", statsbomb.Filter{Competition: 8}, nil},
		{"season", statsbomb.Filter{Competition: 7, Seasons: []int{90}}, []int64{5}},
		{"last season", statsbomb.Filter{Last: 1}, []int64{10, 20}},
		{"last two", statsbomb.Filter{Last: 2}, []int64{5, 10, 20}},
		{"dates", statsbomb.Filter{From: "2020-01-01", To: "2020-09-01"}, []int64{10}},
		{"frames", statsbomb.Filter{Frames: true}, []int64{20}},
		{"team", statsbomb.Filter{Team: 3}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			part := statsbomb.Where(f, tt.filter)
			if got := ids(part.Matches()); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	part := statsbomb.Where(f, statsbomb.Filter{Seasons: []int{90}})
	if _, err := part.Events(20); err == nil {
		t.Error("a subset gave events of a match that it does not list")
	}
}
