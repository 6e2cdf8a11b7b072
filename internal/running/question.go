package running

import (
	"sync"
	"time"
)

// Question is asked of things that may be slow to answer: one that is held up, by its sink or by a function of its user, answers when that lets
// go of it. Of may be called from anywhere.
type Question[T any] struct {
	Ask      func(Thing) T
	Patience time.Duration // how long an answer is waited for
	Fresh    time.Duration // for how long one is given again; 0: it never is
}

// Of asks an entry's thing. Waited is 0 where it has answered in time. Else it is for how long the question has had no answer, and the value is the answer
// before, or the zero value. The question goes on: it
// ends with the thing, and there is one at a time. What is left after the end is held up by nothing, and asked anew.
func (q *Question[T]) Of(e *Entry) (value T, waited time.Duration) {
	if e.State() != Running {
		return q.Ask(e.Thing()), 0
	}
	a, _ := e.answers.LoadOrStore(q, &answer[T]{})
	return a.(*answer[T]).get(q, e)
}

// answer is that of an entry to a question. The entry keeps it, so that it goes with it.
type answer[T any] struct {
	mu     sync.Mutex
	value  T
	at     time.Time
	asking chan struct{} // closed when the question that is on its way is answered; nil: none is
	asked  time.Time     // when that was
}

func (a *answer[T]) get(q *Question[T], e *Entry) (value T, waited time.Duration) {
	a.mu.Lock()
	if time.Since(a.at) < q.Fresh {
		defer a.mu.Unlock()
		return a.value, 0
	}
	if a.asking == nil {
		a.asking, a.asked = make(chan struct{}), time.Now()
		go a.ask(q, e)
	}
	asking, asked := a.asking, a.asked
	a.mu.Unlock()
	timer := time.NewTimer(q.Patience)
	defer timer.Stop()
	select {
	case <-asking:
	case <-timer.C:
		waited = time.Since(asked)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.value, waited
}

func (a *answer[T]) ask(q *Question[T], e *Entry) {
	v := q.Ask(e.Thing())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value, a.at = v, time.Now()
	close(a.asking)
	a.asking = nil
}
