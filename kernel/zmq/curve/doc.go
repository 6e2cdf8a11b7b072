// Package curve is CurveZMQ (rfc.zeromq.org/spec:26): the handshake of one connection, and the boxes that its frames travel in. It makes
// and reads the bodies of commands. It knows no sockets, no files and no messages: what carries the commands is kernel/zmq.
//
// [Server] and [Client] each make one handshake:
//
//	client                                        server
//	Hello     a transient key C'        ────→     Welcome
//	Initiate                            ←────     a transient key S', and a cookie
//	          cookie, key C, metadata   ────→     Ready
//	Ready                               ←────     metadata
//
// Both then have a [Session], which seals and opens frames. The client has to know the server's public key S, which never travels in the
// clear: who does not know it gets no answer.
package curve
