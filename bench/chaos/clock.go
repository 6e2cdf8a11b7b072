package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// farthest is how far a clock jumps, forwards and backwards.
const farthest = 48 * time.Hour

// wander has the clock of this process jump, and jump again, until ctx ends. The true time is the latest if it is to stay back.
func wander(ctx context.Context, c *clock, seed uint64, back bool) {
	dice := rand.New(rand.NewPCG(seed, 3))
	for ctx.Err() == nil {
		by := time.Duration(dice.Int64N(int64(2*farthest))) - farthest
		if back {
			by = -by.Abs()
		}
		if err := c.set(by); err != nil {
			panic(err) // a trial that took this for a clock that jumps would say too much
		}
		idle(ctx, time.Duration(20+dice.IntN(180))*time.Millisecond)
	}
}

// idle waits, at most until ctx ends.
func idle(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
