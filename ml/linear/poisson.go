package linear

import (
	"fmt"
	"math"

	"cancha/ml"
)

// Poisson is a regression of counts: ln E[y] = offset + intercept + Σ coefficient x value.
type Poisson struct {
	Features    []string
	Intercept   float64
	Coefficient []float64 // per unit of the feature
}

// FitPoisson fits the targets of the dataset, which are 0 or more. Offset has one entry per row, the logarithm of its
// exposure, such as the time in which the goals could fall; nil means 0.
func FitPoisson(d *ml.Dataset, offset []float64, c Config) (*Poisson, error) {
	c, err := checkPoisson(d, offset, c)
	if err != nil {
		return nil, err
	}
	x := newDesign(d)
	if offset == nil {
		offset = make([]float64, x.rows)
	}
	beta, err := newton(c, x.rows, x.columns, func(k int) bool { return k > 0 }, func(s *sums, beta []float64, start, end int) {
		for i := start; i < end; i++ {
			addPoisson(s, x.row(i), beta, offset[i], d.Targets[i], x.weights[i])
		}
	})
	if err != nil {
		return nil, err
	}
	beta = x.unscale(beta)
	return &Poisson{Features: d.Features, Intercept: beta[0], Coefficient: beta[1:]}, nil
}

func checkPoisson(d *ml.Dataset, offset []float64, c Config) (Config, error) {
	if err := d.Validate(); err != nil {
		return c, fmt.Errorf("linear: %w", err)
	}
	if d.Rows() == 0 || d.Targets == nil {
		return c, fmt.Errorf("linear: a Poisson regression needs rows with targets")
	}
	if offset != nil && len(offset) != d.Rows() {
		return c, fmt.Errorf("linear: %d offsets for %d rows", len(offset), d.Rows())
	}
	for i, y := range d.Targets {
		if y < 0 {
			return c, fmt.Errorf("linear: target %v of row %d is negative; a Poisson regression learns counts", y, i)
		}
	}
	return c.normalize()
}

// addPoisson adds one row: loss μ − y ln μ, gradient (μ − y) x, Hessian μ x xᵀ.
func addPoisson(s *sums, x, beta []float64, offset, y, weight float64) {
	eta := offset
	for k, v := range x {
		eta += beta[k] * v
	}
	mu := math.Exp(eta)
	s.loss += weight * (mu - y*eta)
	slope, curve := weight*(mu-y), weight*mu
	for k, v := range x {
		s.gradient[k] += slope * v
		h := s.hessian[k*len(x):]
		for j := range k + 1 {
			h[j] += curve * v * x[j]
		}
	}
}

// Rate returns the expected count of a row, one number per feature. It allocates nothing; a row of another length
// panics.
func (p *Poisson) Rate(row []float32, offset float64) float64 {
	if len(row) != len(p.Coefficient) {
		panic("linear: row and regression have different numbers of features")
	}
	eta := offset + p.Intercept
	for k, v := range row {
		eta += p.Coefficient[k] * float64(v)
	}
	return math.Exp(eta)
}
