package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

var (
	_ stream.Resumer = (*Writer)(nil)
	_ stream.Marked  = (*Writer)(nil)
)

// counting is a query whose rows are numbered, some a millisecond.
func counting(dir string, n int64) *stream.Query {
	source := stream.Generate("ids", 1, 20_000, func(_ int, i int64) stream.Record { return stream.Record{Value: fmt.Appendf(nil, `{"id":%d}`, i)} })
	return stream.From(source.Records(n)).Select("id").Checkpoint(checkpoint.Folder(filepath.Join(dir, "snapshots"))).Epoch(10 * time.Millisecond)
}

func lives(t *testing.T, q *stream.Query) error {
	t.Helper()
	r, err := q.Start(t.Context())
	if err == nil {
		err = r.Wait(context.Background())
	}
	return err
}

// TestNamesOfFiles: what says how a folder's files are called matches those that it has, with a checkpoint and without.
func TestNamesOfFiles(t *testing.T) {
	dir := t.TempDir()
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	rows := stream.From(stream.Memory("ids", [][]stream.Record{{{Value: []byte(`{"id":1}`)}}})).Select("id")
	for path, q := range map[string]*stream.Query{
		with: rows.Checkpoint(checkpoint.Folder(filepath.Join(dir, "snapshots"))).To(Folder(with)), without: rows.To(Folder(without)),
	} {
		if err := lives(t, q); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, pattern := range Folder(path).Files() {
			found, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, found...)
		}
		if want := whole(t, path); !slices.Equal(got, want) || len(want) != 1 {
			t.Errorf("got %q, want %q, one file", got, want)
		}
	}
}

// TestNoFolderForAFile: the start of a query says which folder is to be made.
func TestNoFolderForAFile(t *testing.T) {
	away := filepath.Join(t.TempDir(), "away")
	err := lives(t, stream.From(stream.Memory("ids", [][]stream.Record{nil})).Select("id").To(Sink(filepath.Join(away, "rows.parquet"))))
	if err == nil || !strings.Contains(err.Error(), "make the folder "+away+" first (os.MkdirAll)") {
		t.Errorf("got %v, want what to do about the folder", err)
	}
}

// ids are the numbers of the rows in all files of a folder, in order.
func ids(t *testing.T, dir string) (all []int) {
	t.Helper()
	for _, path := range whole(t, dir) {
		for _, line := range content(t, path)[1:] {
			id, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// TestKilledFolder kills processes that write a folder with -9, one after the other; each row is there once.
func TestKilledFolder(t *testing.T) {
	const n, kills = 20_000, 8
	if dir := os.Getenv("CANCHA_KILLED_FOLDER"); dir != "" {
		if err := lives(t, counting(dir, n).To(Folder(filepath.Join(dir, "rows")).As("id", stream.Int))); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	dice := rand.New(rand.NewPCG(8, 1))
	for life := range kills + 1 {
		self := exec.Command(os.Args[0], "-test.run", "^TestKilledFolder$")
		self.Env = append(os.Environ(), "CANCHA_KILLED_FOLDER="+dir)
		var said strings.Builder
		self.Stdout, self.Stderr = &said, &said
		if err := self.Start(); err != nil {
			t.Fatal(err)
		}
		if life < kills {
			time.Sleep(time.Duration(60+dice.IntN(100)) * time.Millisecond)
			self.Process.Kill()
		}
		if err := self.Wait(); life == kills && err != nil || err != nil && err.Error() != "signal: killed" {
			t.Fatalf("life %d: %v\n%s", life, err, said.String())
		}
	}
	got := ids(t, filepath.Join(dir, "rows"))
	if once := slices.Compact(slices.Clone(got)); len(got) != n || len(once) != n {
		t.Errorf("%d rows, %d of them different, want %d", len(got), len(once), n)
	}
}

// TestFolderOfRuns: runs that end in order go on in the folder, where each epoch is a file.
func TestFolderOfRuns(t *testing.T) {
	dir := t.TempDir()
	sink := Folder(filepath.Join(dir, "rows")).As("id", stream.Int)
	for range 3 {
		if err := lives(t, counting(dir, 300).MaxRecords(100).To(sink)); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(t, filepath.Join(dir, "rows")); len(got) != 300 || got[299] != 299 {
		t.Errorf("got %d rows, want 300", len(got))
	}
	for _, name := range names(t, filepath.Join(dir, "rows")) {
		if !strings.Contains(name, "-query-0000") || !strings.HasSuffix(name, ".parquet") {
			t.Errorf("there is %s, want the files of epochs alone", name)
		}
	}
}

// TestEpochOfAFolder: an epoch that is there is not written again, one that fails leaves nothing, and the sink serves one query.
func TestEpochOfAFolder(t *testing.T) {
	dir := t.TempDir()
	mark := stream.Mark{Query: "q", Unit: checkpoint.Whole, Run: "first"}
	s := Folder(dir)
	if last, err := s.Resume(t.Context(), columns(), mark); err != nil || last != 0 {
		t.Fatal(last, err)
	}
	if _, err := s.Resume(t.Context(), columns(), mark); err != nil {
		t.Error("the same query, again:", err)
	}
	other := stream.Mark{Query: "o", Unit: "another", Run: "second"}
	if _, err := s.Resume(t.Context(), columns(), other); err == nil || !strings.Contains(err.Error(), "make one of its own for each query") {
		t.Errorf("a second query: got %v", err)
	}
	rows := sample()
	rows.Unit, rows.Run = mark.Unit, mark.Run
	for _, epoch := range []int64{1, 4, 4} {
		if err := s.Write(t.Context(), epoch, rows); err != nil {
			t.Fatal(err)
		}
	}
	rows.Append(stream.FloatOf(1.5), stream.Value{}, stream.Value{}, stream.Value{}, stream.Value{}, stream.Value{}, stream.Value{})
	if err := s.Write(t.Context(), 5, rows); err == nil || !strings.Contains(err.Error(), "row 3: column n is ") {
		t.Errorf("of a value that does not fit: %v", err)
	}
	if got := names(t, dir); len(got) != 2 || len(content(t, filepath.Join(dir, got[1]))) != 4 {
		t.Errorf("there are %q, want two files, of three rows", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Resume(t.Context(), columns(), stream.Mark{Query: "q", Unit: checkpoint.Whole, Run: "second", Snapshot: stream.EpochID{Run: "first", Number: 4}}); err != nil || last != 4 {
		t.Errorf("it goes on from epoch %d, %v, want 4", last, err)
	}
}

// TestOneFileRefuses: a file cannot take the rows of the next run, and who starts the query hears what can.
func TestOneFileRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.parquet")
	q := counting(dir, 10).To(Sink(path).As("id", stream.Int))
	_, err := q.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "write parquet.Folder") || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if got := q.Explain().String(); !strings.Contains(got, "It cannot start: ") {
		t.Errorf("Explain does not say so: %s", got)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
}

// shared is a source whose partitions several processes may share.
type shared struct{ *stream.Generator }

func (shared) Shared() bool { return true }

// TestUnitsOfAFolder: a query whose partitions go from process to process writes a folder, in which each partition has files of its own.
func TestUnitsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	record := func(p int, i int64) stream.Record {
		return stream.Record{Value: fmt.Appendf(nil, `{"id":%d}`, 2*i+int64(p))}
	}
	for _, n := range []int64{50, 100} {
		source := shared{stream.Generate("ids", 2, 0, record).Records(n)}
		q := stream.From(source).Select("id").Checkpoint(checkpoint.Folder(filepath.Join(dir, "snapshots"))).AvailableNow()
		if err := lives(t, q.To(Folder(filepath.Join(dir, "rows")).As("id", stream.Int))); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(t, filepath.Join(dir, "rows")); len(got) != 200 || got[0] != 0 || got[199] != 199 {
		t.Errorf("got %d rows, want 200", len(got))
	}
	for p := range 2 {
		if files, err := filepath.Glob(filepath.Join(dir, "rows", fmt.Sprintf("*-partition-%d-ids-*.parquet", p))); err != nil || len(files) == 0 {
			t.Errorf("partition %d has no files: there are %q", p, names(t, filepath.Join(dir, "rows")))
		}
	}
}
