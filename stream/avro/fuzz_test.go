package avro_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	library "github.com/twmb/avro"

	"cancha/stream"
	"cancha/stream/avro"
)

// fuzzed are schemas that mutated records are read with, each with paths that lead to all corners of it.
func fuzzed(t testing.TB) (schemas []string, paths [][]string) {
	all, _, _ := readInterop(t)
	schemas = []string{all, orders, measured2,
		`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":{"type":"array","items":["null","R","long"]}}},{"name":"m","type":{"type":"map","values":{"type":"map","values":"bytes"}}}]}`,
		`{"type":"record","name":"R","fields":[{"name":"n","type":{"type":"array","items":"null"}},{"name":"e","type":{"type":"array","items":{"type":"record","name":"E","fields":[]}}},{"name":"x","type":["null","R"]}]}`,
		`[{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]},{"type":"record","name":"B","fields":[{"name":"x","type":"string"},{"name":"y","type":"boolean"}]}]`}
	paths = [][]string{
		{"note", "payer.city", "items[1].sku", "labels.c", "mixed.n", "at6", "price", "exact", "key", "span", "chain.next.next.value", "matrix[1]", "matrix[0][0]"},
		{"id", "created", "total", "user.city", "items[0].n", `labels["a.b"]`, "either.name", "either.n"},
		{"unit", "value"}, {"a[0][1]", "a[1][0].a[0]", "m.k", "m.k.k"}, {"n[2]", "e[1]", "x.x.n", "x"}, {"x", "y"}}
	return schemas, paths
}

// FuzzRecord reads mutated records. What is read is what the library reads, whole or path by path, and what is refused the library refuses too,
// but for rules of our own.
func FuzzRecord(f *testing.F) {
	schemas, paths := fuzzed(f)
	_, records, _ := readInterop(f)
	for i, record := range records {
		f.Add(byte(0), record)
		f.Add(byte(i+3), record[:20])
	}
	f.Add(byte(2), concat("K", "d", []byte("\x00\x00\x00\x00\x00\x00\xf0\x3f")))
	f.Add(byte(3), concat(-1, 6, 2, 0, 1, 0, 0, 0, 1, "k", -1, 5, "k", "v", 0, 0))
	f.Add(byte(4), concat(5, 0, 4000, 0, 0))
	f.Add(byte(5), concat(1, "s", []byte{1}))
	var oracles []*library.Schema
	var wholes, parts, texts []stream.Decoder
	for i, schema := range schemas {
		slots := make([]stream.Slot, len(paths[i]))
		for k, path := range paths[i] {
			slots[k] = stream.Slot{Path: path, At: k}
		}
		oracles = append(oracles, library.MustParse(schema))
		wholes = append(wholes, decoder(f, avro.Format(schema), []stream.Slot{{}}))
		parts = append(parts, decoder(f, avro.Format(schema), slots))
		texts = append(texts, decoder(f, stream.JSONFormat(), slots))
	}
	f.Fuzz(func(t *testing.T, pick byte, record []byte) {
		i := int(pick) % len(schemas)
		whole := make([]stream.Value, 1)
		reason := wholes[i].Decode(record, whole)
		row := make([]stream.Value, len(paths[i]))
		byPath := parts[i].Decode(record, row)
		var v any
		rest, err := oracles[i].Decode(record, &v)
		if reason != "" {
			if err == nil && len(rest) == 0 && !ours(reason) {
				t.Fatalf("refused with %q, and the library reads %.500v", reason, v)
			}
			return
		}
		if err != nil && strings.Contains(err.Error(), "overflows time.Duration") {
			return // a time of day beyond 292 years: the library has a Duration for it, and a query a number
		}
		if err != nil || len(rest) > 0 {
			t.Fatalf("read as %.300s, and the library says %v, %d bytes left", whole[0], err, len(rest))
		}
		if got, want := normal(t, []byte(whole[0].Text())), normal(t, marshal(t, v)); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %.500v, and the library reads %.500v", got, want)
		}
		if byPath != "" && !ours(byPath) {
			t.Fatalf("by paths refused with %q, and read whole as %.300s", byPath, whole[0])
		}
		if byPath == "" {
			compare(t, paths[i], row, texts[i], whole[0].Text())
		}
	})
}

func decoder(t testing.TB, format stream.Format, slots []stream.Slot) stream.Decoder {
	t.Helper()
	d, err := format.Decoder(slots)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// compare reads the paths in the JSON of the whole record too.
func compare(t *testing.T, paths []string, row []stream.Value, texts stream.Decoder, whole string) {
	t.Helper()
	again := make([]stream.Value, len(paths))
	if reason := texts.Decode([]byte(whole), again); reason != "" {
		t.Fatalf("%s is no JSON: %s", whole, reason)
	}
	for k, path := range paths {
		x, isNumber := row[k].Number()
		y, _ := again[k].Number()
		if row[k].String() != again[k].String() && !(isNumber && x == y) && path != "exact" {
			t.Fatalf("%s: got %v, and in the JSON of the record there is %v", path, row[k], again[k])
		}
	}
}

// ours tells whether a reason is a rule that the library does not have.
func ours(reason string) bool {
	return slices.ContainsFunc([]string{"neither 0 nor 1", "years 1678 to 2262", "more digits", "10,000 deep", "without bytes", "without end", "as long as it states"},
		func(rule string) bool { return strings.Contains(reason, rule) })
}

// marshal writes what the library has read as package avro promises to.
func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(promised(v))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func promised(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, each := range v {
			all[strings.ToValidUTF8(key, "\uFFFD")] = promised(each)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = promised(v[i])
		}
		return all
	case float32:
		return promised(float64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case [16]byte:
		h := hex.EncodeToString(v[:])
		return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
	case time.Duration:
		return v.Seconds()
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case *big.Rat:
		x, _ := v.Float64()
		return x
	case library.Duration:
		return nil
	}
	return v
}

// normal is JSON in a form in which equal values are equal: numbers as the nearest float64, which is all that some of ours are.
func normal(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if all, ok := v.(map[string]any); ok { // times of day beyond a Duration's, and what the library has a struct for
		delete(all, "span")
		delete(all, "clock6")
	}
	return v
}

// FuzzSchema reads mutated records with mutated schemas, which a registry gives out as somebody has registered them.
func FuzzSchema(f *testing.F) {
	schemas, _ := fuzzed(f)
	_, records, _ := readInterop(f)
	for i, schema := range schemas {
		f.Add(schema, records[i%len(records)])
	}
	f.Add(`{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}`, []byte{})
	f.Add(`{"type":"record","name":"a.A","fields":[{"name":"x","type":{"type":"fixed","name":"b.F","size":99999999999}},{"name":"y","type":"b.F"}]}`, []byte{1})
	f.Fuzz(func(t *testing.T, schema string, record []byte) {
		for _, path := range []string{"", "a", "x[0].y", "items[1].sku", "user.city"} {
			for _, want := range []stream.Want{stream.WantAny, stream.WantNumber} {
				d, err := avro.Format(schema).Decoder([]stream.Slot{{Path: path, Want: want}})
				if err != nil {
					continue
				}
				row := make([]stream.Value, 1)
				if reason := d.Decode(record, row); reason == "" && path == "" && !json.Valid([]byte(row[0].Text())) {
					t.Fatalf("read as %.300s, which is no JSON", row[0])
				}
			}
		}
	})
}
