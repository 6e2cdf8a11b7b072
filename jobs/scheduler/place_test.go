package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

// late has worker g run job a, which takes much longer than was thought, and job b wait for it in gpu_queue; others beat then, too.
func late(t *testing.T, others ...placement.Worker) *bench {
	b := newBench(t)
	gpu := placement.Worker{ID: "g", Device: placement.GPU, Memory: 8e9}
	b.beats(gpu, "", "")
	b.submit(`{"job_type":"matrix_multiply","job_id":"a","size":4096}`)
	b.submit(`{"job_type":"matrix_multiply","job_id":"b","size":4096}`)
	b.beats(gpu, "", "a/1")
	b.went("gpu_queue a1", "gpu_queue b1")
	b.step(9*time.Second, func() {
		b.beat(&job.Beat{Worker: gpu, Running: []job.Run{{Job: "a", Attempt: 1, Elapsed: 9, Progress: 0.06}}}, b.now)
		for _, w := range others {
			b.beat(&job.Beat{Worker: w}, b.now)
		}
	})
	return b
}

// A job that waits for a worker that takes longer than was thought goes to a device where it ends sooner, and what it leaves behind is refused.
func TestMoves(t *testing.T) {
	b := late(t, cpu("c"))
	b.went("cpu_queue b2")
	b.is("b", job.Assigned, "moved: sooner than on g")
	if v := b.beats(placement.Worker{ID: "g", Device: placement.GPU}, "a/1", "b/1")["b/1"]; v != job.Drop {
		t.Errorf("what was left behind: got %q", v)
	}
	if v := b.beats(cpu("c"), "", "b/2")["b/2"]; v != job.Begin {
		t.Errorf("got %q", v)
	}
	b.step(time.Second, func() { b.replan = true })
	b.is("b", job.Running, "") // nothing moves it any more
	b.went()
}

// Where another worker of the device is free, the job is in its queue already: it stays, and keeps the reason for which it went there.
func TestStays(t *testing.T) {
	b := late(t, placement.Worker{ID: "h", Device: placement.GPU, Memory: 8e9})
	b.went()
	if got := b.tasks["b"]; got.State != job.Assigned || got.Attempt != 1 || strings.Contains(got.Reason, "moved") {
		t.Errorf("got %s, attempt %d: %s", got.State, got.Attempt, got.Reason)
	}
}

// Jobs that no worker there is runs, however many, keep no others back, and are given when a worker comes that runs them.
func TestUnservedJobs(t *testing.T) {
	b := newBench(t)
	b.beats(cpu("w"), "", "")
	for i := range 600 {
		b.submit(fmt.Sprintf(`{"job_type":"vector_addition","job_id":"g%d","device":"gpu"}`, i))
	}
	b.submit(`{"job_type":"vector_addition","job_id":"c"}`)
	b.went("cpu_queue c1")
	for _, id := range []string{"g0", "g599"} {
		if j := b.tasks[id]; j.State != job.Queued || !strings.HasPrefix(j.Reason, "waits: ") {
			t.Errorf("job %s is %s: %s", id, j.State, j.Reason)
		}
	}
	if err := b.cancel("g599", b.now); err != nil {
		t.Fatal(err)
	}
	w := placement.Worker{ID: "g", Device: placement.GPU, Memory: 8e9}
	b.beats(w, "", "")
	if n := len(b.aside); n != 0 {
		t.Errorf("%d jobs stand aside", n)
	}
	b.is("g0", job.Assigned, "gpu: ")
}

// Jobs that a busy GPU is ordered for, however many, keep no CPU idle.
func TestOrderedJobs(t *testing.T) {
	b := newBench(t)
	b.beats(placement.Worker{ID: "g", Device: placement.GPU, Memory: 8e9}, "", "")
	for i := range 1200 {
		b.submit(fmt.Sprintf(`{"job_type":"vector_addition","job_id":"g%d","device":"gpu","priority":9}`, i))
	}
	b.submit(`{"job_type":"vector_addition","job_id":"c"}`)
	b.beats(cpu("w"), "", "")
	b.is("c", job.Assigned, "cpu: ")
	b.is("g1199", job.Queued, "")
}
