package main

import (
	"strings"
	"testing"
	"time"
)

// TestEmbedded: what needs no server is measured, and stands in the table.
func TestEmbedded(t *testing.T) {
	s := settings{turns: 1, warm: 50 * time.Millisecond, span: 150 * time.Millisecond}
	var all results
	for _, c := range s.contestants() {
		for _, flight := range flights() {
			o, err := c.run(t.Context(), s, flight)
			if err != nil {
				t.Fatal(err)
			}
			if !(o.rate > 0) || !(o.p50 > 0) || o.p99 < o.p50 {
				t.Errorf("%s, %d in flight: %.0f jobs/s, p50 %v, p99 %v", c.name, flight, o.rate, o.p50, o.p99)
			}
			all.add(c, flight, o)
		}
	}
	var out strings.Builder
	if err := s.report(&out, all); err != nil || strings.Count(out.String(), "| embedded |") != 2 {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

func TestPercentile(t *testing.T) {
	for _, test := range []struct {
		sorted []float64
		p      int
		want   float64
	}{{nil, 50, 0}, {[]float64{1}, 99, 1}, {[]float64{1, 2, 3, 4}, 50, 2}, {[]float64{1, 2, 3, 4}, 75, 3}, {[]float64{1, 2, 3, 4}, 76, 4}} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("p%d of %v: got %v, want %v", test.p, test.sorted, got, test.want)
		}
	}
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("median %v", m)
	}
}
