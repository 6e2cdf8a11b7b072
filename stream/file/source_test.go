package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/streamtest"
)

// TestALinkThatLeadsNowhere: what was to be read and is not there is an error, of a folder as of a pattern.
func TestALinkThatLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.jsonl", "{}\n")
	if err := os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "b.jsonl")); err != nil {
		t.Skip(err)
	}
	for _, pattern := range []string{dir, filepath.Join(dir, "*.jsonl")} {
		if _, err := read(t, Source(pattern)); err == nil || !strings.Contains(err.Error(), "b.jsonl") {
			t.Errorf("%s: got %v, want an error that names the link", pattern, err)
		}
	}
}

// suiteTopic is a folder with a file for each partition.
type suiteTopic struct{ dir string }

func (s suiteTopic) Append(t testing.TB, partition int, values ...[]byte) {
	var text strings.Builder
	for _, v := range values {
		text.Write(v)
		text.WriteByte('\n')
	}
	appendTo(t, filepath.Join(s.dir, fmt.Sprintf("%d.jsonl", partition)), text.String())
}

func (s suiteTopic) Source(testing.TB) stream.Source { return Source(s.dir).Follow() }

func TestSuite(t *testing.T) {
	streamtest.TestSource(t, func(t *testing.T, partitions int) streamtest.Topic {
		topic := suiteTopic{t.TempDir()}
		for p := range partitions {
			topic.Append(t, p)
		}
		return topic
	})
}

func TestRead(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for _, test := range []struct {
		name, file, text string
		want             []string
	}{
		{"empty", "a.jsonl", "", nil},
		{"one line", "a.jsonl", "{\"a\":1}\n", []string{`{"a":1}`}},
		{"no line break at the end", "a.jsonl", "1\n2", []string{"1", "2"}},
		{"line breaks of Windows", "a.jsonl", "1\r\n2\r\n", []string{"1", "2"}},
		{"empty lines", "a.jsonl", "\n1\n\n \t\n2\n\n", []string{"1", "2"}},
		{"byte order mark", "a.jsonl", "\xef\xbb\xbf1\n2\n", []string{"1", "2"}},
		{"a byte order mark alone", "a.csv", "\xef\xbb\xbf", nil},
		{"not JSON", "notes.txt", "hello\n", []string{"hello"}},
		{"gzip", "a.jsonl.gz", gz(t, "1\n2\n"), []string{"1", "2"}},
		{"gzip of two members", "a.jsonl.gz", gz(t, "1\n") + gz(t, "2\n"), []string{"1", "2"}},
		{"gzip of nothing", "a.jsonl.gz", gz(t, ""), nil},
		{"gzip of no byte", "a.jsonl.gz", "", nil},
		{"zstd", "a.jsonl.zst", zst(t, "1\n2\n"), []string{"1", "2"}},
		{"zstd of two frames", "a.jsonl.zst", zst(t, "1\n") + zst(t, "2\n"), []string{"1", "2"}},
		{"zstd of no byte", "a.jsonl.zst", "", nil},
		{"larger than the buffer", "a.jsonl", "1\n" + long + "\n" + long + "2\n3", []string{"1", long, long + "2", "3"}},
		{"CSV", "a.csv", "id,name\n7,Ada\n8,\n", []string{`{"id":"7","name":"Ada"}`, `{"id":"8","name":""}`}},
		{"CSV, empty", "a.csv", "", nil},
		{"CSV, header alone", "a.csv", "id,name", nil},
		{"CSV, quotes", "a.csv", "a,b\n\"x,\"\"y\"\"\",\"\"\n", []string{`{"a":"x,\"y\"","b":""}`}},
		{"CSV, line breaks within a field", "a.csv", "a,b\n\"1\n\n2\",\"3\r\n4\"\r\n5,6\r\n", []string{`{"a":"1\n\n2","b":"3\r\n4"}`, `{"a":"5","b":"6"}`}},
		{"CSV, a quoted field at the end of the file", "a.csv", "a\n\"1\"", []string{`{"a":"1"}`}},
		{"CSV, empty lines", "a.csv", "\na,b\n\n1,2\n\n", []string{`{"a":"1","b":"2"}`}},
		{"CSV, header of two lines", "a.csv", "\"a\nb\",\"c\"\"\"\n1,2\n", []string{`{"a\nb":"1","c\"":"2"}`}},
		{"CSV, byte order mark", "a.csv", "\xef\xbb\xbf\"a\"\n1\n", []string{`{"a":"1"}`}},
		{"CSV, a column without a name", "a.csv", ",b\n0,x\n", []string{`{"column_1":"0","b":"x"}`}},
		{"CSV, control characters", "a.csv", "a\n\x01\t\\\u00e9\n", []string{`{"a":"\u0001\t\\é"}`}},
		{"CSV, gzip", "a.csv.gz", gz(t, "a\n1\n"), []string{`{"a":"1"}`}},
		{"tabs", "a.tsv", "a\tb\n1,5\t2\n", []string{`{"a":"1,5","b":"2"}`}},
		{"CSV, a row larger than the buffer", "a.csv", "a\n\"" + long + "\n" + long + "\"\n1\n", []string{`{"a":"` + long + `\n` + long + `"}`, `{"a":"1"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, t.TempDir(), test.file, test.text)
			k, err := read(t, Source(path))
			if err != nil {
				t.Fatal(err)
			}
			if got := k.values[0]; !slices.Equal(got, test.want) {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
			for i, offset := range k.offsets[0] {
				if offset != int64(i) {
					t.Errorf("record %d has offset %d", i, offset)
				}
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(test.want) > 0 && (!k.times[0].Equal(info.ModTime()) || k.high != int64(len(test.want))) {
				t.Errorf("got time %v, high watermark %d, want %v, %d", k.times[0], k.high, info.ModTime(), len(test.want))
			}
		})
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	semicolons := write(t, dir, "a.csv", "1;x\n2;y\n")
	k, err := read(t, Source(semicolons).Comma(';').Columns("n", "t"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := k.values[0], []string{`{"n":"1","t":"x"}`, `{"n":"2","t":"y"}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	odd := write(t, dir, "a.dat", "a,b\n1,2\n")
	if k, err = read(t, Source(odd).AsCSV()); err != nil {
		t.Fatal(err)
	}
	if got, want := k.values[0], []string{`{"a":"1","b":"2"}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if k, err = read(t, Source(semicolons).AsLines().From(map[int]int64{0: 1})); err != nil {
		t.Fatal(err)
	}
	if got, want := k.values[0], []string{"2;y"}; !slices.Equal(got, want) || !slices.Equal(k.offsets[0], []int64{1}) {
		t.Errorf("from 1: got %q at %v, want %q at 1", got, k.offsets[0], want)
	}
	if k, err = read(t, Source(odd).AsCSV().From(map[int]int64{0: 1})); err != nil || len(k.values[0]) > 0 {
		t.Errorf("from the end: got %q, %v", k.values[0], err)
	}
	for name, f := range map[string]*Files{
		"a comma that is a quote": Source(odd).Comma('"'),
		"columns of one name":     Source(odd).Columns("a", "a"),
		"from behind the end":     Source(odd).From(map[int]int64{0: 3}),
	} {
		if _, err := read(t, f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMatches(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.jsonl", "a.jsonl.gz", "c.csv.zst", "d.json", "e.tsv", "f.ndjson", "README.md", ".hidden.jsonl", "part.jsonl.tmp"} {
		text := "x\n1\n"
		switch filepath.Ext(name) {
		case ".gz":
			text = gz(t, text)
		case ".zst":
			text = zst(t, text)
		}
		write(t, dir, name, text)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		files *Files
		want  int
	}{
		{"a folder", Source(dir), 6},
		{"a folder, all as lines", Source(dir).AsLines(), 8},
		{"a glob", Source(filepath.Join(dir, "*.jsonl*")), 3},
		{"a glob of hidden files", Source(filepath.Join(dir, ".*")), 1},
		{"a file", Source(filepath.Join(dir, "d.json")), 1},
	} {
		k, err := read(t, test.files)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if k.assigned != test.want || len(k.values) != test.want {
			t.Errorf("%s: got %d partitions, %d with records, want %d", test.name, k.assigned, len(k.values), test.want)
		}
	}
	k, _ := read(t, Source(filepath.Join(dir, "[ab].*")))
	if len(k.values[0]) != 2 || len(k.values[1]) != 2 || len(k.values) != 2 {
		t.Errorf("got %v", k.values)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	packed := gz(t, strings.Repeat(fmt.Sprintf("%0100d\n", rand.Uint64()), 50000))
	spoilt := []byte(gz(t, noise(3<<20)))
	spoilt[len(spoilt)*2/3] ^= 0x55
	flipped := []byte(gz(t, "1\n2\n"))
	flipped[len(flipped)-6] ^= 1 // of the checksum
	for _, test := range []struct {
		name    string
		files   func(path string) *Files
		file    string
		text    string
		records int // that are handed over before the error; -1 is some
		want    []string
	}{
		{"a line too long", func(p string) *Files { return Source(p).LineLimit(10) }, "a.jsonl", "1\n1234567890\n12345678901\n4\n", 2, []string{"line 3", "10 bytes"}},
		{"a last line too long", func(p string) *Files { return Source(p).LineLimit(10) }, "a.jsonl", "1\n12345678901", 1, []string{"line 2", "10 bytes"}},
		{"a line far too long", Source, "a.jsonl", "1\n" + strings.Repeat("x", 20<<20) + "\n", 1, []string{"line 2", "16777216 bytes"}},
		{"a row too long", func(p string) *Files { return Source(p).LineLimit(10) }, "a.csv", "a\n1\n\"123456\n789012\"\n", 1, []string{"line 3", "10 bytes"}},
		{"cut short", Source, "a.jsonl.gz", packed[:len(packed)/2], -1, []string{"ends in the middle", "byte", "behind line"}},
		{"spoilt", Source, "a.jsonl.gz", string(spoilt), -1, []string{"damaged", "byte", "behind line"}},
		{"a wrong checksum", Source, "a.jsonl.gz", string(flipped), 2, []string{"damaged", "checksum"}},
		{"no gzip", Source, "a.jsonl.gz", "{}\n{}\n{}\n{}\n{}\n", 0, []string{"damaged", "byte 1"}},
		{"rubbish behind gzip", Source, "a.jsonl.gz", gz(t, "1\n") + "rubbish, and more of it", 1, []string{"damaged"}},
		{"zstd cut short", Source, "a.jsonl.zst", zst(t, noise(1<<20))[:700000], -1, []string{"ends in the middle", "byte 700000"}},
		{"no zstd", Source, "a.jsonl.zst", "{}\n{}\n", 0, []string{"damaged"}},
		{"gzip by another name", Source, "a.jsonl", packed, 0, []string{"call the file .gz"}},
		{"zstd by another name", Source, "a.jsonl", zst(t, "1\n"), 0, []string{"call the file .zst"}},
		{"Parquet", Source, "a.jsonl", "PAR1\x00\x00", 0, []string{"Parquet"}},
		{"UTF-16", Source, "a.csv", "\xff\xfea\x00\n\x00", 0, []string{"UTF-16"}},
		{"CSV, Latin-1", Source, "a.csv", "a\nx\nM\xfcller\n", 1, []string{"line 3", "UTF-8"}},
		{"CSV, a field too many", Source, "a.csv", "a,b\n1,2\n1,2,3\n", 1, []string{"line 3", "3 fields", "header has 2"}},
		{"CSV, a field too few", Source, "a.csv", "a,b\n1,2\n\"1\n2\"\n", 1, []string{"line 4", "1 fields", "header has 2"}},
		{"CSV, a quote within a field", Source, "a.csv", "a,b\n1,2\n3,5\" pipe\n", 1, []string{"line 3", "field 2", "quote"}},
		{"CSV, text behind a quote", Source, "a.csv", "a,b\n\"1\"x,2\n", 0, []string{"line 2", "field 1", "'x'"}},
		{"CSV, a quote that never closes", Source, "a.csv", "a,b\n1,2\n\n3,\"x\n4,5\n", 1, []string{"line 4", "ends within"}},
		{"CSV, lines of old Macs", Source, "a.csv", "a,b\r1,2\r3,4\r", 0, []string{"line 1", "carriage return", "tr '"}},
		{"CSV, lines of old Macs without a header", func(path string) *Files { return Source(path).Columns("a", "b") }, "a.csv", "1,2\r3,4\r", 0,
			[]string{"line 1", "carriage return"}},
		{"CSV, quoted fields in lines of old Macs", Source, "a.csv", "\"a\",\"b\"\r\"1\",\"2\"\r", 0, []string{"line 1", "closing quote"}},
		{"CSV, one quoted field in lines of old Macs", Source, "a.csv", "\"a\",b\r1,2\r", 0, []string{"line 1", "carriage return"}},
		{"CSV, two columns of one name", Source, "a.csv", "a,b,a\n1,2,3\n", 0, []string{"line 1", "columns 1 and 3", `"a"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, t.TempDir(), test.file, test.text)
			k, err := read(t, test.files(path))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
			if n := len(k.values[0]); n != test.records && (test.records >= 0 || n == 0) {
				t.Errorf("%d records before the error, want %d: %v", n, test.records, err)
			}
		})
	}
	for _, pattern := range []string{filepath.Join(dir, "none.jsonl"), filepath.Join(dir, "*.jsonl"), dir, filepath.Join(dir, "[")} {
		if _, err := read(t, Source(pattern)); err == nil || !strings.Contains(err.Error(), pattern) {
			t.Errorf("got %v, want an error that names %s", err, pattern)
		}
	}
	if _, err := read(t, Source(filepath.Join(dir, "none.jsonl")).Follow()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
	if _, err := read(t, Source("/dev/null")); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("got %v, want that it is not a file", err)
	}
	if os.Geteuid() != 0 {
		path := write(t, dir, "closed.jsonl", "1\n")
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := read(t, Source(path)); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want that it is not permitted", err)
		}
	}
}

// noise is text that cannot be compressed much, in lines.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(33 + random.IntN(90))
		if i%100 == 99 {
			b[i] = '\n'
		}
	}
	return string(b)
}

func TestDamageIsNamed(t *testing.T) {
	path := write(t, t.TempDir(), "a.jsonl.gz", gz(t, noise(1<<20))[:400000])
	_, err := read(t, Source(path))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "byte 400000") {
		t.Errorf("got %v, want an unexpected end at byte 400000", err)
	}
}

// limited counts how many files are read at once, and fails at a value.
type limited struct {
	*keeper
	inside, most atomic.Int64
	fail         error
}

func (l *limited) Batch(ctx context.Context, b stream.Batch) error {
	l.most.Store(max(l.most.Load(), l.inside.Add(1)))
	defer l.inside.Add(-1)
	time.Sleep(time.Millisecond)
	if err := l.keeper.Batch(ctx, b); err != nil {
		return err
	}
	return l.fail
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		var text strings.Builder
		for line := range i * 10 {
			fmt.Fprintf(&text, "%d/%d\n", i, line)
		}
		write(t, dir, fmt.Sprintf("%03d.jsonl", i), text.String())
	}
	l := &limited{keeper: newKeeper()}
	if err := Source(dir).Run(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	for p := range 200 {
		if len(l.values[p]) != p*10 {
			t.Errorf("partition %d: got %d records, want %d", p, len(l.values[p]), p*10)
		}
		for i, v := range l.values[p] {
			if v != fmt.Sprintf("%d/%d", p, i) {
				t.Fatalf("record %d of partition %d is %s", i, p, v)
			}
		}
	}
	l.fail = errors.New("enough")
	if err := Source(dir).Run(t.Context(), l); !errors.Is(err, l.fail) {
		t.Errorf("got %v, want the handler's error", err)
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.jsonl")
	k, done, end := started(t, Source(dir).Follow())
	k.wait(t, "a note", func() bool { return len(k.notes) == 1 && strings.Contains(k.notes[0], dir) })
	appendTo(t, a, "1\n2")
	k.wait(t, "the first line", func() bool { return len(k.values[0]) == 1 })
	appendTo(t, a, "3\n")
	k.wait(t, "the second line", func() bool { return slices.Equal(k.values[0], []string{"1", "23"}) })
	b := write(t, dir, "b.csv", "a,b\n1,\"x")
	k.wait(t, "the second file", func() bool { return k.assigned == 2 })
	k.wait(t, "that it is idle", func() bool { return k.empty[1] > 0 })
	appendTo(t, b, "\ny\"\n2,z\n3,")
	k.wait(t, "its rows", func() bool { return slices.Equal(k.values[1], []string{`{"a":"1","b":"x\ny"}`, `{"a":"2","b":"z"}`}) })
	appendTo(t, b, "\n")
	k.wait(t, "its last row", func() bool { return len(k.values[1]) == 3 && k.values[1][2] == `{"a":"3","b":""}` })
	write(t, dir, ".c.jsonl.gz", gz(t, "7\n8"))
	if err := os.Rename(filepath.Join(dir, ".c.jsonl.gz"), filepath.Join(dir, "c.jsonl.gz")); err != nil {
		t.Fatal(err)
	}
	k.wait(t, "a packed file", func() bool { return slices.Equal(k.values[2], []string{"7", "8"}) })
	if err := os.Chtimes(a, time.Now(), time.Now()); err != nil { // touched, not changed
		t.Fatal(err)
	}
	empty := k.empty[0]
	k.wait(t, "that it is idle", func() bool { return k.empty[0] > empty+2 })
	end()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestFollowedFileChanges: whatever happens to a followed file but growth ends the run with the file's name.
func TestFollowedFileChanges(t *testing.T) {
	for _, test := range []struct {
		name, file, want string
		change           func(t *testing.T, path string) error
	}{
		{"cut short", "a.jsonl", "cut short, from 6 bytes to 3", func(_ *testing.T, path string) error { return os.Truncate(path, 3) }},
		{"emptied", "a.jsonl", "cut short, from 6 bytes to 0", func(_ *testing.T, path string) error { return os.Truncate(path, 0) }},
		{"removed", "a.jsonl", "removed", func(_ *testing.T, path string) error { return os.Remove(path) }},
		{"replaced", "a.jsonl", "replaced by another; 3 records", func(t *testing.T, path string) error {
			return os.Rename(write(t, filepath.Dir(path), "other", "1\n2\n3\n4\n"), path)
		}},
		{"written anew, longer", "a.jsonl", "written anew", func(_ *testing.T, path string) error {
			return overwrite(path, "7\n8\n9\n0\n")
		}},
		{"written anew, as long", "a.jsonl", "written anew", func(_ *testing.T, path string) error {
			time.Sleep(20 * time.Millisecond) // for another time
			return overwrite(path, "7\n8\n9\n")
		}},
		{"a packed file that grows", "a.jsonl.gz", "has grown after it was read", func(t *testing.T, path string) error {
			appendTo(t, path, gz(t, "4\n"))
			return nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "1\n2\n3\n"
			if strings.HasSuffix(test.file, ".gz") {
				text = gz(t, text)
			}
			path := write(t, t.TempDir(), test.file, text)
			k, done, _ := started(t, Source(path).Follow())
			k.wait(t, "the records", func() bool { return len(k.values[0]) == 3 })
			k.wait(t, "that there are no more", func() bool { return k.empty[0] > 0 })
			if err := test.change(t, path); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v, want %q and the file in it", err, test.want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the run goes on")
			}
		})
	}
}

// overwrite writes from the start of a file without cutting it short first.
func overwrite(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// TestReadOtherwise: how files are read decides what an offset counts, so a checkpoint of a source that is set otherwise is refused, with both in words.
func TestReadOtherwise(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "in.csv", "id,x\n1,2\n")
	settings := []func() *Files{
		func() *Files { return Source(path) },
		func() *Files { return Source(path).Columns("id", "x") },
		func() *Files { return Source(path).AsLines() },
		func() *Files { return Source(path).AsCSV() },
		func() *Files { return Source(path).Comma(';') },
	}
	for i, a := range settings {
		place := checkpoint.Folder(filepath.Join(dir, fmt.Sprint(i)))
		start := func(f *Files) error {
			return lives(stream.From(f).Select("id").Checkpoint(place), 0)
		}
		if err := start(a()); err != nil {
			t.Fatal(err)
		}
		for j, b := range settings {
			err := start(b())
			if i == j && err != nil || i != j && (err == nil || !strings.Contains(err.Error(), b().Identity())) {
				t.Errorf("%s, and then %s: got %v", a().Identity(), b().Identity(), err)
			}
		}
	}
}
