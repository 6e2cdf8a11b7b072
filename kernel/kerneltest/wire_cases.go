package kerneltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"cancha/kernel/client"
)

// wireCases are the properties of trust: what is no message of ours must change nothing.
func wireCases() []namedCase {
	return []namedCase{
		{"messages that are none are ignored", ignored},
		{"a replayed request runs once", replayed},
		{"execute_request with only code", onlyCode},
		{"the parent header is the request's, unknown fields included", exactParent},
		{"two identities", twoIdentities},
		{"garbage on every port", garbage},
		{"silent connections", silentPeers},
		{"heartbeat outlives a malformed envelope", heartbeatEnvelope},
	}
}

func ignored(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	code := map[string]any{"code": s.Hello}
	change := func(f func(frames [][]byte) [][]byte) [][]byte {
		frames, _ := r.message(t, "execute_request", code)
		return f(slices.Clone(frames))
	}
	bad := map[string][][]byte{
		"wrong signature": change(func(f [][]byte) [][]byte { f[1] = bytes.Repeat([]byte("a"), 64); return f }),
		"no signature":    change(func(f [][]byte) [][]byte { f[1] = nil; return f }),
		"no delimiter":    change(func(f [][]byte) [][]byte { return f[1:] }),
		"two frames":      change(func(f [][]byte) [][]byte { return f[:3] }),
		"nothing":         {nil},
		"not JSON":        notJSON(r),
	}
	s.seen.take()
	for _, frames := range bad {
		r.send(t, frames)
	}
	frames, id := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, frames)
	if m := r.reply(t); m.ParentID() != id {
		t.Errorf("a %s came for a message that is none", m.Header.Type)
	}
	s.alive(t)
	for _, m := range s.seen.take() {
		if m.Header.Type == "execute_input" || m.Header.Type == "stream" {
			t.Errorf("something ran: %s", m.Content)
		}
	}
}

// notJSON is rightly signed, and its content is no JSON.
func notJSON(r *raw) [][]byte {
	m, err := r.session.New("execute_request", nil, json.RawMessage(`{"code": `))
	if err != nil {
		return nil
	}
	return r.session.Encode(m)
}

func replayed(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, id := r.message(t, "execute_request", map[string]any{"code": s.Hello})
	s.seen.take()
	r.send(t, frames)
	r.send(t, frames)
	want(t, "first reply", r.reply(t).ParentID(), id)
	next, nextID := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, next)
	want(t, "second reply", r.reply(t).ParentID(), nextID)
	s.alive(t)
	inputs := 0
	for _, m := range of(s.seen.take(), "execute_input") {
		if m.ParentID() == id {
			inputs++
		}
	}
	want(t, "executions", inputs, 1)
}

func onlyCode(t *testing.T, s *subject) {
	got := s.ask(t, client.Shell, "execute_request", map[string]any{"code": s.Hello})
	want(t, "status", got["status"], "ok")
}

func exactParent(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	m, err := r.session.New("kernel_info_request", nil, map[string]any{"unknown": 1})
	if err != nil {
		t.Fatal(err)
	}
	m.RawHeader = json.RawMessage(fmt.Sprintf(`{"msg_id":"odd-%d", "msg_type":"kernel_info_request","session":"x","username":"é",
		"version":"5.0","date":"2020-01-01T00:00:00Z","extra":{"deep":[1,2.50,null]}}`, time.Now().UnixNano()))
	r.send(t, r.session.Encode(m))
	want(t, "parent header", content(r.reply(t).Parent), content(m.RawHeader))
}

func twoIdentities(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().ShellPort, "")
	frames, id := r.message(t, "kernel_info_request", struct{}{})
	r.send(t, append([][]byte{[]byte("hop")}, frames...))
	m := r.reply(t)
	want(t, "reply", m.ParentID(), id)
	if len(m.Identities) != 1 || string(m.Identities[0]) != "hop" {
		t.Errorf("identities %q, want the hop", m.Identities)
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
	for _, port := range s.ports() {
		network, address := s.kernel.Connection().Address(port)
		for _, sent := range [][]byte{
			[]byte("GET / HTTP/1.1\r\n\r\n" + string(make([]byte, 100))),
			append(slices.Clone(greeting), "\x04\x07\x05READY\xc8"...), // READY cut inside a property
			append(slices.Clone(greeting), long...),
			append(append(slices.Clone(greeting), ready...), long...),
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
	network, address := s.kernel.Connection().Address(s.kernel.Connection().HBPort)
	hb, err := s.sockets.Requester(ctx, network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer hb.Close()
	stop := context.AfterFunc(ctx, func() { _ = hb.Close() })
	defer stop()
	began := time.Now()
	if err := hb.Send([][]byte{[]byte("ping")}); err != nil {
		t.Fatal(err)
	}
	m, err := hb.Receive()
	if err != nil || len(m) != 1 || string(m[0]) != "ping" {
		t.Fatalf("heartbeat: got %q, %v; want ping", m, err)
	}
	return time.Since(began)
}

func heartbeatEnvelope(t *testing.T, s *subject) {
	r := s.dial(t, s.kernel.Connection().HBPort, "")
	r.send(t, [][]byte{[]byte("no"), []byte("envelope")})
	s.heartbeat(t)
}
