package monitor

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cancha/internal/running"
)

// serveMetrics answers Prometheus. What it takes is made at the first request: most processes are never asked.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	s.metrics.Do(func() {
		registry := prometheus.NewRegistry() // not the library's own, to which anybody may add
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{s})
		s.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	})
	s.handler.ServeHTTP(w, r)
}

// collector tells Prometheus what runs. Of what has ended it has counts only: a series ends with what it is of.
type collector struct{ s *Server }

// Describe implements prometheus.Collector. It names nothing in advance: which metrics there are depends on what runs.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	g := gatherer{to}
	g.set("cancha_build_info", "Always 1; the version of the program.", 1, "version", c.s.config.Version)
	live := map[running.Kind]int{}
	for _, kind := range allKinds() {
		live[kind] = 0
	}
	for _, i := range c.s.pull.items() {
		if i.State() != running.Running {
			continue
		}
		live[i.Kind]++
		g.item(i)
	}
	for kind, n := range live {
		g.set("cancha_running", "How many things run, by kind.", float64(n), "kind", string(kind))
	}
	c.ended(g)
}

// ended counts what has ended. Each count is there from the start: Prometheus sees no increase in a series that begins with 1, and would miss
// the first query that fails.
func (c *collector) ended(g gatherer) {
	tallies := c.s.config.Registry.Tallies()
	for _, kind := range allKinds() {
		for _, state := range []running.State{running.Succeeded, running.Failed} {
			n := tallies[running.Tally{Kind: kind, State: state}]
			g.count("cancha_ended_total", "How many things have ended, by kind and how.", float64(n), "kind", string(kind), "state", string(state))
		}
	}
}

// allKinds are the kinds of things that there are.
func allKinds() []running.Kind {
	return []running.Kind{running.Query, running.Fit, running.Load, running.Export, running.GPU, running.Producer}
}

// gatherer writes metrics. Labels are names and values in turn.
type gatherer struct{ to chan<- prometheus.Metric }

func (g gatherer) set(name, help string, value float64, labels ...string) {
	g.write(name, help, prometheus.GaugeValue, value, labels)
}

func (g gatherer) count(name, help string, value float64, labels ...string) {
	g.write(name, help, prometheus.CounterValue, value, labels)
}

func (g gatherer) write(name, help string, kind prometheus.ValueType, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "\uFFFD"))
	}
	m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	g.to <- m
}

func (g gatherer) item(i item) {
	id := strconv.FormatInt(i.ID, 10)
	switch i.Kind {
	case running.Query:
		g.query(i, []string{"query", i.Name, "id", id})
	case running.Fit, running.Load, running.Export:
		g.job(i, []string{"name", i.Name, "kind", string(i.Kind), "id", id})
	case running.GPU:
		g.device(i.Device, []string{"device", i.Name, "id", id})
	case running.Producer:
		labels := []string{"topic", i.Sent.Topic, "id", id}
		g.count("cancha_producer_records_total", "Records that brokers have acknowledged.", float64(i.Sent.Acknowledged), labels...)
		g.set("cancha_producer_waiting_records", "Records that wait for their acknowledgement.", float64(i.Sent.Waiting), labels...)
	}
}

// query has the numbers of the Streaming tab, times in seconds.
func (g gatherer) query(i item, labels []string) {
	q, p := queryOf(i), i.Progress
	g.count("cancha_streaming_input_rows_total", "Records read.", float64(i.Totals.Records), labels...)
	g.count("cancha_streaming_output_rows_total", "Rows given out.", float64(i.Totals.Rows), labels...)
	g.count("cancha_streaming_late_rows_total", "Rows dropped because what they belong to was closed.", float64(i.Totals.Late), labels...)
	g.count("cancha_streaming_bad_records_total", "Records that could not be used.", float64(i.Totals.Bad), labels...)
	g.count("cancha_streaming_lost_records_total", "Records that retention removed before they could be read.", float64(i.Totals.Lost), labels...)
	g.count("cancha_streaming_retries_total", "How often a source could not read and tried again.", float64(i.Totals.Retries), labels...)
	last := p.Reported()
	if last.IsZero() {
		last = i.Started
	}
	g.set("cancha_streaming_last_report_timestamp_seconds", "When the newest report was made, in seconds since 1970; before the first one, the start of the query.", float64(last.UnixMilli())/1000, labels...)
	g.set("cancha_streaming_epoch_age_seconds", "For how long an epoch has been on its way: its snapshot, and its rows to the sinks; 0 if none is, or there is no checkpoint.", i.Epoch.Seconds(), labels...)
	g.set("cancha_streaming_input_rows_per_second", "Records over the length of the newest report; 0 if that is old.", p.InputRowsPerSecond, labels...)
	g.set("cancha_streaming_processed_rows_per_second", "Records over the time spent on them, in the newest report; 0 if that is old.", p.ProcessedRowsPerSecond, labels...)
	g.set("cancha_streaming_batch_duration_seconds", "Time spent on records in the newest report.", float64(p.BatchDuration)/1000, labels...)
	g.set("cancha_streaming_lag_records", "Records that are there and have not been read.", float64(q.Lag), labels...)
	g.set("cancha_streaming_state_rows", "Rows and groups that operators keep.", float64(q.StateRows), labels...)
	g.set("cancha_streaming_state_bytes", "Memory that operators keep, about.", float64(i.Totals.Bytes), labels...)
	g.known("cancha_streaming_busy_ratio", "Share of the newest report's time that was spent on records.", q.Busy, labels)
	g.known("cancha_streaming_watermark_gap_seconds", "By how much the watermark is behind the clock.", q.WatermarkGap, labels)
	g.known("cancha_streaming_skew_ratio", "Records of the busiest partition over the mean.", q.Skew, labels)
	if q.SchedulingDelay != nil {
		g.set("cancha_streaming_scheduling_delay_seconds", "How long the newest record waits at the present speed.", float64(*q.SchedulingDelay)/1000, labels...)
	}
	for name, ms := range p.DurationMs {
		g.set("cancha_streaming_operation_duration_seconds", "Time of the newest report, by operation.", float64(ms)/1000, append(labels[:len(labels):len(labels)], "operation", name)...)
	}
	for n, part := range i.Sources {
		g.partition(part, append(labels[:len(labels):len(labels)], "source", strconv.Itoa(sourceNumber(i, n)), "topic", part.Topic, "partition", strconv.Itoa(part.ID)))
	}
}

// sourceNumber tells partitions of two sources apart that read one topic.
func sourceNumber(i item, n int) int {
	number := 0
	for k := 1; k <= n; k++ {
		a, b := i.Sources[k-1], i.Sources[k]
		if a.Source != b.Source || a.Topic > b.Topic || a.Topic == b.Topic && a.ID >= b.ID {
			number++
		}
	}
	return number
}

func (g gatherer) partition(p running.Partition, labels []string) {
	g.count("cancha_streaming_partition_records_total", "Records read, by partition.", float64(p.Records), labels...)
	g.set("cancha_streaming_partition_lag_records", "Records that are there and have not been read, by partition.", float64(p.Lag), labels...)
	if !p.Watermark.IsZero() {
		g.set("cancha_streaming_partition_watermark_timestamp_seconds", "Watermark of a partition, in seconds since 1970.", float64(p.Watermark.UnixMilli())/1000, labels...)
	}
}

// known writes a gauge whose value is known.
func (g gatherer) known(name, help string, value *float64, labels []string) {
	if value != nil {
		g.set(name, help, *value, labels...)
	}
}

func (g gatherer) job(i item, labels []string) {
	g.set("cancha_job_completed_tasks", "Trees, matches, batches that are done.", float64(i.Work.Done), labels...)
	g.set("cancha_job_tasks", "Trees, matches, batches that there are to do; 0: unknown.", float64(i.Work.Total), labels...)
	g.set("cancha_job_rows", "Rows of the job.", float64(i.Work.Rows), labels...)
	g.set("cancha_job_elapsed_seconds", "For how long the job has run.", i.Elapsed().Seconds(), labels...)
}

func (g gatherer) device(d running.DeviceState, labels []string) {
	for at, side := range []string{"cpu", "gpu"} {
		with := append(labels[:len(labels):len(labels)], "side", side)
		g.count("cancha_gpu_operations_total", "Operations of a session, by where they ran.", float64(d.Operations[at]), with...)
		g.count("cancha_gpu_operation_seconds_total", "Time of operations, by where they ran.", d.Seconds[at], with...)
	}
	g.count("cancha_gpu_copied_bytes_total", "Bytes copied to the GPU and back.", float64(d.BytesIn), append(labels[:len(labels):len(labels)], "direction", "in")...)
	g.count("cancha_gpu_copied_bytes_total", "Bytes copied to the GPU and back.", float64(d.BytesOut), append(labels[:len(labels):len(labels)], "direction", "out")...)
	g.count("cancha_gpu_fallbacks_total", "Operations that went to the CPU for want of memory, or of the GPU.", float64(d.Fallbacks), labels...)
	g.set("cancha_gpu_peak_memory_bytes", "The most of the GPU's memory that the session has had.", float64(d.PeakMemory), labels...)
	g.known("cancha_gpu_utilization_ratio", "Share of time in which the GPU was busy.", d.Utilization, labels)
	g.known("cancha_gpu_memory_bytes", "Memory of the GPU in use.", d.Memory, labels)
	g.known("cancha_gpu_power_watts", "What the GPU draws.", d.Power, labels)
	g.known("cancha_gpu_temperature_celsius", "Temperature of the GPU.", d.Temperature, labels)
}
