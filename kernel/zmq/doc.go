// Package zmq is Jupyter's five channels over ZeroMQ: [Router] (shell, control, stdin), [Publisher] (iopub) and [Echo]
// (heartbeat) for a kernel, [Conn] for a client. It carries lists of frames and ends there: what the frames mean is
// kernel/wire's. It is the only door to github.com/go-zeromq/zmq4.
//
// Of that library it uses the wire alone: zmq4.Open does greeting and handshake on a connection that our listener accepted,
// and its Conn frames messages. Its socket types are not used, because one silent peer stops their accept loop, one stalled
// subscriber stops all others, and nine bytes end the process.
//
// What a peer can do to us is bounded by [Limits]: each connection has goroutines of its own, a [link] that refuses frames over the limits
// before the library allocates them, and a write queue. Large messages of strangers share an amount in which those of clients, from whom
// something signed has come, do not count. A peer that is silent in the handshake, breaks the protocol or does not read is dropped and
// delays nobody: nothing that is sent waits for the network, and whoever sends a lot asks first whether the peers keep up. A peer is
// dropped, never a message to a healthy one.
//
// Where an endpoint has keys, its connections are encrypted with CurveZMQ (kernel/zmq/curve): the handshake is made through the library, and
// frames are sealed and opened by the link, beneath it. Who has not the public key ends in the handshake.
package zmq
