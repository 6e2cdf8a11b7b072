package changelog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// number is an item whose value changes.
type number struct {
	n     int
	entry *Entry
}

func (x *number) Append(dst []byte) []byte { return fmt.Append(dst, x.n) }

// state is a state that changes at random, with its log.
type state struct {
	log  *Log
	live map[uint64]*number
	dice *rand.Rand
}

// change adds, changes and removes some items.
func (s *state) change(times int) {
	for range times {
		switch known := slices.Sorted(maps.Keys(s.live)); {
		case len(known) < 5 || len(known) < 60 && s.dice.IntN(3) == 0:
			x := &number{n: s.dice.IntN(1000)}
			x.entry = s.log.Add(x)
			s.live[x.entry.ID()] = x
		case s.dice.IntN(2) == 0:
			id := known[s.dice.IntN(len(known))]
			s.log.Remove(s.live[id].entry)
			delete(s.live, id)
		default:
			x := s.live[known[s.dice.IntN(len(known))]]
			s.log.Touch(x.entry)
			x.n++
		}
	}
}

func (s *state) texts() map[uint64]string {
	texts := map[uint64]string{}
	for id, x := range s.live {
		texts[id] = fmt.Sprint(x.n)
	}
	return texts
}

// TestAnyWindow changes a state at random, also while a snapshot of it is written, and after each snapshot reads the newest ones back, from Oldest on: they
// give the state as it was when the snapshot was begun. Now and then the state goes on from what was read.
func TestAnyWindow(t *testing.T) {
	s := &state{log: New(), live: map[uint64]*number{}, dice: rand.New(rand.NewPCG(1, 2))}
	var snapshots [][]byte
	for epoch := int64(1); epoch <= 500; epoch++ {
		s.change(s.dice.IntN(40))
		s.log.Begin(nil, epoch)
		want := s.texts()
		if s.dice.IntN(2) == 0 {
			s.log.Arrange()
		}
		for s.change(s.dice.IntN(30)); s.log.Step(1 + s.dice.IntN(5)); {
			s.change(s.dice.IntN(8))
		}
		snapshots = append(snapshots, s.log.End())
		oldest := s.log.Oldest(epoch)
		got, last := map[uint64]Saved{}, uint64(0)
		for i, b := range snapshots[oldest-1:] {
			put := func(id uint64, item []byte) { got[id] = Saved{ID: id, Epoch: oldest + int64(i), Bytes: item} }
			if !Read(b, Reader{put, func(id uint64) { delete(got, id) }, func(id uint64) { last = id }}) {
				t.Fatalf("epoch %d: not readable", epoch)
			}
		}
		texts := map[uint64]string{}
		for id, saved := range got {
			texts[id] = string(saved.Bytes)
		}
		if !maps.Equal(texts, want) {
			t.Fatalf("epoch %d, read from %d on: %v, want %v", epoch, oldest, texts, want)
		}
		if s.dice.IntN(10) == 0 {
			given := s.log.last
			if s.restart(got, last); s.log.last < last || last > given {
				t.Fatalf("epoch %d: the newest id is %d after a restart, and %d before; the snapshot says %d", epoch, s.log.last, given, last)
			}
		}
	}
}

// restart makes the state what snapshots have told.
func (s *state) restart(saved map[uint64]Saved, last uint64) {
	s.log, s.live = New(), map[uint64]*number{}
	s.log.Resume(last)
	for _, id := range slices.Sorted(maps.Keys(saved)) {
		x := &number{}
		fmt.Sscan(string(saved[id].Bytes), &x.n)
		x.entry = s.log.Restore(saved[id], x)
		s.live[id] = x
	}
	s.log.Restored()
}

// TestOldestMoves repeats what never changes, so that old snapshots can go.
func TestOldestMoves(t *testing.T) {
	l := New()
	for range 1000 {
		l.Add(&number{n: 1})
	}
	first := len(l.Write(nil, 1))
	if l.Write(nil, 2); l.Oldest(2) != 2 {
		t.Errorf("a small state is needed from %d on after epoch 2, want from 2", l.Oldest(2))
	}
	big := New()
	for range 300_000 {
		big.Add(&number{n: 123456789})
	}
	whole := len(big.Write(nil, 1))
	for epoch := int64(2); epoch < 3+repeats; epoch++ {
		if n := len(big.Write(nil, epoch)); n > 2*max(leastRepeated, whole/repeats) {
			t.Fatalf("epoch %d repeats %d of %d bytes", epoch, n, whole)
		}
	}
	if at := big.Oldest(2 + repeats); at < 2 {
		t.Errorf("after %d epochs snapshot %d is still needed, of %d bytes", repeats, at, first)
	}
}

func TestRestored(t *testing.T) {
	l := New()
	a := l.Restore(Saved{ID: 3, Epoch: 9, Bytes: []byte("1")}, &number{n: 1})
	l.Restore(Saved{ID: 5, Epoch: 4, Bytes: []byte("2")}, &number{n: 2})
	l.Restored()
	if l.Oldest(10) != 4 {
		t.Errorf("needed from %d on, want from 4, as before the restart", l.Oldest(10))
	}
	if e := l.Add(&number{n: 7}); e.ID() != 6 {
		t.Errorf("a new item has the id %d, want 6", e.ID())
	}
	l.Remove(a)
	got := map[uint64]string{}
	put, gone := func(id uint64, item []byte) { got[id] = string(item) }, func(id uint64) { got[id] = "gone" }
	if b := l.Write(nil, 10); !Read(b, Reader{put, gone, func(uint64) {}}) {
		t.Fatal("not readable")
	}
	if want := map[uint64]string{3: "gone", 5: "2", 6: "7"}; !maps.Equal(got, want) {
		t.Errorf("the first snapshot after a restart has %v, want %v", got, want)
	}
}

// TestIDsAreGivenOnce: the id of an item that is gone is given to no other after a restart either.
func TestIDsAreGivenOnce(t *testing.T) {
	l := New()
	l.Add(&number{n: 1})
	l.Remove(l.Add(&number{n: 2}))
	again := New()
	ignore := func(uint64) {}
	if !Read(l.Write(nil, 1), Reader{func(uint64, []byte) {}, ignore, again.Resume}) {
		t.Fatal("not readable")
	}
	if e := again.Add(&number{n: 3}); e.ID() != 3 {
		t.Errorf("the third item has the id %d, want 3", e.ID())
	}
}

func TestNil(t *testing.T) {
	var l *Log
	e := l.Add(&number{})
	l.Touch(e)
	l.Remove(e)
	if e != nil {
		t.Error("the nil log notes something")
	}
}

func TestBytes(t *testing.T) {
	b := BytesOf(AppendRow(AppendText(AppendBool(AppendFloat(AppendInt(nil, -5), 0.1), true), "x"), nil))
	if n, x, yes, s, row := b.Int(), b.Float(), b.Bool(), b.Text(), b.Row(0); n != -5 || x != 0.1 || !yes || s != "x" || len(row) != 0 || !b.Ok() {
		t.Errorf("read %v %v %v %q %v, %v", n, x, yes, s, row, b.Ok())
	}
	for _, wrong := range [][]byte{nil, {0xff}, AppendCount(nil, 1000), AppendInt(AppendInt(nil, 1), 2)} {
		b := BytesOf(wrong)
		b.Count()
		if b.Ok() {
			t.Errorf("%v is a count and nothing behind it", wrong)
		}
	}
}
