package statsbomb

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DecodeEvent reads one event from JSON, in the shape that StatsBomb publishes or flattened in the manner of statsbombpy
// ("type": "Shot", "shot_outcome": "Goal", "team_id": 7), with "match_id", "freeze_frame" and "visible_area" where a
// record carries them. Null, NaN and keys that the types do not hold count as absent. An error names the field.
//
// An event must have a type and a period from 1 to 5, and a timestamp, or else a minute from which one is made.
func DecodeEvent(text []byte) (Event, error) {
	var d Decoder
	return d.Decode(text)
}

// Decoder reads events and remembers the names in them, so that a name that comes again costs no memory; twice as fast
// as DecodeEvent over a file. The zero Decoder is ready. Not for more than one goroutine at a time.
type Decoder struct {
	// Other, if not nil, is told of each member that an Event has no place for, and of the text of its value. Both are valid during the call.
	Other func(key, value []byte)

	scan *scanner // used again, since events are many; a copy of a Decoder has the same
}

// Decode is DecodeEvent.
func (d *Decoder) Decode(text []byte) (Event, error) {
	var e Event
	s := d.scanner(withoutMark(text))
	readEvent(s, &e, d.Other)
	s.end()
	return e, s.outcome(&e)
}

// DecodeInto is Decode into e, which it overwrites, for an event with more text behind it, such as the rest of a record: n is how many bytes of
// text the event takes. It spares copies of an Event, which is large. After an error e is zero.
func (d *Decoder) DecodeInto(e *Event, text []byte) (n int, err error) {
	*e = Event{}
	s := d.scanner(text)
	readEvent(s, e, d.Other)
	n = s.at
	return n, s.outcome(e)
}

// outcome completes an event that was read; if it cannot be used, e is emptied.
func (s *scanner) outcome(e *Event) error {
	err := s.err
	if err == nil {
		err = complete(e)
	}
	if err != nil {
		err = fmt.Errorf("decode event%s: %w", which(e), err)
		*e = Event{}
	}
	s.text = nil // which is the caller's
	return err
}

// DecodeAll reads the array of events that an open-data file holds, in file order.
func (d *Decoder) DecodeAll(text []byte) ([]Event, error) {
	s := d.scanner(withoutMark(text))
	// Counting first costs a hundredth of reading and spares moving large events; the bound is for text that is no events.
	events := make([]Event, 0, min(bytes.Count(text, []byte(`"index"`)), len(text)/100)+1)
	s.array(func() {
		events = append(events, Event{})
		e := &events[len(events)-1]
		readEvent(s, e, d.Other)
		if s.err == nil {
			s.err = complete(e)
		}
		if s.err != nil {
			s.err = fmt.Errorf("decode event %d of the file%s: %w", len(events), which(e), s.err)
			s.at = len(s.text)
		}
	})
	s.end()
	s.text = nil
	if s.err != nil {
		return nil, s.err
	}
	return events, nil
}

func (d *Decoder) scanner(text []byte) *scanner {
	if d.scan == nil {
		d.scan = &scanner{names: make(map[string]string)}
	}
	s := d.scan
	s.text, s.at, s.depth, s.err = text, 0, 0, nil
	return s
}

// withoutMark leaves out the byte order mark that some programs write before a text.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

// which says what is known of an event that could not be read whole.
func which(e *Event) string {
	var b strings.Builder
	if e.MatchID != 0 {
		fmt.Fprintf(&b, " of match %d", e.MatchID)
	}
	if e.Index != 0 {
		fmt.Fprintf(&b, " with index %d", e.Index)
	}
	return b.String()
}

// complete checks what every reader of events relies on, and drops what belongs to another type than the event's.
func complete(e *Event) error {
	if e.Type == (Ref{}) {
		return errors.New("field type: missing")
	}
	if e.Period < 1 || e.Period > 5 {
		return fmt.Errorf("field period: want 1 to 5, got %d", e.Period)
	}
	if e.Type.ID != TypeFoulCommitted && e.Type.ID != TypeBadBehaviour {
		e.Card = Ref{}
	}
	if e.Type.ID != TypeFoulCommitted {
		e.Penalty = false
	}
	if e.Detail != nil && (detailKey(e.Type.ID) == "" || e.Detail.empty()) {
		e.Detail = nil
	}
	return nil
}

func (d *Detail) empty() bool { return *d == Detail{} }

// readEvent reads an event's members. It may leave type and period unset: see complete.
func readEvent(s *scanner, e *Event, other func(key, value []byte)) {
	timed := false
	s.object(func(key []byte) {
		timed = timed || string(key) == "timestamp"
		if !commonMember(s, e, key) && !ownMember(s, e, key) {
			s.foreign(key, other)
		}
	})
	if !timed {
		e.Timestamp = time.Duration(max(0, e.Minute-firstMinute(e.Period)))*time.Minute + time.Duration(e.Second)*time.Second
	}
}

// foreign passes over the value of a member that an event has no place for, and tells other of it.
func (s *scanner) foreign(key []byte, other func(key, value []byte)) {
	s.peek()
	start := s.at
	s.skip()
	if other != nil && s.err == nil {
		other(key, s.text[start:s.at])
	}
}

// firstMinute is the match minute at which a period's timestamps start, as StatsBomb counts.
func firstMinute(period int) int {
	if period < 1 || period > 5 {
		return 0
	}
	return [...]int{0, 45, 90, 105, 120}[period-1]
}

// commonMember reads a member that events of all types have.
func commonMember(s *scanner, e *Event, key []byte) bool {
	switch string(key) {
	case "id":
		e.ID = s.own()
	case "match_id":
		e.MatchID = s.integer()
	case "index":
		e.Index = s.small()
	case "period":
		e.Period = s.small()
	case "timestamp":
		e.Timestamp = s.timestamp()
	case "minute":
		e.Minute = s.small()
	case "second":
		e.Second = s.small()
	case "type":
		e.Type = s.ref()
		nameType(&e.Type)
	case "possession":
		e.Possession = s.small()
	case "possession_team":
		s.refInto(&e.PossessionTeam)
	case "possession_team_id":
		e.PossessionTeam.ID = s.small()
	case "play_pattern":
		e.PlayPattern = s.ref()
	case "team":
		s.refInto(&e.Team)
	case "team_id":
		e.Team.ID = s.small()
	case "player":
		s.refInto(&e.Player)
	case "player_id":
		e.Player.ID = s.small()
	case "position":
		e.Position = s.ref()
	case "location":
		e.Location = s.point()
	case "duration":
		e.Duration = s.float()
	case "related_events":
		e.RelatedEvents = s.texts()
	default:
		return rareMember(s, e, key)
	}
	return true
}

func rareMember(s *scanner, e *Event, key []byte) bool {
	switch string(key) {
	case "under_pressure":
		e.UnderPressure = s.flag()
	case "off_camera":
		e.OffCamera = s.flag()
	case "counterpress":
		e.CounterPress = s.flag()
	case "out":
		e.Out = s.flag()
	case "tactics":
		e.Tactics = s.tactics()
	case "freeze_frame":
		e.FreezeFrame = s.frame()
	case "visible_area":
		e.VisibleArea = s.floats()
	default:
		return false
	}
	return true
}

// timestamp reads "HH:MM:SS.mmm".
func (s *scanner) timestamp() time.Duration {
	s.peek()
	start := s.at
	b := s.str()
	t, ok := clock(b)
	if !ok && s.err == nil {
		s.at = start
		s.fail("want HH:MM:SS.mmm, found %.40q", b)
	}
	return t
}

// clock converts HH:MM:SS with up to nine decimals.
func clock(b []byte) (time.Duration, bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' || len(b) == 9 || len(b) > 18 || len(b) > 8 && b[8] != '.' {
		return 0, false
	}
	hours, ok1 := twoDigits(b[0:])
	minutes, ok2 := twoDigits(b[3:])
	seconds, ok3 := twoDigits(b[6:])
	t := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
	unit := time.Second
	for _, c := range b[min(9, len(b)):] {
		if c-'0' > 9 {
			return 0, false
		}
		unit /= 10
		t += time.Duration(c-'0') * unit
	}
	return t, ok1 && ok2 && ok3 && minutes < 60 && seconds < 60
}

func twoDigits(b []byte) (int, bool) {
	return int(b[0]-'0')*10 + int(b[1]-'0'), b[0]-'0' <= 9 && b[1]-'0' <= 9
}

// ref reads {"id":…,"name":…}, a bare name, a bare id, or null.
func (s *scanner) ref() Ref {
	var r Ref
	s.refInto(&r)
	return r
}

// refInto reads a ref and keeps what r knows already: in flattened rows id and name come in members of their own.
func (s *scanner) refInto(r *Ref) {
	switch c := s.peek(); {
	case c == '{':
		if s.plainRef(r) {
			return
		}
		s.object(func(key []byte) {
			switch string(key) {
			case "id":
				r.ID = s.small()
			case "name":
				r.Name = s.name()
			default:
				s.skip()
			}
		})
	case c == '"':
		r.Name = s.name()
	case c == '-' || c-'0' <= 9:
		r.ID = s.small()
	case !s.null():
		s.fail("want an id with a name, found %s", s.found())
	}
}

// point reads [x, y] or [x, y, z]. Null and [] are nil.
func (s *scanner) point() *Point {
	if s.null() {
		return nil
	}
	var v [3]float64
	n := s.coordinates(&v)
	if n == 0 || s.err != nil {
		return nil
	}
	return s.room.point(Point{v[0], v[1], v[2]})
}

// margin is how many yards outside of the pitch something may be. In open data events are up to 0.9 outside of its lines, and the players of
// frames, whose places the camera gives, up to 10.
const margin = 20

// coordinates reads none, two or three numbers and returns how many.
func (s *scanner) coordinates(v *[3]float64) int {
	n := 0
	s.array(func() {
		if n == len(v) {
			s.fail("want two or three coordinates, found more")
			return
		}
		v[n] = s.finite()
		n++
	})
	switch {
	case n == 1:
		s.fail("want two or three coordinates, found one")
	case v[0] < -margin || v[0] > Length+margin || v[1] < -margin || v[1] > Width+margin:
		s.fail("the place (%v, %v) is off the pitch, which is %v by %v yards", v[0], v[1], Length, Width)
	}
	return n
}

// finite reads a number that must be there.
func (s *scanner) finite() float64 {
	if s.null() {
		s.fail("want a number, found nothing in its place")
	}
	return s.float()
}

func (s *scanner) floats() []float64 {
	if s.null() {
		return nil
	}
	var v []float64
	s.array(func() {
		if v == nil {
			v = make([]float64, 0, 10) // a visible area is a closed quadrangle as a rule
		}
		v = append(v, s.finite())
	})
	return v
}

func (s *scanner) texts() []string {
	if s.null() {
		return nil
	}
	var few [8]string
	v := few[:0]
	s.array(func() { v = append(v, s.own()) })
	if len(v) == 0 {
		return nil
	}
	return s.room.list(v)
}
