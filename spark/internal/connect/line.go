package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// line sees the connections of a client as grpc makes them: it counts what is heard on them, keeps why a handshake failed, which grpc tells as a
// text only, and can cut them. It stands where credentials stand, and not where one dials, because a dialer of our own would pass by the proxy that
// the environment names.
type line struct {
	credentials.TransportCredentials

	heard   atomic.Int64 // bytes, ever
	refusal atomic.Pointer[error]

	mu   sync.Mutex
	open map[*heardConn]bool
}

// newLine makes the credentials of a target.
func newLine(t *Target) (*line, error) {
	l := &line{TransportCredentials: insecure.NewCredentials(), open: map[*heardConn]bool{}}
	if !t.TLS {
		return l, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("spark: ca: %w; name a PEM file of the authority that signed the server's certificate", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("spark: ca: %s holds no certificate in PEM form; name the file of the authority that signed the server's", t.CAFile)
		}
	}
	l.TransportCredentials = credentials.NewTLS(config)
	return l, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (l *line) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := l.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		l.refusal.Store(&err)
		return nil, nil, err
	}
	l.refusal.Store(nil)
	h := &heardConn{Conn: conn, line: l}
	l.mu.Lock()
	l.open[h] = true
	l.mu.Unlock()
	return h, info, nil
}

// Clone implements credentials.TransportCredentials. There is one line for a client, whoever asks.
func (l *line) Clone() credentials.TransportCredentials { return l }

// cut ends the connections. Calls on them break, and are made anew on another.
func (l *line) cut() {
	l.mu.Lock()
	open := l.open
	l.open = map[*heardConn]bool{}
	l.mu.Unlock()
	for conn := range open {
		conn.Conn.Close()
	}
}

// refused returns why the last handshake failed, if another one would fail as well; nil otherwise.
func (l *line) refused() error {
	p := l.refusal.Load()
	if p == nil {
		return nil
	}
	var network net.Error
	var alert tls.AlertError // the other side's refusal, which comes as an error of the network
	ended := errors.Is(*p, io.EOF) || errors.Is(*p, context.Canceled) || errors.Is(*p, context.DeadlineExceeded)
	if ended || errors.As(*p, &network) && !errors.As(*p, &alert) {
		return nil
	}
	return *p
}

// heardConn is a connection that counts.
type heardConn struct {
	net.Conn
	line *line
}

func (c *heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.line.heard.Add(int64(n))
	return n, err
}

func (c *heardConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.open, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}
