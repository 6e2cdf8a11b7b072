package connect

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"cancha/spark/internal/protocol"
)

func (c *Client) user() *protocol.User {
	return &protocol.User{Id: c.target.UserID, Name: c.target.UserID}
}

// sign fills in of which session and from whom a request is, and what the server calls its side of the session.
func (c *Client) sign(request proto.Message) {
	session, user, client, server := c.target.SessionID, c.user(), c.target.clientType(), ""
	if p := c.server.Load(); p != nil {
		server = *p
	}
	switch r := request.(type) {
	case *protocol.ExecuteRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.ReattachRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.ReleaseExecuteRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.AnalyzeRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.ConfigRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.InterruptRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.ErrorRequest:
		r.SessionId, r.User, r.ClientType, r.ServerSessionId = session, user, client, server
	case *protocol.ReleaseSessionRequest:
		r.SessionId, r.User, r.ClientType = session, user, client
	default: // unreachable: the calls above are all that there are
		panic(fmt.Sprintf("spark: %T is no request", request))
	}
}

// observe compares what the server calls its side of the session with what it has called it before.
func (c *Client) observe(response proto.Message) error {
	told, ok := response.(interface{ GetServerSessionId() string })
	if !ok || told.GetServerSessionId() == "" {
		return nil
	}
	id := told.GetServerSessionId()
	if c.server.CompareAndSwap(nil, &id) || *c.server.Load() == id {
		return nil
	}
	return &Error{Class: sessionChanged, Text: "the server has a new session under the id of ours", Advice: advice(sessionChanged, "", "")}
}
