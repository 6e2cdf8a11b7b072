package store

import (
	"bytes"

	"cancha/jobs/internal/disk"
	"cancha/jobs/job"
)

// walker goes through the numbers of the jobs of some states, in the order in which they came or backwards: the lists of the states are merged.
type walker struct {
	heads []head
	way   way
}

// head is where it is on the list of one state.
type head struct {
	state  byte
	cursor *disk.Cursor
	number []byte // nil: the list is at its end
}

// way is the end at which a walk begins.
type way bool

const (
	first way = false
	last  way = true
)

func walk(tx *disk.Tx, states []job.State, from way) *walker {
	w := &walker{way: from}
	seen := map[job.State]bool{}
	for _, s := range states {
		if !s.Known() || seen[s] {
			continue
		}
		seen[s] = true
		h := head{state: stateByte(s), cursor: tx.Bucket(bucketStates).Cursor()}
		h.begin(from)
		w.heads = append(w.heads, h)
	}
	return w
}

func (h *head) begin(from way) {
	if from == first {
		h.set(h.cursor.Seek([]byte{h.state}))
		return
	}
	if k, _ := h.cursor.Seek([]byte{h.state + 1}); k == nil {
		h.set(h.cursor.Last())
		return
	}
	h.set(h.cursor.Prev())
}

// set takes in where the cursor is.
func (h *head) set(k, _ []byte) {
	h.number = nil
	if len(k) == 9 && k[0] == h.state {
		h.number = k[1:]
	}
}

func (h *head) step(from way) {
	if from == first {
		h.set(h.cursor.Next())
	} else {
		h.set(h.cursor.Prev())
	}
}

// next is the next number, and nil at the end.
func (w *walker) next() (n []byte) {
	var best *head
	for i := range w.heads {
		h := &w.heads[i]
		if h.number != nil && (best == nil || (bytes.Compare(h.number, best.number) < 0) == (w.way == first)) {
			best = h
		}
	}
	if best == nil {
		return nil
	}
	n = best.number
	best.step(w.way)
	return n
}
