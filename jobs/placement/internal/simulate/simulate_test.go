package simulate

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"cancha/jobs/placement"
)

// alike are jobs of one type that take as long on any worker.
func alike(n int, seconds float64) (jobs []Job) {
	for i := range n {
		jobs = append(jobs, Job{
			Job:     placement.Job{ID: fmt.Sprint("job-", i), Type: "t", Work: placement.Work{Type: "t"}, Priority: 5},
			Seconds: map[placement.Device]float64{placement.CPU: seconds, placement.GPU: seconds},
		})
	}
	return jobs
}

func cpus(n int) (workers []Worker) {
	for i := range n {
		workers = append(workers, Worker{Worker: placement.Worker{ID: fmt.Sprint("cpu-", i+1), Device: placement.CPU}})
	}
	return workers
}

// TestClock: what happens when, by hand.
func TestClock(t *testing.T) {
	jobs := alike(4, 2)
	jobs[3].Submitted = 7
	workers := cpus(2)
	workers[1].Joins, workers[1].Starts, workers[1].First, workers[1].Slower = 0.5, 1, 0.25, 2
	r := run(t, jobs, workers, Shared())
	var got []string
	for _, o := range r.Outcomes {
		got = append(got, fmt.Sprintf("%s %s %v-%v", o.Job.ID, o.Worker, o.Started, o.Finished))
	}
	want := []string{"job-0 cpu-1 0-2", "job-2 cpu-1 2-4", "job-1 cpu-2 1.5-5.75", "job-3 cpu-1 7-9"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Makespan != 9 || r.Response != (2+4+5.75+2)/4 || r.Busy["cpu-2"] != 4.25 {
		t.Errorf("got makespan %v, response %v, busy %v", r.Makespan, r.Response, r.Busy)
	}
}

// TestSlots: a worker with two slots runs two jobs at a time.
func TestSlots(t *testing.T) {
	workers := cpus(1)
	workers[0].Slots = 2
	for name, p := range map[string]Policy{"shared": Shared(), "predicted": predicted(t, &placement.History{})} {
		if r := run(t, alike(4, 1), workers, p); r.Makespan != 2 {
			t.Errorf("%s: got %v s, want 2", name, r.Makespan)
		}
	}
}

// TestStall: a worker stands still; what it had not begun goes elsewhere when that is known, and what it ran is run again, once.
func TestStall(t *testing.T) {
	workers := cpus(3)
	workers[0].Stalls = 5
	r := run(t, alike(60, 1), workers, predicted(t, &placement.History{}))
	again, moved := 0, 0
	for _, o := range r.Outcomes {
		if o.Attempts > 1 {
			again++
		}
		if o.Moves > o.Attempts {
			moved++
		}
		if o.Worker == "cpu-1" && o.Finished > 5 {
			t.Errorf("job %s has ended on cpu-1 at %v", o.Job.ID, o.Finished)
		}
	}
	// 5 jobs on cpu-1, and 55 on two others, which a plan that knew of it would end at 28.
	if len(r.Outcomes) != 60 || again > 1 || moved < 1 || r.Makespan > 29 {
		t.Errorf("got %d jobs, %d of them twice, %d moved, until %v s", len(r.Outcomes), again, moved, r.Makespan)
	}
}

// TestJoin: a worker joins, and what two others had been given, and not begun, is its as well.
func TestJoin(t *testing.T) {
	workers := cpus(3)
	workers[2].Joins = 4.5
	r := run(t, alike(7, 3), workers, predicted(t, &placement.History{}))
	// 2 until 3, 2 until 6, 1 on cpu-3 until 7.5, 2 until 9: three workers from 4.5 on end 7 jobs at 9.
	if r.Makespan != 9 || r.Busy["cpu-3"] != 3 {
		t.Errorf("got %v s, cpu-3 busy for %v", r.Makespan, r.Busy["cpu-3"])
	}
}

// TestSame: a load gives the same result each time.
func TestSame(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	jobs := mixed(t)[:200]
	a := run(t, jobs, cluster(), predicted(t, &placement.History{}))
	b := run(t, jobs, cluster(), predicted(t, &placement.History{}))
	if !reflect.DeepEqual(a, b) {
		t.Error("two plays of one load differ")
	}
}

// TestKnown: what was learned in one play makes the next one's predictions better.
func TestKnown(t *testing.T) {
	jobs, h := mixed(t)[:300], &placement.History{}
	first := run(t, jobs, cluster(), predicted(t, h))
	second := run(t, jobs, cluster(), predicted(t, h))
	if a, b := first.Accuracy.Typical(), second.Accuracy.Typical(); b >= a || b > 1.15 {
		t.Errorf("predictions were wrong by a factor of %.3f, and then of %.3f", a, b)
	}
}

// TestRunErrors: each error names what is wrong.
func TestRunErrors(t *testing.T) {
	double, late, endless, nowhere := alike(2, 1), alike(1, 1), alike(1, math.NaN()), alike(1, 1)
	double[1].ID = double[0].ID
	late[0].Submitted = -1
	nowhere[0].Device = placement.GPU
	slow := cpus(1)
	slow[0].Slower = -1
	for _, c := range []struct {
		name    string
		jobs    []Job
		workers []Worker
		want    string
	}{
		{"two jobs of one id", double, cpus(1), `job "job-0": its id is missing, or another's`},
		{"submitted before the beginning", late, cpus(1), `submitted at -1`},
		{"takes no time that there is", endless, cpus(1), `NaN s on a`},
		{"two workers of one id", alike(1, 1), append(cpus(1), cpus(1)...), `two workers "cpu-1"`},
		{"a worker without an id", alike(1, 1), []Worker{{}}, "without an id"},
		{"a worker that is no worker", alike(1, 1), slow, "slower"},
		{"a job that no worker runs", nowhere, cpus(1), `0 of 1 jobs were done; job "job-0" was not`},
	} {
		_, err := Run(c.jobs, c.workers, predicted(t, &placement.History{}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// scripted does what it is told.
type scripted struct{ moves []Move }

func (s *scripted) Decide(View) []Move {
	m := s.moves
	s.moves = nil
	return m
}
func (s *scripted) Done(Job, placement.Worker, float64) {}

// TestMoves: a policy that moves what is not there is told so.
func TestMoves(t *testing.T) {
	for _, m := range []Move{{Job: "job-9", To: "cpu-1"}, {Job: "job-0", To: "gpu-1"}, {Job: "job-0", From: "cpu-1"},
		{Job: "job-0", From: "gpu-1", To: "cpu-1"}} {
		if _, err := Run(alike(1, 1), cpus(1), &scripted{[]Move{m}}); err == nil || !strings.Contains(err.Error(), m.Job) {
			t.Errorf("%+v: got %v", m, err)
		}
	}
}
