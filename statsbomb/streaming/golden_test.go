package streaming_test

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cancha/statsbomb/streaming"
	"cancha/stream"
)

// golden is what an engine before this one made of simulated matches, once: another decoder, other windows, written around football. It got the
// same records, to the byte, and for the scoring the model tally. Its queries are gone; what they gave stands here. The digests of windows.csv were made anew when
// a mean became the sum divided by the count: with the mean as it was before, in its last digits, they were the same until then.
//
// If the simulator has changed its matches, records says so. Then the rest says nothing any more, and is to be made anew with a commit whose
// engine these digests still hold for.
type golden struct {
	name        string
	records     string // SHA-256 of all values, partition by partition
	windows     string // SHA-256 of windows.csv
	rows        int
	minutes     string // bad, late and filtered records of the minute statistics
	predictions string // SHA-256 of predictions.csv
	scores      string // bad records and rows of the scoring, and the matches' last scores
	reasons     []string
}

func goldens() []golden {
	return []golden{
		{name: "whole", records: "61748caadcefdf2ca2aa8cea648ad13d6b93378d50b815ead7f18df2ac58bb37",
			windows: "0d626d75308f6df56e1809451481a0d7ab7b810991af786498e1de306983ade0", rows: 1528,
			minutes:     "bad 0, late 0, filtered 0",
			predictions: "79707994b219018375e47310f540fabfd34a314fb63403bc641ed9c1880d82c4",
			scores:      "bad 0, rows 28142, sources [{simulator 28142}], last [3:1 0:0 1:0 1:1 1:1 0:1 2:0 0:0]"},
		{name: "damaged", records: "843ac5d2d5f3cc74bcfd158538e899b3d0b73af66b5ddf524f3df339f69b381b",
			windows: "24b3fccfc187c2adf880d7a17699d4fd9657a5834412fc613f2487c96ed3aa9a", rows: 772,
			minutes:     "bad 698, late 0, filtered 0",
			predictions: "8a65470a98f8bc88b74db5e5756a12baf39ac4c60db9faeb463b117032d03e5d",
			scores:      "bad 837, rows 12701, sources [{simulator 12701}], last [3:1 1:0 0:0 1:0]",
			reasons: []string{
				"137 not JSON: unexpected end of JSON input",
				"139 no event_time: neither the envelope's metadata nor the event has one",
				"139 no home_team or away_team: the envelope's metadata must tell which team is at home",
				"139 no match_id",
				"139 not an event: want a JSON object",
				"140 not JSON: invalid character after object key:value pair",
				"4 not JSON: invalid character after decimal point in numeric literal",
			}},
	}
}

// TestAsTheEngineBefore compares windows.csv and predictions.csv with those of the engine before, to the last byte, and what is bad and why.
func TestAsTheEngineBefore(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the digests were made on amd64; elsewhere a compiler may join products and sums, and last digits differ")
	}
	for _, want := range goldens() {
		t.Run(want.name, func(t *testing.T) {
			all := goldenRecords(t, want.name)
			if got := digest(all); got != want.records {
				t.Fatalf("the simulated matches are others than those of the digests: got %s, want %s", got, want.records)
			}
			running := finish(t, streaming.MinuteStatistics(stream.Memory("events", all)))
			totals := running.Totals()
			if got := fmt.Sprintf("bad %d, late %d, filtered %d", totals.Bad, totals.Late, totals.Filtered); got != want.minutes || running.Results().Len() != want.rows {
				t.Errorf("minute statistics: got %d rows, %s, want %d, %s", running.Results().Len(), got, want.rows, want.minutes)
			}
			if got := hash(windowsCSV(t, running)); got != want.windows {
				t.Errorf("windows.csv: got %s, want %s", got, want.windows)
			}
			board, scoring := scored(t, stream.Memory("events", all))
			if got := scores(board, scoring); got != want.scores {
				t.Errorf("scoring: got %s, want %s", got, want.scores)
			}
			if got := hash(predictionsCSV(t, board)); got != want.predictions {
				t.Errorf("predictions.csv: got %s, want %s", got, want.predictions)
			}
			if got := reasonsOf(scoring); !slices.Equal(got, want.reasons) {
				t.Errorf("reasons: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want.reasons, "\n"))
			}
		})
	}
}

// goldenRecords makes the records of a golden: so many matches in so many partitions, as they are or damaged.
func goldenRecords(t *testing.T, name string) [][]stream.Record {
	if name == "damaged" {
		return damaged(simulated(t, 4, 3))
	}
	return simulated(t, 8, 2)
}

func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func digest(partitions [][]stream.Record) string {
	h := sha256.New()
	for _, records := range partitions {
		for _, r := range records {
			h.Write(r.Value)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// scores sums up a scoring.
func scores(board *streaming.Board, running *stream.Running) string {
	totals := running.Totals()
	var last []string
	for _, p := range board.Latest().List {
		last = append(last, p.Score())
	}
	return fmt.Sprintf("bad %d, rows %d, sources %v, last %v", totals.Bad, totals.Rows, board.Sources(), last)
}

// reasonsOf are how often records were bad for which reason, without the numbers of matches and events in it, in order.
func reasonsOf(running *stream.Running) []string {
	counts := map[string]int64{}
	for _, r := range running.BadRecords().Reasons {
		kind := r.Reason
		if before, after, found := strings.Cut(kind, " of match "); found {
			_, after, _ = strings.Cut(after, ": ")
			kind = before + ": " + after
		}
		kind, _, _ = strings.Cut(kind, ", found ")
		counts[kind] += r.Count
	}
	var list []string
	for kind, n := range counts {
		list = append(list, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(list)
	return list
}
