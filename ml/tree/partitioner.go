package tree

import "slices"

// partitioner orders the rows of a node by one column, and moves them to their side of a split. It works on the
// builder's sample array and owns only scratch space.
type partitioner struct {
	bins      *Bins
	criterion criterion
	stats     []float64 // one set of stats per bin of the profile
	codes     []uint16  // of a sorted profile
	keys      []uint64  // scratch: code and position
}

// newPartitioner makes the scratch space for the widest column.
func newPartitioner(b *Bins, c criterion) *partitioner {
	widest := 0
	for _, e := range b.edges {
		widest = max(widest, len(e.low))
	}
	return &partitioner{bins: b, criterion: c, stats: make([]float64, widest*c.width)}
}

// profile is a node's rows summed up by the bins of one column, in ascending order. Codes is nil where the bins are
// all those of the column; bins without rows have a count of 0.
type profile struct {
	bins  int
	stats []float64
	codes []uint16
}

// code returns the column's code of the i-th bin of the profile.
func (p profile) code(i int) int {
	if p.codes == nil {
		return i
	}
	return int(p.codes[i])
}

// sortBelow decides between the two ways to a profile: a node with fewer than a column's bins / sortBelow rows sorts
// them, for clearing and walking all bins would cost more. Both ways give the same sums in the same bins; only the
// order of floating-point additions within a bin could differ, and it does not: both keep the order of the samples.
const sortBelow = 8

// profile sums up samples by the bins of a column.
func (p *partitioner) profile(column int, samples []sample) profile {
	if bins := len(p.bins.edges[column].low); len(samples)*sortBelow >= bins {
		return p.histogram(p.bins.codes[column], bins, samples)
	}
	return p.sorted(p.bins.codes[column], samples)
}

// histogram adds every sample to its bin. This is where a forest spends most of its time: for each kind of criterion
// one loop over concrete types.
func (p *partitioner) histogram(codes []uint16, bins int, samples []sample) profile {
	width := p.criterion.width
	stats := p.stats[:bins*width]
	clear(stats)
	if p.criterion.kind == SquaredError {
		for i := range samples {
			s := &samples[i]
			bin := stats[int(codes[s.row])*3:][:3]
			bin[0]++
			bin[1] += s.weight
			bin[2] += s.sum
		}
	} else {
		for i := range samples {
			s := &samples[i]
			at := int(codes[s.row]) * width
			stats[at]++
			stats[at+1+int(s.class)] += s.weight
		}
	}
	return profile{bins: bins, stats: stats}
}

// sorted orders the samples by code and then position, and sums up each run of equal codes.
func (p *partitioner) sorted(codes []uint16, samples []sample) profile {
	p.keys = p.keys[:0]
	for i := range samples {
		p.keys = append(p.keys, uint64(codes[samples[i].row])<<32|uint64(i))
	}
	slices.Sort(p.keys)
	width := p.criterion.width
	p.codes = p.codes[:0]
	if need := len(samples) * width; cap(p.stats) < need {
		p.stats = make([]float64, need)
	}
	stats := p.stats[:len(samples)*width]
	clear(stats)
	for i, key := range p.keys {
		code, at := uint16(key>>32), int(uint32(key))
		if i == 0 || code != p.codes[len(p.codes)-1] {
			p.codes = append(p.codes, code)
		}
		bin := len(p.codes) - 1
		p.criterion.add(stats[bin*width:(bin+1)*width], samples[at:at+1])
	}
	return profile{bins: len(p.codes), stats: stats, codes: p.codes}
}

// partition moves the samples with a code at or below last to the front and returns how many there are. The order on
// each side depends on the input alone, so a tree is the same wherever it is grown.
func (p *partitioner) partition(samples []sample, column, last int) int {
	codes := p.bins.codes[column]
	left, right := 0, len(samples)
	for left < right {
		if int(codes[samples[left].row]) <= last {
			left++
			continue
		}
		right--
		samples[left], samples[right] = samples[right], samples[left]
	}
	return left
}
