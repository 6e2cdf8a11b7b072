package placement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// exact is a job of a type of its own that takes known times: its history has so many runs that nothing else matters.
func exactJob(h *History, id string, workers []Worker, times []float64) Job {
	w := Work{Type: id}
	for i, k := range workers {
		h.Restore(Measurement{Key{id, 0, k.Device, k.Model}, Average{Count: 1 << 40, Mean: math.Log(times[i]) - leastSigma*leastSigma/2}})
	}
	return Job{ID: id, Type: id, Work: w, Priority: 5}
}

func optimum(times [][]float64, free []float64) float64 {
	load := append([]float64(nil), free...)
	best := math.Inf(1)
	var visit func(j int, most float64)
	visit = func(j int, most float64) {
		if most >= best {
			return
		}
		if j == len(times) {
			best = most
			return
		}
		for m := range load {
			load[m] += times[j][m]
			visit(j+1, max(most, load[m]))
			load[m] -= times[j][m]
		}
	}
	start := 0.0
	for _, f := range free {
		start = max(start, f)
	}
	_ = start
	visit(0, 0)
	return best
}

func TestProbe(t *testing.T) {
	worst, over, n := 1.0, 0, 0
	sum := 0.0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := 2 + r.IntN(3)
		jobs := 2 + r.IntN(8)
		s := &search{left: 300000}
		var free []float64
		for k := range m {
			s.worker = append(s.worker, k)
			f := 0.0
			if r.IntN(3) == 0 {
				f = 3 * r.Float64()
			}
			free = append(free, f)
			s.gpu = append(s.gpu, false)
		}
		s.load = append([]float64(nil), free...)
		s.on = make([][]int, m)
		var idx []int
		for j := range jobs {
			row := make([]float64, m)
			base := math.Exp(r.NormFloat64())
			for k := range row {
				row[k] = base * math.Exp(1.5*r.NormFloat64())
			}
			s.times = append(s.times, row)
			s.at = append(s.at, nowhere)
			s.wishes = append(s.wishes, false)
			idx = append(idx, j)
		}
		opt := optimum(s.times, free)
		s.place(idx)
		got := 0.0
		for k := range m {
			if s.load[k] > free[k] {
				got = max(got, s.load[k])
			}
		}
		ratio := got / opt
		sum += ratio
		n++
		if ratio > worst {
			worst = ratio
		}
		if ratio > 1.1 {
			over++
		}
	}
	fmt.Println(worst, over, sum/float64(n))
}
