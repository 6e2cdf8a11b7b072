package scheduler

import (
	"container/heap"
	"iter"
	"slices"
	"time"
)

// line has ids in the order of times. An entry may be out of date: who takes it looks whether its job is still what it was.
type line struct{ all entries }

type entry struct {
	at time.Time
	id string
}

type entries []entry

func (e entries) Len() int           { return len(e) }
func (e entries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e entries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *entries) Push(x any)        { *e = append(*e, x.(entry)) }
func (e *entries) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (l *line) add(id string, at time.Time) { heap.Push(&l.all, entry{at, id}) }

// spare is how many entries may be out of date at least, before anybody looks.
const spare = 1000

// prune takes out what is of no use, where there are many more entries than so many: jobs that have ended leave theirs behind, a deadline
// of next year until then.
func (l *line) prune(most int, use func(id string) bool) {
	if len(l.all) <= most+spare {
		return
	}
	seen := map[entry]bool{}
	l.all = slices.DeleteFunc(l.all, func(e entry) bool {
		out := seen[e] || !use(e.id)
		seen[e] = true
		return out
	})
	heap.Init(&l.all)
}

// next is the first time; zero: there is none.
func (l *line) next() time.Time {
	if len(l.all) == 0 {
		return time.Time{}
	}
	return l.all[0].at
}

// over takes out those whose time has come, one after the other. Those that are added meanwhile, for later, stay.
func (l *line) over(now time.Time) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for len(l.all) > 0 && !l.all[0].at.After(now) {
			if !yield(heap.Pop(&l.all).(entry)) {
				return
			}
		}
	}
}

// pop takes the first entry out.
func (l *line) pop() (entry, bool) {
	if len(l.all) == 0 {
		return entry{}, false
	}
	return heap.Pop(&l.all).(entry), true
}
