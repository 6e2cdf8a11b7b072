package store

import (
	"errors"
	"slices"

	"cancha/jobs/internal/disk"
)

// form is the format of the file. A change that an older program would misread has another number, and older takes what was there before to it.
const form = "jobs 2"

// older are the steps from the formats before.
func older() map[string]disk.Migration {
	return map[string]disk.Migration{"jobs 1": {To: "jobs 2", Do: listStates}}
}

// listStates makes the lists of jobs by state, which took the place of one of the open jobs.
func listStates(tx *disk.Tx) error {
	states, err := tx.CreateBucketIfNotExists(bucketStates)
	if err != nil {
		return err
	}
	var ids [][]byte
	if err := tx.Bucket(bucketIDs).ForEach(func(id, _ []byte) error { ids = append(ids, slices.Clone(id)); return nil }); err != nil {
		return err
	}
	for _, id := range ids { // a bucket is not changed while one goes through it
		n := slices.Clone(tx.Bucket(bucketIDs).Get(id))
		j, err := decode(tx.Bucket(bucketJobs).Get(n))
		if err != nil {
			return err
		}
		e := entryOf(number(n), j.State)
		if err := errors.Join(tx.Bucket(bucketIDs).Put(id, e), states.Put(e.listed(), nil)); err != nil {
			return err
		}
	}
	if err := tx.DeleteBucket([]byte("open")); err != nil && !errors.Is(err, disk.ErrNoBucket) {
		return err
	}
	return nil
}
