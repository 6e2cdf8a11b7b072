package avro_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/avro"
)

// Two versions of what a device sends: the second has a unit, and the first no longer counts.
const (
	measured1 = `{"type":"record","name":"Measured","fields":[{"name":"device","type":"string"},{"name":"value","type":"int"}]}`
	measured2 = `{"type":"record","name":"Measured","fields":[{"name":"unit","type":"string"},{"name":"device","type":"string"},{"name":"value","type":"double"}]}`
)

func first(t *testing.T, device string, value int) []byte {
	return framed(1, encode(t, measured1, map[string]any{"device": device, "value": value}))
}

func second(t *testing.T, device string, value float64) []byte {
	return framed(2, encode(t, measured2, map[string]any{"device": device, "value": value, "unit": "K"}))
}

func devices(t *testing.T, start func(http.Handler) *httptest.Server) *registry {
	r := newRegistry(t, start)
	r.schemas[1], r.schemas[2] = entry{Schema: measured1}, entry{Schema: measured2, Type: "AVRO"}
	return r
}

// Records are read with their writers' schemas, each of which is fetched once for all partitions and all queries of a format.
func TestRegistry(t *testing.T) {
	r := devices(t, httptest.NewServer)
	var partitions [][]stream.Record
	for p := range 4 {
		device := fmt.Sprint("d", p)
		partitions = append(partitions, []stream.Record{{Value: first(t, device, p)}, {Value: second(t, device, 0.5)}, {Value: first(t, device, 7)}})
	}
	format := avro.Registry(avro.Config{URL: r.URL})
	for range 2 {
		running := run(t, stream.From(stream.Memory("measured", partitions)).Format(format).Filter(stream.Field("device").Eq("d2")).
			With("twice", stream.Field("value").Mul(2)).Select("device", "unit", "value", "twice"))
		if got, want := csv(t, running), "device,unit,value,twice\nd2,,2,4\nd2,,7,14\nd2,K,0.5,1\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if bad := running.BadRecords(); bad.Total != 0 {
			t.Errorf("bad records: %v", bad.Reasons)
		}
	}
	asked := r.asked()
	slices.Sort(asked)
	if want := []string{"/schemas/ids/1", "/schemas/ids/2"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

// What no record is, and what the registry does not know, is bad with the reason; the others go on.
func TestBadRecords(t *testing.T) {
	r := devices(t, httptest.NewServer)
	r.schemas[3] = entry{Schema: `syntax = "proto3"; message M {}`, Type: "PROTOBUF"}
	r.schemas[4] = entry{Schema: `{"type":"record","name":"R","fields":[{"name":"x","type":"nothing"}]}`}
	r.schemas[5] = entry{Schema: `"long"`}
	r.schemas[6] = entry{Schema: `{"type":"record","name":"Measured","fields":[{"name":"device","type":"string"},{"name":"value","type":"string"}]}`}
	r.schemas[8] = entry{Schema: `{"type":"record","name":"R","fields":[{"name":"x","type":"a.B"}]}`, References: []reference{{"a.B", "b/value", 3}}}
	good := first(t, "d", 1)
	running := run(t, r.query(topic(good, []byte(`{"device":"d"}`), nil, []byte{0, 0, 0}, framed(7, nil), good, framed(7, []byte("x")), framed(3, nil), framed(4, nil),
		framed(5, concat(1)), framed(6, concat("d", "high")), framed(8, nil), first(t, "d", 1)[:7], good), avro.Config{}).
		With("value", stream.Field("value").Mul(1)).Select("value"))
	reasons := map[string]int64{}
	for _, each := range running.BadRecords().Reasons {
		reasons[each.Reason] = each.Count
	}
	want := map[string]int64{
		"not in the registry's format: want a byte 0, four bytes with the number of a schema, and the record": 3,
		"schema 7 is not known to the registry":                                       2,
		"schema 3 is of type PROTOBUF, not AVRO":                                      1,
		"schema 5 cannot be read: the schema is of type long: want a record":          1,
		"value: want a number, got another text":                                      1,
		"schema 8 refers to version 3 of b/value, which is not known to the registry": 1,
		"value: the record ends within it":                                            1,
	}
	for reason, n := range want {
		if reasons[reason] != n {
			t.Errorf("%d records with reason %q, want %d", reasons[reason], reason, n)
		}
		delete(reasons, reason)
	}
	if len(reasons) != 1 || !strings.Contains(fmt.Sprint(reasons), "schema 4 cannot be read: ") {
		t.Errorf("further reasons: %v, want one for schema 4", reasons)
	}
	if got := running.Results().Len(); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
	if n := strings.Count(strings.Join(r.asked(), " "), "/schemas/ids/7"); n != 1 {
		t.Errorf("schema 7 was asked for %d times, want once", n)
	}
}

// Schemas that a schema refers to are fetched before it, each once.
func TestReferences(t *testing.T) {
	r := newRegistry(t, httptest.NewServer)
	r.versions["unit/1"] = entry{Schema: `{"type":"enum","name":"Unit","namespace":"a","symbols":["K","C"]}`}
	unit := reference{"a.Unit", "unit", 1}
	r.versions["low value/2"] = entry{Schema: `{"type":"record","name":"Low","namespace":"a","fields":[{"name":"unit","type":"Unit"}]}`, References: []reference{unit}}
	whole := `{"type":"record","name":"Whole","namespace":"a","fields":[{"name":"low","type":"Low"},{"name":"unit","type":"a.Unit"}]}`
	r.schemas[1] = entry{Schema: whole, References: []reference{{"a.Low", "low value", 2}, unit}}
	running := run(t, r.query(topic(framed(1, concat(0, 1))), avro.Config{}).Select("low.unit", "unit"))
	if got, want := csv(t, running), "low.unit,unit\nK,C\n"; got != want {
		t.Errorf("got %s, want %s; bad: %v", got, want, running.BadRecords().Reasons)
	}
	if got, want := strings.Join(r.asked(), " "), "/schemas/ids/1 /subjects/low value/versions/2 /subjects/unit/versions/1"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

// A schema that refers to itself, or to others without end, ends.
func TestReferencesWithoutEnd(t *testing.T) {
	r := newRegistry(t, httptest.NewServer)
	r.versions["a/1"] = entry{Schema: measured1, References: []reference{{"A", "a", 1}}}
	r.schemas[1] = entry{Schema: measured1, References: []reference{{"A", "a", 1}}}
	for i := range 300 {
		r.versions[fmt.Sprintf("many/%d", i)] = entry{Schema: measured1, References: []reference{{"A", "many", i + 1}}}
	}
	r.schemas[2] = entry{Schema: measured1, References: []reference{{"A", "many", 0}}}
	running := run(t, r.query(topic(first(t, "d", 1), framed(2, nil)), avro.Config{}).Select("device"))
	if got, want := csv(t, running), "device\nd\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := running.BadRecords().Newest[0].Reason, "schema 2 refers to more than 200 others"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Where no record is to blame the query ends, with a sentence, and counts no bad record.
func TestRegistryEndsTheQuery(t *testing.T) {
	const patience = 1500 * time.Millisecond
	tests := []struct {
		name   string
		change func(r *registry, c *avro.Config)
		want   []string
		tries  int // 0: more than one
	}{
		{"it is away", func(r *registry, c *avro.Config) { r.Close(); c.Timeout = patience }, []string{"times in 1.5s", "connect", "is it running, and is Config.URL right?"}, -1},
		{"it fails", func(r *registry, c *avro.Config) { r.broken, c.Timeout = slices.Repeat([]int{500}, 99), patience },
			[]string{"times in 1.5s", "it answers 500 Internal Server Error: Error in the backend datastore"}, 0},
		{"it is too busy", func(r *registry, c *avro.Config) { r.broken, c.Timeout = slices.Repeat([]int{429}, 99), patience },
			[]string{"it answers 429 Too Many Requests"}, 0},
		{"the password is wrong", func(r *registry, c *avro.Config) { c.Username, c.Password = "reader", "secret" },
			[]string{`refuses user "reader" or the password (401 Unauthorized: Unauthorized)`}, 1},
		{"it wants a user", func(r *registry, _ *avro.Config) { r.user = "reader" }, []string{"wants a user (401 Unauthorized: Unauthorized): set Config.Username and Config.Password"}, 1},
		{"it does not let the user read", func(r *registry, _ *avro.Config) { r.broken = []int{403} }, []string{"does not let user", "403 Forbidden"}, 1},
		{"the request is wrong", func(r *registry, _ *avro.Config) { r.broken = []int{422} }, []string{"answers /schemas/ids/1 with 422"}, 1},
		{"the path is wrong", func(_ *registry, c *avro.Config) { c.URL = "/api" }, []string{"answers /schemas/ids/1 with 404 Not Found: HTTP 404 Not Found, not as a schema registry does"}, 1},
		{"a page of HTML", func(r *registry, _ *avro.Config) { r.raw = "<html>Sign in</html>" }, []string{"something other than a schema: is it a schema registry?", "<html>Sign in"}, 1},
		{"another JSON", func(r *registry, _ *avro.Config) { r.raw = `{"a":1}` }, []string{"something other than a schema"}, 1},
		{"without end", func(r *registry, _ *avro.Config) { r.raw = strings.Repeat("x", 9<<20) }, []string{"with more than 8 MiB"}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := devices(t, httptest.NewServer)
			var config avro.Config
			test.change(r, &config)
			config.URL = r.URL + config.URL
			running, err := stream.From(topic(first(t, "d", 1), first(t, "d", 2))).Format(avro.Registry(config)).Select("device").Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = running.Wait(t.Context())
			for _, want := range append(test.want, r.URL) {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want an error with %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
			if bad := running.BadRecords(); bad.Total != 0 || running.Results().Len() != 0 {
				t.Errorf("%d rows and bad records %v, want none", running.Results().Len(), bad.Reasons)
			}
			if n := len(r.asked()); test.tries > 0 && n != test.tries || test.tries == 0 && n < 2 {
				t.Errorf("asked %d times, want %d, 0 for more than once", n, test.tries)
			}
		})
	}
}

// A registry that fails for a moment is asked again.
func TestRegistryComesBack(t *testing.T) {
	r := devices(t, httptest.NewServer)
	r.broken = []int{500, 503, 429}
	running := run(t, r.query(topic(first(t, "d", 1)), avro.Config{}).Select("device"))
	if got, want := csv(t, running), "device\nd\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := len(r.asked()); n != 4 {
		t.Errorf("asked %d times, want 4", n)
	}
}

func TestUserAndPassword(t *testing.T) {
	r := devices(t, httptest.NewServer)
	r.user, r.password = "reader", "secret"
	running := run(t, r.query(topic(first(t, "d", 1)), avro.Config{Username: "reader", Password: "secret"}).Select("device"))
	if got := running.Results().Len(); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
}

func TestTLS(t *testing.T) {
	r := devices(t, httptest.NewTLSServer)
	roots := x509.NewCertPool()
	roots.AddCert(r.Certificate())
	running := run(t, r.query(topic(first(t, "d", 1)), avro.Config{TLS: &tls.Config{RootCAs: roots}}).Select("device"))
	if got := running.Results().Len(); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
	plain := devices(t, httptest.NewServer)
	tests := []struct{ name, url, want string }{
		{"an authority that nobody knows", r.URL, "Config.TLS says which authorities to believe"},
		{"no TLS at an address of https", strings.Replace(plain.URL, "http:", "https:", 1), "does Config.URL begin with http?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			running, err := stream.From(topic(first(t, "d", 1))).Format(avro.Registry(avro.Config{URL: test.url})).Select("device").Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := running.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// Stop does not wait for a registry that gives no answer.
func TestStopWhileAsking(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	running, err := stream.From(topic(first(t, "d", 1))).Format(avro.Registry(avro.Config{URL: server.URL, Timeout: time.Hour})).Select("device").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := running.Stop(t.Context()); err != nil {
		t.Errorf("got %v, want an end in order", err)
	}
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name   string
		config avro.Config
		want   string
	}{
		{"nothing", avro.Config{}, "no URL of the registry: set Config.URL"},
		{"no scheme", avro.Config{URL: "registry:8081"}, `the registry's URL is "registry:8081": want one such as http://registry:8081`},
		{"another scheme", avro.Config{URL: "ftp://registry"}, `want one such as http://registry:8081`},
		{"no host", avro.Config{URL: "http:///x"}, `want one such as http://registry:8081`},
		{"no URL at all", avro.Config{URL: "http://a:secret@b:x"}, "cannot be read"},
		{"a user without a scheme", avro.Config{URL: "a:secret@b:8081"}, "cannot be read"},
		{"a user in it", avro.Config{URL: "http://a:secret@b"}, "the registry's URL http://a:xxxxx@b has a user in it"},
		{"a question in it", avro.Config{URL: "http://b?x=1"}, "want none with ? or #"},
		{"a password without a user", avro.Config{URL: "http://b", Password: "secret"}, "a Password for the registry without a Username"},
		{"TLS without TLS", avro.Config{URL: "http://b", TLS: &tls.Config{}}, "want https, or no TLS"},
		{"no time", avro.Config{URL: "http://b", Timeout: -1}, "a Timeout of -1ns"},
		{"nanoseconds", avro.Config{URL: "http://b", Timeout: 30}, "a Timeout of 30ns for the registry: a number alone is nanoseconds"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := stream.From(topic()).Format(avro.Registry(test.config)).Select("x").Start(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
	if _, err := (avro.RegistryFormat{}).Decoder(nil); err == nil {
		t.Error("a format without a registry has a decoder")
	}
}

func TestPasswordIsNotPrinted(t *testing.T) {
	c := avro.Config{URL: "https://registry", Username: "reader", Password: "secret"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, x := range []any{c, &c, []avro.Config{c}, avro.Registry(c), avro.Registry(c).Name()} {
			if got := fmt.Sprintf(verb, x); strings.Contains(got, "secret") {
				t.Errorf("%s of %T shows the password: %s", verb, x, got)
			}
		}
	}
	for _, where := range []string{"a:secret@b", "http://a:secret@b:x", "http://a:secret@b"} {
		if got := (avro.Config{URL: where}).String(); strings.Contains(got, "secret") {
			t.Errorf("%s shows the password", got)
		}
	}
	if got, want := c.String(), "https://registry as reader"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := avro.Registry(c).Name(), "Avro, schemas of https://registry"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
