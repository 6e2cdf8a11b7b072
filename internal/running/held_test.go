package running

import (
	"testing"
	"time"
)

// TestHold: a query is held up by what is too old of it, as far as it has answered; a job never is, nor what has ended.
func TestHold(t *testing.T) {
	r := &Registry{}
	query, fit, over := r.Add(&query{name: "orders"}), r.Add(NewJob(Fit, "forest", 1, "trees")), r.Add(&query{})
	over.End(nil)
	report := func(age time.Duration) Progress {
		return Progress{Timestamp: time.Now().Add(-age - time.Second).UTC().Format(time.RFC3339Nano), DurationMs: map[string]int64{"triggerExecution": 1000}}
	}
	for name, c := range map[string]struct {
		entry         *Entry
		report        Progress
		epoch, waited time.Duration
		want          string
	}{
		"it runs":                {query, report(time.Second), 9 * time.Second, 0, ""},
		"its report is old":      {query, report(6500 * time.Millisecond), 0, 0, "No report for 6s: held up by its sink or a function"},
		"its epoch is old":       {query, report(0), 70 * time.Second, 0, "An epoch has been on its way for 1m10s: held up by its sink or its checkpoint"},
		"both":                   {query, report(6500 * time.Millisecond), 70 * time.Second, 0, "No report for 6s: held up by its sink or a function"},
		"it has no report":       {query, Progress{}, 0, 0, ""},
		"it does not answer":     {query, Progress{}, 0, 7 * time.Second, "No report for 7s: held up by its sink or a function"},
		"its answer may be late": {query, report(time.Minute), time.Minute, time.Second, ""},
		"it is a job":            {fit, Progress{}, 0, time.Minute, ""},
		"it has ended":           {over, report(time.Minute), time.Minute, 0, ""},
	} {
		if got := HoldOf(c.entry, c.report, c.epoch, c.waited); got.String() != c.want || got.Is() != (c.want != "") {
			t.Errorf("%s: got %+v, %q, want %q", name, got, got, c.want)
		}
	}
}
