package linear

import (
	"context"
	"fmt"
	"math"

	"cancha/ml"
)

// Logistic is a multinomial logistic regression. The last class is the reference: its score is 0.
type Logistic struct {
	Features    []string
	Classes     []string
	Intercept   []float64   // of each class but the last
	Coefficient [][]float64 // of each class but the last, per unit of the feature
}

// FitLogistic fits the labels of the dataset.
func FitLogistic(d *ml.Dataset, c Config) (*Logistic, error) {
	c, err := c.normalize()
	if err != nil {
		return nil, err
	}
	if err := check(d); err != nil {
		return nil, err
	}
	if d.Rows() == 0 || d.Labels == nil || len(d.Classes) < 2 {
		return nil, fmt.Errorf("linear: a logistic regression needs rows with labels of two classes or more")
	}
	x, free := newDesign(d), len(d.Classes)-1
	beta, err := newton(c, x.rows, make([]float64, x.columns*free), func(k int) bool { return k%x.columns > 0 }, func(s *sums, beta []float64, start, end int) {
		p := make([]float64, len(d.Classes))
		for i := start; i < end; i++ {
			addLogistic(s, x.row(i), beta, p, d.Labels[i], x.weights[i])
		}
	})
	if err != nil {
		return nil, err
	}
	l := &Logistic{Features: d.Features, Classes: d.Classes}
	for k := range free {
		b := x.unscale(beta[k*x.columns : (k+1)*x.columns])
		l.Intercept, l.Coefficient = append(l.Intercept, b[0]), append(l.Coefficient, b[1:])
	}
	return l, nil
}

// addLogistic adds one row: loss −ln p of its class, gradient (p_k − y_k) x, Hessian p_k (1[k=j] − p_j) x xᵀ.
func addLogistic(s *sums, x, beta, p []float64, label int, weight float64) {
	width, free := len(x), len(p)-1
	clear(p)
	for k := range free {
		for j, v := range x {
			p[k] += beta[k*width+j] * v
		}
	}
	softmax(p)
	s.loss -= weight * math.Log(max(p[label], math.SmallestNonzeroFloat64))
	for k := range free {
		slope := weight * p[k]
		if k == label {
			slope -= weight
		}
		for j, v := range x {
			s.gradient[k*width+j] += slope * v
		}
		for m := range k + 1 {
			curve := -weight * p[k] * p[m]
			if m == k {
				curve += weight * p[k]
			}
			addOuter(s.hessian[k*width*width*free+m*width:], width*free, x, curve)
		}
	}
}

// addOuter adds c x xᵀ to a block of a matrix with rows of a stride.
func addOuter(block []float64, stride int, x []float64, c float64) {
	for i, v := range x {
		row := block[i*stride:][:len(x)]
		for j, u := range x {
			row[j] += c * v * u
		}
	}
}

// softmax turns scores into probabilities in place.
func softmax(p []float64) {
	most := p[0]
	for _, v := range p {
		most = max(most, v)
	}
	sum := 0.0
	for k, v := range p {
		p[k] = math.Exp(v - most)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
}

// ProbaTo fills dst, one number per class, with the probabilities of one row; those of a row with a NaN or an infinity
// are NaN. Digits that float32 has no room for ([ml.Dataset].Exact) only ProbaExactTo and PredictProba
// see. It allocates nothing;
// lengths that do not fit panic.
func (l *Logistic) ProbaTo(dst []float64, row []float32) { probaTo(l, dst, row) }

// ProbaExactTo is ProbaTo for a row with all its digits, as the fit had them if its dataset has Exact.
func (l *Logistic) ProbaExactTo(dst []float64, row []float64) { probaTo(l, dst, row) }

func probaTo[T float32 | float64](l *Logistic, dst []float64, row []T) {
	if len(dst) != len(l.Classes) || len(row) != len(l.Features) {
		panic("linear: row or answer and regression have different sizes")
	}
	for k, b := range l.Intercept {
		dst[k] = b
		for j, v := range row {
			dst[k] += l.Coefficient[k][j] * float64(v)
		}
	}
	dst[len(dst)-1] = 0
	softmax(dst)
}

// PredictProba returns the probabilities of each row of the dataset, from its exact values where it has them. The dataset has the
// features of the training by name and order, and is valid; no value is missing. It returns early with ctx's cause when ctx is done.
func (l *Logistic) PredictProba(ctx context.Context, d *ml.Dataset) ([][]float64, error) {
	k := len(l.Classes)
	all, out := make([]float64, d.Rows()*k), make([][]float64, d.Rows())
	for i := range out {
		out[i] = all[i*k : (i+1)*k : (i+1)*k]
	}
	err := each(ctx, d, l.Features, func(i int, row []float32) { l.ProbaTo(out[i], row) }, func(i int, row []float64) { l.ProbaExactTo(out[i], row) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Predict returns the most probable class of each row, an index into Classes; the first of equals. The dataset is as for PredictProba.
func (l *Logistic) Predict(ctx context.Context, d *ml.Dataset) ([]int, error) {
	p, err := l.PredictProba(ctx, d)
	if err != nil {
		return nil, err
	}
	return ml.MostProbable(p), nil
}

// Score returns the accuracy on rows with labels, by their weights; see [ml.ScoreClassifier].
func (l *Logistic) Score(ctx context.Context, d *ml.Dataset) (float64, error) {
	return ml.ScoreClassifier(ctx, l, l.Classes, d)
}
