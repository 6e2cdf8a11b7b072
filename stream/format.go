package stream

import (
	"fmt"
	"slices"
	"strings"

	"cancha/stream/internal/decode"
)

// Format says how the values of records are written.
type Format interface {
	// Name is what Explain calls the format.
	Name() string
	// decoder returns a decoder of slots for one partition.
	decoder(slots []decode.Slot) (decode.Decoder, error)
}

// JSONOptions is the format of records that are JSON objects.
type JSONOptions struct{ shape decode.Shape }

// JSONFormat is JSON: a record is an object, and Field names a path in it. Null and NaN are absent values; a member that comes twice counts as
// its last value.
func JSONFormat() JSONOptions { return JSONOptions{} }

// Envelope says that the record proper is the object at a member, with others beside it that a path may name all the same: of
// {"event": {…}, "metadata": {…}} the paths after Envelope("event", "metadata") are those of the event, and metadata.source. A record
// without that member is read as it is.
func (o JSONOptions) Envelope(member string, beside ...string) JSONOptions {
	o.shape.Envelope, o.shape.Beside = member, slices.Clone(beside)
	return o
}

// Flattened says that some records have names joined in place of objects in objects: with "_" the path shot.outcome.id is found at
// shot_outcome_id too. A text where a path goes on is then no fault.
func (o JSONOptions) Flattened(separator string) JSONOptions {
	o.shape.Flat = separator
	return o
}

// TextNumbers lets a text that is a number count as one where a number is wanted, and an empty text as none: so are the fields of a CSV file that
// package file reads.
func (o JSONOptions) TextNumbers() JSONOptions {
	o.shape.TextNumbers = true
	return o
}

// Name implements Format.
func (o JSONOptions) Name() string {
	name := "JSON"
	if o.shape.Envelope != "" {
		name += ", envelope " + o.shape.Envelope
	}
	if o.shape.Flat != "" {
		name += ", flattened by " + o.shape.Flat
	}
	return name
}

func (o JSONOptions) decoder(slots []decode.Slot) (decode.Decoder, error) {
	return decode.NewJSON(slots, o.shape)
}

// CSVOptions is the format of records that are lines of CSV.
type CSVOptions struct {
	columns   []string
	separator byte
}

// CSVFormat is lines of CSV (RFC 4180) with these columns, which Field names. An empty field is absent; one that is a number, an RFC 3339 time,
// true or false counts as that where such is wanted, and where nothing is, a number as a number and all else as text.
func CSVFormat(columns ...string) CSVOptions {
	return CSVOptions{columns: slices.Clone(columns), separator: ','}
}

// Separator sets what parts the fields: a comma unless set.
func (o CSVOptions) Separator(c byte) CSVOptions {
	o.separator = c
	return o
}

// Name implements Format.
func (o CSVOptions) Name() string { return "CSV of " + strings.Join(o.columns, ", ") }

func (o CSVOptions) decoder(slots []decode.Slot) (decode.Decoder, error) {
	for _, s := range slots {
		if !slices.Contains(o.columns, s.Path) {
			return nil, fmt.Errorf("stream: the CSV has no column %q; it has %s", s.Path, strings.Join(o.columns, ", "))
		}
	}
	return decode.NewCSV(slots, o.columns, o.separator), nil
}

// TextOptions is the format of records that are texts.
type TextOptions struct{}

// TextFormat is plain text: Field("text") is the record.
func TextFormat() TextOptions { return TextOptions{} }

// Name implements Format.
func (TextOptions) Name() string { return "text" }

func (TextOptions) decoder(slots []decode.Slot) (decode.Decoder, error) {
	for _, s := range slots {
		if s.Path != "text" {
			return nil, fmt.Errorf(`stream: a text has no field %q; it is Field("text") as a whole`, s.Path)
		}
	}
	return decode.NewText(slots), nil
}
