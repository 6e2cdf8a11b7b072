package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cancha/kernel/wire"
	"cancha/kernel/zmq"
)

// TestConnectToAPlainKernel: a kernel that takes no notice of CURVE keys is told at once, however long Connect may wait.
func TestConnectToAPlainKernel(t *testing.T) {
	for _, c := range []struct {
		name           string
		kernel, client wire.CurveKeys
	}{
		{"a kernel that does not encrypt", wire.CurveKeys{}, wire.NewCurveKeys()},
		{"a client that does not encrypt", wire.NewCurveKeys(), wire.CurveKeys{}},
	} {
		conn := listen(t, c.kernel)
		conn.CurveKeys = c.client
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := Connect(ctx, conn, Options{})
		if !errors.Is(err, zmq.ErrMechanism) || !strings.Contains(err.Error(), "does the kernel know CURVE keys?") {
			t.Errorf("%s: got %v", c.name, err)
		}
		cancel()
	}
}

// listen serves the channels of a kernel with some keys, and returns where.
func listen(t *testing.T, keys wire.CurveKeys) wire.Connection {
	t.Helper()
	conn := wire.Connection{Transport: "tcp", IP: "127.0.0.1", CurveKeys: keys}
	if err := freePorts([]*int{&conn.ShellPort, &conn.IOPubPort, &conn.StdinPort, &conn.ControlPort, &conn.HBPort}); err != nil {
		t.Fatal(err)
	}
	channels, err := zmq.Listen(zmq.Config{Connection: conn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channels.Close() })
	return conn
}

// TestConnectWithAnotherKey: a key that is not the kernel's is told soon, however long Connect may wait.
func TestConnectWithAnotherKey(t *testing.T) {
	stranger := wire.NewCurveKeys()
	for _, c := range []struct {
		name string
		keys wire.CurveKeys
		want string
	}{
		{"the key pair of an earlier kernel", stranger, "the key is not the kernel's"},
		{"its public key alone", wire.CurveKeys{CurvePublic: stranger.CurvePublic}, "the key is not the kernel's"},
		{"no public key", wire.CurveKeys{CurveSecret: stranger.CurveSecret}, "public CURVE key is missing"},
	} {
		conn := listen(t, wire.NewCurveKeys())
		conn.CurveKeys = c.keys
		_, err := Connect(t.Context(), conn, Options{}) // which does not end before the test
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestDialWithThePublicKey: a client needs no more than the kernel's public key.
func TestDialWithThePublicKey(t *testing.T) {
	conn := listen(t, wire.NewCurveKeys())
	conn.CurveSecret = wire.CurveKey{}
	for name, port := range map[string]int{"shell": conn.ShellPort, "control": conn.ControlPort, "stdin": conn.StdinPort} {
		c, err := Own{}.Dealer(t.Context(), conn.Endpoint(port), "me")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = c.Close()
	}
}

// TestPatiently: a kernel that ends in the middle of a few handshakes may be another time there, and a stranger's key is no matter of time.
func TestPatiently(t *testing.T) {
	refused, absent := fmt.Errorf("dial: %w", zmq.ErrHello), errors.New("connection refused")
	for _, c := range []struct {
		name  string
		tries []error // the next one works
		ended bool
	}{
		{"refused at times", []error{refused, refused, absent, refused, refused, refused, refused, absent, refused}, false},
		{"not there for long", slices.Repeat([]error{absent}, 50), false},
		{"refused in a row", slices.Repeat([]error{refused}, refusals), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			_, err := patiently(t.Context(), func() (Conn, error) {
				if tries++; tries <= len(c.tries) {
					return nil, c.tries[tries-1]
				}
				return nil, nil
			})
			if ended := errors.Is(err, zmq.ErrHello); ended != c.ended || !ended && err != nil {
				t.Errorf("%s: got %v after %d tries, want an end: %t", c.name, err, tries, c.ended)
			}
		})
	}
}

// TestConnectToNoKernel: what answers with something else than ZeroMQ may make room for the kernel yet.
func TestConnectToNoKernel(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n"+strings.Repeat("x", 100))
			_ = c.Close()
		}
	}()
	port := ln.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = Connect(ctx, wire.Connection{Transport: "tcp", IP: "127.0.0.1", IOPubPort: port}, Options{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that it was tried until the end", err)
	}
	_ = ln.Close()
	<-served
}
