package zmq

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"

	"cancha/kernel/wire"
	"cancha/kernel/zmq/curve"
)

// Errors of a connection that encryption keeps from coming about.
var (
	ErrMechanism = errors.New("zmq: another security mechanism") // the peer encrypts where we do not, or the other way round
	// ErrHello comes where a server that encrypts has not answered our HELLO. It has another key than the one that we have for it, or it
	// ended just then: CURVE does not tell which.
	ErrHello = errors.New("zmq: no answer to HELLO")
)

// open makes a connection of the library's on a link: greeting and handshake.
func open(l *link, keys wire.CurveKeys, kind zmq4.SocketType, identity string, server bool) (*zmq4.Conn, error) {
	security := securityOf(keys, l, server)
	ours := security.Type()
	conn, err := zmq4.Open(l, security, kind, zmq4.SocketIdentity(identity), server, nil)
	if theirs := l.mechanism(); err != nil && theirs != "" && theirs != string(ours) {
		return nil, fmt.Errorf("%w: the peer's is %q, and ours %s", ErrMechanism, theirs, ours)
	}
	return conn, err
}

// mechanism is the one that the peer's greeting names, "" where none has come.
func (l *link) mechanism() string {
	if l.greeting > 0 || l.greeted[0] != 0xff || l.greeted[9] != 0x7f {
		return ""
	}
	name, _, _ := bytes.Cut(l.greeted[mechanismAt:asServerByte], []byte{0})
	return string(name)
}

// securityOf returns what zmq4.Open is to do on a link: nothing where there are no keys, else the handshake of CURVE.
func securityOf(keys wire.CurveKeys, l *link, server bool) zmq4.Security {
	if !keys.Encrypted() {
		return null.Security()
	}
	l.asServer = server
	pair := curve.Pair{Public: keys.CurvePublic, Secret: keys.CurveSecret}
	return &curveHandshake{link: l, keys: pair, mechanism: zmq4.CurveSecurity}
}

// curveHandshake makes the handshake of CURVE as zmq4 wants it, on the library's commands. The library cannot go on from there: it writes a
// frame's length before the frame is encrypted, and so with its length in the clear. Frames are sealed and opened by the link, beneath it,
// and the library has to take the connection for one that is not encrypted.
type curveHandshake struct {
	link      *link
	keys      curve.Pair
	mechanism zmq4.SecurityType
}

// Type returns the mechanism. The library asks before the handshake, for the greeting, and at each frame after it.
func (h *curveHandshake) Type() zmq4.SecurityType { return h.mechanism }

// Encrypt is what the library calls for commands of the handshake, which go as they are.
func (h *curveHandshake) Encrypt(w io.Writer, data []byte) (int, error) { return w.Write(data) }

// Decrypt is the same for commands that come.
func (h *curveHandshake) Decrypt(w io.Writer, data []byte) (int, error) { return w.Write(data) }

// Handshake makes the session of a connection.
func (h *curveHandshake) Handshake(conn *zmq4.Conn, server bool) error {
	mine, err := conn.Meta.MarshalZMTP()
	if err != nil {
		return err
	}
	side := h.asClient
	if server {
		side = h.asServer
	}
	theirs, err := side(conn, mine)
	if err != nil {
		return err
	}
	h.mechanism = zmq4.NullSecurity
	return conn.Peer.Meta.UnmarshalZMTP(theirs)
}

func (h *curveHandshake) asServer(conn *zmq4.Conn, mine []byte) (theirs []byte, err error) {
	server := curve.NewServer(h.keys)
	hello, err := expect(conn, zmq4.CmdHello)
	if err != nil {
		return nil, err
	}
	welcome, err := server.Welcome(hello)
	if err != nil {
		return nil, err
	}
	if err := conn.SendCmd(zmq4.CmdWelcome, welcome); err != nil {
		return nil, err
	}
	initiate, err := expect(conn, zmq4.CmdInitiate)
	if err != nil {
		return nil, err
	}
	ready, theirs, session, err := server.Ready(initiate, mine)
	if err != nil {
		return nil, err
	}
	h.link.session = session
	return theirs, conn.SendCmd(zmq4.CmdReady, ready)
}

func (h *curveHandshake) asClient(conn *zmq4.Conn, mine []byte) (theirs []byte, err error) {
	client := curve.NewClient(curve.NewPair(), h.keys.Public) // servers ask no client who it is, so that one needs the public key alone
	hello, err := client.Hello()
	if err != nil {
		return nil, err
	}
	if err := conn.SendCmd(zmq4.CmdHello, hello); err != nil {
		return nil, err
	}
	welcome, err := expect(conn, zmq4.CmdWelcome)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHello, err)
	}
	initiate, err := client.Initiate(welcome, mine)
	if err != nil {
		return nil, err
	}
	if err := conn.SendCmd(zmq4.CmdInitiate, initiate); err != nil {
		return nil, err
	}
	ready, err := expect(conn, zmq4.CmdReady)
	if err != nil {
		return nil, err
	}
	theirs, h.link.session, err = client.Ready(ready)
	return theirs, err
}

// expect receives a command of the handshake.
func expect(conn *zmq4.Conn, name string) ([]byte, error) {
	cmd, err := conn.RecvCmd()
	if err != nil {
		return nil, err
	}
	if cmd.Name != name {
		return nil, fmt.Errorf("%.20q where %s is due: %w", cmd.Name, name, errFrame)
	}
	return cmd.Body, nil
}
