package monitor

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machine is what this process takes of its machine.
type machine struct {
	Cores       int     `json:"cores"`
	Goroutines  int     `json:"goroutines"`
	HeapBytes   int64   `json:"heapBytes"`  // live objects and dead ones not yet collected
	TotalBytes  int64   `json:"totalBytes"` // that Go has of the system
	Resident    int64   `json:"residentBytes"`
	LimitBytes  int64   `json:"limitBytes"` // of the collector; 0: none
	Collections int64   `json:"collections"`
	GCSeconds   float64 `json:"gcSeconds"` // of processor time, as of the last collection
	CPUSeconds  float64 `json:"cpuSeconds"`
}

// readMachine costs a few microseconds, and stops nothing.
func readMachine() machine {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"},
	}
	metrics.Read(samples)
	m := machine{
		Cores: runtime.GOMAXPROCS(0), Goroutines: int(number(samples[0])), HeapBytes: int64(number(samples[1])), TotalBytes: int64(number(samples[2])),
		Collections: int64(number(samples[3])), GCSeconds: number(samples[4]), Resident: resident(), CPUSeconds: processor().Seconds(),
	}
	if limit := debug.SetMemoryLimit(-1); limit < 1<<60 {
		m.LimitBytes = limit
	}
	return m
}

// number is a metric's value; 0 of one that this Go does not know.
func number(s metrics.Sample) float64 {
	switch s.Value.Kind() {
	case metrics.KindUint64:
		return float64(s.Value.Uint64())
	case metrics.KindFloat64:
		return s.Value.Float64()
	}
	return 0
}

// processor is how much time of processors the process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is how many bytes of memory the process holds; 0 where the system does not say.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
