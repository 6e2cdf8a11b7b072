//go:build nvidia && linux

package cuda

import (
	"fmt"
	"math"

	"cancha/runtime/gpu/driver"
)

// threads of a block, in all our funcs: THREADS of kernels.cu.
const threads = 256

// Sizes by which a func is chosen.
const (
	fewElements = 16 << 10 // a block adds them up
	partOf      = 4 << 10  // elements, at least, of a block's part of a longer sum
	sharedBytes = 48 << 10 // that every GPU gives a block
	mostBlocks  = math.MaxInt32
)

// kernel is a launch of a function of kernels.cu.
type kernel struct {
	name   string
	blocks int64
	shared int
	args   []uint64
}

// plan is what a launch of one of package driver's funcs comes to. Its sizes have been checked.
func (q *queue) plan(l driver.Launch, args []uint64) []kernel {
	n := func(i int) int64 { return int64(l.Args[i].Int) }
	each := func(elements int64, more ...uint64) []kernel {
		blocks := min(ceil(elements, threads), 16*int64(q.device.info.Cores))
		return []kernel{{name: l.Func, blocks: blocks, args: append(args, more...)}}
	}
	switch l.Func {
	case "fill", "relu_gradient":
		return each(n(2))
	case "vector_add":
		return each(n(3))
	case "sgemm":
		return []kernel{q.tiles(n(2), n(3), args)}
	case "conv2d":
		return []kernel{q.convolution(l, args)}
	case "gather_rows":
		return each(n(3)*n(4), rest(l.Args[1], n(4)))
	case "gather":
		return each(n(3), rest(l.Args[1], 1))
	case "bias", "bias_relu":
		return each(n(2) * n(3))
	case "column_sums":
		return []kernel{{name: l.Func, blocks: ceil(n(3), 32), args: args}}
	case "softmax_cross_entropy":
		return []kernel{{name: l.Func, blocks: min(n(4), 1<<20), args: args}}
	case "sum":
		return q.sum(n(2), args)
	}
	return each(n(4)) // adam
}

// rest is how many rows of so many elements an argument's memory has, as an argument.
func rest(a driver.Arg, columns int64) uint64 {
	rows := int64(a.Memory.Len()-a.Offset) / max(1, columns)
	return uint64(min(rows, math.MaxInt32))
}

// tiles chooses the largest tile of which there are enough for the GPU to be busy.
func (q *queue) tiles(m, n int64, args []uint64) kernel {
	var k kernel
	for _, size := range []int64{128, 64, 32} {
		k = kernel{name: fmt.Sprint("sgemm_", size), blocks: ceil(m, size) * ceil(n, size), args: args}
		if k.blocks >= int64(q.device.info.Cores) {
			break
		}
	}
	return k
}

func (q *queue) convolution(l driver.Launch, args []uint64) kernel {
	s := convSizes(l)
	if s.out == 0 {
		return kernel{}
	}
	shared := 4 * ((31+s.fh)*(31+s.fw) + s.fh*s.fw)
	blocks := driver.Product(s.images, s.filters, ceil(s.tall, 32), ceil(s.wide, 32))
	if shared > sharedBytes || blocks > mostBlocks {
		return kernel{name: "conv2d_direct", blocks: min(ceil(s.out, threads), 16*int64(q.device.info.Cores)), args: args}
	}
	return kernel{name: "conv2d_tiled", blocks: blocks, shared: int(shared), args: args}
}

// sum divides by the number of elements only.
func (q *queue) sum(n int64, args []uint64) []kernel {
	if n <= fewElements {
		return []kernel{{name: "sum_few", blocks: 1, args: args}}
	}
	parts := min(ceil(n, partOf), most)
	at := uint64(q.scratch.parts)
	return []kernel{{name: "sum_parts", blocks: parts, args: []uint64{at, args[1], args[2]}}, {name: "sum_total", blocks: 1, args: []uint64{args[0], at, uint64(parts)}}}
}

func ceil(n, by int64) int64 { return (n + by - 1) / by }
