package forest

// histogramBins is how many codes a histogram tells apart: BINS of gpu.cu.
const histogramBins = 256

// hostHistograms is what forest_histograms counts, on the CPU.
type hostHistograms struct {
	counts                                         []uint32
	codes                                          []uint8
	order, draws                                   []uint32
	label                                          func(position int32) int
	tasks, drawn                                   []int32
	most, positions, rows, columns, classes, nodes int
}

func newHostHistograms(a []any) *hostHistograms {
	n := func(i int) int { return int(a[i].(int32)) }
	h := &hostHistograms{counts: a[0].([]uint32), codes: a[1].([]uint8), order: a[2].([]uint32), draws: a[4].([]uint32), tasks: a[5].([]int32)[:3*n(7)], drawn: a[6].([]int32),
		most: n(8), positions: n(9), rows: n(10), columns: n(11), classes: n(12), nodes: n(13)}
	if few, ok := a[3].([]uint8); ok {
		h.label = func(i int32) int { return int(few[i]) }
	} else {
		many := a[3].([]uint16)
		h.label = func(i int32) int { return int(many[i]) }
	}
	return h
}

// count counts the columns side by side: two tasks may be of one node.
func (h *hostHistograms) count(cores workers) {
	cores(h.most, func(j int) {
		for t := h.tasks; len(t) > 0; t = t[3:] {
			if node := int(t[0]); node >= 0 && node < h.nodes && t[1] >= 0 && int(t[2]) <= h.positions {
				h.countTask(node*h.most+j, t[1], t[2])
			}
		}
	})
}

// countTask counts the positions of a task for one of the columns of its node.
func (h *hostHistograms) countTask(at int, start, end int32) {
	column, width, size := int(h.drawn[at]), h.classes+1, histogramBins*(h.classes+1)
	if column < 0 || column >= h.columns {
		return
	}
	counts, codes := h.counts[at*size:][:size], h.codes[column*h.rows:][:h.rows]
	for i := start; i < end; i++ {
		if row, label := int(h.order[i]), h.label(i); row < h.rows && label < h.classes {
			counts[int(codes[row])*width+label] += h.draws[i]
			counts[int(codes[row])*width+h.classes]++
		}
	}
}
