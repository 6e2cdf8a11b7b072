package conf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The settings of Spark, and of the RAPIDS Accelerator, that are read here.
const (
	Master          = "spark.master"
	Remote          = "spark.remote" // where Spark's clients find a Spark Connect server; may have a token
	CoresMax        = "spark.cores.max"
	ExecutorCores   = "spark.executor.cores"
	Executors       = "spark.executor.instances"
	ExecutorMemory  = "spark.executor.memory"
	MemoryOverhead  = "spark.executor.memoryOverhead"
	OverheadFactor  = "spark.executor.memoryOverheadFactor"
	PySparkMemory   = "spark.executor.pyspark.memory"
	OffHeapEnabled  = "spark.memory.offHeap.enabled"
	OffHeapSize     = "spark.memory.offHeap.size"
	DriverMemory    = "spark.driver.memory"
	TaskCPUs        = "spark.task.cpus"
	TaskGPUs        = "spark.task.resource.gpu.amount"
	ExecutorGPUs    = "spark.executor.resource.gpu.amount"
	WorkerGPUs      = "spark.worker.resource.gpu.amount"
	WorkerDiscovery = "spark.worker.resource.gpu.discoveryScript"
	Plugins         = "spark.plugins"
	RAPIDSEnabled   = "spark.rapids.sql.enabled"
	RAPIDSExplain   = "spark.rapids.sql.explain"
	PinnedPool      = "spark.rapids.memory.pinnedPool.size"
	ConcurrentTasks = "spark.rapids.sql.concurrentGpuTasks"

	executorDiscovery = "spark.executor.resource.gpu.discoveryScript"

	// RAPIDSPlugin is what spark.plugins loads.
	RAPIDSPlugin = "com.nvidia.spark.SQLPlugin"
)

// Spark is what a file says of a cluster's executors. What a file does not say is zero.
type Spark struct {
	Master                       string
	CoresMax, ExecutorCores      int
	Executors                    int // as asked for, which a standalone master does not heed
	TaskCPUs                     int
	ExecutorMemory, DriverMemory int64 // bytes
	Overhead, PySpark            int64 // bytes, of each executor's container
	OverheadFactor               float64
	OffHeap, PinnedPool          int64 // bytes, of each executor; OffHeap counts with OffHeapEnabled only
	OffHeapEnabled               bool
	TaskGPUs                     float64
	ExecutorGPUs, WorkerGPUs     int
	Plugin, Enabled              bool // the RAPIDS plugin is loaded; and not switched off
	ConcurrentTasks              int
	Explain                      string
	said                         map[string]Setting
	largestShare                 float64 // of a GPU, that a task may ask for where it does not ask for whole ones
}

// read are the settings that take takes.
var read = []string{Master, CoresMax, ExecutorCores, Executors, ExecutorMemory, MemoryOverhead, OverheadFactor, PySparkMemory, OffHeapEnabled, OffHeapSize,
	DriverMemory, TaskCPUs, TaskGPUs, ExecutorGPUs, WorkerGPUs, WorkerDiscovery, executorDiscovery, Plugins, RAPIDSEnabled, RAPIDSExplain, PinnedPool,
	ConcurrentTasks}

// RAPIDS tells whether queries are to run on GPUs.
func (s Spark) RAPIDS() bool { return s.Plugin && s.Enabled }

// Cluster tells whether a file says anything of a cluster.
func (s Spark) Cluster() bool { return len(s.said) > 0 }

// Spark reads what the file says of executors. Faults are values that Spark does not take; they count as not said.
func (f *File) Spark() (Spark, []Fault) {
	s := Spark{Enabled: true, said: map[string]Setting{}, largestShare: f.largestShare()}
	var faults []Fault
	for _, setting := range f.Settings {
		value, comment, found := strings.Cut(setting.Value, " #")
		if found && strings.HasPrefix(setting.Key, "spark.") {
			f := Fault{Setting: setting, Warning: true,
				What: fmt.Sprintf("Spark takes the comment %q as part of the value", "#"+comment), Mend: "put the comment on a line of its own"}
			if s.take(setting) != nil {
				f.What, f.Warning = f.What+", and refuses it", false
			}
			faults = append(faults, f)
			setting.Value = strings.TrimSpace(value) // one fault is enough: what is meant counts
		}
		if err := s.take(setting); err != nil {
			faults = append(faults, Fault{Setting: setting, What: err.Error(), Mend: "write a value that Spark reads"})
			continue
		}
		if slices.Contains(read, setting.Key) {
			s.said[setting.Key] = setting
		}
	}
	return s, faults
}

// take takes in one setting, if Spark takes its value.
func (s *Spark) take(setting Setting) error {
	value := setting.Value
	switch setting.Key {
	case Master:
		s.Master = value
	case CoresMax:
		return assign(&s.CoresMax, value, count)
	case ExecutorCores:
		return assign(&s.ExecutorCores, value, count)
	case Executors:
		return assign(&s.Executors, value, count)
	case TaskCPUs:
		return assign(&s.TaskCPUs, value, count)
	case ExecutorMemory:
		return assign(&s.ExecutorMemory, value, mebibytes)
	case MemoryOverhead:
		return assign(&s.Overhead, value, mebibytes)
	case OverheadFactor:
		return assign(&s.OverheadFactor, value, amount)
	case PySparkMemory:
		return assign(&s.PySpark, value, mebibytes)
	case OffHeapEnabled:
		return assign(&s.OffHeapEnabled, value, Bool)
	case OffHeapSize:
		return assign(&s.OffHeap, value, bytes)
	case DriverMemory:
		return assign(&s.DriverMemory, value, mebibytes)
	case PinnedPool:
		return assign(&s.PinnedPool, value, bytes)
	case TaskGPUs:
		return assign(&s.TaskGPUs, value, amount)
	case ExecutorGPUs:
		return assign(&s.ExecutorGPUs, value, count)
	case WorkerGPUs:
		return assign(&s.WorkerGPUs, value, count)
	case ConcurrentTasks:
		return assign(&s.ConcurrentTasks, value, count)
	case Plugins:
		s.Plugin = strings.Contains(value, RAPIDSPlugin)
	case RAPIDSEnabled:
		return assign(&s.Enabled, value, Bool)
	case RAPIDSExplain:
		s.Explain = value
	}
	return nil
}

// assign reads a value; one that cannot be read leaves what was there.
func assign[T any](to *T, value string, read func(string) (T, error)) error {
	v, err := read(value)
	if err == nil {
		*to = v
	}
	return err
}

// mebibytes reads a size of which a number alone counts mebibytes, as Spark has it for memory of executors and drivers.
func mebibytes(s string) (int64, error) { return Bytes(s, 1<<20) }

func bytes(s string) (int64, error) { return Bytes(s, 1) }

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no whole number", s)
	}
	return n, nil
}

func amount(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is no amount", s)
	}
	return x, nil
}

// Bool reads true or false, in any case.
func Bool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}
