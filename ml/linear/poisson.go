package linear

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
	"cancha/ml/metric"
)

// Poisson is a regression of counts: ln E[y] = offset + intercept + Σ coefficient x value.
type Poisson struct {
	Features    []string
	Intercept   float64
	Coefficient []float64 // per unit of the feature
}

// FitPoisson fits the targets of the dataset, which are 0 or more. Offset has one entry per row, from -500 to 500: the
// logarithm of its exposure, such as the time in which the goals could fall; nil means 0.
func FitPoisson(d *ml.Dataset, offset []float64, c Config) (*Poisson, error) {
	c, err := checkPoisson(d, offset, c)
	if err != nil {
		return nil, err
	}
	x := newDesign(d)
	if offset == nil {
		offset = make([]float64, x.rows)
	}
	start := make([]float64, x.columns)
	start[0] = level(d, offset)
	beta, err := newton(c, x.rows, start, func(k int) bool { return k > 0 }, func(s *sums, beta []float64, start, end int) {
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

// level returns the intercept that suits the mean of the targets: from 0, the first step towards targets of thousands
// overflows, and so do its halves.
func level(d *ml.Dataset, offset []float64) float64 {
	counts, exposure := 0.0, 0.0
	for i, y := range d.Targets {
		counts += d.Weight(i) * y
		exposure += d.Weight(i) * math.Exp(offset[i])
	}
	if counts == 0 {
		return 0
	}
	return math.Log(counts / exposure)
}

// mostOffset is the greatest logarithm of an exposure, and its negative the least: beyond it the exposure itself overflows.
const mostOffset = 500

func checkPoisson(d *ml.Dataset, offset []float64, c Config) (Config, error) {
	if err := check(d); err != nil {
		return c, err
	}
	if d.Rows() == 0 || d.Targets == nil {
		return c, fmt.Errorf("linear: a Poisson regression needs rows with targets")
	}
	if err := checkOffset(d, offset); err != nil {
		return c, err
	}
	if err := checkCounts(d); err != nil {
		return c, err
	}
	return c.normalize()
}

func checkCounts(d *ml.Dataset) error {
	for i, y := range d.Targets {
		if y < 0 {
			return fmt.Errorf("linear: target %v of row %d is negative; a Poisson regression learns counts", y, i)
		}
	}
	return nil
}

func checkOffset(d *ml.Dataset, offset []float64) error {
	if offset != nil && len(offset) != d.Rows() {
		return fmt.Errorf("linear: %d offsets for %d rows", len(offset), d.Rows())
	}
	for i, o := range offset {
		if !(math.Abs(o) <= mostOffset) {
			return fmt.Errorf("linear: offset of row %d is %v; it is the logarithm of an exposure, between %d and %d", i, o, -mostOffset, mostOffset)
		}
	}
	return nil
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

// Rate returns the expected count of a row, one number per feature. Digits that float32 has no room for
// ([ml.Dataset].Exact) only RateExact and Rates see. It allocates nothing; a row of another length panics.
func (p *Poisson) Rate(row []float32, offset float64) float64 { return rate(p, row, offset) }

// RateExact is Rate for a row with all its digits, as the fit had them if its dataset has Exact.
func (p *Poisson) RateExact(row []float64, offset float64) float64 { return rate(p, row, offset) }

// Rates returns the expected count of each row of the dataset, from its exact values where it has them. The dataset has the
// features of the training by name and order, and is valid; offset is as in FitPoisson.
func (p *Poisson) Rates(d *ml.Dataset, offset []float64) ([]float64, error) {
	return p.rates(context.Background(), d, offset)
}

func (p *Poisson) rates(ctx context.Context, d *ml.Dataset, offset []float64) ([]float64, error) {
	if err := checkOffset(d, offset); err != nil {
		return nil, err
	}
	at := func(i int) float64 {
		if offset == nil {
			return 0
		}
		return offset[i]
	}
	out := make([]float64, d.Rows())
	err := each(ctx, d, p.Features, func(i int, row []float32) { out[i] = p.Rate(row, at(i)) }, func(i int, row []float64) { out[i] = p.RateExact(row, at(i)) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Predict returns the expected count of each row with an offset of 0, an exposure of 1; Rates takes other ones. It returns early with ctx's
// cause when ctx is done.
func (p *Poisson) Predict(ctx context.Context, d *ml.Dataset) ([]float64, error) {
	return p.rates(ctx, d, nil)
}

// Score returns D² on rows with targets of 0 or more, by their weights and with offsets of 0: the share of the Poisson deviance that the
// regression explains, 1 at most, as the score of scikit-learn's PoissonRegressor; see [metric.D2Poisson].
func (p *Poisson) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	if err := d.ValidateTargets(); err != nil {
		return 0, err
	}
	if err := checkCounts(d); err != nil {
		return 0, err
	}
	predicted, err := p.Predict(ctx, d)
	if err != nil {
		return 0, err
	}
	return metric.D2Poisson(predicted, d.Targets, d.Weights), nil
}

func rate[T float32 | float64](p *Poisson, row []T, offset float64) float64 {
	if len(row) != len(p.Coefficient) {
		panic("linear: row and regression have different numbers of features")
	}
	eta := offset + p.Intercept
	for k, v := range row {
		eta += p.Coefficient[k] * float64(v)
	}
	return math.Exp(eta)
}
