package client

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
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
		conn := wire.Connection{Transport: "tcp", IP: "127.0.0.1", CurveKeys: c.kernel}
		if err := freePorts([]*int{&conn.ShellPort, &conn.IOPubPort, &conn.StdinPort, &conn.ControlPort, &conn.HBPort}); err != nil {
			t.Fatal(err)
		}
		channels, err := zmq.Listen(zmq.Config{Connection: conn})
		if err != nil {
			t.Fatal(err)
		}
		conn.CurveKeys = c.client
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = Connect(ctx, conn, Options{})
		if !errors.Is(err, zmq.ErrMechanism) || !strings.Contains(err.Error(), "does the kernel know CURVE keys?") {
			t.Errorf("%s: got %v", c.name, err)
		}
		cancel()
		_ = channels.Close()
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
