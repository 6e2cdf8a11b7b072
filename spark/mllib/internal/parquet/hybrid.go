package parquet

import (
	"encoding/binary"
	"errors"
)

// hybrid reads numbers of few bits in runs, either of one number or of packed ones: Parquet's RLE, of levels and of places in a dictionary.
type hybrid struct {
	data  []byte
	width int    // bits of a number, 0 to 32
	run   int    // numbers that are left of the run
	same  uint32 // the number of a run of one
	at    int    // where the next packed number begins, bits of packed
	pack  []byte // of a packed run; nil: it is a run of one number
}

// errRuns is an end in the middle of runs.
var errRuns = errors.New("runs of numbers end early; it is damaged, copy it again")

// next returns the next number.
func (h *hybrid) next() (uint32, error) {
	for h.run == 0 {
		if err := h.begin(); err != nil {
			return 0, err
		}
	}
	h.run--
	if h.pack == nil {
		return h.same, nil
	}
	v, first := uint64(0), h.at>>3
	for i := first; i < len(h.pack) && i < first+5; i++ { // 32 bits and up to 7 before them
		v |= uint64(h.pack[i]) << (8 * (i - first))
	}
	v >>= h.at & 7
	h.at += h.width
	return uint32(v & (1<<h.width - 1)), nil
}

// begin reads the head of a run: its length and, in the lowest bit, whether its numbers are packed, eight at a time.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.data)
	if n <= 0 || head>>1 > 1<<31 {
		return errRuns
	}
	h.data = h.data[n:]
	if head&1 == 0 {
		return h.beginSame(int(head >> 1))
	}
	size := int(head>>1) * h.width
	if size > len(h.data) {
		return errRuns
	}
	h.run, h.at = 8*int(head>>1), 0
	h.pack, h.data = h.data[:size:size], h.data[size:]
	return nil
}

// beginSame reads the number of a run of one.
func (h *hybrid) beginSame(run int) error {
	size := (h.width + 7) / 8
	if size > len(h.data) {
		return errRuns
	}
	h.run, h.same, h.pack = run, 0, nil
	for i, b := range h.data[:size] {
		h.same |= uint32(b) << (8 * i)
	}
	h.data = h.data[size:]
	return nil
}

// bitsOf is how many bits the levels up to most take.
func bitsOf(most int) int {
	bits := 0
	for ; most > 0; most >>= 1 {
		bits++
	}
	return bits
}
