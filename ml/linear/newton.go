package linear

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"cancha/ml"

	"gonum.org/v1/gonum/mat"
)

// Config says how a regression is fitted. The zero value is a good one.
type Config struct {
	// Ridge is the penalty λ/2 Σ β² on the coefficients of standardized columns, intercepts excluded; the loss is the
	// sum over rows, so scikit-learn's C is 1/λ. 0: 1.
	Ridge      float64
	Iterations int // most Newton steps; 0: 50
}

func (c Config) normalize() (Config, error) {
	if c.Ridge == 0 {
		c.Ridge = 1
	}
	if c.Iterations == 0 {
		c.Iterations = 50
	}
	if !(c.Ridge > 0) || math.IsInf(c.Ridge, 0) || c.Iterations < 0 {
		return c, fmt.Errorf("linear: ridge %v and %d iterations; both are numbers from 0", c.Ridge, c.Iterations)
	}
	return c, nil
}

// check refuses data that no regression learns from.
func check(d *ml.Dataset) error {
	err := d.Validate()
	if err == nil {
		err = d.Complete()
	}
	if err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	if d.Rows() > 0 && d.Weights != nil && slices.Max(d.Weights) == 0 {
		return fmt.Errorf("linear: no row has a weight above 0")
	}
	return nil
}

// design is the standardized table, row-major, a leading 1 in each row for the intercept.
type design struct {
	rows, columns int // columns include the intercept
	values        []float64
	weights       []float64
	mean, scale   []float64
}

// newDesign standardizes a dataset. A constant column becomes 0, and so does its coefficient.
func newDesign(d *ml.Dataset) *design {
	n, p := d.Rows(), len(d.Features)
	x := &design{rows: n, columns: p + 1, values: make([]float64, 0, n*(p+1)), weights: make([]float64, n)}
	x.mean, x.scale = make([]float64, p), make([]float64, p)
	for k := range p {
		x.mean[k], x.scale[k] = moments(d, k)
	}
	for i := range n {
		x.weights[i] = d.Weight(i)
		x.values = append(x.values, 1)
		for k := range p {
			x.values = append(x.values, (d.At(i, k)-x.mean[k])/x.scale[k])
		}
	}
	return x
}

// moments returns mean and standard deviation of a column; of a constant one its value, exactly, and 1.
func moments(d *ml.Dataset, column int) (mean, scale float64) {
	if d.Constant(column) {
		return d.At(0, column), 1
	}
	n := float64(d.Rows())
	for i := range d.Rows() {
		mean += d.At(i, column) / n
	}
	most := 0.0 // squares are taken of shares of it: those of numbers near 0 vanish
	for i := range d.Rows() {
		most = max(most, math.Abs(d.At(i, column)-mean))
	}
	for i := range d.Rows() {
		v := (d.At(i, column) - mean) / most
		scale += v * v / n
	}
	return mean, most * math.Sqrt(scale)
}

// row returns row i of the design.
func (x *design) row(i int) []float64 { return x.values[i*x.columns : (i+1)*x.columns] }

// unscale turns coefficients of standardized columns into those of the columns themselves: the intercept first.
func (x *design) unscale(beta []float64) []float64 {
	out := make([]float64, len(beta))
	out[0] = beta[0]
	for k, b := range beta[1:] {
		out[k+1] = b / x.scale[k]
		out[0] -= b / x.scale[k] * x.mean[k]
	}
	return out
}

// sums are loss, gradient and Hessian of a part of the rows; only the lower triangle of the Hessian is filled.
type sums struct {
	loss     float64
	gradient []float64
	hessian  []float64
}

// parts is into how many blocks the rows are cut. It is fixed, and the blocks are added up in order, so the fit is the
// same on any number of cores.
const parts = 8

// newton minimizes a convex loss from the parameters beta on. Add adds rows [start, end) to sums at beta; penalized tells
// which parameters the ridge holds back.
func newton(c Config, rows int, beta []float64, penalized func(k int) bool, add func(s *sums, beta []float64, start, end int)) ([]float64, error) {
	now := evaluate(c, rows, beta, penalized, add)
	for range c.Iterations {
		if now.loss-now.loss != 0 {
			return nil, fmt.Errorf("linear: the loss is %v; scale targets and columns down", now.loss)
		}
		step, err := solve(now, len(beta))
		if err != nil {
			return nil, err
		}
		next, at, gain := search(c, rows, beta, step, now, penalized, add)
		if next == nil {
			return beta, now.least(step)
		}
		beta, now = at, next
		if gain < 1e-9*(1+math.Abs(now.loss)) {
			return beta, nil
		}
	}
	return nil, fmt.Errorf("linear: no convergence after %d Newton steps; raise Iterations or Ridge", c.Iterations)
}

// least returns an error unless the loss is at its least, up to rounding: half of gradient times step is by how much a
// quadratic function would still fall.
func (s *sums) least(step []float64) error {
	fall := 0.0
	for k, v := range step {
		fall += s.gradient[k] * v / 2
	}
	if fall < 1e-6*(1+math.Abs(s.loss)) {
		return nil
	}
	return fmt.Errorf("linear: no step lowers the loss of %v, though it is not at its least; scale targets and columns down, or raise Ridge", s.loss)
}

// search halves the step until the loss falls; nil when no step lowers it, which is the end.
func search(c Config, rows int, beta, step []float64, now *sums, penalized func(int) bool, add func(*sums, []float64, int, int)) (*sums, []float64, float64) {
	for size := 1.0; size > 1e-6; size /= 2 {
		at := make([]float64, len(beta))
		for k := range at {
			at[k] = beta[k] - size*step[k]
		}
		if next := evaluate(c, rows, at, penalized, add); next.loss < now.loss {
			return next, at, now.loss - next.loss
		}
	}
	return nil, nil, 0
}

// evaluate sums over all rows in parallel and adds the penalty.
func evaluate(c Config, rows int, beta []float64, penalized func(int) bool, add func(*sums, []float64, int, int)) *sums {
	var block [parts]sums
	var workers sync.WaitGroup
	for b := range block {
		workers.Go(func() {
			block[b] = sums{gradient: make([]float64, len(beta)), hessian: make([]float64, len(beta)*len(beta))}
			add(&block[b], beta, rows*b/parts, rows*(b+1)/parts)
		})
	}
	workers.Wait()
	all := block[0]
	for _, s := range block[1:] {
		all.loss += s.loss
		for k, v := range s.gradient {
			all.gradient[k] += v
		}
		for k, v := range s.hessian {
			all.hessian[k] += v
		}
	}
	for k, v := range beta {
		if penalized(k) {
			all.loss += c.Ridge / 2 * v * v
			all.gradient[k] += c.Ridge * v
			all.hessian[k*len(beta)+k] += c.Ridge
		}
	}
	return &all
}

// solve returns Hessian⁻¹ gradient.
func solve(s *sums, size int) ([]float64, error) {
	h := mat.NewSymDense(size, nil)
	for i := range size {
		for k := range i + 1 {
			h.SetSym(i, k, s.hessian[i*size+k])
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(h) {
		return nil, fmt.Errorf("linear: the columns leave the fit undetermined; drop columns or raise Ridge")
	}
	step := mat.NewVecDense(size, nil)
	// A badly conditioned Hessian still gives a step downhill, which the search checks; only a singular one fails above.
	if err := cholesky.SolveVecTo(step, mat.NewVecDense(size, s.gradient)); err != nil {
		if _, conditioned := err.(mat.Condition); !conditioned {
			return nil, fmt.Errorf("linear: solving for the step: %w", err)
		}
	}
	return step.RawVector().Data, nil
}
