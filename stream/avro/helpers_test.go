package avro_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	library "github.com/twmb/avro"

	"cancha/stream"
	"cancha/stream/avro"
)

// encode writes a value with the library's encoder.
func encode(t testing.TB, schema string, v any) []byte {
	t.Helper()
	s, err := library.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read reads one path of one record.
func read(t testing.TB, schema string, record []byte, path string, want stream.Want) (v stream.Value, reason string) {
	t.Helper()
	d, err := avro.Format(schema).Decoder([]stream.Slot{{Path: path, Want: want}})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]stream.Value, 1)
	reason = d.Decode(record, row)
	if reason != "" {
		return stream.Value{}, reason
	}
	if got, want := d.Seen(0), !row[0].IsNull(); got != want {
		t.Errorf("%s: Seen says %v of the value %v", path, got, row[0])
	}
	return row[0], ""
}

// run runs a query to its end.
func run(t testing.TB, q *stream.Query) *stream.Running {
	t.Helper()
	running, err := q.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return running
}

// csv are the rows of a query that has ended.
func csv(t testing.TB, r *stream.Running) string {
	t.Helper()
	var b strings.Builder
	if err := r.Results().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// topic is a topic of one partition with these values.
func topic(values ...[]byte) *stream.MemorySource {
	records := make([]stream.Record, len(values))
	for i, v := range values {
		records[i].Value = v
	}
	return stream.Memory("orders", [][]stream.Record{records})
}

// interop is what testdata/interop.py has written.
type interop struct {
	Schema  json.RawMessage
	Records []struct {
		Name   string
		Base64 string
		Want   map[string]string
	}
}

func readInterop(t testing.TB) (schema string, records [][]byte, all interop) {
	t.Helper()
	text, err := os.ReadFile("testdata/interop.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Records {
		b, err := base64.StdEncoding.DecodeString(r.Base64)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, b)
	}
	return string(all.Schema), records, all
}
