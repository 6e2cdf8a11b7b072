package placement

import (
	"fmt"
	"math"
)

// Rates are what a device can do, as its worker has measured them when it started. A rate of 0 is filled in from [Typical].
type Rates struct {
	Operations float64 `json:"operations"` // a second, of float32 in a matrix product
	Bandwidth  float64 `json:"bandwidth"`  // bytes a second, of its memory
	Transfer   float64 `json:"transfer"`   // bytes a second, between the machine's memory and the device's; of a CPU +Inf is meant, and any value is ignored
	Launch     float64 `json:"launch"`     // seconds of a launch
	Overhead   float64 `json:"overhead"`   // seconds of a job beside its work: reading its message, making its result
	Make       float64 `json:"make"`       // numbers a second that one core of the machine makes: it draws, writes and copies each
}

// Typical are the rates of a device of which nothing else is known: of a CPU those of two cores with 256-bit vectors, of a GPU those of a
// small one in a server (NVIDIA's T4, at half of what its data sheet says). They need not be right: measured runs correct them.
func Typical(d Device) Rates {
	if d == GPU {
		return Rates{Operations: 4e12, Bandwidth: 1.6e11, Transfer: 6e9, Launch: 2e-5, Overhead: 2e-3, Make: 2e8}
	}
	return Rates{Operations: 8e10, Bandwidth: 1.2e10, Launch: 1e-6, Overhead: 1e-3, Make: 2e8}
}

// or fills in what is 0 or no number from others.
func (r Rates) or(others Rates) Rates {
	fill := func(v *float64, other float64) {
		if !(*v > 0) || math.IsInf(*v, 0) {
			*v = other
		}
	}
	fill(&r.Operations, others.Operations)
	fill(&r.Bandwidth, others.Bandwidth)
	fill(&r.Transfer, others.Transfer)
	fill(&r.Launch, others.Launch)
	fill(&r.Overhead, others.Overhead)
	fill(&r.Make, others.Make)
	return r
}

// Validate reports a rate that no device has.
func (r Rates) Validate() error {
	for _, v := range []float64{r.Operations, r.Bandwidth, r.Transfer, r.Launch, r.Overhead, r.Make} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("placement: rates %+v: each is a number from 0, and 0 where it is unknown", r)
		}
	}
	return nil
}

// seconds is how long work takes on a device that does as its rates say:
//
//	overhead + made / make + launches·launch + max(operations / rate, bytes / bandwidth) + moved / transfer
//
// The maximum is the roofline model (Williams, Waterman and Patterson, Roofline: an insightful visual performance model, 2009): arithmetic
// and memory work at the same time, and the slower one decides. Only a GPU has bytes to move. The data is made by the machine's CPU on
// either device, before the work.
func (r Rates) seconds(d Device, w Work) float64 {
	r = r.or(Typical(d))
	s := r.Overhead + w.Made/r.Make + w.Launches*r.Launch + max(w.Operations/r.Operations, w.Bytes/r.Bandwidth)
	if d == GPU {
		s += w.Moved / r.Transfer
	}
	if !(s <= longest) { // of work that is not valid, too
		return longest
	}
	return s
}

// longest is what any time is at most, in seconds: 30 years, of which millions can be added up.
const longest = 1e9
