package connect

import (
	"context"
	"time"

	"cancha/spark/internal/protocol"
)

// farewell bounds how long an operation's end waits for the server to hear of it: a kernel leaves a cell behind that takes five seconds to stop.
const farewell = 4 * time.Second

// Interrupt has the server end the operations of this session that have the tag, or all with tag "". It returns their ids; none is no error. Execute
// calls it when its context ends.
func (c *Client) Interrupt(ctx context.Context, tag string) (ids []string, err error) {
	request := &protocol.InterruptRequest{Kind: protocol.InterruptRequest_ALL}
	if tag != "" {
		request.Kind, request.Of = protocol.InterruptRequest_TAG, &protocol.InterruptRequest_Tag{Tag: tag}
	}
	c.sign(request)
	response := new(protocol.InterruptResponse)
	if err := c.call(ctx, "Interrupt", request, response); err != nil {
		return nil, err
	}
	return response.GetIds(), nil
}

// stop interrupts until ctx ends, which the end of the operation's stream does: one whose request is still on its way to the server is not found
// there by the first call. Without it the work would go on: a server does not mind that nobody listens.
func (c *Client) stop(ctx context.Context, tag string) error {
	ctx, cancel := context.WithTimeout(ctx, min(farewell, c.target.Patience))
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, time.Second) {
		if _, err := c.Interrupt(ctx, tag); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
