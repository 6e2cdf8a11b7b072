package main

import (
	"testing"
	"time"
)

// TestClock moves the wall clock of the test, and not the monotonic one.
func TestClock(t *testing.T) {
	c, err := newClock()
	if err != nil {
		t.Skip(err)
	}
	defer c.set(0)
	before := time.Now()
	for _, by := range []time.Duration{5 * time.Hour, -30 * time.Hour, 0} {
		if err := c.set(by); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if got := now.Round(0).Sub(before.Round(0)) - by; got < -time.Second || got > time.Minute { // Round takes the monotonic reading away
			t.Errorf("moved by %v: the wall clock is %v off", by, got)
		}
		if got := now.Sub(before); got < 0 || got > time.Minute {
			t.Errorf("moved by %v: the monotonic clock says that %v have passed", by, got)
		}
	}
}
