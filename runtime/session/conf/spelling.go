package conf

import (
	"fmt"
	"slices"
	"strings"
)

// common are settings that files often have and that are not read here.
var common = []string{
	"spark.app.name", "spark.default.parallelism", "spark.deploy.defaultCores", "spark.driver.cores", "spark.driver.extraClassPath",
	"spark.driver.extraJavaOptions", "spark.driver.host", "spark.driver.maxResultSize", "spark.driver.memoryOverhead", "spark.driver.memoryOverheadFactor",
	"spark.driver.port", "spark.dynamicAllocation.enabled", "spark.eventLog.dir", "spark.eventLog.enabled", "spark.executor.extraClassPath",
	"spark.executor.extraJavaOptions", "spark.executor.heartbeatInterval", "spark.jars", "spark.jars.packages", "spark.kryo.registrator",
	"spark.kryoserializer.buffer.max", "spark.local.dir", "spark.locality.wait", "spark.memory.fraction", "spark.memory.storageFraction",
	"spark.network.timeout", "spark.rapids.memory.gpu.allocFraction", "spark.rapids.memory.gpu.maxAllocFraction", "spark.rapids.memory.gpu.pool",
	"spark.rapids.shuffle.mode", "spark.rapids.sql.batchSizeBytes", "spark.serializer", "spark.shuffle.manager", "spark.shuffle.service.enabled",
	"spark.remote", "spark.sql.adaptive.enabled", "spark.sql.execution.arrow.pyspark.enabled", "spark.sql.files.maxPartitionBytes", "spark.sql.shuffle.partitions",
	"spark.sql.streaming.checkpointLocation", "spark.sql.warehouse.dir", "spark.submit.deployMode", "spark.task.maxFailures", "spark.ui.enabled",
	"spark.ui.port", "spark.worker.cleanup.enabled",
}

// misspelt finds settings of Spark that are a letter away from a known one: Spark takes any name, and heeds none that it does not know.
func (f *File) misspelt() (faults []Fault) {
	known := slices.Concat(read, common)
	for _, s := range f.Settings {
		if !strings.HasPrefix(s.Key, "spark") || slices.Contains(known, s.Key) {
			continue
		}
		if i := slices.IndexFunc(known, func(k string) bool { return near(s.Key, k) }); i >= 0 {
			faults = append(faults, Fault{Setting: s, Warning: true, What: fmt.Sprintf("no setting is known by that name, and %s is a letter away", known[i]),
				Mend: strings.TrimSpace(known[i] + " " + s.Value)})
		}
	}
	return faults
}

// near tells that a letter more, less or other, two letters exchanged, or capitals make one of two names the other.
func near(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:] // from where they differ
	switch {
	case len(b) == len(a)+1:
		return a == b[1:]
	case len(a) != len(b) || len(a) == 0:
		return false
	}
	return a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}
