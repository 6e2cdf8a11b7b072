package curve

import (
	"fmt"
	"slices"
)

// Client is the client's side of one handshake.
type Client struct {
	keys      Pair
	server    Key
	transient Pair
	sent      counter
	key       *Key // of the session, from the WELCOME on
}

// NewClient begins a handshake with the server whose public key it is given. keys are the client's own: a server may ask who it is.
func NewClient(keys Pair, server Key) *Client {
	return &Client{keys: keys, server: server, transient: NewPair()}
}

// Hello returns a HELLO's body.
func (c *Client) Hello() ([]byte, error) {
	key, err := shared(&c.server, &c.transient.Secret)
	if err != nil {
		return nil, fmt.Errorf("HELLO: %w", err)
	}
	hello := make([]byte, versionSize+paddingSize, helloSize)
	hello[0] = 1
	hello = append(hello, c.transient.Public[:]...)
	return c.sent.seal(hello, helloPrefix, make([]byte, proofSize), key), nil
}

// Initiate answers a WELCOME's body with an INITIATE's, which carries metadata.
func (c *Client) Initiate(welcome, metadata []byte) ([]byte, error) {
	server, cookie, err := c.readWelcome(welcome)
	if err != nil {
		return nil, fmt.Errorf("WELCOME: %w", err)
	}
	if c.key, err = shared(&server, &c.transient.Secret); err != nil {
		return nil, fmt.Errorf("WELCOME: %w", err)
	}
	vouching, err := shared(&server, &c.keys.Secret)
	if err != nil {
		return nil, fmt.Errorf("WELCOME: %w", err)
	}
	content := slices.Clone(c.keys.Public[:])
	content = sealLong(content, vouchPrefix, slices.Concat(c.transient.Public[:], c.server[:]), vouching)
	return c.sent.seal(slices.Clone(cookie), initiatePrefix, append(content, metadata...), c.key), nil
}

// readWelcome returns the server's transient key and its cookie.
func (c *Client) readWelcome(welcome []byte) (server Key, cookie []byte, err error) {
	if len(welcome) != welcomeSize {
		return server, nil, ErrMalformed
	}
	key, err := shared(&c.server, &c.transient.Secret)
	if err != nil {
		return server, nil, err
	}
	content, err := openLong(welcome, welcomePrefix, key)
	if err != nil {
		return server, nil, err
	}
	return Key(content[:keySize]), content[keySize:], nil
}

// Ready reads a READY's body. It returns the server's metadata and the session, which is this client's from then on.
func (c *Client) Ready(ready []byte) (metadata []byte, session *Session, err error) {
	if len(ready) < readySize || c.key == nil {
		return nil, nil, fmt.Errorf("READY: %w", ErrMalformed)
	}
	session = &Session{key: *c.key, mine: clientPrefix, theirs: serverPrefix, sent: c.sent}
	if metadata, err = session.received.open(ready, readyPrefix, c.key); err != nil {
		return nil, nil, fmt.Errorf("READY: %w", err)
	}
	return metadata, session, nil
}
