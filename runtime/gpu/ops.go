package gpu

import (
	"context"
	"fmt"
	"math"

	"cancha/runtime/gpu/driver"
)

// VectorAdd sets out[i] = a[i] + b[i]. The three have the same length.
func VectorAdd(ctx context.Context, out, a, b *Float32s) error {
	n := out.Len()
	if err := lengths("vector add", length{"a", a.Len(), n}, length{"b", b.Len(), n}); err != nil {
		return err
	}
	return out.store.session.run(ctx, operation{
		name: "vector add", size: n, work: work{bytes: 12 * int64(n), flops: float64(n), launches: 1},
		reads: []*store{a.store, b.store}, writes: []*store{out.store},
		launches: func(at func(*store) driver.Memory) []driver.Launch {
			return one("vector_add", driver.At(at(out.store), 0), driver.At(at(a.store), 0), driver.At(at(b.store), 0), driver.Int(n))
		},
	})
}

// Sgemm sets c = alpha op(a) op(b) + beta c, as BLAS has it, for dense row-major matrices: op(a) is m × k, op(b) k × n and c m × n, and op
// transposes where it is told to. With beta 0 what c held does not count, not even NaN. a and b are not c.
func Sgemm(ctx context.Context, transposeA, transposeB bool, m, n, k int, alpha float32, a, b *Float32s, beta float32, c *Float32s) error {
	const name = "matrix multiply"
	err := lengths(name, length{"a", a.Len(), product(m, k)}, length{"b", b.Len(), product(k, n)}, length{"c", c.Len(), product(m, n)})
	if err == nil && (a.store == c.store || b.store == c.store) {
		err = fmt.Errorf("gpu: %s: c is one of its factors", name)
	}
	if err != nil {
		return err
	}
	reads := []*store{a.store, b.store}
	if beta != 0 {
		reads = append(reads, c.store)
	}
	steps := float64(m) * float64(n) * float64(k)
	return c.store.session.run(ctx, operation{
		name: name, size: int(min(steps, math.MaxInt32)), work: work{bytes: a.store.bytes() + b.store.bytes() + c.store.bytes(), flops: 2 * steps, launches: 1},
		reads: reads, writes: []*store{c.store},
		launches: func(at func(*store) driver.Memory) []driver.Launch {
			return one("sgemm", flag(transposeA), flag(transposeB), driver.Int(m), driver.Int(n), driver.Int(k), driver.Float(alpha),
				driver.At(at(a.store), 0), driver.At(at(b.store), 0), driver.Float(beta), driver.At(at(c.store), 0))
		},
	})
}

// Conv is the shape of a convolution: images of some channels, and as many filters as the result has channels.
type Conv struct {
	Images, Channels, Height, Width    int
	Filters, FilterHeight, FilterWidth int
	Padding                            int // zeros on each side of an image
}

// Out is how high and wide the results are; below 1 where the filter is larger than the padded image.
func (c Conv) Out() (height, width int) {
	return c.Height + 2*c.Padding - c.FilterHeight + 1, c.Width + 2*c.Padding - c.FilterWidth + 1
}

// Conv2D sets out to the cross-correlation of images and filters, stride 1, as networks have it: in is images × channels × height × width,
// filter filters × channels × height × width, out images × filters × the height and width that [Conv.Out] tells.
func Conv2D(ctx context.Context, out, in, filter *Float32s, c Conv) error {
	const name = "convolution"
	height, width := c.Out()
	results := product(c.Images, c.Filters, height, width)
	if results < 0 || height < 1 || width < 1 || c.Padding < 0 || c.FilterHeight < 1 || c.FilterWidth < 1 {
		return fmt.Errorf("gpu: %s: a filter of %d × %d does not fit into images of %d × %d with a border of %d, or there are too many results",
			name, c.FilterHeight, c.FilterWidth, c.Height, c.Width, c.Padding)
	}
	err := lengths(name, length{"out", out.Len(), results}, length{"in", in.Len(), product(c.Images, c.Channels, c.Height, c.Width)},
		length{"filter", filter.Len(), product(c.Filters, c.Channels, c.FilterHeight, c.FilterWidth)})
	if err == nil && (in.store == out.store || filter.store == out.store) {
		err = fmt.Errorf("gpu: %s: out is what it is made from", name)
	}
	if err != nil {
		return err
	}
	steps := float64(results) * float64(c.Channels*c.FilterHeight*c.FilterWidth)
	return out.store.session.run(ctx, operation{
		name: name, size: results, work: work{bytes: out.store.bytes() + in.store.bytes() + filter.store.bytes(), flops: 2 * steps, launches: 1},
		reads: []*store{in.store, filter.store}, writes: []*store{out.store},
		launches: func(at func(*store) driver.Memory) []driver.Launch {
			return one("conv2d", driver.At(at(out.store), 0), driver.At(at(in.store), 0), driver.At(at(filter.store), 0),
				driver.Int(c.Images), driver.Int(c.Channels), driver.Int(c.Height), driver.Int(c.Width),
				driver.Int(c.Filters), driver.Int(c.FilterHeight), driver.Int(c.FilterWidth), driver.Int(c.Padding))
		},
	})
}

// SoftmaxCrossEntropy sets loss[i] = -log softmax(logits[i])[labels[i]], for each of rows, and gradient = d mean(loss) / d logits. Logits
// and gradient are rows × classes; gradient may be logits. Where a label is no class, 0 to classes-1, loss and gradient of its row are NaN.
func SoftmaxCrossEntropy(ctx context.Context, loss, gradient, logits *Float32s, labels *Int32s, rows, classes int) error {
	const name = "softmax cross-entropy"
	if classes < 1 {
		return fmt.Errorf("gpu: %s: %d classes", name, classes)
	}
	all := product(rows, classes)
	err := lengths(name, length{"loss", loss.Len(), rows}, length{"gradient", gradient.Len(), all}, length{"logits", logits.Len(), all}, length{"labels", labels.Len(), rows})
	if err == nil && (loss.store == gradient.store || loss.store == logits.store) {
		err = fmt.Errorf("gpu: %s: loss is one of the others", name)
	}
	if err != nil {
		return err
	}
	const steps = 20 // of an exponential and what is about it
	return loss.store.session.run(ctx, operation{
		name: name, size: all, work: work{bytes: 8*int64(all) + 8*int64(rows), flops: steps * float64(all), launches: 1},
		reads: []*store{logits.store, labels.store}, writes: []*store{loss.store, gradient.store},
		launches: func(at func(*store) driver.Memory) []driver.Launch {
			return one("softmax_cross_entropy", driver.At(at(loss.store), 0), driver.At(at(gradient.store), 0), driver.At(at(logits.store), 0),
				driver.At(at(labels.store), 0), driver.Int(rows), driver.Int(classes))
		},
	})
}

// Adam are the settings of the optimizer (Kingma and Ba, 2015). The zero value is that paper's: rate 0.001, betas 0.9 and 0.999,
// epsilon 1e-8.
type Adam struct{ Rate, Beta1, Beta2, Epsilon float32 }

// Or returns the settings with the paper's in place of zeros. A rate, a beta or an epsilon of 0 teaches nothing, or divides by nothing.
func (a Adam) Or() Adam {
	for _, set := range []struct {
		at *float32
		to float32
	}{{&a.Rate, 0.001}, {&a.Beta1, 0.9}, {&a.Beta2, 0.999}, {&a.Epsilon, 1e-8}} {
		if *set.at == 0 {
			*set.at = set.to
		}
	}
	return a
}

// Corrections are 1-β₁ᵗ and 1-β₂ᵗ of step t, from 1.
func (a Adam) Corrections(t int) (first, second float32) {
	return float32(1 - math.Pow(float64(a.Beta1), float64(t))), float32(1 - math.Pow(float64(a.Beta2), float64(t)))
}

// AdamStep takes step t, from 1, of the optimizer: it changes weight and the moments m and v, which are zeros before the first. All four
// have the same length, and are different buffers.
func AdamStep(ctx context.Context, weight, gradient, m, v *Float32s, t int, a Adam) error {
	const name = "Adam"
	n := weight.Len()
	if err := lengths(name, length{"gradient", gradient.Len(), n}, length{"m", m.Len(), n}, length{"v", v.Len(), n}); err != nil {
		return err
	}
	if used := stores(operation{reads: []*store{weight.store, gradient.store, m.store, v.store}}); len(used) < 4 || t < 1 {
		return fmt.Errorf("gpu: %s: four buffers and a step from 1 on: got %d and %d", name, len(used), t)
	}
	a = a.Or()
	first, second := a.Corrections(t)
	return weight.store.session.run(ctx, operation{
		name: name, size: n, work: work{bytes: 28 * int64(n), flops: 14 * float64(n), launches: 1},
		reads: []*store{weight.store, gradient.store, m.store, v.store}, writes: []*store{weight.store, m.store, v.store},
		launches: func(at func(*store) driver.Memory) []driver.Launch {
			return one("adam", driver.At(at(weight.store), 0), driver.At(at(gradient.store), 0), driver.At(at(m.store), 0), driver.At(at(v.store), 0), driver.Int(n),
				driver.Float(a.Rate), driver.Float(a.Beta1), driver.Float(a.Beta2), driver.Float(a.Epsilon), driver.Float(first), driver.Float(second))
		},
	})
}

func one(name string, args ...driver.Arg) []driver.Launch {
	return []driver.Launch{{Func: name, Args: args}}
}

func flag(b bool) driver.Arg {
	if b {
		return driver.Int(1)
	}
	return driver.Int(0)
}

// length is how long a buffer is, and has to be.
type length struct {
	name      string
	has, want int
}

func lengths(doing string, all ...length) error {
	for _, l := range all {
		if l.has != l.want {
			return fmt.Errorf("gpu: %s: %s has %d elements, want %d", doing, l.name, l.has, l.want)
		}
		if l.has > math.MaxInt32 {
			return fmt.Errorf("gpu: %s: %s has %d elements, where a device counts to %d", doing, l.name, l.has, math.MaxInt32)
		}
	}
	return nil
}

// product multiplies sizes; it is -1, which no buffer has, where one is negative or all together are more than a device's numbers hold.
func product(sizes ...int) int {
	n := 1
	for _, s := range sizes {
		if s < 0 || s > 0 && n > math.MaxInt32/s {
			return -1
		}
		n *= s
	}
	return n
}
