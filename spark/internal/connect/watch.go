package connect

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"cancha/spark/internal/protocol"
)

// errSilent ends a call whose server says nothing.
var errSilent = errors.New("the server says nothing, though it was asked")

// Half of the client's patience is for noticing a silent server, in sixteenths of the whole: quiet ticks pass before it is asked, and the answer
// may take the others. The other half is for trying on a connection of its own.
const (
	ticks      = 16
	quietTicks = 2
	askTicks   = ticks/2 - quietTicks - 1 // the first tick is partly over when the silence begins
)

// listening runs a call, and ends it with errSilent if its server falls silent.
//
// HTTP/2's own pings are no way to notice that: Spark's server, grpc-java, hangs up on a client that sends them more often than every five minutes,
// and a proxy between answers them for a server that is dead.
func (c *Client) listening(ctx context.Context, call func(context.Context) error) error {
	c.reconnect(ctx)
	ctx, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { c.watch(ctx, end) })
	defer watch.Wait()
	defer end(nil) // also where call panics
	err := call(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// reconnect has grpc try again at once after a failure, and gives it a moment: tries has a pace of its own, and a call that is made before the
// connection is there fails of what has been.
func (c *Client) reconnect(ctx context.Context) {
	if c.conn.GetState() != connectivity.TransientFailure {
		return
	}
	c.conn.ResetConnectBackoff()
	ctx, cancel := context.WithTimeout(ctx, 2*firstWait)
	defer cancel()
	c.conn.WaitForStateChange(ctx, connectivity.TransientFailure)
}

// watch ends a call when nothing comes from the server, and it leaves a question without an answer. The connections are cut then, because one that a
// firewall has forgotten looks the same, and another one might get through.
func (c *Client) watch(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(c.target.Patience / ticks)
	defer tick.Stop()
	heard, quiet := c.line.heard.Load(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := c.line.heard.Load(); now != heard {
			heard, quiet = now, 0
			continue
		}
		if quiet++; quiet < quietTicks {
			continue
		}
		if !c.answers(ctx) && ctx.Err() == nil {
			end(errSilent)
			c.line.cut()
			return
		}
		heard, quiet = c.line.heard.Load(), 0
	}
}

// answers asks the server for one setting. Any answer will do, also a refusal, and so will a larger one that is on its way on a slow line.
func (c *Client) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.target.Patience*askTicks/ticks)
	defer cancel()
	before := c.line.heard.Load()
	request := &protocol.ConfigRequest{SessionId: c.target.SessionID, User: c.user(), ClientType: c.target.clientType(), Operation: &protocol.ConfigRequest_Operation{
		Of: &protocol.ConfigRequest_Operation_GetOption{GetOption: &protocol.ConfigRequest_Get{Keys: []string{"spark.sql.session.timeZone"}}},
	}}
	err := c.conn.Invoke(c.outgoing(ctx), service+"Config", request, new(protocol.ConfigResponse))
	code := status.Code(err)
	const large = 16 << 10 // more than what HTTP/2 itself may say meanwhile
	return code != codes.DeadlineExceeded && code != codes.Unavailable && code != codes.Canceled || c.line.heard.Load()-before > large
}
