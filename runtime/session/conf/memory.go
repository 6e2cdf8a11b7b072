package conf

import (
	"cmp"
	"fmt"
)

// What Spark gives where a file does not say, and the least that is proposed here.
const (
	defaultMemory = 1 << 30
	leastOverhead = 384 << 20
	defaultFactor = 0.1
	leastMemory   = 512 << 20
)

// managed tells a master that runs executors in containers: YARN and Kubernetes.
func (s Spark) managed() bool { return !s.standalone() && !s.local() }

// overhead is what a container has beside the heap, in bytes, for a heap of so many.
func (s Spark) overhead(heap int64) int64 {
	if _, said := s.Said(MemoryOverhead); said {
		return s.Overhead
	}
	return max(leastOverhead, int64(cmp.Or(s.OverheadFactor, defaultFactor)*float64(heap>>20))<<20)
}

// executor is what an executor takes, in bytes, with a heap of so many: what lies off the heap, and in a container its overhead and Python's
// memory, which the other masters do not heed. Pinned memory is a part of the overhead in a container.
func (s Spark) executor(heap int64) int64 {
	n := heap
	if s.OffHeapEnabled {
		n += s.OffHeap
	}
	switch {
	case s.managed():
		n += s.overhead(heap) + s.PySpark
	case s.RAPIDS():
		n += s.PinnedPool
	}
	return n
}

// each is what the driver and an executor take, in bytes. A local master's driver does the work, and what is not on its heap counts as the
// executor's.
func (s Spark) each() (driver, executor int64) {
	driver = cmp.Or(s.DriverMemory, defaultMemory)
	if s.local() {
		return driver, s.executor(0)
	}
	return driver, s.executor(s.heap())
}

func (s Spark) heap() int64 { return cmp.Or(s.ExecutorMemory, defaultMemory) }

// Memory is what driver and executors take together, in bytes.
func (s Spark) Memory() int64 {
	driver, executor := s.each()
	return driver + int64(s.Count())*executor
}

// memory: driver and executors have to fit into the machine.
func (s Spark) memory(m Machine) []Fault {
	n, sum := s.Count(), s.Memory()
	driver, executor := s.each()
	_, said := s.Said(DriverMemory, ExecutorMemory, MemoryOverhead, OverheadFactor, PySparkMemory, OffHeapSize, PinnedPool, Executors, ExecutorCores, CoresMax)
	if m.Memory == 0 || sum <= m.Memory || !said { // a file that says nothing of a cluster's size is for none
		return nil
	}
	what := fmt.Sprintf("driver %s and %d × executor %s", FormatBytes(driver), n, FormatBytes(executor))
	at := s.at(ExecutorMemory, DriverMemory)
	if driver > int64(n)*executor {
		at = s.at(DriverMemory, ExecutorMemory)
	}
	return []Fault{{Setting: at, What: fmt.Sprintf("%s are %s, and the machine has %s", what, FormatBytes(sum), FormatBytes(m.Memory)), Mend: s.fitting(m.Memory)}}
}

// fitting proposes what fits into so many bytes: less for the one that takes more, else for both, else fewer executors.
func (s Spark) fitting(machine int64) string {
	n := int64(s.Count())
	driver, executor := s.each()
	heap := func(driver int64) int64 {
		return largest(s.heap(), func(heap int64) bool { return driver+n*s.executor(heap) <= machine })
	}
	less := largest(driver, func(d int64) bool { return d+n*executor <= machine })
	switch same, small := heap(driver), heap(leastMemory); {
	case !s.local() && same > 0 && (driver <= n*executor || less == 0):
		return ExecutorMemory + " " + FormatBytes(same)
	case less > 0:
		return DriverMemory + " " + FormatBytes(less)
	case !s.local() && small > 0:
		return fmt.Sprintf("%s %s and %s %s", DriverMemory, FormatBytes(leastMemory), ExecutorMemory, FormatBytes(small))
	}
	return fmt.Sprintf("a machine with more memory, fewer executors, or less off their heaps: the least heaps do not fit into %s", FormatBytes(machine))
}

// largest is the largest multiple of leastMemory up to most, that fits, in bytes; 0 where none does.
func largest(most int64, fits func(int64) bool) int64 {
	low, high := int64(0), most/leastMemory // the first fits, or there is none
	for low < high {
		if middle := (low + high + 1) / 2; fits(middle * leastMemory) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low * leastMemory
}

// offHeap: Spark wants a size where memory off the heap is on, and does not heed one where it is off.
func (s Spark) offHeap(Machine) []Fault {
	switch {
	case s.OffHeapEnabled && s.OffHeap == 0:
		return []Fault{{Setting: s.at(OffHeapEnabled), What: "memory off the heap is on and has no size: Spark does not start", Mend: OffHeapSize + " 1g"}}
	case !s.OffHeapEnabled && s.OffHeap > 0:
		return []Fault{{Setting: s.at(OffHeapSize), Warning: true, What: "memory off the heap is not on: the size counts for nothing", Mend: OffHeapEnabled + " true"}}
	}
	return nil
}

// pinned: the pinned memory of RAPIDS lies in the overhead of its container, which is killed when it takes more.
func (s Spark) pinned(Machine) []Fault {
	overhead := s.overhead(s.heap())
	if !s.managed() || !s.RAPIDS() || s.PinnedPool <= overhead {
		return nil
	}
	return []Fault{{Setting: s.at(PinnedPool), What: fmt.Sprintf("pinned memory of %s lies in the container's overhead, which is %s: the container is killed", FormatBytes(s.PinnedPool), FormatBytes(overhead)),
		Mend: fmt.Sprintf("%s %s", MemoryOverhead, FormatBytes(s.PinnedPool+leastOverhead))}}
}
