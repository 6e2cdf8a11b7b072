package webpage

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dial opens a connection and sends a text; the server has accepted it when dial returns.
func dial(t *testing.T, s *Server, address net.Addr, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A connection that a browser opened ahead of need does not hold up the end; a request that is being answered does, for the grace.
func TestClose(t *testing.T) {
	for _, c := range []struct {
		name, sends string
		grace       time.Duration
		cut         bool
	}{
		{"silent", "", time.Minute, false},
		{"answered", "GET /soon HTTP/1.1\r\nHost: x\r\n\r\n", time.Minute, false},
		{"hanging", "GET /never HTTP/1.1\r\nHost: x\r\n\r\n", 50 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			began := make(chan struct{})
			s := Serve(listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(began)
				if r.URL.Path == "/never" {
					<-r.Context().Done()
				}
			}), slog.New(slog.DiscardHandler))
			dial(t, s, listener.Addr(), c.sends)
			if c.sends != "" {
				<-began
			} else {
				waitSilent(t, s)
			}
			before := time.Now()
			err = s.Close(c.grace)
			if cut := err != nil && strings.Contains(err.Error(), context.DeadlineExceeded.Error()); cut != c.cut {
				t.Errorf("got %v, want cut off: %t", err, c.cut)
			}
			if took := time.Since(before); !c.cut && took >= 4*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// waitSilent waits until the server has accepted a connection that has sent nothing.
func waitSilent(t *testing.T, s *Server) {
	t.Helper()
	for {
		s.mu.Lock()
		n := len(s.silent)
		s.mu.Unlock()
		if n > 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Millisecond):
		}
	}
}
