package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The settings of Spark, and of the RAPIDS Accelerator, that are read here.
const (
	Master          = "spark.master"
	CoresMax        = "spark.cores.max"
	ExecutorCores   = "spark.executor.cores"
	Executors       = "spark.executor.instances"
	ExecutorMemory  = "spark.executor.memory"
	MemoryOverhead  = "spark.executor.memoryOverhead"
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
	Overhead, PinnedPool         int64 // bytes, of each executor
	TaskGPUs                     float64
	ExecutorGPUs, WorkerGPUs     int
	Plugin, Enabled              bool // the RAPIDS plugin is loaded; and not switched off
	ConcurrentTasks              int
	Explain                      string
	said                         map[string]Setting
	largestShare                 float64 // of a GPU, that a task may ask for where it does not ask for whole ones
}

// RAPIDS tells whether queries are to run on GPUs.
func (s Spark) RAPIDS() bool { return s.Plugin && s.Enabled }

// Spark reads what the file says of executors. Faults are values that Spark does not take; they count as not said.
func (f *File) Spark() (Spark, []Fault) {
	s := Spark{Enabled: true, said: map[string]Setting{}, largestShare: f.largestShare()}
	var faults []Fault
	for _, setting := range f.Settings {
		value, comment, found := strings.Cut(setting.Value, " #")
		if found && strings.HasPrefix(setting.Key, "spark.") {
			faults = append(faults, Fault{Setting: setting, Warning: true,
				What: fmt.Sprintf("Spark takes the comment %q as part of the value", "#"+comment), Mend: "put the comment on a line of its own"})
			setting.Value = strings.TrimSpace(value)
		}
		if err := s.take(setting); err != nil {
			faults = append(faults, Fault{Setting: setting, What: err.Error(), Mend: "write a value that Spark reads"})
			continue
		}
		s.said[setting.Key] = setting
	}
	return s, faults
}

// take takes in one setting.
func (s *Spark) take(setting Setting) (err error) {
	const mebibyte = 1 << 20 // what Spark takes a number alone to count of memory
	switch setting.Key {
	case Master:
		s.Master = setting.Value
	case CoresMax:
		s.CoresMax, err = count(setting.Value)
	case ExecutorCores:
		s.ExecutorCores, err = count(setting.Value)
	case Executors:
		s.Executors, err = count(setting.Value)
	case TaskCPUs:
		s.TaskCPUs, err = count(setting.Value)
	case ExecutorMemory:
		s.ExecutorMemory, err = Bytes(setting.Value, mebibyte)
	case MemoryOverhead:
		s.Overhead, err = Bytes(setting.Value, mebibyte)
	case DriverMemory:
		s.DriverMemory, err = Bytes(setting.Value, mebibyte)
	case PinnedPool:
		s.PinnedPool, err = Bytes(setting.Value, 1)
	case TaskGPUs:
		s.TaskGPUs, err = amount(setting.Value)
	case ExecutorGPUs:
		s.ExecutorGPUs, err = count(setting.Value)
	case WorkerGPUs:
		s.WorkerGPUs, err = count(setting.Value)
	case ConcurrentTasks:
		s.ConcurrentTasks, err = count(setting.Value)
	case Plugins:
		s.Plugin = strings.Contains(setting.Value, RAPIDSPlugin)
	case RAPIDSEnabled:
		s.Enabled, err = Bool(setting.Value)
	case RAPIDSExplain:
		s.Explain = setting.Value
	}
	return err
}

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
