package avro

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"cancha/stream"
)

// RegistryFormat is the format of records that name their schema in a registry; see Registry.
type RegistryFormat struct {
	client *client
	err    error
}

// Registry is Confluent's wire format: a byte 0, the number of a schema in four bytes, the most significant first, and a record in Avro's binary
// encoding, written with that schema. A record of another form is a bad record, also one whose schema a header names. Schemas are fetched when their number first comes, as are those
// that they refer to, and kept as long as the format is: runs and queries that are given the same RegistryFormat share them.
//
// Each record is read with its writer's schema. What a path names is absent where that schema has no such field, and has the type that it has
// there; a query ends with a note about paths that no record had.
//
// A number that the registry does not know, and a schema that is none of records in Avro, make the records that name it bad, with the reason;
// an unknown number is asked for again after a minute. A registry that gives no answer, or answers with an error of its own, is asked again
// until Config.Timeout is over; then the query ends with an error, and at once if the registry refuses the user, if its certificate does not hold, or
// if whoever answers is no registry.
func Registry(c Config) RegistryFormat {
	client, err := newClient(c)
	return RegistryFormat{client, err}
}

// Name implements stream.Format.
func (f RegistryFormat) Name() string {
	if f.client == nil {
		return "Avro, schemas of a registry"
	}
	return "Avro, schemas of " + f.client.base.String()
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes Name, and never the password.
func (f RegistryFormat) Format(s fmt.State, _ rune) { fmt.Fprint(s, f.Name()) }

// Decoder implements stream.Format.
func (f RegistryFormat) Decoder(slots []stream.Slot) (stream.Decoder, error) {
	switch {
	case f.err != nil:
		return nil, fmt.Errorf("avro: %w", f.err)
	case f.client == nil:
		return nil, fmt.Errorf("avro: a format without a registry; Registry makes one")
	}
	return &registered{scan: newScan(slots), client: f.client, readers: map[uint32]reader{}}, nil
}

// registered decodes records that begin with the number of their schema.
type registered struct {
	scan
	client  *client
	readers map[uint32]reader
	last    reader
	id      uint32 // last's; records of one schema follow each other
}

// reader is what a number stands for: how its records are read, or the reason why they are bad.
type reader struct {
	root   *node
	reason string
	until  time.Time // when the reason may have gone; zero: never
}

func (r reader) known() bool { return r.root != nil || r.reason != "" }

const (
	headLength = 5
	noHead     = "not in the registry's format: want a byte 0, four bytes with the number of a schema, and the record"
	maxReaders = 1 << 16
)

// idOf returns the number of a record's schema.
func idOf(record []byte) (id uint32, ok bool) {
	if len(record) < headLength || record[0] != 0 {
		return 0, false
	}
	return binary.BigEndian.Uint32(record[1:]), true
}

// Prepare implements stream.Preparer: it fetches the schemas that the records name and that are not known yet.
func (d *registered) Prepare(ctx context.Context, records []stream.Record) error {
	if len(d.readers) >= maxReaders {
		clear(d.readers) // between batches only: numbers that nobody knows come from records that are none
		d.last = reader{}
	}
	for i := range records {
		id, ok := idOf(records[i].Value)
		if !ok || id == d.id && d.last.root != nil {
			continue
		}
		if r := d.readers[id]; !r.known() || !r.until.IsZero() && time.Now().After(r.until) {
			if err := d.fetch(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *registered) fetch(ctx context.Context, id uint32) error {
	a, err := d.client.schema(ctx, id)
	if err != nil {
		return err
	}
	r := reader{reason: a.reason, until: a.until}
	if a.schema != nil {
		// The query has checked that its paths are paths; what this writer's records lack is absent.
		if r.root, _, err = plan(a.schema, d.slots); err != nil {
			return err
		}
	}
	d.readers[id] = r
	return nil
}

// Decode implements stream.Decoder.
func (d *registered) Decode(record []byte, row []stream.Value) (reason string) {
	id, ok := idOf(record)
	if !ok {
		return noHead
	}
	if id != d.id || d.last.root == nil {
		d.last, d.id = d.readers[id], id
	}
	switch {
	case d.last.root != nil:
	case d.last.reason != "":
		return d.last.reason
	default:
		return fmt.Sprintf("schema %d was not fetched before its record", id) // unreachable as long as Prepare sees each record first
	}
	return d.record(d.last.root, record[headLength:], row)
}
