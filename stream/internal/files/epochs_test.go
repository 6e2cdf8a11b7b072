package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// in makes a folder of files and returns what writes it.
func in(t *testing.T, names ...string) *Epochs {
	t.Helper()
	e := &Epochs{Dir: t.TempDir(), Suffix: ".csv"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(e.Dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// visible are the files of a folder that are not hidden.
func visible(t *testing.T, e *Epochs) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// TestOpen goes on from snapshots with folders of several contents: those of versions that named no runs among them.
func TestOpen(t *testing.T) {
	const (
		old4, old6, old9    = "aaaaaaaa-query-000000000004.csv", "aaaaaaaa-query-000000000006.csv", "aaaaaaaa-query-000000000009.csv"
		new4, new6, new9    = "aaaaaaaa-query-000000000004-11111111.csv", "aaaaaaaa-query-000000000006-11111111.csv", "aaaaaaaa-query-000000000009-11111111.csv"
		fork7               = "aaaaaaaa-query-000000000007-22222222.csv"
		foreign             = "bbbbbbbb-query-000000000003-33333333.csv"
		runs                = ".aaaaaaaa-query-csv.runs"
		straight, from4, to = "11111111:*", "11111111:4 22222222:*", "11111111:6 99999999:*"
	)
	at := func(run string, epoch, wrote, snapshot int64) State {
		s := State{Run: "99999999", Query: "aaaaaaaa", Unit: "query", Known: epoch > 0, Epoch: epoch, Snapshot: ID{run, snapshot}}
		if run != "" && wrote > 0 {
			s.Wrote = ID{run, wrote}
		}
		return s
	}
	for name, c := range map[string]struct {
		there   []string
		runs    string // "": none
		state   State
		last    int64
		kept    []string
		path    string
		refused string
	}{
		"it goes on":                      {[]string{new4, new6}, straight, at("11111111", 6, 6, 7), 6, []string{new4, new6}, "11111111:7 99999999:*", ""},
		"the snapshot's own are there":    {[]string{new4, new6}, straight, at("11111111", 4, 4, 6), 6, []string{new4, new6}, to, ""},
		"an older snapshot":               {[]string{new4, new6, new9}, straight, at("11111111", 4, 4, 6), 6, []string{new4, new6}, to, ""},
		"an older one behind a restart":   {[]string{new4, fork7}, from4, at("11111111", 0, 0, 3), 0, nil, "11111111:3 99999999:*", ""},
		"a newer one behind an older one": {[]string{new4, fork7}, from4, at("11111111", 6, 6, 6), 0, nil, "", "has not come by epoch 6"},
		"a run has died before it came to it": {[]string{new4, fork7}, straight, State{Run: "99999999", Query: "aaaaaaaa", Unit: "query", Known: true, Epoch: 4,
			Wrote: ID{"11111111", 4}, Snapshot: ID{"33333333", 5}}, 4, []string{new4}, "11111111:4 33333333:5 99999999:*", ""},
		"readers have taken all":               {nil, straight, at("11111111", 6, 6, 7), 6, nil, "11111111:7 99999999:*", ""},
		"readers have taken old ones":          {[]string{new6}, straight, at("11111111", 6, 6, 7), 6, []string{new6}, "11111111:7 99999999:*", ""},
		"the newest are gone":                  {[]string{new4}, straight, at("11111111", 6, 6, 7), 0, nil, "", "are not there"},
		"another folder of that name":          {nil, "", at("11111111", 6, 6, 7), 0, nil, "", "are not there"},
		"moved without what is hidden":         {[]string{new4, new6, new9}, "", at("11111111", 6, 6, 7), 6, []string{new4, new6}, "-:7 99999999:*", ""},
		"nothing has been written yet":         {nil, "", at("11111111", 0, 0, 7), 0, nil, "11111111:7 99999999:*", ""},
		"a folder that the snapshot knows not": {[]string{new4}, straight, at("11111111", 0, 0, 7), 0, nil, "", "does not know it by this name"},
		"rows of another checkpoint":           {[]string{foreign}, "", at("11111111", 0, 0, 7), 0, nil, "", "rows of another checkpoint"},
		"rows of another's other units":        {[]string{"bbbbbbbb-partition-0-0-t-000000000003-33333333.csv"}, "", at("11111111", 0, 0, 7), 0, nil, "", "rows of another checkpoint"},
		"rows of its own other units": {[]string{"aaaaaaaa-partition-0-0-t-000000000003-33333333.csv"}, "", at("11111111", 0, 0, 7), 0,
			[]string{"aaaaaaaa-partition-0-0-t-000000000003-33333333.csv"}, "11111111:7 99999999:*", ""},
		"it begins beside another checkpoint's": {[]string{foreign}, "", State{Run: "99999999", Query: "aaaaaaaa", Unit: "query"}, 0, []string{foreign}, "99999999:*", ""},
		"an earlier version's":                  {[]string{old4, old6}, "", at("", 6, 0, 6), 6, []string{old4, old6}, "-:6 99999999:*", ""},
		"an earlier version's, older":           {[]string{old4, old6, old9}, "", at("", 4, 0, 6), 6, []string{old4, old6}, "-:6 99999999:*", ""},
		"an earlier version's, lost snapshots":  {[]string{old4}, "", State{Run: "99999999", Query: "aaaaaaaa", Unit: "query"}, 0, nil, "", "has no snapshot"},
		"a path that is none":                   {[]string{new4}, "what", at("11111111", 4, 4, 4), 0, nil, "", "is no run and its last epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			e := in(t, c.there...)
			if c.runs != "" {
				if err := os.WriteFile(filepath.Join(e.Dir, runs), []byte(c.runs+"\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			last, err := e.Open(c.state)
			if got := visible(t, e); !slices.Equal(got, c.there) {
				t.Errorf("Open alone has left %q", got)
			}
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %d, %v, want it refused: %s", last, err, c.refused)
				}
				return
			}
			note, failed := e.Revert("query")
			if err != nil || failed != nil || last != c.last {
				t.Fatalf("got %d, %v, %v, want %d", last, err, failed, c.last)
			}
			if got := visible(t, e); !slices.Equal(got, c.kept) {
				t.Errorf("there are %q, want %q", got, c.kept)
			}
			if said := strings.Contains(note, "has gone back"); said != (len(c.kept) < len(c.there)) {
				t.Errorf("it says %q", note)
			}
			text, err := os.ReadFile(filepath.Join(e.Dir, runs))
			if got := strings.TrimSpace(string(text)); err != nil || got != c.path {
				t.Errorf("the path is %q, %v, want %q", got, err, c.path)
			}
		})
	}
}
