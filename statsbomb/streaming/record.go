package streaming

import (
	"time"

	"cancha/internal/jsontext"
	"cancha/statsbomb"
	"cancha/stream"
)

// MatchEvent is an event as it came in a record.
type MatchEvent struct {
	Event        statsbomb.Event
	EventTime    time.Time     // UTC
	ProducerTime time.Time     // when the record was sent; zero if the record does not say
	Home, Away   statsbomb.Ref // the teams of the match
	SourceKind   string        // "open-data", "api", "simulator"; empty if the record does not say
	Partition    int
	Offset       int64
}

// reader reads records in the envelope, each byte once. Not for more than one goroutine at a time.
type reader struct {
	events statsbomb.Decoder
	names  map[string]string
}

// maxNames bounds the names that a reader keeps: foreign records must not grow it without end.
const maxNames = 1 << 14

// read decodes a record, or tells why it is bad.
func (d *reader) read(r *stream.Record) (e MatchEvent, reason string) {
	b := r.Value
	e.Partition, e.Offset = r.Partition, r.Offset
	var wrong error
	i := jsontext.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return e, notEvent(b)
	}
	end := jsontext.Members(b, i, func(name []byte, i int) int {
		switch string(name) {
		case "event":
			event, n, err := d.events.DecodePrefix(b[i:])
			if err != nil {
				wrong = err
				return jsontext.SkipValue(b, i, 1)
			}
			e.Event = event
			return i + n
		case "metadata":
			return d.metadata(b, i, &e)
		}
		return jsontext.SkipValue(b, i, 1)
	})
	if end < 0 || jsontext.SkipSpace(b, end) != len(b) {
		return e, notEvent(b)
	}
	if wrong != nil {
		return e, wrong.Error()
	}
	return e, complete(&e)
}

// notEvent tells why a text is no record.
func notEvent(b []byte) string {
	if problem := jsontext.Problem(b); problem != "" {
		return problem
	}
	return "not an event: want a JSON object"
}

// complete tells what a record lacks that a model needs.
func complete(e *MatchEvent) (reason string) {
	switch {
	case e.Event.Type.ID == 0 && e.Event.MatchID == 0:
		return "no event: want the envelope {\"event\": …, \"metadata\": …}"
	case e.Event.MatchID == 0:
		return "no match_id"
	case e.Home.ID == 0 || e.Away.ID == 0:
		return "no home_team or away_team: the envelope's metadata must tell which team is at home"
	case e.EventTime.IsZero():
		return "no event_time in the envelope's metadata"
	}
	return ""
}

// metadata reads the envelope's other part.
func (d *reader) metadata(b []byte, i int, e *MatchEvent) int {
	if i >= len(b) || b[i] != '{' {
		return jsontext.SkipValue(b, i, 1)
	}
	return jsontext.Members(b, i, func(name []byte, i int) int {
		end := jsontext.SkipValue(b, i, 2)
		if end < 0 {
			return -1
		}
		switch string(name) {
		case "event_time":
			e.EventTime = instant(b[i:end])
		case "producer_timestamp":
			e.ProducerTime = instant(b[i:end])
		case "source":
			e.SourceKind = d.name(b[i:end])
		case "home_team":
			e.Home = d.team(b[i:end])
		case "away_team":
			e.Away = d.team(b[i:end])
		}
		return end
	})
}

// instant reads a text in RFC 3339; the zero time is none.
func instant(text []byte) time.Time {
	if len(text) < 2 || text[0] != '"' {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text[1:len(text)-1]))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// name reads a text that comes again and again, so that equal names share memory.
func (d *reader) name(text []byte) string {
	if len(text) < 2 || text[0] != '"' {
		return ""
	}
	if n, ok := d.names[string(text)]; ok {
		return n
	}
	unquoted, _ := jsontext.Unquote(text)
	n := string(unquoted)
	if d.names == nil || len(d.names) >= maxNames {
		d.names = map[string]string{}
	}
	d.names[string(text)] = n
	return n
}

// team reads {"id": …, "name": …}, whose text was scanned before.
func (d *reader) team(text []byte) (team statsbomb.Ref) {
	if text[0] != '{' {
		return team
	}
	jsontext.Members(text, 0, func(name []byte, i int) int {
		end := jsontext.SkipValue(text, i, 3)
		switch string(name) {
		case "id":
			if id, _, ok := jsontext.ParseInt(text, i); ok {
				team.ID = int(id)
			}
		case "name":
			team.Name = d.name(text[i:end])
		}
		return end
	})
	return team
}
