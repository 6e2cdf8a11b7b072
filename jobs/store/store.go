package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/job"
)

// The buckets of the file.
var (
	bucketJobs   = []byte("jobs")   // jobs in JSON, by their number, which grows
	bucketIDs    = []byte("ids")    // numbers, and the state that its job was put down in, by id
	bucketStates = []byte("states") // nothing, by the state's place in job.States and the number
	bucketKeys   = []byte("keys")   // ids by key; an older version put down ids of jobs without a key under themselves
	bucketEnds   = []byte("ends")   // ids by the time at which they are forgotten
	bucketOutbox = []byte("outbox") // numbers of jobs whose result was not sent yet
	bucketEvents = []byte("events") // events in JSON, by their number
	bucketState  = []byte("state")  // epoch, measurements, counts
	keyEpoch     = []byte("epoch")
	keyLeft      = []byte("left") // the last epoch that was left in order
	keyMeasured  = []byte("measured")
	keyCounts    = []byte("counts")
)

// ErrHeld tells that another process has the folder open: it is the scheduler.
var ErrHeld = disk.ErrHeld

// ErrDeposed tells that the folder is this process's no more: another one has opened it since, or the folder was moved or removed. Nothing
// of the change was put down, and who gets it is not the scheduler any more.
var ErrDeposed = errors.New("another process has the jobs now")

// ErrUnknown tells that there is no such job, or not any more.
var ErrUnknown = errors.New("there is no such job; its time may be over")

// Store is an open folder. One goroutine changes it, and one may call Begin meanwhile; any may read.
type Store struct {
	file  *disk.File // jobs.db
	begun *disk.File // begun.db: attempts that have begun, until jobs.db has them
	hold  *disk.Hold
	epoch uint64
	left  bool
}

// Open opens a folder, which is made where it is not there. The error is ErrHeld where another process has it.
func Open(folder string) (*Store, error) {
	s, err := open(folder)
	if err != nil {
		return nil, fmt.Errorf("jobs/store: open %s: %w", folder, err)
	}
	return s, nil
}

func open(folder string) (s *Store, err error) {
	if err := disk.MakeFolder(folder); err != nil {
		return nil, err
	}
	s = &Store{}
	if s.hold, err = disk.TakeHold(folder); err != nil {
		return nil, err
	}
	if s.file, err = disk.Open(filepath.Join(folder, "jobs.db"), disk.Options{Form: form, Older: older(), Buckets: buckets()}); err != nil {
		return nil, errors.Join(err, s.hold.Release())
	}
	if s.begun, err = openBegun(folder); err != nil {
		return nil, errors.Join(err, s.file.Close(), s.hold.Release())
	}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Looks is how often Await looks whether the folder is free.
const Looks = 200 * time.Millisecond

// Await opens a folder as Open does, and waits where another process has it, as long as the context allows: the system frees it when that
// process ends, however it does. So a scheduler stands by. One that is only stopped keeps its folder, for what it has begun to write cannot
// be taken from it: whoever watches over it has to kill it. held, which may be nil, hears who has it, each time that it is another one.
func Await(ctx context.Context, folder string, held func(error)) (*Store, error) {
	for last := ""; ; {
		s, err := Open(folder)
		if !errors.Is(err, ErrHeld) {
			return s, err
		}
		if last != err.Error() && held != nil {
			held(err)
		}
		last = err.Error()
		select {
		case <-time.After(Looks):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
	}
}

func buckets() (names []string) {
	for _, b := range [][]byte{bucketJobs, bucketIDs, bucketKeys, bucketStates, bucketEnds, bucketOutbox, bucketEvents, bucketState} {
		names = append(names, string(b))
	}
	return names
}

// begin counts the epoch on, and takes over what had begun.
func (s *Store) begin() error {
	begun, err := s.beginnings()
	if err != nil {
		return err
	}
	err = s.file.Write(0, func(tx *disk.Tx) error {
		b := tx.Bucket(bucketState)
		last := number(b.Get(keyEpoch))
		s.epoch, s.left = last+1, last == number(b.Get(keyLeft))
		return errors.Join(takeOver(tx, begun), b.Put(keyEpoch, place(s.epoch)))
	})
	if err != nil {
		return err
	}
	return s.forgetBeginnings()
}

// Left tells that whoever had the folder before has left it in order, or that nobody had it.
func (s *Store) Left() bool { return s.left }

// Leave notes that all that was done is put down, and nothing else will be: the next one finds the folder left in order.
func (s *Store) Leave() error {
	if err := s.write(disk.Reserve, func(tx *disk.Tx) error { return tx.Bucket(bucketState).Put(keyLeft, place(s.epoch)) }); err != nil {
		return fmt.Errorf("jobs/store: leave: %w", err)
	}
	return nil
}

// Epoch is how often the folder has been opened, this time included.
func (s *Store) Epoch() uint64 { return s.epoch }

// Close closes the folder; another process may open it then.
func (s *Store) Close() error {
	if err := errors.Join(s.file.Close(), s.begun.Close(), s.hold.Release()); err != nil {
		return fmt.Errorf("jobs/store: close: %w", err)
	}
	return nil
}

// Event is something that has happened to a job.
type Event struct {
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	Job    string    `json:"job"`
	Type   string    `json:"type"`
	State  job.State `json:"state"`
	Worker string    `json:"worker,omitempty"`
	Text   string    `json:"text,omitempty"` // the reason, or the error
}

// Changes are what one transaction puts down.
type Changes struct {
	// Jobs are new, or others than they were. Of one that has ended the result is to be sent.
	Jobs   []*job.Job
	Events []Event // their numbers are given here
	// Sent are ids of jobs whose result was.
	Sent []string
	// Measured is the planner's history, and Counts what the scheduler counts; nil: as they are.
	Measured []byte
	Counts   map[string]int64
}

// Commit puts changes down: all, durably, or after an error none. The error is ErrDeposed where the folder is another process's.
func (s *Store) Commit(c *Changes) error {
	if err := s.write(0, c.write); err != nil {
		return fmt.Errorf("jobs/store: %w", err)
	}
	return nil
}

// write makes one transaction, of whose buckets it has looked whether they are still its own.
func (s *Store) write(extra int, do func(*disk.Tx) error) error {
	if err := s.hold.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrDeposed, err)
	}
	return s.file.Write(extra, func(tx *disk.Tx) error {
		if err := s.own(tx); err != nil {
			return err
		}
		return do(tx)
	})
}

func (s *Store) own(tx *disk.Tx) error {
	if e := number(tx.Bucket(bucketState).Get(keyEpoch)); e != s.epoch {
		return fmt.Errorf("%w: it was opened for the %d. time since, and this one is the %d.", ErrDeposed, e, s.epoch)
	}
	return nil
}

// Leads tells whether the folder is still this process's, before something is done that only its scheduler may do; ErrDeposed: it is not.
func (s *Store) Leads() error {
	if err := s.hold.Check(); err != nil {
		return fmt.Errorf("jobs/store: %w: %w", ErrDeposed, err)
	}
	return s.read(s.own)
}

func (c *Changes) write(tx *disk.Tx) error {
	for _, j := range c.Jobs {
		if err := putJob(tx, j); err != nil {
			return fmt.Errorf("put job %q: %w", j.ID, err)
		}
	}
	for _, id := range c.Sent {
		if e := lookUp(tx, id); e != nil {
			if err := tx.Bucket(bucketOutbox).Delete(e.number()); err != nil {
				return err
			}
		}
	}
	return errors.Join(putEvents(tx, c.Events), c.putState(tx.Bucket(bucketState)))
}

func (c *Changes) putState(b *disk.Bucket) error {
	if c.Measured != nil {
		if err := b.Put(keyMeasured, c.Measured); err != nil {
			return err
		}
	}
	if c.Counts == nil {
		return nil
	}
	text, err := json.Marshal(c.Counts)
	if err != nil {
		return err
	}
	return b.Put(keyCounts, text)
}

// entry is what stands at a job's id: its number, and the place of its state in job.States.
type entry []byte

func entryOf(n uint64, s job.State) entry { return append(place(n), stateByte(s)) }

func stateByte(s job.State) byte { return byte(slices.Index(job.States(), s)) }

func (e entry) number() []byte { return e[:8:8] }

func (e entry) state() job.State { return job.States()[e[8]] }

// listed is the entry's place on the list of those of its state.
func (e entry) listed() []byte { return append([]byte{e[8]}, e[:8]...) }

// lookUp returns a job's entry; nil: there is none. It is a copy: what the file returns does not outlive a change.
func lookUp(tx *disk.Tx, id string) entry {
	e := slices.Clone(tx.Bucket(bucketIDs).Get([]byte(id)))
	if len(e) != 9 || int(e[8]) >= len(job.States()) {
		return nil
	}
	return e
}

// putJob puts a job down, and each list on which it stands now.
func putJob(tx *disk.Tx, j *job.Job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	e := lookUp(tx, j.ID)
	switch {
	case e == nil:
		if e, err = add(tx, j); err != nil {
			return err
		}
	case e.state().Ended(): // of those that have not, which most are, nothing has to be read
		before, err := decode(tx.Bucket(bucketJobs).Get(e.number()))
		if err != nil {
			return err
		}
		if err := tx.Bucket(bucketEnds).Delete(forgotten(before)); err != nil {
			return err
		}
	}
	if e, err = e.moved(tx, j); err != nil {
		return err
	}
	if err := tx.Bucket(bucketJobs).Put(e.number(), text); err != nil {
		return err
	}
	if !j.State.Ended() {
		return tx.Bucket(bucketOutbox).Delete(e.number())
	}
	return errors.Join(tx.Bucket(bucketOutbox).Put(e.number(), nil), tx.Bucket(bucketEnds).Put(forgotten(j), []byte(j.ID)))
}

// moved takes a job from the list of one state to that of another.
func (e entry) moved(tx *disk.Tx, j *job.Job) (entry, error) {
	if e.state() == j.State {
		return e, nil
	}
	next := entry(append(e.number(), stateByte(j.State)))
	return next, errors.Join(tx.Bucket(bucketStates).Delete(e.listed()), tx.Bucket(bucketStates).Put(next.listed(), nil),
		tx.Bucket(bucketIDs).Put([]byte(j.ID), next))
}

// find returns a job and its entry; nil: there is none.
func find(tx *disk.Tx, id string) (e entry, j *job.Job, err error) {
	if e = lookUp(tx, id); e == nil {
		return nil, nil, nil
	}
	j, err = decode(tx.Bucket(bucketJobs).Get(e.number()))
	return e, j, err
}

func decode(text []byte) (*job.Job, error) {
	j := &job.Job{}
	if err := json.Unmarshal(text, j); err != nil {
		return nil, fmt.Errorf("%w: a job that cannot be read: %w", disk.ErrDamaged, err)
	}
	return j, nil
}

// add gives a new job its number, and takes its key for it, unless it ends as another one does, or was refused since another one has the key:
// whose key that stays.
func add(tx *disk.Tx, j *job.Job) (entry, error) {
	jobs := tx.Bucket(bucketJobs)
	jobs.FillPercent = 0.9 // new ones come at the end
	next, err := jobs.NextSequence()
	if err != nil {
		return nil, err
	}
	e := entryOf(next, j.State)
	err = errors.Join(tx.Bucket(bucketIDs).Put([]byte(j.ID), e), tx.Bucket(bucketStates).Put(e.listed(), nil))
	if err != nil || j.Key == "" || j.SameAs != "" || j.State == job.Failed {
		return e, err
	}
	return e, tx.Bucket(bucketKeys).Put([]byte(j.Key), []byte(j.ID))
}

// forgotten is the place of an ended job on the list of those that are forgotten.
func forgotten(j *job.Job) []byte {
	return append(place(uint64(max(j.Ended.Add(j.Keep()).UnixNano(), 0))), j.ID...)
}

// mostEvents is how many are kept.
const mostEvents = 10_000

func putEvents(tx *disk.Tx, all []Event) error {
	b := tx.Bucket(bucketEvents)
	for _, e := range all {
		var err error
		if e.Number, err = b.NextSequence(); err != nil {
			return err
		}
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if err := errors.Join(b.Put(place(e.Number), text), b.Delete(place(e.Number-mostEvents))); err != nil {
			return err
		}
	}
	return nil
}

// Expire forgets jobs whose time is over at a moment, so many at most, and tells how many it was.
func (s *Store) Expire(now time.Time, most int) (n int, err error) {
	err = s.write(disk.Reserve, func(tx *disk.Tx) error {
		n = 0
		c := tx.Bucket(bucketEnds).Cursor()
		for k, id := c.First(); k != nil && n < most && len(k) >= 8 && number(k[:8]) <= uint64(now.UnixNano()); k, id = c.First() {
			k = slices.Clone(k)
			if err := errors.Join(forget(tx, string(id)), tx.Bucket(bucketEnds).Delete(k)); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("jobs/store: forget jobs whose time is over: %w", err)
	}
	return n, nil
}

// forget takes a job out; its key, too, unless another one has it.
func forget(tx *disk.Tx, id string) error {
	e, j, err := find(tx, id)
	if e == nil || err != nil {
		return err
	}
	key := []byte(cmp.Or(j.Key, j.ID)) // the id: of an older version
	if string(tx.Bucket(bucketKeys).Get(key)) == id {
		if err := tx.Bucket(bucketKeys).Delete(key); err != nil {
			return err
		}
	}
	n := e.number()
	return errors.Join(tx.Bucket(bucketIDs).Delete([]byte(id)), tx.Bucket(bucketStates).Delete(e.listed()), tx.Bucket(bucketJobs).Delete(n),
		tx.Bucket(bucketOutbox).Delete(n))
}

func place(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}
