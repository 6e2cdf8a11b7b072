package file

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// column is what a query has for the column id in the end. Its source ends too: a run that is to be gone on from ends by MaxRecords.
func column(t *testing.T, q *stream.Query) (values []string, err error) {
	t.Helper()
	r, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = r.Wait(t.Context())
	for i := range r.Results().Len() {
		values = append(values, r.Results().At(i, 0).String())
	}
	return values, err
}

// TestReplacedWhileStopped: a query goes on with a file that has grown since its checkpoint was taken, and refuses one that holds something else than was
// read, however long that is.
func TestReplacedWhileStopped(t *testing.T) {
	for _, test := range []struct {
		name, file, before, after string
		records                   int64    // before
		want                      []string // of both runs; nil: an error
	}{
		{"the same", "a.jsonl", "{\"id\":1}\n{\"id\":2}\n", "{\"id\":1}\n{\"id\":2}\n", 2, []string{"1", "2"}},
		{"grown", "a.jsonl", "{\"id\":1}\n{\"id\":2}\n", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n", 2, []string{"1", "2", "3"}},
		{"grown behind a line without its break", "a.jsonl", "{\"id\":1}\n{\"id\":2}", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}", 2, []string{"1", "2", "3"}},
		{"grown, with a byte order mark", "a.jsonl", "\xef\xbb\xbf{\"id\":1}\n", "\xef\xbb\xbf{\"id\":1}\n{\"id\":2}\n", 1, []string{"1", "2"}},
		{"CSV, grown", "a.csv", "id\n1\n\n", "id\n1\n\n2\n", 1, []string{"1", "2"}},
		{"CSV, grown behind a row without its break, as Windows does", "a.csv", "id\r\n1", "id\r\n1\r\n2", 1, []string{"1", "2"}},
		{"packed otherwise", "a.jsonl.gz", gz(t, "{\"id\":1}\n"), gz(t, "{\"id\":1}\n") + gz(t, "{\"id\":2}\n"), 1, []string{"1", "2"}},
		{"longer", "a.jsonl", "{\"id\":1}\n{\"id\":2}\n", "{\"id\":5}\n{\"id\":6}\n{\"id\":7}\n", 2, nil},
		{"as long", "a.jsonl", "{\"id\":1}\n{\"id\":2}\n", "{\"id\":5}\n{\"id\":2}\n", 2, nil},
		{"shorter", "a.jsonl", "{\"id\":1}\n{\"id\":2}\n", "{\"id\":1}\n", 2, nil},
		{"empty", "a.jsonl", "{\"id\":1}\n{\"id\":2}\n", "", 2, nil},
		{"the last line goes on", "a.csv", "id\n1\n2", "id\n1\n23\n4\n", 2, nil},
		{"CSV, another header", "a.csv", "id,a\n1,2\n", "ab,c\n1,2\n3,4\n", 1, nil},
		{"packed, longer", "a.jsonl.gz", gz(t, "{\"id\":1}\n"), gz(t, "{\"id\":5}\n{\"id\":6}\n"), 1, nil},
		{"Zstandard, longer", "a.jsonl.zst", zst(t, "{\"id\":1}\n"), zst(t, "{\"id\":5}\n{\"id\":6}\n"), 1, nil},
	} {
		for _, folder := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				dir, place := t.TempDir(), checkpoint.Folder(t.TempDir())
				path := write(t, dir, test.file, test.before)
				source := path
				if folder {
					source = dir
				}
				query := stream.From(Source(source)).Format(stream.JSONFormat().TextNumbers()).Select("id").Checkpoint(place)
				if _, err := column(t, query.MaxRecords(test.records)); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				write(t, dir, test.file, test.after)
				got, err := column(t, query)
				if test.want == nil {
					if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "not the file that the checkpoint knows") {
						t.Errorf("got rows %q and %v, want the file refused", got, err)
					}
					return
				}
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %q, %v, want %q", got, err, test.want)
				}
			})
		}
	}
}

// TestReplacedWithinABatch: MaxRecords ends a query within a batch, and what follows in that batch is seen with it.
func TestReplacedWithinABatch(t *testing.T) {
	path := write(t, t.TempDir(), "a.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n")
	place := checkpoint.Folder(t.TempDir())
	query := stream.From(Source(path)).Select("id").Checkpoint(place)
	for _, q := range []*stream.Query{query.MaxRecords(1), query} {
		r, err := q.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Wait(t.Context()); (err == nil) != (q != query) {
			t.Errorf("got %v, want an error of the second run alone", err)
		}
		write(t, filepath.Dir(path), "a.jsonl", "{\"id\":5}\n{\"id\":6}\n{\"id\":7}\n{\"id\":8}\n")
	}
}

// earlier are files as a version read them that knew no checksums.
type earlier struct{ *Files }

func (e earlier) Run(ctx context.Context, h stream.Handler) error {
	return e.Files.Run(ctx, struct {
		stream.Handler
		stream.Beginner
	}{unseeing{h}, h.(stream.Beginner)})
}

type unseeing struct{ stream.Handler }

func (h unseeing) Batch(ctx context.Context, b stream.Batch) error {
	b.Seen = ""
	return h.Handler.Batch(ctx, b)
}

// TestEarlierCheckpoint: a checkpoint that has no checksum of a file is gone on from.
func TestEarlierCheckpoint(t *testing.T) {
	path := write(t, t.TempDir(), "a.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n")
	place := checkpoint.Folder(t.TempDir())
	query := func(source stream.Source) *stream.Query { return stream.From(source).Select("id").Checkpoint(place) }
	if _, err := column(t, query(earlier{Source(path)}).MaxRecords(1)); err != nil {
		t.Fatal(err)
	}
	if got, err := column(t, query(Source(path))); err != nil || !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %q, %v, want all three", got, err)
	}
}

// TestParseSeen: a text that is not what a checkpoint holds is an error, and no other place.
func TestParseSeen(t *testing.T) {
	for _, s := range []seen{{}, {bytes: 12, sum: 0xabc}, {bytes: 1 << 40, sum: 0xffffffff, open: true}} {
		if got, err := parseSeen(s.String()); err != nil || got != s {
			t.Errorf("got %v, %v, want %v", got, err, s)
		}
	}
	for _, text := range []string{"12", "12 abc", "-1 00000abc", "12 00000abc closed", "12 00000abc open ", " 12 00000abc", "x 00000abc"} {
		if got, err := parseSeen(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
