package eval_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/cell"
)

// TestCompleteInStrings: what strings may hold is read from the session's live values and from its working directory.
func TestCompleteInStrings(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("data/2024", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("day.csv", []byte("Player,Minute\nAna,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	n := newNotebook(t)
	for _, code := range []string{
		"import \"cancha/runtime/table\"\nshots, err := table.ReadCSV(\"day.csv\")",
		"teams := map[string]int{\"Boca\": 1, \"River\": 2}\ntype Club struct{ Goals map[string]float64 }\nclub := &Club{map[string]float64{\"home\": 2}}",
	} {
		if r := n.run(code); r.Err != nil {
			t.Fatal(r.Err.Traceback)
		}
	}
	for code, want := range map[string][]string{
		`os.Open("da‸")`:                      {"data/", "day.csv"},
		"os.ReadDir(`data/‸`)":                {"data/2024/"},
		"%time os.Open(\"da‸\")":              {"data/", "day.csv"},
		"!cat da‸":                            {"data/", "day.csv"},
		"%cd da‸":                             {"data/"},
		`shots.Sort("M‸", true)`:              {"Minute"},
		"%timeit shots.Sort(\"M‸\", true)":    {"Minute"},
		"éé := 1\nshots.Head(1).Sort(\"M‸\")": {"Minute"},
		`teams["‸"]`:                          {"Boca", "River"},
		`club.Goals["‸"]`:                     {"home"},
		`os.Open("~/‸")`:                      nil,
	} {
		before, after, _ := strings.Cut(code, "‸")
		var got []string
		for _, m := range n.program.Complete(cell.Question{Code: before + after, Cursor: len([]rune(before))}).Matches {
			got = append(got, m.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: offered %q, want %q", code, got, want)
		}
	}
}
