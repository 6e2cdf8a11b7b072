package guard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

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

// FuzzCheck takes requests apart. What passes is read by franz-go's code, as the broker does next, with memory in proportion.
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
		var before, checked, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := check(frame, limits)
		if runtime.ReadMemStats(&checked); checked.TotalAlloc-before.TotalAlloc > 1<<16 {
			t.Errorf("checking %d bytes took %d", len(frame), checked.TotalAlloc-before.TotalAlloc)
		}
		if err != nil {
			return
		}
		read(frame)
		if runtime.ReadMemStats(&after); after.TotalAlloc-checked.TotalAlloc > 1<<16+64*uint64(len(frame)) {
			t.Errorf("reading %d bytes took %d", len(frame), after.TotalAlloc-checked.TotalAlloc)
		}
	})
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
