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
		t.Skip("kills processes for some seconds")
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
	f := &field{trial: trial{jobs: 20}, faults: []fault{{killed, "worker", 7, at(5), at(5)}, {killed, "server", 9, at(100), at(100)}}}
	for name, c := range map[string]struct {
		runs []*run
		want string
	}{
		"killed":         {[]*run{{job: id(13), pid: 7, attempt: 1, from: at(4)}, {job: id(13), pid: 8, attempt: 2, from: at(6)}}, "the worker was killed"},
		"another one":    {[]*run{{job: id(13), pid: 6, attempt: 1, from: at(4)}, {job: id(13), pid: 8, attempt: 2, from: at(6)}}, unexplained},
		"long before":    {[]*run{{job: id(13), pid: 7, attempt: 1, from: at(0), to: at(1), how: "good"}, {job: id(13), pid: 8, attempt: 2, from: at(6)}}, unexplained},
		"failed":         {[]*run{{job: id(13), pid: 6, attempt: 1, from: at(4), to: at(4), how: "failed"}, {job: id(13), pid: 8, attempt: 2, from: at(6)}}, ""},
		"the same again": {[]*run{{job: id(13), pid: 6, attempt: 1, from: at(4), to: at(4), how: "failed"}, {job: id(13), pid: 8, attempt: 1, from: at(6)}}, unexplained},
	} {
		v := &verdict{twice: map[string]int{}}
		v.explain(f, map[string][]*run{id(13): c.runs})
		if c.want == "" && len(v.twice) > 0 || c.want != "" && v.twice[c.want] != 1 || (c.want == unexplained) != (len(v.wrong) == 1) {
			t.Errorf("%s: got %v, %v", name, v.twice, v.wrong)
		}
	}
}
