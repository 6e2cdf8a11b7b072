package avro_test

import (
	"maps"
	"slices"
	"testing"

	"cancha/stream"
	"cancha/stream/avro"
)

// What fastavro has written is read right, path by path and all paths at once.
func TestInterop(t *testing.T) {
	schema, records, all := readInterop(t)
	for i, record := range records {
		t.Run(all.Records[i].Name, func(t *testing.T) {
			paths := slices.Sorted(maps.Keys(all.Records[i].Want))
			slots := make([]stream.Slot, len(paths))
			for k, path := range paths {
				want := all.Records[i].Want[path]
				if v, reason := read(t, schema, record, path, stream.WantAny); reason != "" || v.String() != want {
					t.Errorf("%s: got %q, reason %q, want %q", path, v, reason, want)
				}
				slots[k] = stream.Slot{Path: path, At: k}
			}
			d, err := avro.Format(schema).Decoder(slots)
			if err != nil {
				t.Fatal(err)
			}
			row := make([]stream.Value, len(paths))
			if reason := d.Decode(record, row); reason != "" {
				t.Fatal(reason)
			}
			for k, path := range paths {
				if want := all.Records[i].Want[path]; row[k].String() != want {
					t.Errorf("%s among all: got %q, want %q", path, row[k], want)
				}
			}
		})
	}
}

// The kind of a value follows from the schema.
func TestKinds(t *testing.T) {
	schema, records, _ := readInterop(t)
	want := map[string]stream.Kind{"paid": stream.Bool, "small": stream.Int, "large": stream.Int, "single": stream.Float, "total": stream.Float,
		"raw": stream.Text, "note": stream.Text, "hash": stream.Text, "status": stream.Text, "user": stream.JSON, "items": stream.JSON,
		"labels": stream.JSON, "labels.c": stream.Int, "mixed": stream.Int, "day": stream.Time, "clock": stream.Float, "clock6": stream.Float,
		"at3": stream.Time, "at6": stream.Time, "at9": stream.Time, "local": stream.Time, "price": stream.Float, "count": stream.Int,
		"exact": stream.Text, "id": stream.Text, "key": stream.Text, "span": stream.Text, "chain": stream.JSON, "matrix[0]": stream.JSON,
		"nothing": stream.Null, "payer": stream.Null}
	for path, kind := range want {
		if v, reason := read(t, schema, records[0], path, stream.WantAny); reason != "" || v.Kind() != kind {
			t.Errorf("%s: got %v, reason %q, want %v", path, v.Kind(), reason, kind)
		}
	}
}

// A record that is cut short anywhere, or has more behind it, is a bad record that says so.
func TestCutRecords(t *testing.T) {
	schema, records, _ := readInterop(t)
	for _, path := range []string{"user.name", "items", "matrix[0][1]", "nothing"} {
		d, err := avro.Format(schema).Decoder([]stream.Slot{{Path: path}})
		if err != nil {
			t.Fatal(err)
		}
		row := make([]stream.Value, 1)
		for _, record := range records {
			for n := range record {
				if reason := d.Decode(record[:n:n], row); reason == "" {
					t.Fatalf("%s of the first %d of %d bytes: got %v, want a bad record", path, n, len(record), row[0])
				}
			}
			if reason := d.Decode(append(slices.Clone(record), 0), row); reason == "" {
				t.Errorf("%s: a byte too many is no bad record", path)
			}
		}
	}
}
