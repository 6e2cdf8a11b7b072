package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
)

// shown adds the pieces to a transcript and returns what is shown of each stream, the end included, and what is said.
func shown(tr *transcript, pieces ...cellio.Stream) (text, said string) {
	for _, p := range pieces {
		show, say := tr.add(p)
		text += show
		said += say
	}
	for i, s := range tr.end() {
		if i == 0 && tr.dropped > 0 {
			said += s.Text
			continue
		}
		text += s.Text
	}
	return text, said
}

// pieces is so many bytes on stdout, numbered lines of 100.
func pieces(bytes int) (all []cellio.Stream, text string) {
	var b strings.Builder
	for i := range bytes / 100 {
		fmt.Fprintf(&b, "%098dé\n", i)
	}
	text = b.String()[:bytes]
	for rest := text; rest != ""; {
		n := min(len(rest), 100_100)
		all = append(all, cellio.Stream{Name: "stdout", Text: rest[:n]})
		rest = rest[n:]
	}
	return all, text
}

func files(t *testing.T, folder string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestOutputIsShownWholeUpToTheLimit(t *testing.T) {
	for _, bytes := range []int{0, 1000, earlyMost, 5_000_000, 20_000_000} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "output")
			tr := &transcript{to: &overflow{folder: folder}}
			all, text := pieces(bytes)
			got, said := shown(tr, all...)
			if got != text || said != "" {
				t.Errorf("%d bytes are shown, and %q said; want all and nothing", len(got), said)
			}
			if left := files(t, folder); len(left) != 0 || tr.early != nil || tr.file != nil {
				t.Errorf("left: %v, %d bytes", left, len(tr.early))
			}
			want := "later"
			if bytes == shownMost+tailMost {
				want = "" // what the tail has taken is beyond what is shown as it comes
			}
			if show, _ := tr.add(cellio.Stream{Name: "stdout", Text: "later"}); show != want {
				t.Errorf("a goroutine's output after the end: %q is shown, want %q", show, want)
			}
		})
	}
}

func TestTheMiddleIsLeftOut(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "output")
	tr := &transcript{to: &overflow{folder: folder}, count: 7}
	all, text := pieces(21_000_000)
	all = append(all, cellio.Stream{Name: "stderr", Text: "last"})
	got, said := shown(tr, all...)
	text += "last"
	out := len(text) - len(got)
	if len(got) > 20_000_000 || len(got) < 19_999_000 || !strings.HasSuffix(got, text[len(text)-90_000:]) || !strings.HasPrefix(text, got[:19_800_000]) {
		t.Errorf("%d bytes are shown, want the first 19.9 MB and the last 100 kB", len(got))
	}
	left := files(t, folder)
	if len(left) != 1 || !strings.HasPrefix(filepath.Base(left[0]), "cell-7-") {
		t.Fatalf("files %v, want one of cell 7", left)
	}
	want := fmt.Sprintf("[%d bytes of output are left out here, from byte %d of %d on. The whole is in %s.]", out, tr.shown, len(text), left[0])
	if !strings.Contains(said, want) || !strings.Contains(said, "More than 20 MB") {
		t.Errorf("said %q, want %q", said, want)
	}
	kept, err := os.ReadFile(left[0])
	if err != nil || string(kept) != text {
		t.Errorf("the file has %d bytes, %v; want all %d", len(kept), err, len(text))
	}
	for path, want := range map[string]os.FileMode{folder: 0o700, left[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	show, say := tr.add(cellio.Stream{Name: "stdout", Text: "from a goroutine, later\n"})
	if show != "" || say != "" {
		t.Errorf("after the end: shown %q, said %q; want neither", show, say)
	}
	if kept, err = os.ReadFile(left[0]); err != nil || !strings.HasSuffix(string(kept), "later\n") || tr.file != nil {
		t.Errorf("what comes after the end is not kept: %v, open %v", err, tr.file != nil)
	}
}

// TestOutputAfterTheEnd is a goroutine's that goes on and on: nothing of it is held in memory or open.
func TestOutputAfterTheEnd(t *testing.T) {
	folder := t.TempDir()
	tr := &transcript{to: &overflow{folder: folder}}
	tr.end()
	all, text := pieces(21_000_000)
	var got, said string
	for _, p := range all {
		show, say := tr.add(p)
		got, said = got+show, said+say
	}
	if int64(len(got)) != shownMost || !strings.HasPrefix(text, got) || !strings.Contains(said, "its end is not shown either") {
		t.Errorf("%d bytes shown, %q said", len(got), said)
	}
	left := files(t, folder)
	if len(left) != 1 || tr.early != nil || len(tr.tail) != 0 || tr.file != nil || !strings.Contains(said, left[0]) {
		t.Fatalf("files %v, %d bytes in memory, said %q", left, len(tr.early)+len(tr.tail), said)
	}
	kept, err := os.ReadFile(left[0])
	if err != nil || string(kept) != text[tr.fileFrom:] || tr.fileFrom > tr.shown {
		t.Errorf("the file has %d bytes, %v, want those from %d on", len(kept), err, tr.fileFrom)
	}
}

func TestWhereOutputCannotBeKept(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, folder, want string
	}{
		{"nowhere", "", "It is not kept."},
		{"no folder can be made", filepath.Join(blocked, "x"), "It could not be kept in a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, text := pieces(21_000_000)
			got, said := shown(&transcript{to: &overflow{folder: c.folder}}, all...)
			if len(got) > len(text)-900_000 || !strings.Contains(said, c.want) {
				t.Errorf("%d bytes shown, said %q; want %q", len(got), said, c.want)
			}
		})
	}
}

// TestAFullDisk has the file fail in the middle: the cell goes on, and the file gives its room back.
func TestAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no device that is full: ", err)
	}
	tr := &transcript{to: &overflow{folder: t.TempDir()}}
	all, _ := pieces(21_000_000)
	for _, p := range all[:30] {
		tr.add(p)
	}
	path := tr.path
	if path == "" {
		t.Fatal("nothing is kept yet")
	}
	_ = tr.file.Close()
	tr.file = full
	_, said := shown(tr, all[30:]...)
	if !strings.Contains(said, "could not be kept") || !strings.Contains(said, "no space left") {
		t.Errorf("said %q", said)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

func TestOldFilesGo(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	for _, f := range []struct {
		name  string
		bytes int64
		age   time.Duration
	}{
		{"cell-1-new.txt", 1000, time.Minute},
		{"cell-2-week.txt", 1000, 8 * 24 * time.Hour},
		{"cell-3-large.txt", filesMost - fileMost, time.Hour},
		{"cell-4-after.txt", 10, 2 * time.Hour},
		{"other.txt", 1000, 8 * 24 * time.Hour},
	} {
		path := filepath.Join(folder, f.name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Truncate(path, f.bytes), os.Chtimes(path, now, now.Add(-f.age))); err != nil {
			t.Fatal(err)
		}
	}
	(&overflow{folder: folder}).sweep(now)
	var left []string
	for _, path := range files(t, folder) {
		left = append(left, filepath.Base(path))
	}
	if got, want := strings.Join(left, " "), "cell-1-new.txt other.txt"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
}
