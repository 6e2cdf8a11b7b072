package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// TestPatternsMeet: two patterns have a name in common, or none.
func TestPatternsMeet(t *testing.T) {
	const made = "[0-9a-f][0-9a-f]-*-[0-9].jsonl"
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"*", made, true}, {"*.jsonl", made, true}, {"*.csv", made, false}, {"[a-z0-9]*.jsonl", made, true}, {"a*.jsonl", made, true}, {"in-*.jsonl", made, false},
		{"[^a-z]*", made, true}, {"[^0-9a-f]*", made, false}, {"??-*", made, true}, {"?-*", made, false}, {"*-5.*", made, true}, {"*-x.jsonl", made, false},
		{"a1-[a-z]*-7.jsonl", made, true}, {`\a1\-*`, made, true}, {"é*", made, false}, {"*é*", made, true}, {"[é]", "?", true}, {"", made, false}, {"", "*", true},
		{"*a*b*c*d*", "*d*c*b*a*", true}, {"[^]]", "[]-]", false}, {"ab", "ab", true}, {"ab", "abc", false},
	} {
		if got, turned := meet(test.a, test.b), meet(test.b, test.a); got != test.want || turned != test.want {
			t.Errorf("%q and %q: got %v and %v, want %v", test.a, test.b, got, turned, test.want)
		}
	}
}

// folderOf is a sink of files that get their names as they are made.
type folderOf []string

func (f folderOf) Files() []string { return f }

func (f folderOf) Write(context.Context, int64, *stream.Rows) error { return nil }

// TestAFolderThatIsReadAndWritten: a query that writes its epochs where it reads files of such names is refused, since it would read its own rows.
func TestAFolderThatIsReadAndWritten(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "here")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	epoch := filepath.Join(here, "0a1b2c3d-all-000000000001-0a1b2c3d.jsonl")
	for _, path := range []string{filepath.Join(here, "in.jsonl"), filepath.Join(here, "in.csv"), epoch} {
		if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(path string) *Files { return Source(filepath.Join(dir, path)) }
	lines, csv := JSONLinesEpochs(here), CSVEpochs(here)
	for _, test := range []struct {
		name string
		from *Files
		to   *Epochs
		want bool
	}{
		{"a folder", at("here"), lines, true},
		{"a folder of CSV", at("here"), csv, true},
		{"a folder that is followed", at("here").Follow(), lines, true},
		{"a folder, as lines", at("here").AsLines(), lines, true},
		{"a folder by a link", at("link"), lines, true},
		{"a folder's files", at("here/*.jsonl"), lines, true},
		{"a folder's files by a link", at("link/*"), lines, true},
		{"files of all folders", at("*/*.jsonl"), lines, true},
		{"names that epochs may have", at("here/[a-z0-9]*.jsonl"), lines, true},
		{"a folder that is not there yet", at("*/*.jsonl").Follow(), JSONLinesEpochs(filepath.Join(dir, "later")), true},
		{"other names", at("here/in-*.jsonl"), lines, false},
		{"another ending", at("here/*.csv"), lines, false},
		{"one file", at("here/in.jsonl"), lines, false},
		{"one file of earlier epochs", Source(epoch), lines, false},
		{"hidden files", at("here/.*"), lines, false},
		{"the folder below", at("here"), JSONLinesEpochs(filepath.Join(here, "out")), false},
		{"another folder", at("here/*.jsonl").Follow(), JSONLinesEpochs(filepath.Join(dir, "later")), false},
	} {
		query := stream.From(test.from).Select("id").Checkpoint(checkpoint.Folder(filepath.Join(t.TempDir(), "snapshots")))
		for name, q := range map[string]*stream.Query{"rows": query.To(test.to), "dead letters": query.DeadLetters(test.to)} {
			running, err := q.Start(t.Context())
			if refused := err != nil && strings.Contains(err.Error(), "would feed itself"); refused != test.want {
				t.Errorf("%s, %s: got %v, want it refused: %v", test.name, name, err, test.want)
			}
			if err == nil {
				running.Stop(t.Context())
			}
		}
	}
	parquet := folderOf{filepath.Join(here, "rows-*-*.parquet")}
	if !at("here").AsLines().Hears(parquet) || at("here").Hears(parquet) {
		t.Error("a folder, as lines, has files of all names; by name it has none of Parquet")
	}
}
