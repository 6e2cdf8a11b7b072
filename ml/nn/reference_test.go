package nn

import (
	"math"
	"slices"

	"cancha/ml"
)

// reference is the network in plain Go and float64: what the package has to agree with.
type reference struct {
	shape
	params []float64
}

// forward returns the hidden layer and the probabilities for a row.
func (r reference) forward(row []float32) (hidden, p []float64) {
	hidden, p = slices.Clone(r.params[r.bias1():r.weight2()]), slices.Clone(r.params[r.bias2():])
	for j := range hidden {
		for i, v := range row {
			hidden[j] += float64(v) * r.params[i*r.hidden+j]
		}
		hidden[j] = max(0, hidden[j])
	}
	for k := range p {
		for j, h := range hidden {
			p[k] += h * r.params[r.weight2()+j*r.out+k]
		}
	}
	most, sum := slices.Max(p), 0.0
	for k := range p {
		p[k] = math.Exp(p[k] - most)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return hidden, p
}

// loss is the mean loss of some rows.
func (r reference) loss(d *ml.Dataset, rows []int32) (mean float64) {
	for _, i := range rows {
		_, p := r.forward(d.Row(int(i)))
		mean -= math.Log(p[d.Labels[i]]) / float64(len(rows))
	}
	return mean
}

// gradient is the gradient of the mean loss of some rows, by the chain rule.
func (r reference) gradient(d *ml.Dataset, rows []int32) []float64 {
	all := make([]float64, r.shape.params())
	for _, i := range rows {
		row := d.Row(int(i))
		hidden, p := r.forward(row)
		p[d.Labels[i]]--
		for j, h := range hidden {
			back := 0.0
			for k, g := range p {
				all[r.weight2()+j*r.out+k] += h * g / float64(len(rows))
				back += g * r.params[r.weight2()+j*r.out+k]
			}
			if h == 0 {
				continue
			}
			for c, v := range row {
				all[c*r.hidden+j] += float64(v) * back / float64(len(rows))
			}
			all[r.bias1()+j] += back / float64(len(rows))
		}
		for k, g := range p {
			all[r.bias2()+k] += g / float64(len(rows))
		}
	}
	return all
}

// differences is the same gradient by finite differences of the loss, for the parameters of these indices.
func (r reference) differences(d *ml.Dataset, rows []int32, of []int) []float64 {
	const h = 1e-6
	all := make([]float64, len(of))
	for at, i := range of {
		was := r.params[i]
		r.params[i] = was + h
		above := r.loss(d, rows)
		r.params[i] = was - h
		all[at] = (above - r.loss(d, rows)) / (2 * h)
		r.params[i] = was
	}
	return all
}

// train takes all steps of Adam and returns the loss of each batch before its step.
func (r reference) train(l *lesson) (losses []float64) {
	a, step := l.config.Adam, 0
	m, v := make([]float64, len(r.params)), make([]float64, len(r.params))
	for epoch := 1; epoch <= l.config.Epochs; epoch++ {
		rows := order(l.config.Seed, epoch, len(l.labels))
		for i := range l.batches() {
			batch := rows[i*l.config.Batch:][:l.rows(i)]
			losses = append(losses, r.loss(l.data, batch))
			step++
			for j, g := range r.gradient(l.data, batch) {
				m[j] = float64(a.Beta1)*m[j] + (1-float64(a.Beta1))*g
				v[j] = float64(a.Beta2)*v[j] + (1-float64(a.Beta2))*g*g
				first, second := 1-math.Pow(float64(a.Beta1), float64(step)), 1-math.Pow(float64(a.Beta2), float64(step))
				r.params[j] -= float64(a.Rate) * (m[j] / first) / (math.Sqrt(v[j]/second) + float64(a.Epsilon))
			}
		}
	}
	return losses
}

func float64s(all []float32) []float64 {
	out := make([]float64, len(all))
	for i, v := range all {
		out[i] = float64(v)
	}
	return out
}
