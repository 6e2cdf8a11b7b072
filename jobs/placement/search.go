package placement

import (
	"cmp"
	"math"
	"slices"
)

// search looks for the placement of some jobs that ends first, on machines: the slots of workers. Jobs are known by their position, and so
// are machines. In the field's terms it is R||Cmax, unrelated machines and the least makespan, which is NP-hard (Lenstra, Shmoys and
// Tardos, 1990); so it begins with lists, and moves and exchanges jobs from there.
type search struct {
	times  [][]float64 // by job and worker: seconds, +Inf where the job cannot run
	wishes []bool      // by job: a GPU, where it does not matter
	gpu    []bool      // by worker
	slack  float64     // what does not matter, as a share

	worker []int     // of each machine
	load   []float64 // of each machine: when all that it has is done
	on     [][]int   // of each machine: the jobs that may move
	at     []int     // of each job: its machine, or nowhere
	left   int       // placements that may still be looked at
	few    bool      // jobs are placed, and it pays to look at more
}

const nowhere = -1

func (s *search) time(job, machine int) float64 { return s.times[job][s.worker[machine]] }

func (s *search) put(job, machine int) {
	s.at[job] = machine
	s.on[machine] = append(s.on[machine], job)
	s.load[machine] += s.time(job, machine)
}

func (s *search) take(job int) {
	machine := s.at[job]
	i := slices.Index(s.on[machine], job)
	s.on[machine] = slices.Delete(s.on[machine], i, i+1)
	s.load[machine] -= s.time(job, machine)
	s.at[job] = nowhere
}

// settle makes what is placed so far a part of the loads: it does not move any more.
func (s *search) settle() {
	for m := range s.on {
		s.on[m] = nil
	}
}

// place finds places for jobs that have none, beside what is settled. Few jobs are searched for from several lists, and the best result is
// taken. The more there are, the less the lists differ in the end, and then the one with short jobs first is best: what improve moves is
// long, so short jobs stay where they are done at once. With the short ones first in each line, too ([workings.order]), a job of the load
// of package simulate was done 11 s after its submission in the mean, and 38 s before.
func (s *search) place(jobs []int) {
	lists := []func(job int) float64{s.long, s.regret, s.gain}
	if s.few = len(jobs) <= fewJobs; !s.few || len(jobs) == 1 {
		lists = []func(job int) float64{s.short}
	}
	if len(s.load) == 0 {
		return
	}
	var best *search
	for _, rank := range lists {
		t := s.clone()
		t.list(jobs, rank)
		t.improve()
		s.left = t.left
		if best == nil || t.sooner(best) {
			best = t
		}
	}
	if s.few && len(jobs) > 2 {
		best = best.shake(jobs)
	}
	*s = *best
}

// shake is iterated local search (Lourenço, Martin and Stützle, 2003): from the best placement 2 to 6 jobs are thrown elsewhere and all is
// improved again. Without it 17 of 6,000 small cases ended more than 10 % later than need be, up to 22 %: those in which jobs run on some
// workers only, and four would have to move at once. With it none of 120,000 did, the worst one 7.5 %.
func (s *search) shake(jobs []int) *search {
	best, dice, left := s, uint64(len(jobs)), s.left
	for i := 0; i < shakes && left > 0; i++ {
		t := best.clone()
		t.left = left
		for range 2 + mix(dice)%5 {
			dice++
			t.throw(jobs[mix(dice)%uint64(len(jobs))], int(mix(^dice)%uint64(len(s.load))))
		}
		t.improve()
		left = t.left
		if left > 0 && t.sooner(best) {
			best = t
		}
	}
	best.left = left
	return best
}

const shakes = 80

// throw puts a job onto a machine, if it can run there.
func (s *search) throw(job, machine int) {
	if s.at[job] != nowhere && !math.IsInf(s.time(job, machine), 1) {
		s.take(job)
		s.put(job, machine)
	}
}

// fewJobs is up to how many it pays to search more than once, and to move three at a time.
const fewJobs = 64

func (s *search) clone() *search {
	t := *s
	t.load, t.at, t.on = slices.Clone(s.load), slices.Clone(s.at), slices.Clone(s.on)
	for m := range t.on {
		t.on[m] = slices.Clone(s.on[m])
	}
	return &t
}

// sooner compares the loads, the greatest first.
func (s *search) sooner(than *search) bool {
	mine, its := descending(s.load), descending(than.load)
	for m := range mine {
		if math.Abs(mine[m]-its[m]) > rounding*its[m] {
			return mine[m] < its[m]
		}
	}
	return false
}

func descending(load []float64) []float64 {
	d := slices.Clone(load)
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(b, a) })
	return d
}

// long, short, regret and gain rank jobs for a list; the greatest comes first.
func (s *search) long(job int) float64 { return s.nth(job, 0) } // longest processing time first (Graham, 1969)

// short is min-min (Ibarra and Kim, 1977), but for the loads.
func (s *search) short(job int) float64 { return -s.nth(job, 0) }

// regret is what a job loses if it does not get its best worker: sufferage (Maheswaran and others, 1999), by times alone.
func (s *search) regret(job int) float64 { return s.nth(job, 1) - s.nth(job, 0) }

// gain is how many times longer the second best worker takes.
func (s *search) gain(job int) float64 { return s.nth(job, 1) / s.nth(job, 0) }

// nth is the job's time on its best worker, or on its second best: of those that it can run on.
func (s *search) nth(job, n int) float64 {
	first, second := math.Inf(1), math.Inf(1)
	for _, t := range s.times[job] {
		if t < first {
			first, second = t, first
		} else if t < second {
			second = t
		}
	}
	if n == 0 || math.IsInf(second, 1) {
		return first
	}
	return second
}

// list places jobs one by one where they end first: the rule of HEFT and dmda.
func (s *search) list(jobs []int, rank func(int) float64) {
	order := slices.Clone(jobs)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(b), rank(a)) })
	for _, j := range order {
		if m := s.first(j); m != nowhere {
			s.put(j, m)
		}
	}
}

// first is the machine on which a job ends first.
func (s *search) first(job int) int {
	best, end := nowhere, math.Inf(1)
	for m := range s.load {
		if e := s.load[m] + s.time(job, m); e < end {
			best, end = m, e
		}
	}
	return best
}

// grant moves jobs that wish for a GPU to one, where it will be done about as soon as the machine is on which they are.
func (s *search) grant(jobs []int) {
	for _, j := range jobs {
		from := s.at[j]
		if from == nowhere || !s.wishes[j] || s.gpu[s.worker[from]] {
			continue
		}
		to, end := nowhere, s.load[from]*(1+s.slack)
		for m := range s.load {
			if e := s.load[m] + s.time(j, m); e <= end && s.gpu[s.worker[m]] {
				to, end = m, e
			}
		}
		if to != nowhere {
			s.take(j)
			s.put(j, to)
		}
	}
}

// improve moves jobs as long as the machine that ends last, or the one before it where the last one cannot end sooner, and so on, ends
// sooner by it, and no machine ends as late as that one did. So the loads, the greatest first, fall in the order of words in a lexicon, and
// it ends.
func (s *search) improve() {
	for s.left > 0 && s.step() {
	}
}

func (s *search) step() bool {
	order := make([]int, len(s.load))
	for m := range order {
		order[m] = m
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.load[b], s.load[a]) })
	for _, m := range order {
		if c := s.best(m); c.end < s.load[m]*(1-rounding) {
			s.apply(c)
			return true
		}
	}
	return false
}

// rounding is what sums of times may differ by without being different.
const rounding = 1e-9

// change moves up to three jobs, each to a machine.
type change struct {
	end  float64 // when the last one of the machines that it touches is done
	sum  float64 // of their loads
	n    int
	jobs [3]int
	to   [3]int
}

func (c *change) better(end, sum float64) bool { return end < c.end || end == c.end && sum < c.sum }

func (s *search) apply(c change) {
	for _, j := range c.jobs[:c.n] {
		s.take(j)
	}
	for i, j := range c.jobs[:c.n] {
		s.put(j, c.to[i])
	}
}

// best is the change after which a machine, and whoever takes part, is done first.
func (s *search) best(m int) change {
	c := change{end: math.Inf(1)}
	for _, j := range s.on[m] {
		for k := range s.load {
			if k == m || s.load[k] >= s.load[m] || math.IsInf(s.time(j, k), 1) || s.left <= 0 {
				continue
			}
			s.move(&c, j, k)
			s.exchange(&c, j, k)
		}
	}
	if c.end < s.load[m]*(1-rounding) || !s.few {
		return c
	}
	for _, j := range s.on[m] {
		for k := range s.load {
			if k != m && s.load[m]-s.time(j, m) < c.end && s.time(j, k) < s.load[m] {
				s.chain(&c, j, k)
			}
		}
	}
	return c
}

// move looks at job j on machine k.
func (s *search) move(c *change, j, k int) {
	s.left--
	from, to := s.load[s.at[j]]-s.time(j, s.at[j]), s.load[k]+s.time(j, k)
	if end := max(from, to); c.better(end, from+to) {
		*c = change{end: end, sum: from + to, n: 1, jobs: [3]int{j}, to: [3]int{k}}
	}
}

// exchange looks at job j on machine k, and one of the jobs there in its place.
func (s *search) exchange(c *change, j, k int) {
	m := s.at[j]
	from, to := s.load[m]-s.time(j, m), s.load[k]+s.time(j, k)
	s.left -= len(s.on[k])
	for _, i := range s.on[k] {
		f, t := from+s.time(i, m), to-s.time(i, k)
		if end := max(f, t); c.better(end, f+t) {
			*c = change{end: end, sum: f + t, n: 2, jobs: [3]int{j, i}, to: [3]int{k, m}}
		}
	}
}

// chain looks at job j on machine k, and one of the jobs there on a third machine, or in the place of j and another.
func (s *search) chain(c *change, j, k int) {
	m := s.at[j]
	from, to := s.load[m]-s.time(j, m), s.load[k]+s.time(j, k)
	for _, i := range s.on[k] {
		s.left -= len(s.load)
		if s.left <= 0 {
			return
		}
		for l := range s.load {
			if l == k || l == m {
				continue
			}
			t, third := to-s.time(i, k), s.load[l]+s.time(i, l)
			if end := max(from, t, third); c.better(end, from+t+third) {
				*c = change{end: end, sum: from + t + third, n: 2, jobs: [3]int{j, i}, to: [3]int{k, l}}
			}
		}
		s.pair(c, j, i, k)
	}
}

// pair looks at two jobs of one machine, j and another, on machine k, for i of it.
func (s *search) pair(c *change, j, i, k int) {
	m := s.at[j]
	from, to := s.load[m]-s.time(j, m)+s.time(i, m), s.load[k]+s.time(j, k)-s.time(i, k)
	s.left -= len(s.on[m])
	for _, o := range s.on[m] {
		if o == j {
			continue
		}
		f, t := from-s.time(o, m), to+s.time(o, k)
		if end := max(f, t); c.better(end, f+t) {
			*c = change{end: end, sum: f + t, n: 3, jobs: [3]int{j, i, o}, to: [3]int{k, m, k}}
		}
	}
}
