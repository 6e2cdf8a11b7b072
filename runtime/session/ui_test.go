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
