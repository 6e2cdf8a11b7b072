package stream

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"cancha/stream/internal/changelog"
	"cancha/stream/internal/flow"
	"cancha/stream/internal/value"
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

// TestOwnersAfterARestart: what is known of keys is the same after a restart, from the groups that are open and what snapshots have of the others.
func TestOwnersAfterARestart(t *testing.T) {
	type group struct {
		key string
		end int64
	}
	dice := rand.New(rand.NewPCG(1, 2))
	at := Partition{ID: 1}
	name := func(key string) string { return string(value.TextOf(key).AppendKey(nil)) }
	o, open := &owners{}, map[group]bool{}
	owned{o, at}.Keep()
	saved, last, epoch := map[uint64]changelog.Saved{}, uint64(0), int64(0)
	reader := changelog.Reader{
		Put:  func(id uint64, item []byte) { saved[id] = changelog.Saved{ID: id, Epoch: epoch, Bytes: item} },
		Gone: func(id uint64) { delete(saved, id) },
		Last: func(id uint64) { last = id },
	}
	for now := int64(-1000); now < 2000; now += dice.Int64N(4) {
		one := group{string(rune('a' + dice.IntN(20))), 10 * ((now+dice.Int64N(20))/10 + 2)}
		if reason := o.claim(nil, at, name(one.key), one.end); reason != "" {
			t.Fatal(reason)
		}
		open[one] = true
		for each := range open {
			if each.end <= now {
				o.leave(at, []flow.Claim{{Keys: flow.Row{value.TextOf(each.key)}, Until: each.end}})
				delete(open, each)
			}
		}
		o.expire(now - 50) // another partition is behind
		if dice.IntN(10) > 0 {
			continue
		}
		epoch++
		changelog.Read(owned{o, at}.Log().Write(nil, epoch), reader)
		again := &owners{}
		owned{again, at}.Keep()
		for each := range open {
			again.claim(nil, at, name(each.key), each.end)
		}
		owned{again, at}.Log().Resume(last)
		if err := (owned{again, at}).Load(nil, slices.SortedFunc(maps.Values(saved), func(a, b changelog.Saved) int { return int(a.ID) - int(b.ID) })); err != nil {
			t.Fatal(err)
		}
		same := func(a, b owner) bool { return a.partition == b.partition && a.until == b.until }
		if !maps.EqualFunc(again.of, o.of, same) {
			t.Fatalf("at %d: after a restart it knows %v, want %v", now, again.of, o.of)
		}
		o = again
	}
}
