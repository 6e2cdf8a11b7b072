// Package checkpoint keeps what a query has to know to go on after anything: a snapshot for each epoch, with how far each partition has been read, the
// state of the operators, the rows that the epoch gives out, and how far each sink has come, all of one moment. It knows snapshots as bytes: what
// stands in their sections is the engine's business, which takes and loads them.
//
// A snapshot holds what has changed since the one before, and some of the rest (package changelog). So loading reads several, from Header.Base on.
// Each has a checksum, is written whole or not at all, and is on the disk before anything of its epoch leaves the query.
package checkpoint
