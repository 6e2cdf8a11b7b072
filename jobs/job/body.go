package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"cancha/jobs/placement"
	"cancha/jobs/queue"
)

// Schema is the version of the contract's fields.
const Schema = 1

// Read reads a submission. Where it is invalid, the error is an *Invalid, and the Spec has what could be read: the job's id, at least, if
// there is one, and where its result goes to.
func Read(m *queue.Message) (Spec, error) {
	s := Spec{ID: m.ID, ReplyTo: m.ReplyTo, Priority: m.Priority, Correlation: m.CorrelationID}
	if len(m.Body) > MaxSubmission {
		return s, large(&s, m.Body)
	}
	b := &body{}
	if err := b.decode(m.Body); err != nil {
		return s, err
	}
	b.fill(&s)
	if b.err != nil {
		return s, b.err
	}
	return s, s.Check()
}

// body is a submission that is being read: each field that has been is taken out, and what is left is unknown.
type body struct{ reader }

func (b *body) decode(text []byte) error {
	if !utf8.Valid(text) {
		return bad("the message", "it is no UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // RFC 8259, section 8.1: a byte order mark may be ignored
	if err := json.Unmarshal(text, &b.fields); err != nil {
		return bad("the message", "want a JSON object like {\"job_type\": %q}, got %.60q: %v", MatrixMultiply, text, err)
	}
	if b.fields == nil {
		return bad("the message", "want a JSON object like {\"job_type\": %q}, got null", MatrixMultiply)
	}
	return unique("the message", text, len(b.fields))
}

// unique tells which field an object has twice; n is how many different ones it has. Readers differ in which of them counts (RFC 8259,
// section 4), so that a job with two sizes would be done with either.
func unique(what string, object []byte, n int) error {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token()
	seen := make(map[string]bool, n)
	for err == nil && d.More() {
		var name json.Token
		if name, err = d.Token(); err != nil {
			break
		}
		text, _ := name.(string)
		if seen[text] {
			return bad(what, "it has two fields %.100q, of which one reader takes the first and another the last", text)
		}
		seen[text] = true
		var value json.RawMessage
		err = d.Decode(&value)
	}
	if err != nil {
		return bad(what, "%v", err)
	}
	return nil
}

// fill reads the fields of the contract, the job's id and the way of its result first.
func (b *body) fill(s *Spec) {
	b.text(&s.ID, "job_id")
	b.text(&s.ReplyTo, "reply_to")
	b.schema()
	b.text(&s.Type, "job_type")
	b.text(&s.Key, "key")
	b.flag(&s.PreferGPU, "prefer_gpu")
	b.device(&s.Device)
	b.count(&s.Priority, 0, MaxPriority, "priority")
	b.count(&s.Attempts, 1, MaxAttempts, "max_attempts")
	b.moment(&s.NotBefore, "not_before")
	b.moment(&s.Deadline, "deadline")
	b.seconds(&s.Timeout, "timeout")
	b.seconds(&s.ResultTTL, "result_ttl")
	b.list(&s.After, "after")
	b.parameters(s)
}

// take returns a field and takes it out.
func (b *body) take(name string) (json.RawMessage, bool) {
	v, ok := b.fields[name]
	delete(b.fields, name)
	return v, ok && string(v) != "null"
}

func (b *body) text(to *string, name string) {
	v, ok := b.take(name)
	if !ok {
		return
	}
	if len(v) > 0 && v[0] != '"' { // an id may be a number
		if _, err := strconv.ParseFloat(string(v), 64); err == nil {
			*to = string(v)
			return
		}
	}
	if err := json.Unmarshal(v, to); err != nil {
		b.fail(bad(name, "%.100s; it is a text", v))
	}
}

func (b *body) flag(to *bool, name string) {
	if v, ok := b.take(name); ok && json.Unmarshal(v, to) != nil {
		b.fail(bad(name, "%.100s; it is true or false", v))
	}
}

func (b *body) count(to *int, least, most int64, name string) {
	if v, ok := b.take(name); ok {
		*to = int(b.number(name, v, least, most))
	}
}

func (b *body) schema() {
	v, ok := b.take("schema")
	if !ok {
		return
	}
	var n float64
	if json.Unmarshal(v, &n) != nil || n != Schema {
		b.fail(bad("schema", "%.100s; this program knows %d: a newer one is needed, or none is to be said", v, Schema))
	}
}

func (b *body) device(to *placement.Device) {
	var s string
	if b.text(&s, "device"); s != "auto" {
		*to = placement.Device(s)
	}
}

// moment reads Unix seconds or RFC 3339.
func (b *body) moment(to *time.Time, name string) {
	v, ok := b.take(name)
	if !ok {
		return
	}
	var seconds float64
	if json.Unmarshal(v, &seconds) == nil && math.Abs(seconds) < 1e11 {
		*to = fromUnix(seconds)
		return
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			*to = t.UTC().Truncate(time.Microsecond) // as it is written
			return
		}
	}
	b.fail(bad(name, "%.100s; it is Unix seconds, or a time as 2006-01-02T15:04:05Z", v))
}

func (b *body) seconds(to *time.Duration, name string) {
	v, ok := b.take(name)
	if !ok {
		return
	}
	var s float64
	if err := json.Unmarshal(v, &s); err != nil || !(s >= 0 && s <= MaxTime.Seconds()) {
		b.fail(bad(name, "%.100s; it is a number of seconds, ten years at most", v))
		return
	}
	*to = time.Duration(math.Round(s*1e6)) * time.Microsecond
	if s > 0 && *to == 0 { // 0 would be no bound at all
		*to = time.Microsecond
	}
}

func (b *body) list(to *[]string, name string) {
	v, ok := b.take(name)
	if !ok {
		return
	}
	if json.Unmarshal(v, to) != nil {
		b.fail(bad(name, "%.100s; it is a list of job_ids", v))
	}
}

// parameters takes them from their object, or else from what stands beside the contract's fields, which then are not unknown only. What a
// type does not know stays in both, so that it comes back.
func (b *body) parameters(s *Spec) {
	defer func() {
		if len(b.fields) > 0 {
			s.Unknown = b.fields
		}
	}()
	for _, name := range []string{"parameters", "params", "data"} {
		if v, ok := b.fields[name]; ok && len(v) > 0 && v[0] == '{' {
			delete(b.fields, name)
			s.Parameters = b.beside(s.Type, v)
			return
		} else if ok && name == "parameters" && string(v) != "null" {
			b.fail(bad(name, "%.100s; it is a JSON object", v))
			return
		}
	}
	if len(b.fields) > 0 {
		s.Parameters, _ = json.Marshal(b.fields) // of valid JSON
	}
}

// beside adds to the object of the parameters those of the type that stand beside it and not in it: a producer that writes "size" there and
// something of its own into "data" would be answered as if it had said no size.
func (b *body) beside(name string, object json.RawMessage) json.RawMessage {
	r, err := newReader(object)
	if err != nil {
		b.fail(err)
		return object
	}
	added := false
	for _, p := range Parameters(name) {
		if v, ok := b.fields[p]; ok && r.fields[p] == nil {
			r.fields[p], added = v, true
		}
	}
	if !added {
		return object
	}
	merged, _ := json.Marshal(r.fields) // of valid JSON
	return merged
}

// Message writes a submission, as Read reads it.
func (s *Spec) Message() (queue.Message, error) {
	if err := s.Check(); err != nil {
		return queue.Message{}, err
	}
	fields := map[string]any{"schema": Schema, "job_type": s.Type}
	put := func(name string, value any, is bool) {
		if is {
			fields[name] = value
		}
	}
	put("job_id", s.ID, s.ID != "")
	put("parameters", s.Parameters, len(s.Parameters) > 0)
	put("prefer_gpu", s.PreferGPU, s.PreferGPU)
	put("device", s.Device, s.Device != "")
	put("priority", s.Priority, s.Priority != 0)
	put("key", s.Key, s.Key != "")
	put("not_before", unix(s.NotBefore), !s.NotBefore.IsZero())
	put("deadline", unix(s.Deadline), !s.Deadline.IsZero())
	put("timeout", s.Timeout.Seconds(), s.Timeout != 0)
	put("max_attempts", s.Attempts, s.Attempts != 0)
	put("after", s.After, len(s.After) > 0)
	put("result_ttl", s.ResultTTL.Seconds(), s.ResultTTL != 0)
	put("reply_to", s.ReplyTo, s.ReplyTo != "")
	text, err := marshalWith(fields, s.Unknown)
	if err != nil {
		return queue.Message{}, fmt.Errorf("job: write %s: %w", s.ID, err)
	}
	return queue.Message{ID: s.ID, Body: text, ContentType: "application/json", Priority: s.Priority, ReplyTo: s.ReplyTo, CorrelationID: s.Correlation}, nil
}

// marshalWith writes an object of fields, and of those others whose names it does not have.
func marshalWith(fields map[string]any, others map[string]json.RawMessage) ([]byte, error) {
	all := make(map[string]any, len(fields)+len(others))
	for name, v := range others {
		all[name] = v
	}
	maps.Copy(all, fields)
	return json.Marshal(all)
}

// unix is a time in seconds since 1970, with microseconds, as Python's time.time gives it.
func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func fromUnix(s float64) time.Time { return time.UnixMicro(int64(math.Round(s * 1e6))).UTC() }
