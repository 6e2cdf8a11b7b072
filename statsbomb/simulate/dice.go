package simulate

import (
	"math"
	"math/rand/v2"
)

// dice is a generator of one sequence of draws.
type dice struct{ *rand.Rand }

// The sequences that one seed gives; each match takes streamMatch, streamFrames plus its number.
const (
	streamLeague = 1 << 60
	streamMatch  = 2 << 60
	streamFrames = 3 << 60
	streamSquads = 4 << 60
)

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

func (d dice) chance(p float64) bool { return d.Float64() < p }

func (d dice) normal(mean, sd float64) float64 { return mean + sd*d.NormFloat64() }

func (d dice) between(low, high float64) float64 { return low + (high-low)*d.Float64() }

func (d dice) logNormal(median, sigma float64) float64 {
	return median * math.Exp(sigma*d.NormFloat64())
}

// pick returns an index, each as likely as its weight.
func (d dice) pick(weights ...float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at := d.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }

// mix hashes two numbers into one (the finalizer of splitmix64).
func mix(a, b uint64) uint64 {
	x := a + 0x9e3779b97f4a7c15*(b+1)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
