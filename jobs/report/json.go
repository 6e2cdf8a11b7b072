package report

import (
	"encoding/json"
	"math"

	"cancha/jobs/placement"
)

// summary is what a report says, as JSON: report.json. Times are seconds, rates jobs a second; what there is not is null.
type summary struct {
	Jobs       int           `json:"jobs"`
	Throughput *float64      `json:"throughput"`
	Kinds      []kindJSON    `json:"kinds"`
	Comparison []compareJSON `json:"gpu_against_cpu"`
}

// kindJSON are the statistics of jobs of a type and a worker type, of which times are those of completed ones.
type kindJSON struct {
	Type       string           `json:"job_type"`
	Device     placement.Device `json:"worker_type"`
	Count      int              `json:"count"`
	Completed  int              `json:"completed"`
	Average    *float64         `json:"average"`
	Minimum    *float64         `json:"minimum"`
	Maximum    *float64         `json:"maximum"`
	P95        *float64         `json:"p95"`
	Throughput *float64         `json:"throughput"`
}

type compareJSON struct {
	Type     string   `json:"job_type"`
	CPU      *float64 `json:"cpu_average"`
	GPU      *float64 `json:"gpu_average"`
	SpeedUp  *float64 `json:"speedup"`
	SameWork *float64 `json:"speedup_at_same_work"`
}

// summaryJSON writes what was measured.
func summaryJSON(m *Measures) ([]byte, error) {
	s := summary{Jobs: m.Jobs(), Throughput: number(m.Throughput()), Kinds: []kindJSON{}, Comparison: []compareJSON{}}
	for _, k := range m.Statistics() {
		s.Kinds = append(s.Kinds, kindJSON{k.Type, k.Device, k.Jobs, k.Completed, number(k.Mean), number(k.Min), number(k.Max),
			number(k.P95), number(k.Throughput)})
	}
	for _, c := range m.Comparisons() {
		s.Comparison = append(s.Comparison, compareJSON{c.Type, number(c.CPU), number(c.GPU), number(c.SpeedUp), number(c.SameWork)})
	}
	return json.MarshalIndent(s, "", "  ")
}

// number is null in JSON where it is none.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
