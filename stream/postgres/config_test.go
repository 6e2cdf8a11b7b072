package postgres

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

var (
	_ stream.Sink   = (*sink)(nil)
	_ stream.Opener = (*sink)(nil)
	_ stream.Closer = (*sink)(nil)
)

const secret = "pa55/word@x"

// TestPassword: it is nowhere where something is printed.
func TestPassword(t *testing.T) {
	for _, cfg := range []Config{
		{URL: "postgres://ada@db.example:5433/shop", Password: secret, Table: "orders", Key: []string{"id"}},
		{URL: "postgres://ada:pa55%2Fword%40x@db.example:5433/shop", Table: "orders", Key: []string{"id"}},
		{URL: "host=db.example port=5433 user=ada dbname=shop password=" + secret, Table: "orders", Key: []string{"id"}},
	} {
		s := Sink(cfg)
		for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), fmt.Sprintf("%q", &cfg),
			fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s)} {
			if strings.Contains(text, "pa55") || strings.Contains(text, "word") {
				t.Errorf("the password is in %q", text)
			}
		}
		if got, want := fmt.Sprintf("%+v", cfg), "postgres.Config{orders at db.example:5433, database shop, user ada, key id}"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := fmt.Sprint(s), "postgres orders at db.example:5433, database shop, user ada"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	columns := []stream.Column{{Name: "id", Kind: stream.Int}, {Name: strings.Repeat("é", 40), Kind: stream.Int}}
	for _, test := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no table", Config{}, "no table"},
		{"a strange table", Config{Table: "a.b.c"}, `"a.b.c"`},
		{"a key twice", Config{Table: "t", Key: []string{"id", "id"}}, "twice"},
		{"types of nothing", Config{Table: "t", Types: map[string]string{"id": "bigint"}}, "Create"},
		{"no patience", Config{Table: "t", Patience: -1}, "patience"},
		{"patience of nanoseconds", Config{Table: "t", Patience: 60}, "patience 60ns: a number alone is nanoseconds"},
		{"a URL that is none", Config{Table: "t", URL: "postgres://ada:" + secret + "@db/shop"}, "the URL cannot be read"},
		{"a port that is none", Config{Table: "t", URL: "postgres://ada:pa55@db:port/shop"}, "the URL cannot be read"},
		{"nobody there", Config{Table: "t", URL: "postgres://ada@127.0.0.1:1/shop?sslmode=disable", Password: secret, Patience: 100 * time.Millisecond},
			"no server answers at 127.0.0.1:1"},
		{"no socket", Config{Table: "t", URL: "host=/none user=ada", Patience: time.Millisecond}, "no server answers at /none (port 5432)"},
	} {
		err := newSink(test.cfg).Open(t.Context(), columns)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "pa55") {
			t.Errorf("%s: the password is in %s", test.name, text)
		}
	}
}

func TestCreation(t *testing.T) {
	columns := []stream.Column{{Name: "id", Kind: stream.Int}, {Name: `a "b".c`, Kind: stream.Any}, {Name: "b", Kind: stream.Bool},
		{Name: "x", Kind: stream.Float}, {Name: "s", Kind: stream.Text}, {Name: "at", Kind: stream.Time}, {Name: "j", Kind: stream.JSON}}
	cfg := Config{Table: "sales.orders", Key: []string{"id", "b"}, Create: true, Types: map[string]string{"x": "numeric(12,2)"}}
	got, err := cfg.creation(columns)
	want := `CREATE TABLE IF NOT EXISTS "sales"."orders" ("id" bigint, "a ""b"".c" text, "b" boolean, "x" numeric(12,2), "s" text, ` +
		`"at" timestamptz, "j" jsonb, PRIMARY KEY ("id", "b"))`
	if err != nil || got != want {
		t.Errorf("got %v,\n%s, want\n%s", err, got, want)
	}
	for _, test := range []struct {
		cfg  Config
		add  string
		want string
	}{
		{Config{Table: "t", Key: []string{"none"}}, "y", `no column "none" for the key among id`},
		{Config{Table: "t", Create: true, Types: map[string]string{"none": "text"}}, "y", `Types names column "none"`},
		{Config{Table: "t"}, strings.Repeat("é", 32), "1 to 63 bytes"},
		{Config{Table: "t"}, "", "1 to 63 bytes"},
	} {
		_, err := test.cfg.creation(append(columns[:1:1], stream.Column{Name: test.add, Kind: stream.Int}))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want %q", test.cfg, err, test.want)
		}
	}
}

// TestCopyText: what COPY is given, which TestKinds has the server read.
func TestCopyText(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 999_999_999, time.UTC)
	for _, test := range []struct {
		v    stream.Value
		into class
		want string
	}{
		{stream.Value{}, texts, `\N`},
		{stream.TextOf(""), texts, ""},
		{stream.TextOf("a\tb\\N\r\n\x00\xffé"), texts, `a\tb\\N\r\n` + "\uFFFD\uFFFDé"},
		{stream.TextOf(`\N`), texts, `\\N`},
		{stream.TextOf("7\n"), jsons, `"7\\n"`},
		{stream.IntOf(-7), jsons, "-7"},
		{stream.JSONOf(`{"a":"\n"}`), jsons, `{"a":"\\n"}`},
		{stream.TimeOf(at), times, "2026-03-01T12:00:00.999999Z"},
		{stream.TimeOf(time.Unix(0, -1)), times, "1969-12-31T23:59:59.999999Z"},
		{stream.TimeOf(at), texts, "2026-03-01T12:00:00.999999999Z"},
		{stream.FloatOf(0.1), decimals, "0.1"},
		{stream.FloatOf(math.Inf(1)), numbers, "+Infinity"},
		{stream.FloatOf(math.Inf(-1)), numbers, "-Infinity"},
		{stream.BoolOf(true), truths, "true"},
	} {
		if got := string(appendValue(nil, test.v, test.into)); got != test.want {
			t.Errorf("%v into %v: got %q, want %q", test.v, test.into, got, test.want)
		}
	}
	rows := stream.NewRows(stream.Column{Name: "a", Kind: stream.Int}, stream.Column{Name: "b", Kind: stream.Text})
	var want strings.Builder
	for i := range 20_000 {
		rows.Append(stream.IntOf(int64(i)), stream.TextOf("x y"))
		fmt.Fprintf(&want, "%d\tx y\t%d\n", i, i)
	}
	got, err := io.ReadAll(&copyReader{rows: rows, columns: make([]column, 2), number: true})
	if err != nil || string(got) != want.String() {
		t.Errorf("got %v and %d bytes, want %d", err, len(got), want.Len())
	}
}

// TestTwoOfOneTable: two sinks of a table would note their epochs in one row, and the epochs of one would be taken for the other's.
func TestTwoOfOneTable(t *testing.T) {
	for name, test := range map[string]struct {
		a, b Config
		want string
	}{
		"one table":     {Config{URL: "postgres://ada@db/shop", Table: "sums"}, Config{URL: "host=db dbname=shop user=bob", Table: "sums"}, "two sinks write to table sums at db:5432, database shop"},
		"two tables":    {Config{URL: "postgres://ada@db/shop", Table: "sums"}, Config{URL: "postgres://ada@db/shop", Table: "letters"}, ""},
		"two databases": {Config{URL: "postgres://ada@db/shop", Table: "sums"}, Config{URL: "postgres://ada@db/other", Table: "sums"}, ""},
		"no URL":        {Config{URL: "postgres://ada:" + secret + "@db/shop", Table: "sums"}, Config{URL: "postgres://ada@db/shop", Table: "letters"}, "the URL cannot be read"},
	} {
		q := stream.From(stream.Memory("ids", [][]stream.Record{nil})).Select("id").To(Sink(test.a)).DeadLetters(Sink(test.b))
		got := q.Checkpoint(checkpoint.Folder(t.TempDir())).Explain().String()
		if strings.Contains(got, "It cannot start") != (test.want != "") || !strings.Contains(got, test.want) || strings.Contains(got, "pa55") {
			t.Errorf("%s: got %s, want %q", name, got, test.want)
		}
	}
}
