package cellio

import "slices"

// ending is a function that waits for the end of a run. It is a pointer so that it can be found again.
type ending struct{ f func() }

// AtEnd has f called when the current run's cell ends, before its last frame: what is held back (a throttled output, say)
// is sent while front ends still listen to the cell. Outside an engine, and after the cell has ended, f is not called. cancel
// takes the call back.
func AtEnd(f func()) (cancel func()) {
	r := CurrentRun()
	if r == nil {
		return func() {}
	}
	e := &ending{f}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.endings = append(r.endings, e)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.endings = slices.DeleteFunc(r.endings, func(o *ending) bool { return o == e })
	}
}

// End calls the functions given to AtEnd, in that order, in the run. An engine calls it when the cell's code has ended, before it reports
// that. The calling goroutine then belongs to no run.
func (r *Run) End() {
	r.mu.Lock()
	endings := r.endings
	r.endings, r.ended, r.ending = nil, true, true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ending = false
	}()
	if len(endings) == 0 {
		return
	}
	r.Do(func() { // what they send is the run's, though a later one has begun
		for _, e := range endings {
			e.f()
		}
	})
}

// atEnd tells whether the run's endings are being called: what they write does not wait.
func (r *Run) atEnd() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending
}
