package statsbomb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cancha/statsbomb"
	"cancha/statsbomb/simulate"
)

func ExampleWithResults() {
	more, err := statsbomb.ReadResults(strings.NewReader("match_id,match_date,home_team_id,away_team_id,home_score,away_score\n77,2019-05-01,1,2,3,1\n"))
	if err != nil {
		panic(err)
	}
	season := simulate.New(simulate.Config{Seed: 1, Matches: 4, Teams: 4})
	archive := statsbomb.WithResults(season, more)
	fmt.Println(len(season.Matches()), len(archive.Matches()))
	_, err = archive.Events(77)
	fmt.Println(errors.Is(err, statsbomb.ErrNoEvents))
	// Output:
	// 4 5
	// true
}

// TestWithResults: the archive's own word stands, the list stays in order of date, and events come from the archive.
func TestWithResults(t *testing.T) {
	season := simulate.New(simulate.Config{Seed: 1, Matches: 4, Teams: 4})
	own := season.Matches()[1]
	twin := own
	twin.HomeScore += 7
	archive := statsbomb.WithResults(season, []statsbomb.Match{{ID: 5, Date: "1990-01-01"}, twin, {ID: 5, Date: "1991-01-01"}})
	all := archive.Matches()
	if len(all) != 5 || all[0].ID != 5 || all[0].Date != "1990-01-01" || all[2].ID != own.ID || all[2].HomeScore != own.HomeScore {
		t.Errorf("got %+v", all)
	}
	if events, err := archive.Events(own.ID); err != nil || len(events) == 0 {
		t.Errorf("got %d events of the archive's own match, %v", len(events), err)
	}
	if archive.Source() != season.Source() {
		t.Errorf("got source %q", archive.Source())
	}
}

func TestReadResults(t *testing.T) {
	got, err := statsbomb.ReadResults(strings.NewReader("match_date,match_id,home_team_id,home_team_name,away_team_id,home_score,away_score,neutral,referee_name\n" +
		"2020-02-03,7,11,Home,22,2,1,1,Somebody\n2020-02-04,8,11,Home,22,,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	first, second := got[0], got[1]
	if first.ID != 7 || first.Date != "2020-02-03" || first.Home != (statsbomb.Ref{ID: 11, Name: "Home"}) || first.Away.ID != 22 ||
		first.HomeScore != 2 || first.AwayScore != 1 || !first.Neutral || first.NoScore || !second.NoScore || second.Neutral {
		t.Errorf("got %+v", got)
	}
	for name, table := range map[string]string{
		"line 2: home_score is": "match_id,match_date,home_team_id,away_team_id,home_score,away_score\n1,2020-01-01,1,2,three,1\n",
		"no column":             "match_id,match_date\n1,2020-01-01\n",
		"wrong number":          "match_id,match_date,home_team_id,away_team_id,home_score,away_score\n1,2\n",
		"first line":            "",
	} {
		if _, err := statsbomb.ReadResults(strings.NewReader(table)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
