package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/queue"
	"cancha/jobs/store"
)

// endedAt is a job that has ended, and the event of that.
func endedAt(id string, at time.Time, result json.RawMessage) (*job.Job, store.Event) {
	return &job.Job{Spec: job.Spec{ID: id, Type: "t"}, State: job.Completed, Ended: at, Result: result},
		store.Event{At: at, Job: id, Type: "t", State: job.Completed}
}

func ids(e Endings) string {
	var all []string
	for _, one := range e.All {
		all = append(all, fmt.Sprintf("%d:%s:%t", one.Number, one.ID, one.Job != nil))
	}
	return strings.Join(all, " ")
}

// Each end is told once, behind the number of the one before; of one that was replayed since only that it was.
func TestEndings(t *testing.T) {
	now := time.Now()
	s := started(t, func(st *store.Store, _ queue.Broker) {
		a, endA := endedAt("a", now, nil)
		b, endB := endedAt("b", now.Add(time.Second), nil)
		earlier := endB
		earlier.At, earlier.State = now, job.Dead // and was replayed
		if err := st.Commit(&store.Changes{Jobs: []*job.Job{a, b},
			Events: []store.Event{{At: now, Job: "a", State: job.Running}, endA, earlier, endB}}); err != nil {
			t.Fatal(err)
		}
	})
	for _, test := range []struct {
		after uint64
		most  int
		want  string
		next  uint64
		more  bool
		miss  bool
	}{
		{0, 0, "2:a:true 3:b:false 4:b:true", 4, false, false}, {0, 2, "2:a:true", 2, true, false}, {2, 1, "3:b:false", 3, true, false},
		{4, 0, "", 4, false, false}, {9, 0, "", 4, false, true},
	} {
		e, err := s.Endings(t.Context(), test.after, test.most)
		if err != nil || ids(e) != test.want || e.Next != test.next || e.More != test.more || e.Missed != test.miss {
			t.Errorf("behind %d: got %s and %+v, %v", test.after, ids(e), e, err)
		}
	}
}

// Of events that are forgotten it says so, and an answer with large results is one that a message takes.
func TestEndingsMany(t *testing.T) {
	now, large := time.Now(), json.RawMessage(`"`+strings.Repeat("x", 1<<20-2)+`"`)
	s := started(t, func(st *store.Store, _ queue.Broker) {
		c := store.Changes{Events: make([]store.Event, 10_000)}
		for i := range 20 {
			j, e := endedAt(fmt.Sprint(i), now, large)
			c.Jobs, c.Events = append(c.Jobs, j), append(c.Events, e)
		}
		if err := st.Commit(&c); err != nil {
			t.Fatal(err)
		}
	})
	if e, err := s.Endings(t.Context(), 5, 10); err != nil || !e.Missed || e.Next != 30 || !e.More {
		t.Errorf("got %+v, %v", e, err)
	}
	seen := 0
	for after := uint64(10_000); ; {
		body, err := s.answered(fmt.Appendf(nil, `{"ask":"endings","after":%d}`, after))
		var a Answer
		if err != nil || json.Unmarshal(body, &a) != nil || a.Error != "" || a.Endings == nil || a.Endings.Missed || a.Endings.Next == after {
			t.Fatalf("%d bytes, %v, %s, %+v", len(body), err, a.Error, a.Endings)
		}
		seen, after = seen+len(a.Endings.All), a.Endings.Next
		if !a.Endings.More {
			break
		}
	}
	if seen != 20 {
		t.Errorf("%d of 20", seen)
	}
}
