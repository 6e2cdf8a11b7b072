package nn

import (
	"fmt"
	"math"

	"cancha/internal/running"
	"cancha/ml"
)

// lesson is what both ways of training start from: data that was looked at, and complete settings.
type lesson struct {
	data   *ml.Dataset
	config Config
	shape  shape
	scale  scale
	values []float32 // as the network sees them
	labels []int32
	listed *running.Job // counts batches
}

// prepare looks at the data and the settings.
func prepare(d *ml.Dataset, c Config) (*lesson, error) {
	c, err := c.normalize()
	if err != nil {
		return nil, err
	}
	if err := check(d); err != nil {
		return nil, err
	}
	c.Batch = min(c.Batch, d.Rows())
	l := &lesson{data: d, config: c, shape: shape{len(d.Features), c.Hidden, len(d.Classes)}, values: d.Values}
	if err := l.shape.check(d.Rows(), c.Batch); err != nil {
		return nil, err
	}
	if c.Standardize {
		l.scale = measure(d)
		l.values = make([]float32, len(d.Values))
		l.scale.apply(l.values, d.Values)
	}
	l.labels = make([]int32, d.Rows())
	for i, label := range d.Labels {
		l.labels[i] = int32(label)
	}
	name := fmt.Sprintf("network of %d, %d and %d, %d epochs", l.shape.in, l.shape.hidden, l.shape.out, c.Epochs)
	l.listed = running.NewJob(running.Fit, name, c.Epochs*l.batches(), "batches")
	l.listed.Handle(int64(d.Rows()), 4*int64(len(d.Values)))
	return l, nil
}

// check refuses data that no network learns classes from.
func check(d *ml.Dataset) error {
	err := d.Validate()
	if err == nil {
		err = d.Complete()
	}
	if err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	switch {
	case d.Rows() == 0:
		return fmt.Errorf("nn: the dataset has no rows")
	case d.Labels == nil:
		return fmt.Errorf("nn: the dataset has no labels: a network learns classes")
	case len(d.Classes) < 2:
		return fmt.Errorf("nn: the dataset has %d classes: with fewer than two there is nothing to tell apart", len(d.Classes))
	}
	if k := d.WideColumn(); k >= 0 {
		return fmt.Errorf("nn: a network computes in float32, which does not tell the values of %q apart; take its mean or its first value away from each, or leave it out", d.Features[k])
	}
	for i, w := range d.Weights {
		if w != 1 {
			return fmt.Errorf("nn: row %d weighs %v: a network takes rows of weight 1 only; repeat or leave out rows instead", i, w)
		}
	}
	return nil
}

// batches is how many steps an epoch has.
func (l *lesson) batches() int { return (len(l.labels) + l.config.Batch - 1) / l.config.Batch }

// rows is how many rows batch i, from 0, has.
func (l *lesson) rows(i int) int { return min(l.config.Batch, len(l.labels)-i*l.config.Batch) }

// network is what was learned. The last step has no loss after it that would tell what it did to the parameters.
func (l *lesson) network(params []float32, losses []float64) (*Network, error) {
	for _, v := range params {
		if v-v != 0 {
			return nil, fmt.Errorf("nn: a parameter is %v after the last step: a lower learning rate than %v, or standardized columns, may help", v, l.config.Adam.Rate)
		}
	}
	return newNetwork(l.data.Features, l.data.Classes, l.shape, l.scale, params, losses), nil
}

// report counts a batch into an epoch's losses and tells who wants to know. A loss that is no number ends the training.
func (l *lesson) report(losses []float64, epoch, batch int, loss float64) error {
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("nn: the loss of batch %d of epoch %d is %v: a lower learning rate than %v, or standardized columns, may help",
			batch, epoch, loss, l.config.Adam.Rate)
	}
	l.listed.Advance(1)
	losses[epoch-1] += loss * float64(l.rows(batch-1)) / float64(len(l.labels))
	if l.config.Progress != nil {
		l.config.Progress(epoch, batch, loss)
	}
	return nil
}

// scale is what is done to each column before the network sees it: less mean, times factor. Empty, it does nothing.
type scale struct{ mean, factor []float32 }

// measure returns the scale that gives each column a mean of 0 and a deviation of 1. A column that never changes becomes 0.
func measure(d *ml.Dataset) scale {
	n, rows := len(d.Features), float64(d.Rows())
	mean, square, varies := make([]float64, n), make([]float64, n), make([]bool, n)
	for i, v := range d.Values {
		mean[i%n] += float64(v) / rows
		varies[i%n] = varies[i%n] || v != d.Values[i%n]
	}
	for i, v := range d.Values {
		diff := float64(v) - mean[i%n]
		square[i%n] += diff * diff / rows
	}
	s := scale{make([]float32, n), make([]float32, n)}
	for j := range n {
		s.mean[j], s.factor[j] = float32(mean[j]), 1
		if f := float32(1 / math.Sqrt(square[j])); varies[j] && !math.IsInf(float64(f), 0) { // what is left of rounding is no deviation
			s.factor[j] = f
		}
	}
	return s
}

// apply writes the values of whole rows, scaled, to dst.
func (s scale) apply(dst, values []float32) {
	if s.mean == nil {
		copy(dst, values)
		return
	}
	n := len(s.mean)
	for ; len(values) > 0; dst, values = dst[n:], values[n:] {
		for j, m := range s.mean {
			dst[j] = (values[j] - m) * s.factor[j]
		}
	}
}
