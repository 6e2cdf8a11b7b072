package cellio

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// encode marshals a frame's body, which is in pieces where it is large. A display's texts are not copied as far as they stand for
// themselves, and else once: encoding/json copies them three times on the way and escapes what only a page's source would mind. Of a
// display of 20 MB it is the memory that is touched for the first time that costs (measured).
func encode(body any) (first json.RawMessage, more [][]byte, err error) {
	d, ok := body.(Display)
	if !ok {
		first, err = json.Marshal(body)
		return first, nil, err
	}
	var p pieces
	if err := p.display(d); err != nil {
		return nil, nil, err
	}
	p.next()
	return p.done[0], p.done[1:], nil
}

// largePiece is from how many bytes on text is a piece of its own, and about how many a piece of what had to be copied has.
const largePiece = 64 << 10

// pieces is JSON on its way into a frame.
type pieces struct {
	done [][]byte
	last []byte // is still written to
}

func (p *pieces) next() { p.done, p.last = append(p.done, p.last), nil }

// add appends s, which is not copied where it is large.
func (p *pieces) add(s string) {
	switch {
	case len(s) >= largePiece:
		p.next()
		p.done = append(p.done, unsafe.Slice(unsafe.StringData(s), len(s)))
		return
	case len(p.last)+len(s) > largePiece:
		p.next()
		p.last = make([]byte, 0, largePiece)
	}
	p.last = append(p.last, s...)
}

func (p *pieces) display(d Display) error {
	p.add(`{"data":{`)
	for i, mime := range slices.Sorted(maps.Keys(d.Data)) {
		if i > 0 {
			p.add(",")
		}
		p.text(mime)
		p.add(":")
		if s, ok := d.Data[mime].(string); ok {
			if mime == "text/plain" {
				s = Plain(s)
			}
			p.text(s)
			continue
		}
		value, err := json.Marshal(d.Data[mime])
		if err != nil {
			return err
		}
		p.add(string(value))
	}
	d.Data = nil
	if d.Metadata == nil {
		d.Metadata = map[string]any{} // front ends want an object
	}
	rest, err := json.Marshal(d)
	if err != nil {
		return err
	}
	p.add("}" + string(rest[len(`{"data":null`):]))
	return nil
}

// text adds s as a JSON string; bytes that are no UTF-8 become U+FFFD, as encoding/json has it.
func (p *pieces) text(s string) {
	const hex = "0123456789abcdef"
	p.add(`"`)
	from := 0 // what is not appended yet
	for i := 0; i < len(s); {
		for i+8 <= len(s) && plainWord(binary.LittleEndian.Uint64([]byte(s[i:i+8]))) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if plain(c) {
			i++
			continue
		}
		size, escape := 1, ""
		switch {
		case c == '"':
			escape = `\"`
		case c == '\\':
			escape = `\\`
		case c == '\n':
			escape = `\n`
		case c < ' ':
			escape = string([]byte{'\\', 'u', '0', '0', hex[c>>4], hex[c&15]})
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
				escape = `\ufffd`
			}
		}
		if escape != "" {
			p.add(s[from:i])
			p.add(escape)
			from = i + size
		}
		i += size
	}
	p.add(s[from:])
	p.add(`"`)
}

// plain reports whether c is ASCII that stands for itself in a JSON string.
func plain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// plainWord tells whether all eight bytes of a word are plain: a display is then encoded at 2.1 GB/s, one by one at 0.9 (measured). It follows
// "Determine if a word has a zero byte" and "... a byte less than n" of Anderson's Bit Twiddling Hacks.
func plainWord(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, back := w^ones*'"', w^ones*'\\'
	control := w - ones*' '
	return (w|control|(quote-ones)&^quote|(back-ones)&^back)&highs == 0
}
