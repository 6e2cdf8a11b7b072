package guard

import (
	"encoding/binary"
	"fmt"
)

// headerBytes are the least that a request has: key, version, correlation and the length of the client's name.
const headerBytes = 10

// check refuses a request whose kind or version does not exist, or whose lengths and counts are not those of its bytes.
func check(req []byte, limits Limits) error {
	key, version := int16(binary.BigEndian.Uint16(req)), int16(binary.BigEndian.Uint16(req[2:]))
	k, ok := kinds[key]
	if !ok {
		return refusal(fmt.Sprintf("a request of kind %d, which this broker does not know", key))
	}
	if version < 0 || version > k.newest && key != apiVersions {
		return refusal(fmt.Sprintf("version %d of %s: this broker knows 0 to %d", version, k.name, k.newest))
	}
	w := walk{src: req[8:], version: version, elements: limits.Elements, lists: listsFree + listsPerByte*len(req)}
	w.text(false) // the client's name is never compact
	w.flexible = k.flexible >= 0 && version >= k.flexible
	if w.flexible {
		w.tags(nil)
	}
	w.fields(k.fields)
	if w.flexible {
		w.tags(k.tagOne)
	}
	if w.wrong != "" {
		return refusal(fmt.Sprintf("a broken %s of version %d: %s", k.name, version, w.wrong))
	}
	return nil // bytes behind the last field are left alone, as Kafka does
}

// What the lists of a request may take, bytes, once they are made: so much of any request, and so much for each of its bytes. An
// element takes one byte on the wire and up to a hundred in its list, so garbage could cost a hundred times what it has; a client's
// elements have names, numbers or records in them and cost less than their bytes many times over.
const (
	listsFree    = 64 << 10
	listsPerByte = 8
)

// walk goes over the bytes of a request without making anything of them.
type walk struct {
	src      []byte
	version  int16
	flexible bool
	elements int    // how many more the request may name
	lists    int    // how many bytes more its lists may take
	wrong    string // the first thing that was
}

// fail keeps the first thing that was wrong.
func (w *walk) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
		w.src = nil
	}
}

func (w *walk) fields(fields []field) {
	for i := range fields {
		if f := &fields[i]; w.version >= f.from && w.version <= f.to {
			w.field(f)
		}
		if w.wrong != "" {
			return
		}
	}
}

func (w *walk) field(f *field) {
	switch f.form {
	case fixed:
		w.skip(int64(f.size), "a number")
	case text:
		w.text(w.flexible)
	case data:
		w.skip(w.length(4, w.flexible), "bytes")
	case optional:
		if null := w.byte() >= 0x80; !null {
			w.element(f)
		}
	case array:
		w.array(f)
	}
}

// element walks over one of what is in f.
func (w *walk) element(f *field) {
	w.fields(f.of)
	if w.flexible && f.tagged {
		w.tags(nil)
	}
}

func (w *walk) array(f *field) {
	n := w.length(4, w.flexible)
	if n > int64(len(w.src)) {
		w.fail("a list of %d in %d bytes", n, len(w.src))
		return
	}
	if w.elements -= int(max(n, 0)); w.elements < 0 {
		w.fail("it names too many things at once")
		return
	}
	if w.lists -= f.memory * int(max(n, 0)); w.lists < 0 {
		w.fail("its lists hold next to nothing")
		return
	}
	for ; n > 0 && w.wrong == ""; n-- {
		w.element(f)
	}
}

func (w *walk) text(compact bool) { w.skip(w.length(2, compact), "a text") }

// length reads a length or count of the given width, or a compact one; -1 is null.
func (w *walk) length(width int, compact bool) int64 {
	if compact {
		return int64(w.uvarint()) - 1
	}
	if len(w.src) < width {
		w.fail("it ends before its last field")
		return -1
	}
	n := int64(int16(binary.BigEndian.Uint16(w.src)))
	if width == 4 {
		n = int64(int32(binary.BigEndian.Uint32(w.src)))
	}
	if w.src = w.src[width:]; n < -1 {
		w.fail("a length of %d", n)
	}
	return n
}

func (w *walk) skip(n int64, what string) {
	switch {
	case w.wrong != "":
	case n > int64(len(w.src)):
		w.fail("%s of %d bytes where %d are left", what, n, len(w.src))
	case n > 0:
		w.src = w.src[n:]
	}
}

func (w *walk) byte() (b byte) {
	if len(w.src) == 0 {
		w.fail("it ends before its last field")
		return 0xff
	}
	b, w.src = w.src[0], w.src[1:]
	return b
}

func (w *walk) uvarint() uint32 {
	v, n := binary.Uvarint(w.src)
	if n <= 0 || v > 1<<32-1 {
		w.fail("a number without end")
		return 0
	}
	w.src = w.src[n:]
	return uint32(v)
}

// tags walks over tagged fields: a count, then of each its number, its size and as many bytes. The first may have a form.
func (w *walk) tags(one []field) {
	n := w.uvarint()
	if n > maxTags {
		w.fail("%d tagged fields", n)
	}
	for ; n > 0 && w.wrong == ""; n-- {
		tag, size := w.uvarint(), w.uvarint()
		start := w.src
		w.skip(int64(size), "a tagged field")
		if tag == 1 && one != nil && w.wrong == "" {
			inner := walk{src: start[:len(start)-len(w.src)], version: w.version, flexible: true}
			inner.fields(one)
			inner.tags(nil)
			w.wrong = inner.wrong
		}
	}
}

// maxTags is far above what any version of Kafka's protocol has in one place.
const maxTags = 32
