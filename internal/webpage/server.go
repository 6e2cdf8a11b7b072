package webpage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server answers on a listener until it is closed.
type Server struct {
	http    http.Server
	log     *slog.Logger
	serving sync.WaitGroup

	mu     sync.Mutex
	silent map[net.Conn]struct{} // connections that have sent nothing yet
	ended  bool
}

// Serve answers what comes to the listener, which is the server's from now on. Close ends it.
func Serve(listener net.Listener, h http.Handler, log *slog.Logger) *Server {
	s := &Server{log: log, silent: map[net.Conn]struct{}{}, http: http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
	s.http.ConnState = s.noteState
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("webpage: the server has ended", "address", listener.Addr().String(), "error", err)
		}
	})
	return s
}

// Close takes no more requests, waits up to the grace for those that it has, and then cuts them off, which is an error.
func (s *Server) Close(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.dropSilent()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = fmt.Errorf("requests were cut off after %v: %w", grace, errors.Join(err, s.http.Close()))
	}
	s.serving.Wait()
	return err
}

// noteState follows a connection from its acceptance to its first byte.
func (s *Server) noteState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.silent, c)
	case s.ended:
		_ = c.Close()
	default:
		s.silent[c] = struct{}{}
	}
}

// dropSilent ends connections that ask nothing. Browsers and Go's client open them ahead of need, and [http.Server.Shutdown] takes them for busy for five seconds.
func (s *Server) dropSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.silent {
		_ = c.Close()
	}
}
