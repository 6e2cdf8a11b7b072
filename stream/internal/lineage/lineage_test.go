package lineage

import (
	"slices"
	"testing"
)

// TestPath follows a sink through a stop, a step back to an older snapshot, and partitions that come back to a process.
func TestPath(t *testing.T) {
	first := Path{}.On("aaaaaaaa-long")
	second := first.Back("aaaaaaaa-long", 9).On("bbbbbbbb")
	gone := second.Back("aaaaaaaa", 6).On("cccccccc")
	again := gone.Back("cccccccc", 8).On("aaaaaaaa")
	for _, c := range []struct {
		path  Path
		text  string
		has   map[string][]int64
		lacks map[string][]int64
	}{
		{first, "aaaaaaaa:*", map[string][]int64{"aaaaaaaa": {1, 1000}}, map[string][]int64{"bbbbbbbb": {1}, "": {1}, "aaaaaaaa": {0}}},
		{second, "aaaaaaaa:9 bbbbbbbb:*", map[string][]int64{"aaaaaaaa": {9}, "bbbbbbbb": {10}}, map[string][]int64{"aaaaaaaa": {10}, "bbbbbbbb": {9}}},
		{gone, "aaaaaaaa:6 cccccccc:*", map[string][]int64{"aaaaaaaa": {6}, "cccccccc": {7, 9}}, map[string][]int64{"aaaaaaaa": {7, 9}, "bbbbbbbb": {10}}},
		{again, "aaaaaaaa:6 cccccccc:8 aaaaaaaa:*", map[string][]int64{"aaaaaaaa": {6, 9}, "cccccccc": {8}}, map[string][]int64{"aaaaaaaa": {7, 8}}},
		{Path{{"", 4}}.On("aaaaaaaa"), "-:4 aaaaaaaa:*", map[string][]int64{"": {4}, "bbbbbbbb": {4}, "aaaaaaaa": {5}}, map[string][]int64{"": {5}, "bbbbbbbb": {5}}},
		{Path{{"", 4}}.Back("bbbbbbbb", 3).On("aaaaaaaa"), "-:3 aaaaaaaa:*", map[string][]int64{"cccccccc": {3}}, map[string][]int64{"cccccccc": {4}}},
		{first.Through("aaaaaaaa", 4, "dddddddd", 6), "aaaaaaaa:4 dddddddd:6", map[string][]int64{"dddddddd": {5, 6}}, map[string][]int64{"aaaaaaaa": {5}, "dddddddd": {7}}},
		{again.Upto("cccccccc"), "aaaaaaaa:6 cccccccc:8", nil, map[string][]int64{"aaaaaaaa": {9}}},
		{first.Through("aaaaaaaa", 9, "aaaaaaaa", 11), "aaaaaaaa:11", map[string][]int64{"aaaaaaaa": {10}}, map[string][]int64{"aaaaaaaa": {12}}},
	} {
		if got := c.path.String(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
		if back, err := Parse(c.text); err != nil || !slices.Equal(back, c.path) {
			t.Errorf("%s: read back as %v, %v", c.text, back, err)
		}
		for run, epochs := range c.has {
			for _, epoch := range epochs {
				if !c.path.Has(run, epoch) {
					t.Errorf("%s lacks epoch %d of %q", c.text, epoch, run)
				}
			}
		}
		for run, epochs := range c.lacks {
			for _, epoch := range epochs {
				if c.path.Has(run, epoch) {
					t.Errorf("%s has epoch %d of %q", c.text, epoch, run)
				}
			}
		}
	}
}

// TestGoesOnFrom tells a path that has the end of another one from one that has left it.
func TestGoesOnFrom(t *testing.T) {
	mine := Path{{"aaaaaaaa", 6}, {"bbbbbbbb", 8}, {"aaaaaaaa", Open}}
	for text, want := range map[string]bool{
		"":                                  true,
		"aaaaaaaa:*":                        true,
		"aaaaaaaa:6 bbbbbbbb:*":             true,
		"aaaaaaaa:6 cccccccc:*":             false,
		"aaaaaaaa:6 bbbbbbbb:7 aaaaaaaa:*":  false, // it came back, and mine does not know of it
		"aaaaaaaa:6 bbbbbbbb:8 aaaaaaaa:12": true,
	} {
		other, err := Parse(text)
		if got := mine.GoesOnFrom(other); err != nil || got != want {
			t.Errorf("%s goes on from %q: got %v, %v, want %v", mine, text, got, err, want)
		}
	}
}

// TestParse: what is no path is refused.
func TestParse(t *testing.T) {
	for _, text := range []string{"aaaaaaaa", ":1", "a:b", "a:-1"} {
		if p, err := Parse(text); err == nil {
			t.Errorf("%q: got %v", text, p)
		}
	}
}

// TestBounded: a path of very many runs forgets the oldest.
func TestBounded(t *testing.T) {
	p := Path{}
	for i := range int64(2 * most) {
		run := string(rune('a' + i%26))
		if p = p.On(run); i < 2*most-1 {
			p = p.Back(run, i+1)
		}
	}
	if len(p) != most || p[len(p)-1].To != Open {
		t.Errorf("%d runs, the last %v, want %d", len(p), p[len(p)-1], most)
	}
	if !p.Has("a", 1) {
		t.Error("what a run has written whose name is forgotten is none of the path's")
	}
}
