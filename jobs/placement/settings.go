package placement

import (
	"fmt"
	"math"
)

// Settings are how jobs are placed. The zero value is a good one.
type Settings struct {
	// Hysteresis is by which share something must be better for a job to move that was given, and below which a wish decides; 0: 0.05.
	Hysteresis float64
	// Explore is the share of jobs that may be sent where nothing is known of their kind; 0: 0.02; negative: none.
	Explore float64
	// Ahead is how many jobs a worker is given for each of its slots beside those that run; 0: 1. It hides the way of a message.
	Ahead int
	// AheadSeconds is for how long a worker has work at least, where there is any: of short jobs it is given more than Ahead; 0: 0.25.
	AheadSeconds float64
	// Ageing is after how many seconds of waiting a job counts as of the next higher priority; 0: 30.
	Ageing float64
	// Horizon is how many waiting jobs are placed together, those of the highest priority; 0: 256. Time grows with its square.
	Horizon int
	// Effort bounds the search of one plan, in placements looked at; 0: 300,000, which take some milliseconds. Few jobs need few.
	Effort int
	// Strategy decides in place of the planner's search; nil: none. Hysteresis, Explore and Effort do not count then.
	Strategy Strategy
}

func (s Settings) normalize() (Settings, error) {
	or := func(v *float64, usual float64) {
		if *v == 0 {
			*v = usual
		}
	}
	or(&s.Hysteresis, 0.05)
	or(&s.Explore, 0.02)
	or(&s.AheadSeconds, 0.25)
	or(&s.Ageing, 30)
	for v, usual := range map[*int]int{&s.Ahead: 1, &s.Horizon: 256, &s.Effort: 300_000} {
		if *v == 0 {
			*v = usual
		}
	}
	return s, s.validate()
}

func (s Settings) validate() error {
	within := func(v, from, to float64) bool { return v >= from && v <= to }
	switch {
	case !within(s.Hysteresis, 0, 1):
		return fmt.Errorf("placement: hysteresis %v; a share from 0 to 1, and 0 for 0.05", s.Hysteresis)
	case !within(s.Explore, math.Inf(-1), 1):
		return fmt.Errorf("placement: explore %v; a share up to 1, 0 for 0.02, and negative for none", s.Explore)
	case s.Ahead < 0 || !within(s.AheadSeconds, 0, longest):
		return fmt.Errorf("placement: %d jobs and %v s ahead; numbers from 0, and 0 for 1 and 0.25", s.Ahead, s.AheadSeconds)
	case !within(s.Ageing, 1e-3, longest):
		return fmt.Errorf("placement: ageing %v s; seconds for a priority, and 0 for 30", s.Ageing)
	case s.Horizon < 0 || s.Effort < 0:
		return fmt.Errorf("placement: horizon %d, effort %d; numbers from 0, and 0 for 256 and 300,000", s.Horizon, s.Effort)
	}
	return nil
}
