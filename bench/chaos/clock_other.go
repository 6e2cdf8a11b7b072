//go:build !(linux && amd64)

package main

import (
	"errors"
	"time"
)

const clocks = false

// clock would move the wall clock of this process: the few instructions that do are for Linux on amd64.
type clock struct{}

func newClock() (*clock, error) {
	return nil, errors.New("no clock of a process can be moved here: that takes Linux on amd64")
}

func (*clock) set(time.Duration) error { return nil }
