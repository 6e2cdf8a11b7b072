package curve

import "fmt"

// Flags of a frame inside its box. The specification knows the first; libzmq sends its commands so, PING for one.
const (
	More    = 1
	Command = 2
)

// Overhead is what a MESSAGE has more than the frame in it, in bytes: its name, nonce, flags and the box.
const Overhead = len(messageName) + shortNonce + 1 + boxOverhead

// messageName is how a MESSAGE begins, the length of the name first.
const messageName = "\x07MESSAGE"

// Session seals what one side of a connection sends, and opens what it receives. One goroutine may seal while another opens.
type Session struct {
	key            Key
	mine, theirs   string // prefixes of nonces
	sent, received counter
	flagged        []byte // a frame behind its flags, before it is sealed; kept while it is small
}

// keptBuffer is how large a buffer is kept for the next frame.
const keptBuffer = 16 << 10

// Seal appends a MESSAGE with a frame of these flags to out.
func (s *Session) Seal(out []byte, flags byte, frame []byte) []byte {
	content := append(append(s.flagged[:0], flags), frame...)
	if s.flagged = content; cap(content) > keptBuffer {
		s.flagged = nil
	}
	return s.sent.seal(append(out, messageName...), s.mine, content, &s.key)
}

// Open returns the flags and the frame of a MESSAGE.
func (s *Session) Open(message []byte) (flags byte, frame []byte, err error) {
	if len(message) < Overhead || string(message[:len(messageName)]) != messageName {
		return 0, nil, fmt.Errorf("MESSAGE: %w", ErrMalformed)
	}
	content, err := s.received.open(message[len(messageName):], s.theirs, &s.key)
	if err != nil {
		return 0, nil, fmt.Errorf("MESSAGE: %w", err)
	}
	if flags = content[0]; flags&^(More|Command) != 0 || flags == More|Command {
		return 0, nil, fmt.Errorf("MESSAGE with flags %#x: %w", flags, ErrMalformed)
	}
	return flags, content[1:], nil
}
