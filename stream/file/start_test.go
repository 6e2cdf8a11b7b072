package file

import (
	"path/filepath"
	"strings"
	"testing"

	"cancha/stream"
)

// TestStartWithoutFiles: a source of no files, and a sink in a folder that is not there, are errors of Start that say what to do.
func TestStartWithoutFiles(t *testing.T) {
	dir := t.TempDir()
	there := stream.Memory("t", [][]stream.Record{nil})
	for _, test := range []struct {
		q    *stream.Query
		want []string
	}{
		{stream.From(Source(filepath.Join(dir, "none.jsonl"))), []string{"none.jsonl", "no such file", "look at the path"}},
		{stream.From(Source(filepath.Join(dir, "*.jsonl"))), []string{"nothing matches", "*.jsonl", "look at the path", "Follow"}},
		{stream.From(there).To(CSV(filepath.Join(dir, "out", "rows.csv"))), []string{"rows.csv", "make the folder " + filepath.Join(dir, "out") + " first"}},
		{stream.From(there).To(JSONLines(filepath.Join(dir, "out", "rows.jsonl"))), []string{"make the folder"}},
	} {
		running, err := test.q.Select("a").Start(t.Context())
		if err == nil {
			running.Stop(t.Context())
			t.Errorf("%s started", test.want)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		}
	}
}
