package rabbitmq

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cancha/jobs/queue"
)

const (
	heartbeat    = 10 * time.Second      // a peer that says nothing for twice that is away
	dialTimeout  = 15 * time.Second      // of a connection, with its handshake
	firstPause   = 50 * time.Millisecond // before a second try; each further one doubles it
	longestPause = 5 * time.Second       // between tries
	goodbye      = 2 * time.Second       // the server's time to answer a close
	calm         = 20 * time.Millisecond // before what has failed without a reason that is known
)

// link is a connection that comes back.
type link struct {
	url    string
	config amqp.Config
	logger *slog.Logger
	ctx    context.Context              // the broker's
	ready  func(*amqp.Connection) error // is called before anybody gets a connection; nil: nothing is to be done

	mu     sync.Mutex
	conn   *amqp.Connection // nil: it is away
	full   string           // why the server takes nothing now; "": it does
	why    error            // it is away
	change chan struct{}    // closed when conn changes
}

// run holds a connection until the broker is closed, beginning with one that is there, or none.
func (l *link) run(conn *amqp.Connection) {
	pause := firstPause
	for l.ctx.Err() == nil {
		var err error
		if conn == nil {
			conn, err = l.dial(l.ctx)
		}
		from := time.Now()
		if err == nil && l.ready != nil {
			err = l.ready(conn)
		}
		if err == nil {
			err = l.hold(conn)
		}
		conn = nil
		if time.Since(from) > longestPause {
			pause = firstPause // it was a good one
		}
		l.set(nil, err)
		if l.ctx.Err() == nil {
			l.log("the connection is away", "error", err, "again in", pause)
			sleep(l.ctx, pause/2+rand.N(pause/2)) // not all at once, when a server is back
			pause = min(2*pause, longestPause)
		}
	}
}

// hold serves one connection until it breaks.
func (l *link) hold(conn *amqp.Connection) error {
	closed, blocked := conn.NotifyClose(make(chan *amqp.Error, 1)), conn.NotifyBlocked(make(chan amqp.Blocking, 1))
	l.set(conn, nil)
	for {
		select {
		case b, open := <-blocked:
			if !open {
				blocked = nil
				break
			}
			l.block(b)
		case err := <-closed:
			if err != nil { // a typed nil would not be one
				return err
			}
			return amqp.ErrClosed
		case <-l.ctx.Done():
			_ = conn.CloseDeadline(time.Now().Add(goodbye)) // it ends in any case
			return queue.ErrClosed
		}
	}
}

func (l *link) set(conn *amqp.Connection, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.why, l.full = conn, why, ""
	close(l.change)
	l.change = make(chan struct{})
}

func (l *link) block(b amqp.Blocking) {
	l.log("the server's room", "blocked", b.Active, "reason", b.Reason)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full = ""; b.Active {
		l.full = or(b.Reason, "no reason given")
	}
}

// room tells whether the server takes what is published.
func (l *link) room() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full != "" {
		return fmt.Errorf("%w (%s)", queue.ErrFull, l.full)
	}
	return nil
}

// get waits for a connection.
func (l *link) get(ctx context.Context) (*amqp.Connection, error) {
	for {
		l.mu.Lock()
		conn, why, change := l.conn, l.why, l.change
		l.mu.Unlock()
		switch {
		case l.ctx.Err() != nil:
			return nil, queue.ErrClosed
		case ctx.Err() != nil:
			return nil, away(ctx, why)
		case conn != nil && !conn.IsClosed():
			return conn, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
		case <-l.ctx.Done():
		}
	}
}

func away(ctx context.Context, why error) error {
	if why == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w (the server is away: %v)", context.Cause(ctx), why)
}

// dial makes one connection.
func (l *link) dial(ctx context.Context) (*amqp.Connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, errors.New("the server does not answer"))
	defer cancel()
	config := l.config
	config.Dial = func(network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // while the handshake lasts
		return &shaking{conn, stop}, nil
	}
	conn, err := amqp.DialConfig(l.url, config)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %v", context.Cause(ctx), err)
		}
		return nil, l.explained(err)
	}
	return conn, nil
}

// hopeless is why a server refuses a connection that it will refuse again.
type hopeless struct {
	advice string
	error
}

func (h *hopeless) Error() string { return h.advice + " (" + h.error.Error() + ")" }
func (h *hopeless) Unwrap() error { return h.error }

// explained says what to do about a connection that is refused for good.
func (l *link) explained(err error) error {
	u, _ := amqp.ParseURI(l.url) // it has been parsed before
	var e *amqp.Error
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return &hopeless{"the certificate of " + u.Host + " is not trusted; name its authority as ?cacertfile=… in the URL, and the host as the certificate does", err}
	case errors.As(err, &record):
		return &hopeless{fmt.Sprintf("%s speaks no TLS at port %d; amqps is at 5671 mostly, amqp at 5672", u.Host, u.Port), err}
	case !errors.As(err, &e):
		return err
	case e.Code == amqp.NotAllowed, errors.Is(err, amqp.ErrVhost):
		return &hopeless{fmt.Sprintf("there is no vhost %q, or the user %q may not use it; rabbitmqctl add_vhost and set_permissions change that", u.Vhost, u.Username), err}
	case e.Code == amqp.AccessRefused:
		return &hopeless{fmt.Sprintf("the server refuses the user %q, or the password (RABBITMQ_USER, RABBITMQ_PASS); guest may come from the server's own machine only", u.Username), err}
	}
	return err
}

// shaking is a connection that the end of a context breaks during the handshake. The client clears the deadline when that is over.
type shaking struct {
	net.Conn
	stop func() bool
}

func (s *shaking) SetDeadline(t time.Time) error {
	if t.IsZero() {
		s.stop()
	}
	return s.Conn.SetDeadline(t)
}

func (l *link) log(text string, args ...any) {
	if l.logger != nil {
		l.logger.Info("jobs/rabbitmq: "+text, args...)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// final tells whether the server refuses what was asked, so that asking again does not help.
func final(err error) bool {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case amqp.NotFound:
		return !strings.Contains(e.Reason, "down or inaccessible") // its node is away, not the queue
	case amqp.ContentTooLarge, amqp.AccessRefused, amqp.ResourceLocked, amqp.PreconditionFailed, amqp.NotAllowed, amqp.NotImplemented, amqp.CommandInvalid:
		return true
	}
	return false
}
