package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the processes that a trial kills.
func TestMain(m *testing.M) {
	r, is, err := roleOf()
	if err == nil && is {
		ctx, stop := notified()
		err = r.run(ctx)
		stop()
	} else if err == nil {
		os.Exit(m.Run())
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// TestShort is the short form of "make jobs-chaos".
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes: takes seconds")
	}
	var out strings.Builder
	err := trial{jobs: 1000, kills: 6, workers: 2, seed: uint64(time.Now().UnixNano()), patience: 30 * time.Second}.run(t.Context(), &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

// TestUnexplained: what no fault explains is told.
func TestUnexplained(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	f := &field{trial: trial{jobs: 20}, faults: []fault{{killed, "worker", 7, at(5), at(5)}, {killed, "scheduler", 9, at(100), at(100)},
		{killed, "scheduler", 10, at(200), at(200)}}}
	end := func(r *run, to int, how string) *run { r.to, r.how = at(to), how; return r }
	begin := func(pid, attempt, claimed, from int) *run {
		return &run{job: id(13), pid: pid, attempt: attempt, claimed: at(claimed), from: at(from)}
	}
	for name, c := range map[string]struct {
		runs   []*run
		stored int
		want   string
	}{
		"killed":                {[]*run{begin(7, 1, 4, 4), begin(8, 2, 6, 6)}, 0, "the worker was killed"},
		"killed once claimed":   {[]*run{begin(7, 1, 5, 6), begin(8, 2, 8, 8)}, 0, "the worker was killed"},
		"another one":           {[]*run{begin(6, 1, 4, 4), begin(8, 2, 6, 6)}, 0, unexplained},
		"long before":           {[]*run{begin(7, 1, 6, 6), begin(8, 2, 8, 8)}, 0, unexplained},
		"after it was put down": {[]*run{end(begin(7, 1, 0, 0), 1, "good"), begin(8, 2, 6, 6)}, 2, unexplained},
		"before it was":         {[]*run{end(begin(7, 1, 0, 0), 1, "good"), begin(8, 2, 6, 6)}, 0, "the worker was killed"},
		"after the next began":  {[]*run{begin(7, 1, 1, 1), begin(8, 2, 3, 3)}, 0, unexplained},
		"failed":                {[]*run{end(begin(6, 1, 4, 4), 4, "failed"), begin(8, 2, 6, 6)}, 5, ""},
		"the same again":        {[]*run{end(begin(6, 1, 4, 4), 4, "failed"), begin(8, 1, 6, 6)}, 5, unexplained},
		"the scheduler":         {[]*run{begin(6, 1, 99, 99), begin(8, 2, 101, 101)}, 0, "the scheduler was killed"},
		"a standby":             {[]*run{begin(6, 1, 199, 199), begin(8, 2, 201, 201)}, 0, unexplained},
	} {
		v, n := &verdict{twice: map[string]int{}}, &notes{runs: map[string][]*run{id(13): c.runs}, stored: map[attempt][]time.Time{},
			led: map[int]bool{9: true}}
		if c.stored > 0 {
			n.stored[attempt{id(13), 1}] = []time.Time{at(c.stored)}
		}
		v.explain(f, n)
		if c.want == "" && len(v.twice) > 0 || c.want != "" && v.twice[c.want] != 1 || (c.want == unexplained) != (len(v.wrong) == 1) {
			t.Errorf("%s: got %v, %v", name, v.twice, v.wrong)
		}
	}
}
