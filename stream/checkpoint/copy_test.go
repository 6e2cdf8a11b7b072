package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"cancha/stream/internal/changelog"
)

// lame is a place that takes only so many snapshots.
type lame struct {
	Place
	left int
}

var errLame = errors.New("the machine is gone")

func (l *lame) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	if l.left--; l.left < 0 {
		return errLame
	}
	return l.Place.Write(ctx, unit, epoch, pieces)
}

// large writes snapshots of three epochs, all of which the newest needs: a snapshot repeats little of a state as large as this one.
func large(t *testing.T, place Place) *changelog.Log {
	t.Helper()
	l := changelog.New()
	for range 12 {
		l.Add(text(bytes.Repeat([]byte("x"), 40_000)))
	}
	for epoch := int64(1); epoch <= 3; epoch++ {
		write(t, place, l, epoch, epoch-1)
	}
	return l
}

// TestCopyCutShort: a copy that is cut short behind its mark or any of its snapshots is refused, and copied from nowhere, until it is made again, from what is
// newest then.
func TestCopyCutShort(t *testing.T) {
	for cut := range 4 {
		from, to := Folder(t.TempDir()), Folder(t.TempDir())
		l := large(t, from)
		if err := Copy(t.Context(), from, &lame{to, cut}, Whole); !errors.Is(err, errLame) {
			t.Fatalf("cut behind %d: %v", cut, err)
		}
		for name, err := range map[string]error{"load": second(Load(t.Context(), to, Whole)), "load another unit": second(Load(t.Context(), to, "partition 1")),
			"copy": Copy(t.Context(), to, Folder(t.TempDir()), Whole)} {
			if cut > 0 && (!errors.Is(err, ErrUnfinished) || !strings.Contains(err.Error(), "a copy of "+from.String())) {
				t.Errorf("cut behind %d: %s: %v, want it refused", cut, name, err)
			}
		}
		write(t, from, l, 4, 3)
		if err := Copy(t.Context(), from, to, Whole); err != nil {
			t.Fatalf("again, after it was cut behind %d: %v", cut, err)
		}
		if s, err := Load(t.Context(), to, Whole); err != nil || s.Header.Epoch != 4 || len(s.Sections["lane"].Items) != 12 {
			t.Errorf("cut behind %d and made again: %v, %v", cut, s, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestCopyToAnother: a place that a query has gone on from, or that has something else, is not written to.
func TestCopyToAnother(t *testing.T) {
	from, to := Folder(t.TempDir()), Folder(t.TempDir())
	written(t, from)
	write(t, to, changelog.New(), 2, 0)
	if err := Copy(t.Context(), from, to, Whole); err == nil || !strings.Contains(err.Error(), "has snapshots already") {
		t.Errorf("another snapshot 2: %v", err)
	}
	if epochs, err := to.List(t.Context(), Whole); len(epochs) != 1 || err != nil {
		t.Errorf("there are %v, %v, want the one that was there", epochs, err)
	}
	if err := Finished(t.Context(), to); err != nil {
		t.Errorf("the query that is there cannot go on: %v", err)
	}
	if err := Copy(t.Context(), Folder(t.TempDir()), Folder(t.TempDir()), Whole); err == nil {
		t.Error("a copy of nothing")
	}
}

// busy is a place whose snapshots another process replaces as soon as one of them is read.
type busy struct {
	Place
	goOn func()
}

func (b *busy) Read(ctx context.Context, unit string, epoch int64) ([]byte, error) {
	if f := b.goOn; f != nil {
		b.goOn = nil
		f()
	}
	return b.Place.Read(ctx, unit, epoch)
}

// TestCopyOfWhatGoesOn: another process goes on with the unit while it is copied, and removes the snapshots that were to be read.
func TestCopyOfWhatGoesOn(t *testing.T) {
	from, to := Folder(t.TempDir()), Folder(t.TempDir())
	large(t, from)
	err := Copy(t.Context(), &busy{from, func() {
		l := changelog.New()
		l.Add(text("new"))
		write(t, from, l, 4, 3)
		for epoch := range int64(4) {
			from.Remove(t.Context(), Whole, epoch)
		}
	}}, to, Whole)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load(t.Context(), to, Whole)
	if want := "4: head 4 1=new"; told(s) != want || err != nil {
		t.Errorf("loaded %q, %v, want %q", told(s), err, want)
	}
}
