package postgres

import (
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cancha/stream"
)

// writeAt is how much text is made at once.
const writeAt = 64 << 10

// copyReader is rows as COPY reads them in text form: values parted by tabs, \N for an absent one, a line each. Behind the values stands the
// number of the row if it is to be numbered.
type copyReader struct {
	rows    *stream.Rows
	columns []column
	number  bool
	next    int
	buf     []byte
	rest    []byte // of buf
}

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		r.buf = r.buf[:0]
		for ; r.next < r.rows.Len() && len(r.buf) < writeAt; r.next++ {
			r.row()
		}
		if r.rest = r.buf; len(r.rest) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *copyReader) row() {
	for i, c := range r.columns {
		if i > 0 {
			r.buf = append(r.buf, '\t')
		}
		r.buf = appendValue(r.buf, r.rows.At(r.next, i), c.class)
	}
	if r.number {
		r.buf = strconv.AppendInt(append(r.buf, '\t'), int64(r.next), 10)
	}
	r.buf = append(r.buf, '\n')
}

func appendValue(dst []byte, v stream.Value, into class) []byte {
	switch k := v.Kind(); {
	case k == stream.Null:
		return append(dst, `\N`...)
	case into == jsons:
		return appendEscaped(dst, string(v.AppendJSON(nil)))
	case k == stream.Text, k == stream.JSON:
		return appendEscaped(dst, v.Text())
	case k == stream.Time && into == times: // the server would round up to the next microsecond
		return v.Time().Truncate(time.Microsecond).AppendFormat(dst, "2006-01-02T15:04:05.999999Z")
	case k == stream.Float && math.IsInf(v.Float(), 0):
		return append(dst, strconv.FormatFloat(v.Float(), 'f', -1, 64)+"inity"...)
	}
	return append(dst, v.String()...)
}

// appendEscaped writes a text for COPY. PostgreSQL has no texts with a zero byte or with what is not UTF-8: these become U+FFFD.
func appendEscaped(dst []byte, text string) []byte {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	for i := range len(text) {
		switch b := text[i]; b {
		case '\\':
			dst = append(dst, `\\`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case 0:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}
