package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	stream "cancha/stream"
)

var kickOff = time.Date(2026, 3, 1, 15, 0, 0, 500_000_000, time.UTC)

func columns() []stream.Column {
	return []stream.Column{{Name: "id", Kind: stream.Int}, {Name: "name", Kind: stream.Text}, {Name: "x", Kind: stream.Float}, {Name: "when", Kind: stream.Time}}
}

func sample() *stream.Rows {
	rows := stream.NewRows(columns()...)
	rows.Append(stream.IntOf(1), stream.TextOf("Ada, \"Countess\"\nof Lovelace"), stream.FloatOf(0.1), stream.TimeOf(kickOff))
	rows.Append(stream.IntOf(2), stream.Value{}, stream.Value{}, stream.Value{})
	return rows
}

// TestOneWriterOfAFile: a second query, of another sink, is refused until the first has ended, also under another name of the file.
func TestOneWriterOfAFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.csv"), filepath.Join(dir, "link.csv")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	first := CSV(path)
	if err := first.Open(t.Context(), columns()); err != nil {
		t.Fatal(err)
	}
	for _, other := range []*Sink{CSV(path), JSONLines(link), CSV(path).Append()} {
		if err := other.Open(t.Context(), columns()); err == nil || !strings.Contains(err.Error(), "another query is writing it") {
			t.Errorf("got %v, want a refusal", err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := CSV(path)
	if err := errors.Join(again.Open(t.Context(), columns()), again.Close()); err != nil {
		t.Error(err)
	}
}

func TestSink(t *testing.T) {
	const (
		table = "id,name,x,when\n1,\"Ada, \"\"Countess\"\"\nof Lovelace\",0.1,2026-03-01T15:00:00.5Z\n2,,,\n"
		lines = `{"id":1,"name":"Ada, \"Countess\"\nof Lovelace","x":0.1,"when":"2026-03-01T15:00:00.5Z"}` + "\n" + `{"id":2}` + "\n"
	)
	for _, test := range []struct {
		file string
		sink func(path string) *Sink
		want string
	}{
		{"a.csv", CSV, table}, {"a.jsonl", JSONLines, lines},
		{"a.csv.gz", CSV, table}, {"a.jsonl.gz", JSONLines, lines}, {"a.jsonl.zst", JSONLines, lines},
	} {
		t.Run(test.file, func(t *testing.T) {
			path := write(t, t.TempDir(), test.file, strings.Repeat("old\n", 100))
			s := test.sink(path)
			if err := s.Open(t.Context(), columns()); err != nil {
				t.Fatal(err)
			}
			if err := s.Write(t.Context(), 1, sample()); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != test.want {
				t.Errorf("before Close: got %q, want %q", got, test.want)
			}
			if err := s.Write(t.Context(), 2, sample()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Close(), s.Close()); err != nil {
				t.Fatal(err)
			}
			want := test.want + strings.TrimPrefix(test.want, "id,name,x,when\n")
			if got := content(t, path); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			k, err := read(t, Source(path))
			if err != nil || len(k.values[0]) != 4 {
				t.Errorf("read back: got %q, %v, want 4 records", k.values[0], err)
			}
		})
	}
}

// content is what a file holds, unpacked as far as it goes.
func content(t *testing.T, path string) string {
	t.Helper()
	in, err := open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return string(text)
}

func TestSinkWithoutRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	s := CSV(path)
	if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, stream.NewRows(columns()...)), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, path), "id,name,x,when\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	one := stream.NewRows(stream.Column{Name: "a", Kind: stream.Text})
	one.Append(stream.Value{})
	one.Append(stream.TextOf("x"))
	if err := errors.Join(s.Write(t.Context(), 1, one), s.Close()); err != nil { // opened by Write
		t.Fatal(err)
	}
	if got, want := content(t, path), "a\n\"\"\nx\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	for range 2 {
		s := CSV(path).Append()
		if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, sample()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := read(t, Source(path)); err != nil || len(k.values[0]) != 4 {
		t.Errorf("got %q, %v, want 4 records", k.values[0], err)
	}
	for _, test := range []struct{ name, file, text, want string }{
		{"another header", "b.csv", "id,name\n1,2\n", "does not begin with"},
		{"half a line", "b.csv", "id,name,x,when\n1,2,", "not whole"},
		{"half a line of JSON", "b.jsonl", "{\"a\":", "not whole"},
		{"compressed", "b.jsonl.gz", gz(t, "1\n"), "compressed"},
	} {
		path := write(t, t.TempDir(), test.file, test.text)
		s := JSONLines(path).Append()
		if strings.HasSuffix(test.file, "csv") {
			s = CSV(path).Append()
		}
		if err := s.Open(t.Context(), columns()); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q and the file in it", test.name, err, test.want)
		}
		if text, _ := os.ReadFile(path); string(text) != test.text {
			t.Errorf("%s: the file is %q now", test.name, text)
		}
	}
}

// TestSinksKeepApart: neither what is read nor what another sink writes is written over.
func TestSinksKeepApart(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
	const text = "x\n1\n"
	if err := errors.Join(os.WriteFile(in, []byte(text), 0o600), os.Symlink(dir, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	alias, hard, odd := filepath.Join(dir, "alias.data"), filepath.Join(dir, "hard.data"), filepath.Join(dir, "odd[1]")
	if err := errors.Join(os.Symlink(in, alias), os.Link(in, hard), os.Mkdir(odd, 0o700), os.WriteFile(filepath.Join(odd, "a[1].csv"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	other := stream.Memory("t", [][]stream.Record{{{Value: []byte(`{"x":1}`)}}})
	for _, test := range []struct {
		name  string
		query *stream.Query
		want  string
	}{
		{"the file", stream.From(Source(in)).To(CSV(in)), "the query reads "},
		{"by a link", stream.From(Source(in)).To(CSV(filepath.Join(dir, "link", "in.csv"))), "the query reads "},
		{"a glob", stream.From(Source(filepath.Join(dir, "*.csv"))).To(CSV(out)), "the query reads "},
		{"a folder", stream.From(Source(dir).Follow()).To(CSV(out)), "the query reads "},
		{"a linked folder", stream.From(Source(filepath.Join(dir, "link")).Follow()).To(CSV(out)), "the query reads "},
		{"by a link of its own", stream.From(Source(alias)).To(CSV(in)), "the query reads "},
		{"to a link of its own", stream.From(Source(in)).To(CSV(alias)), "the query reads "},
		{"by another name", stream.From(Source(in)).To(CSV(hard)), "the query reads "},
		{"in a folder named like a pattern", stream.From(Source(filepath.Join(odd, "a[1].csv"))).To(CSV(filepath.Join(odd, "a[1].csv"))), "the query reads "},
		{"folders that match", stream.From(Source(filepath.Join(dir, "l*", "*.csv"))).To(CSV(filepath.Join(dir, "new.csv"))), "the query reads "},
		{"dead letters", stream.From(Source(in)).DeadLetters(JSONLines(in)), "the query reads "},
		{"two sinks", stream.From(other).To(CSV(out)).DeadLetters(JSONLines(out)), "two sinks write to "},
	} {
		_, err := test.query.Select("x").Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if got, err := os.ReadFile(in); string(got) != text {
		t.Errorf("what was read is now %q (%v)", got, err)
	}
	for name, query := range map[string]*stream.Query{
		"two files":    stream.From(Source(in)).To(CSV(out)).To(JSONLines(filepath.Join(dir, "out.jsonl"))),
		"hidden":       stream.From(Source(filepath.Join(dir, "*.csv"))).To(CSV(filepath.Join(dir, ".out.csv"))),
		"one device":   stream.From(Source(in)).To(CSV(os.DevNull)).DeadLetters(JSONLines(os.DevNull)),
		"other folder": stream.From(Source(filepath.Join(dir, "*.csv"))).To(CSV(filepath.Join(odd, "out.csv"))),
	} {
		running, err := query.Select("x").Start(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := running.Wait(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSinkErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none", "a.csv")
	if err := CSV(missing).Open(t.Context(), columns()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want that there is no such folder", err)
	}
	s := JSONLines(filepath.Join(dir, "a.jsonl"))
	if err := s.Open(t.Context(), columns()[:2]); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context(), columns()[:2]); err == nil {
		t.Error("a sink was opened twice")
	}
	if err := s.Write(t.Context(), 1, sample()); err == nil {
		t.Error("rows with other columns were written")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFullDisk: the error names the file, and comes again.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	for _, name := range []string{"a.csv", "a.jsonl", "a.csv.gz", "a.jsonl.zst"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.Symlink("/dev/full", path); err != nil {
			t.Fatal(err)
		}
		s := JSONLines(path)
		if strings.Contains(name, "csv") {
			s = CSV(path)
		}
		err := s.Open(t.Context(), columns())
		if err == nil { // without a header, the first row is too much
			err = s.Write(t.Context(), 1, sample())
			if again := s.Write(t.Context(), 2, sample()); again != err {
				t.Errorf("%s: got %v, then %v", name, err, again)
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "make room and run again") {
			t.Errorf("%s: got %v, want that the disk is full", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}

// TestFailedWrite: of a Write that fails nothing stays in the file.
func TestFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := JSONLines(path)
	if err := errors.Join(s.Open(t.Context(), columns()), s.Write(t.Context(), 1, sample())); err != nil {
		t.Fatal(err)
	}
	before := content(t, path)
	s.out = failing{s.file}
	big := stream.NewRows(columns()...)
	for range 50_000 {
		big.Append(stream.IntOf(1), stream.TextOf("a name that takes some room in the file"), stream.FloatOf(1), stream.TimeOf(kickOff))
	}
	if err := s.Write(t.Context(), 2, big); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want that the disk is full", err)
	}
	if got := content(t, path); got != before {
		t.Errorf("%d bytes are left, want %d", len(got), len(before))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// failing writes half of what it is given.
type failing struct{ f *os.File }

func (f failing) Write(p []byte) (int, error) {
	n, err := f.f.Write(p[:len(p)/2])
	return n, errors.Join(err, syscall.ENOSPC)
}

var (
	_ stream.Sink   = (*Sink)(nil)
	_ stream.Opener = (*Sink)(nil)
	_ stream.Closer = (*Sink)(nil)
)
