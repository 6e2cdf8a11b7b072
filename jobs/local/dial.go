package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"cancha/jobs/queue"
)

// Remote is a broker that another process of this machine serves. It implements queue.Broker; Dial makes one. When the connection breaks,
// it is made anew for as long as the Remote is open.
type Remote struct {
	network, at, token string
	ctx                context.Context // ends with Close
	cancel             context.CancelFunc
	all                sync.WaitGroup // keep

	mu     sync.Mutex
	link   *link         // nil: the server is away
	change chan struct{} // closed, and made anew, when link changes
	fault  error         // why the server is away
}

// The pace at which a server that is away is looked for.
const (
	firstWait = 10 * time.Millisecond
	longest   = time.Second
)

// Dial connects to a broker that another process serves at this address, with its token. The context is for the call alone.
func Dial(ctx context.Context, address, token string) (*Remote, error) {
	network, at, err := parse(address, token)
	if err != nil {
		return nil, fmt.Errorf("jobs/local: dial: %w", err)
	}
	r := &Remote{network: network, at: at, token: token, change: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	first, err := r.connect(ctx)
	if err != nil {
		r.cancel()
		return nil, fmt.Errorf("jobs/local: dial: %w", err)
	}
	r.set(first, nil)
	r.all.Go(func() { r.keep(first) })
	return r, nil
}

func (r *Remote) connect(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	conn, err := dialAt(ctx, r.network, r.at)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = greetServer(conn, r.token)
	if !stop() {
		err = fmt.Errorf("who has it does not answer, it may be stopped: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.at, err), ignoreClosed(conn.Close()))
	}
	return &link{out: wire{conn: conn}, calls: map[uint64]chan *packet{}, dead: make(chan struct{})}, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// keep reads what comes, and connects anew, until Close.
func (r *Remote) keep(l *link) {
	for {
		stop := context.AfterFunc(r.ctx, l.hangUp)
		err := l.read()
		stop()
		l.hangUp()
		r.set(nil, fmt.Errorf("the broker is away: %w", err))
		for wait := firstWait; ; wait = min(2*wait, longest) {
			next, err := r.connect(r.ctx)
			if err == nil {
				l = next
				break
			}
			r.set(nil, err)
			select {
			case <-time.After(wait):
			case <-r.ctx.Done():
				return
			}
		}
		r.set(l, nil)
	}
}

func (r *Remote) set(l *link, fault error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l != nil || r.link != nil {
		close(r.change)
		r.change = make(chan struct{})
	}
	r.link, r.fault = l, fault
}

// up waits until the server is there.
func (r *Remote) up(ctx context.Context) (*link, error) {
	for {
		r.mu.Lock()
		l, change, fault := r.link, r.change, r.fault
		r.mu.Unlock()
		switch {
		case r.ctx.Err() != nil:
			return nil, queue.ErrClosed
		case ctx.Err() != nil:
			return nil, explained(ctx, fault)
		case l != nil:
			return l, nil
		}
		select {
		case <-change:
		case <-r.ctx.Done():
		case <-ctx.Done():
		}
	}
}

// explained is a context's error, with what the call has waited for.
func explained(ctx context.Context, fault error) error {
	if fault != nil {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), fault)
	}
	return context.Cause(ctx)
}

// call makes a call, on a new connection where the one breaks before the answer. So the server may have it twice.
func (r *Remote) call(ctx context.Context, p *packet) (*packet, error) {
	for {
		l, err := r.up(ctx)
		if err != nil {
			return nil, err
		}
		a, err := l.call(ctx, p)
		if !errors.Is(err, errAway) {
			return a, r.closedOr(err)
		}
		r.leave(l)
	}
}

// leave forgets a connection that has ended, before keep has found out.
func (r *Remote) leave(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.link == l {
		r.link, r.fault = nil, errAway
	}
}

func (r *Remote) closedOr(err error) error {
	if err != nil && r.ctx.Err() != nil {
		return queue.ErrClosed
	}
	return err
}

// Declare implements queue.Broker.
func (r *Remote) Declare(ctx context.Context, s queue.Spec) (notes []string, err error) {
	a, err := r.call(ctx, &packet{Op: opDeclare, Spec: &s})
	if err != nil {
		return nil, fmt.Errorf("jobs/local: declare %q: %w", s.Name, err)
	}
	return a.Notes, nil
}

// Publish implements queue.Broker. Where the connection breaks before the confirmation, the messages are published again, and may be there twice.
func (r *Remote) Publish(ctx context.Context, name string, messages ...queue.Message) error {
	if err := r.publish(ctx, name, messages); err != nil {
		return fmt.Errorf("jobs/local: publish to %q: %w", name, err)
	}
	return nil
}

func (r *Remote) publish(ctx context.Context, name string, messages []queue.Message) error {
	for i := range messages {
		if err := messages[i].Check(); err != nil {
			return err
		}
	}
	for {
		p := &packet{Op: opPublish, Name: name}
		n := fill(p, messages)
		if _, err := r.call(ctx, p); err != nil {
			return err
		}
		if messages = messages[n:]; len(messages) == 0 {
			return nil
		}
	}
}

// fill puts as many messages into a packet as a frame takes, and one at least.
func fill(p *packet, messages []queue.Message) (n int) {
	const most = 1000
	for size := 0; n < len(messages) && n < most; n++ {
		m := &messages[n]
		if size += sentSize(m); n > 0 && size > queue.MaxBody {
			break
		}
		p.add(m, nil)
	}
	return n
}

// sentSize is how many bytes a message takes in a frame, at most, but for the names of its fields.
func sentSize(m *queue.Message) int {
	const escaped = 6 // JSON's \u and four digits, for a byte of a text
	size := escaped*(len(m.ID)+len(m.ContentType)+len(m.ReplyTo)+len(m.CorrelationID)) + len(m.Body)
	for name, value := range m.Headers {
		size += escaped*(len(name)+len(value)) + len(`"":"",`)
	}
	return size
}

// Inspect implements queue.Broker.
func (r *Remote) Inspect(ctx context.Context, name string) (queue.Info, error) {
	a, err := r.call(ctx, &packet{Op: opInspect, Name: name})
	if err == nil && a.Info == nil {
		err = errNoBroker
	}
	if err != nil {
		return queue.Info{}, fmt.Errorf("jobs/local: inspect %q: %w", name, err)
	}
	return *a.Info, nil
}

// Announce implements queue.Broker. Where the connection breaks before the answer, it is an error, and may have been heard.
func (r *Remote) Announce(ctx context.Context, topic string, m queue.Message) error {
	err := m.Check()
	var l *link
	if err == nil {
		l, err = r.up(ctx)
	}
	if err == nil {
		p := &packet{Op: opAnnounce, Name: topic}
		p.add(&m, nil)
		_, err = l.call(ctx, p)
		err = r.closedOr(err)
	}
	if err != nil {
		return fmt.Errorf("jobs/local: announce on %q: %w", topic, err)
	}
	return nil
}

// Close implements queue.Broker: the server takes back what was in hand.
func (r *Remote) Close() error {
	r.cancel()
	r.all.Wait()
	return nil
}

// errAway tells that a connection has ended before an answer came.
var errAway = errors.New("the connection has ended")

// link is one connection.
type link struct {
	out  wire
	dead chan struct{} // closed when it has ended

	mu    sync.Mutex
	over  bool
	last  uint64
	calls map[uint64]chan *packet // who waits for an answer; each has room for one
}

func (l *link) hangUp() {
	_ = l.out.conn.Close() // it may be closed already
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.dead)
	}
}

// read gives answers to who waits for them, until the connection ends.
func (l *link) read() error {
	in := bufio.NewReader(l.out.conn)
	for {
		p, err := readPacket(in, maxFrame)
		if errors.Is(err, io.EOF) {
			err = errAway
		}
		if err != nil {
			return err
		}
		l.mu.Lock()
		if waits := l.calls[p.ID]; waits != nil {
			waits <- p
			delete(l.calls, p.ID)
		}
		l.mu.Unlock()
	}
}

// patience is how long a call that its context has ended waits for the server's word: it may have an answer on its way, with a message.
const patience = time.Second

// call makes a call on this connection. When the context ends, the server is told, and its answer counts. One that says nothing is left.
func (l *link) call(ctx context.Context, p *packet) (*packet, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	answer := make(chan *packet, 1)
	sent := *p // p may be sent again
	l.mu.Lock()
	l.last++
	sent.ID = l.last
	l.calls[sent.ID] = answer
	l.mu.Unlock()
	if err := l.send(ctx, &sent); err != nil {
		return nil, errAway
	}
	select {
	case a := <-answer:
		return l.result(ctx, a)
	case <-l.dead:
		return l.latest(ctx, answer)
	case <-ctx.Done():
	}
	if err := l.send(ctx, &packet{Op: opCancel, Call: sent.ID}); err != nil {
		return nil, context.Cause(ctx)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answer:
		return l.result(ctx, a)
	case <-l.dead:
	case <-timer.C:
		l.hangUp()
	}
	return nil, context.Cause(ctx)
}

// send writes a packet. A server that takes nothing, nor what others are writing, for longer than the context and patience allow is left:
// half a frame may be out.
func (l *link) send(ctx context.Context, p *packet) error {
	sent := make(chan struct{})
	defer close(sent)
	defer context.AfterFunc(ctx, func() {
		select {
		case <-sent:
		case <-time.After(patience):
			l.hangUp()
		}
	})()
	return l.out.write(p)
}

// latest is the answer that came before the connection ended, or that none did: who makes a call again that was answered makes it twice.
func (l *link) latest(ctx context.Context, answer <-chan *packet) (*packet, error) {
	select {
	case a := <-answer:
		return l.result(ctx, a)
	default:
		return nil, errAway
	}
}

// result is what an answer says, or the context's error where the call was given up for it. A server that gives up what nobody has asked it
// to is ending.
func (l *link) result(ctx context.Context, a *packet) (*packet, error) {
	if a.Fault == nil {
		return a, nil
	}
	err := a.Fault.err()
	switch {
	case !errors.Is(err, errCancelled):
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	l.hangUp()
	return nil, errAway
}
