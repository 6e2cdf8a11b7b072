package comm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cancha/internal/cellio"
)

// kernel is the other side of the hall: it records what is sent and sends frames.
type kernel struct {
	mu   sync.Mutex
	sent []cellio.Frame
	last int64
}

func attach(t *testing.T) *kernel {
	k := &kernel{last: 100}
	outlet := cellio.NewOutlet(func(f cellio.Frame) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.sent = append(k.sent, f)
		return nil
	})
	cellio.Attach(outlet)
	cellio.NewRun(1)
	t.Cleanup(func() { outlet.Close(); cellio.Attach(nil) })
	return k
}

// take returns what has been sent since the last call, a line for each frame.
func (k *kernel) take() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var lines []string
	for _, f := range k.sent {
		line := fmt.Sprintf("%s %d %s", f.Kind, f.Cell, f.Body)
		for _, b := range f.Buffers {
			line += fmt.Sprintf(" %q", b)
		}
		lines = append(lines, line)
	}
	k.sent = nil
	return strings.Join(lines, "\n")
}

// send delivers a front end's message in a run of its own, and returns a panic of its handler.
func (k *kernel) send(kind cellio.Kind, c cellio.Comm, buffers ...[]byte) (fault any) {
	k.last++
	body, _ := json.Marshal(c)
	cellio.NewAside(k.last).Do(func() {
		defer func() { fault = recover() }()
		_ = cellio.TakeComm(cellio.Frame{Kind: kind, Cell: k.last, Body: body, Buffers: buffers})
	})
	return fault
}

func TestFrontEndOpens(t *testing.T) {
	k := attach(t)
	var got []string
	RegisterTarget("test", func(c *Comm, open Message) {
		got = append(got, "open "+string(open.Data)+string(open.Metadata)+c.ID()+c.Target())
		c.OnMessage(func(m Message) {
			got = append(got, "message "+string(m.Data))
			if err := c.Send(m.Data, map[string]int{"n": len(m.Buffers)}, m.Buffers...); err != nil {
				t.Error(err)
			}
		})
		c.OnClose(func(m Message) { got = append(got, "close "+string(m.Data)) })
	})
	defer RegisterTarget("test", nil)
	k.send(cellio.KindCommOpen, cellio.Comm{ID: "a", Target: "test", Data: json.RawMessage(`{"x":1}`), Metadata: json.RawMessage(`{"v":2}`)})
	k.send(cellio.KindCommMsg, cellio.Comm{ID: "a", Data: json.RawMessage(`[1,2]`)}, []byte("\x00\xff"), nil)
	if sent, want := k.take(), `comm_msg 102 {"comm_id":"a","data":[1,2],"metadata":{"n":2}} "\x00\xff" ""`; sent != want {
		t.Errorf("sent %s\nwant %s", sent, want)
	}
	k.send(cellio.KindCommClose, cellio.Comm{ID: "a", Data: json.RawMessage(`{}`)})
	k.send(cellio.KindCommMsg, cellio.Comm{ID: "a", Data: json.RawMessage(`"late"`)})
	if want := `[open {"x":1}{"v":2}atest message [1,2] close {}]`; fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if sent := k.take(); sent != "" {
		t.Errorf("sent after the close: %s", sent)
	}
}

func TestUnknownTargetIsClosed(t *testing.T) {
	k := attach(t)
	RegisterTarget("gone", func(*Comm, Message) { t.Error("called") })
	RegisterTarget("gone", nil)
	for _, target := range []string{"never", "gone"} {
		k.send(cellio.KindCommOpen, cellio.Comm{ID: "b", Target: target})
		if got := k.take(); !strings.HasPrefix(got, "comm_close") || !strings.Contains(got, `"comm_id":"b"`) {
			t.Errorf("%s: sent %q, want the close of b", target, got)
		}
	}
}

func TestPanicInTargetClosesItsComm(t *testing.T) {
	k := attach(t)
	RegisterTarget("bad", func(*Comm, Message) { panic("no") })
	defer RegisterTarget("bad", nil)
	if fault := k.send(cellio.KindCommOpen, cellio.Comm{ID: "c", Target: "bad"}); fault != "no" {
		t.Errorf("got %v, want the handler's panic", fault)
	}
	if got := k.take(); !strings.HasPrefix(got, "comm_close") {
		t.Errorf("sent %q, want a close", got)
	}
}

func TestCellOpens(t *testing.T) {
	k := attach(t)
	c := New("there")
	var got string
	c.OnMessage(func(m Message) { got = string(m.Data) })
	if err := c.Send(1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("before it is open: got %v, want ErrClosed", err)
	}
	if err := c.Open(map[string]int{"a": 1}, nil, []byte("b")); err != nil {
		t.Fatal(err)
	}
	k.send(cellio.KindCommMsg, cellio.Comm{ID: c.ID(), Data: json.RawMessage(`"hello"`)})
	if err := c.Send("x", nil); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Send(1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after the close: got %v, want ErrClosed", err)
	}
	want := strings.ReplaceAll(`comm_open 1 {"comm_id":"ID","target_name":"there","data":{"a":1},"metadata":{}} "b"
comm_msg 1 {"comm_id":"ID","data":"x","metadata":{}}
comm_close 1 {"comm_id":"ID","data":{},"metadata":{}}`, "ID", c.ID())
	if sent := k.take(); sent != want || got != `"hello"` {
		t.Errorf("sent %s\nwant %s\nreceived %s", sent, want, got)
	}
}

func TestOpenFails(t *testing.T) {
	attach(t)
	if _, err := Open("x", func() {}, nil); err == nil {
		t.Error("data without a JSON form were accepted")
	}
	if _, err := Open("x", nil, nil, make([]byte, cellio.MaxFrame)); err == nil || errors.Is(err, ErrDetached) {
		t.Errorf("a buffer beyond a frame: got %v", err)
	}
}
