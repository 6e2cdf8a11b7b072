package avro

import (
	"errors"
	"fmt"

	"cancha/stream"
	"github.com/twmb/avro"
)

// RecordFormat is the format of bare records of one schema; see Format.
type RecordFormat struct {
	schema *schema
	err    error
}

// Format is Avro's binary encoding, bare: each record's value is one record of the schema, whose text is given, and nothing else. A path that no
// such record has, or that the schema gives another type than the query wants, refuses the query's start, and so does a text that is no
// schema. A record of another schema is a bad record as long as its bytes show it: records that name their schema are for Registry.
func Format(schema string) RecordFormat {
	parsed, err := parse(&avro.SchemaCache{}, schema)
	if err == nil {
		err = parsed.isRecord()
	}
	return RecordFormat{parsed, err}
}

// isRecord refuses schemas whose values have no paths.
func (s *schema) isRecord() error {
	if s.kind == record {
		return nil
	}
	if s.kind != union || len(s.branches) == 0 {
		return fmt.Errorf("the schema is of type %s: want a record", s)
	}
	for _, branch := range s.branches {
		if branch.kind != record {
			return fmt.Errorf("the schema is a union with type %s: want records only", branch)
		}
	}
	return nil
}

// Name implements stream.Format.
func (f RecordFormat) Name() string {
	if f.schema == nil {
		return "Avro"
	}
	return "Avro, " + f.schema.String()
}

// Decoder implements stream.Format.
func (f RecordFormat) Decoder(slots []stream.Slot) (stream.Decoder, error) {
	switch {
	case f.schema == nil && f.err == nil:
		return nil, errors.New("avro: a format without a schema; Format makes one")
	case f.err != nil:
		return nil, fmt.Errorf("avro: the schema: %w", f.err)
	}
	root, faults, err := plan(f.schema, slots)
	if err != nil {
		return nil, err
	}
	for _, fault := range faults {
		if fault != nil {
			return nil, fmt.Errorf("avro: %w", fault)
		}
	}
	return &bare{newScan(slots), root}, nil
}

// bare decodes records of one schema.
type bare struct {
	scan
	root *node
}

// Decode implements stream.Decoder.
func (d *bare) Decode(record []byte, row []stream.Value) (reason string) {
	return d.record(d.root, record, row)
}
