package statsbomb

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"cancha/internal/jsontext"
)

// scanner walks JSON text and keeps its first error, after which every question is answered with nothing and every
// object and array ends: readers of fields need no error handling of their own. It is here because events are read by
// the hundred thousand and in two shapes (a name as "Pass" or {"id":30,"name":"Pass"}), which encoding/json can tell
// apart only by scanning each value twice; and because rows that passed through pandas carry the bare word NaN.
type scanner struct {
	text  []byte
	at    int
	depth int
	keys  [maxKeys][2]int   // where the current key of each nesting level stands in text
	names map[string]string // texts seen before, so that a name is one string; nil means every text is new
	room  room
	err   error
}

const (
	maxKeys  = 8      // nesting levels whose keys an error names
	maxDepth = 256    // of a value: foreign text must not exhaust the stack
	maxNames = 16_384 // texts kept for reuse: foreign text must not grow them without end
)

// fail records the first error, with the field and the place where reading stood.
func (s *scanner) fail(format string, args ...any) {
	if s.err != nil {
		return
	}
	s.err = &syntaxError{field: s.field(), offset: s.at, problem: fmt.Sprintf(format, args...)}
	s.at = len(s.text)
}

type syntaxError struct {
	field   string
	offset  int
	problem string
}

func (e *syntaxError) Error() string {
	if e.field == "" {
		return fmt.Sprintf("%s at byte %d", e.problem, e.offset)
	}
	return fmt.Sprintf("field %s: %s at byte %d", e.field, e.problem, e.offset)
}

// field names the value being read, such as "shot.outcome.id".
func (s *scanner) field() string {
	var path []string
	for _, k := range s.keys[:min(s.depth, maxKeys)] {
		if k[1] > k[0] {
			path = append(path, strings.ToValidUTF8(string(s.text[k[0]:min(k[1], k[0]+64)]), "?"))
		}
	}
	return strings.Join(path, ".")
}

// peek returns the next byte that is not white space, or 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) found() string {
	if c := s.peek(); c == 0 {
		return "the end"
	}
	return strconv.Quote(string(s.text[s.at:min(len(s.text), s.at+12)]))
}

// open takes an opening bracket.
func (s *scanner) open(bracket byte, want string) bool {
	if s.peek() != bracket {
		s.fail("want %s, found %s", want, s.found())
		return false
	}
	s.at++
	if s.depth++; s.depth > maxDepth {
		s.fail("nested deeper than %d", maxDepth)
		return false
	}
	if s.depth <= maxKeys {
		s.keys[s.depth-1] = [2]int{}
	}
	return true
}

// next reports whether another member follows, and takes the comma before it, or the closing bracket.
func (s *scanner) next(closing byte, first bool) bool {
	c := s.peek()
	switch {
	case s.err != nil:
		return false
	case c == closing:
		s.at++
		s.depth--
		return false
	case first:
		return true
	case c == ',':
		s.at++
		return true
	}
	s.fail("want , or %c, found %s", closing, s.found())
	return false
}

// object reads an object. member is called for each key and must read or skip its value.
func (s *scanner) object(member func(key []byte)) {
	if !s.open('{', "an object") {
		return
	}
	for first := true; s.next('}', first); first = false {
		key := s.key()
		if s.err == nil {
			member(key)
		}
	}
}

func (s *scanner) key() []byte {
	s.peek()
	start := s.at + 1
	key := s.str()
	if s.depth <= maxKeys && s.err == nil {
		s.keys[s.depth-1] = [2]int{start, s.at - 1}
	}
	if s.peek() != ':' {
		s.fail("want :, found %s", s.found())
		return nil
	}
	s.at++
	return key
}

// array reads an array. element is called for each element and must read or skip it.
func (s *scanner) array(element func()) {
	if !s.open('[', "an array") {
		return
	}
	for first := true; s.next(']', first); first = false {
		element()
	}
}

// null takes the word null, or pandas' NaN, if it is next.
func (s *scanner) null() bool {
	switch s.peek() {
	case 'n':
		return s.word("null")
	case 'N':
		return s.word("NaN")
	}
	return false
}

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.text[s.at:], []byte(w)) {
		s.fail("want a value, found %s", s.found())
		return false
	}
	s.at += len(w)
	return true
}

// flag reads true or false; null is false.
func (s *scanner) flag() bool {
	switch s.peek() {
	case 't':
		return s.word("true")
	case 'f':
		s.word("false")
		return false
	}
	if !s.null() {
		s.fail("want true or false, found %s", s.found())
	}
	return false
}

// str reads a string and returns its bytes, valid until the text changes.
func (s *scanner) str() []byte {
	if s.peek() != '"' {
		s.fail("want a string, found %s", s.found())
		return nil
	}
	start := s.at + 1
	if i := jsontext.SkipPlain(s.text, start); i < len(s.text) {
		switch c := s.text[i]; c {
		case '"':
			s.at = i + 1
			return s.text[start:i]
		case '\\':
			return s.escaped(start, i)
		default:
			s.at = i
			s.fail("control character %#02x in a string", c)
			return nil
		}
	}
	s.at = len(s.text)
	s.fail("a string that does not end")
	return nil
}

// escaped reads on in a string that started at start and has its first escape at i.
func (s *scanner) escaped(start, i int) []byte {
	out := append([]byte(nil), s.text[start:i]...)
	for s.at = i; s.at < len(s.text); {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			return out
		case c < ' ':
			s.fail("control character %#02x in a string", c)
			return nil
		case c != '\\':
			out = append(out, c)
			s.at++
		default:
			out = s.escape(out)
		}
	}
	s.fail("a string that does not end")
	return nil
}

// escape appends the character that the escape at the reading place stands for.
func (s *scanner) escape(out []byte) []byte {
	if s.at+1 >= len(s.text) {
		s.fail("a string that does not end")
		return out
	}
	c := s.text[s.at+1]
	if c == 'u' {
		return utf8.AppendRune(out, s.unicode())
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		s.fail("unknown escape \\%c", c)
		return out
	}
	s.at += 2
	return append(out, "\"\\/\b\f\n\r\t"[i])
}

// unicode reads \uXXXX, or two of them that make one character; half a pair is U+FFFD, as in encoding/json.
func (s *scanner) unicode() rune {
	r := s.hex()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if bytes.HasPrefix(s.text[s.at:], []byte(`\u`)) {
		at := s.at
		if r = utf16.DecodeRune(r, s.hex()); r != utf8.RuneError {
			return r
		}
		if s.err == nil {
			s.at = at
		}
	}
	return utf8.RuneError
}

func (s *scanner) hex() rune {
	if s.at+6 > len(s.text) {
		s.fail("a string that does not end")
		return utf8.RuneError
	}
	v, err := strconv.ParseUint(string(s.text[s.at+2:s.at+6]), 16, 32)
	if err != nil {
		s.fail("want four hexadecimal digits, found %q", s.text[s.at+2:s.at+6])
		return utf8.RuneError
	}
	s.at += 6
	return rune(v)
}

// name reads a string that comes again and again, so that equal names share memory. Null is "".
func (s *scanner) name() string {
	if s.null() {
		return ""
	}
	return s.shared(s.str())
}

// shared returns a text, in the memory of an equal one before it.
func (s *scanner) shared(b []byte) string {
	if n, ok := s.names[string(b)]; ok {
		return n
	}
	n := strings.ToValidUTF8(string(b), "\uFFFD")
	if s.names != nil && len(s.names) < maxNames && len(n) == len(b) {
		s.names[n] = n
	}
	return n
}

// own reads a string that comes once, such as an id. Null is "".
func (s *scanner) own() string {
	if s.null() {
		return ""
	}
	return strings.ToValidUTF8(s.room.text(s.str()), "\uFFFD")
}

// span takes a number's text.
func (s *scanner) span() []byte {
	s.peek()
	start, t := s.at, s.text
	i := start
	if i < len(t) && t[i] == '-' {
		i++
	}
	whole := i
	i = digits(t, i)
	ok := i > whole && (t[whole] != '0' || i == whole+1)
	if i < len(t) && t[i] == '.' {
		from := i + 1
		i = digits(t, from)
		ok = ok && i > from
	}
	if i < len(t) && t[i]|0x20 == 'e' {
		i++
		if i < len(t) && (t[i] == '+' || t[i] == '-') {
			i++
		}
		from := i
		i = digits(t, i)
		ok = ok && i > from
	}
	if !ok {
		s.fail("want a number, found %s", s.found())
		return nil
	}
	s.at = i
	return t[start:i]
}

func digits(t []byte, i int) int {
	for i < len(t) && t[i]-'0' <= 9 {
		i++
	}
	return i
}

// float reads a finite number; null is 0.
func (s *scanner) float() float64 {
	if s.null() {
		return 0
	}
	if v, next := decimal(s.text, s.at); next > 0 {
		s.at = next
		return v
	}
	start := s.at
	b := s.span()
	if v, ok := shortDecimal(b); ok {
		return v
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		if s.at = start; errors.Is(err, strconv.ErrRange) {
			s.fail("the number %.40s is out of range", b)
		}
		return 0
	}
	return v
}

// shortDecimal converts digits with at most one point whose digits make a whole number below 2^53: then that number and
// the power of ten are exact and one division rounds right (Clinger 1990), at a third of ParseFloat's cost.
func shortDecimal(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var mantissa int64
	places, point := 0, false
	for i, c := range b {
		switch {
		case c-'0' <= 9:
			mantissa = mantissa*10 + int64(c-'0')
			if point {
				places++
			}
		case c == '.':
			point = true
		case c == '-' && i == 0:
			// The sign is put on below, so that -0 keeps it.
		default:
			return 0, false
		}
	}
	if mantissa >= 1<<53 {
		return 0, false
	}
	v := float64(mantissa) / pow10(places)
	if b[0] == '-' {
		v = math.Copysign(v, -1)
	}
	return v, true
}

func pow10(n int) float64 {
	tens := [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16}
	return tens[n]
}

// integer reads a whole number, written with a point or not: pandas turns columns with gaps into floats. Null is 0.
func (s *scanner) integer() int64 {
	s.peek()
	if v, next := whole(s.text, s.at); next > 0 {
		s.at = next
		return v
	}
	start := s.at
	v := s.float()
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		s.at = start
		s.fail("want a whole number, found %s", s.found())
		return 0
	}
	return int64(v)
}

// small reads a whole number that fits an int of 32 bits, as all ids and counters of the data do.
func (s *scanner) small() int {
	s.peek()
	start := s.at
	v := s.integer()
	if v != int64(int32(v)) {
		s.at = start
		s.fail("the number %s is out of range", s.found())
		return 0
	}
	return int(v)
}

// skip passes over a value of any kind.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '{':
		s.object(func([]byte) { s.skip() })
	case '[':
		s.array(s.skip)
	case '"':
		s.str()
	case 't', 'f':
		s.flag()
	case 'n', 'N':
		s.null()
	default:
		s.span()
	}
}

// end checks that nothing but white space is left.
func (s *scanner) end() {
	if s.peek() != 0 || s.at < len(s.text) {
		s.fail("want the end, found %s", s.found())
	}
}
