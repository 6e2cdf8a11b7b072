package cellio

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
)

// Journal is memory that an engine shares with its kernel, for the text that the engine's [Outlet] holds back: the last lines of an
// engine that is killed, or given up by Go's runtime, are not lost with it.
//
//	uint32: bytes that follow and count
//	records, one for text of one source: uint64 cell, uint8 1 for stderr, uint32 bytes of text, text
//
// All numbers are little endian. A nil *Journal keeps nothing.
type Journal struct {
	mem  []byte
	from source // of the last record,
	last int    // which begins here; 0 where there is none
}

// JournalSize is how many bytes the file of a journal has: more than an outlet holds back.
const JournalSize = 1 << 20

const (
	journalHead = 4
	recordHead  = 13
)

// OpenJournal maps a file of JournalSize bytes that both processes have. The file may be closed afterwards.
func OpenJournal(f *os.File) (*Journal, error) {
	mem, err := syscall.Mmap(int(f.Fd()), 0, JournalSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the journal of output: %w", err)
	}
	return &Journal{mem: mem}, nil
}

// Close gives the memory back.
func (j *Journal) Close() {
	if j != nil {
		_ = syscall.Munmap(j.mem) // fails only for what is no mapping
	}
}

// used is how many bytes count. Whoever shares the memory may have written anything there.
func (j *Journal) used() int {
	return min(int(binary.LittleEndian.Uint32(j.mem)), len(j.mem)-journalHead)
}

// add keeps text after what is kept, if there is room. What counts is told last, so that a process may end at any point of it.
func (j *Journal) add(from source, text []byte) {
	if j == nil || len(text) == 0 {
		return
	}
	at := journalHead + j.used()
	if at+recordHead+len(text) > len(j.mem) {
		return
	}
	if j.last == 0 || j.from != from {
		j.from, j.last = from, at
		binary.LittleEndian.PutUint64(j.mem[at:], uint64(from.cell))
		j.mem[at+8] = 0
		if from.name == "stderr" {
			j.mem[at+8] = 1
		}
		at += recordHead
	}
	at += copy(j.mem[at:], text)
	binary.LittleEndian.PutUint32(j.mem[j.last+9:], uint32(at-j.last-recordHead))
	binary.LittleEndian.PutUint32(j.mem, uint32(at-journalHead))
}

// rewrite keeps the text of what waits, and nothing else.
func (j *Journal) rewrite(waiting []*entry) {
	if j == nil {
		return
	}
	binary.LittleEndian.PutUint32(j.mem, 0)
	j.last = 0
	for _, e := range waiting {
		j.add(e.source, e.text)
	}
}

// Rest hands over what the other process kept and had not sent when it ended, in its order.
func (j *Journal) Rest(take func(cell int64, name string, text []byte)) {
	if j == nil {
		return
	}
	rest := j.mem[journalHead : journalHead+j.used()]
	for len(rest) > recordHead {
		cell, name := int64(binary.LittleEndian.Uint64(rest)), "stdout"
		if rest[8] == 1 {
			name = "stderr"
		}
		n := min(int(binary.LittleEndian.Uint32(rest[9:])), len(rest)-recordHead)
		take(cell, name, rest[recordHead:recordHead+n])
		rest = rest[recordHead+n:]
	}
}
