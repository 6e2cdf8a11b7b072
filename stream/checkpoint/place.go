package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"cancha/stream/internal/changelog"
)

// Place is where snapshots are kept: a folder (Folder), or a topic. Its methods may be called from several goroutines.
type Place interface {
	// String tells where it is, without passwords.
	String() string
	// List returns the epochs of the snapshots of a unit, the oldest first; none of a unit that nobody has written to.
	List(ctx context.Context, unit string) ([]int64, error)
	// Read returns the snapshot of an epoch as it was written.
	Read(ctx context.Context, unit string, epoch int64) ([]byte, error)
	// Write keeps a snapshot, for good and whole, when it returns without an error. It returns ErrTaken where there is one of that epoch already, or of a later
	// one: of two processes that go on from the same snapshot only one gets further, also where the other has been held up until that one has removed it.
	Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error
	// Remove forgets a snapshot; that it is not there is no error.
	Remove(ctx context.Context, unit string, epoch int64) error
}

// ErrUnfinished tells that a copy into a place was cut short: what is there is not all, and no query goes on from it.
var ErrUnfinished = errors.New("it is a savepoint that was cut short")

// ErrTaken tells that another process has written the snapshot of an epoch, or of a later one.
var ErrTaken = errors.New("another process has gone on from this checkpoint")

// Whole is the unit that is all of a query.
const Whole = "query"

// State is what the snapshots of a unit say, up to one of them.
type State struct {
	Header   Header
	Sections map[string]*Part
	Notes    []string // what a user should know of how it was found
	Newest   int64    // epoch of the newest snapshot that there is, which may be one that is damaged: it is not written again
}

// Part is a section of a state.
type Part struct {
	Head  []byte
	Items []changelog.Saved // by id
	Last  uint64            // the newest id that was given; 0: a snapshot of format 1 does not tell
}

// AppendHead appends what a section begins with, behind which its log writes.
func AppendHead(dst, head []byte) []byte { return changelog.AppendText(dst, string(head)) }

// Load reads the newest state of a unit that is whole; nil where there is none at all. Where the newest snapshot is damaged, the state is that of the one
// before, and says so. It is an error where snapshots are there and none of them can be loaded, and of a place into which a copy was not finished.
func Load(ctx context.Context, place Place, unit string) (*State, error) {
	if err := Finished(ctx, place); err != nil {
		return nil, err
	}
	_, state, err := load(ctx, place, unit)
	return state, err
}

// load is Load, with the snapshots that were read.
func load(ctx context.Context, place Place, unit string) (*chain, *State, error) {
	c := &chain{ctx: ctx, place: place, unit: unit, bytes: map[int64][]byte{}, read: map[int64]*Snapshot{}, wrong: map[int64]error{}}
	epochs, err := place.List(ctx, unit)
	if err != nil || len(epochs) == 0 {
		return c, nil, err
	}
	c.newest = epochs[len(epochs)-1]
	var notes []string
	for _, epoch := range slices.Backward(epochs) {
		s, err := c.state(epoch)
		if err == nil {
			s.Notes, s.Newest = notes, c.newest
			return c, s, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrNewer) {
			return c, nil, fmt.Errorf("checkpoint %s: snapshot %d: %w", place, epoch, err)
		}
		notes = append(notes, fmt.Sprintf("Snapshot %d of the checkpoint cannot be used: %v.", epoch, err))
	}
	return c, nil, fmt.Errorf("checkpoint %s: none of its %d snapshots can be used; the newest, %d: %w; give another place to begin anew", place, len(epochs),
		c.newest, c.first(c.newest))
}

// chain reads snapshots, each once.
type chain struct {
	ctx    context.Context
	place  Place
	unit   string
	newest int64 // epoch of the newest snapshot that there is; 0: none
	bytes  map[int64][]byte
	read   map[int64]*Snapshot
	wrong  map[int64]error
}

func (c *chain) first(epoch int64) error {
	_, err := c.state(epoch)
	return err
}

func (c *chain) snapshot(epoch int64) (*Snapshot, error) {
	if s, err := c.read[epoch], c.wrong[epoch]; s != nil || err != nil {
		return s, err
	}
	s, err := c.open(epoch)
	c.read[epoch], c.wrong[epoch] = s, err
	return s, err
}

func (c *chain) open(epoch int64) (*Snapshot, error) {
	b, err := c.place.Read(c.ctx, c.unit, epoch)
	if err != nil {
		return nil, err
	}
	s, err := Decode(b)
	if err != nil {
		return nil, err
	}
	if h := s.Header; h.Epoch != epoch || h.Unit != c.unit || h.Base < 1 || h.Base > epoch {
		return nil, fmt.Errorf("%w: it is of epoch %d of %q, from %d on", ErrForeign, h.Epoch, h.Unit, h.Base)
	}
	c.bytes[epoch] = b
	return s, nil
}

// state puts the snapshots together that one needs.
func (c *chain) state(epoch int64) (*State, error) {
	last, err := c.snapshot(epoch)
	if err != nil {
		return nil, err
	}
	needed, err := c.needed(last)
	if err != nil {
		return nil, err
	}
	s := &State{Header: last.Header, Sections: map[string]*Part{}}
	items := map[string]map[uint64]changelog.Saved{}
	for _, one := range slices.Backward(needed) {
		for _, section := range one.Sections {
			if err := s.take(section, one.Header.Epoch, items); err != nil {
				return nil, err
			}
		}
	}
	s.order(last, items)
	return s, nil
}

// needed are the snapshots that make the state of the last of them, that one first.
func (c *chain) needed(last *Snapshot) ([]*Snapshot, error) {
	needed := []*Snapshot{last}
	for one := last; one.Header.Previous >= last.Header.Base; {
		at := one.Header.Previous
		if at >= one.Header.Epoch {
			return nil, fmt.Errorf("%w: snapshot %d says that it goes on from %d", ErrForeign, one.Header.Epoch, at)
		}
		before, err := c.snapshot(at)
		if err != nil {
			return nil, fmt.Errorf("it needs snapshot %d: %w", at, err)
		}
		if before.Header.Query != last.Header.Query {
			return nil, fmt.Errorf("%w: snapshot %d is of another checkpoint", ErrForeign, at)
		}
		one = before
		needed = append(needed, one)
	}
	return needed, nil
}

// take takes a section of a snapshot in, over what older ones say.
func (s *State) take(section Section, epoch int64, items map[string]map[uint64]changelog.Saved) error {
	head, rest, ok := piece(section.Bytes)
	if !ok {
		return fmt.Errorf("%w: section %.100q of snapshot %d", ErrDamaged, section.Name, epoch)
	}
	of := items[section.Name]
	if of == nil {
		of = map[uint64]changelog.Saved{}
		items[section.Name] = of
	}
	part := &Part{Head: head}
	s.Sections[section.Name] = part
	if !changelog.Read(rest, changelog.Reader{
		Put:  func(id uint64, item []byte) { of[id] = changelog.Saved{ID: id, Epoch: epoch, Bytes: item} },
		Gone: func(id uint64) { delete(of, id) },
		Last: func(id uint64) { part.Last = id },
	}) {
		return fmt.Errorf("%w: section %.100q of snapshot %d", ErrDamaged, section.Name, epoch)
	}
	return nil
}

// order puts the items of the sections that the last snapshot has in order, and leaves out the others: they are of what is no more.
func (s *State) order(last *Snapshot, items map[string]map[uint64]changelog.Saved) {
	live := map[string]*Part{}
	for _, section := range last.Sections {
		part := s.Sections[section.Name]
		for _, item := range items[section.Name] {
			part.Items = append(part.Items, item)
		}
		slices.SortFunc(part.Items, func(a, b changelog.Saved) int { return compareIDs(a.ID, b.ID) })
		live[section.Name] = part
	}
	s.Sections = live
}

func compareIDs(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1 // ids of one section differ
}

// Copy copies the newest states of units to another place: the snapshots that make each, the oldest first. Until all are there the place is marked, and
// Load refuses it: without the mark a unit that has not come yet would begin anew beside those that have. Where it has been cut short it can be called
// again: what is there already must be what from has too, byte for byte. It is an error where there is nothing to be copied.
func Copy(ctx context.Context, from, to Place, units ...string) error {
	if err := Finished(ctx, from); err != nil {
		return err
	}
	for _, unit := range units { // before the mark: a query may have gone on from there, and must be able to go on again
		if _, err := copied(ctx, from, to, unit); err != nil {
			return err
		}
	}
	if err := mark(ctx, from, to); err != nil {
		return err
	}
	for _, unit := range units {
		if err := copyUnit(ctx, from, to, unit); err != nil {
			return err
		}
	}
	return to.Remove(ctx, marked, markEpoch)
}

// The mark of a place into which something is copied is a snapshot, in form, of a unit that no query has: each place can keep it.
const (
	marked    = "savepoint"
	markEpoch = 1
)

// mark marks a place, if it is not marked yet.
func mark(ctx context.Context, from, to Place) error {
	err := to.Write(ctx, marked, markEpoch, [][]byte{[]byte("a copy of " + from.String() + " is not finished")})
	if errors.Is(err, ErrTaken) {
		return nil
	}
	return err
}

// Finished returns ErrUnfinished of a place into which a copy has not come to its end.
func Finished(ctx context.Context, place Place) error {
	marks, err := place.List(ctx, marked)
	if err != nil || len(marks) == 0 {
		return err
	}
	of, err := place.Read(ctx, marked, marks[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("checkpoint %s: %w: %s; take the savepoint again, there or elsewhere", place, ErrUnfinished, of)
}

func copyUnit(ctx context.Context, from, to Place, unit string) error {
	c, state, err := settled(ctx, from, unit)
	if err != nil {
		return err
	}
	if state == nil {
		return fmt.Errorf("checkpoint %s has no snapshot to be copied", from)
	}
	needed, err := c.needed(c.read[state.Header.Epoch])
	if err != nil {
		return err // unreachable: the state has been made of them
	}
	there, err := copied(ctx, from, to, unit)
	if err != nil {
		return err
	}
	for _, s := range slices.Backward(needed) {
		epoch := s.Header.Epoch
		if slices.Contains(there, epoch) {
			continue
		}
		if err := to.Write(ctx, unit, epoch, [][]byte{c.bytes[epoch]}); err != nil {
			return err
		}
	}
	return nil
}

// settled loads the newest state of a unit, and anew where another process has gone on with it meanwhile: that one removes what its newest snapshot does not
// need, which was about to be read.
func settled(ctx context.Context, place Place, unit string) (*chain, *State, error) {
	for {
		c, state, err := load(ctx, place, unit)
		if err == nil && (state == nil || len(state.Notes) == 0) || ctx.Err() != nil {
			return c, state, err
		}
		epochs, failed := place.List(ctx, unit)
		if failed != nil || len(epochs) == 0 || epochs[len(epochs)-1] == c.newest {
			return c, state, err
		}
	}
}

// copied lists the snapshots of a unit that another place has of this one. It is an error where it has others: a query may have gone on from there.
func copied(ctx context.Context, from, to Place, unit string) ([]int64, error) {
	there, err := to.List(ctx, unit)
	if err != nil {
		return nil, err
	}
	for _, epoch := range there {
		b, err := to.Read(ctx, unit, epoch)
		if err != nil {
			return nil, err
		}
		of, err := from.Read(ctx, unit, epoch)
		if err != nil || !bytes.Equal(b, of) {
			return nil, fmt.Errorf("checkpoint %s has snapshots already, and %d is not, or not any more, one of %s: give an empty place", to, epoch, from)
		}
	}
	return there, nil
}
