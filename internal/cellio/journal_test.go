package cellio

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// openTestJournal returns both sides' mappings of one file.
func openTestJournal(t *testing.T) (engine, kernel *Journal) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(JournalSize); err != nil {
		t.Fatal(err)
	}
	open := func() *Journal {
		j, err := OpenJournal(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(j.Close)
		return j
	}
	return open(), open()
}

func rest(j *Journal) string {
	var b strings.Builder
	j.Rest(func(cell int64, name string, text []byte) { fmt.Fprintf(&b, "%d %s %q;", cell, name, text) })
	return b.String()
}

// TestJournalHasWhatWaits: what an outlet was given has left or is in its journal, at every moment.
func TestJournalHasWhatWaits(t *testing.T) {
	engine, kernel := openTestJournal(t)
	var sent strings.Builder
	out := NewOutlet(func(f Frame) error { fmt.Fprintf(&sent, "%d %s;", f.Cell, f.Body); return nil })
	out.moment = time.Hour // nothing leaves by the clock
	out.Keep(engine)
	defer out.Close()
	out.Write(1, "stdout", []byte("a\n"))
	out.Write(1, "stdout", []byte("b\xc3"))
	if got, want := rest(kernel), `1 stdout "a\nb\xc3";`; got != want {
		t.Errorf("waits: got %s, want %s", got, want)
	}
	out.Write(2, "stderr", []byte("c"))
	if got, want := rest(kernel), `2 stderr "c";`; got != want {
		t.Errorf("after another source: got %s, want %s", got, want)
	}
	out.Write(1, "stdout", []byte("\xa9"))
	if got, want := rest(kernel), `1 stdout "é";`; got != want {
		t.Errorf("a rune that was torn: got %s, want %s", got, want)
	}
	out.Flush()
	if got := rest(kernel); got != "" {
		t.Errorf("after the flush: got %s", got)
	}
	if got, want := sent.String(), `1 {"name":"stdout","text":"a\nb"};2 {"name":"stderr","text":"c"};1 {"name":"stdout","text":"é"};`; got != want {
		t.Errorf("sent: got %s, want %s", got, want)
	}
}

// TestJournalWithoutCredit: all that waits for credit is there, of every source.
func TestJournalWithoutCredit(t *testing.T) {
	engine, kernel := openTestJournal(t)
	out := NewOutlet(func(Frame) error { return nil })
	out.limited = true
	out.Keep(engine)
	defer out.Close()
	for range 3 {
		out.Write(1, "stdout", []byte("a"))
		out.Write(1, "stderr", []byte("b"))
	}
	if got, want := rest(kernel), strings.Repeat(`1 stdout "a";1 stderr "b";`, 3); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDamagedJournal: a process that dies writes anything anywhere. Its kernel lives.
func TestDamagedJournal(t *testing.T) {
	engine, kernel := openTestJournal(t)
	engine.add(source{1, "stdout"}, []byte("hello"))
	engine.mem[journalHead+9] = 255 // longer than what counts
	if got, want := rest(kernel), `1 stdout "hello";`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	copy(engine.mem, bytes.Repeat([]byte{255}, 64))
	if got := rest(kernel); got == "" {
		t.Error("nothing was read")
	}
	for range 2 {
		engine.add(source{1, "stdout"}, make([]byte, JournalSize)) // has no room
	}
}

// TestStage: what has been read out of a pipe is the kernel's, once, whenever the engine ends.
func TestStage(t *testing.T) {
	engine, kernel := openTestJournal(t)
	is := func(when, want string) {
		t.Helper()
		if got := rest(kernel); got != want {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
	from := source{3, "stderr"}
	engine.add(source{3, "stdout"}, []byte("before "))
	place := engine.stage(from)
	is("nothing was read yet", `3 stdout "before ";`)
	n := copy(place, "PASS\n")
	is("read", `3 stdout "before ";3 stderr "PASS\n";`)
	engine.rewrite(nil)
	is("others have been sent", `3 stderr "PASS\n";`)
	engine.rewrite([]*entry{{source: source{3, "stdout"}, text: []byte("waits ")}})
	is("others wait", `3 stdout "waits ";3 stderr "PASS\n";`)
	engine.add(from, place[:n])
	is("kept", `3 stdout "waits ";3 stderr "PASS\n";`)
	engine.unstage(n)
	is("over", `3 stdout "waits ";3 stderr "PASS\n";`)
	copy(engine.stage(from), "x")
	is("read again, less than before", `3 stdout "waits ";3 stderr "PASS\n";3 stderr "x";`)
	engine.unstage(1)
	engine.stage(from)
	engine.unstage(-1)
	is("a read that failed", `3 stdout "waits ";3 stderr "PASS\n";`)
	var none *Journal
	if none.stage(from) != nil {
		t.Error("no journal has a stage")
	}
	none.unstage(5)
}
