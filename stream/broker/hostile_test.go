package broker

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream/broker/internal/guardtest"
)

// TestGarbage sends what ended the process or filled its memory, and produces beside it.
func TestGarbage(t *testing.T) {
	b := start(t, Config{})
	for name, frame := range map[string]string{
		"a kind that does not exist":         "\x00\x00\x00\x0d\x03\xe7\x00\x00\x00\x00\x00\x01\x00\x03abc",
		"a negative kind":                    "\x00\x00\x00\x0d\xff\xff\x00\x00\x00\x00\x00\x01\x00\x03abc",
		"a length of 4 GB":                   "\xff\xff\xff\xff",
		"a list longer than its request":     "\x00\x00\x00\x0e\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xff\xff\xff",
		"four billion tagged fields":         "\x00\x00\x00\x0f\x00\x03\x00\x09\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\x0f",
		"a version that does not exist":      "\x00\x00\x00\x0a\x00\x03\x03\xe7\x00\x00\x00\x01\xff\xff",
		"a kind of brokers among themselves": "\x00\x00\x00\x0a\x00\x04\x00\x00\x00\x00\x00\x01\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", b.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(30 * time.Second))
			c.Write([]byte(frame))
			if n, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("answered with %d bytes", n)
			}
		})
	}
	if err := client(t, b.Addr()).ProduceSync(t.Context(), kgo.StringRecord("still here")).FirstErr(); err != nil {
		t.Error(err)
	}
}

// FuzzRequests sends whole requests of all kinds with fields that no client would send. A fault of kfake ends the process.
func FuzzRequests(f *testing.F) {
	b, err := Start(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { b.Close() })
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { send(t, b.Addr(), rand.New(rand.NewPCG(seed, 0))) })
}

// send speaks until its first request that is not answered.
func send(t *testing.T, addr string, rnd *rand.Rand) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 50 {
		key := int16(rnd.IntN(93))
		r := kmsg.RequestForKey(key)
		if r == nil {
			continue
		}
		body := guardtest.Request(rnd, key, int16(rnd.IntN(int(r.MaxVersion())+1)), "x", "y")
		c.SetDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
			return
		}
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
			return
		}
	}
}
