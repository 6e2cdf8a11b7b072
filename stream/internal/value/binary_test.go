package value

import (
	"bytes"
	"math"
	"testing"
)

func TestBinary(t *testing.T) {
	for _, v := range []Value{{}, BoolOf(true), BoolOf(false), IntOf(0), IntOf(math.MinInt64), IntOf(math.MaxInt64), FloatOf(0), FloatOf(math.Copysign(0, -1)),
		FloatOf(math.Inf(-1)), FloatOf(0.1), TextOf(""), TextOf("a\x00ü"), JSONOf(`{"a":[1]}`), Nanos(math.MinInt64), Nanos(1)} {
		b := v.AppendBinary(nil)
		got, n := ReadBinary(append(bytes.Clone(b), 7))
		if got != v || n != len(b) {
			t.Errorf("%v (%v): read %v of %d bytes, want %d", v, v.Kind(), got, n, len(b))
		}
		for i := range b {
			if got, n := ReadBinary(b[:i]); n != 0 {
				t.Errorf("%v cut to %d of %d bytes: read %v", v, i, len(b), got)
			}
		}
	}
	for _, wrong := range [][]byte{{byte(Any)}, {200}, {byte(Text), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}} {
		if v, n := ReadBinary(wrong); n != 0 {
			t.Errorf("%v: read %v of %d bytes, want nothing", wrong, v, n)
		}
	}
}
