package lwp

// batch gathers states, has all of them answered by an estimator together, and is then empty again. Tables and streams both
// score through it, so the same state gives the same probabilities. One that has grown allocates nothing.
type batch struct {
	of     estimator
	walk   func(dst []float64, values []float32) error // asks the estimator's forest in its stead; nil: the forest itself is asked
	failed error                                       // what walk has returned
	values []float32                                   // rows: as many for each state as the estimator looks at
	raw    []float64                                   // what a forest or a network says of them
	row    []float32                                   // one row of a regression
	rests  []rest
}

// rest is what turns an estimator's answers into probabilities: the score, and the goals that both sides are promised.
type rest struct {
	lead       int
	home, away float64
	over       bool
}

// add appends a state.
func (b *batch) add(s *State, p Prior) {
	home, away := b.of.look(b, s, p)
	b.rests = append(b.rests, rest{int(s.Home.Goals - s.Away.Goals), home, away, s.over})
}

// ask fills raw with what a forest, or a network, says of values. Where it is false the answers cannot be had, and run tells why.
func (b *batch) ask(forest func(dst []float64, values []float32)) bool {
	if b.walk == nil {
		forest(b.raw, b.values)
		return true
	}
	b.failed = b.walk(b.raw, b.values)
	return b.failed == nil
}

// run fills dst, one slice of three per state added, and empties the batch. After the 90 minutes the answer is the result. Without walk there is
// no error.
func (b *batch) run(dst [][]float64) error {
	b.failed = nil
	if len(b.rests) > 0 {
		b.of.answer(b, dst)
	}
	for i, r := range b.rests {
		if r.over {
			outcomeTo(dst[i], r.lead, 0, 0)
		}
	}
	b.values, b.rests = b.values[:0], b.rests[:0]
	return b.failed
}

// resize returns a slice of n numbers, reusing s where it is long enough.
func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
