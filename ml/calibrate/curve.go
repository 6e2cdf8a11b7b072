package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Method is how calibrated probabilities are found.
type Method string

// The methods, by scikit-learn's names.
const (
	// Sigmoid maps the probability p to 1 / (1 + exp(a p + b)), with the a and b of least log loss on smoothed outcomes (Platt 2000).
	Sigmoid Method = "sigmoid"
	// Isotonic maps it by the curve of least squared error that does not fall, linear between its points (Zadrozny and Elkan 2002).
	Isotonic Method = "isotonic"
	// Temperature takes all probabilities of a row to one power and scales them to a sum of 1, with the power of least log loss (Guo et al. 2017).
	Temperature Method = "temperature"
)

// curve maps the probability of one class; that of a temperature maps a row.
type curve struct {
	// Of isotonic: points, x ascending, y not falling. Of sigmoid: one point, a and b. Of temperature: one point, the power and 0.
	x, y []float64
}

// at maps a probability, by the sigmoid or the isotonic curve.
func (c curve) at(method Method, p float64) float64 {
	if method == Sigmoid {
		return expit(-(c.x[0]*p + c.y[0]))
	}
	i, found := slices.BinarySearch(c.x, p)
	switch {
	case math.IsNaN(p):
		return p
	case found:
		return c.y[i]
	case i == 0:
		return c.y[0]
	case i == len(c.x):
		return c.y[i-1]
	}
	return c.y[i-1] + (c.y[i]-c.y[i-1])*((p-c.x[i-1])/(c.x[i]-c.x[i-1]))
}

// expit is 1 / (1 + exp(−v)).
func expit(v float64) float64 {
	if v < 0 {
		e := math.Exp(v)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-v))
}

// sample is rows to learn a curve from.
type sample struct {
	p        []float64
	happened []bool
	weight   []float64
}

// same is by how little two probabilities differ that count as one, as in scikit-learn.
const same = 1e-15

// isotonic pools adjacent violators (Ayer et al. 1955): rows stand by their probability, and neighbours whose frequencies would fall become one block,
// until none do.
func (s sample) isotonic() curve {
	type block struct{ from, to, sum, weight float64 }
	var blocks []block
	for _, b := range s.points() {
		blocks = append(blocks, block{b.p, b.p, b.sum, b.weight})
		for n := len(blocks); n > 1 && blocks[n-2].sum*blocks[n-1].weight >= blocks[n-1].sum*blocks[n-2].weight; n-- {
			last := blocks[n-1]
			before := &blocks[n-2]
			before.to, before.sum, before.weight = last.to, before.sum+last.sum, before.weight+last.weight
			blocks = blocks[:n-1]
		}
	}
	var c curve
	for _, b := range blocks { // the ends of a block are all that lines between points need
		c.x, c.y = append(c.x, b.from), append(c.y, b.sum/b.weight)
		if b.to > b.from {
			c.x, c.y = append(c.x, b.to), append(c.y, b.sum/b.weight)
		}
	}
	return c
}

// point is the rows of one probability.
type point struct{ p, sum, weight float64 }

// points gathers rows by their probability; rows that weigh nothing are left out.
func (s sample) points() []point {
	order := make([]int, 0, len(s.p))
	for i := range s.p {
		if s.weight[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(s.p[a], s.p[b]), a-b) })
	var all []point
	for _, i := range order {
		if len(all) == 0 || s.p[i]-all[len(all)-1].p >= same {
			all = append(all, point{p: s.p[i]})
		}
		last := &all[len(all)-1]
		last.weight += s.weight[i]
		if s.happened[i] {
			last.sum += s.weight[i]
		}
	}
	return all
}

// mostSteps is more than Newton's method ever takes here: the loss is convex in two numbers.
const mostSteps = 100

// sigmoid fits a and b by Newton's method. Outcomes are smoothed as in section 2.2 of Platt's paper, so that classes that are told apart without a fault
// have a finite a.
func (s sample) sigmoid() (curve, error) {
	yes, no := 0.0, 0.0
	for i, h := range s.happened {
		if h {
			yes += s.weight[i]
		} else {
			no += s.weight[i]
		}
	}
	target := map[bool]float64{true: (yes + 1) / (yes + 2), false: 1 / (no + 2)}
	a, b := 0.0, math.Log((no+1)/(yes+1))
	loss := s.loss(a, b, target)
	for range mostSteps {
		da, db := s.step(a, b, target)
		size := 1.0
		for ; size > 1e-10; size /= 2 {
			if next := s.loss(a-size*da, b-size*db, target); next < loss {
				a, b, loss = a-size*da, b-size*db, next
				break
			}
		}
		if size <= 1e-10 || math.Abs(da)+math.Abs(db) < 1e-12*(1+math.Abs(a)+math.Abs(b)) {
			return curve{x: []float64{a}, y: []float64{b}}, nil
		}
	}
	return curve{}, fmt.Errorf("no sigmoid was found in %d steps", mostSteps)
}

// loss is that of a and b: −Σ w (t ln q + (1−t) ln(1−q)) with q = 1/(1+exp(a p + b)).
func (s sample) loss(a, b float64, target map[bool]float64) float64 {
	sum := 0.0
	for i, p := range s.p {
		v := -(a*p + b) // the logit of q
		sum += s.weight[i] * (math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) - target[s.happened[i]]*v)
	}
	return sum
}

// step is the Hessian's inverse times the gradient.
func (s sample) step(a, b float64, target map[bool]float64) (da, db float64) {
	var ga, gb, haa, hab, hbb float64
	for i, p := range s.p {
		q := expit(-(a*p + b))
		slope, bend := s.weight[i]*(target[s.happened[i]]-q), s.weight[i]*q*(1-q)
		ga, gb = ga+slope*p, gb+slope
		haa, hab, hbb = haa+bend*p*p, hab+bend*p, hbb+bend
	}
	const ridge = 1e-12 // equal probabilities leave a undetermined: then it stays
	haa, hbb = haa*(1+ridge)+ridge, hbb*(1+ridge)+ridge
	det := haa*hbb - hab*hab
	return (ga*hbb - gb*hab) / det, (gb*haa - ga*hab) / det
}

// tiny keeps the logarithm of a probability of 0 finite, as in scikit-learn.
const tiny = 1e-12

// temperature finds the power, between e^−10 and e^10, at which the loss neither falls nor rises: its slope only grows with the power.
func temperature(p [][]float64, labels []int, weights []float64) curve {
	row := make([]float64, len(p[0]))
	slope := func(power float64) (sum float64) {
		for i := range p {
			soften(row, p[i], power)
			sum -= weights[i] * math.Log(p[i][labels[i]]+tiny)
			for k, q := range row {
				sum += weights[i] * q * math.Log(p[i][k]+tiny)
			}
		}
		return sum
	}
	low, high := -10.0, 10.0
	for range 100 {
		if middle := (low + high) / 2; slope(math.Exp(middle)) < 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return curve{x: []float64{math.Exp(low)}, y: []float64{0}}
}

// soften sets dst to the probabilities p to a power, scaled to a sum of 1.
func soften(dst, p []float64, power float64) {
	most, sum := slices.Max(p), 0.0
	for k, v := range p {
		dst[k] = math.Exp(power * (math.Log(v+tiny) - math.Log(most+tiny)))
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}
