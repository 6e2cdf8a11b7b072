package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cancha/kernel/wire"
	"cancha/kernel/zmq"
)

// Channel is where a request is sent.
type Channel int

// The channels on which a client asks.
const (
	Shell Channel = iota
	Control
)

// ErrClosed reports that the client was closed.
var ErrClosed = errors.New("the client is closed")

// Options of a conversation. The zero value is fine.
type Options struct {
	// Watch gets every message that the kernel publishes, whoever asked, in order and on one goroutine: output that comes
	// after its cell has ended too. While it runs nothing else is read.
	Watch func(wire.Message)
	// Interrupt is how to stop a running cell; nil sends an interrupt_request.
	Interrupt func() error
	// Answer answers what cells ask, unless their request has an answer of its own; nil allows no questions.
	Answer Answer
	// Sockets opens the connections; nil is this module's own sockets.
	Sockets Sockets
}

// Client is one conversation with a kernel. All methods may be called from any goroutine.
type Client struct {
	session   *wire.Session
	options   Options
	info      KernelInfo
	asking    [2]*line // by Channel
	iopub     *line
	stdin     *line
	readers   sync.WaitGroup
	published chan struct{} // closed at the first message on iopub
	closed    atomic.Bool

	mu      sync.Mutex
	pending map[string]*pending // by msg_id of the request
}

// line is one channel's connection. A reply comes on the line of its request, or never: so who waits for one need only
// know when that line has ended.
type line struct {
	Conn
	ended chan struct{} // closed when nothing more comes
	err   error         // why; read after ended
	whole atomic.Int64  // bytes that had arrived when the latest message was whole
	taken atomic.Int64  // twice the messages that were taken in, and one more while another is
}

// arrived is how many bytes have come; 0 if the connection does not say.
func (l *line) arrived() int64 {
	if c, ok := l.Conn.(interface{ Arrived() int64 }); ok {
		return c.Arrived()
	}
	return 0
}

// take has a message taken in that is whole.
func (l *line) take(in func()) {
	l.whole.Store(l.arrived())
	l.taken.Add(1)
	in()
	l.taken.Add(1)
}

// progress is how far a line is; two of them tell whether a message is on its way.
type progress struct{ whole, arrived, taken int64 }

// progress looks at whole before arrived, and at taken last: a message that passes by meanwhile counts as coming, or as taken.
func (l *line) progress() progress {
	return progress{whole: l.whole.Load(), arrived: l.arrived(), taken: l.taken.Load()}
}

// coming tells that a part of a message has come, some of it since before, or that one is being taken in.
func (now progress) coming(before progress) bool {
	return now.taken%2 != 0 || now.arrived != before.arrived && now.arrived > now.whole
}

// pending is a request that waits for its reply and its idle.
type pending struct {
	publish func(wire.Message)
	heard   atomic.Uint64     // messages published for it
	reply   chan wire.Message // one
	idle    chan struct{}     // closed
	quiet   sync.Once
	answer  Answer // nil where the request allows no questions
	over    context.Context
	forget  context.CancelFunc // ends over
}

func newPending(publish func(wire.Message)) *pending {
	p := &pending{publish: publish, reply: make(chan wire.Message, 1), idle: make(chan struct{})}
	p.over, p.forget = context.WithCancel(context.Background())
	return p
}

// retry is the pause between attempts to connect to a kernel that does not listen yet.
const retry = 5 * time.Millisecond

// refusals is how many times in a row a kernel leaves a HELLO without an answer until its key is taken for another one: within a second or
// so, for the pause doubles after each, up to slowly. A kernel that ends in the middle of a handshake does so once, and one that a flood of
// connections reaches, and that ends the oldest of them, a few times.
const (
	refusals = 10
	slowly   = 200 * time.Millisecond
)

// Connect waits until a kernel serves at a connection: until it has answered kernel_info_request and something was heard on
// iopub. ctx bounds only the waiting. Of a kernel that encrypts it needs the public key alone; with another kernel's it fails soon.
func Connect(ctx context.Context, conn wire.Connection, o Options) (*Client, error) {
	session, err := wire.NewSession(conn.Key, conn.Scheme, "client")
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if conn.Encrypted() && conn.CurvePublic == (wire.CurveKey{}) {
		return nil, errors.New("connect: the kernel's public CURVE key is missing: its secret one is no use to a client")
	}
	c := &Client{
		session: session, options: o, published: make(chan struct{}), pending: map[string]*pending{},
	}
	if err := c.dial(ctx, conn); err != nil {
		c.hangUp()
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.readers.Go(func() { c.read(c.asking[Shell], c.replied) })
	c.readers.Go(func() { c.read(c.asking[Control], c.replied) })
	c.readers.Go(func() { c.read(c.iopub, c.heard) })
	c.readers.Go(func() { c.read(c.stdin, c.asked) })
	if err := c.ready(ctx); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

func (c *Client) dial(ctx context.Context, conn wire.Connection) (err error) {
	sockets := c.options.Sockets
	if sockets == nil {
		sockets = Own{}
	}
	c.iopub, err = patiently(ctx, func() (Conn, error) { return sockets.Subscriber(ctx, conn.Endpoint(conn.IOPubPort), "") })
	if err != nil {
		return err
	}
	for l, port := range map[**line]int{&c.asking[Shell]: conn.ShellPort, &c.asking[Control]: conn.ControlPort, &c.stdin: conn.StdinPort} {
		*l, err = patiently(ctx, func() (Conn, error) {
			return sockets.Dealer(ctx, conn.Endpoint(port), c.session.ID())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// patiently dials until it works, ctx ends, or there is a kernel that encrypts where we do not, does not where we do, or has another key.
func patiently(ctx context.Context, dial func() (Conn, error)) (*line, error) {
	for refused, pause := 0, retry; ; {
		conn, err := dial()
		if err == nil {
			return &line{Conn: conn, ended: make(chan struct{})}, nil
		}
		if errors.Is(err, zmq.ErrMechanism) {
			return nil, fmt.Errorf("%w: only one of the kernel and its client encrypts; does the kernel know CURVE keys?", err)
		}
		if refused, pause = refused+1, min(2*pause, slowly); !errors.Is(err, zmq.ErrHello) {
			refused, pause = 0, retry
		}
		if refused == refusals && ctx.Err() == nil {
			return nil, fmt.Errorf("%w, %d times: the key is not the kernel's; is the connection file that of an earlier kernel?", err, refused)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (last attempt: %w)", context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// ready asks for the kernel's info until something was heard on iopub: the subscription takes effect a moment after the
// connection, and not every kernel sends a welcome.
func (c *Client) ready(ctx context.Context) error {
	for {
		reply, err := c.request(ctx, Shell, "kernel_info_request", struct{}{}, newPending(nil), nudgeLimit)
		if err != nil && !errors.Is(err, errNoIdle) {
			return err
		}
		if err := json.Unmarshal(reply.Content, &c.info); err != nil {
			return fmt.Errorf("kernel_info_reply: %w", err)
		}
		select {
		case <-c.published:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
	}
}

// Info returns what the kernel said of itself.
func (c *Client) Info() KernelInfo { return c.info }

// KernelInfo is the part of a kernel_info_reply that a notebook keeps.
type KernelInfo struct {
	ProtocolVersion       string          `json:"protocol_version"`
	Implementation        string          `json:"implementation"`
	ImplementationVersion string          `json:"implementation_version"`
	Banner                string          `json:"banner"`
	LanguageInfo          json.RawMessage `json:"language_info"`
}

// read hands each message of one channel to f until the connection ends.
func (c *Client) read(from *line, f func(wire.Message)) {
	defer close(from.ended)
	for {
		frames, err := from.Receive()
		if err != nil {
			from.err = fmt.Errorf("%w: %w", ErrExited, err)
			if c.closed.Load() {
				from.err = ErrClosed
			}
			return
		}
		from.take(func() {
			if m, err := c.session.Decode(frames); err == nil { // else it is not from our kernel
				f(m)
			}
		})
	}
}

func (c *Client) replied(m wire.Message) {
	c.mu.Lock()
	p := c.pending[m.ParentID()]
	c.mu.Unlock()
	if p == nil {
		return
	}
	select {
	case p.reply <- m:
	default: // a second reply to one request: the first counts
	}
}

// heard handles a published message: the observer first, then who asked.
func (c *Client) heard(m wire.Message) {
	select {
	case <-c.published:
	default:
		close(c.published)
	}
	if c.options.Watch != nil {
		c.options.Watch(m)
	}
	c.mu.Lock()
	p := c.pending[m.ParentID()]
	c.mu.Unlock()
	if p == nil {
		return
	}
	p.heard.Add(1)
	if p.publish != nil {
		p.publish(m)
	}
	if State(m) == "idle" {
		p.quiet.Do(func() { close(p.idle) })
	}
}

// State returns the execution_state of a status message, "" of any other.
func State(m wire.Message) string {
	if m.Header.Type != "status" {
		return ""
	}
	var s struct {
		State string `json:"execution_state"`
	}
	_ = json.Unmarshal(m.Content, &s) // Decode has seen that it is an object
	return s.State
}

// Close ends the conversation; what waits fails with ErrClosed.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.hangUp()
	c.readers.Wait()
	return nil
}

func (c *Client) hangUp() {
	for _, l := range []*line{c.asking[Shell], c.asking[Control], c.iopub, c.stdin} {
		if l != nil {
			_ = l.Close()
		}
	}
}
