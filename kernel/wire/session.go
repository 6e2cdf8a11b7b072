package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Session is one side of a conversation: it numbers, signs and checks messages. A kernel has one for the life of its
// process and a client one for the life of its connection. All methods may be called from any goroutine.
type Session struct {
	id    string
	user  string
	key   []byte
	hash  func() hash.Hash
	count atomic.Uint64

	mu   sync.Mutex
	seen replayGuard
}

// NewSession returns a session with a fresh id that signs with key by scheme ("hmac-sha256" or "hmac-sha512"; empty means
// the former); with an empty key it neither signs nor checks.
func NewSession(key, scheme, user string) (*Session, error) {
	if scheme == "" {
		scheme = "hmac-sha256"
	}
	h, err := newHash(scheme)
	if err != nil {
		return nil, err
	}
	return &Session{id: newID(), user: user, key: []byte(key), hash: h}, nil
}

func newHash(scheme string) (func() hash.Hash, error) {
	switch scheme {
	case "hmac-sha256":
		return sha256.New, nil
	case "hmac-sha512":
		return sha512.New, nil
	default:
		return nil, fmt.Errorf("signature scheme %q is unknown; hmac-sha256 and hmac-sha512 are known", scheme)
	}
}

// newID returns 128 random bits in the shape of a version 4 UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ID returns the session's id, which every header of it carries.
func (s *Session) ID() string { return s.id }

// New returns a message of the given type that answers the message whose raw header is parent (nil: no one's). content is
// marshalled; a json.RawMessage is taken as it is.
func (s *Session) New(msgType string, parent json.RawMessage, content any) (Message, error) {
	raw, ok := content.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(content); err != nil {
			return Message{}, fmt.Errorf("encode %s: %w", msgType, err)
		}
	}
	h := Header{
		ID:       s.id + "_" + strconv.FormatUint(s.count.Add(1), 10),
		Session:  s.id,
		Username: s.user,
		Date:     time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		Type:     msgType,
		Version:  Version,
	}
	rawHeader, err := json.Marshal(h)
	if err != nil {
		return Message{}, fmt.Errorf("encode %s: %w", msgType, err)
	}
	if len(parent) == 0 {
		parent = json.RawMessage("{}")
	}
	return Message{Header: h, RawHeader: rawHeader, Parent: parent, Metadata: json.RawMessage("{}"), Content: raw}, nil
}

// Encode returns m as frames, signed. The frames share memory with m.
func (s *Session) Encode(m Message) [][]byte {
	frames := make([][]byte, 0, len(m.Identities)+6+len(m.Buffers))
	frames = append(frames, m.Identities...)
	frames = append(frames, delimiter, nil, m.RawHeader, m.Parent, m.Metadata, m.Content)
	at := len(m.Identities) + 1
	frames[at] = s.sign(frames[at+1:])
	return append(frames, m.Buffers...)
}

// Decode returns the message in frames, which it keeps. It fails with ErrMalformed, ErrSignature or ErrReplayed.
func (s *Session) Decode(frames [][]byte) (Message, error) {
	m, signature, signed, err := parse(frames)
	if err != nil {
		return Message{}, err
	}
	if !hmac.Equal(s.sign(signed), signature) && len(s.key) > 0 {
		return Message{}, ErrSignature
	}
	if err := m.check(); err != nil {
		return Message{}, err
	}
	// Everybody hears what a kernel publishes, signed. Of that a comm_msg, say, means something to the kernel too.
	if len(s.key) > 0 && (m.Header.Session == s.id || !s.firstTime(string(signature))) {
		return Message{}, fmt.Errorf("%w: %s %s", ErrReplayed, m.Header.Type, m.Header.ID)
	}
	return m, nil
}

// Signed tells whether frames are a message that somebody else has signed with the key, for the first time; without a key any message is.
// It takes no message in: Decode may follow.
func (s *Session) Signed(frames [][]byte) bool {
	m, signature, signed, err := parse(frames)
	if err != nil || !hmac.Equal(s.sign(signed), signature) && len(s.key) > 0 || json.Unmarshal(m.RawHeader, &m.Header) != nil {
		return false
	}
	return len(s.key) == 0 || m.Header.Session != s.id && !s.came(string(signature))
}

// sign returns the signature of the four JSON parts in hex; it is empty without a key.
func (s *Session) sign(parts [][]byte) []byte {
	if len(s.key) == 0 {
		return []byte{}
	}
	mac := hmac.New(s.hash, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}

func (s *Session) firstTime(signature string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.add(signature)
}

func (s *Session) came(signature string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.has(replayKeyOf(signature))
}
