package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cancha/stream/internal/decode"
)

// Format says how the values of records are written: JSONFormat, CSVFormat, TextFormat, those of package avro, or one of a program's own. This one
// reads records of a single number, as Field("n"):
//
//	type single struct{}
//
//	func (single) Name() string { return "one number" }
//
//	func (single) Decoder(slots []stream.Slot) (stream.Decoder, error) {
//		for _, s := range slots {
//			if s.Path != "n" {
//				return nil, fmt.Errorf("there is no %q, only n", s.Path)
//			}
//		}
//		return &singleDecoder{slots: slots}, nil
//	}
//
//	type singleDecoder struct {
//		slots []stream.Slot
//		seen  bool
//	}
//
//	func (d *singleDecoder) Decode(record []byte, row []stream.Value) (reason string) {
//		x, err := strconv.ParseFloat(string(record), 64)
//		if err != nil {
//			return "not a number"
//		}
//		d.seen = true
//		for _, s := range d.slots {
//			if row[s.At], reason = s.Fit(stream.FloatOf(x)); reason != "" {
//				return reason // n: want a text, got another number
//			}
//		}
//		return ""
//	}
//
//	func (d *singleDecoder) Seen(int) bool { return d.seen }
type Format interface {
	// Name is what Explain calls the format, and a checkpoint knows it by: formats that read records otherwise have other names.
	Name() string
	// Decoder returns what decodes the records of one partition, given the paths that a query reads. It is called once a partition, and at
	// least once when the query is checked: an error, for paths that no record can have say, refuses the query's start.
	Decoder(slots []Slot) (Decoder, error)
}

// Slot is a path that a query reads. A path may come twice, with different wants.
type Slot struct {
	Path string // such as user.city or items[0].sku; ParsePath reads it. The path of the record itself is ""
	Want Want   // what the query wants there
	At   int    // the place of the value in the row that Decode fills
}

// Fit makes a value of the kind that the slot wants out of one that was read, by the rules that hold for all formats: true and false count as 1
// and 0 where a number is wanted, a text in RFC 3339 counts as a time where a time is, an absent value stays one. Otherwise the reason, which
// names the path, says why the record is bad.
func (s Slot) Fit(v Value) (fits Value, reason string) { return s.decoded().Fit(v) }

// Misfit is the reason why a record is bad that has something else at the path than the slot wants: "total: want a number, got an object".
func (s Slot) Misfit(got string) (reason string) { return s.decoded().Misfit(got) }

// decoded is the slot as the formats of this package take it.
func (s Slot) decoded() decode.Slot {
	return decode.Slot{Path: s.Path, Want: decode.Want(s.Want), At: s.At}
}

func decodedSlots(slots []Slot) []decode.Slot {
	all := make([]decode.Slot, len(slots))
	for i, s := range slots {
		all[i] = s.decoded()
	}
	return all
}

func slotsOf(decoded []decode.Slot) []Slot {
	all := make([]Slot, len(decoded))
	for i, s := range decoded {
		all[i] = Slot{Path: s.Path, Want: Want(s.Want), At: s.At}
	}
	return all
}

// Want says what a query reads at a path.
type Want uint8

// What is read at a path.
const (
	WantAny    = Want(decode.Natural) // whatever is there
	WantNumber = Want(decode.Number)  // a number of at most 1e150, of kind Float, or Int if it is an integer of 64 bits; true and false count as 1 and 0
	WantText   = Want(decode.Text)
	WantTime   = Want(decode.Instant)
	WantTruth  = Want(decode.Truth) // true or false
)

// String says it as reasons do: "a number".
func (w Want) String() string { return decode.Want(w).String() }

// Decoder decodes the records of one partition, from one goroutine at a time. It runs under the partition's lock and must not wait: a Decoder that
// has to fetch something is a Preparer.
type Decoder interface {
	// Decode gets a record's value and a row whose places are absent values. It puts what it finds at slots[i].Path at row[slots[i].At], of the
	// kind that slots[i].Want says (Slot.Fit), and leaves the others alone; what a record lacks stays absent. It returns "", or the reason why
	// the record is bad; the row is not used then. The values may share the record's bytes (TextOfBytes): what is kept longer is copied by
	// the query.
	//
	// A tombstone, whose value is null, comes as nil. Where there are no slots, and where it deletes from Latest's table, it does not come.
	Decode(record []byte, row []Value) (reason string)
	// Seen tells whether slots[slot] has ever been found, for the note about paths that no record had.
	Seen(slot int) bool
}

// Preparer is a Decoder that needs more than a record to decode it, such as a schema that lies elsewhere. Prepare is called with the records of
// each batch before they are decoded, and may wait until ctx ends, as it does when the query is stopped. An error ends the query: it is for what
// no record is to blame for. Records must not be kept.
type Preparer interface {
	Prepare(ctx context.Context, records []Record) error
}

// Part is one step of a path, of two fields: Name, a string, is that of a member, and Index, an int, the place of an element of an array, which is -1
// for a member.
type Part = decode.Part

// ParsePath reads a path, such as user.city, items[0].sku or labels["a.b"], for a Format that looks for it.
func ParsePath(path string) ([]Part, error) { return decode.ParsePath(path) }

// TextOfBytes returns a text that shares the bytes of a record instead of copying them; what is no UTF-8 in it becomes U+FFFD. They must not
// change afterwards.
func TextOfBytes(b []byte) Value { return decode.TextOf(b) }

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
	if len(o.shape.Beside) > 0 {
		name += " beside " + strings.Join(o.shape.Beside, " and ")
	}
	if o.shape.Flat != "" {
		name += ", flattened by " + o.shape.Flat
	}
	if o.shape.TextNumbers {
		name += ", numbers in texts too"
	}
	return name
}

// Decoder implements Format.
func (o JSONOptions) Decoder(slots []Slot) (Decoder, error) {
	return decode.NewJSON(decodedSlots(slots), o.shape)
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
func (o CSVOptions) Name() string {
	name := "CSV of " + strings.Join(o.columns, ", ")
	if o.separator != ',' {
		name += fmt.Sprintf(", parted by %q", o.separator)
	}
	return name
}

// Decoder implements Format.
func (o CSVOptions) Decoder(slots []Slot) (Decoder, error) {
	for _, s := range slots {
		if !slices.Contains(o.columns, s.Path) {
			return nil, fmt.Errorf("stream: the CSV has no column %q; it has %s", s.Path, strings.Join(o.columns, ", "))
		}
	}
	return decode.NewCSV(decodedSlots(slots), o.columns, o.separator), nil
}

// TextOptions is the format of records that are texts.
type TextOptions struct{}

// TextFormat is plain text: Field("text") is the record.
func TextFormat() TextOptions { return TextOptions{} }

// Name implements Format.
func (TextOptions) Name() string { return "text" }

// Decoder implements Format.
func (TextOptions) Decoder(slots []Slot) (Decoder, error) {
	for _, s := range slots {
		if s.Path != "text" {
			return nil, fmt.Errorf(`stream: a text has no field %q; it is Field("text") as a whole`, s.Path)
		}
	}
	return decode.NewText(decodedSlots(slots)), nil
}
