package session

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
	"cancha/internal/running"
)

// old is a query whose newest report, or whose epoch, is old.
type old struct {
	running.Streamer
	age, epoch time.Duration
}

func (old) Kind() running.Kind        { return running.Query }
func (old) Name() string              { return "orders" }
func (o old) EpochAge() time.Duration { return o.epoch }
func (o old) Progress() running.Progress {
	return running.Progress{Timestamp: time.Now().Add(-o.age).UTC().Format(time.RFC3339Nano), InputRowsPerSecond: 20, BatchID: 3}
}

// TestViewOfOldNumbers: the rate of a report that is old is not shown as that of now.
func TestViewOfOldNumbers(t *testing.T) {
	for _, c := range []struct {
		query old
		want  string
	}{
		{old{age: time.Second}, "20 rows/s, batch 3"},
		{old{age: 12500 * time.Millisecond}, "batch 3. No report for 12s: held up by its sink or a function"},
		{old{age: time.Second, epoch: 30 * time.Second}, "20 rows/s, batch 3. An epoch has been on its way for 30s: held up by its sink or its checkpoint"},
	} {
		var r running.Registry
		r.Add(c.query)
		if got := (view{registry: &r}).now().rows[0][3]; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestUI: a cell shows the address and what runs, and again each second until nothing runs.
func TestUI(t *testing.T) {
	defer running.Process().Announce(running.Page{})
	if err := UI(); err == nil || !strings.Contains(err.Error(), "no page") {
		t.Errorf("without a page: got %v", err)
	}
	running.Process().Announce(running.Page{URL: "http://127.0.0.1:4040/", Proxied: "/proxy/4040/?token=x", Port: 4040})
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var shown []cellio.Display
		outlet := cellio.NewOutlet(func(f cellio.Frame) error {
			var d cellio.Display
			mu.Lock()
			defer mu.Unlock()
			shown = append(shown, d)
			return json.Unmarshal(f.Body, &shown[len(shown)-1])
		})
		cellio.Attach(outlet)
		defer func() { outlet.Close(); cellio.Attach(nil) }()
		job := running.NewJob(running.Fit, "forest <b>", 10, "trees")
		entry := running.Process().Add(job)
		cellio.NewRun(1).Do(func() {
			if err := UI(); err != nil {
				t.Error(err)
			}
		})
		job.Advance(4)
		time.Sleep(2500 * time.Millisecond)
		entry.End(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		first, last := shown[0].Data["text/plain"], shown[len(shown)-1].Data["text/plain"]
		if first != "http://127.0.0.1:4040/ shows what runs\nfit  forest <b>  0s  0 of 10 trees" || last != "http://127.0.0.1:4040/ shows what runs\nnothing runs" {
			t.Errorf("got first %q, last %q", first, last)
		}
		if got := shown[0].Data["text/html"].(string); !strings.Contains(got, "forest &lt;b&gt;") || !strings.Contains(got, `href="http://127.0.0.1:4040/"`) {
			t.Errorf("got %s, want the link, and the name as text", got)
		}
		if n := len(shown); n < 4 || n > 6 {
			t.Errorf("%d outputs, want one a second until nothing runs", n)
		}
	})
}
