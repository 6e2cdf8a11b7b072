package placement

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A strategy's word counts where its worker can run the job and has room; whatever else it says, or does, has the job wait with a reason.
func TestStrategy(t *testing.T) {
	workers := []Worker{{ID: "a", Device: CPU}, {ID: "b", Device: CPU}, {ID: "gpu", Device: GPU}, {ID: "gone", Device: CPU, Stalled: true}}
	work := MatrixMultiply(500, 500, 500)
	always := func(id string) Strategy { return StrategyFunc(func(Job, []Candidate) string { return id }) }
	for _, c := range []struct {
		name         string
		strategy     Strategy
		job          Job
		worker, says string
		now          bool
	}{
		{"its worker", always("b"), Job{ID: "j", Work: work}, "b", "by the program's strategy", true},
		{"nobody", always(""), Job{ID: "j", Work: work}, "", "gives it to no worker now", false},
		{"a stranger", always("c"), Job{ID: "j", Work: work}, "", `names "c"`, false},
		{"one that takes nothing", always("gone"), Job{ID: "j", Work: work}, "", `names "gone"`, false},
		{"another device than ordered", always("a"), Job{ID: "j", Work: work, Device: GPU}, "", `names "a"`, false},
		{"a panic", StrategyFunc(func(_ Job, all []Candidate) string { return all[7].ID }), Job{ID: "j", Work: work}, "",
			"has failed: panic: runtime error: index out of range", false},
		{"the end of its goroutine", StrategyFunc(func(Job, []Candidate) string { runtime.Goexit(); return "" }), Job{ID: "j", Work: work},
			"", "has failed: runtime.Goexit", false},
		{"what was given stays", always("b"), Job{ID: "j", Work: work, Worker: "a"}, "a", "", true},
		{"what was given to who is gone is asked about", always("b"), Job{ID: "j", Work: work, Worker: "gone"}, "b", "moved: gone has stalled", true},
		{"the best", StrategyFunc(func(_ Job, all []Candidate) string { return Best(all).ID }),
			Job{ID: "j", Work: MatrixMultiply(4000, 4000, 4000)}, "gpu", "by the program's strategy", true},
	} {
		p, err := NewPlanner(&History{}, Settings{Strategy: c.strategy})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Choose(c.job, workers)
		if d.Worker != c.worker || d.Now != c.now || !strings.Contains(d.Reason(), c.says) || d.Alone != (c.worker != "") {
			t.Errorf("%s: got %+v, %q", c.name, d, d.Reason())
		}
	}
}

// Each job sees what those before it have left: loads grow, and rooms fill, also beyond what a strategy asks for.
func TestStrategyLoads(t *testing.T) {
	var seen []string
	p, err := NewPlanner(&History{}, Settings{AheadSeconds: 1e-9, Strategy: StrategyFunc(func(j Job, all []Candidate) string {
		for _, c := range all {
			seen = append(seen, fmt.Sprint(j.ID, " ", c.ID, " ", c.Given, " ", c.Room, " ", c.Load > 0))
		}
		return "a"
	})})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []Job
	for i := range 3 {
		jobs = append(jobs, Job{ID: fmt.Sprint(i), Work: MatrixMultiply(900, 900, 900), Waited: float64(3 - i)})
	}
	plan := p.Plan(jobs, []Worker{{ID: "a", Device: CPU}})
	if got := strings.Join(seen, "; "); got != "0 a 0 true false; 1 a 1 true true; 2 a 2 false true" {
		t.Errorf("it saw %s", got)
	}
	if d := plan.Decisions; !d[0].Now || !d[1].Now || d[2].Now || d[2].Worker != "a" || !(plan.Makespan > d[1].Finish) {
		t.Errorf("got %+v", plan)
	}
}

// A strategy that does not return holds nobody up for longer than a moment: all jobs wait, and why is told; it is asked nothing else
// meanwhile. What it answers late counts, and then it is asked as ever.
func TestStrategyNotReturning(t *testing.T) {
	proceed, asked := make(chan struct{}), make(chan string, 100)
	p, err := NewPlanner(&History{}, Settings{Strategy: StrategyFunc(func(j Job, all []Candidate) string {
		asked <- j.ID
		if j.ID == "0" {
			<-proceed
		}
		return "a"
	})})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []Job
	for i := range 100 {
		jobs = append(jobs, Job{ID: fmt.Sprint(i), Work: MatrixMultiply(100, 100, 100), Waited: float64(100 - i)})
	}
	workers := []Worker{{ID: "a", Device: CPU}}
	for range 2 {
		for _, d := range p.Plan(jobs, workers).Decisions {
			if d.Worker != "" || !strings.Contains(d.Reason(), `asked about job "0" at `) {
				t.Fatalf("got %+v, %q", d, d.Reason())
			}
		}
		if why := p.Trouble(); !strings.Contains(why, "has not answered") {
			t.Errorf("trouble: %q", why)
		}
	}
	if n := len(asked); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	close(proceed)
	for p.Trouble() != "" {
		runtime.Gosched()
	}
	if d := p.Plan(jobs, workers).Decisions; d[0].Worker != "a" || d[99].Worker != "a" || len(asked) != 100 {
		t.Errorf("got %+v after %d questions", d[0], len(asked))
	}
	if p.Trouble() != "" {
		t.Error(p.Trouble())
	}
}
