package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestConv2D: every inner loop on every shape agrees with the definition in float64.
func TestConv2D(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, in := range inners() {
		b := New(Pool{3})
		b.inner = in
		t.Run(b.Name(), func(t *testing.T) {
			for range 60 {
				c := Conv{
					Images: r.IntN(5), Channels: 1 + r.IntN(3), Height: 1 + r.IntN(20), Width: 1 + r.IntN(150),
					Filters: 1 + r.IntN(4), FilterHeight: 1 + r.IntN(5), FilterWidth: 1 + r.IntN(5), Padding: r.IntN(4),
				}
				if c.check() == nil {
					checkConv(t, r, b, c)
				}
			}
		})
	}
}

func checkConv(t *testing.T, r *rand.Rand, b *BLAS, c Conv) {
	t.Helper()
	values := func(n int) []float32 {
		all := make([]float32, n)
		for i := range all {
			all[i] = float32(r.NormFloat64())
		}
		return all
	}
	in, filter := values(c.Images*c.image()), values(c.Filters*c.Channels*c.FilterHeight*c.FilterWidth)
	want := convolution(in, filter, c)
	out := values(len(want))
	if err := b.Conv2D(out, in, filter, c); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if math.Abs(float64(out[i])-w) > 1e-5*float64(c.Channels*c.FilterHeight*c.FilterWidth) {
			t.Fatalf("%+v: value %d is %v, want %v", c, i, out[i], w)
		}
	}
}

// convolution is the definition.
func convolution(in, filter []float32, c Conv) (out []float64) {
	for i := range c.Images {
		for o := range c.Filters {
			for y := range c.OutHeight() {
				for x := range c.OutWidth() {
					sum := 0.0
					for ch := range c.Channels {
						for u := range c.FilterHeight {
							for v := range c.FilterWidth {
								h, w := y+u-c.Padding, x+v-c.Padding
								if h < 0 || h >= c.Height || w < 0 || w >= c.Width {
									continue
								}
								sum += float64(in[((i*c.Channels+ch)*c.Height+h)*c.Width+w]) * float64(filter[((o*c.Channels+ch)*c.FilterHeight+u)*c.FilterWidth+v])
							}
						}
					}
					out = append(out, sum)
				}
			}
		}
	}
	return out
}

func TestConv2DRefuses(t *testing.T) {
	one := Conv{Images: 1, Channels: 1, Height: 2, Width: 2, Filters: 1, FilterHeight: 1, FilterWidth: 1}
	large := one
	large.FilterWidth = 3
	none := one
	none.Channels = 0
	four := make([]float32, 4)
	for want, err := range map[string]error{
		"a filter of 1 × 3 does not fit into 2 × 2": New(Pool{}).Conv2D(four, four, four, large),
		"a size is below 1":                         New(Pool{}).Conv2D(four, four, four, none),
		"out has 3 values, want 4":                  New(Pool{}).Conv2D(four[:3], four, four, one),
		"in has 3 values, want 4":                   New(Pool{}).Conv2D(four, four[:3], four, one),
		"filter has 0 values, want 1":               New(Pool{}).Conv2D(four, four, nil, one),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func BenchmarkConv2D(b *testing.B) {
	for _, c := range []Conv{
		{Images: 1, Channels: 1, Height: 1024, Width: 1024, Filters: 1, FilterHeight: 3, FilterWidth: 3, Padding: 1},
		{Images: 1, Channels: 1, Height: 1024, Width: 1024, Filters: 1, FilterHeight: 7, FilterWidth: 7, Padding: 3},
		{Images: 16, Channels: 8, Height: 28, Width: 28, Filters: 16, FilterHeight: 3, FilterWidth: 3, Padding: 1},
	} {
		in, filter := make([]float32, c.Images*c.image()), make([]float32, c.Filters*c.Channels*c.FilterHeight*c.FilterWidth)
		out := make([]float32, c.Images*c.Filters*c.OutHeight()*c.OutWidth())
		for _, inner := range inners() {
			one := New(Pool{1})
			one.inner = inner
			b.Run(fmt.Sprintf("%d×%d×%d×%d,%d×%d×%d/%s", c.Images, c.Channels, c.Height, c.Width, c.Filters, c.FilterHeight, c.FilterWidth, inner.name), func(b *testing.B) {
				for b.Loop() {
					if err := one.Conv2D(out, in, filter, c); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(2*float64(len(out))*float64(len(filter)/c.Filters)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
