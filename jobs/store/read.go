package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"cancha/jobs/internal/disk"
	"cancha/jobs/job"
)

// Get returns a job; the error is ErrUnknown where there is none.
func (s *Store) Get(id string) (j *job.Job, err error) {
	err = s.read(func(tx *disk.Tx) error {
		if _, j, err = find(tx, id); j == nil && err == nil {
			err = fmt.Errorf("job %q: %w", id, ErrUnknown)
		}
		return err
	})
	return j, err
}

// ByKey returns the job that a key belongs to; the error is ErrUnknown where there is none. Ids are no keys.
func (s *Store) ByKey(key string) (j *job.Job, err error) {
	err = s.read(func(tx *disk.Tx) error {
		if _, j, err = find(tx, string(tx.Bucket(bucketKeys).Get([]byte(key)))); err == nil && (j == nil || j.Key != key) {
			err = fmt.Errorf("key %q: %w", key, ErrUnknown)
		}
		return err
	})
	return j, err
}

// Open calls a function with each job that has not ended, in the order in which they came.
func (s *Store) Open(each func(*job.Job) error) error {
	return s.read(func(tx *disk.Tx) error {
		w := walk(tx, []job.State{job.Queued, job.Assigned, job.Running}, first)
		for n := w.next(); n != nil; n = w.next() {
			j, err := decode(tx.Bucket(bucketJobs).Get(n))
			if err == nil {
				err = each(j)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Unsent calls a function with each job that has ended and whose result was not sent.
func (s *Store) Unsent(each func(*job.Job) error) error {
	return s.read(func(tx *disk.Tx) error {
		return tx.Bucket(bucketOutbox).ForEach(func(n, _ []byte) error {
			j, err := decode(tx.Bucket(bucketJobs).Get(n))
			if err != nil {
				return err
			}
			return each(j)
		})
	})
}

// Query says which jobs are asked for. The zero value is the last hundred.
type Query struct {
	States []job.State // nil: any
	Type   string      // "": any
	Worker string      // who had it last; "": any
	Limit  int         // 0: 100
	Skip   int         // so many that match are passed over: of the page before
}

// scanned is how many jobs a query for a type or a worker looks at: for a million it would take seconds. Those of a state are on a list of their own.
const scanned = 200_000

// List returns the jobs that match, the last that came first. more tells that there may be others behind them.
func (s *Store) List(q Query) (all []*job.Job, more bool, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	err = s.read(func(tx *disk.Tx) error {
		states := q.States
		if states == nil {
			states = job.States()
		}
		seen, skip, w := 0, q.Skip, walk(tx, states, last)
		for n := w.next(); n != nil; n = w.next() {
			if len(all) == limit || seen > scanned {
				more = true
				return nil
			}
			if skip > 0 && q.Type == "" && q.Worker == "" { // nothing of it has to be read
				skip--
				continue
			}
			seen++
			j, err := decode(tx.Bucket(bucketJobs).Get(n))
			if err != nil {
				return err
			}
			if !q.matches(j) {
				continue
			}
			if skip--; skip < 0 {
				all = append(all, j)
			}
		}
		return nil
	})
	return all, more, err
}

func (q Query) matches(j *job.Job) bool {
	return (q.Type == "" || q.Type == j.Type) && (q.Worker == "" || q.Worker == j.Worker)
}

// Events returns those behind a number, so many at most, and the number of the last there is. Of long ago there are none any more.
func (s *Store) Events(after uint64, most int) (all []Event, last uint64, err error) {
	err = s.read(func(tx *disk.Tx) error {
		c := tx.Bucket(bucketEvents).Cursor()
		for k, text := c.Seek(place(after + 1)); k != nil && len(all) < most; k, text = c.Next() {
			var e Event
			if err := json.Unmarshal(text, &e); err != nil {
				return fmt.Errorf("%w: event %d: %w", disk.ErrDamaged, number(k), err)
			}
			all = append(all, e)
		}
		last = tx.Bucket(bucketEvents).Sequence()
		return nil
	})
	return all, last, err
}

// State returns the planner's history and the counts, as they were put down last; nil: never.
func (s *Store) State() (measured []byte, counts map[string]int64, err error) {
	err = s.read(func(tx *disk.Tx) error {
		b := tx.Bucket(bucketState)
		measured = slices.Clone(b.Get(keyMeasured))
		if text := b.Get(keyCounts); text != nil {
			return json.Unmarshal(text, &counts)
		}
		return nil
	})
	return measured, counts, err
}

func (s *Store) read(do func(*disk.Tx) error) error {
	if err := s.file.Read(do); err != nil {
		return fmt.Errorf("jobs/store: %w", err)
	}
	return nil
}
