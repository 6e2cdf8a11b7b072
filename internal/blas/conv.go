package blas

import "fmt"

// Conv says what is convolved: Images images of Channels planes of Height × Width, with Filters filters of Channels planes of
// FilterHeight × FilterWidth, inside a border of Padding zeros.
type Conv struct {
	Images, Channels, Height, Width    int
	Filters, FilterHeight, FilterWidth int
	Padding                            int
}

// OutHeight and OutWidth are the size of a plane of the result.
func (c Conv) OutHeight() int { return c.Height + 2*c.Padding - c.FilterHeight + 1 }

// OutWidth is the width of a plane of the result.
func (c Conv) OutWidth() int { return c.Width + 2*c.Padding - c.FilterWidth + 1 }

// check refuses sizes that cannot be.
func (c Conv) check() error {
	switch {
	case c.Images < 0 || c.Channels < 1 || c.Height < 1 || c.Width < 1 || c.Filters < 1 || c.FilterHeight < 1 || c.FilterWidth < 1 || c.Padding < 0:
		return fmt.Errorf("blas: convolution of %+v: a size is below 1", c)
	case c.OutHeight() < 1 || c.OutWidth() < 1:
		return fmt.Errorf("blas: a filter of %d × %d does not fit into %d × %d with a border of %d", c.FilterHeight, c.FilterWidth, c.Height, c.Width, c.Padding)
	}
	return nil
}

// Conv2D sets out[i][o][y][x] = Σ in[i][c][y+u-p][x+v-p]·filter[o][c][u][v] over c, u and v, where p is the padding and in is 0 outside its
// images: the cross-correlation that PyTorch's conv2d computes, with stride 1. Slices are dense, in that order of indices. Impossible
// sizes, and slices shorter than the sizes say, are errors.
func (b *BLAS) Conv2D(out, in, filter []float32, c Conv) error {
	if err := c.check(); err != nil {
		return err
	}
	for name, lengths := range map[string][2]int{
		"out": {len(out), c.Images * c.Filters * c.OutHeight() * c.OutWidth()}, "in": {len(in), c.Images * c.image()},
		"filter": {len(filter), c.Filters * c.Channels * c.FilterHeight * c.FilterWidth},
	} {
		if lengths[0] < lengths[1] {
			return fmt.Errorf("blas: convolution of %+v: %s has %d values, want %d", c, name, lengths[0], lengths[1])
		}
	}
	together := b.pool.cores(c.Images) // images whose bordered copies are there at once
	for i := 0; i < c.Images; i += together {
		b.convolve(out[i*c.Filters*c.OutHeight()*c.OutWidth():], in[i*c.image():], filter, c, min(together, c.Images-i))
	}
	return nil
}

// image is how many values an image has.
func (c Conv) image() int { return c.Channels * c.Height * c.Width }

// convolve convolves some images: it gives each a border, and then takes row by row of all results.
func (b *BLAS) convolve(out, in, filter []float32, c Conv, images int) {
	bordered := c.bordered(b.inner.step)
	padded := b.scratch(images * bordered)
	defer b.spare.Put(padded)
	b.pool.Do(images, func(_, i int) { c.border((*padded)[i*bordered:][:bordered], in[i*c.image():]) })
	offsets := c.offsets(b.inner.unit)
	width, height, taps := c.OutWidth(), c.OutHeight(), len(offsets)
	blocks, bands := ceil(width, b.inner.step), ceil(height, band)
	b.pool.Do(images*c.Filters*bands, func(_, job int) {
		i, from := job/bands, job%bands*band
		image, weights := (*padded)[i/c.Filters*bordered:], filter[i%c.Filters*taps:][:taps]
		row := b.scratch(blocks * b.inner.step)
		defer b.spare.Put(row)
		for y := from; y < min(from+band, height); y++ {
			b.inner.row(offsets, weights, image[y*(c.Width+2*c.Padding):], *row, blocks)
			copy(out[(i*height+y)*width:][:width], *row)
		}
	})
}

// band is how many rows of a result a core takes at once.
const band = 32

// bordered is how many values an image with its border takes, and what the inner loop reads beyond its last row.
func (c Conv) bordered(step int) int {
	return c.Channels*(c.Height+2*c.Padding)*(c.Width+2*c.Padding) + step
}

// border copies an image into a border of zeros.
func (c Conv) border(to, image []float32) {
	clear(to)
	stride := c.Width + 2*c.Padding
	for ch := range c.Channels {
		for y := range c.Height {
			copy(to[(ch*(c.Height+2*c.Padding)+y+c.Padding)*stride+c.Padding:], image[(ch*c.Height+y)*c.Width:][:c.Width])
		}
	}
}

// offsets are where each value of a filter meets a bordered image, from where its first one does, in units of 1/unit value.
func (c Conv) offsets(unit int) []int {
	all := make([]int, 0, c.Channels*c.FilterHeight*c.FilterWidth)
	for ch := range c.Channels {
		for u := range c.FilterHeight {
			for v := range c.FilterWidth {
				all = append(all, unit*((ch*(c.Height+2*c.Padding)+u)*(c.Width+2*c.Padding)+v))
			}
		}
	}
	return all
}
