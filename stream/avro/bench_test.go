package avro_test

import (
	"testing"

	library "github.com/twmb/avro"

	"cancha/stream"
	"cancha/stream/avro"
)

// BenchmarkRecord decodes the same order, written as Avro and as JSON, for a query of few fields and for one of nearly all; and as a whole, with
// the library's own decoder, whose values would have to be looked up and converted then.
func BenchmarkRecord(b *testing.B) {
	schema, records, _ := readInterop(b)
	record := records[0]
	whole, _ := read(b, schema, record, "", stream.WantAny)
	few := []stream.Slot{{Path: "user.city", Want: stream.WantText, At: 0}, {Path: "total", Want: stream.WantNumber, At: 1}, {Path: "at3", Want: stream.WantTime, At: 2}}
	var most []stream.Slot
	for i, path := range []string{"paid", "small", "large", "single", "total", "note", "status", "user.name", "user.city", "items[0].sku", "items[1].n", "labels.c",
		"mixed", "day", "at3", "at6", "at9", "price", "id", "chain.next.value", "matrix[0][1]"} {
		most = append(most, stream.Slot{Path: path, At: i})
	}
	text := []byte(whole.Text())
	for _, paths := range []struct {
		name  string
		slots []stream.Slot
	}{{"3 paths", few}, {"21 paths", most}} {
		b.Run(paths.name+", Avro", func(b *testing.B) {
			decodeAll(b, decoder(b, avro.Format(schema), paths.slots), record, len(paths.slots))
		})
		b.Run(paths.name+", JSON", func(b *testing.B) { decodeAll(b, decoder(b, stream.JSONFormat(), paths.slots), text, len(paths.slots)) })
	}
	b.Run("all, the library", func(b *testing.B) {
		s := library.MustParse(schema)
		b.SetBytes(int64(len(record)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if _, err := s.Decode(record, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func decodeAll(b *testing.B, d stream.Decoder, record []byte, width int) {
	row := make([]stream.Value, width)
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	for b.Loop() {
		clear(row)
		if reason := d.Decode(record, row); reason != "" {
			b.Fatal(reason)
		}
	}
}
