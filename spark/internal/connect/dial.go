package connect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"cancha/spark/internal/protocol"
)

const (
	service = "/spark.connect.SparkConnectService/"
	// oldest is the first major version of Spark whose protocol has streams and models.
	oldest = 4
)

// Client is one session on a server. Its methods may be called at the same time.
type Client struct {
	target   Target
	conn     *grpc.ClientConn
	line     *line
	releases *releases
	sweeper  *sweeper
	version  string
	server   atomic.Pointer[string] // what the server calls its side of the session, once it has told
	hangUp   func() error           // once
}

// Dial connects, makes the session unless it is there, and asks for Spark's version. A server that refuses or says nothing is an *Error within
// Target.Patience; a refused connection is tried again for a quarter of it. Spark before version 4 is an error. Close the client in the end.
func Dial(ctx context.Context, t Target) (*Client, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	t.fill()
	l, err := newLine(&t)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+t.address(), options(&t, l)...) // passthrough: a name is looked up for each connection
	if err != nil {
		return nil, fmt.Errorf("spark: %s: %w", t.address(), err)
	}
	c := &Client{target: t, conn: conn, line: l, hangUp: sync.OnceValue(conn.Close)}
	c.releases = newReleases(c.release)
	c.sweeper = newSweeper(t.Patience, c.fail)
	if err := c.greet(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func options(t *Target, l *line) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(l),
		grpc.WithUserAgent(t.clientType()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstWait, Multiplier: waitFactor, Jitter: 0.2, MaxDelay: longest},
			MinConnectTimeout: t.Patience,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(t.MaxMessage), grpc.MaxCallSendMsgSize(t.MaxMessage)),
		grpc.WithDisableServiceConfig(), // our own tries are the only ones
		grpc.WithDisableRetry(),
	}
}

// greet asks for the version.
func (c *Client) greet(ctx context.Context) error {
	request := &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_Version_{Version: &protocol.AnalyzeRequest_Version{}}}
	c.sign(request)
	response := new(protocol.AnalyzeResponse)
	if err := c.within(ctx, c.target.Patience/4, "AnalyzePlan", request, response); err != nil {
		return err
	}
	c.version = response.GetVersion().GetVersion()
	first, _, _ := strings.Cut(c.version, ".")
	if major, err := strconv.Atoi(first); err != nil || major < oldest {
		return fmt.Errorf("spark: the server at %s has Spark %q; use one of version 4 or newer", c.target.address(), c.version)
	}
	return nil
}

// Session returns the session's id, a UUID.
func (c *Client) Session() string { return c.target.SessionID }

// Version returns the server's version of Spark, as 4.0.0.
func (c *Client) Version() string { return c.version }

// Close tells the server what it may forget, for a quarter of the patience at most, and hangs up. The session stays on the server, until it has been
// idle for an hour, unless Release has ended it. Close may be called twice.
func (c *Client) Close() error {
	c.sweeper.close()
	c.releases.close(c.target.Patience / 4)
	if err := c.hangUp(); err != nil {
		return fmt.Errorf("spark: hang up: %w", err)
	}
	return nil
}

// Analyze asks what a plan is: its schema, how it would be executed, whether it is a stream. Session and user are filled in here.
func (c *Client) Analyze(ctx context.Context, request *protocol.AnalyzeRequest) (*protocol.AnalyzeResponse, error) {
	c.sign(request)
	response := new(protocol.AnalyzeResponse)
	if err := c.call(ctx, "AnalyzePlan", request, response); err != nil {
		return nil, err
	}
	return response, nil
}

// Config reads or changes settings of the session.
func (c *Client) Config(ctx context.Context, operation *protocol.ConfigRequest_Operation) (*protocol.ConfigResponse, error) {
	request := &protocol.ConfigRequest{Operation: operation}
	c.sign(request)
	response := new(protocol.ConfigResponse)
	if err := c.call(ctx, "Config", request, response); err != nil {
		return nil, err
	}
	return response, nil
}

// Release ends the session on the server, with all that runs in it and all that it keeps: views, models, settings. Any call after it is an error. If an
// operation was interrupted in the last second, it waits for the rest of that second: see sweeper.
func (c *Client) Release(ctx context.Context) error {
	c.sweeper.settle(ctx)
	request := new(protocol.ReleaseSessionRequest)
	c.sign(request)
	return c.call(ctx, "ReleaseSession", request, new(protocol.ReleaseSessionResponse))
}

// call makes one call, and again where a fault may pass.
func (c *Client) call(ctx context.Context, method string, request, response proto.Message) error {
	return c.within(ctx, c.target.Patience, method, request, response)
}

func (c *Client) within(ctx context.Context, patience time.Duration, method string, request, response proto.Message) error {
	again := tries{patience: patience}
	for {
		err := c.listening(ctx, func(ctx context.Context) error {
			return c.conn.Invoke(c.outgoing(ctx), service+method, request, response)
		})
		if err == nil {
			return c.observe(response)
		}
		if c.line.refused() != nil || !again.again(ctx, err) {
			return c.failure(ctx, err)
		}
	}
}

// outgoing adds the headers of the target. They are not logged: the token is among them.
func (c *Client) outgoing(ctx context.Context) context.Context {
	if c.target.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.target.Token)
	}
	for name, value := range c.target.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	return ctx
}
