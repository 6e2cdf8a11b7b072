package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// rows makes JSON objects of the rows of a CSV file. It takes lines one by one and keeps where it is within a row, so that a row of many
// lines is looked at once.
type rows struct {
	comma  byte
	prefix [][]byte // what stands before each field in its object: `{"id":`, `,"name":`; nil before the header has been taken in
	json   []byte   // the objects

	fields []string // of the header, while it is read
	n      int      // fields of the row in hand
	quoted bool     // within quotes: the row goes on with the next line
	text   []byte   // of a quoted field
	size   int      // bytes of the row in hand
	first  bool     // it is the file's first
}

// newRows reads rows from a line on, which may be the first of the file.
func newRows(comma byte, header []string, first bool) *rows {
	r := &rows{comma: comma, first: first}
	if header != nil {
		r.name(header)
	}
	return r
}

// open tells whether a row has begun and not ended.
func (r *rows) open() bool { return r.quoted }

// name sets the names of the columns.
func (r *rows) name(names []string) {
	r.prefix = make([][]byte, 0, len(names))
	for i, name := range names {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		r.prefix = append(r.prefix, append(appendQuoted([]byte{sep}, []byte(name)), ':'))
	}
}

// named takes the row just read for the header.
func (r *rows) named() ([]string, error) {
	names, err := header(r.fields)
	if err != nil {
		return nil, err
	}
	r.name(names)
	r.fields = nil
	return names, nil
}

// header gives the columns without a name one, and refuses two of the same name.
func header(fields []string) ([]string, error) {
	names := slices.Clone(fields)
	for i, name := range names {
		if name == "" {
			names[i] = fmt.Sprintf("column_%d", i+1)
		}
		if first := slices.Index(names[:i], names[i]); first >= 0 {
			return nil, fmt.Errorf("columns %d and %d are both called %q", first+1, i+1, names[i])
		}
	}
	return names, nil
}

// take takes in a line, which ends at its byte end before the line break. It tells whether the row is whole.
func (r *rows) take(line []byte, end int) (whole bool, err error) {
	if !r.quoted {
		r.n, r.size = 0, 0
	}
	r.size += len(line)
	if !utf8.Valid(line) {
		return false, errors.New("the text is not UTF-8: convert it, with iconv -f latin1 -t utf-8 for example")
	}
	for i := 0; ; i++ {
		switch {
		case r.quoted:
			n, closed := r.quote(line[i:])
			if i += n; !closed {
				return false, nil
			}
		case i < end && line[i] == '"':
			r.quoted = true
			continue
		default:
			field := line[i:end]
			if n := bytes.IndexByte(field, r.comma); n >= 0 {
				field = field[:n]
			}
			if bytes.IndexByte(field, '"') >= 0 {
				return false, fmt.Errorf("field %d: a quote within a field that does not begin with one", r.n+1)
			}
			if r.first && bytes.IndexByte(field, '\r') >= 0 { // where all lines end so, the file is one line
				return false, errors.New(`a carriage return alone, as lines of old Macs end: convert the file, with tr '\r' '\n' for example`)
			}
			r.field(field)
			i += len(field)
		}
		if i >= end {
			return true, r.close()
		}
		if line[i] != r.comma {
			return false, fmt.Errorf("field %d: %q behind the closing quote", r.n, line[i])
		}
	}
}

// quote takes in the text of a quoted field up to its closing quote, or to the end of the line. It returns how long that is.
func (r *rows) quote(line []byte) (n int, closed bool) {
	for {
		to := bytes.IndexByte(line[n:], '"')
		if to < 0 {
			r.text = append(r.text, line[n:]...)
			return len(line), false
		}
		r.text = append(r.text, line[n:n+to]...)
		n += to + 1
		if n < len(line) && line[n] == '"' { // two are one
			r.text = append(r.text, '"')
			n++
			continue
		}
		r.quoted = false
		r.field(r.text)
		r.text = r.text[:0]
		return n, true
	}
}

// field takes in a field. Those beyond the header's are counted.
func (r *rows) field(text []byte) {
	switch {
	case r.prefix == nil:
		r.fields = append(r.fields, string(text))
	case r.n < len(r.prefix):
		r.json = appendQuoted(append(r.json, r.prefix[r.n]...), text)
	}
	r.n++
}

// close ends a row.
func (r *rows) close() error {
	r.first = false
	if r.prefix == nil {
		return nil
	}
	if r.n != len(r.prefix) {
		return fmt.Errorf("%d fields, and the header has %d", r.n, len(r.prefix))
	}
	r.json = append(r.json, '}')
	return nil
}

// appendQuoted appends a text as JSON.
func appendQuoted(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, text[from:]...), '"')
}
