package curve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/nacl/box"
)

// Errors of a command that is refused. They say nothing of keys.
var (
	ErrMalformed = errors.New("malformed CURVE command") // its length, version, padding or flags are not the protocol's
	ErrBox       = errors.New("CURVE box does not open") // another key, or bytes that were changed or sent before
)

// Key is a key of Curve25519, public or secret: 32 bytes.
type Key = [32]byte

// Pair is a public key and its secret.
type Pair struct{ Public, Secret Key }

// String hides the keys from logs.
func (Pair) String() string { return "curve.Pair{hidden}" }

// GoString hides the keys from logs.
func (p Pair) GoString() string { return p.String() }

// NewPair makes a key pair.
func NewPair() Pair {
	public, secret, err := box.GenerateKey(rand.Reader)
	if err != nil { // crypto/rand never fails, by its contract
		panic(err)
	}
	return Pair{*public, *secret}
}

// Sizes of the protocol, in bytes.
const (
	boxOverhead = box.Overhead // what a box has more than its content
	nonceSize   = 24
	longNonce   = 16 // random
	shortNonce  = 8  // counted
)

// degenerate is the shared key that a public key of low order gives with any secret: whoever sends such a key need not know ours.
var degenerate = func() (key Key) {
	box.Precompute(&key, new(Key), new(Key))
	return key
}()

// shared returns the key of the boxes between two pairs.
func shared(public, secret *Key) (*Key, error) {
	key := new(Key)
	box.Precompute(key, public, secret)
	if subtle.ConstantTimeCompare(key[:], degenerate[:]) == 1 {
		return nil, fmt.Errorf("a key of low order: %w", ErrBox)
	}
	return key, nil
}

// sealLong appends a random nonce and the box of content.
func sealLong(out []byte, prefix string, content []byte, key *Key) []byte {
	var nonce [nonceSize]byte
	copy(nonce[:], prefix)
	_, _ = rand.Read(nonce[len(prefix):]) // never fails, by its contract
	out = append(out, nonce[len(prefix):]...)
	return box.SealAfterPrecomputation(out, content, &nonce, key)
}

// openLong opens what sealLong has made.
func openLong(sealed []byte, prefix string, key *Key) ([]byte, error) {
	var nonce [nonceSize]byte
	copy(nonce[:], prefix)
	copy(nonce[len(prefix):], sealed[:longNonce])
	content, ok := box.OpenAfterPrecomputation(nil, sealed[longNonce:], &nonce, key)
	if !ok {
		return nil, ErrBox
	}
	return content, nil
}

// counter counts the short nonces of what one side sends.
type counter uint64

// seal appends the next nonce and the box of content.
func (c *counter) seal(out []byte, prefix string, content []byte, key *Key) []byte {
	*c++
	var nonce [nonceSize]byte
	copy(nonce[:], prefix)
	binary.BigEndian.PutUint64(nonce[len(prefix):], uint64(*c))
	out = append(out, nonce[len(prefix):]...)
	return box.SealAfterPrecomputation(out, content, &nonce, key)
}

// open opens what the other side's counter has sealed, if it was not sent before.
func (c *counter) open(sealed []byte, prefix string, key *Key) ([]byte, error) {
	var nonce [nonceSize]byte
	copy(nonce[:], prefix)
	copy(nonce[len(prefix):], sealed[:shortNonce])
	n := counter(binary.BigEndian.Uint64(sealed))
	if n <= *c {
		return nil, fmt.Errorf("nonce %d after %d: %w", n, *c, ErrBox)
	}
	content, ok := box.OpenAfterPrecomputation(nil, sealed[shortNonce:], &nonce, key)
	if !ok {
		return nil, ErrBox
	}
	*c = n
	return content, nil
}

// equal compares in constant time.
func equal(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }
