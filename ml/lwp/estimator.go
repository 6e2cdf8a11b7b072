package lwp

import (
	"cancha/ml/forest"
	"cancha/ml/linear"
	"cancha/ml/modelfile"
)

// estimator is what a model has learned, behind one seam: forests, networks, regressions, averages of them. States go into
// a batch one by one and their probabilities come out together, so that trees are walked once for all. An estimator does not
// change and is safe for concurrent use; a batch is one goroutine's.
type estimator interface {
	// look appends to b.values what answer needs of a state, and returns how many goals both sides are promised for the rest
	// of the match; 0 and 0 where answer does not scale such.
	look(b *batch, s *State, p Prior) (home, away float64)
	// answer fills dst, three probabilities for each of b.rests, unless b.ask has failed.
	answer(b *batch, dst [][]float64)
}

// stored is an estimator that can stand in a model file.
type stored interface {
	estimator
	store(f *modelfile.File) error
}

// predict asks an estimator at every minute of the matches.
func predict(name string, e estimator, ms *Matches) *Predictions {
	p := newPredictions(name, ms)
	b := batch{of: e}
	for i := range ms.Matches {
		for k := range ms.Matches[i].States {
			b.add(&ms.Matches[i].States[k], ms.Matches[i].Prior)
		}
	}
	_ = b.run(p.P) // without walk there is no error
	return p
}

// outcomes answers by the probabilities of a Classifier: a forest, a network.
type outcomes struct {
	Classifier
	kind string // as in Info
}

func (o outcomes) look(b *batch, s *State, p Prior) (home, away float64) {
	v, _ := views(s, p)
	b.values = appendOutcomeRow(b.values, v)
	return 0, 0
}

func (o outcomes) answer(b *batch, dst [][]float64) {
	b.raw = resize(b.raw, 3*len(b.rests))
	if !b.ask(o.ProbasTo) {
		return
	}
	for i := range dst {
		copy(dst[i], b.raw[3*i:3*i+3])
	}
}

func (o outcomes) store(f *modelfile.File) error { return o.Store(f, prefix(o.kind)) }

// remaining answers by a forest of remaining goals: by how many times each side outscores what its prior promises.
type remaining struct{ *forest.Regressor }

func (r remaining) look(b *batch, s *State, p Prior) (home, away float64) {
	h, a := views(s, p)
	b.values = appendGoalRow(appendGoalRow(b.values, h), a)
	return h.exposure(), a.exposure()
}

func (r remaining) answer(b *batch, dst [][]float64) {
	b.raw = resize(b.raw, 2*len(b.rests))
	if !b.ask(r.ValuesTo) {
		return
	}
	for i, rest := range b.rests {
		outcomeTo(dst[i], rest.lead, b.raw[2*i]*rest.home, b.raw[2*i+1]*rest.away)
	}
}

func (r remaining) store(f *modelfile.File) error { return r.Store(f, "forest") }

// rates answers by a Poisson regression of remaining goals.
type rates struct {
	fit *linear.Poisson
	of  formula
}

func (r rates) look(b *batch, s *State, p Prior) (home, away float64) {
	h, a := views(s, p)
	b.row = r.of.row(b.row[:0], h)
	home = r.fit.Rate(b.row, h.logLeft())
	b.row = r.of.row(b.row[:0], a)
	return home, r.fit.Rate(b.row, a.logLeft())
}

func (rates) answer(b *batch, dst [][]float64) {
	for i, rest := range b.rests {
		outcomeTo(dst[i], rest.lead, rest.home, rest.away)
	}
}

// classes answers by a logistic regression.
type classes struct{ *linear.Logistic }

func (c classes) look(b *batch, s *State, p Prior) (home, away float64) {
	v, _ := views(s, p)
	b.values = appendOutcomeRow(b.values, v)
	return 0, 0
}

func (c classes) answer(b *batch, dst [][]float64) {
	columns := len(c.Features)
	for i := range dst {
		c.ProbaTo(dst[i], b.values[i*columns:(i+1)*columns])
	}
}
