package file

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

var errKilled = errors.New("killed")

// TestKilledFiles: queries whose rows go into a file, packed or not, and into a folder of epochs, are killed again and again; what is there in the end is what a
// query without a break writes.
func TestKilledFiles(t *testing.T) {
	var records []stream.Record
	for i := range 30_000 {
		records = append(records, stream.Record{Value: fmt.Appendf(nil, `{"id":%d,"text":"say \"%d\", or not"}`, i, i)})
	}
	type writing struct {
		sink func(dir string) stream.Sink
		read func(dir string) []string
	}
	one := func(name string, sink func(path string) *Sink) writing {
		return writing{func(dir string) stream.Sink { return sink(filepath.Join(dir, name)) }, func(dir string) []string { return text(t, filepath.Join(dir, name)) }}
	}
	for name, w := range map[string]writing{
		"csv":   one("x.csv", CSV),
		"jsonl": one("x.jsonl", JSONLines),
		"gz":    one("x.jsonl.gz", JSONLines),
		"zst":   one("x.csv.zst", CSV),
		"epochs": {func(dir string) stream.Sink { return JSONLinesEpochs(filepath.Join(dir, "rows")) }, func(dir string) []string {
			var lines []string
			paths, err := filepath.Glob(filepath.Join(dir, "rows", "*.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				lines = append(lines, text(t, path)...)
			}
			return lines
		}},
	} {
		t.Run(name, func(t *testing.T) {
			query := func(dir string) *stream.Query {
				return stream.From(stream.Memory("ids", [][]stream.Record{records}).BatchSize(40)).Select("id", "text").To(w.sink(dir)).
					Checkpoint(checkpoint.Folder(filepath.Join(dir, "snapshots"))).Epoch(10 * time.Millisecond)
			}
			calm, dir := t.TempDir(), t.TempDir()
			if err := lives(query(calm), 0); err != nil {
				t.Fatal(err)
			}
			dice := rand.New(rand.NewPCG(8, 1))
			for ends := range 10 {
				life := time.Duration(dice.IntN(40)+1) * time.Millisecond
				if ends == 9 {
					life = 0
				}
				if err := lives(query(dir), life); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
			}
			if got, want := w.read(dir), w.read(calm); !slices.Equal(got, want) || len(want) < len(records) {
				t.Errorf("%d lines, want %d", len(got), len(want))
			}
		})
	}
}

// TestTwoOfOneFolder: of two sinks whose files would have the same names, the second would find those of the first and write nothing.
func TestTwoOfOneFolder(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("rows", link); err != nil {
		t.Fatal(err)
	}
	rows := filepath.Join(dir, "rows")
	for name, test := range map[string]struct {
		a, b    *Epochs
		refused bool
	}{
		"one folder":    {JSONLinesEpochs(rows), JSONLinesEpochs(rows + "/"), true},
		"by a link":     {CSVEpochs(rows), CSVEpochs(link), true},
		"other endings": {CSVEpochs(rows), JSONLinesEpochs(rows), false},
		"two folders":   {CSVEpochs(rows), CSVEpochs(filepath.Join(dir, "letters")), false},
	} {
		err := lives(stream.From(stream.Memory("ids", [][]stream.Record{{{Value: []byte(`{"id":1}`)}}})).Select("id").To(test.a).DeadLetters(test.b).
			Checkpoint(checkpoint.Folder(filepath.Join(dir, name))), 0)
		if test.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "two sinks write to "+rows) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestSinkOfTwoQueries: a sink that serves a query refuses another, whose rows would get the names of the first one's epochs, until that has ended.
func TestSinkOfTwoQueries(t *testing.T) {
	dir := t.TempDir()
	for name, sink := range map[string]stream.Sink{"epochs": CSVEpochs(filepath.Join(dir, "rows")), "file": CSV(filepath.Join(dir, "x.csv"))} {
		source := stream.Memory("ids", [][]stream.Record{{{Value: []byte(`{"id":1,"x":2}`)}}}).Follow()
		query := func(n int, columns ...string) *stream.Query {
			return stream.From(source).Select(columns...).To(sink).Checkpoint(checkpoint.Folder(filepath.Join(dir, name, fmt.Sprint(n)))).Epoch(10 * time.Millisecond)
		}
		first, err := query(1, "id").Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := query(2, "id", "x").Start(t.Context()); err == nil || !strings.Contains(err.Error(), "make one of its own for each query") {
			t.Errorf("%s: a second query: got %v", name, err)
		}
		source.Append(0, stream.Record{Value: []byte(`{"id":2,"x":3}`)})
		if err := first.Stop(t.Context()); err != nil {
			t.Errorf("%s: the first query, then: %v", name, err)
		}
		second, err := query(2, "x").Start(t.Context())
		if err == nil {
			err = second.Stop(t.Context())
		}
		if err != nil {
			t.Errorf("%s: the second query, when the first has ended: %v", name, err)
		}
	}
}

// TestEqualProcesses: the process of another machine, which has our number and shares the folder, keeps the file that it is writing, and who may read a
// folder's other files may read ours.
func TestEqualProcesses(t *testing.T) {
	dir := t.TempDir()
	other := write(t, dir, fmt.Sprintf(".of anoth-query-000000000001.jsonl.%d.partial", os.Getpid()), "half a row")
	rows := stream.NewRows(stream.Column{Name: "id", Kind: stream.Int})
	rows.Append(stream.IntOf(1))
	rows.Unit = checkpoint.Whole
	e := JSONLinesEpochs(dir)
	if _, err := e.Resume(t.Context(), rows.Columns, stream.Mark{Query: "of another machine", Unit: rows.Unit}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Write(t.Context(), 1, rows), e.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "half a row" {
		t.Errorf("the other process finds %q, %v in its file", got, err)
	}
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	want, err := plain.Stat()
	got, missing := os.Stat(filepath.Join(dir, "of anoth-query-000000000001.jsonl"))
	if err != nil || missing != nil || got.Mode() != want.Mode() {
		t.Errorf("got %v, %v, want the rows in a file of mode %v", got, missing, want.Mode())
	}
}

// text is the lines of a file, unpacked.
func text(t *testing.T, path string) []string {
	t.Helper()
	in, err := open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var b strings.Builder
	buf := make([]byte, 1<<16)
	for {
		n, err := in.Read(buf)
		if b.Write(buf[:n]); err != nil {
			return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		}
	}
}

func lives(q *stream.Query, life time.Duration) error {
	ctx, kill := context.WithCancelCause(context.Background())
	defer kill(nil)
	r, err := q.Start(ctx)
	if err != nil {
		return err
	}
	if life > 0 {
		defer time.AfterFunc(life, func() { kill(errKilled) }).Stop()
	}
	return r.Wait(context.Background())
}

// TestResumeRefuses: a file that is shorter than the checkpoint knows, and one that is gone, are not written behind.
func TestResumeRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	query := func() *stream.Query {
		return stream.From(stream.Memory("ids", [][]stream.Record{{{Value: []byte(`{"id":1}`)}}, {}}).Follow()).Select("id").To(CSV(path)).
			Checkpoint(checkpoint.Folder(filepath.Join(dir, "snapshots"))).MaxRecords(1)
	}
	if err := lives(query(), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2); err != nil {
		t.Fatal(err)
	}
	if err := lives(query(), 0); err == nil || !strings.Contains(err.Error(), "it has 2 bytes, and had 5") {
		t.Errorf("of a file that was cut: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := lives(query(), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a file that is gone: %v", err)
	}
}

// TestPositionRefused: of a position that is no size the error says so, and no other query is to blame.
func TestPositionRefused(t *testing.T) {
	path := write(t, t.TempDir(), "x.csv", "id\n1\n")
	for _, position := range [][]byte{{}, {0x80}, {0x01}, {0x0a, 0x0a}} {
		s := CSV(path)
		_, err := s.Resume(t.Context(), []stream.Column{{Name: "id"}}, stream.Mark{Query: "q", Unit: checkpoint.Whole, Epoch: 1, Position: position})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("position %x is no size", position)) || strings.Contains(err.Error(), "another query") {
			t.Errorf("position %x: got %v", position, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGrownFile: a query over a file that grows goes on behind what it has read.
func TestGrownFile(t *testing.T) {
	dir := t.TempDir()
	path, place := filepath.Join(dir, "in.jsonl"), checkpoint.Folder(filepath.Join(dir, "snapshots"))
	for _, c := range []struct {
		text    string
		records int64
		rows    int
	}{{"{\"id\":1}\n{\"id\":2}\n", 2, 2}, {"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n", 1, 3}} {
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := stream.From(Source(path).Follow()).Select("id").Checkpoint(place).AvailableNow().Start(t.Context())
		if err == nil {
			err = r.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Totals().Records; got != c.records || r.Results().Len() != c.rows {
			t.Errorf("%d records, %d rows, want %d, %d", got, r.Results().Len(), c.records, c.rows)
		}
	}
}
