package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/internal/alloctest"
	"cancha/stream/internal/changelog"
)

// text is an item of a state.
type text string

func (t text) Append(dst []byte) []byte { return append(dst, t...) }

// written are the snapshots of three epochs: in the second an item has changed, another is gone, and one is new.
func written(t testing.TB, place Place) {
	t.Helper()
	l := changelog.New()
	items := []*changelog.Entry{l.Add(text("a")), l.Add(text("b")), l.Add(text("c"))}
	write(t, place, l, 1, 0)
	l.Touch(items[0])
	l.Remove(items[1])
	l.Add(text("d"))
	write(t, place, l, 2, 1)
	write(t, place, l, 3, 2)
}

func write(t testing.TB, place Place, l *changelog.Log, epoch, previous int64) {
	t.Helper()
	s := Snapshot{Header: Header{Query: "q", Unit: Whole, Epoch: epoch, Previous: previous, Plan: []string{"read"}}}
	s.Sections = []Section{{Name: "lane", Bytes: l.Write(AppendHead(nil, fmt.Append(nil, "head ", epoch)), epoch)}}
	s.Header.Base = l.Oldest(epoch)
	pieces, err := s.Encode()
	if err == nil {
		err = place.Write(t.Context(), Whole, epoch, pieces)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// told is a state in a line.
func told(s *State) string {
	if s == nil {
		return "nothing"
	}
	p := s.Sections["lane"]
	line := fmt.Sprintf("%d: %s", s.Header.Epoch, p.Head)
	for _, item := range p.Items {
		line += fmt.Sprintf(" %d=%s", item.ID, item.Bytes)
	}
	return line
}

func TestLoad(t *testing.T) {
	place := Folder(filepath.Join(t.TempDir(), "of", "lwp"))
	if s, err := Load(t.Context(), place, Whole); s != nil || err != nil {
		t.Errorf("an empty place: %v, %v, want nothing", s, err)
	}
	written(t, place)
	s, err := Load(t.Context(), place, Whole)
	if got, want := told(s), "3: head 3 1=a 3=c 4=d"; got != want || err != nil {
		t.Errorf("loaded %q, %v, want %q", got, err, want)
	}
	if err := place.Write(t.Context(), Whole, 3, [][]byte{[]byte("x")}); !errors.Is(err, ErrTaken) {
		t.Errorf("wrote epoch 3 twice: %v, want ErrTaken", err)
	}
	if err := place.Remove(t.Context(), Whole, 1); err != nil {
		t.Fatal(err)
	}
	if err := place.Write(t.Context(), Whole, 1, [][]byte{[]byte("x")}); !errors.Is(err, ErrTaken) {
		t.Errorf("wrote epoch 1, which was removed, behind epoch 3: %v, want ErrTaken", err)
	}
}

// TestWrong damages the newest snapshot, and all of them, in each way that there is.
func TestWrong(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(b []byte) []byte
		what   string
		fatal  bool // even if those before are whole
	}{
		"a bit":     {func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, "damaged", false},
		"cut":       {func(b []byte) []byte { return b[:len(b)/2] }, "its end is missing", false},
		"cut short": {func(b []byte) []byte { return b[:5] }, "its end is missing", false},
		"empty":     {func(b []byte) []byte { return nil }, "its end is missing", false},
		"longer":    {func(b []byte) []byte { return append(b, 0) }, "damaged", false},
		"foreign":   {func(b []byte) []byte { return []byte("PAR1 this is a file of another kind") }, "no snapshot of Cancha", false},
		"no format": {func(b []byte) []byte { b = sealed(b); binary.LittleEndian.PutUint32(b[len(magic):], 0); return b }, "damaged", false},
		"newer":     {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[len(magic):], 99); return b }, "newer version", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			place := Folder(dir)
			written(t, place)
			spoil(t, place, 3, c.damage)
			s, err := Load(t.Context(), place, Whole)
			if c.fatal {
				if err == nil || !strings.Contains(err.Error(), c.what) || !strings.Contains(err.Error(), dir) {
					t.Errorf("error %v, want one that says %q and %s", err, c.what, dir)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := told(s), "2: head 2 1=a 3=c 4=d"; got != want || s.Newest != 3 {
				t.Errorf("loaded %q, newest %d, want %q and 3", got, s.Newest, want)
			}
			if notes := strings.Join(s.Notes, " "); !strings.Contains(notes, "Snapshot 3") || !strings.Contains(notes, c.what) {
				t.Errorf("notes %q, want what is wrong with snapshot 3: %s", notes, c.what)
			}
			spoil(t, place, 2, c.damage)
			spoil(t, place, 1, c.damage)
			if s, err := Load(t.Context(), place, Whole); err == nil || !strings.Contains(err.Error(), "none of its 3 snapshots") || !strings.Contains(err.Error(), c.what) {
				t.Errorf("of a place where all are damaged: %v, %v", s, err)
			}
		})
	}
}

func spoil(t *testing.T, place Place, epoch int64, damage func(b []byte) []byte) {
	t.Helper()
	b, err := place.Read(t.Context(), Whole, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place.(folder).file(Whole, epoch), damage(b), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestNeeded takes away the snapshots that the newest does not need, and then one that it does.
func TestNeeded(t *testing.T) {
	place := Folder(t.TempDir())
	l := changelog.New()
	big := text(bytes.Repeat([]byte("x"), 40_000))
	for range 4 {
		l.Add(big)
	}
	for epoch := int64(1); epoch <= 8; epoch++ {
		l.Add(text(fmt.Sprint(epoch)))
		write(t, place, l, epoch, epoch-1)
	}
	base := l.Oldest(8)
	if base <= 1 || base >= 8 {
		t.Fatalf("the oldest snapshot needed is %d: the test wants one between", base)
	}
	for epoch := range base {
		place.Remove(t.Context(), Whole, epoch)
	}
	s, err := Load(t.Context(), place, Whole)
	if err != nil || s.Header.Epoch != 8 || len(s.Sections["lane"].Items) != 12 {
		t.Fatalf("without those before %d: %v, want all 12 items of epoch 8", base, err)
	}
	place.Remove(t.Context(), Whole, base)
	if s, err := Load(t.Context(), place, Whole); err == nil {
		t.Errorf("without snapshot %d, which is needed: epoch %d", base, s.Header.Epoch)
	}
}

// TestOldFormat reads a snapshot of format 1, whose sections begin with their items.
func TestOldFormat(t *testing.T) {
	place := Folder(t.TempDir())
	section := append(AppendHead(nil, []byte("head")), 1, 7, 1, 0, 0, 0, 'a') // item 7, one byte long
	s := Snapshot{Header: Header{Query: "q", Unit: Whole, Epoch: 1, Base: 1}, Sections: []Section{{"lane", section}}}
	pieces, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Join(pieces, nil)
	binary.LittleEndian.PutUint32(b[len(magic):], 1)
	binary.LittleEndian.PutUint32(b[len(b)-4:], checksum(b[:len(b)-4]))
	if err := place.Write(t.Context(), Whole, 1, [][]byte{b}); err != nil {
		t.Fatal(err)
	}
	state, err := Load(t.Context(), place, Whole)
	if got, want := told(state), "1: head 7=a"; got != want || err != nil {
		t.Errorf("loaded %q, %v, want %q", got, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	place := Folder(f.TempDir())
	written(f, place)
	for epoch := int64(1); epoch <= 3; epoch++ {
		b, err := place.Read(f.Context(), Whole, epoch)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, sealed(b)} {
			alloctest.Bounded(t, len(b), func() {
				s, err := Decode(b)
				if err != nil {
					return
				}
				for _, section := range s.Sections {
					if _, rest, ok := piece(section.Bytes); ok {
						changelog.Read(rest, changelog.Reader{Put: func(uint64, []byte) {}, Gone: func(uint64) {}, Last: func(uint64) {}})
					}
				}
			})
		}
	})
}

// sealed is a snapshot whose length and checksum are right, whatever stands in it.
func sealed(b []byte) []byte {
	b = slices.Clone(b)
	if len(b) < fixed+4 {
		return b
	}
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[len(magic):], version)
	binary.LittleEndian.PutUint64(b[len(magic)+4:], uint64(len(b)))
	binary.LittleEndian.PutUint32(b[len(b)-4:], checksum(b[:len(b)-4]))
	return b
}

// TestAbandoned: what a killed process has left of a snapshot is removed once it is old, and what is being written is left alone.
func TestAbandoned(t *testing.T) {
	dir := t.TempDir()
	place := Folder(dir)
	for epoch := range int64(2) {
		if err := place.Write(t.Context(), Whole, epoch+1, [][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := filepath.Join(dir, Whole, "writing-1"), filepath.Join(dir, Whole, "writing-2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if err := place.Remove(t.Context(), Whole, 1); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, Whole))
	if err != nil || len(left) != 2 || left[1].Name() != "writing-2" {
		t.Errorf("left are %v, %v", left, err)
	}
}
