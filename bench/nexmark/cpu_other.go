//go:build !unix

package main

import "math"

// cpuSeconds is not known here.
func cpuSeconds() float64 { return math.NaN() }
