package kerneltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// peerCases are the properties of connections: what a peer does or leaves undone must not concern the others. Those that
// speak no ZMTP use TCP as it is.
func peerCases() []namedCase {
	return []namedCase{
		{"garbage on every port", garbage},
		{"silent connections", silentPeers},
		{"18 the heartbeat echoes", heartbeatEchoes},
		{"19 the heartbeat outlives a malformed envelope", heartbeatEnvelope},
		{"15 a client that sends PING", pinging},
		{"a client that comes again under its identity", comesAgain},
		{"many clients", manyClients},
		{"many requests at once are answered in order", manyRequests},
		{"encrypted channels are closed to who has not the key", strangersToCurve},
	}
}

// ports lists the kernel's ports.
func (s *subject) ports() []int {
	c := s.kernel.Connection()
	return []int{c.ShellPort, c.IOPubPort, c.StdinPort, c.ControlPort, c.HBPort}
}

func garbage(t *testing.T, s *subject) {
	greeting := append([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'}, make([]byte, 48)...)
	ready := []byte("\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REQ")
	long := []byte{2, 0, 2, 0, 0, 0, 0, 0, 0} // a frame of 2^49 bytes
	curve := bytes.Replace(greeting, []byte("NULL\x00"), []byte("CURVE"), 1)
	for _, port := range s.ports() {
		network, address := s.kernel.Connection().Address(port)
		for _, sent := range [][]byte{
			[]byte("GET / HTTP/1.1\r\n\r\n" + string(make([]byte, 100))),
			append(slices.Clone(greeting), "\x04\x07\x05READY\xc8"...), // READY cut inside a property
			append(slices.Clone(greeting), long...),
			append(append(slices.Clone(greeting), ready...), long...),
			append(slices.Clone(curve), ready...),
			append(slices.Clone(curve), long...),
			append(append(slices.Clone(curve), "\x04\xc8\x05HELLO\x01"...), make([]byte, 193)...),
			append(append(slices.Clone(curve), "\x06\x00\x00\x00\x00\x00\x00\x01\x24\x08INITIATE"...), make([]byte, 300)...),
		} {
			conn, err := net.Dial(network, address)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write(sent) // it may be closed by then
			_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}
	s.alive(t)
	s.heartbeat(t)
}

func silentPeers(t *testing.T, s *subject) {
	for _, port := range s.ports() {
		network, address := s.kernel.Connection().Address(port)
		for range 15 {
			conn, err := net.Dial(network, address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := s.kernel.Connect(ctx, client.Options{Sockets: s.sockets})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a new client waited %v", took)
	}
}

// heartbeat pings once and returns how long the echo took.
func (s *subject) heartbeat(t *testing.T) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	hb, err := s.sockets.Requester(ctx, s.kernel.Connection().Endpoint(s.kernel.Connection().HBPort))
	if err != nil {
		t.Fatal(err)
	}
	defer hb.Close()
	defer context.AfterFunc(ctx, func() { _ = hb.Close() })()
	return ping(t, hb, "ping")
}

// ping sends what must come back, and returns how long it took.
func ping(t *testing.T, hb client.Conn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	if err := hb.Send([][]byte{[]byte(text)}); err != nil {
		t.Fatal(err)
	}
	m, err := hb.Receive()
	if err != nil || len(m) != 1 || string(m[0]) != text {
		t.Fatalf("heartbeat: got %.100q, %v; want %.100q", m, err, text)
	}
	return time.Since(began)
}

// heartbeatEchoes: any bytes come back as they are, on one connection as often as wanted.
func heartbeatEchoes(t *testing.T, s *subject) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	hb, err := s.sockets.Requester(ctx, s.kernel.Connection().Endpoint(s.kernel.Connection().HBPort))
	if err != nil {
		t.Fatal(err)
	}
	defer hb.Close()
	defer context.AfterFunc(ctx, func() { _ = hb.Close() })()
	for _, text := range []string{"ping", "", "\x00\xff\xfe", strings.Repeat("p", 4<<10), "ping"} {
		ping(t, hb, text)
	}
}

func heartbeatEnvelope(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().HBPort, "")
	for _, frames := range [][][]byte{{[]byte("no"), []byte("envelope")}, {[]byte("one")}, {nil}, {nil, nil, nil}, make([][]byte, 50)} {
		r.send(t, frames)
		s.heartbeat(t)
	}
}

// pinging: a client whose ZMTP heartbeats come every 300 ms makes no request of itself by them.
func pinging(t *testing.T, s *subject) {
	lender, ok := s.sockets.(*bridge)
	if !ok {
		t.Skip("these sockets send no PING: give CANCHA_PYTHON for libzmq's")
	}
	options := map[string]any{"HEARTBEAT_IVL": 300, "HEARTBEAT_TIMEOUT": 2000, "HEARTBEAT_TTL": 2000}
	for kind, port := range map[string]int{
		"DEALER": s.kernel.Connection().ShellPort, "SUB": s.kernel.Connection().IOPubPort, "REQ": s.kernel.Connection().HBPort,
	} {
		conn, err := lender.open(s.kernel.Connection().Endpoint(port), socketOptions{Type: kind, Options: options})
		if err != nil {
			t.Fatal(err)
		}
		if kind != "DEALER" {
			defer conn.Close()
		} else { // it is still the same connection afterwards
			r := s.speak(t, conn, s.kernel.Connection().Key)
			ask := func() {
				frames, id := r.message(t, "kernel_info_request", struct{}{})
				r.send(t, frames)
				want(t, "reply", r.reply(t).ParentID(), id)
				s.until(t, id, "idle")
			}
			ask()
			defer ask()
		}
	}
	s.seen.take()
	time.Sleep(3 * time.Second) // ten heartbeats
	if ms := s.seen.take(); len(ms) > 0 {
		t.Errorf("%s was published for nothing", kinds(ms))
	}
	s.alive(t)
}

// comesAgain: a client that has lost its connection gets the replies under the identity that it had, on the new one.
func comesAgain(t *testing.T, s *subject) {
	for range 10 {
		r := s.dial(t, s.kernel.Connection().ShellPort, "the same")
		frames, id := r.message(t, "kernel_info_request", struct{}{})
		r.send(t, frames)
		want(t, "reply", r.reply(t).ParentID(), id)
		_ = r.Close()
	}
}

// manyClients: thirty come at once, and each is served.
func manyClients(t *testing.T, s *subject) {
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c, err := s.kernel.Connect(ctx, client.Options{Sockets: s.sockets})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			var seen recorder
			r, err := c.Execute(ctx, s.Hello, seen.add)
			if err != nil || r.Status != "ok" || printed(seen.take(), "stdout") != "hello\n" {
				t.Errorf("got %s, %v", r.Status, err)
			}
		})
	}
	all.Wait()
}

// manyRequests: two thousand wait, and none is lost.
func manyRequests(t *testing.T, s *subject) {
	const requests = 2000
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	ids := make([]string, requests)
	for i := range ids {
		var frames [][]byte
		frames, ids[i] = r.message(t, "kernel_info_request", struct{}{})
		r.send(t, frames)
	}
	for i := range ids {
		if got := r.reply(t).ParentID(); got != ids[i] {
			t.Fatalf("reply %d is to %s, want %s", i, got, ids[i])
		}
	}
	s.until(t, ids[requests-1], "idle")
}

// strangersToCurve: without keys nobody hears or says anything, and with other keys neither.
func strangersToCurve(t *testing.T, s *subject) {
	c := s.kernel.Connection()
	if !c.Encrypted() {
		t.Skip("this kernel is not encrypted")
	}
	greeting := append([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'}, make([]byte, 48)...)
	for _, port := range s.ports() {
		network, address := c.Address(port)
		plain, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = plain.Write(append(slices.Clone(greeting), "\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB\x00\x01\x01"...))
		_ = plain.SetReadDeadline(time.Now().Add(patience))
		heard, err := io.ReadAll(plain)
		_ = plain.Close()
		if len(heard) > len(greeting) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("port %d: a client without keys heard %d bytes, %v; want at most a greeting, and the end", port, len(heard), err)
		}
		at := c.Endpoint(port)
		at.CurveKeys = wire.NewCurveKeys()
		if conn, err := (client.Own{}).Dealer(t.Context(), at, ""); err == nil {
			_ = conn.Close()
			t.Errorf("port %d: a client with other keys is connected", port)
		}
	}
	s.alive(t)
}
