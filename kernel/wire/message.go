package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Version of the Jupyter messaging protocol that we speak.
const Version = "5.5"

// Errors of Session.Decode. In each case the message must be dropped without an answer: nobody that we know has sent it.
var (
	ErrMalformed = errors.New("wire: not a Jupyter message") // no delimiter, too few frames, or a part that is no JSON object
	ErrSignature = errors.New("wire: wrong signature")       // the sender does not know the key
	ErrReplayed  = errors.New("wire: replayed message")      // the same signed bytes came before, or are our own
)

// Header tells what a message is and who sent it.
type Header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"` // ISO 8601 with zone
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
	Subshell string `json:"subshell_id,omitempty"` // for which subshell a request on the shell channel is; "": the main shell
}

// Message is one Jupyter message. The JSON parts are kept as they came: what answers a message must carry its header
// exactly, fields that we do not know included.
type Message struct {
	Identities [][]byte // routing frames; the topic on iopub
	Header     Header
	RawHeader  json.RawMessage // Header as it is on the wire
	Parent     json.RawMessage // the parent's RawHeader, {} without one
	Metadata   json.RawMessage
	Content    json.RawMessage
	Buffers    [][]byte
}

var delimiter = []byte("<IDS|MSG>")

// parse takes frames apart without looking at the signature.
func parse(frames [][]byte) (m Message, signature []byte, signed [][]byte, err error) {
	at := -1
	for i, f := range frames {
		if bytes.Equal(f, delimiter) {
			at = i
			break
		}
	}
	if at < 0 {
		return m, nil, nil, fmt.Errorf("%w: no delimiter in %d frames", ErrMalformed, len(frames))
	}
	rest := frames[at+1:]
	if len(rest) < 5 {
		return m, nil, nil, fmt.Errorf("%w: %d frames after the delimiter, 5 are needed", ErrMalformed, len(rest))
	}
	m = Message{
		Identities: frames[:at:at],
		RawHeader:  rest[1],
		Parent:     rest[2],
		Metadata:   rest[3],
		Content:    rest[4],
		Buffers:    rest[5:],
	}
	return m, rest[0], rest[1:5], nil
}

// check decodes the header and sees to it that all four parts are JSON objects.
func (m *Message) check() error {
	for _, part := range []struct {
		name string
		raw  []byte
	}{{"header", m.RawHeader}, {"parent header", m.Parent}, {"metadata", m.Metadata}, {"content", m.Content}} {
		if trimmed := bytes.TrimLeft(part.raw, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(part.raw) {
			return fmt.Errorf("%w: the %s is no JSON object", ErrMalformed, part.name)
		}
	}
	if err := json.Unmarshal(m.RawHeader, &m.Header); err != nil {
		return fmt.Errorf("%w: header: %w", ErrMalformed, err)
	}
	if m.Header.Type == "" {
		return fmt.Errorf("%w: the header has no msg_type", ErrMalformed)
	}
	return nil
}

// ParentID returns the msg_id of the message that m answers, "" when there is none.
func (m Message) ParentID() string {
	var h Header
	if json.Unmarshal(m.Parent, &h) != nil {
		return ""
	}
	return h.ID
}
