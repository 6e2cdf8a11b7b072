package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Snapshot is what a place keeps of one epoch.
type Snapshot struct {
	Header   Header
	Sections []Section
}

// Header tells which query a snapshot is of, and what of it a person or another program wants to know without the state.
type Header struct {
	Query string `json:"query"` // identifies the checkpoint: made when it was begun
	Name  string `json:"name"`  // of the query
	Unit  string `json:"unit"`  // what part of the query it is; "query" is all of it
	Epoch int64  `json:"epoch"`
	// Run is the run of the query that took it: with Epoch it tells what no other snapshot has, where a query has gone back. Empty of formats 1 and 2.
	Run  string `json:"run,omitempty"`
	Base int64  `json:"base"` // the first epoch whose snapshot is needed beside this one
	// Previous is the epoch of the snapshot that this one goes on from; 0 of the first. As a rule that is the one before.
	Previous int64     `json:"previous"`
	Time     time.Time `json:"time"` // when it was taken
	Plan     []string  `json:"plan"` // what must be the same for a query to go on from here
	// Ended tells that the sources had come to their end and all was given out.
	Ended   bool  `json:"ended,omitempty"`
	Portion int64 `json:"portion,omitempty"` // records that count for a MaxRecords that has not been reached
	// Reached tells that the run which took this snapshot had come to its MaxRecords.
	Reached bool   `json:"reached,omitempty"`
	Sinks   []Sink `json:"sinks,omitempty"`
}

// Sink is how far a sink has come.
type Sink struct {
	Name     string `json:"name"`
	Epoch    int64  `json:"epoch"`         // the last one whose rows it had taken when the snapshot was taken
	Run      string `json:"run,omitempty"` // whose epoch that was; empty: it had taken none, or formats 1 and 2 do not tell
	Position []byte `json:"position,omitempty"`
}

// Section is one part of the state: those of one name, in one snapshot after another, make it.
type Section struct {
	Name  string
	Bytes []byte
}

// magic begins each snapshot. Its first byte is none of a text, and its last one is lost where line ends are changed on the way.
const magic = "\x89Cancha checkpoint\n"

// version is that of what Encode writes. Those from oldest on can be read: in format 1 sections did not tell the newest id that was given, and no section
// told whose the keys of closed groups are; in format 2 epochs had no runs.
const (
	version = 3
	oldest  = 1
)

// fixed is what stands in front of the header: the magic, the version, the length of all and that of the header.
const fixed = len(magic) + 4 + 8 + 4

// Encode writes a snapshot, in pieces that belong one behind the other.
func (s *Snapshot) Encode() ([][]byte, error) {
	header, err := json.Marshal(s.Header)
	if err != nil {
		return nil, fmt.Errorf("write a snapshot: %w", err)
	}
	total := fixed + len(header) + 4
	pieces := make([][]byte, 1, 2*len(s.Sections)+2)
	for _, section := range s.Sections {
		name := binary.AppendUvarint(nil, uint64(len(section.Name)))
		name = binary.AppendUvarint(append(name, section.Name...), uint64(len(section.Bytes)))
		total += len(name) + len(section.Bytes)
		pieces = append(pieces, name, section.Bytes)
	}
	first := binary.LittleEndian.AppendUint32([]byte(magic), version)
	first = binary.LittleEndian.AppendUint64(first, uint64(total))
	first = binary.LittleEndian.AppendUint32(first, uint32(len(header)))
	pieces[0] = append(first, header...)
	sum := uint32(0)
	for _, piece := range pieces {
		sum = crc32.Update(sum, castagnoli, piece)
	}
	return append(pieces, binary.LittleEndian.AppendUint32(nil, sum)), nil
}

// castagnoli is the polynomial of the checksum, which processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Why bytes are no snapshot that can be loaded.
var (
	ErrForeign   = errors.New("it is no snapshot of Cancha")
	ErrNewer     = errors.New("it was made by a newer version of Cancha")
	ErrTruncated = errors.New("its end is missing")
	ErrDamaged   = errors.New("it is damaged")
)

// Decode reads a snapshot. The sections lie in b. An error is one of those above, with what was found.
func Decode(b []byte) (*Snapshot, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		if len(b) < len(magic) && string(b) == magic[:len(b)] {
			return nil, fmt.Errorf("%w: it has %d bytes", ErrTruncated, len(b))
		}
		return nil, ErrForeign
	}
	if len(b) < fixed {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrTruncated, len(b))
	}
	rest := b[len(magic):]
	switch v := binary.LittleEndian.Uint32(rest); {
	case v > version:
		return nil, fmt.Errorf("%w: its format is %d, and this one knows %d", ErrNewer, v, version)
	case v < oldest:
		return nil, fmt.Errorf("%w: its format is %d, and there is none before %d", ErrDamaged, v, oldest)
	}
	total, header := binary.LittleEndian.Uint64(rest[4:]), binary.LittleEndian.Uint32(rest[12:])
	switch {
	case total > uint64(len(b)):
		return nil, fmt.Errorf("%w: it has %d of %d bytes", ErrTruncated, len(b), total)
	case total < uint64(len(b)):
		return nil, fmt.Errorf("%w: it has %d bytes, and says %d", ErrDamaged, len(b), total)
	case uint64(header) > total-uint64(fixed)-4:
		return nil, fmt.Errorf("%w: its header does not fit into it", ErrDamaged)
	}
	end := len(b) - 4
	if sum := binary.LittleEndian.Uint32(b[end:]); sum != checksum(b[:end]) {
		return nil, fmt.Errorf("%w: its checksum is another one", ErrDamaged)
	}
	return decode(b[fixed:fixed+int(header)], b[fixed+int(header):end])
}

// decode reads a snapshot whose checksum is right.
func decode(header, body []byte) (*Snapshot, error) {
	s := &Snapshot{}
	if err := json.Unmarshal(header, &s.Header); err != nil {
		return nil, fmt.Errorf("%w: its header: %w", ErrDamaged, err)
	}
	for len(body) > 0 {
		name, rest, ok := piece(body)
		if !ok {
			return nil, fmt.Errorf("%w: section %d", ErrDamaged, len(s.Sections))
		}
		bytes, rest, ok := piece(rest)
		if !ok {
			return nil, fmt.Errorf("%w: section %.100q", ErrDamaged, name)
		}
		s.Sections = append(s.Sections, Section{Name: string(name), Bytes: bytes})
		body = rest
	}
	return s, nil
}

// piece reads a length and so many bytes.
func piece(b []byte) (bytes, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}
