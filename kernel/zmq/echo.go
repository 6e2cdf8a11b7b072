package zmq

import (
	"log/slog"

	"github.com/go-zeromq/zmq4"

	"cancha/kernel/wire"
)

// Echo is a REP socket that answers every request with itself: Jupyter's heartbeat. It needs no caller: each connection's
// goroutine answers, whatever else the process does.
type Echo struct{ *listener }

// NewEcho listens at an endpoint. A nil log is silent.
func NewEcho(at wire.Endpoint, lim Limits, log *slog.Logger) (*Echo, error) {
	l, err := bind(at, zmq4.Rep, lim.small(), log, echoPeers{})
	if err != nil {
		return nil, err
	}
	l.start()
	return &Echo{l}, nil
}

// Close drains what is queued (at most Linger), closes every connection and waits for their goroutines.
func (e *Echo) Close() error { e.close(); return nil }

type echoPeers struct{}

func (echoPeers) up(*peer) error                      { return nil }
func (echoPeers) down(*peer)                          {}
func (echoPeers) command(*peer, string, []byte) error { return nil }

// received sends the message back, its envelope (everything up to the first empty frame) included. A message without an
// envelope is dropped, as libzmq does.
func (echoPeers) received(p *peer, frames [][]byte) error {
	for i, f := range frames {
		if len(f) == 0 && i+1 < len(frames) {
			return p.put(outgoing{frames: frames})
		}
	}
	return nil
}
