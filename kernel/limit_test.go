package kernel

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/wire"
)

// server counts what it passes on as Jupyter Server does (services/kernels/connection/channels.py, _limit_rate, of 2.21).
type server struct {
	queue    []served
	messages int
	bytes    int
	dropped  int
}

type served struct {
	until time.Time
	bytes int
}

func (s *server) pass(msgType string, idle bool, bytes int, now time.Time) {
	if idle {
		*s = server{dropped: s.dropped}
	}
	if msgType == "status" || msgType == "comm_open" || msgType == "execute_input" {
		return
	}
	for len(s.queue) > 0 && !now.Before(s.queue[0].until) {
		s.bytes -= s.queue[0].bytes
		s.messages--
		s.queue = s.queue[1:]
	}
	if msgType != "stream" {
		bytes = 0
	}
	s.messages++
	s.bytes += bytes
	s.queue = append(s.queue, served{now.Add(3 * time.Second), bytes})
	if float64(s.messages)/3 > 1000 || float64(s.bytes)/3 > 1e6 {
		s.dropped++
	}
}

func streamOf(bytes int) wire.Message {
	return wire.Message{Content: json.RawMessage(strings.Repeat("x", bytes))}
}

// TestServersDropNothing publishes as fast as the limiter lets it, some of it late, and has a server count it.
func TestServersDropNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		types []string
		bytes int // at most, of a message
		late  time.Duration
		least int // messages in a minute
	}{
		{"streams", []string{"stream"}, 100_000, 0, 600},
		{"streams that come late", []string{"stream"}, 100_000, 400 * time.Millisecond, 600},
		{"small streams", []string{"stream"}, 500, 100 * time.Millisecond, 30_000},
		{"displays", []string{"display_data", "update_display_data", "clear_output"}, 100_000, 400 * time.Millisecond, 30_000},
		{"all kinds", []string{"display_data", "stream", "clear_output"}, 5_000, 400 * time.Millisecond, 10_000},
		{"cells between", []string{"display_data", "stream", "idle"}, 100_000, 0, 2_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, s, random, begin := newLimiter(), &server{}, rand.New(rand.NewPCG(1, 1)), time.Now()
				sent, latest := 0, begin
				arrival := func() time.Time { // one connection: in order
					at := time.Now().Add(time.Duration(random.Int64N(int64(c.late) + 1)))
					if at.After(latest) {
						latest = at
					}
					return latest
				}
				for time.Since(begin) < time.Minute {
					kind := c.types[random.IntN(len(c.types))]
					if kind == "idle" {
						if random.IntN(50) == 0 {
							l.idle()
							s.pass("status", true, 0, arrival())
						}
						continue
					}
					want := cellio.Credit{Messages: 1}
					if kind == "stream" {
						want.Bytes = 1 + random.IntN(c.bytes)
					}
					got, err := l.Acquire(context.Background(), want)
					if err != nil {
						t.Fatal(err)
					}
					l.count(kind, streamOf(got.Bytes))
					l.Release(got)
					s.pass(kind, false, got.Bytes, arrival())
					sent++
				}
				if s.dropped > 0 {
					t.Errorf("the server drops %d of %d messages", s.dropped, sent)
				}
				if sent < c.least {
					t.Errorf("%d messages in a minute, want at least %d", sent, c.least)
				}
				if l.kept != (cellio.Credit{}) {
					t.Errorf("room is kept for %+v though nobody wants it", l.kept)
				}
			})
		})
	}
}

// TestBurstPassesAtOnce: almost all of what a server takes in its window goes without a pause, and more goes evenly.
func TestBurstPassesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, begin, most := newLimiter(), time.Now(), 0
		publish := func(bytes int) {
			got, err := l.Acquire(t.Context(), cellio.Credit{Messages: 1, Bytes: bytes})
			if err != nil {
				t.Fatal(err)
			}
			l.count("stream", streamOf(got.Bytes))
			l.Release(got)
			most += got.Bytes
		}
		for most < serverBytes-100_000 {
			publish(64 << 10)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("%d bytes took %v, want no pause", most, took)
		}
		publish(64 << 10)
		publish(64 << 10)
		waited, before := time.Since(begin), most
		for time.Since(begin) < waited+10*time.Second {
			publish(64 << 10)
		}
		if rate := float64(most-before) / 10; rate < 700_000 || rate > 1_000_000 {
			t.Errorf("then %.0f bytes a second, want most of a million", rate)
		}
		time.Sleep(2 * serverWindow)
		again := time.Now()
		for before = most; most-before < serverBytes-100_000; {
			publish(64 << 10)
		}
		if took := time.Since(again); took > time.Second {
			t.Errorf("after a rest a burst takes %v", took)
		}
	})
}

func TestAcquireEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		first, err := l.Acquire(t.Context(), cellio.Credit{Messages: serverMessages, Bytes: serverBytes})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := l.Acquire(ctx, cellio.Credit{Messages: 1}); err == nil {
			t.Errorf("got %+v where all is kept", got)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := l.Acquire(t.Context(), cellio.Credit{Messages: 1}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		l.Release(first)
		all.Wait()
	})
}
