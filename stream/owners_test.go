package stream

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOwnersExpire: keys are forgotten as soon as the watermark has passed all of their groups, and not before, whatever came in between.
func TestOwnersExpire(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	o, want := &owners{}, map[string]int64{}
	for watermark := int64(0); watermark < 3000; watermark += dice.Int64N(4) {
		if key := string(rune('a' + dice.IntN(20))); dice.IntN(3) > 0 {
			end := watermark + 1 + dice.Int64N(50)
			if reason := o.claim(nil, Partition{ID: 1}, key, end); reason != "" {
				t.Fatal(reason)
			}
			want[key] = max(want[key], end)
		}
		o.expire(watermark)
		maps.DeleteFunc(want, func(_ string, end int64) bool { return end <= watermark })
		if got := slices.Sorted(maps.Keys(o.of)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("at %d: it knows %q, want %q", watermark, got, slices.Sorted(maps.Keys(want)))
		}
	}
}
