package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"cancha/spark/internal/protocol"
)

// errNothing ends a response stream that the server closed at once, without a response and without the end of the result.
var errNothing = errors.New("the server ends the response stream again and again, without a response")

// Execute runs a plan and hands over its responses in order, each once, whatever happens to the connection meanwhile; the one that only says that the
// result is complete is left out. It returns when the result is complete. If each returns an error, or panics, the operation is ended on the server,
// and that error is returned as it is. If ctx ends, so it is too, for which Execute waits 4 s at most, and the error is that of ctx. Any other error is an
// *Error: the server's, or that it was away for longer than Target.Patience.
func (c *Client) Execute(ctx context.Context, plan *protocol.Plan, each func(*protocol.ExecuteResponse) error) (result error) {
	if err := context.Cause(ctx); err != nil {
		return interrupted(err, nil)
	}
	id := newUUID()
	op := &operation{c: c, id: id, tag: "cancha-" + id, plan: plan, each: each}
	// The calls go on when ctx has ended, until the server has been told.
	live, end := context.WithCancel(context.WithoutCancel(ctx))
	var untold error
	told := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(told)
		untold = c.stop(live, op.tag)
		end()
	})
	err := error(&refusal{errPanicked}) // unless run returns
	defer func() {
		end()
		if !unwatch() {
			<-told
		}
		result = op.finish(ctx, err, untold)
	}()
	err = op.run(live)
	return nil
}

// errPanicked stands for an error of who takes the responses in with a panic, which goes on behind it.
var errPanicked = errors.New("panicked")

// finish releases the operation, and says how it ended.
func (o *operation) finish(ctx context.Context, err, untold error) error {
	defer o.c.releases.all(o.id)
	if err != nil && (ctx.Err() != nil || cancelled(err)) {
		defer o.c.sweeper.add(o.id)
	}
	var refused *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(farewell, o.c.target.Patience))
		defer cancel()
		o.c.Interrupt(goodbye, o.tag) // the release ends it as well, later
		return refused.error
	case ctx.Err() != nil:
		if away, _ := passing(err); away {
			untold = err
		}
		return interrupted(context.Cause(ctx), untold)
	}
	return o.c.failure(ctx, err)
}

// cancelled tells whether the operation was interrupted here or from elsewhere.
func cancelled(err error) bool {
	var refused *refusal
	s, ok := status.FromError(err)
	return errors.As(err, &refused) || ok && strings.Contains(s.Message(), "[OPERATION_CANCELED]")
}

// interrupted is the error of an operation whose context has ended.
func interrupted(cause, untold error) error {
	if untold != nil && !errors.Is(untold, context.Canceled) {
		return fmt.Errorf("spark: stopped here, but the server could not be told (%w) and may go on with it; release the session: %w", untold, cause)
	}
	return fmt.Errorf("spark: stopped: %w", cause)
}

// operation is one execution of a plan.
type operation struct {
	c    *Client
	id   string
	tag  string
	plan *protocol.Plan
	each func(*protocol.ExecuteResponse) error

	sent bool   // the server may know it
	last string // the response that was taken in last, "" before the first
	done bool   // the result is complete
}

// refusal is the error of who takes the responses in.
type refusal struct{ error }

// run reads one response stream after another until the result is complete.
func (o *operation) run(ctx context.Context) error {
	again := &tries{patience: o.c.target.Patience}
	for !o.done {
		opened, last := time.Now(), o.last
		err := o.c.listening(ctx, func(ctx context.Context) error { return o.read(ctx, again) })
		switch {
		case o.done:
			return nil
		case err == nil && (o.last != last || time.Since(opened) >= o.c.target.Patience):
			again.well() // a server ends each stream after two minutes, or a gigabyte
			continue
		case err == nil:
			err = errNothing
		case o.last == "" && unknown(err):
			o.sent = false // it never got there, for which the call that was to start it has paid with a try
			continue
		}
		if o.c.line.refused() != nil || !again.again(ctx, err) {
			return err
		}
	}
	return nil
}

// read takes in one stream.
func (o *operation) read(ctx context.Context, again *tries) error {
	stream, err := o.open(ctx)
	if err != nil {
		return err
	}
	for {
		r := new(protocol.ExecuteResponse)
		if err := stream.RecvMsg(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		again.well()
		if err := o.take(r); err != nil || o.done {
			return err
		}
	}
}

// open starts the operation, or goes on with it behind the last response that was taken in.
func (o *operation) open(ctx context.Context) (grpc.ClientStream, error) {
	if o.sent {
		q := &protocol.ReattachRequest{OperationId: o.id}
		if o.last != "" {
			q.LastResponseId = &o.last
		}
		o.c.sign(q)
		return o.stream(ctx, "ReattachExecute", q)
	}
	o.sent = true // even if the call fails: the server may have got it
	q := &protocol.ExecuteRequest{Plan: o.plan, OperationId: o.id, Tags: []string{o.tag}, Options: []*protocol.ExecuteRequest_Option{
		{Of: &protocol.ExecuteRequest_Option_Reattach{Reattach: &protocol.ExecuteRequest_Reattach{Reattachable: true}}},
	}}
	o.c.sign(q)
	return o.stream(ctx, "ExecutePlan", q)
}

func (o *operation) stream(ctx context.Context, method string, request any) (grpc.ClientStream, error) {
	stream, err := o.c.conn.NewStream(o.c.outgoing(ctx), &grpc.StreamDesc{ServerStreams: true}, service+method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) { // EOF: receiving tells why
		return nil, err
	}
	return stream, stream.CloseSend()
}

// take hands one response over.
func (o *operation) take(r *protocol.ExecuteResponse) error {
	if err := o.c.observe(r); err != nil {
		return err
	}
	if r.GetComplete() != nil {
		o.done = true
		return nil
	}
	if err := o.each(r); err != nil {
		return &refusal{err}
	}
	o.last = r.GetResponseId()
	o.c.releases.until(o.id, o.last)
	return nil
}
