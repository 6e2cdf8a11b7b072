package statsbomb

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// EncodeEvent writes an event as compact JSON in the shape that StatsBomb publishes, with match_id, freeze_frame and
// visible_area where the event has them, as records carry them. DecodeEvent of the result is the event again, but for
// what JSON cannot tell apart: nil from empty slices, a Detail without content, and text that is not UTF-8. A number that
// is not finite, or a negative timestamp, is an error.
func EncodeEvent(e Event) ([]byte, error) { return AppendEvent(nil, &e) }

// AppendEvent is EncodeEvent onto the end of dst.
func AppendEvent(dst []byte, e *Event) ([]byte, error) {
	w := writer{out: dst}
	w.event(e)
	if w.bad != "" {
		return dst, fmt.Errorf("encode event %d of match %d: field %s is not finite or out of range", e.Index, e.MatchID, w.bad)
	}
	return w.out, nil
}

// EncodeFrames writes the three-sixty file of a match: the frames of the events that have one.
func EncodeFrames(events []Event) ([]byte, error) {
	w := writer{out: []byte{'['}}
	for i := range events {
		e := &events[i]
		if e.FreezeFrame == nil && e.VisibleArea == nil {
			continue
		}
		w.comma()
		w.begin()
		w.text("event_uuid", e.ID)
		w.floats("visible_area", e.VisibleArea)
		w.frame(e.FreezeFrame)
		w.close('}')
	}
	if w.bad != "" {
		return nil, fmt.Errorf("encode 360 frames: field %s is not finite", w.bad)
	}
	return append(w.out, ']'), nil
}

// writer appends members to an object; the members of a zero value are left out unless their writer says otherwise.
type writer struct {
	out []byte
	bad string // the first field that cannot be written
}

func (w *writer) comma() {
	if c := w.out[len(w.out)-1]; c != '{' && c != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) begin()       { w.out = append(w.out, '{') }
func (w *writer) close(c byte) { w.out = append(w.out, c) }

// key starts a member.
func (w *writer) key(k string) {
	w.comma()
	w.out = append(append(append(w.out, '"'), k...), '"', ':')
}

func (w *writer) object(k string) {
	w.key(k)
	w.begin()
}

func (w *writer) integer(k string, v int64) {
	w.key(k)
	w.out = strconv.AppendInt(w.out, v, 10)
}

func (w *writer) float(k string, v float64) {
	w.key(k)
	w.number(k, v)
}

func (w *writer) number(k string, v float64) {
	if (math.IsNaN(v) || math.IsInf(v, 0)) && w.bad == "" {
		w.bad = k
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-9 || a >= 1e21) {
		format = 'e'
	}
	w.out = strconv.AppendFloat(w.out, v, format, -1, 64)
}

func (w *writer) text(k, v string) {
	if v != "" {
		w.key(k)
		w.quote(v)
	}
}

func (w *writer) flag(k string, v bool) {
	if v {
		w.key(k)
		w.out = append(w.out, "true"...)
	}
}

func (w *writer) bool(k string, v bool) {
	w.key(k)
	w.out = strconv.AppendBool(w.out, v)
}

func (w *writer) ref(k string, r Ref) {
	if r == (Ref{}) {
		return
	}
	w.object(k)
	w.integer("id", int64(r.ID))
	w.text("name", r.Name)
	w.close('}')
}

func (w *writer) point(k string, p *Point) {
	if p != nil {
		w.place(k, *p)
	}
}

// place writes a location; a height of 0 is left out, so that three coordinates mean a height.
func (w *writer) place(k string, p Point) {
	w.key(k)
	w.out = append(w.out, '[')
	w.number(k, p.X)
	w.out = append(w.out, ',')
	w.number(k, p.Y)
	if p.Z != 0 {
		w.out = append(w.out, ',')
		w.number(k, p.Z)
	}
	w.close(']')
}

func (w *writer) floats(k string, v []float64) {
	w.key(k)
	w.out = append(w.out, '[')
	for _, x := range v {
		w.comma()
		w.number(k, x)
	}
	w.close(']')
}

func (w *writer) texts(k string, v []string) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	w.out = append(w.out, '[')
	for _, t := range v {
		w.comma()
		w.quote(t)
	}
	w.close(']')
}

func (w *writer) flags(f Flags) {
	if f == 0 {
		return
	}
	for i, name := range flagNames() {
		w.flag(name, f&(1<<i) != 0)
	}
}

// quote writes a string. Bytes that are not UTF-8 become U+FFFD.
func (w *writer) quote(s string) {
	w.out = append(w.out, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			w.ascii(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		w.out = utf8.AppendRune(w.out, r)
		i += n
	}
	w.out = append(w.out, '"')
}

func (w *writer) ascii(c byte) {
	switch {
	case c == '"' || c == '\\':
		w.out = append(w.out, '\\', c)
	case c < ' ':
		w.out = append(w.out, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
	default:
		w.out = append(w.out, c)
	}
}

// timestamp writes HH:MM:SS.mmm, with more decimals only where the time has them.
func (w *writer) timestamp(k string, t time.Duration) {
	if (t < 0 || t >= 100*time.Hour) && w.bad == "" {
		w.bad = k
	}
	w.key(k)
	w.out = append(w.out, '"')
	w.twoDigits(int(t / time.Hour % 100))
	w.out = append(w.out, ':')
	w.twoDigits(int(t / time.Minute % 60))
	w.out = append(w.out, ':')
	w.twoDigits(int(t / time.Second % 60))
	w.out = append(w.out, '.')
	rest, unit := t%time.Second, time.Second/10
	for n := 0; n < 3 || rest > 0; n++ {
		w.out = append(w.out, byte('0'+rest/unit))
		rest, unit = rest%unit, unit/10
	}
	w.out = append(w.out, '"')
}

func (w *writer) twoDigits(n int) { w.out = append(w.out, byte('0'+n/10), byte('0'+n%10)) }
