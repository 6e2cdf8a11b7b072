package avro_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/avro"
)

// one is the schema of a record with one field, x.
func one(kind string) string {
	return `{"type":"record","name":"R","fields":[{"name":"x","type":` + kind + `}]}`
}

func TestValues(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, kind string
		value      any
		path       string
		want       stream.Want
		got        stream.Value
		reason     string
	}{
		{"an int as a number", `"int"`, 3, "x", stream.WantNumber, stream.FloatOf(3), ""},
		{"a truth as a number", `"boolean"`, true, "x", stream.WantNumber, stream.FloatOf(1), ""},
		{"a string as a time", `"string"`, "2026-03-01T12:00:00Z", "x", stream.WantTime, stream.TimeOf(at), ""},
		{"a word as a time", `"string"`, "noon", "x", stream.WantTime, stream.Value{}, "x: want an RFC 3339 time, got another text"},
		{"a time stamp as a time", `{"type":"long","logicalType":"timestamp-millis"}`, at, "x", stream.WantTime, stream.TimeOf(at), ""},
		{"a date beyond", `{"type":"int","logicalType":"date"}`, math.MaxInt32, "x", stream.WantAny, stream.Value{}, "x: a time that is not of the years 1678 to 2262"},
		{"a time beyond", `{"type":"long","logicalType":"timestamp-millis"}`, int64(math.MaxInt64), "x", stream.WantAny, stream.Value{}, "x: a time that is not of the years 1678 to 2262"},
		{"a time before", `{"type":"long","logicalType":"timestamp-micros"}`, int64(math.MinInt64), "x", stream.WantAny, stream.Value{}, "x: a time that is not of the years 1678 to 2262"},
		{"NaN", `"double"`, math.NaN(), "x", stream.WantNumber, stream.Value{}, ""},
		{"infinite", `"double"`, math.Inf(1), "x", stream.WantAny, stream.Value{}, "x: want a value, got one without end"},
		{"too large to be squared", `"double"`, 1e200, "x", stream.WantNumber, stream.Value{}, "x: want a number, got one beyond ±1e150, whose square would not be a number"},
		{"large as it is", `"double"`, 1e200, "x", stream.WantAny, stream.FloatOf(1e200), ""},
		{"null", `["null","long"]`, nil, "x", stream.WantNumber, stream.Value{}, ""},
		{"a branch that fits", `["null","long","string"]`, 7, "x", stream.WantNumber, stream.FloatOf(7), ""},
		{"a branch that does not", `["null","long","string"]`, "seven", "x", stream.WantNumber, stream.Value{}, "x: want a number, got another text"},
		{"a bare string where others have fields", `["string",{"type":"record","name":"I","fields":[{"name":"y","type":"int"}]}]`, "s", "x.y", stream.WantNumber, stream.Value{}, ""},
		{"a logical type of another type", `{"type":"string","logicalType":"timestamp-millis"}`, "a", "x", stream.WantAny, stream.TextOf("a"), ""},
		{"a decimal as a number", `{"type":"bytes","logicalType":"decimal","precision":30,"scale":2}`, big.NewRat(-12345, 100), "x", stream.WantNumber, stream.FloatOf(-123.45), ""},
		{"a long decimal as it is", `{"type":"bytes","logicalType":"decimal","precision":30,"scale":2}`, big.NewRat(-12345, 100), "x", stream.WantAny, stream.TextOf("-123.45"), ""},
		{"a small decimal", `{"type":"bytes","logicalType":"decimal","precision":30,"scale":4}`, big.NewRat(5, 10000), "x", stream.WantAny, stream.TextOf("0.0005"), ""},
		{"a decimal of integers", `{"type":"bytes","logicalType":"decimal","precision":30}`, big.NewRat(-5, 1), "x", stream.WantAny, stream.TextOf("-5"), ""},
		{"invalid UTF-8", `"string"`, "a\xffb", "x", stream.WantText, stream.TextOf("a\uFFFDb"), ""},
		{"bytes", `"bytes"`, []byte{0, 255}, "x", stream.WantText, stream.TextOf("AP8="), ""},
		{"a key of a map", `{"type":"map","values":"int"}`, map[string]any{"a": 1, "b": 2}, "x.b", stream.WantNumber, stream.FloatOf(2), ""},
		{"no key of a map", `{"type":"map","values":"int"}`, map[string]any{"a": 1}, "x.b", stream.WantNumber, stream.Value{}, ""},
		{"an array as JSON", `{"type":"array","items":["null","double"]}`, []any{1.5, nil, math.Inf(1)}, "x", stream.WantAny, stream.JSONOf("[1.5,null,null]"), ""},
		{"an element", `{"type":"array","items":{"type":"array","items":"int"}}`, []any{[]any{1}, []any{2, 3}}, "x[1][1]", stream.WantNumber, stream.FloatOf(3), ""},
		{"no element", `{"type":"array","items":"int"}`, []any{1}, "x[1]", stream.WantNumber, stream.Value{}, ""},
		{"a time in JSON", `{"type":"array","items":{"type":"long","logicalType":"timestamp-millis"}}`, []any{at}, "x", stream.WantAny, stream.JSONOf(`["2026-03-01T12:00:00Z"]`), ""},
		{"a decimal in JSON", `{"type":"array","items":{"type":"bytes","logicalType":"decimal","precision":30,"scale":1}}`, []any{big.NewRat(15, 10)}, "x", stream.WantAny, stream.JSONOf(`[1.5]`), ""},
		{"a map in JSON", `{"type":"map","values":"boolean"}`, map[string]any{"a \"b\"": true}, "x", stream.WantAny, stream.JSONOf(`{"a \"b\"":true}`), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := encode(t, one(test.kind), map[string]any{"x": test.value})
			got, reason := read(t, one(test.kind), record, test.path, test.want)
			if got != test.got || reason != test.reason {
				t.Errorf("got %v, %q, want %v, %q", got, reason, test.got, test.reason)
			}
		})
	}
}

// A named type is found by its short name in its namespace, before one outside with the same name.
func TestNamespaces(t *testing.T) {
	schema := `{"type":"record","name":"a.R","fields":[
		{"name":"p","type":{"type":"enum","name":"E","symbols":["NEAR"]}},
		{"name":"q","type":{"type":"record","name":"b.S","fields":[
			{"name":"e","type":{"type":"enum","name":"E","symbols":["FAR"]}},
			{"name":"f","type":"E"},
			{"name":"g","type":"a.E"}]}},
		{"name":"r","type":"E"}]}`
	record := encode(t, schema, map[string]any{"p": "NEAR", "q": map[string]any{"e": "FAR", "f": "FAR", "g": "NEAR"}, "r": "NEAR"})
	for path, want := range map[string]string{"p": "NEAR", "q.e": "FAR", "q.f": "FAR", "q.g": "NEAR", "r": "NEAR"} {
		if got, reason := read(t, schema, record, path, stream.WantText); got.Text() != want || reason != "" {
			t.Errorf("%s: got %v, %q, want %s", path, got, reason, want)
		}
	}
}

// Blocks may state their length in bytes, which is what makes them quick to step over.
func TestBlocksWithLengths(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"array","items":"string"}},{"name":"y","type":"int"}]}`
	good := concat(-2, 4, "a", "b", -1, 2, "c", 0, 7)
	tests := []struct {
		name, path string
		record     []byte
		got        string
		reason     string
	}{
		{"an element of the first", "x[1]", good, "b", ""},
		{"an element of the second", "x[2]", good, "c", ""},
		{"what is behind them", "y", good, "7", ""},
		{"all of them", "x", good, `["a","b","c"]`, ""},
		{"a block longer than stated", "x[1]", concat(-2, 3, "a", "b", 0, 7), "", "x: a block that is not as long as it states"},
		{"a block shorter than stated", "x[1]", concat(-2, 5, "a", "b", 0, 7), "", "x: a block that is not as long as it states"},
		{"a block beyond the record", "y", concat(-2, 50, "a", "b", 0, 7), "", "x: a block that is not as long as it states"},
		{"a negative length", "y", concat(-2, -3, "a", "b", 0, 7), "", "x: a block that is not as long as it states"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, reason := read(t, schema, test.record, test.path, stream.WantAny); got.String() != test.got || reason != test.reason {
				t.Errorf("got %q, %q, want %q, %q", got, reason, test.got, test.reason)
			}
		})
	}
}

// concat writes integers and strings as Avro does.
func concat(parts ...any) (b []byte) {
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			b = binary.AppendVarint(b, int64(part))
		case string:
			b = append(binary.AppendVarint(b, int64(len(part))), part...)
		case []byte:
			b = append(b, part...)
		}
	}
	return b
}

// Bytes that are no record name the place and allocate nothing of what they promise.
func TestHostileRecords(t *testing.T) {
	list := `{"type":"array","items":`
	link := `["null",{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}]`
	tests := []struct {
		name, kind, path string
		record           []byte
		reason           string
	}{
		{"a string of 2^40 bytes", `"string"`, "x", concat(1 << 40), "x: a length or a count beyond the record's end"},
		{"bytes of a negative length", `"bytes"`, "x", concat(-1), "x: a length or a count beyond the record's end"},
		{"an array of 2^40 strings", list + `"string"}`, "x", concat(1 << 40), "x: a length or a count beyond the record's end"},
		{"an array of 2^40 strings, one wanted", list + `"string"}`, "x[0]", concat(1 << 40), "x: a length or a count beyond the record's end"},
		{"an array of 2^40 nulls", list + `"null"}`, "x", concat(1 << 40), "x: more than 4,096 elements without bytes"},
		{"many arrays of 2^12 nulls", list + `"null"}`, "x[3]", concat(1<<12, 1, 0), "x: more than 4,096 elements without bytes"},
		{"an array of the least of all integers", list + `"int"}`, "x", concat(math.MinInt64, 0), "x: a length or a count beyond the record's end"},
		{"a map of 2^40 nulls", `{"type":"map","values":"null"}`, "x", concat(1 << 40), "x: a length or a count beyond the record's end"},
		{"a branch that there is not", `["null","int"]`, "x", concat(2), "x: a union's branch that its schema does not have"},
		{"a negative branch", `["null","int"]`, "x", concat(-1), "x: a union's branch that its schema does not have"},
		{"a symbol that there is not", `{"type":"enum","name":"E","symbols":["A"]}`, "x", concat(1), "x: an enum's symbol that its schema does not have"},
		{"an int of 33 bits", `"int"`, "x", concat(1 << 32), "x: an integer of more than its 32 or 64 bits"},
		{"an int of six bytes", `"int"`, "x", []byte("\x86\x86\x86\x86\x86\x00"), "x: an integer of more than its 32 or 64 bits"},
		{"an int of 33 bits that no path needs", `{"type":"record","name":"I","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}`, "x.b", concat(1<<32, 1),
			"x.a: an integer of more than its 32 or 64 bits"},
		{"a long of 70 bits", `"long"`, "x", []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "x: an integer of more than its 32 or 64 bits"},
		{"a truth of two", `"boolean"`, "x", []byte{2}, "x: a truth that is neither 0 nor 1"},
		{"half a double", `"double"`, "x", []byte{1, 2, 3}, "x: the record ends within it"},
		{"half a fixed", `{"type":"fixed","name":"F","size":8}`, "x", []byte{1}, "x: the record ends within it"},
		{"half a fixed of 2^40 bytes", `{"type":"fixed","name":"F","size":1099511627776}`, "x", []byte{1}, "x: the record ends within it"},
		{"nothing", `"int"`, "x", nil, "x: the record ends within it"},
		{"something behind", `"int"`, "x", []byte{2, 2}, "more bytes than its schema has: was it written with another one?"},
		{"a decimal of a thousand digits", `{"type":"bytes","logicalType":"decimal","precision":10}`, "x", concat(strings.Repeat("\x55", 500)), "x: a decimal with more digits than its schema has"},
		{"a list a million deep", link, "x.next.next", []byte(strings.Repeat("\x02", 1<<20)), "x" + strings.Repeat(".next", 7) + "…: values in values, 10,000 deep"},
		{"a record that has itself", `{"type":"record","name":"L","fields":[{"name":"l","type":"L"}]}`, "x", nil, "x" + strings.Repeat(".l", 7) + "…: values in values, 10,000 deep"},
		{"within an element", list + `{"type":"record","name":"I","fields":[{"name":"y","type":"string"}]}}`, "x[0].y", concat(1, 50), "x[].y: a length or a count beyond the record's end"},
		{"within an element that is not wanted", list + `{"type":"record","name":"I","fields":[{"name":"y","type":"string"}]}}`, "x[5].y", concat(1, 50), "x[].y: a length or a count beyond the record's end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, reason := read(t, one(test.kind), test.record, test.path, stream.WantAny)
			if reason != test.reason {
				t.Errorf("got %v, %.300q, want %q", v, reason, test.reason)
			}
			if got := allocated(t, one(test.kind), test.path, test.record); got > 64<<10 {
				t.Errorf("%d bytes allocated for a record", got)
			}
		})
	}
}

// allocated is how many bytes a record takes to be decoded, once the decoder has seen it.
func allocated(t *testing.T, schema, path string, record []byte) uint64 {
	t.Helper()
	d, err := avro.Format(schema).Decoder([]stream.Slot{{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]stream.Value, 1)
	d.Decode(record, row)
	const times = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		d.Decode(record, row)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / times
}

func TestWholeRecordIsJSON(t *testing.T) {
	schema, records, _ := readInterop(t)
	for _, record := range records {
		v, reason := read(t, schema, record, "", stream.WantAny)
		if reason != "" || !json.Valid([]byte(v.Text())) {
			t.Errorf("got %.300s, %q, want JSON", v, reason)
		}
	}
}
