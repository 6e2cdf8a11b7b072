package server

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/scheduler"
)

// newMetrics answers Prometheus.
func newMetrics(a *asker, version string) http.Handler {
	registry := prometheus.NewRegistry() // not the library's own, to which anybody may add
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{a, version})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// collector tells Prometheus of the scheduler. All counts begin with the scheduler, but those of events, which its store keeps.
type collector struct {
	asker   *asker
	version string
}

// Describe implements prometheus.Collector. It names nothing in advance: which series there are depends on which job types there are.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. While the scheduler does not answer, cancha_jobs_up is 0, and of what it knows there is nothing.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	g := gatherer{to}
	g.set("cancha_jobs_build_info", "Always 1; the version of the program.", 1, "version", c.version)
	var asking sync.WaitGroup // or the patience with each would be more than a scraper's together
	var s stats
	var workers []scheduler.Worker
	var unmeasured, unknown error
	asking.Go(func() { s, unmeasured = c.asker.stats() })
	asking.Go(func() { workers, unknown = c.asker.present() })
	g.queues(c.asker.messages())
	asking.Wait()
	up := 1.0
	if unmeasured != nil || unknown != nil || c.asker.config.Scheduler.Trouble() != "" {
		up = 0
	}
	g.set("cancha_jobs_up", "1 while jobs go on; 0 while the scheduler does not answer, or its disk or broker fails.", up)
	if unmeasured == nil {
		g.stats(&s)
	}
	if unknown == nil {
		g.workers(workers)
	}
}

// gatherer writes metrics. Labels are names and values in turn.
type gatherer struct{ to chan<- prometheus.Metric }

func (g gatherer) set(name, help string, value float64, labels ...string) {
	desc, values := describe(name, help, labels)
	g.put(prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, values...))
}

func (g gatherer) count(name, help string, value int64, labels ...string) {
	desc, values := describe(name, help, labels)
	g.put(prometheus.NewConstMetric(desc, prometheus.CounterValue, float64(value), values...))
}

// histogram writes buckets, each of which has those of the one before: within has each value once, and its last bucket has no bound.
func (g gatherer) histogram(name, help string, sum float64, within []int64, bounds []float64, labels ...string) {
	desc, values := describe(name, help, labels)
	buckets, count := map[float64]uint64{}, uint64(0)
	for i, n := range within {
		count += uint64(n)
		if i < len(within)-1 {
			buckets[bounds[i]] = count
		}
	}
	g.put(prometheus.NewConstHistogram(desc, count, sum, buckets, values...))
}

func describe(name, help string, labels []string) (*prometheus.Desc, []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "\uFFFD"))
	}
	return prometheus.NewDesc(name, help, names, nil), values
}

func (g gatherer) put(m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	g.to <- m
}

func (g gatherer) queues(all []queueView) {
	for _, q := range all {
		for state, n := range map[string]*int{"ready": q.Ready, "delayed": q.Delayed, "in_hand": q.InHand} {
			if n != nil {
				g.set("cancha_jobs_queue_messages", "Messages of a queue that wait, are kept away for a while, or are handed out and not settled.", float64(*n), "queue", q.Name, "state", state)
			}
		}
		if q.Consumers != nil {
			g.set("cancha_jobs_queue_consumers", "Who takes messages of a queue.", float64(*q.Consumers), "queue", q.Name)
		}
	}
}

// stats writes what the scheduler counts. Counts are there from the start: Prometheus sees no increase in a series that begins with 1.
func (g gatherer) stats(s *stats) {
	for _, state := range job.States() {
		g.count("cancha_jobs_events_total", "Jobs that have come into a state, since the store was made.",
			s.Counted["events."+string(state)], "state", string(state))
		if !state.Ended() {
			g.set("cancha_jobs_open", "Jobs that have not ended, by state.", float64(s.States[state]), "state", string(state))
		}
	}
	for _, c := range []struct{ name, counted, help string }{
		{"cancha_jobs_executed_twice_total", "executed twice", "Attempts that went on after they were given up: what came of them was dropped."},
		{"cancha_jobs_refused_total", "refused", "Submissions that nobody can run."},
		{"cancha_jobs_submitted_again_total", "submitted again", "Submissions of jobs that were there before."},
		{"cancha_jobs_claims_refused_total", "claims refused", "Attempts that a worker wanted to begin and nobody wanted any more."},
		{"cancha_jobs_workers_lost_total", "workers lost", "Workers that have said that they end, or have fallen silent."},
		{"cancha_jobs_bad_beats_total", "beats that make no sense", "What workers have told of themselves that cannot be so."},
	} {
		g.count(c.name, c.help, s.Counted[c.counted])
	}
	for _, o := range s.Open {
		g.set("cancha_jobs_open_by_type", "Jobs that have not ended, by type and state.", float64(o.Jobs), "type", o.Type, "state", string(o.State))
	}
	g.demand(s.Demand)
	for i := range s.Kinds {
		g.kind(&s.Kinds[i])
	}
}

func (g gatherer) demand(all map[placement.Device]placement.Demand) {
	for _, device := range placement.Devices() {
		d := all[device]
		g.set("cancha_jobs_predicted_seconds", "Predicted seconds of work that waits for a device and could run now: what to scale workers by.", d.Seconds, "device", string(device))
		g.set("cancha_jobs_demand_jobs", "Jobs that wait for a device and could run now.", float64(d.Jobs), "device", string(device))
		g.set("cancha_jobs_demand_unserved_jobs", "Jobs of the demand that no worker there is can run.", float64(d.Unserved), "device", string(device))
	}
}

func (g gatherer) kind(k *scheduler.Measured) {
	labels := []string{"type", k.Type, "device", string(k.Device)}
	for _, state := range job.States() {
		if state.Ended() {
			g.count("cancha_jobs_ended_total", "Jobs that have ended, by type, device (none: they never ran) and outcome.", k.Ended[state],
				append(labels[:4:4], "outcome", string(state))...)
		}
	}
	if k.Run.Count > 0 {
		bounds := scheduler.Bounds()
		g.histogram("cancha_jobs_wait_seconds", "Of completed jobs, from the submission until the last attempt began.", k.Wait.Sum,
			k.Wait.Within[:], bounds[:], labels...)
		g.histogram("cancha_jobs_run_seconds", "Of completed jobs, how long the last attempt ran.", k.Run.Sum, k.Run.Within[:], bounds[:], labels...)
	}
	if k.Error.Runs > 0 {
		bounds := logFactors()
		g.histogram("cancha_jobs_prediction_error", "|ln(measured / predicted)| of runs: 0.0953 is 10 % too much or too little, 0.693 twice or half.", k.Error.Error, k.Error.Within[:], bounds, labels...)
		g.set("cancha_jobs_prediction_bias_ratio", "By which factor runs take longer than predicted, above 1, or shorter: the geometric mean.", k.Error.Bias(), labels...)
	}
}

// logFactors are the bounds of placement's Accuracy as logarithms, of which it has the sum.
func logFactors() (all []float64) {
	for _, f := range placement.Factors() {
		all = append(all, math.Log(f))
	}
	return all
}

func (g gatherer) workers(all []scheduler.Worker) {
	type series struct {
		device placement.Device
		state  string
	}
	counts, slots, running := map[series]int{}, map[placement.Device]int{}, map[placement.Device]int{}
	for _, d := range placement.Devices() {
		slots[d], running[d] = 0, 0
		for _, state := range workerStates() {
			counts[series{d, state}] = 0
		}
	}
	now := time.Now()
	for i := range all {
		v := viewWorker(&all[i], now)
		counts[series{v.Type, v.State}]++
		slots[v.Type] += v.Slots
		running[v.Type] += len(v.Running)
	}
	for s, n := range counts {
		g.set("cancha_jobs_workers", "Workers that were heard of within a lease, by device and state.", float64(n), "device",
			string(s.device), "state", s.state)
	}
	for _, d := range slices.Sorted(maps.Keys(slots)) {
		g.set("cancha_jobs_worker_slots", "Jobs that the workers of a device run side by side at most.", float64(slots[d]), "device", string(d))
		g.set("cancha_jobs_worker_running", "Jobs that the workers of a device run.", float64(running[d]), "device", string(d))
	}
}
