package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/job"
)

// writeFirst writes a file as the first version did: numbers stand at ids, and open jobs have a list of their own.
func writeFirst(t *testing.T, folder string, all []*job.Job) {
	t.Helper()
	names := append(buckets(), "open")
	names = append(names[:3], names[4:]...) // without the states
	f, err := disk.Open(filepath.Join(folder, "jobs.db"), disk.Options{Form: "jobs 1", Buckets: names})
	if err != nil {
		t.Fatal(err)
	}
	err = f.Write(0, func(tx *disk.Tx) (err error) {
		for _, j := range all {
			n, failed := tx.Bucket(bucketJobs).NextSequence()
			text, failed2 := json.Marshal(j)
			err = errors.Join(err, failed, failed2, tx.Bucket(bucketJobs).Put(place(n), text),
				tx.Bucket(bucketIDs).Put([]byte(j.ID), place(n)), tx.Bucket(bucketKeys).Put([]byte(j.ID), []byte(j.ID)))
			if j.State.Ended() {
				err = errors.Join(err, tx.Bucket(bucketEnds).Put(forgotten(j), []byte(j.ID)))
			} else {
				err = errors.Join(err, tx.Bucket([]byte("open")).Put(place(n), nil))
			}
		}
		return err
	})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// The file of the first version is taken over with all that it has; and the next time it is one of this version.
func TestOlder(t *testing.T) {
	folder, at := t.TempDir(), time.Unix(1_800_000_000, 0).UTC()
	var all []*job.Job
	for i, state := range job.States() {
		j := &job.Job{Spec: job.Spec{ID: fmt.Sprint("j", i), Type: "t"}, State: state, Submitted: at}
		if state.Ended() {
			j.Ended = at
		}
		all = append(all, j)
	}
	writeFirst(t, folder, all)
	for range 2 {
		s, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range all {
			got, _, err := s.List(Query{States: []job.State{j.State}})
			if err != nil || len(got) != 1 || got[0].ID != j.ID {
				t.Errorf("%s: got %v, %v", j.State, got, err)
			}
		}
		var open []string
		if err := s.Open(func(j *job.Job) error { open = append(open, j.ID); return nil }); err != nil || fmt.Sprint(open) != "[j0 j1 j2]" {
			t.Errorf("got %v, %v", open, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, err := s.Expire(at.Add(48*time.Hour), 100); err != nil || n != 4 {
		t.Errorf("forgotten %d, %v", n, err)
	}
}

// An older version put down ids of jobs without a key as keys. They are none any more, and a job takes such a key.
func TestOlderKeys(t *testing.T) {
	folder, at := t.TempDir(), time.Unix(1_800_000_000, 0).UTC()
	old := &job.Job{Spec: job.Spec{ID: "k", Type: "t"}, State: job.Completed, Submitted: at, Ended: at}
	writeFirst(t, folder, []*job.Job{old})
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if j, err := s.ByKey("k"); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %+v, %v", j, err)
	}
	keyed := &job.Job{Spec: job.Spec{ID: "a", Key: "k", Type: "t"}, State: job.Queued, Submitted: at}
	if err := s.Commit(&Changes{Jobs: []*job.Job{keyed}}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Expire(at.Add(48*time.Hour), 100); err != nil || n != 1 {
		t.Errorf("forgotten %d, %v", n, err)
	}
	if j, err := s.ByKey("k"); err != nil || j.ID != "a" {
		t.Errorf("got %+v, %v", j, err)
	}
}

// A newer format, and another program's, are refused by their names; nothing is changed.
func TestNewer(t *testing.T) {
	for form, want := range map[string]string{
		"jobs 3":  `"jobs 3" of a newer version of this program, which knows up to "jobs 2"`,
		"jobs 0":  `"jobs 0" of a version before the first one`,
		"queues":  `"queues" of another program`,
		"jobs ab": `"jobs ab" of another program`,
		"1":       `"1" of another program`,
	} {
		folder := t.TempDir()
		for range 2 {
			f, err := disk.Open(filepath.Join(folder, "jobs.db"), disk.Options{Form: form})
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatalf("%s is not what it was: %v", form, err)
			}
			if s, err := Open(folder); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, %v, want %s", form, s, err, want)
			}
		}
	}
}

// A migration that fails leaves the file as it was.
func TestOlderDamaged(t *testing.T) {
	folder := t.TempDir()
	writeFirst(t, folder, []*job.Job{{Spec: job.Spec{ID: "a", Type: "t"}, State: job.Queued}})
	f, err := disk.Open(filepath.Join(folder, "jobs.db"), disk.Options{Form: "jobs 1"})
	if err == nil {
		err = f.Write(0, func(tx *disk.Tx) error { return tx.Bucket(bucketJobs).Put(place(1), []byte("no JSON")) })
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder); !errors.Is(err, disk.ErrDamaged) || !strings.Contains(err.Error(), `older format "jobs 1"`) {
		t.Errorf("got %v", err)
	}
	if f, err = disk.Open(filepath.Join(folder, "jobs.db"), disk.Options{Form: "jobs 1"}); err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Errorf("it is not as it was: %v", err)
	}
}
