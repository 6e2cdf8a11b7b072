//go:build nvidia && linux

package cuda

import (
	"fmt"
	"math"

	"cancha/runtime/gpu/driver"
)

// checkSizes refuses sizes below 0, and memory that is too short for the sizes that come with it: a func would write to what is another's.
func checkSizes(l driver.Launch) error {
	params := parameters(l.Func)
	for i, a := range l.Args {
		if a.Kind == driver.IntArg && a.Int < 0 {
			return fmt.Errorf("%s is %d: %w", params[i].Name, a.Int, driver.ErrLaunch)
		}
	}
	if l.Func == "conv2d" {
		if err := convSizes(l).check(); err != nil {
			return err
		}
	}
	for i, n := range needs(l) {
		if a := l.Args[i]; int64(a.Memory.Len()-a.Offset) < n {
			return fmt.Errorf("%s has %d elements from %d on, and the sizes want %d: %w", params[i].Name, a.Memory.Len()-a.Offset, a.Offset, n, driver.ErrLaunch)
		}
	}
	return nil
}

func parameters(name string) []driver.Param {
	for _, f := range driver.Funcs() {
		if f.Name == name {
			return f.Params
		}
	}
	return nil
}

// needs is how many elements each memory argument must have, by its place. Whatever index arrays hold, the funcs look at themselves.
func needs(l driver.Launch) map[int]int64 {
	n := func(i ...int) int64 {
		sizes := make([]int64, len(i))
		for j, at := range i {
			sizes[j] = int64(l.Args[at].Int)
		}
		return driver.Product(sizes...)
	}
	switch l.Func {
	case "fill":
		return map[int]int64{0: n(2)}
	case "vector_add":
		return map[int]int64{0: n(3), 1: n(3), 2: n(3)}
	case "sgemm":
		return map[int]int64{6: n(2, 4), 7: n(4, 3), 9: n(2, 3)}
	case "conv2d":
		s := convSizes(l)
		return map[int]int64{0: s.out, 1: n(3, 4, 5, 6), 2: n(7, 4, 8, 9)}
	case "gather_rows":
		return map[int]int64{0: n(3, 4), 2: n(3)}
	case "gather":
		return map[int]int64{0: n(3), 2: n(3)}
	case "bias", "bias_relu":
		return map[int]int64{0: n(2, 3), 1: n(3)}
	case "relu_gradient":
		return map[int]int64{0: n(2), 1: n(2)}
	case "column_sums":
		return map[int]int64{0: n(3), 1: n(2, 3)}
	case "softmax_cross_entropy":
		return map[int]int64{0: n(4), 1: n(4, 5), 2: n(4, 5), 3: n(4)}
	case "sum":
		return map[int]int64{0: 1, 1: n(2)}
	case "adam":
		return map[int]int64{0: n(4), 1: n(4), 2: n(4), 3: n(4)}
	}
	return nil
}

// conv is the sizes of a convolution.
type conv struct{ images, channels, height, width, filters, fh, fw, padding, tall, wide, out int64 }

func convSizes(l driver.Launch) conv {
	n := func(i int) int64 { return int64(l.Args[i].Int) }
	s := conv{images: n(3), channels: n(4), height: n(5), width: n(6), filters: n(7), fh: n(8), fw: n(9), padding: n(10)}
	s.tall, s.wide = s.height+2*s.padding-s.fh+1, s.width+2*s.padding-s.fw+1
	s.out = driver.Product(s.images, s.filters, max(0, s.tall), max(0, s.wide))
	return s
}

func (s conv) check() error {
	switch {
	case min(s.channels, s.height, s.width, s.filters, s.fh, s.fw) < 1:
		return fmt.Errorf("a size of %d channels, %d × %d, %d filters, %d × %d is below 1: %w", s.channels, s.height, s.width, s.filters, s.fh, s.fw, driver.ErrLaunch)
	case s.tall < 1 || s.wide < 1:
		return fmt.Errorf("a filter of %d × %d does not fit into %d × %d with padding %d: %w", s.fh, s.fw, s.height, s.width, s.padding, driver.ErrLaunch)
	case max(s.height, s.width)+2*s.padding > math.MaxInt32:
		return fmt.Errorf("%d × %d with padding %d is beyond 2^31: %w", s.height, s.width, s.padding, driver.ErrLaunch)
	}
	return nil
}
