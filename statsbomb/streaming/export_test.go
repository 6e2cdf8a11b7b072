package streaming

import (
	"time"

	"cancha/statsbomb"
	"cancha/stream"
)

// SetBatch bounds what the model gets in one call. It comes before the board's query starts.
func (b *Board) SetBatch(events int, wait time.Duration) { b.limit, b.wait = events, wait }

// SetMatches bounds how many matches a board knows.
func (b *Board) SetMatches(n int) { b.most = n }

// Handler is what scores the records of a partition.
func (b *Board) Handler() stream.RecordHandler { return b.handler() }

// NewReader returns a reader of records, which tells why one is bad.
func NewReader() func(record []byte) (reason string) {
	d, e, t := &reader{}, &statsbomb.MatchEvent{}, &told{}
	return func(record []byte) string { return d.read(record, e, t) }
}
