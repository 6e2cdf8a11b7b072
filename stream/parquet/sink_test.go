package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"cancha/stream"
)

var (
	_ stream.Sink   = (*Writer)(nil)
	_ stream.Opener = (*Writer)(nil)
	_ stream.Closer = (*Writer)(nil)
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

// columns are one of each kind, in an order that is not that of their names.
func columns() []stream.Column {
	return []stream.Column{{Name: "n", Kind: stream.Int}, {Name: "user.city", Kind: stream.Any}, {Name: "b", Kind: stream.Bool},
		{Name: "x", Kind: stream.Float}, {Name: "when", Kind: stream.Time}, {Name: "a text, \"quoted\"", Kind: stream.Text}, {Name: "j", Kind: stream.JSON}}
}

func sample() *stream.Rows {
	rows := stream.NewRows(columns()...)
	rows.Append(stream.IntOf(math.MaxInt64), stream.TextOf("Lima"), stream.BoolOf(true),
		stream.FloatOf(0.1), stream.TimeOf(noon), stream.TextOf("ñ\n"), stream.JSONOf(`{"k":[1]}`))
	rows.Append(make([]stream.Value, 7)...)
	rows.Append(stream.IntOf(-1), stream.IntOf(7), stream.BoolOf(false),
		stream.FloatOf(math.Inf(-1)), stream.TimeOf(time.Unix(0, -1)), stream.TextOf("a\xffb"), stream.TextOf("t"))
	return rows
}

// content is what a file holds: a line for each row, behind one for the columns.
func content(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := pq.OpenFile(f, info.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var names []string
	for _, c := range file.Root().Columns() {
		names = append(names, c.Name()+" "+c.Type().String())
	}
	lines := []string{strings.Join(names, "|")}
	for _, g := range file.RowGroups() {
		lines = append(lines, rowsOf(t, g)...)
	}
	return lines
}

func rowsOf(t *testing.T, g pq.RowGroup) (lines []string) {
	t.Helper()
	rows := g.Rows()
	defer rows.Close()
	buf := make([]pq.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			var cells []string
			for _, v := range row {
				cells = append(cells, v.String())
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// names are the files in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".runs") { // a folder's own, hidden
			all = append(all, e.Name())
		}
	}
	return all
}

func whole(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSink(t *testing.T) {
	want := []string{
		`n INT(64,true)|user.city STRING|b BOOLEAN|x DOUBLE|when TIMESTAMP(isAdjustedToUTC=true,unit=NANOS)|a text, "quoted" STRING|j JSON`,
		"9223372036854775807|Lima|true|0.1|1772366400123456789|ñ\n|" + `{"k":[1]}`,
		"<null>|<null>|<null>|<null>|<null>|<null>|<null>",
		"-1|7|false|-Inf|-1|a\uFFFDb|" + `"t"`,
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Sink(path)
	if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, sample()), s.Write(t.Context(), 2, sample())); err != nil {
		t.Fatal(err)
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != "old" {
		t.Errorf("before Close the file is %q, %v", old, err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); !slices.Equal(got, append(want, want[1:]...)) {
		t.Errorf("got\n%s\nwant\n%s, the rows twice", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"a.parquet"}) {
		t.Errorf("there are %q", got)
	}
}

// TestAgain: a sink that is closed serves the next query, and one without rows leaves a file without rows.
func TestAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	s := Sink(path)
	for _, n := range []int{1, 0} {
		if err := s.Open(t.Context(), columns()); err != nil {
			t.Fatal(err)
		}
		if err := s.Open(t.Context(), columns()); err == nil {
			t.Error("a sink was opened twice")
		}
		for range n {
			if err := s.Write(t.Context(), 1, sample()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := len(content(t, path)), 1+n*sample().Len(); got != want {
			t.Errorf("got %d lines, want %d", got, want)
		}
	}
}

func TestMicroseconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	rows := stream.NewRows(stream.Column{Name: "when", Kind: stream.Time})
	for _, ns := range []int64{noon.UnixNano(), 0, 999, 1000, -1, -1000, -1001} {
		rows.Append(stream.TimeOf(time.Unix(0, ns)))
	}
	s := Sink(path).Microseconds()
	if err := errors.Join(s.Open(t.Context(), rows.Columns), s.Write(t.Context(), 1, rows), s.Close()); err != nil {
		t.Fatal(err)
	}
	want := []string{"when TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)", "1772366400123456", "0", "0", "1", "-1", "-1", "-2"}
	if got := content(t, path); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	any := []stream.Column{{Name: "shop", Kind: stream.Any}, {Name: "data", Kind: stream.Any}}
	rows := stream.NewRows(any...)
	rows.Append(stream.IntOf(7), stream.JSONOf("[1]"))
	rows.Append(stream.FloatOf(8), stream.TextOf("7"))
	s := Sink(path).As("shop", stream.Int).As("data", stream.JSON)
	if err := errors.Join(s.Open(t.Context(), any), s.Write(t.Context(), 1, rows), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, path), []string{"shop INT(64,true)|data JSON", "7|[1]", `8|"7"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMisfit: of a Write with a value that does not fit no row is written, and those before it stay.
func TestMisfit(t *testing.T) {
	for _, test := range []struct {
		kind stream.Kind
		bad  stream.Value
		good stream.Value
	}{
		{stream.Int, stream.FloatOf(1.5), stream.FloatOf(2)},
		{stream.Int, stream.TextOf("1"), stream.IntOf(1)},
		{stream.Float, stream.IntOf(1<<53 + 1), stream.IntOf(1 << 53)},
		{stream.Time, stream.TextOf("2026-03-01T12:00:00Z"), stream.TimeOf(noon)},
		{stream.Bool, stream.IntOf(1), stream.BoolOf(true)},
	} {
		path := filepath.Join(t.TempDir(), "a.parquet")
		is := stream.Column{Name: "c", Kind: test.kind}
		good, bad := stream.NewRows(is), stream.NewRows(is)
		good.Append(test.good)
		bad.Append(test.good)
		bad.Append(test.bad)
		s := Sink(path)
		if err := errors.Join(s.Open(t.Context(), good.Columns), s.Write(t.Context(), 1, good)); err != nil {
			t.Errorf("%v: %v", test.kind, err)
		}
		err := s.Write(t.Context(), 2, bad)
		if err == nil || !strings.Contains(err.Error(), "row 1: column c is "+test.kind.String()) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v in %v: got %v", test.bad, test.kind, err)
		}
		if again := s.Write(t.Context(), 3, good); again != err {
			t.Errorf("after %v: %v", err, again)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := len(content(t, path)); got != 2 {
			t.Errorf("%v: %d lines, want the row of the first Write", test.kind, got)
		}
	}
}

func TestFolderByRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	for range 2 { // two runs share the folder
		s := Folder(dir).Rows(5).Every(time.Hour)
		if err := s.Open(t.Context(), columns()); err != nil {
			t.Fatal(err)
		}
		before := len(whole(t, dir))
		for i, want := range []int{0, 1, 1, 2, 2} { // files after each Write of three rows
			if err := s.Write(t.Context(), int64(i), sample()); err != nil {
				t.Fatal(err)
			}
			if got := len(whole(t, dir)) - before; got != want {
				t.Errorf("after Write %d: got %d files, want %d", i, got, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files := names(t, dir)
	if len(files) != 6 {
		t.Errorf("got %q, want three files of each run and nothing else", files)
	}
	for i, name := range files {
		want := []int{6, 6, 3}[i%3]
		if got := len(content(t, filepath.Join(dir, name))) - 1; got != want {
			t.Errorf("%s: got %d rows, want %d", name, got, want)
		}
	}
}

func TestFolderByTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := Folder(dir).Every(time.Minute)
		if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, sample())); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{59 * time.Second, 0}, {2 * time.Second, 1}, {time.Hour, 1}} {
			time.Sleep(step.after)
			synctest.Wait()
			if got := len(whole(t, dir)); got != step.want {
				t.Errorf("%v later: got %d files, want %d", step.after, got, step.want)
			}
		}
		if err := errors.Join(s.Write(t.Context(), 2, sample()), s.Close()); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); len(got) != 2 {
			t.Errorf("got %q, want two files", got)
		}
		if err := errors.Join(s.Open(t.Context(), columns()), s.Close()); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); len(got) != 2 {
			t.Errorf("a run without rows left %q", got)
		}
	})
}

// TestGroups: many rows are several groups, and all of them come back.
func TestGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	is := []stream.Column{{Name: "i", Kind: stream.Int}, {Name: "text", Kind: stream.Text}}
	rows := stream.NewRows(is...)
	long := strings.Repeat("x", 5000)
	for i := range groupRows + 5000 {
		text := stream.TextOf(fmt.Sprint("key ", i))
		if i >= groupRows {
			text = stream.TextOf(fmt.Sprint(i, long)) // more than a dictionary holds
		}
		rows.Append(stream.IntOf(int64(i)), text)
	}
	s := Sink(path)
	if err := errors.Join(s.Open(t.Context(), is), s.Write(t.Context(), 1, rows), s.Close()); err != nil {
		t.Fatal(err)
	}
	got := content(t, path)[1:]
	if len(got) != rows.Len() {
		t.Fatalf("got %d rows, want %d", len(got), rows.Len())
	}
	for i, line := range got {
		if want := fmt.Sprint(i, "|", rows.At(i, 1).Text()); line != want {
			t.Fatalf("row %d: got %.40q, want %.40q", i, line, want)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	is := columns()
	twice := append(columns(), columns()[0])
	for _, test := range []struct {
		name    string
		sink    *Writer
		columns []stream.Column
		want    string
	}{
		{"no folder", Sink(filepath.Join(dir, "none", "a.parquet")), is, "no such file"},
		{"a folder", Sink(dir), is, "Folder"},
		{"no columns", Sink(filepath.Join(dir, "a")), nil, "no columns"},
		{"a name twice", Sink(filepath.Join(dir, "a")), twice, `"n"`},
		{"As of none", Sink(filepath.Join(dir, "a")).As("z", stream.Int), is, "column z"},
		{"As against the query", Sink(filepath.Join(dir, "a")).As("n", stream.Text), is, "column n is an integer"},
		{"As Any", Sink(filepath.Join(dir, "a")).As("user.city", stream.Any), is, "want Bool"},
		{"Rows of one file", Sink(filepath.Join(dir, "a")).Rows(5), is, "of a Folder"},
		{"no time", Folder(dir).Every(0), is, "1 ms or more"},
	} {
		err := test.sink.Open(t.Context(), test.columns)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v, want %q and the path in it", test.name, err, test.want)
		}
	}
	s := Sink(filepath.Join(dir, "b"))
	if err := s.Open(t.Context(), is[:2]); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), 1, sample()); err == nil {
		t.Error("rows with other columns were written")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"b"}) {
		t.Errorf("there are %q", got)
	}
}

// many are rows that do not compress, some megabytes.
func many() *stream.Rows {
	rows := stream.NewRows(stream.Column{Name: "x", Kind: stream.Float})
	x := 0.1
	for range 2 * groupRows {
		x = 3.99 * x * (1 - x)
		rows.Append(stream.FloatOf(x))
	}
	return rows
}

// failing has room for some bytes.
type failing struct {
	w    io.Writer
	room int
}

func (f *failing) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		f.room -= len(p)
		return f.w.Write(p)
	}
	n, err := f.w.Write(p[:f.room])
	f.room = 0
	return n, errors.Join(err, syscall.ENOSPC)
}

// TestFullWriter: wherever the disk is full, in a group or at the end, the error names the file, and no file is left.
func TestFullWriter(t *testing.T) {
	for _, room := range []int{0, 100, 1 << 20, 1_500_000} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.parquet")
		s := Sink(path)
		s.through = func(w io.Writer) io.Writer { return &failing{w, room} }
		checkFull(t, s, path)
		if got := names(t, dir); len(got) != 0 {
			t.Errorf("room for %d bytes: there are %q", room, got)
		}
	}
}

// checkFull writes until the disk is full.
func checkFull(t *testing.T, s *Writer, path string) {
	t.Helper()
	rows := many()
	err := s.Open(t.Context(), rows.Columns)
	if err != nil {
		t.Fatal(err)
	}
	if err = s.Write(t.Context(), 1, rows); err != nil {
		if again := s.Write(t.Context(), 2, rows); again != err {
			t.Errorf("got %v, then %v", err, again)
		}
	}
	if closing := s.Close(); err == nil {
		err = closing
	} else if closing != nil {
		t.Errorf("Close says it again: %v", closing)
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want that the disk is full, and %s", err, path)
	}
}

// TestTimerFails: what a timer's file has met is told by the next call.
func TestTimerFails(t *testing.T) {
	for _, closing := range []bool{true, false} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := Folder(dir)
			s.through = func(w io.Writer) io.Writer { return &failing{w, 10} }
			if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, sample())); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * DefaultEvery)
			synctest.Wait()
			var err error
			if !closing {
				err = s.Write(t.Context(), 2, sample())
			}
			err = errors.Join(err, s.Close())
			if !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("got %v, want once that the disk is full", err)
			}
			if got := names(t, dir); len(got) != 0 {
				t.Errorf("there are %q", got)
			}
		})
	}
}

// TestFullDisk runs itself in a mount namespace of its own, where a disk of 1 MiB is.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("CANCHA_SMALL_DISK"); dir != "" {
		path := filepath.Join(dir, "a.parquet")
		checkFull(t, Sink(path), path)
		folder := filepath.Join(dir, "folder")
		few := stream.NewRows(columns()...)
		few.Append(stream.IntOf(1), stream.TextOf("a"), stream.Value{}, stream.Value{}, stream.Value{}, stream.Value{}, stream.Value{})
		s := Folder(folder).Rows(1)
		if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, few), s.Close()); err != nil {
			t.Fatal(err)
		}
		checkFull(t, Folder(folder), folder)
		if got := names(t, folder); len(got) != 1 || len(content(t, filepath.Join(folder, got[0]))) != 2 {
			t.Errorf("there are %q, want the file from before", got)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"folder"}) {
			t.Errorf("there are %q", got)
		}
		return
	}
	dir := t.TempDir()
	mount := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs -o size=1m none "$1"`, "sh", dir)
	if text, err := mount.CombinedOutput(); err != nil {
		t.Skipf("no disk of our own here: unshare and mount: %v %s", err, text)
	}
	const within = `mount -t tmpfs -o size=1m none "$1" && CANCHA_SMALL_DISK=$1 exec "$0" -test.v -test.run '^TestFullDisk$'`
	self := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", within, os.Args[0], dir)
	text, err := self.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS: TestFullDisk") {
		t.Errorf("on a disk of 1 MiB: %v\n%s", err, text)
	}
}
