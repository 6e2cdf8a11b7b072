package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/wire"
)

// Engine runs cells and knows what names mean. Any goroutine may call the methods; Execute is called by one goroutine for each shell.
// Complete, Inspect and IsComplete end with ctx; Comm returns when its handler has ended; the others return soon. Those that need an engine
// process wait for it themselves.
type Engine interface {
	// Execute runs a cell and returns when it has ended and all its output has been handed to the sink.
	Execute(ctx context.Context, r cell.Request) cell.Result
	Complete(ctx context.Context, q cell.Question) (cell.Completion, error)
	Inspect(ctx context.Context, q cell.Question) (cell.Inspection, error)
	IsComplete(ctx context.Context, code string) (cell.Completeness, error)
	// Comm hands a frame of a comm to the engine and returns when its handler there has ended. It fails at once where no
	// engine serves, which then has no comm either.
	Comm(ctx context.Context, f cellio.Frame) (cell.Result, error)
	// AnswerInput hands on what the user has answered to the KindInput frame of that seq.
	AnswerInput(seq uint64, r cellio.InputReply)
	Interrupt()       // stops the cells that run, on all shells, and the handlers of comms; returns at once
	Info() cell.Ready // of the engine that serves now; may be the zero value before it is ready
	Close() error     // ends the engine process and its children, at most 1 s
}

// Router is a socket on which clients ask: a message's first frame names the client that sent it or is to get it.
type Router interface {
	Receive(ctx context.Context) ([][]byte, error)
	Send(frames [][]byte) error
}

// Publisher is a socket on which every client hears everything; a message's first frame is its topic.
type Publisher interface {
	Publish(frames [][]byte) error
}

// Channels is what a kernel talks through. The heartbeat needs no kernel.
type Channels struct {
	Shell, Control, Stdin Router
	IOPub                 Publisher
}

// Config is what a kernel is made of. Connection and Engine are needed.
type Config struct {
	Connection wire.Connection
	Engine     Engine
	Version    string       // of the implementation
	History    string       // folder in which the history of all sessions is kept; empty keeps it nowhere
	Overflow   string       // folder for output that is too much to show, see [Kernel.Output]; empty: it is not kept
	Logger     *slog.Logger // nil is silent
}

// Times that end what should have ended by itself.
const (
	questionLimit = 30 * time.Second        // completion and the like, an engine's start included
	closeLimit    = 1200 * time.Millisecond // Engine.Close, which promises 1 s
	leaveLimit    = 300 * time.Millisecond  // the running request, once its engine is gone
)

// Kernel serves one connection. Make it with New, then call Run once.
type Kernel struct {
	connection wire.Connection
	engine     Engine
	version    string
	log        *slog.Logger
	session    *wire.Session

	channels atomic.Pointer[Channels] // nil before Run
	shells   *shells
	cells    *cellMemory
	comms    *comms
	inputs   *inputs
	history  *history
	refused  atomic.Uint64  // messages that were none, for the log
	count    atomic.Int64   // execution_count
	pending  sync.WaitGroup // of requests whose reply comes later
	quit     chan struct{}  // closed by a shutdown
	stop     func()

	publishing sync.Mutex // one message after the other
	limit      *limiter
}

// New returns a kernel that has its session id but does not serve yet. It fails on a signature scheme that wire does not know.
func New(c Config) (*Kernel, error) {
	if c.Engine == nil {
		return nil, errors.New("new kernel: no engine")
	}
	session, err := wire.NewSession(c.Connection.Key, c.Connection.Scheme, "kernel")
	if err != nil {
		return nil, fmt.Errorf("new kernel: %w", err)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var kept *archive
	if c.History != "" {
		kept = newArchive(c.History, c.Logger)
	}
	quit := make(chan struct{})
	cells := newCellMemory()
	cells.overflow = &overflow{folder: c.Overflow}
	return &Kernel{
		connection: c.Connection, engine: c.Engine, version: c.Version, log: c.Logger, session: session,
		shells: newShells(), cells: cells, limit: newLimiter(), comms: newComms(), inputs: newInputs(), history: newHistory(kept),
		quit: quit, stop: sync.OnceFunc(func() { close(quit) }),
	}, nil
}

// Run serves until a client shuts the kernel down or ctx ends, then closes the engine and returns nil within about a second
// and a half. The channels stay open: their owner closes them afterwards, which delivers the last messages.
func (k *Kernel) Run(ctx context.Context, c Channels) error {
	if !k.channels.CompareAndSwap(nil, &c) {
		return errors.New("run kernel: it runs already")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.publish(nil, "status", status{"starting"})

	var all sync.WaitGroup
	all.Go(func() { k.receive(ctx, c.Shell, "shell", k.route) })
	all.Go(func() { k.receive(ctx, c.Control, "control", func(r *request) { k.serve(ctx, r) }) })
	all.Go(func() { k.receive(ctx, c.Stdin, "stdin", k.inputReply) })
	all.Go(func() { k.work(ctx, k.shells.main) })

	select {
	case <-ctx.Done():
	case <-k.quit:
	}
	k.shells.close()
	k.within(closeLimit, "close the engine", func() {
		if err := k.engine.Close(); err != nil {
			k.log.Error("close the engine", "error", err)
		}
	})
	cancel()
	k.within(leaveLimit, "end the running requests", func() {
		all.Wait()
		k.shells.workers.Wait()
		k.pending.Wait()
	})
	k.history.close()
	return nil
}

// within waits for f, at most limit: a kernel that is told to go must go, whatever its engine does.
func (k *Kernel) within(limit time.Duration, what string, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		k.log.Error("it took too long", "to", what, "limit", limit)
	}
}

// receive hands each good message of a channel to accept, and drops the others.
func (k *Kernel) receive(ctx context.Context, from Router, name string, accept func(*request)) {
	for {
		frames, err := from.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				k.log.Error("receive", "channel", name, "error", err)
			}
			return
		}
		m, err := k.session.Decode(frames)
		if err != nil {
			k.refuse(name, err)
			continue
		}
		accept(&request{Message: m, channel: name, router: from})
	}
}

// refuse logs the first, second, fourth, eighth … message that was dropped: garbage must not fill a disk either.
func (k *Kernel) refuse(channel string, err error) {
	if n := k.refused.Add(1); n&(n-1) == 0 {
		k.log.Warn("message ignored", "channel", channel, "cause", err, "ignored_so_far", n)
	}
}

// Interrupt stops the cells that run, on all shells, if any do. Clients ask for it by interrupt_request; a signal handler may call it too.
// Open questions of these cells to the user are withdrawn.
func (k *Kernel) Interrupt() {
	k.inputs.withdraw()
	k.engine.Interrupt()
}

// Welcome returns the message that answers a subscription to topic on iopub: give it to the publisher's constructor. Its
// parent is empty, because nobody asked.
func (k *Kernel) Welcome(topic []byte) [][]byte {
	m, err := k.session.New("iopub_welcome", nil, map[string]string{"subscription": string(topic)})
	if err != nil {
		k.log.Error("welcome", "error", err)
		return [][]byte{topic}
	}
	m.Identities = [][]byte{topic}
	return k.session.Encode(m)
}

// Signed tells whether a message is from somebody who has the connection's key: give it to the routers' constructor.
func (k *Kernel) Signed(frames [][]byte) bool { return k.session.Signed(frames) }

// publish sends a message to every client, under the request whose header is parent (nil: nobody's).
func (k *Kernel) publish(parent json.RawMessage, msgType string, content any, buffers ...[]byte) {
	k.publishWith(parent, nil, msgType, content, buffers...)
}

// publishWith is publish with metadata.
func (k *Kernel) publishWith(parent, metadata json.RawMessage, msgType string, content any, buffers ...[]byte) {
	c := k.channels.Load()
	if c == nil {
		return
	}
	m, err := k.session.New(msgType, parent, content)
	if err != nil {
		k.log.Error("publish", "type", msgType, "error", err)
		return
	}
	m.Identities = [][]byte{[]byte("kernel." + k.session.ID() + "." + msgType)}
	m.Buffers = buffers
	if metadata != nil {
		m.Metadata = metadata
	}
	frames := k.session.Encode(m)
	k.publishing.Lock() // the limiter is to see messages in the order that front ends do
	defer k.publishing.Unlock()
	if err := c.IOPub.Publish(frames); err != nil {
		k.log.Warn("publish", "type", msgType, "error", err)
	}
	if content == (status{"idle"}) {
		k.limit.idle()
	}
	k.limit.count(msgType, m)
}
