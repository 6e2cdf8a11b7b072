package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cancha/stream"
	"cancha/stream/kafka"
)

// TestGaps: gaps count from the beginning of the load to its end, those that no row ends too.
func TestGaps(t *testing.T) {
	for name, c := range map[string]struct {
		rows     func(p, second int) bool // whether a partition has rows in a second
		all, one time.Duration
	}{
		"each second":               {func(int, int) bool { return true }, time.Second, time.Second},
		"a pause of all":            {func(_, second int) bool { return second < 3 || second > 6 }, 5 * time.Second, 5 * time.Second},
		"nothing before the 4th":    {func(_, second int) bool { return second >= 4 }, 4 * time.Second, 4 * time.Second},
		"nothing after the 3rd":     {func(_, second int) bool { return second <= 3 }, 7 * time.Second, 7 * time.Second},
		"one falls silent":          {func(p, second int) bool { return p != 1 || second <= 3 }, time.Second, 7 * time.Second},
		"one never comes":           {func(p, _ int) bool { return p != 1 }, time.Second, 10 * time.Second},
		"nothing comes":             {func(int, int) bool { return false }, 10 * time.Second, 10 * time.Second},
		"one comes late, and stays": {func(p, second int) bool { return p != 1 || second >= 6 }, time.Second, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &arrivals{began: time.Now()}
				for second := 1; second <= 10; second++ {
					time.Sleep(time.Second)
					for p := range partitions {
						if c.rows(p, second) {
							arrive(t, a, p)
						}
					}
				}
				a.end()
				time.Sleep(time.Hour)
				arrive(t, a, 0) // behind the end of the load
				if a.all != c.all || a.longest() != c.one {
					t.Errorf("got %v, of one partition %v; want %v and %v", a.all, a.longest(), c.all, c.one)
				}
			})
		})
	}
}

// arrive brings a row of a partition.
func arrive(t *testing.T, a *arrivals, p int) {
	t.Helper()
	key := "k"
	for i := 0; kafka.PartitionOf([]byte(key), partitions) != p; i++ {
		key = fmt.Sprint("k", i)
	}
	if err := a.Batch(t.Context(), stream.Batch{Records: []stream.Record{{Value: fmt.Appendf(nil, `{"k":%q}`, key)}}}); err != nil {
		t.Fatal(err)
	}
}
