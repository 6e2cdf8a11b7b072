package ml

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Split is a division of rows into those to learn from and those to test on. No group has rows in both.
type Split struct{ Train, Test []int }

// GroupSplit puts a share of the groups, drawn with seed, on the test side, with all their rows. At least one group
// stays on each side; share lies strictly between 0 and 1.
func GroupSplit(d *Dataset, share float64, seed uint64) (Split, error) {
	if !(share > 0 && share < 1) {
		return Split{}, fmt.Errorf("ml: test share %v is not between 0 and 1", share)
	}
	groups := distinctGroups(d)
	if len(groups) < 2 {
		return Split{}, fmt.Errorf("ml: cannot split %d group: both sides need one", len(groups))
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d617463686573))
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	n := min(max(int(share*float64(len(groups))+0.5), 1), len(groups)-1)
	test := make(map[int64]bool, n)
	for _, g := range groups[:n] {
		test[g] = true
	}
	return splitRows(d, func(group int64) bool { return test[group] }), nil
}

// DateSplit puts the groups dated cut or later on the test side. Date gives the date of a group. Dates are written
// YYYY-MM-DD; another form is an error, for as text 2020-7-1 comes after 2020-12-31.
func DateSplit(d *Dataset, cut string, date func(group int64) string) (Split, error) {
	if _, err := time.Parse(time.DateOnly, cut); err != nil {
		return Split{}, fmt.Errorf("ml: split at %q: a date is written YYYY-MM-DD", cut)
	}
	for _, group := range distinctGroups(d) {
		if _, err := time.Parse(time.DateOnly, date(group)); err != nil {
			return Split{}, fmt.Errorf("ml: group %d is dated %q: a date is written YYYY-MM-DD", group, date(group))
		}
	}
	s := splitRows(d, func(group int64) bool { return date(group) >= cut })
	if len(s.Train) == 0 || len(s.Test) == 0 {
		return Split{}, fmt.Errorf("ml: splitting at %s leaves %d rows before and %d after; both sides need some", cut, len(s.Train), len(s.Test))
	}
	return s, nil
}

// splitRows divides the rows by a question about their group.
func splitRows(d *Dataset, test func(group int64) bool) Split {
	var s Split
	for i := range d.Rows() {
		if test(d.Group(i)) {
			s.Test = append(s.Test, i)
		} else {
			s.Train = append(s.Train, i)
		}
	}
	return s
}

// distinctGroups returns the groups in ascending order, so that a draw from them depends on the seed alone.
func distinctGroups(d *Dataset) []int64 {
	groups := make([]int64, d.Rows())
	for i := range groups {
		groups[i] = d.Group(i)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}
