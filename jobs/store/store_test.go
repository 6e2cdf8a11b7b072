package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/store"
)

func opened(t *testing.T, folder string) *store.Store {
	t.Helper()
	s, err := store.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var noon = time.Unix(1_800_000_000, 0).UTC()

func queued(id string) *job.Job {
	return &job.Job{Spec: job.Spec{ID: id, Type: "t"}, State: job.Queued, Submitted: noon}
}

func commit(t *testing.T, s *store.Store, c *store.Changes) {
	t.Helper()
	if err := s.Commit(c); err != nil {
		t.Fatal(err)
	}
}

// What was put down is there when the folder is opened again, and each list has what belongs on it.
func TestStore(t *testing.T) {
	folder := t.TempDir()
	s := opened(t, folder)
	full := &job.Job{Spec: job.Spec{ID: "full", Type: "t", Parameters: json.RawMessage(`{"x":1}`), Device: placement.GPU, Priority: 3,
		Key: "k", Deadline: noon, After: []string{"b"},
		Unknown: map[string]json.RawMessage{"y": json.RawMessage("[2]")}},
		State: job.Running, Submitted: noon, Assigned: noon, Started: noon, Attempt: 2, Begun: 1, Worker: "w", WorkerType: placement.GPU,
		Model: "H100", Reason: "r",
		Predicted: map[placement.Device]float64{placement.GPU: 0.5}, Progress: 0.25, Doing: "d", Error: "e"}
	commit(t, s, &store.Changes{Jobs: []*job.Job{queued("a"), full, queued("b")}, Events: []store.Event{{At: noon, Job: "a", State: job.Queued}, {Job: "b"}},
		Measured: []byte("[1]"), Counts: map[string]int64{"twice": 2}})
	b := queued("b")
	b.State, b.Ended, b.Result = job.Completed, noon, json.RawMessage(`"done"`)
	commit(t, s, &store.Changes{Jobs: []*job.Job{b}})
	if _, err := store.Open(folder); !errors.Is(err, store.ErrHeld) {
		t.Errorf("opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, folder)
	defer s.Close()
	if s.Epoch() != 2 {
		t.Errorf("epoch %d, want 2", s.Epoch())
	}
	if got, err := s.Get("full"); err != nil || !reflect.DeepEqual(got, full) {
		t.Errorf("got %+v, %v, want %+v", got, err, full)
	}
	if got, err := s.ByKey("k"); err != nil || got.ID != "full" {
		t.Errorf("by key: %+v, %v", got, err)
	}
	_, err1 := s.Get("c")
	_, err2 := s.ByKey("full")
	_, err3 := s.ByKey("b") // an id
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, store.ErrUnknown) {
			t.Errorf("got %v, %v and %v", err1, err2, err3)
			break
		}
	}
	check := func(what string, list func(func(*job.Job) error) error, want ...string) {
		t.Helper()
		var ids []string
		if err := list(func(j *job.Job) error { ids = append(ids, j.ID); return nil }); err != nil || !reflect.DeepEqual(ids, want) {
			t.Errorf("%s: %v, %v, want %v", what, ids, err, want)
		}
	}
	check("open", s.Open, "a", "full")
	check("unsent", s.Unsent, "b")
	commit(t, s, &store.Changes{Sent: []string{"b", "unknown"}})
	check("unsent", s.Unsent)
	if events, last, err := s.Events(1, 10); err != nil || last != 2 || len(events) != 1 || events[0].Job != "b" {
		t.Errorf("events: %+v, %d, %v", events, last, err)
	}
	if measured, counts, err := s.State(); err != nil || string(measured) != "[1]" || counts["twice"] != 2 {
		t.Errorf("state: %s, %v, %v", measured, counts, err)
	}
}

// The last that came are listed first, page by page.
func TestList(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	var all []*job.Job
	for i := range 250 {
		j := queued(fmt.Sprint(i))
		if i%2 == 0 {
			j.State, j.Ended, j.Worker, j.Type = job.Dead, noon, "w", "even"
		}
		all = append(all, j)
	}
	commit(t, s, &store.Changes{Jobs: all})
	for _, test := range []struct {
		q     store.Query
		first string
		n     int
		more  bool
	}{
		{store.Query{}, "249", 100, true},
		{store.Query{Limit: 250}, "249", 250, false},
		{store.Query{States: []job.State{job.Dead}, Limit: 125}, "248", 125, false},
		{store.Query{States: []job.State{job.Dead, job.Failed}, Limit: 100, Skip: 100}, "48", 25, false},
		{store.Query{States: []job.State{job.Queued}, Skip: 100}, "49", 25, false},
		{store.Query{States: []job.State{job.Running}}, "", 0, false},
		{store.Query{States: []job.State{job.Queued, job.Dead, job.Queued, "unheard"}, Limit: 249}, "249", 249, true},
		{store.Query{Type: "even", Worker: "w", Limit: 1}, "248", 1, true},
		{store.Query{Type: "none"}, "", 0, false},
	} {
		got, more, err := s.List(test.q)
		if err != nil || len(got) != test.n || more != test.more || test.n > 0 && got[0].ID != test.first {
			t.Errorf("%+v: %d jobs, %v, %v", test.q, len(got), more, err)
		}
	}
}

// A job stands on the list of the state that it has now, and on no other.
func TestStates(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	j := queued("a")
	for _, state := range []job.State{job.Queued, job.Assigned, job.Running, job.Queued, job.Dead, job.Queued, job.Completed} {
		j.State, j.Ended = state, noon
		commit(t, s, &store.Changes{Jobs: []*job.Job{j}})
		for _, other := range job.States() {
			if got, _, err := s.List(store.Query{States: []job.State{other}}); err != nil || (len(got) == 1) != (other == state) {
				t.Errorf("it is %s, and %d are %s: %v", state, len(got), other, err)
			}
		}
	}
	if n, err := s.Expire(noon.Add(48*time.Hour), 10); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got, _, err := s.List(store.Query{}); err != nil || len(got) != 0 {
		t.Errorf("forgotten, and listed: %v, %v", got, err)
	}
}

// BenchmarkList lists ten jobs of a state that few have, and the ten that came first of those that all others have, among a million.
func BenchmarkList(b *testing.B) {
	const n = 1_000_000
	s, err := store.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := 0; i < n; {
		var all []*job.Job
		for range 20_000 {
			j := queued(fmt.Sprint(i))
			if i++; i > n-20 {
				break
			}
			if i <= 20 {
				j.State, j.Ended = job.Dead, noon
			}
			all = append(all, j)
		}
		if err := s.Commit(&store.Changes{Jobs: all}); err != nil {
			b.Fatal(err)
		}
	}
	for name, q := range map[string]store.Query{"rare": {States: []job.State{job.Dead}, Limit: 10},
		"last page": {States: []job.State{job.Queued}, Limit: 10, Skip: n - 60}, "any": {Limit: 10}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got, _, err := s.List(q); err != nil || len(got) != 10 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// keyed is a job with a key that is called after it.
func keyed(id string) *job.Job {
	j := queued(id)
	j.Key = "key of " + id
	return j
}

// A job whose time is over is forgotten, with its key; one that is replayed is not.
func TestExpire(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	ended := func(id string, keep time.Duration) *job.Job {
		j := keyed(id)
		j.State, j.Ended, j.ResultTTL = job.Dead, noon, keep
		return j
	}
	commit(t, s, &store.Changes{Jobs: []*job.Job{ended("a", time.Minute), ended("b", time.Hour), ended("c", time.Minute),
		ended("d", time.Second), keyed("e")}})
	commit(t, s, &store.Changes{Jobs: []*job.Job{keyed("c")}})
	if n, err := s.Expire(noon.Add(time.Minute), 1); n != 1 || err != nil {
		t.Errorf("%d, %v, want one of two", n, err)
	}
	if n, err := s.Expire(noon.Add(time.Minute), 10); n != 1 || err != nil {
		t.Errorf("%d, %v, want the other", n, err)
	}
	for id, want := range map[string]bool{"a": false, "b": true, "c": true, "d": false, "e": true} {
		_, err := s.Get(id)
		_, err2 := s.ByKey("key of " + id)
		if (err == nil) != want || (err2 == nil) != want {
			t.Errorf("%s: %v, %v, want it there: %v", id, err, err2, want)
		}
	}
	commit(t, s, &store.Changes{Jobs: []*job.Job{keyed("a")}}) // the same id once more
	if j, err := s.ByKey("key of a"); err != nil || j.State != job.Queued {
		t.Errorf("%+v, %v", j, err)
	}
}

// A key stays with the job that had it first: one that ends as that one does may be cancelled, which says nothing of the key, and one that
// is refused since it asks for something else has never had it.
func TestKeyStays(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	first, second := queued("first"), queued("second")
	first.Key, second.Key, second.SameAs = "k", "k", "first"
	commit(t, s, &store.Changes{Jobs: []*job.Job{first, second}})
	refused := queued("refused")
	refused.Key, refused.State, refused.Ended = "k", job.Failed, noon
	commit(t, s, &store.Changes{Jobs: []*job.Job{refused}})
	if j, err := s.ByKey("k"); err != nil || j.ID != "first" {
		t.Errorf("got %+v, %v", j, err)
	}
}
