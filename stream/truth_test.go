package stream_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "cancha/stream"
)

// TestTruths: what stands where true or false is wanted, and is neither, is bad, and not false.
func TestTruths(t *testing.T) {
	records := strings.ReplaceAll(`{"n":1,"b":true} {"n":2,"b":false} {"n":3,"b":1} {"n":4,"b":"true"} {"n":5} {"n":6,"b":null} {"n":7,"b":""} {"n":8,"b":"x"} {"n":9,"b":[]}`, " ", "\n")
	for _, test := range []struct {
		name  string
		query *Query
		want  string
		bad   int64
	}{
		{"JSON", From(source(records)), "n\n1\n", 5},
		{"texts", From(source(records)).Format(JSONFormat().TextNumbers()), "n\n1\n4\n", 3},
		{"CSV", From(source("1,true\n2,false\n3,1\n4,\n5,x")).Format(CSVFormat("n", "b")), "n\n1\n", 2},
	} {
		kept := []*Query{test.query.Watermark(time.Hour).Deduplicate("n").Filter(Field("b")).Select("n")} // behind a step with memory
		for _, condition := range []Expr{Field("b"), Field("b").And(Field("n").Gt(0)), If(Field("b"), 1, 2).Eq(1)} {
			kept = append(kept, test.query.Filter(condition).Select("n"))
		}
		for i, q := range kept {
			running := finish(t, q)
			if got := csvOf(t, running); got != test.want || running.Totals().Bad != test.bad {
				t.Errorf("%s, %d: got %q and %d bad, want %q and %d; %v", test.name, i, got, running.Totals().Bad, test.want, test.bad, running.BadRecords().Reasons)
			}
		}
	}
}

// TestUnixTimes: a text is a bad record, and no time that is absent; whole numbers are exact to the nanosecond.
func TestUnixTimes(t *testing.T) {
	at := Field("t")
	for _, test := range []struct {
		record string
		of     Expr
		want   string
	}{
		{`{"t":1700000000}`, at.UnixSeconds(), "2023-11-14T22:13:20Z"},
		{`{"t":1700000000.5}`, at.UnixSeconds(), "2023-11-14T22:13:20.5Z"},
		{`{"t":-1.25}`, at.UnixSeconds(), "1969-12-31T23:59:58.75Z"},
		{`{"t":1700000000123}`, at.UnixMillis(), "2023-11-14T22:13:20.123Z"},
		{`{"t":1700000000123456}`, at.UnixMicros(), "2023-11-14T22:13:20.123456Z"},
		{`{"t":1700000000123456789}`, at.UnixNanos(), "2023-11-14T22:13:20.123456789Z"},
		{`{"t":1e30}`, at.UnixSeconds(), ""},
	} {
		running := finish(t, From(source(test.record)).With("at", test.of).Select("at"))
		if got := running.Results(); got.Len() != 1 || got.At(0, 0).String() != test.want {
			t.Errorf("%v of %s: got %v, want %s", test.of, test.record, got, test.want)
		}
	}
	bad := finish(t, From(source(`{"t":"1700000000"}`)).With("at", at.UnixSeconds()).Select("at")).BadRecords()
	if reasons := bad.Reasons; bad.Total != 1 || !slices.ContainsFunc(reasons, func(r ReasonCount) bool { return r.Reason == "t: want a number, got another text" }) {
		t.Errorf("got %+v", bad)
	}
	texts := finish(t, From(source(`{"t":"1700000000"}`)).Format(JSONFormat().TextNumbers()).With("at", at.UnixSeconds()).Select("at"))
	if got := texts.Results().At(0, 0).String(); got != "2023-11-14T22:13:20Z" {
		t.Errorf("of a text that is a number: got %s", got)
	}
}
