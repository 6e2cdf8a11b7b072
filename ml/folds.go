package ml

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// streamOfFolds sets the draws of folds apart from others of the same seed.
const streamOfFolds = 0x666f6c6473

// KFold cuts the rows into k folds of about the same size, and returns k splits: each tests on one fold and learns from the others. Groups are
// kept whole, each put into the fold that is smallest then, the largest first, as scikit-learn's GroupKFold does; without groups folds are
// neighbouring rows, as its KFold has them. A seed other than 0 shuffles rows or groups instead; rows in an order, of classes say, need it.
func KFold(d *Dataset, k int, seed uint64) ([]Split, error) {
	if d.Groups == nil {
		fold, err := evenly(d.Rows(), k, seed)
		return splitsOf(fold, k), err
	}
	u := unitsOf(d)
	if err := foldable(k, len(u.rows), "groups"); err != nil {
		return nil, err
	}
	order := u.order(seed)
	if seed == 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(u.size[b], u.size[a]) })
	}
	sizes, fold := make([]int, k), make([]int, len(order))
	for _, g := range order {
		fold[g] = slices.Index(sizes, slices.Min(sizes))
		sizes[fold[g]] += u.size[g]
	}
	return splitsOf(u.spread(fold), k), nil
}

// evenly gives each of n rows its fold: neighbours, or shuffled.
func evenly(n, k int, seed uint64) ([]int, error) {
	if err := foldable(k, n, "rows"); err != nil {
		return nil, err
	}
	rows := permutation(n, seed)
	fold := make([]int, n)
	at := 0
	for f := range k {
		size := n / k
		if f < n%k {
			size++
		}
		for range size {
			fold[rows[at]] = f
			at++
		}
	}
	return fold, nil
}

// StratifiedKFold is [KFold] in which each fold has about the same share of each class: as scikit-learn's StratifiedKFold or, groups kept whole,
// its StratifiedGroupKFold. Some class needs k rows at least.
func StratifiedKFold(d *Dataset, k int, seed uint64) ([]Split, error) {
	if err := d.ValidateLabels(d.Classes); err != nil {
		return nil, err
	}
	if err := d.validateRows(); err != nil {
		return nil, err
	}
	counts := make([]int, len(d.Classes))
	for _, label := range d.Labels {
		counts[label]++
	}
	if err := foldable(k, slices.Max(counts), "rows of any class"); err != nil {
		return nil, err
	}
	if d.Groups == nil {
		return splitsOf(stratify(d.Labels, counts, k, seed), k), nil
	}
	u := unitsOf(d)
	if err := foldable(k, len(u.rows), "groups"); err != nil {
		return nil, err
	}
	return splitsOf(u.spread(u.stratify(d.Labels, counts, k, seed)), k), nil
}

// stratify gives each row its fold. Rows in the order of their classes are dealt out one by one; so folds get about the same of each class, and
// about the same number in all. Classes stand in the order of their first rows.
func stratify(labels, counts []int, k int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, streamOfFolds))
	fold, dealt := make([]int, len(labels)), 0
	seen := make([]bool, len(counts))
	for _, class := range labels {
		if seen[class] {
			continue
		}
		seen[class] = true
		share := make([]int, k) // of the class, for each fold
		for i := range counts[class] {
			share[(dealt+i)%k]++
		}
		dealt += counts[class]
		var folds []int
		for f, n := range share {
			folds = append(folds, slices.Repeat([]int{f}, n)...)
		}
		if seed != 0 {
			rng.Shuffle(len(folds), func(i, j int) { folds[i], folds[j] = folds[j], folds[i] })
		}
		for i, label := range labels {
			if label == class {
				fold[i], folds = folds[0], folds[1:]
			}
		}
	}
	return fold
}

// ForwardFolds returns k splits that go forward in time: each learns from all groups before its test side, as scikit-learn's TimeSeriesSplit does.
// The test sides are the last k of k+1 parts with about the same number of groups (the first part has what is left over). When gives the time of a group;
// groups of one time stay together. Nil: they stand in their order already. Without groups, when is asked for rows.
func ForwardFolds(d *Dataset, k int, when func(group int64) time.Time) ([]Split, error) {
	u := unitsOf(d)
	if err := foldable(k+1, len(u.rows), "groups"); err != nil {
		return nil, err
	}
	order, begins := u.inTime(when)
	n := len(order)
	size, cuts := n/(k+1), []int{0}
	for c := n - k*size; c < n; c += size {
		if begins[c] == cuts[len(cuts)-1] {
			return nil, fmt.Errorf("ml: too many groups are of the time of group %d for %d forward folds, which need a test side each; take fewer", u.group[order[c]], k)
		}
		cuts = append(cuts, begins[c])
	}
	cuts = append(cuts, n)
	all := make([]Split, k)
	for i := range all {
		all[i] = Split{Train: u.gather(order[:cuts[i+1]]), Test: u.gather(order[cuts[i+1]:cuts[i+2]])}
	}
	return all, nil
}

// inTime returns the groups in the order of their times, or of their first rows, and for each place in this order where its time begins.
func (u *units) inTime(when func(group int64) time.Time) (order, begins []int) {
	order, at, begins := u.order(0), make([]time.Time, len(u.rows)), u.order(0)
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(u.rows[a][0], u.rows[b][0]) })
	if when == nil {
		return order, begins
	}
	for g := range at {
		at[g] = when(u.group[g])
	}
	slices.SortStableFunc(order, func(a, b int) int { return at[a].Compare(at[b]) })
	for i := 1; i < len(order); i++ {
		if at[order[i]].Equal(at[order[i-1]]) {
			begins[i] = begins[i-1]
		}
	}
	return order, begins
}

// foldable refuses numbers of folds that there is not enough for.
func foldable(k, n int, what string) error {
	if k < 2 || k > n {
		return fmt.Errorf("ml: %d folds of %d %s; there are at least 2, and no more than there are %s", k, n, what, what)
	}
	return nil
}

// permutation is the numbers below n: in order for a seed of 0, else shuffled.
func permutation(n int, seed uint64) []int {
	if seed != 0 {
		return rand.New(rand.NewPCG(seed, streamOfFolds)).Perm(n)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// splitsOf makes splits of the fold of each row.
func splitsOf(fold []int, k int) []Split {
	if fold == nil {
		return nil
	}
	all := make([]Split, k)
	for i, f := range fold {
		for s := range all {
			if s == f {
				all[s].Test = append(all[s].Test, i)
			} else {
				all[s].Train = append(all[s].Train, i)
			}
		}
	}
	return all
}

// units are the groups of a dataset, by number; without groups, its rows.
type units struct {
	group []int64
	rows  [][]int
	size  []int
}

func unitsOf(d *Dataset) *units {
	u := &units{group: distinctGroups(d)}
	u.rows, u.size = make([][]int, len(u.group)), make([]int, len(u.group))
	for i := range d.Rows() {
		g, _ := slices.BinarySearch(u.group, d.Group(i))
		u.rows[g] = append(u.rows[g], i)
		u.size[g]++
	}
	return u
}

// order is that of the groups by number; with a seed, a shuffled one.
func (u *units) order(seed uint64) []int { return permutation(len(u.rows), seed) }

// spread gives each row the fold of its group.
func (u *units) spread(fold []int) []int {
	n := 0
	for _, s := range u.size {
		n += s
	}
	out := make([]int, n)
	for g, rows := range u.rows {
		for _, i := range rows {
			out[i] = fold[g]
		}
	}
	return out
}

// gather are the rows of some groups, in their order.
func (u *units) gather(groups []int) []int {
	var rows []int
	for _, g := range groups {
		rows = append(rows, u.rows[g]...)
	}
	slices.Sort(rows)
	return rows
}

// stratify gives each group its fold: those whose classes are the least even first, each into the fold where the shares of all classes come out most
// alike over the folds; of equals into the fold with the fewest rows (scikit-learn's StratifiedGroupKFold).
func (u *units) stratify(labels, counts []int, k int, seed uint64) []int {
	has, total := u.classes(labels, counts)
	order := u.order(seed)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(deviation(has[b]), deviation(has[a])) })
	in := make([][]float64, k) // rows of each class in each fold
	for f := range in {
		in[f] = make([]float64, len(total))
	}
	fold := make([]int, len(u.rows))
	for _, g := range order {
		fold[g] = mostEven(in, total, has[g])
		for class, n := range has[g] {
			in[fold[g]][class] += n
		}
	}
	return fold
}

// classes counts the rows of each class in each group, and in all; classes without rows are left out.
func (u *units) classes(labels, counts []int) (has [][]float64, total []float64) {
	at := make([]int, len(counts))
	for class, n := range counts {
		if at[class] = len(total); n > 0 {
			total = append(total, float64(n))
		}
	}
	has = make([][]float64, len(u.rows))
	for g, rows := range u.rows {
		has[g] = make([]float64, len(total))
		for _, i := range rows {
			has[g][at[labels[i]]]++
		}
	}
	return has, total
}

// mostEven is the fold that a group is best put into.
func mostEven(in [][]float64, total, group []float64) int {
	best, least, fewest := 0, math.Inf(1), math.Inf(1)
	column := make([]float64, len(in))
	for f := range in {
		uneven, rows := 0.0, 0.0
		for class, all := range total {
			rows += in[f][class]
			for other := range in {
				column[other] = in[other][class] / all
			}
			column[f] = (in[f][class] + group[class]) / all
			uneven += deviation(column) / float64(len(total))
		}
		near := math.Abs(uneven-least) <= 1e-8+1e-5*math.Abs(least) // as numpy's isclose
		if uneven < least || near && rows < fewest {
			best, least, fewest = f, uneven, rows
		}
	}
	return best
}

// deviation is the standard deviation, that of numbers and not of a sample of them, as numpy's std.
func deviation(values []float64) float64 {
	mean, square := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		square += (v - mean) * (v - mean) / float64(len(values))
	}
	return math.Sqrt(square)
}
