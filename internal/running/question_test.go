package running

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuestion: a thing that is held up is waited for no longer than the patience, and asked once however many look.
func TestQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan bool)
		var asked atomic.Int64
		q := Question[int64]{Patience: time.Second, Fresh: time.Minute, Ask: func(Thing) int64 {
			n := asked.Add(1)
			<-held
			return n
		}}
		var r Registry
		e := r.Add(NewJob(Query, "sales", 0, ""))
		look := func(name string, want int64, wantWaited time.Duration, wantAsked int64) {
			t.Helper()
			begin := time.Now()
			got, waited := q.Of(e)
			if got != want || waited != wantWaited || asked.Load() != wantAsked || time.Since(begin) > time.Second {
				t.Errorf("%s: got %d, waited %v, asked %d times, after %v, want %d, %v, %d", name, got, waited, asked.Load(), time.Since(begin), want, wantWaited, wantAsked)
			}
		}
		look("held up", 0, time.Second, 1)
		look("still", 0, 2*time.Second, 1)
		held <- true
		synctest.Wait()
		look("answered", 1, 0, 1)
		time.Sleep(time.Hour)
		look("held up again", 1, time.Second, 2)
		e.End(nil)
		go func() { held <- true; held <- true }()
		look("what is left after the end", 3, 0, 3)
	})
}
