package flow

// due is something whose time comes.
type due[T any] struct {
	at int64
	of T
}

// ending is a heap of what is due, the earliest first. It does what container/heap does with it, which takes and gives values in interfaces: an
// allocation for each row of a join.
type ending[T any] []due[T]

// put adds something by when its time comes.
func (e *ending[T]) put(at int64, of T) {
	*e = append(*e, due[T]{at, of})
	heap := *e
	for child := len(heap) - 1; child > 0; {
		parent := (child - 1) / 2
		if heap[parent].at <= heap[child].at {
			return
		}
		heap[parent], heap[child] = heap[child], heap[parent]
		child = parent
	}
}

// next takes what is due first. There must be something.
func (e *ending[T]) next() due[T] {
	heap := *e
	first, last := heap[0], len(heap)-1
	heap[0] = heap[last]
	heap[last] = due[T]{} // holds on to nothing
	heap = heap[:last]
	*e = heap
	for parent := 0; ; {
		child := 2*parent + 1
		if child >= last {
			return first
		}
		if child+1 < last && heap[child+1].at < heap[child].at {
			child++
		}
		if heap[parent].at <= heap[child].at {
			return first
		}
		heap[parent], heap[child] = heap[child], heap[parent]
		parent = child
	}
}
