package lwp

// batch gathers states, answers all of them with one walk through the forest, and is then empty again. Tables and
// streams both score through it, so the same state gives the same probabilities.
type batch struct {
	model  *Model
	values []float32 // rows of the forest: one per state for Outcome, two for RemainingGoals
	raw    []float64 // the forest's answers
	rests  []rest
}

// rest is what turns a forest's answers into probabilities: the score, and the goals that the priors promise.
type rest struct {
	lead       int
	home, away float64
	over       bool
}

// add appends a state.
func (b *batch) add(s *State, p Prior) {
	home, away := views(s, p)
	if b.model.outcomes != nil {
		b.values = appendOutcomeRow(b.values, home)
	} else {
		b.values = appendGoalRow(appendGoalRow(b.values, home), away)
	}
	b.rests = append(b.rests, rest{int(s.Home.Goals - s.Away.Goals), home.exposure(), away.exposure(), s.over})
}

// run fills dst, one slice of three per state added, and empties the batch.
func (b *batch) run(dst [][]float64) {
	if m := b.model; m.outcomes != nil {
		b.raw = resize(b.raw, 3*len(b.rests))
		m.outcomes.ProbasTo(b.raw, b.values)
	} else {
		b.raw = resize(b.raw, 2*len(b.rests))
		m.goals.ValuesTo(b.raw, b.values)
	}
	for i, r := range b.rests {
		switch {
		case r.over:
			outcomeTo(dst[i], r.lead, 0, 0)
		case b.model.outcomes != nil:
			copy(dst[i], b.raw[3*i:3*i+3])
		default:
			outcomeTo(dst[i], r.lead, b.raw[2*i]*r.home, b.raw[2*i+1]*r.away)
		}
	}
	b.values, b.rests = b.values[:0], b.rests[:0]
}

// resize returns a slice of n numbers, reusing s where it is long enough.
func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
