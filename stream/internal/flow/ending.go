package flow

import "math"

// due is something whose time comes.
type due[T any] struct {
	at int64
	of T
}

// ending is what is due, the earliest first. Rows come as sorted runs, one a partition and batch, so there is a queue for each of the runs that
// come by turns, and a heap for what fits into none. The heap alone would touch eighteen places of memory for each of 200,000 that wait. (It is that
// of container/heap, which takes and gives values in interfaces: an allocation for each.)
type ending[T any] struct {
	runs [8]queue[T]
	heap []due[T]
	soon int64 // what first has found, which is asked for each record
	seen bool  // soon holds
}

// queue is a sorted run.
type queue[T any] struct {
	list []due[T]
	head int // of the list, what is due first
}

func (q *queue[T]) empty() bool { return q.head == len(q.list) }

// put adds something by when its time comes.
func (e *ending[T]) put(at int64, of T) {
	e.soon = min(e.soon, at)
	best := -1
	for i := range e.runs {
		q := &e.runs[i]
		if q.empty() {
			if best < 0 {
				best = i
			}
			continue
		}
		if last := q.list[len(q.list)-1].at; last <= at && (best < 0 || e.runs[best].empty() || last > e.runs[best].list[len(e.runs[best].list)-1].at) {
			best = i
		}
	}
	if best < 0 {
		e.push(due[T]{at, of})
		return
	}
	q := &e.runs[best]
	q.list = append(q.list, due[T]{at, of})
}

// size is about how many bytes what waits takes, without what it is of.
func (e *ending[T]) size() int64 {
	n := len(e.heap)
	for i := range e.runs {
		n += len(e.runs[i].list)
	}
	return 24 * int64(n)
}

// first is when the earliest is due; false if nothing is.
func (e *ending[T]) first() (at int64, ok bool) {
	if e.seen {
		return e.soon, true
	}
	switch i := e.earliest(); {
	case i >= 0:
		e.soon = e.runs[i].list[e.runs[i].head].at
	case len(e.heap) > 0:
		e.soon = e.heap[0].at
	default:
		return 0, false
	}
	e.seen = true
	return e.soon, true
}

// when is first, and the end of time if nothing is due.
func (e *ending[T]) when() int64 {
	if at, ok := e.first(); ok {
		return at
	}
	return math.MaxInt64
}

// earliest is the run in which the earliest is, -1 for the heap.
func (e *ending[T]) earliest() int {
	best, at := -1, int64(0)
	if len(e.heap) > 0 {
		at = e.heap[0].at
	}
	for i := range e.runs {
		if q := &e.runs[i]; !q.empty() && (best < 0 && len(e.heap) == 0 || q.list[q.head].at < at) {
			best, at = i, q.list[q.head].at
		}
	}
	return best
}

// next takes what is due first. There must be something.
func (e *ending[T]) next() due[T] {
	e.seen = false
	i := e.earliest()
	if i < 0 {
		return e.pop()
	}
	return e.runs[i].next()
}

// together takes all that is due first, at one time; there must be something. Which of it comes first depends on what else has waited, and is another after a
// restart: who gives out rows puts it into an order of its own.
func (e *ending[T]) together(dst []T) []T {
	at, _ := e.first()
	e.seen = false
	for i := range e.runs {
		for q := &e.runs[i]; !q.empty() && q.list[q.head].at == at; {
			dst = append(dst, q.next().of)
		}
	}
	for len(e.heap) > 0 && e.heap[0].at == at {
		dst = append(dst, e.pop().of)
	}
	return dst
}

// next takes the head of a run. The room of those before it is used again once they are half of the list.
func (q *queue[T]) next() due[T] {
	d := q.list[q.head]
	q.list[q.head] = due[T]{} // holds on to nothing
	if q.head++; q.empty() {
		q.list, q.head = q.list[:0], 0
	} else if q.head > 1024 && q.head > len(q.list)/2 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	return d
}

func (e *ending[T]) push(d due[T]) {
	e.heap = append(e.heap, d)
	for child := len(e.heap) - 1; child > 0; {
		parent := (child - 1) / 2
		if e.heap[parent].at <= e.heap[child].at {
			return
		}
		e.heap[parent], e.heap[child] = e.heap[child], e.heap[parent]
		child = parent
	}
}

func (e *ending[T]) pop() due[T] {
	first, last := e.heap[0], len(e.heap)-1
	e.heap[0] = e.heap[last]
	e.heap[last] = due[T]{}
	e.heap = e.heap[:last]
	for parent := 0; ; {
		child := 2*parent + 1
		if child >= last {
			return first
		}
		if child+1 < last && e.heap[child+1].at < e.heap[child].at {
			child++
		}
		if e.heap[parent].at <= e.heap[child].at {
			return first
		}
		e.heap[parent], e.heap[child] = e.heap[child], e.heap[parent]
		parent = child
	}
}
