package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

func TestRead(t *testing.T) {
	at := time.Unix(1_800_000_000, 500_000_000).UTC()
	for _, test := range []struct {
		name string
		m    queue.Message
		want Spec
	}{
		{"least", queue.Message{ID: "m", Body: []byte(`{"job_type":"vector_addition"}`)}, Spec{ID: "m", Type: VectorAddition}},
		{"flat", queue.Message{Body: []byte(`{"job_id":7,"job_type":"matrix_multiply","size":500,"prefer_gpu":true,"note":"x"}`)},
			Spec{ID: "7", Type: MatrixMultiply, PreferGPU: true, Parameters: json.RawMessage(`{"note":"x","size":500}`),
				Unknown: map[string]json.RawMessage{"size": json.RawMessage("500"), "note": json.RawMessage(`"x"`)}}},
		{"data", queue.Message{Body: []byte(`{"job_id":"a","job_type":"t","data":{"x":[1]},"who":"me"}`)},
			Spec{ID: "a", Type: "t", Parameters: json.RawMessage(`{"x":[1]}`), Unknown: map[string]json.RawMessage{"who": json.RawMessage(`"me"`)}}},
		{"all", queue.Message{ID: "other", Priority: 2, ReplyTo: "q", CorrelationID: "c", Body: []byte(`{"schema":1,"job_id":"a","job_type":"t","parameters":{},"device":"gpu","priority":9,"key":"k",
			"not_before":"2027-01-15T08:00:00.5Z","deadline":1800000001,"timeout":1.5,"max_attempts":5,"after":["b","c"],"result_ttl":60,"reply_to":"r"}`)},
			Spec{ID: "a", Type: "t", Parameters: json.RawMessage(`{}`), Device: placement.GPU, Priority: 9, Key: "k", NotBefore: at,
				Deadline: at.Add(time.Second / 2),
				Timeout:  1500 * time.Millisecond, Attempts: 5, After: []string{"b", "c"}, ResultTTL: time.Minute, ReplyTo: "r", Correlation: "c"}},
		{"with a mark", queue.Message{Body: []byte("\ufeff" + `{"job_type":"t","schema":1.0,"timeout":1e-9}`)}, Spec{Type: "t", Timeout: time.Microsecond}},
		{"beside", queue.Message{Body: []byte(`{"job_type":"vector_addition","size":5,"seed":1,"data":{"seed":2,"who":"me"}}`)},
			Spec{Type: VectorAddition, Parameters: json.RawMessage(`{"seed":2,"size":5,"who":"me"}`),
				Unknown: map[string]json.RawMessage{"size": json.RawMessage("5"), "seed": json.RawMessage("1")}}},
		{"digits", queue.Message{Body: []byte(`{"job_type":"t","parameters":{"n":12345678901234567890123},"n":1.00000000000000000001,"Job_Type":"u"}`)},
			Spec{Type: "t", Parameters: json.RawMessage(`{"n":12345678901234567890123}`),
				Unknown: map[string]json.RawMessage{"n": json.RawMessage("1.00000000000000000001"), "Job_Type": json.RawMessage(`"u"`)}}},
		{"nothing said", queue.Message{Priority: 2, Body: []byte(`{"job_type":"t","device":"auto","priority":null,"after":null,"deadline":null,"parameters":null}`)},
			Spec{Type: "t", Priority: 2, Parameters: json.RawMessage(`{"parameters":null}`),
				Unknown: map[string]json.RawMessage{"parameters": json.RawMessage("null")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Read(&test.m)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

// A submission that is wrong says in which field, and whose it is.
func TestReadInvalid(t *testing.T) {
	for _, test := range []struct{ body, field, why string }{
		{``, "the message", "want a JSON object"},
		{`{`, "the message", "want a JSON object"},
		{`[1]`, "the message", "want a JSON object"},
		{`null`, "the message", "got null"},
		{`{"job_type":"t"} {"job_type":"t"}`, "the message", "after top-level value"},
		{`{"job_type":"t"}]`, "the message", "after top-level value"},
		{`{"job_type":"t"}}`, "the message", "after top-level value"},
		{`{"job_type":"t","job_type":"u"}`, "the message", `two fields "job_type"`},
		{`{"job_type":"t","x":1,"\u0078":2}`, "the message", `two fields "x"`},
		{`{"job_type":"vector_addition","parameters":{"size":10,"size":20}}`, "parameters", `two fields "size"`},
		{`{"job_type":"t","schema":"1"}`, "schema", `"1"; this program knows 1`},
		{`{"job_type":"vector_addition","size":"10"}`, "size", `"10"; it is a whole number`},
		{`{"job_type":"vector_addition","size":10.5}`, "size", "10.5; it is a whole number"},
		{`{"job_type":"vector_addition","size":1e400}`, "size", "1e400; it is a whole number"},
		{`{"job_type":"vector_addition","size":true}`, "size", "true; it is a whole number"},
		{`{"job_type":"vector_addition","seed":9007199254740993}`, "seed", "9007199254740993; it is"},
		{`{"job_type":"t","job_id":{"a":1}}`, "job_id", "it is a text"},
		{`{"job_type":"t","priority":"9"}`, "priority", `"9"; it is a whole number`},
		{`{"job_type":"t","prefer_gpu":1}`, "prefer_gpu", "1; it is true or false"},
		{`{"job_type":"t","deadline":1800000000000}`, "deadline", "it is Unix seconds"}, // milliseconds
		{"{\"job_type\":\"\xff\"}", "the message", "no UTF-8"},
		{strings.Repeat(`[`, 20000), "the message", "want a JSON object"},
		{`{}`, "job_type", "missing; it is one of matrix_multiply, neural_network, vector_addition, image_processing"},
		{`{"job_type":5.5e3}`, "", ""}, // a number is a name
		{`{"job_type":["t"]}`, "job_type", `["t"]; it is a text`},
		{`{"job_type":"t","schema":2}`, "schema", "2; this program knows 1"},
		{`{"job_type":"t","prefer_gpu":"yes"}`, "prefer_gpu", `"yes"; it is true or false`},
		{`{"job_type":"t","device":"tpu"}`, "device", `"tpu"; it is "cpu", "gpu" or "auto"`},
		{`{"job_type":"t","priority":10}`, "priority", "10; it is 0 to 9"},
		{`{"job_type":"t","priority":1.5}`, "priority", "1.5; it is a whole number"},
		{`{"job_type":"t","max_attempts":0}`, "max_attempts", "0; it is 1 to 100"},
		{`{"job_type":"t","timeout":-1}`, "timeout", "-1; it is a number of seconds"},
		{`{"job_type":"t","timeout":1e300}`, "timeout", "1e300; it is a number of seconds"},
		{`{"job_type":"t","deadline":"tomorrow"}`, "deadline", `"tomorrow"; it is Unix seconds`},
		{`{"job_type":"t","deadline":1e30}`, "deadline", "1e30; it is Unix seconds"},
		{`{"job_type":"t","not_before":10,"deadline":10}`, "deadline", "is not after not_before"},
		{`{"job_type":"t","after":"b"}`, "after", `"b"; it is a list`},
		{`{"job_type":"t","after":["a"]}`, "after", `"a" waits for itself`},
		{`{"job_type":"t","reply_to":"` + strings.Repeat("q", 256) + `"}`, "reply_to", "no name of a queue"},
		{`{"job_type":"t","parameters":[1]}`, "parameters", "[1]; it is a JSON object"},
		{`{"job_type":"a\nb"}`, "job_type", "control characters"},
		{`{"job_type":"t","x":"` + strings.Repeat("x", MaxUnknown) + `"}`, "the fields that are not of the contract", "write large data into a file"},
		{`{"job_type":"t","parameters":{"x":"` + strings.Repeat("x", MaxParameters) + `"}}`, "parameters", "write large data into a file"},
		{`{"job_type":"matrix_multiply","size":1e12}`, "parameters", "at most 4 TB"},
		{`{"job_type":"matrix_multiply","size":-3}`, "size", "-3; it is 1 to "},
		{`{"job_type":"matrix_multiply","size":1e13}`, "size", "1e13; it is 1 to "},
		{`{"job_type":"matrix_multiply","size":"big"}`, "size", `"big"; it is a whole number`},
		{`{"job_type":"vector_addition","parameters":{"size":0}}`, "size", "0; it is 1 to "},
		{`{"job_type":"image_processing","image_size":[10]}`, "image_size", "[10]; it is [width, height]"},
		{`{"job_type":"image_processing","operation":"melt"}`, "operation", `"melt"; it is one of blur, sharpen, edges, grayscale`},
		{`{"job_type":"neural_network","epochs":0.5}`, "epochs", "0.5; it is a whole number"},
		{`{"job_type":"t","reply_to":"job_queue"}`, "reply_to", "name one of your own"},
		{`{"job_type":"t","reply_to":"gpu_queue.w"}`, "reply_to", "name one of your own"},
		{`{"job_type":"t","not_before":-99999999999}`, "not_before", "a time of the year -1199"},
		{`{"job_type":"t","deadline":"9999-12-31T23:00:00-05:00"}`, "deadline", "a time of the year 10000"},
	} {
		s, err := Read(&queue.Message{ID: "a", ReplyTo: "r", Body: []byte(test.body)})
		var invalid *Invalid
		switch {
		case test.field == "":
			if err != nil {
				t.Errorf("%s: %v", test.body, err)
			}
		case !errors.As(err, &invalid) || invalid.Field != test.field || !strings.Contains(invalid.Why, test.why):
			t.Errorf("%.80s: got %v, want %s: %s", test.body, err, test.field, test.why)
		case s.ID != "a" || s.ReplyTo != "r" && test.field != "reply_to":
			t.Errorf("%.80s: the job is %q, whose result goes to %q", test.body, s.ID, s.ReplyTo)
		}
	}
}

// What Message writes, Read reads.
func TestMessage(t *testing.T) {
	at := time.Unix(1_800_000_000, 250_000_000).UTC()
	for _, want := range []Spec{
		{ID: "a", Type: "t"},
		{ID: "a", Type: "t", Parameters: json.RawMessage(`{"x":1}`), Device: placement.CPU, PreferGPU: true, Priority: 3, Key: "k",
			NotBefore: at, Deadline: at.Add(time.Hour),
			Timeout: time.Minute, Attempts: 2, After: []string{"b"}, ResultTTL: time.Hour, ReplyTo: "r",
			Unknown: map[string]json.RawMessage{"y": json.RawMessage("[2]")}},
	} {
		m, err := want.Message()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Read(&m); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := (&Spec{}).Message(); err == nil {
		t.Error("a job without a type was written")
	}
}

// What has no effect is told, wherever it stands: it may be misspelled.
func TestIgnored(t *testing.T) {
	for body, want := range map[string]string{
		`{"job_type":"matrix_multiply","note":1,"size":3}`:                              "[note]",
		`{"job_type":"matrix_multiply","note":1,"parameters":{"size":3,"sise":4}}`:      "[note sise]",
		`{"job_type":"matrix_multiply","sise":1,"iterations":4}`:                        "[sise]",
		`{"job_type":"matrix_multiply","iterations":4,"parameters":{"size":3}}`:         "[]",
		`{"job_type":"matrix_multiply","size":4,"parameters":{"size":3}}`:               "[size]",
		`{"job_type":"matrix_multiply","size":3,"parameters":{"size":3}}`:               "[]",
		`{"job_type":"matrix_multiply","size":4,"matrix_size":5}`:                       "[matrix_size]",
		`{"job_type":"vector_addition","batch_size":4}`:                                 "[batch_size]",
		`{"job_type":"image_processing","batch_size":4,"iterations":5,"image_size":9}`:  "[]",
		`{"job_type":"vector_addition","parameters":{"Size":3,"epochs":4,"seed":1}}`:    "[Size epochs]",
		`{"job_type":"image_processing","params":{"image_size":[3,3],"filter":"blur"}}`: "[]",
		`{"job_type":"mine","parameters":{"sise":4}}`:                                   "[]",
	} {
		s, err := Read(&queue.Message{Body: []byte(body)})
		if got := fmt.Sprint(s.Ignored()); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", body, got, err, want)
		}
	}
}

// The same id twice is the same job where it asks for the same.
func TestOther(t *testing.T) {
	read := func(body string) *Spec {
		s, err := Read(&queue.Message{Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		return &s
	}
	for _, test := range []struct {
		one, two string
		want     string // "": the same
	}{
		{`{"job_type":"t","parameters":{"x":1}}`, `{"job_type":"t","params": {"x" : 1},"note":2}`, ""},
		{`{"job_type":"t","parameters":{"x":1}}`, `{"job_type":"t","parameters":{"x":2}}`, "other parameters"},
		{`{"job_type":"t"}`, `{"job_type":"u"}`, "which is a t"},
		{`{"job_type":"vector_addition","size":5,"sent":1}`, `{"job_type":"vector_addition","sent":2,"vector_size":5.0}`, ""},
		{`{"job_type":"vector_addition","size":5}`, `{"job_type":"vector_addition","size":6}`, "other parameters"},
	} {
		if got := read(test.one).Other(read(test.two)); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, %s: got %q, want %q", test.one, test.two, got, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"job_type":"matrix_multiply","job_id":"a-1","prefer_gpu":true,"parameters":{"size":1024}}`))
	f.Add([]byte(`{"job_type":"image_processing","image_size":[640,480],"filter":"edges","deadline":1.8e9,"after":["x"]}`))
	f.Add([]byte(`{"job_type":"t","timeout":1e-9,"not_before":"2026-01-01T00:00:00+14:00","x":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Read(&queue.Message{Body: body})
		if err != nil {
			return
		}
		m, err := s.Message()
		if err != nil {
			t.Fatalf("%s is read and not written: %v", body, err)
		}
		again, err := Read(&m)
		if err != nil {
			t.Fatalf("%s is written as %s, and not read: %v", body, m.Body, err)
		}
		second, err := again.Message()
		if err != nil || string(second.Body) != string(m.Body) {
			t.Fatalf("%s becomes %s, then %s, %v", body, m.Body, second.Body, err)
		}
	})
}
