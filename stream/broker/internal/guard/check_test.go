package guard

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/internal/alloctest"
	"cancha/stream/broker/internal/guardtest"
)

// TestTable writes each kind of request in each version by franz-go's own code, filled at random, and has the table read it:
// each whole one passes, and none that lacks its last byte, so the table goes over each to its end.
func TestTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	limits := Limits{}
	limits.fill()
	for _, row := range table {
		for version := int16(0); version <= row.newest; version++ {
			t.Run(fmt.Sprint(row.name, "/", version), func(t *testing.T) {
				for range 50 {
					frame := guardtest.Request(rnd, row.key, version)
					if err := check(frame, limits); err != nil {
						t.Fatalf("refused %x: %v", frame, err)
					}
					if err := check(frame[:len(frame)-1], limits); len(frame) > headerBytes && err == nil {
						t.Fatalf("passed without its last byte: %x", frame)
					}
				}
			})
		}
	}
	if len(kinds) != len(table) {
		t.Errorf("%d rows are %d kinds", len(table), len(kinds))
	}
}

func TestCheckRefuses(t *testing.T) {
	limits := Limits{Elements: 100}
	limits.fill()
	produce9 := []byte{0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1}
	metadata := []byte{0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff}
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"kind":            {[]byte{0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0, 0}, "a request of kind 32767, which this broker does not know"},
		"negative kind":   {[]byte{0xff, 0xff, 0, 0, 0, 0, 0, 1, 0, 0}, "a request of kind -1, which this broker does not know"},
		"version":         {[]byte{0, 3, 0, 99, 0, 0, 0, 1, 0, 0}, "version 99 of Metadata: this broker knows 0 to 13"},
		"version below 0": {[]byte{0, 18, 0xff, 0xff, 0, 0, 0, 1, 0, 0}, "version -1 of ApiVersions: this broker knows 0 to 5"},
		"header's tags":   {[]byte{0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}, "a broken Metadata of version 9: 4294967295 tagged fields"},
		"tags":            {append(produce9, 1, 0xff, 0xff, 0xff, 0xff, 0x0f), "a broken Produce of version 9: 4294967295 tagged fields"},
		"list":            {append(metadata, 0x7f, 0xff, 0xff, 0xff), "a broken Metadata of version 1: a list of 2147483647 in 0 bytes"},
		"compact list":    {append(produce9, 0xff, 0xff, 0xff, 0x7f), "a broken Produce of version 9: a list of 268435454 in 0 bytes"},
		"elements":        {append(append(metadata, 0, 0, 0, 101), make([]byte, 202)...), "a broken Metadata of version 1: it names too many things at once"},
		"length below -1": {append(metadata, 0, 0, 0, 1, 0xff, 0xfe), "a broken Metadata of version 1: a length of -2"},
		"no end":          {append(produce9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "a broken Produce of version 9: a number without end"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := check(c.frame, limits); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if err := check([]byte{0, 18, 0, 99, 0, 0, 0, 1, 0xff, 0xff, 0, 1, 1, 1, 0, 0, 0, 0, 0}, limits); err != nil {
		t.Errorf("ApiVersions of a version to come must reach the broker, which answers with its own: %v", err)
	}
}

// FuzzCheck takes requests apart. What passes is read by franz-go's code, as the broker does next. No allocation is out of proportion.
func FuzzCheck(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, row := range table {
		f.Add(guardtest.Request(rnd, row.key, row.newest))
	}
	limits := Limits{}
	limits.fill()
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < headerBytes {
			return
		}
		var err error
		if alloctest.Bounded(t, len(frame), func() { err = check(frame, limits) }); err == nil {
			alloctest.Bounded(t, len(frame), func() { read(frame) })
		}
	})
}

// TestLists fills each list of each kind of request in each version with elements of next to nothing. What passes takes no more memory
// than its bytes allow.
func TestLists(t *testing.T) {
	limits := Limits{}
	limits.fill()
	passed, refused := 0, 0
	for _, row := range table {
		for version := int16(0); version <= row.newest; version++ {
			k := kinds[row.key]
			e := encoder{version: version, flexible: k.flexible >= 0 && version >= k.flexible}
			for e.filled = 1; ; e.filled++ {
				e.dst, e.at = binary.BigEndian.AppendUint16(nil, uint16(row.key)), 0
				e.dst = append(binary.BigEndian.AppendUint16(e.dst, uint16(version)), 0, 0, 0, 1, 0xff, 0xff)
				if e.tags(); !e.fields(k.fields) {
					break
				}
				e.tags()
				if err := check(e.dst, limits); err != nil {
					if !strings.HasSuffix(err.Error(), "its lists hold next to nothing") {
						t.Errorf("list %d of %s of version %d: %v", e.filled, row.name, version, err)
					}
					refused++
					continue
				}
				passed++
				alloctest.Bounded(t, len(e.dst), func() { read(e.dst) })
			}
		}
	}
	if passed < 100 || refused < 100 {
		t.Errorf("%d passed, %d were refused", passed, refused)
	}
}

// encoder writes a request of zeros, with one of its lists filled.
type encoder struct {
	version    int16
	flexible   bool
	dst        []byte
	at, filled int // the list that it is at, the one to be filled
}

// fields reports whether the list to be filled has been met.
func (e *encoder) fields(fields []field) (met bool) {
	for i := range fields {
		if f := &fields[i]; e.version >= f.from && e.version <= f.to {
			met = e.field(f) || met
		}
	}
	return met
}

func (e *encoder) field(f *field) (met bool) {
	switch f.form {
	case fixed:
		e.dst = append(e.dst, make([]byte, f.size)...)
	case text:
		e.length(2, 0)
	case data:
		e.length(4, 0)
	case optional:
		e.dst = append(e.dst, 1)
		met = e.element(f)
	case array:
		return e.array(f)
	}
	return met
}

func (e *encoder) element(f *field) (met bool) {
	met = e.fields(f.of)
	if f.tagged {
		e.tags()
	}
	return met
}

// array has one element, so that the lists in it are met, 19,000 where it is the one, and none in those.
func (e *encoder) array(f *field) (met bool) {
	n := 1
	if e.at++; e.at > e.filled {
		n = 0
	}
	if e.at == e.filled {
		n, met = 19_000, true
	}
	e.length(4, n)
	for range n {
		met = e.element(f) || met
	}
	return met
}

func (e *encoder) length(width, n int) {
	switch {
	case e.flexible:
		e.dst = binary.AppendUvarint(e.dst, uint64(n+1))
	case width == 2:
		e.dst = binary.BigEndian.AppendUint16(e.dst, uint16(n))
	default:
		e.dst = binary.BigEndian.AppendUint32(e.dst, uint32(n))
	}
}

func (e *encoder) tags() {
	if e.flexible {
		e.dst = append(e.dst, 0)
	}
}

// read does what kfake does with a request.
func read(frame []byte) {
	r := kbin.Reader{Src: frame}
	key, version := r.Int16(), r.Int16()
	r.Int32()
	r.NullableString()
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if req.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	_ = req.ReadFrom(r.Src)
}
