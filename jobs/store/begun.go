package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// formBegun is the format of begun.db.
const formBegun = "begun 1"

// bucketBegun has what is known of attempts that have begun, by the job's id.
var bucketBegun = []byte("begun")

// beginning is what begun.db has of an attempt.
type beginning struct {
	Submitted time.Time // tells the job from another one that had its id before
	Attempt   int
	Begun     int
	Started   time.Time
	Worker    string
	Device    placement.Device
	Model     string
}

func openBegun(folder string) (*disk.File, error) {
	return disk.Open(filepath.Join(folder, "begun.db"), disk.Options{Form: formBegun, Buckets: []string{string(bucketBegun), string(bucketState)}})
}

// Begin puts down that attempts have begun, durably, and may be called while Commit is under way. That has these jobs too, but among many
// others, and workers wait for this. The jobs are some that Commit has put down as given to a worker, in the same attempt. covered are ids
// of jobs with which Begin was called before, and of which Commit has told since. The error is ErrDeposed where the folder is another
// process's.
func (s *Store) Begin(jobs []*job.Job, covered []string) error {
	err := s.hold.Check()
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrDeposed, err)
	} else {
		err = s.begun.Write(0, func(tx *disk.Tx) error {
			return errors.Join(s.own(tx), putBeginnings(tx.Bucket(bucketBegun), jobs, covered))
		})
	}
	if err != nil {
		return fmt.Errorf("jobs/store: begin: %w", err)
	}
	return nil
}

func putBeginnings(b *disk.Bucket, jobs []*job.Job, covered []string) error {
	for _, id := range covered {
		if err := b.Delete([]byte(id)); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		text, err := json.Marshal(beginning{j.Submitted, j.Attempt, j.Begun, j.Started, j.Worker, j.WorkerType, j.Model})
		if err != nil {
			return err
		}
		if err := b.Put([]byte(j.ID), text); err != nil {
			return err
		}
	}
	return nil
}

// beginnings are those that are down.
func (s *Store) beginnings() (all map[string]beginning, err error) {
	all = map[string]beginning{}
	err = s.begun.Read(func(tx *disk.Tx) error {
		return tx.Bucket(bucketBegun).ForEach(func(id, text []byte) error {
			var b beginning
			if err := json.Unmarshal(text, &b); err != nil {
				return fmt.Errorf("%w: what has begun cannot be read: %w", disk.ErrDamaged, err)
			}
			all[string(id)] = b
			return nil
		})
	})
	return all, err
}

// takeOver puts beginnings into the jobs that do not have them: whoever had the folder before was killed before it could.
func takeOver(tx *disk.Tx, all map[string]beginning) error {
	for id, b := range all {
		_, j, err := find(tx, id)
		if err != nil {
			return err
		}
		if j == nil || !b.news(j) {
			continue
		}
		j.State, j.Begun, j.Started, j.Worker, j.WorkerType, j.Model = job.Running, b.Begun, b.Started, b.Worker, b.Device, b.Model
		if err := putJob(tx, j); err != nil {
			return err
		}
	}
	return nil
}

// news tells whether a job does not know of a beginning yet.
func (b beginning) news(j *job.Job) bool {
	return (j.State == job.Assigned || j.State == job.Running) && j.Submitted.Equal(b.Submitted) && j.Attempt == b.Attempt && j.Begun < b.Begun
}

// forgetBeginnings empties begun.db, for the epoch that is now.
func (s *Store) forgetBeginnings() error {
	return s.begun.Write(0, func(tx *disk.Tx) error {
		err := tx.DeleteBucket(bucketBegun)
		if err == nil {
			_, err = tx.CreateBucket(bucketBegun)
		}
		return errors.Join(err, tx.Bucket(bucketState).Put(keyEpoch, place(s.epoch)))
	})
}
