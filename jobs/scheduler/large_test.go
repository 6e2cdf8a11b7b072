package scheduler

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// Reports that have results as large as may be, more than the scheduler takes at once, do not fill the memory.
func TestLargeResults(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes some hundred megabytes, which takes seconds")
	}
	const n, limit = 200, 500 << 20
	result := json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)
	s := started(t, func(st *store.Store, b queue.Broker) {
		if _, err := b.Declare(t.Context(), queue.Spec{Name: job.QueueReports}); err != nil {
			t.Fatal(err)
		}
		var all []*job.Job
		for i := range n {
			all = append(all, &job.Job{Spec: job.Spec{ID: fmt.Sprint(i), Type: "t", Attempts: 1}, State: job.Running, Worker: "w",
				WorkerType: "cpu", Attempt: 1, Begun: 1})
			body, err := json.Marshal(&job.Report{Job: fmt.Sprint(i), Attempt: 1, Worker: "w", Device: "cpu", Result: result})
			if err == nil {
				err = b.Publish(t.Context(), job.QueueReports, queue.Message{Body: body})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Commit(&store.Changes{Jobs: all}); err != nil {
			t.Fatal(err)
		}
	})
	most := uint64(0)
	for {
		states, _, err := s.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
		if states[job.Running] == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if most > limit {
		t.Errorf("%d MB of memory for %d results of 1 MB", most>>20, n)
	}
}
