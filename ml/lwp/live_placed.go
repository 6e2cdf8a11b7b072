package lwp

import "context"

// Close gives back what the scorer has in the session of [NewLiveOn]. It may be called twice; a scorer of NewLive has nothing to give back.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.placed.close == nil {
		return nil
	}
	return l.placed.close()
}

// placed is a model's forest in a session.
type placed struct {
	walk  func(ctx context.Context, dst []float64, values []float32) error
	close func() error
}

// place has the batch of a call ask the session, if there is one.
func (l *Live) place(ctx context.Context) {
	if l.placed.walk != nil {
		l.batch.walk = func(dst []float64, values []float32) error { return l.placed.walk(ctx, dst, values) }
	}
}

// undo is a match as it was before a call.
type undo struct {
	of  *live
	was live
}

// note keeps a match as it is before the call's first event of it. Without a session no answer fails, and nothing need be kept.
func (l *Live) note(m *live) {
	if l.placed.walk != nil && !m.noted {
		l.undo = append(l.undo, undo{m, *m})
		m.noted = true
	}
}

// settle ends a call: after an error its matches are as they were. A match that was forgotten to make room for another stays so.
func (l *Live) settle(err error) {
	for _, u := range l.undo {
		if u.of.noted = false; err != nil {
			*u.of = u.was
		}
	}
	clear(l.undo)
	l.undo = l.undo[:0]
}
