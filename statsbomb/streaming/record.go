package streaming

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"cancha/internal/jsontext"
	"cancha/statsbomb"
)

// told is what a record tells of its event beside it.
type told struct {
	at     int64  // event time in nanoseconds since 1970
	sent   int64  // when the record was sent; 0 if the record does not say
	source string // "open-data", "api", "simulator"; empty if the record does not say
}

// reader reads records whole, each byte once as a rule: the envelope, and events without it, as published or flattened, whose teams stand in a
// "metadata" of their own. Not for more than one goroutine at a time.
type reader struct {
	events statsbomb.Decoder
	times  [times]jsontext.Instants // each kind of time remembers its own date
	names  map[string]string        // by their JSON form
	teams  map[string]team          // by their JSON form

	event   *statsbomb.MatchEvent // what the record in hand fills
	told    *told
	found   [times]int64 // times that the record has
	has     [times]bool
	wrong   [parts]string // what is there in place of each part, if it is of another type
	inside  bool          // the envelope's event has come: members beside it are not the event's
	problem error         // of the event
}

// team is what a record says of a team.
type team struct {
	statsbomb.Ref
	wrong string
}

// The parts of a record beside the event, in the order in which they are reported; the first three are times.
const (
	eventTime = iota // in metadata
	ownTime          // in the event
	sentTime
	source
	homeTeam
	awayTeam
	parts
	times = source
)

// maxNames bounds the names and the teams that a reader keeps: foreign records must not grow them without end.
const maxNames = 1 << 14

// noEventTime is the reason of records without a time.
const noEventTime = "no event_time: neither the envelope's metadata nor the event has one"

// The bounds that a query has for event times, 1680-01-01 and 2261-01-01 in nanoseconds since 1970: what lies beyond must not be scored.
const (
	firstTime = -9_151_488_000 * int64(time.Second)
	endOfTime = 9_183_110_400 * int64(time.Second)
)

// read reads a record into e and t, which it overwrites, or tells why it is bad; then they hold anything.
func (d *reader) read(b []byte, e *statsbomb.MatchEvent, t *told) (reason string) {
	d.begin(e, t)
	i := jsontext.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return notEvent(b)
	}
	end := jsontext.Members(b, i, func(name []byte, i int) int {
		switch string(name) {
		case "event":
			return d.envelope(b, i)
		case "metadata":
			return d.metadata(b, i)
		case "event_time":
			return d.outside(b, i)
		}
		return jsontext.SkipValue(b, i, 1)
	})
	if end < 0 || jsontext.SkipSpace(b, end) != len(b) {
		return cmp.Or(jsontext.Problem(b), jsontext.NotJSON)
	}
	if !d.inside {
		e.Event, d.problem = d.events.Decode(b)
	}
	return d.complete()
}

// begin forgets the record before.
func (d *reader) begin(e *statsbomb.MatchEvent, t *told) {
	if d.events.Other == nil {
		d.events.Other = d.other
		d.names, d.teams = map[string]string{}, map[string]team{}
	}
	e.Home, e.Away = statsbomb.Ref{}, statsbomb.Ref{}
	*t = told{}
	d.event, d.told = e, t
	d.has, d.wrong, d.inside, d.problem = [times]bool{}, [parts]string{}, false, nil
}

// notEvent tells why a text that does not begin as an object is no record.
func notEvent(b []byte) string {
	if i := jsontext.SkipValue(b, jsontext.SkipSpace(b, 0), 0); i >= 0 && jsontext.SkipSpace(b, i) == len(b) {
		return "not an event: want a JSON object"
	}
	return cmp.Or(jsontext.Problem(b), jsontext.NotJSON)
}

// complete tells what is wrong with a record that was read, or what it lacks that a model needs.
func (d *reader) complete() (reason string) {
	if d.wrong != [parts]string{} {
		return cmp.Or(d.wrong[:]...)
	}
	switch e := d.event; {
	case d.problem != nil:
		return d.problem.Error()
	case e.Event.MatchID == 0:
		return "no match_id"
	case e.Home.ID == 0 || e.Away.ID == 0:
		return "no home_team or away_team: the envelope's metadata must tell which team is at home"
	case d.has[eventTime]:
		d.told.at = d.found[eventTime]
	case d.has[ownTime]:
		d.told.at = d.found[ownTime]
	default:
		return noEventTime
	}
	if at := d.told.at; at < firstTime || at >= endOfTime {
		return "event time is outside the years 1680 to 2260"
	}
	if d.has[sentTime] {
		d.told.sent = d.found[sentTime]
	}
	return ""
}

// envelope reads the member "event". Of several the last object counts.
func (d *reader) envelope(b []byte, i int) int {
	if i < len(b) && b[i] == '{' {
		d.inside = true
		d.forget(ownTime)
		n, err := d.events.DecodeInto(&d.event.Event, b[i:])
		if d.problem = err; err == nil {
			return i + n
		}
		return d.broken(b, i)
	}
	end := jsontext.SkipValue(b, i, 1)
	if end >= 0 && absent(b[i]) {
		d.forget(ownTime)
	} else if end >= 0 && !d.has[ownTime] {
		d.wrong[ownTime] = "event_time: want an RFC 3339 time, got " + describe(b[i])
	}
	return end
}

// broken reads on behind an event that cannot be used, and words its problem without what stands behind it.
func (d *reader) broken(b []byte, i int) int {
	end := jsontext.SkipValue(b, i, 1)
	if end < 0 {
		return -1
	}
	_, d.problem = d.events.Decode(b[i:end])
	d.forget(ownTime)
	jsontext.Members(b[:end], i, func(name []byte, i int) int {
		next := jsontext.SkipValue(b, i, 2)
		d.other(name, b[i:next])
		return next
	})
	return end
}

// outside reads the member "event_time" of an event without an envelope.
func (d *reader) outside(b []byte, i int) int {
	end := jsontext.SkipValue(b, i, 1)
	if end >= 0 && !d.inside {
		d.time(ownTime, "event_time", b[i:end])
	}
	return end
}

// other takes a member of an event that the event itself has no place for.
func (d *reader) other(name, value []byte) {
	if string(name) == "event_time" {
		d.time(ownTime, "event_time", value)
	}
}

// metadata reads the envelope's other part. Of several the last counts.
func (d *reader) metadata(b []byte, i int) int {
	d.forgetMetadata()
	if i >= len(b) || b[i] != '{' {
		end := jsontext.SkipValue(b, i, 1)
		if end >= 0 && !absent(b[i]) {
			d.wrong[eventTime] = "metadata.event_time: want an RFC 3339 time, got " + describe(b[i])
		}
		return end
	}
	return jsontext.Members(b, i, func(name []byte, i int) int {
		end := jsontext.SkipValue(b, i, 2)
		if end < 0 {
			return -1
		}
		switch string(name) {
		case "event_time":
			d.time(eventTime, "metadata.event_time", b[i:end])
		case "producer_timestamp":
			d.time(sentTime, "metadata.producer_timestamp", b[i:end])
		case "source":
			d.source(b[i:end])
		case "home_team":
			d.event.Home = d.team(homeTeam, "metadata.home_team", b[i:end])
		case "away_team":
			d.event.Away = d.team(awayTeam, "metadata.away_team", b[i:end])
		}
		return end
	})
}

func (d *reader) forgetMetadata() {
	d.forget(eventTime)
	d.forget(sentTime)
	d.wrong[source], d.wrong[homeTeam], d.wrong[awayTeam] = "", "", ""
	d.told.source, d.event.Home, d.event.Away = "", statsbomb.Ref{}, statsbomb.Ref{}
}

func (d *reader) forget(time int) { d.has[time], d.wrong[time] = false, "" }

// absent tells whether a value that begins with c is none: null, or the NaN that Python writes for an empty place.
func absent(c byte) bool { return c == 'n' || c == 'N' }

// time reads a time.
func (d *reader) time(part int, path string, text []byte) {
	d.forget(part)
	if absent(text[0]) {
		return
	}
	if text[0] == '"' {
		if d.found[part], d.has[part] = d.times[part].Parse(text[1 : len(text)-1]); d.has[part] {
			return
		}
	}
	d.wrong[part] = path + ": want an RFC 3339 time, got " + describe(text[0])
}

// source reads where a record comes from.
func (d *reader) source(text []byte) {
	name, _, wrong := d.key(text)
	if d.told.source, d.wrong[source] = name, ""; wrong != "" {
		d.wrong[source] = "metadata.source" + wrong
	}
}

// key reads a text or an integer.
func (d *reader) key(text []byte) (key string, id int64, wrong string) {
	if absent(text[0]) {
		return "", 0, ""
	}
	if text[0] == '"' {
		return d.name(text), 0, ""
	}
	if text[0] == '-' || jsontext.Digit(text[0]) {
		if id, _, ok := jsontext.ParseInt(text, 0); ok {
			return strconv.FormatInt(id, 10), id, ""
		}
	}
	return "", 0, ": want an integer or a text, got " + describe(text[0])
}

// name reads a text that comes again and again, so that equal names share memory.
func (d *reader) name(text []byte) string {
	if n, ok := d.names[string(text)]; ok {
		return n
	}
	unquoted, _ := jsontext.Unquote(text)
	n := strings.ToValidUTF8(string(unquoted), "\uFFFD")
	if len(d.names) >= maxNames {
		clear(d.names)
	}
	d.names[string(text)] = n
	return n
}

// team reads {"id": …, "name": …}, which comes again and again.
func (d *reader) team(part int, path string, text []byte) statsbomb.Ref {
	t, ok := d.teams[string(text)]
	if !ok {
		t = d.newTeam(text)
		if len(d.teams) >= maxNames {
			clear(d.teams)
		}
		d.teams[string(text)] = t
	}
	if d.wrong[part] = ""; t.wrong != "" {
		d.wrong[part] = path + t.wrong
	}
	return t.Ref
}

func (d *reader) newTeam(text []byte) (t team) {
	if absent(text[0]) {
		return t
	}
	if text[0] != '{' {
		return team{wrong: ".id: want an integer or a text, got " + describe(text[0])}
	}
	var wrong [2]string
	jsontext.Members(text, 0, func(name []byte, i int) int {
		end := jsontext.SkipValue(text, i, 3)
		key, id, problem := d.key(text[i:end])
		switch string(name) {
		case "id":
			t.ID, wrong[0] = int(id), problem
		case "name":
			t.Name, wrong[1] = key, problem
		}
		return end
	})
	if wrong[0] != "" {
		t.wrong = ".id" + wrong[0]
	} else if wrong[1] != "" {
		t.wrong = ".name" + wrong[1]
	}
	return t
}

// describe names the type of a value that begins with c and is not the one wanted.
func describe(c byte) string {
	switch c {
	case '"':
		return "another text"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "true or false"
	}
	return "another number"
}
