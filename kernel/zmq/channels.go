package zmq

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"cancha/kernel/wire"
)

// Channels is the kernel's side of the five channels, bound.
type Channels struct {
	Shell, Control, Stdin *Router
	IOPub                 *Publisher
	Heartbeat             *Echo
}

// Config says how to bind the channels.
type Config struct {
	Connection wire.Connection
	Welcome    func(topic []byte) [][]byte // the iopub_welcome that answers a subscription; nil means none
	Signed     func(frames [][]byte) bool  // tells whether who sent a message has the key, see [NewRouter]; nil means that nobody has
	Limits     Limits                      // the zero value means the defaults
	Logger     *slog.Logger                // nil is silent
}

// Listen binds the five channels of a connection and answers heartbeats from then on.
func Listen(c Config) (*Channels, error) {
	ch := &Channels{}
	named := func(name string, err error) error {
		if err != nil {
			return fmt.Errorf("%s channel: %w", name, err)
		}
		return nil
	}
	conn, lim, log := c.Connection, c.Limits.withDefaults(), c.Logger
	router := func(name string, port int, to **Router) error {
		r, err := NewRouter(conn.Endpoint(port), lim, c.Signed, log)
		if err == nil {
			*to = r
		}
		return named(name, err)
	}
	steps := []func() error{
		func() (err error) {
			ch.IOPub, err = NewPublisher(conn.Endpoint(conn.IOPubPort), lim, c.Welcome, log)
			return named("iopub", err)
		},
		func() (err error) {
			ch.Heartbeat, err = NewEcho(conn.Endpoint(conn.HBPort), lim, log)
			return named("heartbeat", err)
		},
		func() error { return router("stdin", conn.StdinPort, &ch.Stdin) },
		func() error { return router("control", conn.ControlPort, &ch.Control) },
		func() error { return router("shell", conn.ShellPort, &ch.Shell) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.Join(err, ch.Close())
		}
	}
	return ch, nil
}

// Close closes all channels at once: each drains what is queued, at most Linger.
func (ch *Channels) Close() error {
	var wg sync.WaitGroup
	for _, c := range ch.bound() {
		wg.Go(func() { _ = c.Close() }) // none of them fails
	}
	wg.Wait()
	return nil
}

// bound lists the channels that are there: all but while Listen fails.
func (ch *Channels) bound() (cs []io.Closer) {
	for _, r := range []*Router{ch.Shell, ch.Control, ch.Stdin} {
		if r != nil {
			cs = append(cs, r)
		}
	}
	if ch.IOPub != nil {
		cs = append(cs, ch.IOPub)
	}
	if ch.Heartbeat != nil {
		cs = append(cs, ch.Heartbeat)
	}
	return cs
}
