package files

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"cancha/stream/internal/lineage"
)

// snapshot is one that a place keeps: the first process to write an epoch's number has it, as in checkpoint.Place.
type snapshot struct {
	id    ID
	rows  bool
	wrote ID // the last epoch whose rows were in the folder by then
}

// shelf is a place for snapshots that several processes share.
type shelf struct{ all []snapshot }

// newest is the last snapshot; zero: there is none.
func (p *shelf) newest() (s snapshot) {
	if n := len(p.all); n > 0 {
		return p.all[n-1]
	}
	return s
}

// member is a process of a group, which goes on with a unit step by step, as stream's keeper does. Between two steps others may do anything,
// for as long as they like.
type member struct {
	epochs *Epochs
	place  *shelf
	run    string
}

// process goes on from the newest snapshot and ends epochs. step waits for its next turn.
func (m *member) process(random *rand.Rand, step func()) error {
	for {
		from := m.place.newest()
		step()
		last, err := m.open(from, from.wrote)
		if err != nil && m.place.newest() != from {
			continue // the folder is that of a newer one
		} else if err != nil {
			return err
		}
		wrote := from.wrote
		if from.rows && last == from.id.Number {
			wrote = from.id
		}
		step()
		if from.rows && wrote != from.id { // its process may have died before it gave the rows out
			if err := m.write(from.id, step); errors.Is(err, lineage.ErrTakenOver) {
				continue
			} else if err != nil {
				return err
			}
			wrote = from.id
		}
		if err := m.epochsOf(from.id, wrote, random, step); !errors.Is(err, lineage.ErrTakenOver) {
			return err
		}
	}
}

// open opens the folder for what a snapshot says.
func (m *member) open(from snapshot, wrote ID) (last int64, err error) {
	return m.epochs.Open(State{Run: m.run, Query: "aaaaaaaa", Unit: "query", Known: from.id.Number > 0, Epoch: wrote.Number, Wrote: wrote, Snapshot: from.id})
}

// epochsOf ends epochs, until another process has ended one.
func (m *member) epochsOf(last, wrote ID, random *rand.Rand, step func()) error {
	for {
		now := snapshot{ID{m.run, last.Number + 1}, random.IntN(2) == 0, wrote}
		step()
		if m.place.newest().id.Number >= now.id.Number {
			return lineage.ErrTakenOver
		}
		m.place.all = append(m.place.all, now)
		step()
		if _, err := m.epochs.Revert("query"); err != nil {
			return err
		}
		if now.rows {
			if err := m.writeOwn(now, wrote, step); err != nil {
				return err
			}
			wrote = now.id
		}
		last = now.id
	}
}

// writeOwn writes the rows of an epoch, also where another process has come to the folder, but not to a snapshot.
func (m *member) writeOwn(now snapshot, wrote ID, step func()) error {
	for {
		step()
		err := m.write(now.id, step)
		if !errors.Is(err, lineage.ErrTakenOver) || m.place.newest().id != now.id {
			return err
		}
		last, err := m.open(now, wrote)
		if err != nil || last == now.id.Number {
			return err
		}
	}
}

// write writes the file of an epoch, with its name as its rows.
func (m *member) write(id ID, step func()) error {
	path, err := m.epochs.Next("query", id.Number, id.Run)
	if err != nil || path == "" {
		return err
	}
	step()
	return os.WriteFile(path, nil, 0o666)
}

// killed is the panic that ends a process.
type killed struct{}

// run runs processes by turns, which a random order gives and in which some die, until there are so many snapshots. It returns the first error of one.
func (p *shelf) run(dir string, random *rand.Rand, members, snapshots int) (failed error) {
	type process struct {
		turn, done chan bool // turn false: it dies
		over       bool
	}
	started := 0
	start := func() *process {
		started++
		m := &member{epochs: &Epochs{Dir: dir, Suffix: ".csv"}, place: p, run: fmt.Sprintf("%08d", started)}
		is, own := &process{turn: make(chan bool), done: make(chan bool)}, rand.New(rand.NewPCG(random.Uint64(), 1))
		step := func() {
			is.done <- true
			if !<-is.turn {
				panic(killed{})
			}
		}
		go func() {
			defer func() {
				if end := recover(); end != nil && end != any(killed{}) {
					panic(end)
				}
				is.over = true
				is.done <- true
			}()
			if <-is.turn {
				if err := m.process(own, step); err != nil {
					failed = errors.Join(failed, fmt.Errorf("run %s: %w", m.run, err))
				}
			}
		}()
		return is
	}
	all := make([]*process, members)
	for i := range all {
		all[i] = start()
	}
	end := func(i int) {
		if !all[i].over {
			all[i].turn <- false
			<-all[i].done
		}
	}
	for len(p.all) < snapshots && failed == nil {
		i := random.IntN(members)
		for range 1 + random.IntN(12) { // some are quick, and others are held up
			if all[i].over {
				break
			}
			all[i].turn <- true
			<-all[i].done
		}
		if all[i].over || random.IntN(10) == 0 {
			end(i)
			all[i] = start()
		}
	}
	for i := range all {
		end(i)
	}
	return failed
}

// TestMembers has processes of a group go on with one unit in turns of any length, and die anywhere. None is refused, and the folder has
// the rows of each snapshot's epoch once, but of the last one, whose process may have died before.
func TestMembers(t *testing.T) {
	for range 100 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		place, dir := &shelf{}, t.TempDir()
		if err := place.run(dir, random, 1+random.IntN(4), 12); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, place.all)
		}
		last := len(place.all) - 1
		place.all[last].rows = place.all[last].rows && slices.Contains(visible(t, &Epochs{Dir: dir}), fileOf(place.all[last].id))
		var want []string
		for _, s := range place.all {
			if s.rows {
				want = append(want, fileOf(s.id))
			}
		}
		if got := visible(t, &Epochs{Dir: dir}); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the folder has\n%q, want\n%q", seed, got, want)
		}
	}
}

// fileOf is the name of an epoch's file.
func fileOf(id ID) string { return fmt.Sprintf("aaaaaaaa-query-%012d-%s.csv", id.Number, id.Run) }
