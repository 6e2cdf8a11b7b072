package scheduler

import (
	"fmt"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// TestMeasures: what has ended is counted by kind and outcome, times are in their buckets, and what waits is demand.
func TestMeasures(t *testing.T) {
	b := newBench(t)
	b.submit(`{"job_type":"t","job_id":"a"}`)
	b.beats(cpu("w"), "", "")
	b.step(2*time.Second, func() {})
	b.beats(cpu("w"), "", "a/1")
	b.reports(job.Report{Job: "a", Attempt: 1, Worker: "w", Device: placement.CPU, Ran: 0.02})
	b.submit(`{"job_type":"bad","size":`)
	b.submit(`{"job_type":"u","job_id":"b","device":"gpu"}`)
	b.submit(`{"job_type":"u","job_id":"c","after":["b"]}`)
	b.submit(`{"job_type":"t","job_id":"d"}`)
	m := b.weigh(b.now, nil)
	if want := []Open{{"t", job.Assigned, 1}, {"u", job.Queued, 2}}; fmt.Sprint(m.Open) != fmt.Sprint(want) {
		t.Errorf("open: got %v, want %v", m.Open, want)
	}
	if len(m.Kinds) != 2 {
		t.Fatalf("got %+v, want those of a and of the one that was refused", m.Kinds)
	}
	a := m.Kinds[0]
	if a.Type != "t" || a.Device != placement.CPU || a.Ended[job.Completed] != 1 || a.Wait.Count != 1 || a.Wait.Within[7] != 1 ||
		a.Run.Within[3] != 1 || a.Run.Sum != 0.02 || a.Error.Runs != 1 {
		t.Errorf("got %+v", a)
	}
	if refused := m.Kinds[1]; refused.Type != "unknown" || refused.Ended[job.Failed] != 1 || refused.Run.Count != 0 {
		t.Errorf("got %+v", refused)
	}
	if cpu, gpu := m.Demand[placement.CPU], m.Demand[placement.GPU]; cpu.Jobs != 1 || !(cpu.Seconds > 0) || gpu.Jobs != 1 || gpu.Unserved != 1 {
		t.Errorf("got %+v; c waits for b and is no demand yet", m.Demand)
	}
}

// TestManyTypes: whoever submits jobs of ever new types does not make ever new series.
func TestManyTypes(t *testing.T) {
	b := newBench(t)
	for i := range 2 * mostTypes {
		b.submit(fmt.Sprintf(`{"job_type":"type-%d"}`, i))
	}
	m := b.weigh(b.now, nil)
	if len(m.Open) != mostTypes+1 || m.Open[0] != (Open{OtherType, job.Queued, mostTypes}) {
		t.Errorf("got %d, %v", len(m.Open), m.Open[0])
	}
}

func BenchmarkMeasures(b *testing.B) {
	s := newBench(&testing.T{})
	for i := range 10_000 {
		s.submit(fmt.Sprintf(`{"job_type":"matrix_multiply","job_id":"%d","size":%d}`, i, 256+i%512))
	}
	for i := range 10 {
		w := placement.Worker{ID: fmt.Sprint(i), Device: placement.Devices()[i%2], Slots: 1}
		s.workers[w.ID] = &worker{Worker: w, heard: s.now}
	}
	for b.Loop() {
		s.weigh(s.now, nil)
	}
}
