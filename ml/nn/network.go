package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"cancha/internal/blas"
)

// Network answers with a probability for each class. Fit, FitGraph, Load and Open make one. It is safe for concurrent use.
type Network struct {
	Features []string  // names of the columns of a row
	Classes  []string  // order of the probabilities
	Losses   []float64 // mean loss of the rows in each epoch of its training

	shape   shape
	scale   scale
	params  []float32 // see shape
	cores   blas.Pool
	blas    *blas.BLAS // of one core: cores take blocks of rows
	scratch sync.Pool  // *block
}

// String says what the network answers, and from which columns.
func (n *Network) String() string {
	return fmt.Sprintf("network of %d hidden units for %s from %s", n.shape.hidden, strings.Join(n.Classes, ", "), strings.Join(n.Features, ", "))
}

// blockRows is how many rows go through the layers together. It is always as many, with zeros behind the last: so a row's answer does
// not depend, not even in its last bit, on the rows beside it.
const blockRows = 64

// block is memory for blockRows rows.
type block struct{ in, hidden, out []float32 }

func newNetwork(features, classes []string, s shape, by scale, params []float32, losses []float64) *Network {
	n := &Network{
		Features: slices.Clone(features), Classes: slices.Clone(classes), Losses: losses,
		shape: s, scale: by, params: params, blas: blas.New(blas.Pool{Cores: 1}),
	}
	n.scratch.New = func() any {
		return &block{make([]float32, blockRows*s.in), make([]float32, blockRows*s.hidden), make([]float32, blockRows*s.out)}
	}
	return n
}

// Hidden is how many units the hidden layer has.
func (n *Network) Hidden() int { return n.shape.hidden }

// Columns returns the names of the columns of a row, and of the classes in the order of the probabilities.
func (n *Network) Columns() (features, classes []string) { return n.Features, n.Classes }

// ProbaTo fills dst, one number per class, with the probabilities for one row, one number per feature. Lengths that do not fit panic.
func (n *Network) ProbaTo(dst []float64, row []float32) {
	if len(row) != n.shape.in {
		panic(fmt.Sprintf("nn: a row of %d numbers; the network has %d features", len(row), n.shape.in))
	}
	n.ProbasTo(dst, row)
}

// ProbasTo fills dst, one number per row and class, with the probabilities for rows that stand one after the other in values, one
// number per feature. All cores take part. A row with a NaN, or one that overflows float32 on its way, has probabilities of NaN. Lengths that do not fit panic.
func (n *Network) ProbasTo(dst []float64, values []float32) {
	rows := len(values) / n.shape.in
	if len(values) != rows*n.shape.in || len(dst) != rows*n.shape.out {
		panic(fmt.Sprintf("nn: %d numbers in and %d out are no whole number of rows of %d and %d", len(values), len(dst), n.shape.in, n.shape.out))
	}
	n.cores.Do((rows+blockRows-1)/blockRows, func(_, i int) {
		from, to := i*blockRows, min(rows, (i+1)*blockRows)
		n.block(dst[from*n.shape.out:to*n.shape.out], values[from*n.shape.in:to*n.shape.in])
	})
}

// block answers for at most blockRows rows.
func (n *Network) block(dst []float64, values []float32) {
	b := n.scratch.Get().(*block)
	defer n.scratch.Put(b)
	clear(b.in[len(values):])
	n.scale.apply(b.in, values)
	s := n.shape
	n.layer(b.hidden, b.in, n.params[:s.bias1()], n.params[s.bias1():s.weight2()], s.in)
	for i, v := range b.hidden {
		b.hidden[i] = max(0, v)
	}
	n.layer(b.out, b.hidden, n.params[s.weight2():s.bias2()], n.params[s.bias2():], s.hidden)
	for i := 0; i < len(dst); i += s.out {
		softmax(dst[i:i+s.out], b.out[i:i+s.out])
	}
}

// layer sets out to the rows of in times weight, plus bias.
func (n *Network) layer(out, in, weight, bias []float32, columns int) {
	units := len(bias)
	n.blas.Gemm(blockRows, units, columns, 1, blas.Matrix{Data: in, Stride: columns}, blas.Matrix{Data: weight, Stride: units}, 0, out, units)
	for row := out; len(row) > 0; row = row[units:] {
		for j, b := range bias {
			row[j] += b
		}
	}
}

// softmax sets p to the exponentials of the logits, scaled to a sum of 1. The largest logit is taken away first, so that none overflows.
func softmax(p []float64, logits []float32) {
	most, sum := slices.Max(logits), 0.0
	for k, v := range logits {
		p[k] = math.Exp(float64(v) - float64(most))
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
}
