package statsbomb

import (
	"math"
	"strings"

	"cancha/internal/jsontext"
)

// The forms below are those that nearly every event has. They are read at once; all else, and all that is wrong, is left to the scanner, whose
// answers and errors count. Together with rooms they make reading faster (BenchmarkScore of package streaming).

// plainRef reads {"id":30,"name":"Pass"}, written so to the letter; if it says no nothing is read.
func (s *scanner) plainRef(r *Ref) bool {
	const first, second = `{"id":`, `,"name":"`
	t, i := s.text, s.at
	if len(t)-i < len(first) || string(t[i:i+len(first)]) != first {
		return false
	}
	id, i := digitsOf(t, i+len(first))
	if i < 0 || id > math.MaxInt32 || len(t)-i < len(second) || string(t[i:i+len(second)]) != second {
		return false
	}
	i += len(second)
	end := jsontext.SkipPlain(t, i)
	if end+1 >= len(t) || t[end] != '"' || t[end+1] != '}' {
		return false
	}
	r.ID, r.Name = int(id), s.shared(t[i:end])
	s.at = end + 2
	return true
}

// digitsOf reads a whole number of at most 15 digits, and returns the position behind it, or -1.
func digitsOf(t []byte, i int) (v int64, next int) {
	start := i
	for i < len(t) && t[i]-'0' <= 9 {
		v = v*10 + int64(t[i]-'0')
		i++
	}
	if i == start || i-start > 15 || t[start] == '0' && i-start > 1 {
		return 0, -1
	}
	return v, i
}

// ends tells whether a value can end before what is at i.
func ends(t []byte, i int) bool {
	return i < len(t) && (t[i] == ',' || t[i] == '}' || t[i] == ']')
}

// whole reads a whole number in digits alone, and returns the position behind it, or -1.
func whole(t []byte, i int) (v int64, next int) {
	if v, next = digitsOf(t, i); next < 0 || !ends(t, next) {
		return 0, -1
	}
	return v, next
}

// decimal reads a number without an exponent whose digits make a whole number below 10^15, and returns the position behind it, or -1. See
// shortDecimal for why one division rounds right.
func decimal(t []byte, i int) (v float64, next int) {
	negative := i < len(t) && t[i] == '-'
	if negative {
		i++
	}
	mantissa, i := digitsOf(t, i)
	if i < 0 {
		return 0, -1
	}
	places := 0
	if i < len(t) && t[i] == '.' {
		from := i + 1
		for i = from; i < len(t) && t[i]-'0' <= 9 && mantissa < 1e14; i++ {
			mantissa = mantissa*10 + int64(t[i]-'0')
		}
		if places = i - from; places == 0 || places > 16 {
			return 0, -1
		}
	}
	if !ends(t, i) {
		return 0, -1
	}
	if v = float64(mantissa) / pow10(places); negative {
		v = math.Copysign(v, -1)
	}
	return v, i
}

// room is memory that parts of events are cut from, since an allocation costs more than reading what lies there. A part that is kept keeps the
// few thousand bytes around it. The zero room is ready; it begins small, for those who read a single event.
type room struct {
	points []Point
	passes []Pass
	lists  []string
	texts  strings.Builder
	next   int // how many points were allocated last, or of other parts about as many bytes
}

const mostParts = 64

func (r *room) more() int {
	r.next = min(max(2, 2*r.next), mostParts)
	return r.next
}

func (r *room) point(p Point) *Point {
	if len(r.points) == 0 {
		r.points = make([]Point, r.more())
	}
	at := &r.points[0]
	*at, r.points = p, r.points[1:]
	return at
}

func (r *room) pass() *Pass {
	if len(r.passes) == 0 {
		r.passes = make([]Pass, (r.more()+7)/8)
	}
	at := &r.passes[0]
	r.passes = r.passes[1:]
	return at
}

// list returns a copy of texts.
func (r *room) list(texts []string) []string {
	if len(r.lists) < len(texts) {
		r.lists = make([]string, max(r.more(), len(texts)))
	}
	list := r.lists[:len(texts):len(texts)]
	r.lists = r.lists[len(texts):]
	copy(list, texts)
	return list
}

// text returns a text that shares no memory with b.
func (r *room) text(b []byte) string {
	if r.texts.Cap()-r.texts.Len() < len(b) {
		size := 64 * r.more()
		if len(b) > size/2 {
			return string(b)
		}
		r.texts = strings.Builder{}
		r.texts.Grow(size)
	}
	from := r.texts.Len()
	r.texts.Write(b)
	return r.texts.String()[from:]
}
