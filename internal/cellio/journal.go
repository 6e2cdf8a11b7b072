package cellio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Journal is memory that an engine shares with its kernel, for the text that the engine's [Outlet] holds back: the last lines of an
// engine that is killed, or given up by Go's runtime, are not lost with it.
//
//	uint64: bytes of records that count, in the lower half; 1 in the upper where the stage counts
//	records, one for text of one source: uint64 cell, uint8 1 for stderr, uint32 bytes of text, text
//	the stage, at recordsEnd: uint64 cell, uint8 1 for stderr, then text up to its last byte that is not 0
//
// What is read out of a pipe is read into the stage: a process may end between the reading and the record. All numbers are little endian. A
// nil *Journal keeps nothing.
type Journal struct {
	mem  []byte
	from source // of the last record,
	last int    // which begins here; 0 where there is none
}

// JournalSize is how many bytes the file of a journal has: more than an outlet holds back, and the stage.
const JournalSize = recordsEnd + stageHead + pastSize

const (
	journalHead = 8
	recordHead  = 13
	recordsEnd  = 1 << 20
	stageHead   = 9
	staged      = 1 << 32
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

// head is the journal's first number. It is read and written as one: a record that takes the stage's text counts in the moment in which the
// stage no longer does.
func (j *Journal) head() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&j.mem[0])) }

// used is how many bytes count. Whoever shares the memory may have written anything there.
func (j *Journal) used() int {
	return min(int(uint32(j.head().Load())), recordsEnd-journalHead)
}

// stage returns a place for text of a source that is about to be read, nil where there is none. The text counts until add has it, or unstage.
func (j *Journal) stage(from source) []byte {
	if j == nil {
		return nil
	}
	at := j.mem[recordsEnd:]
	putSource(at, from)
	j.head().Or(staged)
	return at[stageHead : stageHead+pastSize]
}

// unstage makes a stage nothing that so many bytes were read into.
func (j *Journal) unstage(bytes int) {
	if j == nil {
		return
	}
	j.head().And(staged - 1)
	clear(j.mem[recordsEnd+stageHead:][:max(0, bytes)])
}

func putSource(at []byte, from source) {
	binary.LittleEndian.PutUint64(at, uint64(from.cell))
	at[8] = 0
	if from.name == "stderr" {
		at[8] = 1
	}
}

func readSource(at []byte) (cell int64, name string) {
	if at[8] == 1 {
		return int64(binary.LittleEndian.Uint64(at)), "stderr"
	}
	return int64(binary.LittleEndian.Uint64(at)), "stdout"
}

// add keeps text after what is kept, if there is room, and no longer what is on the stage, which is that text if there is one. What counts is
// told last, so that a process may end at any point of it.
func (j *Journal) add(from source, text []byte) {
	if j != nil && len(text) > 0 {
		j.head().Store(uint64(j.append(from, text)))
	}
}

// append writes text after what is kept, if there is room, and returns how many bytes of records there are then.
func (j *Journal) append(from source, text []byte) int {
	at := journalHead + j.used()
	if at+recordHead+len(text) > recordsEnd {
		return at - journalHead
	}
	if j.last == 0 || j.from != from {
		j.from, j.last = from, at
		putSource(j.mem[at:], from)
		at += recordHead
	}
	at += copy(j.mem[at:], text)
	binary.LittleEndian.PutUint32(j.mem[j.last+9:], uint32(at-j.last-recordHead))
	return at - journalHead
}

// rewrite keeps the text of what waits, and nothing else.
func (j *Journal) rewrite(waiting []*entry) {
	if j == nil {
		return
	}
	stage := j.head().Load() & staged
	j.head().Store(stage)
	j.last = 0
	for _, e := range waiting {
		if len(e.text) > 0 {
			j.head().Store(uint64(j.append(e.source, e.text)) | stage)
		}
	}
}

// Rest hands over what the other process kept and had not sent when it ended, in its order.
func (j *Journal) Rest(take func(cell int64, name string, text []byte)) {
	if j == nil {
		return
	}
	rest := j.mem[journalHead : journalHead+j.used()]
	for len(rest) > recordHead {
		cell, name := readSource(rest)
		n := min(int(binary.LittleEndian.Uint32(rest[9:])), len(rest)-recordHead)
		take(cell, name, rest[recordHead:recordHead+n])
		rest = rest[recordHead+n:]
	}
	stage := j.mem[recordsEnd:]
	if text := bytes.TrimRight(stage[stageHead:], "\x00"); j.head().Load()&staged != 0 && len(text) > 0 {
		cell, name := readSource(stage)
		take(cell, name, text)
	}
}
