package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// What every broker takes. RabbitMQ sets the measures.
const (
	// MaxBody is the largest body, in bytes: what a RabbitMQ 4 takes unless it is told otherwise.
	MaxBody = 16 << 20
	// MaxHeaders is the most that names and values of all headers may have together, in bytes: with them a message's properties fit into
	// one frame of AMQP.
	MaxHeaders = 32 << 10
	// MaxText is the longest name, id or other text of a message, in bytes: AMQP's short string.
	MaxText = 255
	// MaxPriority is the highest priority; the lowest is 0.
	MaxPriority = 9
	// MaxPrefetch is the most deliveries that a consumer may have in hand.
	MaxPrefetch = 65535
	// MaxDelay is the longest that Retry keeps a message away.
	MaxDelay = 7 * 24 * time.Hour
	// MinExpires is the shortest Spec.Expires besides 0.
	MinExpires = time.Second
)

// Message is what is published. Its zero value is a message without a body. Neither Publish nor a consumer keeps or changes what it refers to.
type Message struct {
	ID            string            // tells messages that were published twice; AMQP's message-id
	Body          []byte            // at most MaxBody
	ContentType   string            // such as application/json
	Priority      int               // 0 to MaxPriority; it counts in queues with Spec.Priorities
	ReplyTo       string            // name of the queue that an answer goes to
	CorrelationID string            // what an answer repeats from its question
	Headers       map[string]string // names that begin with "x-" are the brokers' own
}

// Check tells why no broker takes a message: ErrTooLarge or ErrInvalid.
func (m *Message) Check() error {
	if len(m.Body) > MaxBody {
		return fmt.Errorf("a body of %d bytes, where %d are the most, is %w", len(m.Body), MaxBody, ErrTooLarge)
	}
	if m.Priority < 0 || m.Priority > MaxPriority {
		return fmt.Errorf("%w: priority %d, want 0 to %d", ErrInvalid, m.Priority, MaxPriority)
	}
	for _, text := range []struct{ what, is string }{
		{"ID", m.ID}, {"ContentType", m.ContentType}, {"ReplyTo", m.ReplyTo}, {"CorrelationID", m.CorrelationID},
	} {
		if err := checkText("the message's "+text.what, text.is); err != nil {
			return err
		}
	}
	return m.checkHeaders()
}

func (m *Message) checkHeaders() error {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) { // so that the same message gets the same answer
		if name == "" || strings.HasPrefix(strings.ToLower(name), "x-") {
			return fmt.Errorf("%w: a header named %q; names that begin with x- are the broker's own", ErrInvalid, name)
		}
		if err := checkText("the name of a header", name); err != nil {
			return err
		}
		if !utf8.ValidString(m.Headers[name]) {
			return fmt.Errorf("%w: the header %q is no UTF-8", ErrInvalid, name)
		}
		size += len(name) + len(m.Headers[name])
	}
	if size > MaxHeaders {
		return fmt.Errorf("%w: headers of %d bytes, want at most %d", ErrInvalid, size, MaxHeaders)
	}
	return nil
}

// CheckName tells why a text is no name of a queue or a topic: it is empty, too long, no UTF-8, or begins with "amq.", which RabbitMQ keeps
// for itself.
func CheckName(name string) error {
	if name == "" || strings.HasPrefix(name, "amq.") {
		return fmt.Errorf("%w: %q as the name of a queue or topic", ErrInvalid, name)
	}
	return checkText("the name of a queue or topic", name)
}

// CheckTarget is CheckName for a queue that messages are sent to and that somebody else has made: "amq.gen-…" is what a RabbitMQ names a
// queue for answers.
func CheckTarget(name string) error {
	if name == "" {
		return CheckName(name)
	}
	return checkText("the name of a queue", name)
}

func checkText(what, is string) error {
	switch {
	case len(is) > MaxText:
		return fmt.Errorf("%w: %s has %d bytes, want at most %d", ErrInvalid, what, len(is), MaxText)
	case !utf8.ValidString(is):
		return fmt.Errorf("%w: %s is no UTF-8: %q", ErrInvalid, what, is)
	}
	return nil
}

// Clone returns a copy that shares nothing with m.
func (m *Message) Clone() Message {
	c := *m
	c.Body, c.Headers = slices.Clone(m.Body), maps.Clone(m.Headers)
	return c
}
