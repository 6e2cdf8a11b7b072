package streaming_test

import (
	"fmt"
	"testing"
	"time"

	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// goal makes a record of an own goal for the home side of a match.
func goal(match, second int, source string) stream.Record {
	at := time.Date(2026, 3, 1, 15, 0, second, 0, time.UTC).Format(timeForm)
	return stream.Record{Value: fmt.Appendf(nil, `{"event":{"match_id":%d,"index":%d,"period":1,"timestamp":"00:00:01.000","type":{"id":25,"name":"Own Goal For"},`+
		`"team":{"id":7,"name":"A"}},"metadata":{"event_time":%q,"source":%q,"home_team":{"id":7,"name":"A"},"away_team":{"id":8,"name":"B"}}}`,
		match, second, at, source)}
}

// TestABoardForgetsSilentMatches: a board knows so many matches and no more; which ones does not depend on how the stream is cut into calls.
func TestABoardForgetsSilentMatches(t *testing.T) {
	var records []stream.Record
	for second, match := range []int{1, 2, 3, 4, 1, 2, 5, 3, 1, 2, 4, 6, 7} { // 5 makes 3 be forgotten, 3 then 4, 4 then 5, 6 then 3, and 7 then 1
		records = append(records, goal(match, second, "api"))
	}
	for _, batch := range []int{1, 3, 100} {
		board := newBoard(t, newTally(), 0)
		board.SetMatches(4)
		finish(t, streaming.Score(stream.Memory("events", [][]stream.Record{records}).BatchSize(batch), board))
		var got []string
		for _, p := range board.Latest().List {
			got = append(got, fmt.Sprintf("%d %s at %d", p.MatchID, p.Score(), p.Index))
		}
		want := []string{"2 3:0 at 9", "4 1:0 at 10", "6 1:0 at 11", "7 1:0 at 12"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("batches of %d: got %q, want %q", batch, got, want)
		}
		if total := board.Latest().Total; total != 9 {
			t.Errorf("batches of %d: got %d matches in all, want 9: those that were forgotten and came again count anew", batch, total)
		}
	}
}

// TestABoardCountsSoManySources: what foreign records call their source does not fill memory.
func TestABoardCountsSoManySources(t *testing.T) {
	var records []stream.Record
	for i := range 300 {
		records = append(records, goal(1, i, fmt.Sprintf("source %d", i%150)))
	}
	board, _ := scored(t, stream.Memory("events", [][]stream.Record{records}))
	counts := board.Sources()
	if len(counts) != 101 || counts[0] != (streaming.SourceCount{Source: "other", Records: 100}) || counts[1].Records != 2 {
		t.Errorf("got %d sources, %v", len(counts), counts[:2])
	}
}
