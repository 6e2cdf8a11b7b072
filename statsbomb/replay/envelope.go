package replay

import (
	"encoding/json"
	"time"
)

// millis is RFC 3339 with milliseconds; times are UTC.
const millis = "2006-01-02T15:04:05.000Z"

// envelope puts an event into a record's value:
//
//	{"event":{...},"metadata":{"producer_timestamp":...,"producer_id":...,"event_time":...,"source":...,
//	"source_match_id":...,"home_team":{...},"away_team":{...}}}
type envelope struct{ id, source []byte }

func newEnvelope(producerID, source string) envelope {
	return envelope{quoted(producerID), quoted(source)}
}

func quoted(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("replay: a string did not encode: " + err.Error()) // unreachable: every string does
	}
	return text
}

// value is the value of the record of a match's i-th event, in memory of its own.
func (e envelope) value(m *match, i int, at, now time.Time) []byte {
	event := m.event(i)
	v := make([]byte, 0, len(event)+len(e.id)+len(e.source)+len(m.tail)+2*len(millis)+100)
	v = append(append(v, `{"event":`...), event...)
	v = append(v, `,"metadata":{"producer_timestamp":"`...)
	v = appendMillis(v, now)
	v = append(append(v, `","producer_id":`...), e.id...)
	v = append(v, `,"event_time":"`...)
	v = appendMillis(v, at)
	v = append(append(v, `","source":`...), e.source...)
	v = append(append(v, ','), m.tail...)
	return append(v, '}')
}

func appendMillis(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, millis) }
