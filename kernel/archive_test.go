package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// keep returns a history in a folder, closed with the test, and what it logs.
func keep(t *testing.T, folder string) (*history, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	h := newHistory(newArchive(folder, slog.New(slog.NewTextHandler(log, nil))))
	t.Cleanup(h.close)
	return h, log
}

// session writes the history of a kernel that has left.
func session(t *testing.T, folder string, inputs ...string) {
	t.Helper()
	h, _ := keep(t, folder)
	for i, in := range inputs {
		h.add(i+1, int64(i+1), in)
	}
	h.close()
}

// text writes entries as "session:line input→output".
func text(entries []entry) string {
	var words []string
	for _, e := range entries {
		word := fmt.Sprintf("%d:%d %s", e.session, e.line, e.input)
		if e.output != nil {
			word += fmt.Sprintf("→%v", e.output)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func wantText(t *testing.T, what string, got []entry, want string) {
	t.Helper()
	if text(got) != want {
		t.Errorf("%s: got %s, want %s", what, text(got), want)
	}
}

func TestHistoryAcrossSessions(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "history")
	session(t, folder, "one", "two")
	session(t, folder, "three", "two")
	h, log := keep(t, folder)
	wantText(t, "before the first cell", h.tail(2), "2:1 three, 2:2 two")
	wantText(t, "the session before", h.lines(-1, 0, 0), "2:1 three, 2:2 two")
	h.add(1, 1, "four")
	h.setOutput(1, json.RawMessage(`{"text/plain":"4"}`))
	h.add(2, 2, "two")
	for _, c := range []struct {
		name string
		got  []entry
		want string
	}{
		{"tail", h.tail(3), "2:2 two, 3:1 four→4, 3:2 two"},
		{"all", h.tail(0), "1:1 one, 1:2 two, 2:1 three, 2:2 two, 3:1 four→4, 3:2 two"},
		{"this session by 0", h.lines(0, 0, 0), "3:1 four→4, 3:2 two"},
		{"this session by its number", h.lines(3, 1, 2), "3:1 four→4"},
		{"the session before", h.lines(-1, 1, 2), "2:1 three"},
		{"two before", h.lines(-2, 2, 0), "1:2 two"},
		{"by number", h.lines(1, 0, 0), "1:1 one, 1:2 two"},
		{"the last line of another", h.lines(1, -1, 0), "1:2 two"},
		{"one that never was", h.lines(9, 0, 0), ""},
		{"search", h.search("t*", 0, false), "1:2 two, 2:1 three, 2:2 two, 3:2 two"},
		{"search, last", h.search("t*", 2, false), "2:2 two, 3:2 two"},
		{"search, unique", h.search("t*", 0, true), "2:1 three, 3:2 two"},
	} {
		wantText(t, c.name, c.got, c.want)
	}
	h.close()
	again, _ := keep(t, folder)
	wantText(t, "output after a restart", again.lines(-1, 1, 2), "3:1 four→4")
	if log.Len() > 0 {
		t.Errorf("the log says %s", log)
	}
}

// TestHistoryFiles looks at what is on the disk: nothing before a first cell, and for others' eyes nothing at all.
func TestHistoryFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "history")
	h, _ := keep(t, folder)
	h.tail(0)
	if _, err := os.Stat(folder); err == nil {
		t.Error("a session without a cell has made a folder")
	}
	h.close()
	session(t, folder, "secret")
	for _, c := range []struct {
		path string
		want fs.FileMode
	}{{folder, 0o700 | fs.ModeDir}, {filepath.Join(folder, "00000001.jsonl"), 0o600}} {
		info, err := os.Stat(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != c.want {
			t.Errorf("%s has mode %v, want %v", c.path, info.Mode(), c.want)
		}
	}
}

// TestHistoryDamage: of what is no line of ours nothing is read, and nothing else is lost; the next cell begins a line of its own.
func TestHistoryDamage(t *testing.T) {
	folder := t.TempDir()
	session(t, folder, "one", "two", "three")
	path := filepath.Join(folder, "00000001.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, content, want string }{
		{"cut in the last line", string(raw[:len(raw)-5]), "1:1 one, 1:2 two"},
		{"a line of zeros", string(raw[:len(raw)/3+1]) + "\x00\x00\x00\n" + string(raw[len(raw)/3+1:]), ""},
		{"a line that is none", "nonsense\n" + string(raw), "1:1 one, 1:2 two, 1:3 three"},
		{"no lines", `{"line":-1,"input":"x"}` + "\n[]\n{}\n7\n\n", ""},
		{"empty", "", ""},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		h, _ := keep(t, folder)
		if c.name == "a line of zeros" {
			if got := len(h.tail(0)); got < 1 {
				t.Errorf("%s: got %d entries", c.name, got)
			}
			continue
		}
		wantText(t, c.name, h.tail(0), c.want)
	}
	for _, name := range []string{"x.jsonl", "00000002.jsonl~", "-0000003.jsonl", "0.jsonl", "00000007.jsonl.2"} {
		if err := os.WriteFile(filepath.Join(folder, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "00000008.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, _ := keep(t, folder)
	wantText(t, "files that are not ours", h.tail(0), "")
	h.add(1, 1, "x")
	wantText(t, "the next session", h.tail(0), "2:1 x")
}

// TestHistoryCutLine: a line that the disk has taken in part is not mixed with the next one.
func TestHistoryCutLine(t *testing.T) {
	folder := t.TempDir()
	f, err := createSessionFile(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.file.WriteString(`{"line":1,"inp`); err != nil {
		t.Fatal(err)
	}
	f.cut = true
	two := "two"
	if err := f.write(record{Line: 2, Input: &two}); err != nil {
		t.Fatal(err)
	}
	f.close()
	h, _ := keep(t, folder)
	wantText(t, "read", h.tail(0), "1:2 two")
}

// TestHistoryOfKernelsAtOnce: each has a number and a file of its own, and sees what the others write.
func TestHistoryOfKernelsAtOnce(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	hs := make([]*history, 8)
	for i := range hs {
		hs[i], _ = keep(t, folder)
	}
	for i, h := range hs {
		all.Go(func() {
			for line := range 50 {
				h.add(line+1, int64(line+1), fmt.Sprintf("h%d", i))
				h.tail(3)
			}
		})
	}
	all.Wait()
	sessions := map[int]bool{}
	for _, h := range hs {
		number, entries := h.own()
		if sessions[number] || len(entries) != 50 {
			t.Errorf("session %d has %d entries", number, len(entries))
		}
		sessions[number] = true
	}
	for _, h := range hs {
		h.close()
	}
	h, _ := keep(t, folder)
	if got := len(h.tail(0)); got != 8*50 {
		t.Errorf("got %d entries, want %d", got, 8*50)
	}
}

// TestHistoryIsBounded, in the file of one session and in their number; the file of a kernel that lives is left.
func TestHistoryIsBounded(t *testing.T) {
	folder := t.TempDir()
	f, err := createSessionFile(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 1<<20)
	for i := range 20 {
		if err := f.write(record{Line: i + 1, Input: &large}); err != nil {
			t.Fatal(err)
		}
	}
	a := newArchive(folder, slog.New(slog.DiscardHandler))
	var size int64
	for _, file := range a.files() {
		size += file.size
	}
	if size > sessionBytes+2<<20 || size < 3<<20 {
		t.Errorf("the session takes %d bytes, want no more than about %d", size, sessionBytes)
	}
	entries := a.read(0)
	if last := entries[len(entries)-1].line; last != 20 || entries[0].line != 20-len(entries)+1 {
		t.Errorf("it has lines %d to %d, want the last ones", entries[0].line, last)
	}
	for i := range archiveSessions + 5 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf(sessionName, i+2)), []byte(`{"line":1,"input":"x"}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.sweep()
	files := a.files()
	if n := len(files); n > archiveSessions+2 || n < archiveSessions {
		t.Errorf("%d files are left, want about %d", n, archiveSessions)
	}
	if oldest := files[len(files)-1]; oldest.session != 1 {
		t.Errorf("the oldest is %d, want that of the kernel that lives", oldest.session)
	}
	f.close()
}

// TestHistoryReadsNoMoreThanItShows: older sessions are left unread where the newer ones are enough.
func TestHistoryReadsNoMoreThanItShows(t *testing.T) {
	folder := t.TempDir()
	h, _ := keep(t, folder)
	for i := range 3 {
		var lines []byte
		for n := range historyEntries + 1 {
			lines = fmt.Appendf(lines, `{"line":%d,"input":"x"}`+"\n", n+1)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf(sessionName, i+1)), lines, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries := h.archive.read(0)
	if got, want := len(entries), historyEntries+1; got != want || entries[0].session != 3 {
		t.Errorf("%d entries were read, from session %d on; want %d of the last", got, entries[0].session, want)
	}
}

// TestHistoryWithoutADisk: a cell never waits, and the fault is logged once.
func TestHistoryWithoutADisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, log := keep(t, folder)
	for i := range 10 {
		h.add(i+1, int64(i+1), "x")
	}
	wantText(t, "this session", h.tail(2), "1:9 x, 1:10 x")
	h.close()
	if n := strings.Count(log.String(), "history is not kept"); n != 1 {
		t.Errorf("%d lines in the log, want one: %s", n, log)
	}
}

// TestHistoryOnADiskThatHangs: neither who writes nor who reads gets anything done.
func TestHistoryOnADiskThatHangs(t *testing.T) {
	folder := t.TempDir()
	h, log := keep(t, folder)
	a := h.archive
	a.begin = func() {} // a writer that gets nothing done
	large := strings.Repeat("x", 1<<20)
	began := time.Now()
	for i := range 30 {
		h.add(i+1, int64(i+1), large)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("cells waited %v", took)
	}
	if held := a.held.Load(); held > backlogBytes {
		t.Errorf("%d bytes wait for the disk", held)
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	goroutines := runtime.NumGoroutine()
	for range 2 {
		began = time.Now()
		if got := len(h.tail(0)); got != 30 {
			t.Errorf("got %d entries of this session, want 30", got)
		}
		if took := time.Since(began); took > 3*historyPatience {
			t.Errorf("the answer took %v", took)
		}
	}
	if more := runtime.NumGoroutine() - goroutines; more > 1 {
		t.Errorf("%d goroutines wait for the disk, want one", more)
	}
	h.close()
	if n := strings.Count(log.String(), "too slow"); n != 1 {
		t.Errorf("%d lines in the log, want one: %s", n, log)
	}
}

// TestHistorySurvivesSIGKILL kills a process that writes all the time, and reads what it has left.
func TestHistorySurvivesSIGKILL(t *testing.T) {
	const variable = "HISTORY_TEST_FOLDER"
	if folder := os.Getenv(variable); folder != "" {
		h, _ := keep(t, folder)
		for i := 1; ; i++ {
			h.add(i, int64(i), strings.Repeat("y", i%1000))
			if i%100 != 0 {
				continue
			}
			for len(h.archive.backlog) > 0 {
				runtime.Gosched() // until the writer has taken all, and so written all but the last
			}
			fmt.Println(i)
		}
	}
	folder := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHistorySurvivesSIGKILL$")
	c.Env = append(os.Environ(), variable+"="+folder)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	for range 3 {
		if _, err := out.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	h, _ := keep(t, folder)
	entries := h.lines(1, 0, 0)
	if len(entries) < 100 {
		t.Fatalf("got %d entries, want at least 100", len(entries))
	}
	for i, e := range entries {
		if e.line != i+1 || e.input != strings.Repeat("y", (i+1)%1000) {
			t.Fatalf("entry %d is %d %q", i, e.line, e.input)
		}
	}
	h.add(1, 1, "after")
	wantText(t, "the next session", h.lines(0, 0, 0), "2:1 after")
}

// TestHistoryGoesOnAfterATurnThatFailed: the file was renamed, and there was no room for the next one.
func TestHistoryGoesOnAfterATurnThatFailed(t *testing.T) {
	folder := t.TempDir()
	f, err := createSessionFile(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { f.close() }()
	if err := os.Rename(filepath.Join(folder, fmt.Sprintf(sessionName, 1)), filepath.Join(folder, fmt.Sprintf(olderName, 1))); err != nil {
		t.Fatal(err)
	}
	f.records = sessionEntries / 2
	input := "x"
	if err := f.write(record{Line: 1, Input: &input}); err != nil {
		t.Error(err)
	}
}

// TestHistoryCountsOutputs: values take memory as inputs do.
func TestHistoryCountsOutputs(t *testing.T) {
	h := newHistory(nil)
	value, err := json.Marshal(map[string]string{"text/plain": strings.Repeat("v", 60<<10)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1000) {
		h.add(int(i), i, "x")
		h.setOutput(i, value)
		h.setOutput(i, value) // another value of the same cell takes its place
	}
	bytes := 0
	for _, e := range h.entries {
		bytes += e.size()
	}
	if bytes > historyBytes || bytes < historyBytes-64<<10 || bytes != h.bytes {
		t.Errorf("%d bytes are kept and %d counted, want at most %d", bytes, h.bytes, historyBytes)
	}
}
