package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"cancha/internal/alloctest"
	"cancha/jobs/queue"
)

// FuzzRecord: any bytes of a file are a message or an error; a message that is written anew is the same.
func FuzzRecord(f *testing.F) {
	whole, err := encodeRecord(&queue.Message{ID: "1", Body: []byte("body"), Priority: 9, Headers: map[string]string{"h": "v"}},
		&queue.Death{Queue: "q", Reason: "why", Count: 3, At: time.Unix(1, 0)})
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{whole, whole[:5], nil, {recordForm, 0, 0}, {recordForm, 9, 0, 0, 0, 0, 2, '{', '}', 'x'},
		{recordForm, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 127}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		if _, _, err := decodeRecord(b); err == nil && len(b) > checked { // one bit less is found
			b[len(b)-1] ^= 1
			if _, _, err := decodeRecord(b); err == nil {
				t.Error("a damaged record was taken")
			}
			b[len(b)-1] ^= 1
		}
		if len(b) >= checked { // so that what lies behind the checksum is tried, too
			binary.BigEndian.PutUint32(b[2:], checksum(b))
		}
		m, death, err := decodeRecord(b)
		if err != nil {
			if !errors.Is(err, errRecord) {
				t.Errorf("got %v, want errRecord", err)
			}
			return
		}
		again, err := encodeRecord(&m, death)
		if err != nil {
			return // a time of a year that JSON does not take
		}
		m2, death2, err := decodeRecord(again)
		if err != nil || m2.ID != m.ID || !bytes.Equal(m2.Body, m.Body) || m2.Priority != m.Priority ||
			!maps.Equal(m2.Headers, m.Headers) || (death == nil) != (death2 == nil) {
			t.Errorf("%+v, %v became %+v, %v, %v", m, death, m2, death2, err)
		}
	})
}

// FuzzMark: the same of what stands beside a message.
func FuzzMark(f *testing.F) {
	now := time.UnixMilli(1e12)
	f.Add(mark{count: 3, due: now.Add(time.Second)}.encode(time.Second))
	f.Add(mark{count: 3, due: now.Add(time.Hour)}.encode(time.Second)) // the clock has gone back
	f.Add([]byte{3, 2})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMark(b, now)
		if err != nil {
			return
		}
		wait := m.due.Sub(now)
		if wait > queue.MaxDelay {
			t.Errorf("%x: kept away for %v", b, wait)
		}
		again, err := decodeMark(m.encode(wait), now)
		if err != nil || again.count != m.count || again.due.Before(m.due) || again.due.Sub(m.due) > time.Millisecond {
			t.Errorf("%v became %v, %v", m, again, err)
		}
	})
}

// FuzzPacket: any bytes of a peer are a packet or an error, and its messages are within it; no more memory is taken than they are worth.
func FuzzPacket(f *testing.F) {
	p := &packet{ID: 1, Op: opPublish, Name: "q"}
	p.add(&queue.Message{ID: "1", Body: []byte("body")}, nil)
	p.add(&queue.Message{ID: "2"}, nil)
	var frame bytes.Buffer
	if err := (&wire{conn: recorder{to: &frame}}).write(p); err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{frame.Bytes(), frame.Bytes()[:20], {0, 0, 0, 4, 0, 0, 0, 0},
		binary.BigEndian.AppendUint64(nil, 0x01_00_00_00_00_00_00_04), []byte("GET / HTTP/1.1\r\n\r\n")} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p *packet
		var err error
		alloctest.Bounded(t, len(b), func() { p, err = readPacket(bytes.NewReader(b), maxFrame) })
		if err != nil {
			return
		}
		all, err := p.messages()
		size := 0
		for _, m := range all {
			size += len(m.Body)
		}
		if err == nil && size > len(p.body) {
			t.Errorf("messages of %d bytes in %d", size, len(p.body))
		}
	})
}

// TestFault: an error that callers tell apart is the same on the other side, with its text.
func TestFault(t *testing.T) {
	for _, want := range codes() {
		sent := fmt.Errorf("publish: %w", fmt.Errorf("%w: message 3", want))
		if got := faultOf(sent).err(); !errors.Is(got, want) || got.Error() != want.Error()+": message 3" {
			t.Errorf("%v became %v", sent, got)
		}
	}
	for _, f := range []*fault{{Text: "another"}, {Code: 99, Text: "another"}, {Code: -1, Text: "another"}} {
		if err := f.err(); err.Error() != "another" || errors.Is(err, queue.ErrClosed) {
			t.Errorf("%+v became %v", f, err)
		}
	}
}

// TestFill: what does not fit into one frame goes into several, at least a message each.
func TestFill(t *testing.T) {
	small, large := queue.Message{ID: "s"}, queue.Message{Body: make([]byte, queue.MaxBody/2)}
	full := queue.Message{Body: make([]byte, queue.MaxBody), Headers: map[string]string{"h": "v"}}
	many := make([]queue.Message, 1500)
	control := make([]queue.Message, 1000) // of whose texts each byte takes six in JSON
	for i := range control {
		text := strings.Repeat("\x01", queue.MaxText)
		control[i] = queue.Message{ID: text, ContentType: text, ReplyTo: text, CorrelationID: text, Body: make([]byte, queue.MaxBody/1000)}
	}
	for name, test := range map[string]struct {
		all  []queue.Message
		want []int
	}{
		"none": {nil, []int{0}}, "small": {[]queue.Message{small, small}, []int{2}}, "large": {[]queue.Message{large, large, large}, []int{2, 1}},
		"full": {[]queue.Message{full, small, full, full}, []int{1, 1, 1, 1}}, "many": {many, []int{1000, 500}},
		"texts": {control, []int{732, 268}},
	} {
		for _, want := range test.want {
			p := &packet{}
			if got := fill(p, test.all); got != want || len(p.Messages) != want {
				t.Errorf("%s: got %d messages, want %d", name, got, want)
			}
			var frame bytes.Buffer
			if err := (&wire{conn: recorder{to: &frame}}).write(p); err != nil || frame.Len() > maxFrame {
				t.Errorf("%s: a frame of %d bytes, %v, want %d at most", name, frame.Len(), err, maxFrame)
			}
			test.all = test.all[want:]
		}
	}
}
