package scheduler

import (
	"cmp"
	"fmt"
	"time"

	"cancha/jobs/placement"
)

// Settings are how a scheduler works. The zero value is a good one.
type Settings struct {
	Placement placement.Settings
	// Lease is for how long a worker may be silent before its jobs are given to others; 0: 10 s. Workers beat five times as often.
	Lease time.Duration
	// Backoff is how long a job waits before its second attempt, doubled for each further one, up to MaxBackoff, and between half and one
	// and a half times of that at random, so that what failed together does not come back together; 0: 1 s, and 5 min.
	Backoff, MaxBackoff time.Duration
	// Unknown is after what time a job fails whose type none of the workers that are there runs, and none has ever run; 0: 30 s. One of a
	// type that was there before waits for it.
	Unknown time.Duration
	// Grace is for how long an attempt may go on after its timeout before it ends in the store, where its worker has not said how it ended;
	// 0: 30 s. Workers have a grace of their own, which is shorter: see worker.Config.
	Grace time.Duration
}

func (s Settings) normalize() (Settings, error) {
	s.Lease = cmp.Or(s.Lease, 10*time.Second)
	s.Backoff = cmp.Or(s.Backoff, time.Second)
	s.MaxBackoff = cmp.Or(s.MaxBackoff, 5*time.Minute)
	s.Unknown = cmp.Or(s.Unknown, 30*time.Second)
	s.Grace = cmp.Or(s.Grace, 30*time.Second)
	if s.Unknown < 0 || s.Grace < 0 {
		return s, fmt.Errorf("jobs/scheduler: Unknown is %v, Grace %v; each is a time from 0", s.Unknown, s.Grace)
	}
	if s.Lease < 100*time.Millisecond || s.Backoff < 0 || s.MaxBackoff < 0 {
		return s, fmt.Errorf("jobs/scheduler: lease %v, backoff %v to %v; a lease of 100 ms at least, and times from 0", s.Lease, s.Backoff, s.MaxBackoff)
	}
	return s, nil
}

// beats is how often a worker beats within a lease.
const beats = 5

// backoff is how long a job waits after so many attempts that have failed; random is from 0 to 1.
func (s Settings) backoff(failed int, random float64) time.Duration {
	wait := s.Backoff
	for range failed - 1 {
		if wait *= 2; wait >= s.MaxBackoff {
			wait = s.MaxBackoff
			break
		}
	}
	return time.Duration(float64(wait) * (0.5 + random))
}
