// Package guardtest makes requests that no client would send, for tests of what stands on a broker's port. It knows the form
// of each kind from franz-go's own code, and ends there: what an answer means is for the test to say.
package guardtest

import (
	"math/rand/v2"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is a request without its length in front, its fields filled at random: numbers small, at the edge of their type or
// any, texts from those given or made up.
func Request(rnd *rand.Rand, key, version int16, texts ...string) []byte {
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	f := filler{rnd, append(texts, "", "a", "topic")}
	f.fill(reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, 1)[4:]
}

type filler struct {
	rnd   *rand.Rand
	texts []string
}

func (f filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "UnknownTags" && n != "Version" {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		if f.rnd.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if f.rnd.IntN(8) == 0 {
			return
		}
		n := f.rnd.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(f.rnd.IntN(256)))
		}
	case reflect.String:
		v.SetString(f.texts[f.rnd.IntN(len(f.texts))])
	case reflect.Bool:
		v.SetBool(f.rnd.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(f.rnd.NormFloat64())
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.number(v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(f.rnd.IntN(256)))
	}
}

// number is small, an edge of its type, or any.
func (f filler) number(bits int) int64 {
	edge := int64(1)<<(bits-1) - 1
	return []int64{-1, 0, 0, 1, 1, 2, int64(f.rnd.IntN(10)), edge, -edge - 1, f.rnd.Int64() >> (64 - bits)}[f.rnd.IntN(10)]
}
