package local

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cancha/jobs/queue"
)

// Between Serve and Dial go frames: the length of the rest and of the packet (4 bytes each, big-endian), the packet in JSON, and the bodies
// of its messages. A call has an id, which its answer repeats; answers come in any order. The dialler calls, and the server answers.
type packet struct {
	ID       uint64         `json:"id,omitempty"`
	Op       string         `json:"op,omitempty"`
	Name     string         `json:"name,omitempty"`     // of the queue or topic
	Consumer uint64         `json:"consumer,omitempty"` // of a consumer or listener; the server numbers them
	Number   uint64         `json:"number,omitempty"`   // of a delivery
	Call     uint64         `json:"call,omitempty"`     // the id of the call that opCancel gives up
	Prefetch int            `json:"prefetch,omitempty"`
	Spec     *queue.Spec    `json:"spec,omitempty"`
	Outcome  *queue.Outcome `json:"outcome,omitempty"`
	Messages []sentMessage  `json:"messages,omitempty"`
	Count    int            `json:"count,omitempty"` // of a delivery
	Info     *queue.Info    `json:"info,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
	Fault    *fault         `json:"fault,omitempty"` // of an answer: the call has failed

	body []byte // of all messages
	size int    // of the frame that it came in
}

// sentMessage is a message whose body is so many bytes of those behind the packet.
type sentMessage struct {
	head
	Priority int `json:"priority,omitempty"`
	Size     int `json:"size,omitempty"`
}

// The calls.
const (
	opDeclare  = "declare"
	opPublish  = "publish"
	opInspect  = "inspect"
	opConsume  = "consume"
	opNext     = "next"
	opSettle   = "settle"
	opStop     = "stop"
	opEnd      = "end"
	opAnnounce = "announce"
	opListen   = "listen"
	opHear     = "hear"
	opDeaf     = "deaf"
	opCancel   = "cancel" // has no answer
)

// The largest frames: one message of each kind fits into one. Before the other side has proved that it knows the token, little is read.
const (
	maxFrame    = queue.MaxBody + 4<<20
	maxGreeting = 1024
)

// slow is how long a peer may take to take a frame, or to greet, before it counts as gone.
const slow = 30 * time.Second

func (p *packet) add(m *queue.Message, death *queue.Death) {
	p.Messages = append(p.Messages, sentMessage{head{m.ID, m.ContentType, m.ReplyTo, m.CorrelationID, m.Headers, death}, m.Priority, len(m.Body)})
	p.body = append(p.body, m.Body...)
}

// check refuses names that JSON would change to others.
func (p *packet) check() error {
	names := []string{p.Name}
	if p.Spec != nil {
		names = append(names, p.Spec.Name, p.Spec.Dead)
	}
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%w: the name %q is no UTF-8", queue.ErrInvalid, name)
		}
	}
	return nil
}

// messages takes the messages of a packet out. Their bodies share its memory.
func (p *packet) messages() (all []queue.Message, err error) {
	rest := p.body
	for _, s := range p.Messages {
		if s.Size < 0 || s.Size > len(rest) {
			return nil, fmt.Errorf("%w: a message of %d bytes in a frame with %d", queue.ErrInvalid, s.Size, len(rest))
		}
		all = append(all, queue.Message{ID: s.ID, Body: rest[:s.Size:s.Size], ContentType: s.ContentType, Priority: s.Priority, ReplyTo: s.ReplyTo,
			CorrelationID: s.CorrelationID, Headers: s.Headers})
		rest = rest[s.Size:]
	}
	return all, nil
}

// message is the one message of a packet.
func (p *packet) message() (queue.Message, error) {
	all, err := p.messages()
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%w: %d messages, want one", queue.ErrInvalid, len(all))
	}
	if err != nil {
		return queue.Message{}, err
	}
	return all[0], nil
}

func readPacket(r io.Reader, limit int) (*packet, error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return nil, err
	}
	size, text := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])
	if size < 4 || text > size-4 || int64(size) > int64(limit) {
		return nil, fmt.Errorf("a frame of %d bytes with a packet of %d, want at most %d: the peer speaks another protocol", size, text, limit)
	}
	var b bytes.Buffer // grows with what comes, not with what was promised
	if _, err := io.CopyN(&b, r, int64(size)-4); err != nil {
		return nil, err
	}
	p := &packet{size: int(size)}
	if err := json.Unmarshal(b.Next(int(text)), p); err != nil {
		return nil, fmt.Errorf("a packet: %w", err)
	}
	p.body = b.Bytes()
	return p, nil
}

// wire writes packets, from several goroutines.
type wire struct {
	mu   sync.Mutex
	conn net.Conn
}

// write sends a packet; if that fails, the connection is closed, and who reads from it finds out.
func (w *wire) write(p *packet) error {
	text, err := json.Marshal(p)
	if err != nil {
		return errors.Join(err, w.conn.Close()) // who waits for it would wait for ever
	}
	start := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(text)), uint32(4+len(text)+len(p.body)))
	start = append(binary.BigEndian.AppendUint32(start, uint32(len(text))), text...)
	w.mu.Lock()
	defer w.mu.Unlock()
	err = w.conn.SetWriteDeadline(time.Now().Add(slow))
	if err == nil {
		_, err = (&net.Buffers{start, p.body}).WriteTo(w.conn)
	}
	if err != nil {
		_ = w.conn.Close() // half a frame may be out
	}
	return err
}

// wait returns when the frame is out that is being written, if any is.
func (w *wire) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
}

// fault is an error on its way.
type fault struct {
	Code int    `json:"code,omitempty"` // place in codes, from 1 on; 0: none of them
	Text string `json:"text"`
}

// codes are the errors that callers tell apart; the order is the protocol's.
func codes() []error {
	return []error{queue.ErrUnknownQueue, queue.ErrInvalid, queue.ErrTooLarge, queue.ErrFull, queue.ErrClosed, queue.ErrLost, queue.ErrSettled, errCancelled}
}

// errCancelled tells that a call was given up as its caller wished.
var errCancelled = errors.New("the call was given up")

func faultOf(err error) *fault {
	f := &fault{Text: err.Error()}
	for i, code := range codes() {
		if errors.Is(err, code) {
			f.Code = i + 1
			break
		}
	}
	if cause := errors.Unwrap(err); cause != nil && strings.HasSuffix(f.Text, cause.Error()) {
		f.Text = cause.Error() // what was being done is said again on the other side
	}
	return f
}

func (f *fault) err() error {
	if all := codes(); f.Code > 0 && f.Code <= len(all) {
		return &remoteError{f.Text, all[f.Code-1]}
	}
	return errors.New(f.Text)
}

// remoteError is the server's error, with its text.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// greeting is what both sides say first: the server a nonce, the dialler another one and its proof, the server its own proof. So neither
// learns the token from the other, and a port that somebody else has taken is found out.
type greeting struct {
	Cancha string `json:"cancha,omitempty"` // protocol
	Nonce  string `json:"nonce,omitempty"`
	Proof  string `json:"proof,omitempty"`
	Refuse string `json:"refuse,omitempty"` // why the server does not go on
}

const protocol = "jobs 1"

// ErrToken tells that the other side has another token.
var ErrToken = errors.New("the token is not the same on both sides")

// proof shows that a side knows the token. It is worth nothing at another address: who has taken a port that the server does not have could
// pass it on.
func proof(token, side string, address net.Addr, serverNonce, diallerNonce string) string {
	h := hmac.New(sha256.New, []byte(token))
	at := ""
	if address.Network() == "tcp" { // a socket has several paths, and one owner
		at = address.String()
	}
	fmt.Fprintf(h, "%s %s %s %q %q", protocol, side, at, serverNonce, diallerNonce)
	return hex.EncodeToString(h.Sum(nil))
}

// greetDialler is the server's side.
func greetDialler(conn net.Conn, token string) error {
	mine := rand.Text()
	if err := writeGreeting(conn, greeting{Cancha: protocol, Nonce: mine}); err != nil {
		return err
	}
	g, err := readGreeting(conn)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(g.Proof), []byte(proof(token, "dialler", conn.LocalAddr(), mine, g.Nonce))) {
		return errors.Join(ErrToken, writeGreeting(conn, greeting{Cancha: protocol, Refuse: ErrToken.Error()}))
	}
	return writeGreeting(conn, greeting{Cancha: protocol, Proof: proof(token, "server", conn.LocalAddr(), mine, g.Nonce)})
}

// greetServer is the dialler's.
func greetServer(conn net.Conn, token string) error {
	first, err := readGreeting(conn)
	if err != nil {
		return err
	}
	mine := rand.Text()
	if err := writeGreeting(conn, greeting{Cancha: protocol, Nonce: mine, Proof: proof(token, "dialler", conn.RemoteAddr(), first.Nonce, mine)}); err != nil {
		return err
	}
	second, err := readGreeting(conn)
	switch {
	case err != nil:
		return err
	case second.Refuse != "", !hmac.Equal([]byte(second.Proof), []byte(proof(token, "server", conn.RemoteAddr(), first.Nonce, mine))):
		return ErrToken
	}
	return nil
}

func writeGreeting(conn net.Conn, g greeting) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func readGreeting(conn net.Conn) (g greeting, err error) {
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return g, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxGreeting {
		return g, errNoBroker
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(conn, text); err != nil {
		return g, err
	}
	if json.Unmarshal(text, &g) != nil || g.Cancha != protocol {
		return g, errNoBroker
	}
	return g, nil
}

var errNoBroker = errors.New("what is there is no broker of jobs, or of another version")
