package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/local"
	"cancha/jobs/queue"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
)

// stuffed is a broker with a queue that takes no more.
type stuffed struct{ queue.Broker }

func (s stuffed) Publish(ctx context.Context, name string, all ...queue.Message) error {
	if name == "stuffed" {
		return fmt.Errorf("%w: it has reached its length", queue.ErrFull)
	}
	return s.Broker.Publish(ctx, name, all...)
}

// Who asks for results in a queue that is full, or is not there, holds up nobody; the results go where all others go.
func TestRepliesThatNobodyTakes(t *testing.T) {
	b, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := scheduler.Start(t.Context(), stuffed{b}, st, scheduler.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var bodies []queue.Message
	for i, to := range []string{"stuffed", "nowhere", "result_queue"} {
		bodies = append(bodies, queue.Message{Body: fmt.Appendf(nil, `{"job_type":"t","job_id":"j%d","deadline":1,"reply_to":%q}`, i, to)})
		bodies = append(bodies, queue.Message{Body: fmt.Appendf(nil, `{"job_type":"other","job_id":"j%d","reply_to":%q}`, i, to)}) // the id is another job's
	}
	if err := b.Publish(t.Context(), job.QueueJobs, bodies...); err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), job.QueueResults, len(bodies))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := map[string]int{}
	for range bodies {
		d, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("%v, after %v; trouble: %s", err, got, s.Trouble())
		}
		got[d.ID]++
		if !strings.Contains(string(d.Body), `"status":"failed"`) {
			t.Errorf("got %s", d.Body)
		}
	}
	if fmt.Sprint(got) != "map[j0:2 j1:2 j2:2]" {
		t.Errorf("got %v", got)
	}
}
