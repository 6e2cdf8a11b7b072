package kerneltest

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"sync"
	"testing"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// bridgeProgram opens libzmq's sockets and relays their messages; it says how.
//
//go:embed bridge.py
var bridgeProgram string

// The operations of the bridge.
const (
	bridgeOpen   = 1
	bridgeSend   = 2
	bridgeClose  = 3
	bridgeFailed = 4
)

// bridge is a Python process that lends its pyzmq sockets: what real clients of a kernel are made of.
type bridge struct {
	command *exec.Cmd
	read    chan struct{} // closed when nothing more comes

	writing sync.Mutex // orders what is written; never held by who reads
	input   io.WriteCloser

	mu      sync.Mutex
	sockets map[uint32]*bridged
	last    uint32
	ended   error
}

// startBridge starts a bridge that ends with the test. It skips the test where that Python has no pyzmq.
func startBridge(t *testing.T, python string) *bridge {
	t.Helper()
	if out, err := exec.Command(python, "-c", "import zmq; print(zmq.zmq_version(), zmq.__version__)").CombinedOutput(); err != nil {
		t.Skipf("%s has no pyzmq: %v: %s", python, err, out)
	} else {
		t.Logf("libzmq and pyzmq %s", out)
	}
	b := &bridge{command: exec.Command(python, "-c", bridgeProgram), read: make(chan struct{}), sockets: map[uint32]*bridged{}}
	b.command.Stderr = t.Output()
	var err error
	if b.input, err = b.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := b.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.command.Start(); err != nil {
		t.Fatal(err)
	}
	go b.relay(output)
	t.Cleanup(b.stop)
	return b
}

// stop ends the process and waits for it.
func (b *bridge) stop() {
	b.writing.Lock()
	_ = b.input.Close()
	b.writing.Unlock()
	<-b.read
	_ = b.command.Wait()
}

// relay hands out what the sockets receive until the process ends.
func (b *bridge) relay(output io.Reader) {
	defer close(b.read)
	r := bufio.NewReaderSize(output, 1<<20)
	for {
		number, operation, frames, err := readRecord(r)
		if err != nil {
			b.fail(fmt.Errorf("the bridge has ended: %w", err))
			return
		}
		b.mu.Lock()
		socket := b.sockets[number]
		b.mu.Unlock()
		switch {
		case socket == nil: // closed meanwhile
		case operation == bridgeFailed:
			socket.fail(fmt.Errorf("libzmq: %s", frames[0]))
		default:
			socket.put(frames)
		}
	}
}

// fail ends all sockets.
func (b *bridge) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = err
	for _, s := range b.sockets {
		s.fail(err)
	}
}

func readRecord(r io.Reader) (number, operation uint32, frames [][]byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return 0, 0, nil, err
	}
	raw := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, raw); err != nil {
		return 0, 0, nil, err
	}
	number, operation = binary.BigEndian.Uint32(raw), binary.BigEndian.Uint32(raw[4:])
	frames = make([][]byte, binary.BigEndian.Uint32(raw[8:]))
	raw = raw[12:]
	for i := range frames {
		n := binary.BigEndian.Uint32(raw)
		frames[i], raw = raw[4:4+n:4+n], raw[4+n:]
	}
	return number, operation, frames, nil
}

func appendRecord(number, operation uint32, frames [][]byte) []byte {
	raw := make([]byte, 4, 64)
	for _, field := range []uint32{number, operation, uint32(len(frames))} {
		raw = binary.BigEndian.AppendUint32(raw, field)
	}
	for _, f := range frames {
		raw = binary.BigEndian.AppendUint32(raw, uint32(len(f)))
		raw = append(raw, f...)
	}
	binary.BigEndian.PutUint32(raw, uint32(len(raw)-4))
	return raw
}

// socketOptions are what a socket is to be. Options are libzmq's, by the names that pyzmq has for them.
type socketOptions struct {
	Type    string         `json:"type"`
	Address string         `json:"address"`
	Topic   string         `json:"topic,omitempty"`
	Paused  bool           `json:"paused,omitempty"` // never read
	Options map[string]any `json:"options,omitempty"`
}

// encrypt sets the keys as jupyter_client does: the connection's pair is the client's, too.
func (o *socketOptions) encrypt(keys wire.CurveKeys) error {
	if !keys.Encrypted() {
		return nil
	}
	public, err := keys.CurvePublic.MarshalText()
	if err != nil {
		return err
	}
	secret, err := keys.CurveSecret.MarshalText()
	if err != nil {
		return err
	}
	o.Options = maps.Clone(o.Options)
	if o.Options == nil {
		o.Options = map[string]any{}
	}
	for name, key := range map[string][]byte{"CURVE_SERVERKEY": public, "CURVE_PUBLICKEY": public, "CURVE_SECRETKEY": secret} {
		o.Options[name] = string(key)
	}
	return nil
}

// open returns a socket that connects as soon as somebody listens.
func (b *bridge) open(at wire.Endpoint, o socketOptions) (*bridged, error) {
	o.Address = map[string]string{"tcp": "tcp", "unix": "ipc"}[at.Network] + "://" + at.Address
	if err := o.encrypt(at.CurveKeys); err != nil {
		return nil, err
	}
	wanted, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	s := &bridged{bridge: b, changed: sync.NewCond(&sync.Mutex{})}
	if err := b.enter(s); err != nil {
		return nil, err
	}
	return s, b.write(s.number, bridgeOpen, wanted)
}

// enter gives a socket its number.
func (b *bridge) enter(s *bridged) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return b.ended
	}
	b.last++
	s.number = b.last
	b.sockets[s.number] = s
	return nil
}

// write tells the process what to do.
func (b *bridge) write(number, operation uint32, frames ...[]byte) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	_, err := b.input.Write(appendRecord(number, operation, frames))
	return err
}

// Dealer opens a DEALER socket.
func (b *bridge) Dealer(_ context.Context, at wire.Endpoint, identity string) (client.Conn, error) {
	o := socketOptions{Type: "DEALER", Options: map[string]any{"SNDHWM": 0}} // nothing sent may block the others
	if identity != "" {
		o.Options["IDENTITY"] = identity
	}
	return b.open(at, o)
}

// Subscriber opens a SUB socket with libzmq's own limits.
func (b *bridge) Subscriber(_ context.Context, at wire.Endpoint, topic string) (client.Conn, error) {
	return b.open(at, socketOptions{Type: "SUB", Topic: topic})
}

// Requester opens a REQ socket.
func (b *bridge) Requester(_ context.Context, at wire.Endpoint) (client.Conn, error) {
	return b.open(at, socketOptions{Type: "REQ"})
}

// bridged is one of libzmq's sockets.
type bridged struct {
	bridge *bridge
	number uint32

	changed  *sync.Cond
	messages [][][]byte
	err      error
}

func (s *bridged) put(frames [][]byte) {
	s.changed.L.Lock()
	defer s.changed.L.Unlock()
	s.messages = append(s.messages, frames)
	s.changed.Broadcast()
}

func (s *bridged) fail(err error) {
	s.changed.L.Lock()
	defer s.changed.L.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

// Send hands a message to the socket.
func (s *bridged) Send(frames [][]byte) error {
	return s.bridge.write(s.number, bridgeSend, frames...)
}

// Receive returns the socket's next message.
func (s *bridged) Receive() ([][]byte, error) {
	s.changed.L.Lock()
	defer s.changed.L.Unlock()
	for len(s.messages) == 0 && s.err == nil {
		s.changed.Wait()
	}
	if len(s.messages) == 0 {
		return nil, s.err
	}
	m := s.messages[0]
	s.messages = s.messages[1:]
	return m, nil
}

// Close closes the socket; who waits in Receive is told.
func (s *bridged) Close() error {
	s.fail(net.ErrClosed)
	s.bridge.mu.Lock()
	known := s.bridge.sockets[s.number] != nil
	delete(s.bridge.sockets, s.number)
	s.bridge.mu.Unlock()
	if !known {
		return nil
	}
	return s.bridge.write(s.number, bridgeClose)
}
