package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"cancha/internal/secret"
	"cancha/jobs/queue"
)

// Server lets other processes of this machine use a broker. Serve makes one; it is closed before its broker.
type Server struct {
	broker   queue.Broker
	listener net.Listener
	socket   string      // its path; "": it listens at a port
	made     os.FileInfo // the socket itself
	token    string
	all      sync.WaitGroup  // goroutines
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   bool
}

// Serve listens at an address: unix:PATH, where only programs of this user reach it, or HOST:PORT of loopback (port 0: a free one), where a
// token is needed, of at least 16 characters; a socket may have one, too. Whoever gets through may do with the queues what this process
// may.
func Serve(b queue.Broker, address, token string) (*Server, error) {
	network, at, err := parse(address, token)
	if err == nil && token != "" {
		err = secret.Check(token)
	}
	if err != nil {
		return nil, fmt.Errorf("jobs/local: serve: %w", err)
	}
	l, err := listenAt(network, at)
	if err != nil {
		return nil, fmt.Errorf("jobs/local: serve %s: %w", address, err)
	}
	s := &Server{broker: b, listener: l, token: token, sessions: map[*session]struct{}{}}
	if network == "unix" {
		s.socket = at
		if s.made, err = os.Lstat(at); err != nil {
			return nil, errors.Join(fmt.Errorf("jobs/local: serve %s: %w", address, err), l.Close())
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.all.Go(s.accept)
	return s, nil
}

// listenAt takes the place of a socket that a process has left behind.
func listenAt(network, at string) (net.Listener, error) {
	if network != "unix" {
		return net.Listen(network, at)
	}
	l, err := listenUnix(at)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(at) {
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		l, err = listenUnix(at)
	}
	return l, err
}

// listenUnix makes a socket, which is its user's alone from the first moment on. It stays when the listener is closed.
func listenUnix(path string) (l net.Listener, err error) {
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) }) // Linux makes the file with these rights; others know no rights here
	}}
	err = reach(path, func(short string) error {
		if l, err = private.Listen(context.Background(), "unix", short); err != nil {
			return err
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false) // it knows the short path
		if err := os.Chmod(short, 0o600); err != nil {
			return errors.Join(err, l.Close(), os.Remove(short))
		}
		return nil
	})
	return l, err
}

func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := dialAt(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// Address is where the server is reached: what Dial takes.
func (s *Server) Address() string {
	if s.socket != "" {
		return "unix:" + s.socket
	}
	return s.listener.Addr().String()
}

// Close ends all connections, whose deliveries go back, and returns when nothing of the server runs any more. The broker stays open.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	var err error
	if first {
		err = s.stopListening()
	}
	for one := range s.sessions {
		one.hangUp()
	}
	s.cancel()
	s.mu.Unlock()
	s.all.Wait()
	if err != nil {
		return fmt.Errorf("jobs/local: serve: %w", err)
	}
	return nil
}

// stopListening removes the socket before it is closed: one that is closed may be another process's already. So may one be whose folder was replaced.
func (s *Server) stopListening() error {
	var err error
	if there, missing := os.Lstat(s.socket); missing == nil && os.SameFile(there, s.made) {
		err = os.Remove(s.socket)
	}
	return errors.Join(err, s.listener.Close())
}

// accept takes connections until Close. Where the system gives none for a moment, it tries again.
func (s *Server) accept() {
	for wait := time.Millisecond; ; {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many files are open, say
			select {
			case <-time.After(wait):
			case <-s.ctx.Done():
			}
			wait = min(2*wait, time.Second)
			continue
		}
		wait = time.Millisecond
		s.begin(conn)
	}
}

func (s *Server) begin(conn net.Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	one := &session{broker: s.broker, out: wire{conn: conn}, ctx: ctx, cancel: cancel, room: semaphore.NewWeighted(maxInWork),
		calls: map[uint64]context.CancelFunc{}, consumers: map[uint64]*servedConsumer{}, listeners: map[uint64]queue.Listener{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		one.hangUp()
		return
	}
	s.sessions[one] = struct{}{}
	s.all.Go(func() {
		one.run(s.token)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, one)
	})
}

// session is one connection on the server's side.
type session struct {
	broker queue.Broker
	out    wire
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	room   *semaphore.Weighted // for calls that are being worked on
	all    sync.WaitGroup      // those calls
	behind atomic.Int64        // answers that are not out yet

	mu        sync.Mutex
	calls     map[uint64]context.CancelFunc
	last      uint64 // number of a consumer, listener or delivery
	consumers map[uint64]*servedConsumer
	listeners map[uint64]queue.Listener
}

// servedConsumer is a consumer of the other side, with what that has in hand.
type servedConsumer struct {
	queue.Consumer
	inHand map[uint64]*queue.Delivery
}

// What one connection may have in work: so many bytes of calls, and answers that it has not taken. Beyond that the other side waits.
const (
	maxInWork = 64 << 20
	maxBehind = 1000
)

// hangUp ends the connection before the calls, so that nobody hears that those were given up.
func (s *session) hangUp() {
	_ = s.out.conn.Close() // it may be closed already
	s.cancel()
}

// run serves until the connection ends. Then all that the other side had goes back.
func (s *session) run(token string) {
	defer s.hangUp()
	if s.greet(token) != nil {
		return // there is nobody to be told but the other side, which has been
	}
	s.read()
	s.hangUp()
	s.all.Wait()
	for _, c := range s.consumers {
		_ = c.Close() // the broker tells others, if it cannot
	}
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

func (s *session) greet(token string) error {
	conn := s.out.conn
	if err := checkPeer(conn, os.Geteuid()); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(slow)); err != nil {
		return err
	}
	return errors.Join(greetDialler(conn, token), conn.SetDeadline(time.Time{}))
}

func (s *session) read() {
	for {
		p, err := readPacket(s.out.conn, maxFrame)
		if err != nil {
			return
		}
		if p.Op == opCancel {
			s.giveUp(p.Call)
			continue
		}
		if s.behind.Load() > maxBehind {
			s.out.wait()
		}
		weight := int64(p.size)
		if s.room.Acquire(s.ctx, weight) != nil {
			return
		}
		ctx := s.begin(p.ID)
		s.all.Go(func() {
			defer s.room.Release(weight)
			s.answer(ctx, p)
		})
	}
}

// begin notes a call before the next packet is read, which may give it up.
func (s *session) begin(id uint64) context.Context {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = cancel
	return ctx
}

func (s *session) giveUp(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[id]; cancel != nil {
		cancel()
	}
}

func (s *session) answer(ctx context.Context, p *packet) {
	a, err := s.do(ctx, p)
	if s.ctx.Err() != nil {
		return // the server ends: to the other side it is away, and no call has failed
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", errCancelled, err)
		}
		a = &packet{Fault: faultOf(err)}
	}
	s.giveUp(p.ID) // its context is needed no more
	s.mu.Lock()
	delete(s.calls, p.ID)
	s.mu.Unlock()
	a.ID = p.ID
	s.behind.Add(1)
	defer s.behind.Add(-1)
	_ = s.out.write(a) // if that fails, the connection has ended
}

func (s *session) do(ctx context.Context, p *packet) (*packet, error) {
	switch p.Op {
	case opDeclare:
		if p.Spec == nil {
			return nil, fmt.Errorf("%w: %s without a Spec", queue.ErrInvalid, p.Op)
		}
		notes, err := s.broker.Declare(ctx, *p.Spec)
		return &packet{Notes: notes}, err
	case opPublish:
		all, err := p.messages()
		if err == nil {
			err = s.broker.Publish(ctx, p.Name, all...)
		}
		return &packet{}, err
	case opInspect:
		info, err := s.broker.Inspect(ctx, p.Name)
		return &packet{Info: &info}, err
	case opAnnounce:
		m, err := p.message()
		if err == nil {
			err = s.broker.Announce(ctx, p.Name, m)
		}
		return &packet{}, err
	case opConsume, opNext, opSettle, opStop, opEnd:
		return s.doConsumer(ctx, p)
	case opListen, opHear, opDeaf:
		return s.doListener(ctx, p)
	}
	return nil, fmt.Errorf("%w: no call is named %q", queue.ErrInvalid, p.Op)
}

func (s *session) doConsumer(ctx context.Context, p *packet) (*packet, error) {
	if p.Op == opConsume {
		return s.consume(ctx, p)
	}
	s.mu.Lock()
	c := s.consumers[p.Consumer]
	s.mu.Unlock()
	if c == nil {
		return &packet{}, missing(p.Op)
	}
	switch p.Op {
	case opNext:
		return s.next(ctx, c)
	case opSettle:
		return &packet{}, s.settle(ctx, c, p)
	case opStop:
		c.Stop()
		return &packet{}, nil
	}
	s.mu.Lock()
	delete(s.consumers, p.Consumer)
	s.mu.Unlock()
	return &packet{}, c.Close()
}

// missing is the answer about a consumer or listener that has ended.
func missing(op string) error {
	switch op {
	case opSettle:
		return queue.ErrLost
	case opStop, opEnd, opDeaf:
		return nil
	}
	return queue.ErrClosed
}

func (s *session) consume(ctx context.Context, p *packet) (*packet, error) {
	c, err := s.broker.Consume(ctx, p.Name, p.Prefetch)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.consumers[s.last] = &servedConsumer{c, map[uint64]*queue.Delivery{}}
	return &packet{Consumer: s.last}, nil
}

func (s *session) next(ctx context.Context, c *servedConsumer) (*packet, error) {
	d, err := c.Next(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last++
	a := &packet{Number: s.last, Count: d.Count}
	c.inHand[s.last] = d
	s.mu.Unlock()
	a.add(&d.Message, d.Death)
	d.Body = nil // it is not needed until it is settled
	return a, nil
}

func (s *session) settle(ctx context.Context, c *servedConsumer, p *packet) error {
	s.mu.Lock()
	d := c.inHand[p.Number]
	s.mu.Unlock()
	if p.Outcome == nil {
		return fmt.Errorf("%w: %s without an outcome", queue.ErrInvalid, p.Op)
	}
	if d == nil {
		return queue.ErrSettled
	}
	err := settleAs(ctx, d, *p.Outcome)
	if err == nil || errors.Is(err, queue.ErrSettled) || errors.Is(err, queue.ErrLost) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(c.inHand, p.Number)
	}
	return err
}

// settleAs goes through the delivery's methods, which check what they are told.
func settleAs(ctx context.Context, d *queue.Delivery, o queue.Outcome) error {
	switch o.Verdict {
	case queue.Ack:
		return d.Ack(ctx)
	case queue.Retry:
		return d.Retry(ctx, o.After)
	case queue.Dead:
		return d.Dead(ctx, o.Reason)
	}
	return fmt.Errorf("%w: verdict %d", queue.ErrInvalid, o.Verdict)
}

func (s *session) doListener(ctx context.Context, p *packet) (*packet, error) {
	if p.Op == opListen {
		return s.listen(ctx, p)
	}
	s.mu.Lock()
	l := s.listeners[p.Consumer]
	if p.Op == opDeaf {
		delete(s.listeners, p.Consumer)
	}
	s.mu.Unlock()
	switch {
	case l == nil:
		return &packet{}, missing(p.Op)
	case p.Op == opDeaf:
		return &packet{}, l.Close()
	}
	m, err := l.Next(ctx)
	if err != nil {
		return nil, err
	}
	a := &packet{}
	a.add(&m, nil)
	return a, nil
}

func (s *session) listen(ctx context.Context, p *packet) (*packet, error) {
	l, err := s.broker.Listen(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.listeners[s.last] = l
	return &packet{Consumer: s.last}, nil
}
