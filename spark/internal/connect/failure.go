package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cancha/spark/internal/protocol"
)

// Error is what a server says of a call that it could not do, or what is known of a server that did not answer.
type Error struct {
	// Class is Spark's error condition, as UNRESOLVED_COLUMN.WITH_SUGGESTION or INVALID_HANDLE.SESSION_CLOSED; "" if there is none.
	Class string
	// SQLState is the standard's code for it, as 42703; "" if there is none.
	SQLState string
	// Text is the whole message, without class and state. It may have several lines.
	Text string
	// Code is grpc's name for the kind of error: Internal for most of Spark's own, Unavailable for a server that cannot be reached.
	Code string
	// Types are the names of the exception's class on the server and of those above it, the nearest first; empty if it does not tell.
	Types []string
	// Parameters are the values in the message, by Spark's names for them.
	Parameters map[string]string
	// Advice is what one may do about it; "" if that is not known.
	Advice string

	cause error
}

// Error is the message with class and state, and the advice.
func (e *Error) Error() string {
	text := "spark: "
	if e.Class != "" {
		text += "[" + e.Class + "] "
	}
	text += strings.TrimSpace(e.Text)
	if e.SQLState != "" {
		text += " (SQLSTATE " + e.SQLState + ")"
	}
	if e.Advice != "" {
		text = strings.TrimSuffix(text, ".") + "; " + e.Advice
	}
	return text
}

// Unwrap returns the error from which it was made: grpc's, or that of the TLS handshake.
func (e *Error) Unwrap() error { return e.cause }

// Spark's classes that mean something to this room.
const (
	operationUnknown = "INVALID_HANDLE.OPERATION_NOT_FOUND"
	sessionUnknown   = "INVALID_HANDLE.SESSION_NOT_FOUND"
	sessionChanged   = "INVALID_HANDLE.SESSION_CHANGED"
	sessionClosed    = "INVALID_HANDLE.SESSION_CLOSED"
)

// unknown tells whether the server has no such operation.
func unknown(err error) bool {
	s, ok := status.FromError(err)
	return ok && (strings.Contains(s.Message(), operationUnknown) || strings.Contains(s.Message(), sessionUnknown))
}

// failure makes an Error of what a call ended with; the error of ctx stays as it is.
func (c *Client) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("spark: stopped: %w", cause)
	}
	var ours *Error
	if errors.As(err, &ours) {
		return ours
	}
	if refused := c.line.refused(); refused != nil && status.Code(err) == codes.Unavailable {
		return &Error{Text: "no trust between this machine and " + c.target.address() + ": " + refused.Error(), Code: codes.Unavailable.String(),
			Advice: c.distrust(refused), cause: refused}
	}
	s, ok := status.FromError(err)
	if ok && strings.Contains(s.Message(), net.ErrClosed.Error()) { // grpc tells of a connection that watch has cut
		err, ok = errSilent, false
	}
	if !ok {
		return &Error{Text: c.target.address() + ": " + err.Error(), Code: codes.Unavailable.String(), cause: err, Advice: silence(err)}
	}
	if _, limited := ctx.Deadline(); limited && s.Code() == codes.DeadlineExceeded { // the server's clock may be the first to end
		return fmt.Errorf("spark: stopped: %w", context.DeadlineExceeded)
	}
	e := parse(s)
	c.enrich(ctx, s, e)
	if e.Class == "" {
		e.Text, e.Advice = c.unanswered(s)
	} else {
		e.Advice = advice(e.Class, e.SQLState, e.Text)
	}
	return e
}

var (
	bracketed = regexp.MustCompile(`\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] `)
	stated    = regexp.MustCompile(`\s*SQLSTATE: ([0-9A-Z]{5})`)
	wrapped   = regexp.MustCompile(`(?s)^(?:last connection error: )?connection error: desc = "(.*)"$`)
)

// parse reads the class and the state out of a status: out of its details where they are, else out of the text.
func parse(s *status.Status) *Error {
	e := &Error{Text: s.Message(), Code: s.Code().String(), cause: s.Err()}
	if info := detail(s); info != nil {
		e.Class, e.SQLState = info["errorClass"], info["sqlState"]
		json.Unmarshal([]byte(info["classes"]), &e.Types) // without it there are none
		json.Unmarshal([]byte(info["messageParameters"]), &e.Parameters)
	}
	e.tidy()
	return e
}

// tidy takes class and state out of the text.
func (e *Error) tidy() {
	if m := bracketed.FindStringSubmatchIndex(e.Text); m != nil {
		if class := e.Text[m[2]:m[3]]; e.Class == "" || e.Class == class {
			e.Class, e.Text = class, e.Text[:m[0]]+e.Text[m[1]:]
		}
	}
	if m := stated.FindStringSubmatchIndex(e.Text); m != nil {
		e.SQLState = e.Text[m[2]:m[3]]
		e.Text = e.Text[:m[0]] + e.Text[m[1]:]
	}
	e.Text = strings.TrimSpace(e.Text)
}

// detail returns what Spark adds to a status; nil if that is nothing.
func detail(s *status.Status) map[string]string {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetMetadata()
		}
	}
	return nil
}

// enrich fetches the whole message, which a status has no room for beyond 2048 characters. Where that fails, the short one stays.
func (c *Client) enrich(ctx context.Context, s *status.Status, e *Error) {
	id := detail(s)["errorId"]
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.target.Patience/4)
	defer cancel()
	q := &protocol.ErrorRequest{ErrorId: id}
	c.sign(q)
	r := new(protocol.ErrorResponse)
	if err := c.conn.Invoke(c.outgoing(ctx), service+"FetchErrorDetails", q, r); err != nil || r.Root == nil {
		return
	}
	e.details(r)
}

// details takes the message of the error that the call ended with, and of its causes what it does not say itself.
func (e *Error) details(r *protocol.ErrorResponse) {
	all := r.GetErrors()
	at := int(r.GetRoot())
	for range all { // a cause that points back ends nowhere
		if at < 0 || at >= len(all) {
			return
		}
		x := all[at]
		if at == int(r.GetRoot()) {
			e.whole(x)
		} else if text := strings.TrimSpace(x.GetText()); text != "" && !strings.Contains(e.Text, firstLine(text)) {
			e.Text += "\ncaused by: " + text
		}
		if x.Cause == nil {
			return
		}
		at = int(x.GetCause())
	}
}

func (e *Error) whole(x *protocol.ErrorResponse_Error) {
	e.Text, e.Types = x.GetText(), x.GetTypes()
	if spark := x.GetSpark(); spark != nil {
		if spark.GetClass() != "" {
			e.Class = spark.GetClass()
		}
		if spark.GetSqlState() != "" {
			e.SQLState = spark.GetSqlState()
		}
		e.Parameters = spark.GetParameters()
	}
	e.tidy()
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
