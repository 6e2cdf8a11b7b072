package stream

import (
	"cancha/stream/internal/eval"
	"cancha/stream/internal/flow"
)

// manyUnlike is how many pairs of values that cannot be equal make a note while a query runs: of few of them others may follow.
const manyUnlike = 100

// unlike notes what has met nothing but values of kinds that are never equal, and at least so many: the query gives out less than is meant, or nothing.
func (r *Running) unlike(least int64) {
	for _, doubt := range r.mismatches(least) {
		r.note(doubt)
	}
}

// mismatches are what unlike notes.
func (r *Running) mismatches(least int64) (all []string) {
	found := func(doubt string) {
		if doubt != "" {
			all = append(all, doubt)
		}
	}
	for _, in := range r.graph.inputs {
		for _, compared := range r.compared(in) {
			found(eval.Doubt(compared, least))
		}
	}
	r.graph.mu.Lock()
	defer r.graph.mu.Unlock()
	for _, c := range r.graph.env.Compared {
		found(eval.Doubt([]eval.Met{c.Met()}, least))
	}
	for _, op := range r.graph.ops {
		if d, ok := op.Op.(flow.Doubter); ok {
			found(d.Doubt(least))
		}
	}
	return all
}

// compared is what each comparison in the lanes of an input has met, in all of them.
func (r *Running) compared(in *input) (all [][]eval.Met) {
	for _, n := range r.of(in) {
		n.mu.Lock()
		for i, c := range n.env.Compared { // lanes of an input are compiled in one way
			if i == len(all) {
				all = append(all, nil)
			}
			all[i] = append(all[i], c.Met())
		}
		n.mu.Unlock()
	}
	return all
}
