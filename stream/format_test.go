package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/stream"
)

// logfmt is a format of one's own: words such as level=warn, parted by spaces, as many programs write their logs. A value that a number is
// wanted of must be one.
type logfmt struct{}

// Name implements stream.Format.
func (logfmt) Name() string { return "logfmt" }

// Decoder implements stream.Format.
func (logfmt) Decoder(slots []stream.Slot) (stream.Decoder, error) {
	d := &logfmtDecoder{slots: slots, seen: make([]bool, len(slots))}
	for _, s := range slots {
		parts, err := stream.ParsePath(s.Path)
		if err != nil {
			return nil, err
		}
		if len(parts) != 1 || parts[0].Index >= 0 {
			return nil, fmt.Errorf("logfmt: path %q: a line has names only, and nothing within", s.Path)
		}
	}
	return d, nil
}

type logfmtDecoder struct {
	slots []stream.Slot
	seen  []bool
}

// Decode implements stream.Decoder.
func (d *logfmtDecoder) Decode(record []byte, row []stream.Value) (reason string) {
	for word := range bytes.FieldsSeq(record) {
		name, text, found := bytes.Cut(word, []byte("="))
		if !found {
			return "a word without ="
		}
		for i, s := range d.slots {
			if s.Path != string(name) {
				continue
			}
			if row[s.At], reason = s.Fit(wordValue(text)); reason != "" {
				return reason
			}
			d.seen[i] = true
		}
	}
	return ""
}

// wordValue is a number where the word is one, and a text otherwise.
func wordValue(word []byte) stream.Value {
	if x, err := strconv.ParseFloat(string(word), 64); err == nil {
		return stream.FloatOf(x)
	}
	return stream.TextOfBytes(word)
}

// Seen implements stream.Decoder.
func (d *logfmtDecoder) Seen(slot int) bool { return d.seen[slot] }

// A program can bring a format of its own: logfmt, in this file, reads lines of logs.
func ExampleFormat() {
	print(stream.From(topic("log", `
		at=2026-03-01T12:00:05Z level=info ms=12
		at=2026-03-01T12:00:20Z level=warn ms=840
		at=2026-03-01T12:00:40Z level=info ms=16
		at=2026-03-01T12:01:10Z level=warn ms=fast`)).
		Format(logfmt{}).EventTime(stream.Field("at").AsTime()).
		GroupBy("level").Window(stream.Tumbling(time.Minute)).
		Agg(stream.Count("lines"), stream.Mean("ms", stream.Field("ms"))).Drop("window_end"))
	// Output:
	// level,window_start,lines,ms
	// info,2026-03-01T12:00:00Z,2,14
	// warn,2026-03-01T12:00:00Z,1,840
}

func TestOwnFormat(t *testing.T) {
	query := stream.From(topic("log", "ms=12 level=info\nms=fast\nlevel\nlevel=7 ms=1")).Format(logfmt{}).
		With("ms", stream.Field("ms").Mul(1)).With("level", stream.Field("level").Lower()).Select("ms", "level")
	running, err := query.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]int64{}
	for _, r := range running.BadRecords().Reasons {
		reasons[r.Reason] = r.Count
	}
	want := map[string]int64{"ms: want a number, got another text": 1, "a word without =": 1, "level: want a text, got another number": 1}
	if !maps.Equal(reasons, want) {
		t.Errorf("bad records: got %v, want %v", reasons, want)
	}
	if text := query.Explain().String(); !strings.Contains(text, "logfmt") {
		t.Errorf("Explain does not name the format: %s", text)
	}
}

func TestFormatRefusesAPath(t *testing.T) {
	_, err := stream.From(topic("log", "ms=1")).Format(logfmt{}).Select("a.b").Start(t.Context())
	if want := `logfmt: path "a.b"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %s", err, want)
	}
}

func TestFormatWithoutADecoder(t *testing.T) {
	_, err := stream.From(topic("log", "ms=1")).Format(prepared{}).Select("ms").Start(t.Context())
	if want := "gave no Decoder and no error"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

// prepared is logfmt with a decoder that wants to be prepared.
type prepared struct {
	logfmt
	prepare func(ctx context.Context, records []stream.Record) error
}

// Decoder implements stream.Format.
func (p prepared) Decoder(slots []stream.Slot) (stream.Decoder, error) {
	if p.prepare == nil {
		return nil, nil
	}
	d, err := p.logfmt.Decoder(slots)
	return preparer{d, p.prepare}, err
}

type preparer struct {
	stream.Decoder
	prepare func(ctx context.Context, records []stream.Record) error
}

// Prepare implements stream.Preparer.
func (p preparer) Prepare(ctx context.Context, records []stream.Record) error {
	return p.prepare(ctx, records)
}

func TestPrepareSeesRecordsFirst(t *testing.T) {
	var seen []string
	format := prepared{prepare: func(_ context.Context, records []stream.Record) error {
		for _, r := range records {
			seen = append(seen, string(r.Value))
		}
		return nil
	}}
	lines := []stream.Record{{Value: []byte("ms=1")}, {Value: []byte("ms=2")}, {Value: []byte("ms=3")}, {Value: []byte("ms=4")}}
	source := stream.Memory("log", [][]stream.Record{lines}).BatchSize(2)
	running, err := stream.From(source).Format(format).Select("ms").MaxRecords(3).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(seen, " "), "ms=1 ms=2 ms=3"; got != want {
		t.Errorf("Prepare saw %q, want %q", got, want)
	}
	if got := running.Results().Len(); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
}

func TestPrepareEndsTheQuery(t *testing.T) {
	fault := errors.New("the dictionary is away")
	format := prepared{prepare: func(context.Context, []stream.Record) error { return fault }}
	running, err := stream.From(topic("log", "ms=1")).Format(format).Select("ms").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(t.Context()); !errors.Is(err, fault) || !strings.Contains(err.Error(), "logfmt") {
		t.Errorf("got %v, want %v, with the format's name", err, fault)
	}
	if bad := running.BadRecords().Total; bad != 0 {
		t.Errorf("%d bad records, want none: no record is to blame", bad)
	}
}

// A decoder that waits does not hold up Stop, and to be stopped then is no fault.
func TestStopEndsPrepare(t *testing.T) {
	waiting := make(chan struct{})
	format := prepared{prepare: func(ctx context.Context, _ []stream.Record) error {
		close(waiting)
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	running, err := stream.From(topic("log", "ms=1")).Format(format).Select("ms").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-waiting
	if err := running.Stop(t.Context()); err != nil {
		t.Errorf("got %v, want an end in order", err)
	}
	if got := running.Results().Len(); got != 0 {
		t.Errorf("%d rows of a record that was never decoded", got)
	}
}

func TestFit(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	none := stream.Value{}
	tests := []struct {
		name   string
		want   stream.Want
		value  stream.Value
		fits   stream.Value
		reason string
	}{
		{"an absent number", stream.WantNumber, none, none, ""},
		{"an integer as a number", stream.WantNumber, stream.IntOf(3), stream.FloatOf(3), ""},
		{"a truth as a number", stream.WantNumber, stream.BoolOf(true), stream.FloatOf(1), ""},
		{"a text as a number", stream.WantNumber, stream.TextOf("3"), none, "p: want a number, got another text"},
		{"a time as a number", stream.WantNumber, stream.TimeOf(at), none, "p: want a number, got a time"},
		{"an object as a number", stream.WantNumber, stream.JSONOf("{}"), none, "p: want a number, got an object"},
		{"JSON without a letter", stream.WantNumber, stream.JSONOf(""), none, "p: want a number, got another number"},
		{"too large a number", stream.WantNumber, stream.FloatOf(1e200), none, "p: want a number, got one beyond ±1e150, whose square would not be a number"},
		{"a large number as it is", stream.WantAny, stream.FloatOf(1e200), stream.FloatOf(1e200), ""},
		{"a number without end", stream.WantAny, stream.FloatOf(math.Inf(1)), none, "p: want a value, got one without end"},
		{"an array as it is", stream.WantAny, stream.JSONOf("[1]"), stream.JSONOf("[1]"), ""},
		{"a text", stream.WantText, stream.TextOf("a"), stream.TextOf("a"), ""},
		{"a truth as a text", stream.WantText, stream.BoolOf(true), none, "p: want a text, got true or false"},
		{"an array as a text", stream.WantText, stream.JSONOf("[1]"), none, "p: want a text, got an array"},
		{"a time", stream.WantTime, stream.TimeOf(at), stream.TimeOf(at), ""},
		{"a text as a time", stream.WantTime, stream.TextOf("2026-03-01T13:00:00+01:00"), stream.TimeOf(at), ""},
		{"a word as a time", stream.WantTime, stream.TextOf("noon"), none, "p: want an RFC 3339 time, got another text"},
		{"a number as a time", stream.WantTime, stream.IntOf(3), none, "p: want an RFC 3339 time, got another number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fits, reason := stream.Slot{Path: "p", Want: test.want}.Fit(test.value)
			if fits != test.fits || reason != test.reason {
				t.Errorf("got %v, %q, want %v, %q", fits, reason, test.fits, test.reason)
			}
		})
	}
}
