package decode

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cancha/internal/jsontext"
	"cancha/stream/internal/value"
)

// CSV reads the slots out of lines of CSV.
type CSV struct {
	columns   int
	separator byte
	slots     []Slot
	at        [][]int // of each column, its slots
	times     jsontext.Instants
	seen      []bool
	scratch   []byte
}

// NewCSV returns a decoder of lines with these columns.
func NewCSV(slots []Slot, columns []string, separator byte) *CSV {
	c := &CSV{columns: len(columns), separator: separator, slots: slots, at: make([][]int, len(columns)), seen: make([]bool, len(slots))}
	for i, s := range slots {
		if k := slices.Index(columns, s.Path); k >= 0 {
			c.at[k] = append(c.at[k], i)
		}
	}
	return c
}

// Decode implements stream.Decoder.
func (c *CSV) Decode(line []byte, row []value.Value) (reason string) {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	c.scratch = c.scratch[:0]
	for k, i := 0, 0; ; k++ {
		field, next, reason := c.field(line, i)
		if reason != "" {
			return reason
		}
		if k < c.columns {
			for _, slot := range c.at[k] {
				if reason := c.put(row, slot, field); reason != "" {
					return reason
				}
			}
		}
		if next > len(line) {
			if k+1 != c.columns {
				return "CSV with " + strconv.Itoa(k+1) + " fields, want " + strconv.Itoa(c.columns)
			}
			return ""
		}
		i = next
	}
}

// field reads the field at i, and where the next one begins: behind the line's end if there is none.
func (c *CSV) field(line []byte, i int) (field []byte, next int, reason string) {
	if i < len(line) && line[i] == '"' {
		return c.quoted(line, i+1)
	}
	end := i
	for end < len(line) && line[end] != c.separator {
		if line[end] == '"' {
			return nil, 0, "CSV with a quote within a field"
		}
		end++
	}
	return line[i:end], end + 1, ""
}

func (c *CSV) quoted(line []byte, i int) (field []byte, next int, reason string) {
	from := len(c.scratch)
	for ; i < len(line); i++ {
		if line[i] != '"' {
			c.scratch = append(c.scratch, line[i])
			continue
		}
		if i++; i < len(line) && line[i] == '"' {
			c.scratch = append(c.scratch, '"')
			continue
		}
		if i < len(line) && line[i] != c.separator {
			return nil, 0, "CSV with text behind a closing quote"
		}
		return append([]byte(nil), c.scratch[from:]...), i + 1, ""
	}
	return nil, 0, "CSV with a quote that is not closed"
}

func (c *CSV) put(row []value.Value, slot int, field []byte) (reason string) {
	if len(field) == 0 {
		return ""
	}
	s := c.slots[slot]
	c.seen[slot] = true
	switch s.Want {
	case Number:
		v, ok := plainNumber(field)
		if !ok {
			return wrong(s.Path, s.Want, "another text")
		}
		row[s.At] = v
	case Instant:
		ns, ok := c.times.Parse(field)
		if !ok {
			return wrong(s.Path, s.Want, "another text")
		}
		row[s.At] = value.Nanos(ns)
	case Truth:
		v, ok := truthOf(string(field))
		if !ok {
			return wrong(s.Path, s.Want, "another text")
		}
		row[s.At] = v
	case Natural:
		row[s.At] = plain(field)
	default:
		row[s.At] = text(field)
	}
	return ""
}

func plainNumber(field []byte) (value.Value, bool) {
	x, next, ok := jsontext.ParseFloat(field, 0)
	if !ok || next != len(field) || math.Abs(x) > maxNumber {
		return value.Value{}, false
	}
	return exact(x, field), true
}

// plain is a number where the field is one as JSON writes them, and a text otherwise.
func plain(field []byte) value.Value {
	if v, next := natural(field, 0); next == len(field) {
		return v
	}
	if v, ok := truthOf(string(field)); ok {
		return v
	}
	return text(field)
}

// truthOf is a text that says true or false as what it says.
func truthOf(text string) (v value.Value, ok bool) {
	return value.BoolOf(text == "true"), text == "true" || text == "false"
}

// TextOf returns a text that shares its bytes; what is no UTF-8 in it becomes U+FFFD.
func TextOf(b []byte) value.Value { return text(b) }

func text(field []byte) value.Value {
	if !utf8.Valid(field) {
		return value.TextOf(strings.ToValidUTF8(string(field), "\uFFFD"))
	}
	return value.TextOf(view(field))
}

// Seen implements stream.Decoder.
func (c *CSV) Seen(slot int) bool { return c.seen[slot] }

// Texts is the decoder of records that are texts.
type Texts struct{ slots []Slot }

// NewText returns a decoder whose slots all are the record.
func NewText(slots []Slot) Texts { return Texts{slots} }

// Decode implements stream.Decoder.
func (d Texts) Decode(record []byte, row []value.Value) (reason string) {
	for _, s := range d.slots {
		row[s.At] = text(record)
	}
	return ""
}

// Seen implements stream.Decoder.
func (Texts) Seen(int) bool { return true }
