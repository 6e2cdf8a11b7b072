package zmq

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
)

// FuzzPeer has a peer say arbitrary bytes from the first on, to each kind of socket, and leave: what a socket is then handed is
// within the limits, and its connection ends.
func FuzzPeer(f *testing.F) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	f.Add(byte(0), join(greeting(), ready("DEALER"), frame(flagMore, []byte("a")), frame(0, []byte("b"))))
	f.Add(byte(0), join(greeting(), command("READY", join(property("Socket-Type", "DEALER"), property("Identity", "me"))), command("PING", []byte("\x00\x05ctx"))))
	f.Add(byte(1), join(greeting(), ready("SUB"), frame(0, []byte("\x01topic")), command("SUBSCRIBE", []byte("t")), command("CANCEL", []byte("t"))))
	f.Add(byte(2), join(greeting(), ready("REQ"), frame(flagMore, nil), frame(0, []byte("ping"))))
	f.Add(byte(0), join(greeting(), command("READY", []byte{200, 'S'})))
	f.Add(byte(1), join(greeting(), ready("SUB"), claim(0, 1<<49)))
	f.Fuzz(func(t *testing.T, kind byte, sent []byte) {
		lim := Limits{Message: 1 << 16, Parts: 4, Topics: 4, Handshake: time.Second}.withDefaults()
		client, server := net.Pipe()
		heard := make(chan struct{})
		go func() { // takes what it is answered, after what it has said
			defer close(heard)
			_, _ = io.Copy(io.Discard, client)
		}()
		go func() {
			_, _ = client.Write(sent)
			_ = client.Close()
		}()
		p := newPeer(server, lim, false)
		written := make(chan struct{})
		go func() {
			defer close(written)
			p.write()
		}()
		x := &Publisher{listener: &listener{lim: lim}, topics: map[*peer]map[string]int{}, welcome: func(topic []byte) [][]byte { return [][]byte{topic} }}
		of := []struct {
			kind zmq4.SocketType
			sock socket
		}{{zmq4.Router, nothing{}}, {zmq4.XPub, &subscribers{x}}, {zmq4.Rep, echoPeers{}}}[kind%3]
		if err := p.handshake(of.kind, wire.CurveKeys{}); err == nil {
			s := within{of.sock, t, lim}
			if err := s.up(p); err == nil {
				_ = p.serve(s)
			}
			s.down(p)
		}
		p.drop(io.EOF)
		<-written
		<-heard
		if len(x.topics) != 0 {
			t.Errorf("%d subscribers are left", len(x.topics))
		}
	})
}

// nothing is a socket that takes what comes.
type nothing struct{}

func (nothing) up(*peer) error                      { return nil }
func (nothing) down(*peer)                          {}
func (nothing) received(*peer, [][]byte) error      { return nil }
func (nothing) command(*peer, string, []byte) error { return nil }

// within is a socket that checks what it is handed.
type within struct {
	socket
	t   *testing.T
	lim Limits
}

func (w within) received(p *peer, frames [][]byte) error {
	size := 0
	for _, f := range frames {
		size += len(f)
	}
	if len(frames) > w.lim.Parts || int64(size) > w.lim.Message {
		w.t.Errorf("a message of %d frames and %d bytes", len(frames), size)
	}
	return w.socket.received(p, frames)
}

func (w within) command(p *peer, name string, body []byte) error {
	if len(name)+len(body) > maxCommand {
		w.t.Errorf("a command of %d bytes", len(name)+len(body))
	}
	return w.socket.command(p, name, body)
}
