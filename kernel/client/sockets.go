package client

import (
	"context"

	"cancha/kernel/wire"
	"cancha/kernel/zmq"
)

// Conn is a connection to one channel of a kernel. Send may be called from any goroutine; Receive from one. After Close
// Receive fails.
type Conn interface {
	Send(frames [][]byte) error
	Receive() ([][]byte, error)
	Close() error
}

// Sockets opens connections, encrypted where the endpoint has keys. An attempt may fail while nobody listens there, or return at once
// and connect when somebody does. A dealer without an identity gets one from the kernel; the empty topic is all of them.
type Sockets interface {
	Dealer(ctx context.Context, at wire.Endpoint, identity string) (Conn, error)
	Subscriber(ctx context.Context, at wire.Endpoint, topic string) (Conn, error)
}

// Own are the sockets of kernel/zmq. One attempt to connect is made, within ctx.
type Own struct{}

// Dealer connects to shell, control or stdin.
func (Own) Dealer(ctx context.Context, at wire.Endpoint, identity string) (Conn, error) {
	return opened(zmq.DialDealer(ctx, at, identity))
}

// Subscriber connects to iopub.
func (Own) Subscriber(ctx context.Context, at wire.Endpoint, topic string) (Conn, error) {
	return opened(zmq.DialSubscriber(ctx, at, topic))
}

// Requester connects to the heartbeat: each Send is answered by one Receive.
func (Own) Requester(ctx context.Context, at wire.Endpoint) (Conn, error) {
	return opened(zmq.DialRequester(ctx, at))
}

// opened keeps a failed attempt from becoming a Conn that is not nil.
func opened(c *zmq.Conn, err error) (Conn, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
