package wire

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
)

// CurveKey is a public or secret key of CurveZMQ. As text it is forty characters of Z85 (rfc.zeromq.org/spec:32). The zero value is no key.
// Printed or logged it shows nothing of itself.
type CurveKey [32]byte

// CurveKeys are the keys of a kernel whose channels are encrypted with CurveZMQ. The kernel is the server; its clients need its public key,
// and no more. The zero value is a kernel whose channels are not encrypted.
type CurveKeys struct {
	CurvePublic CurveKey `json:"curve_publickey,omitzero"`
	CurveSecret CurveKey `json:"curve_secretkey,omitzero"`
}

// NewCurveKeys makes a key pair.
func NewCurveKeys() CurveKeys {
	secret, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil { // crypto/rand never fails, by its contract
		panic(err)
	}
	return CurveKeys{CurveKey(secret.PublicKey().Bytes()), CurveKey(secret.Bytes())}
}

// Encrypted tells whether there are keys.
func (k CurveKeys) Encrypted() bool { return k != CurveKeys{} }

func (k CurveKeys) validate() error {
	none := CurveKey{}
	switch {
	case !k.Encrypted():
		return nil
	case k.CurveSecret == none:
		return fmt.Errorf("%w: it has a curve_publickey and no curve_secretkey; CURVE encryption needs both", ErrConnection)
	case k.CurvePublic == none:
		return fmt.Errorf("%w: it has a curve_secretkey and no curve_publickey; CURVE encryption needs both", ErrConnection)
	}
	secret, err := ecdh.X25519().NewPrivateKey(k.CurveSecret[:])
	if err != nil {
		return fmt.Errorf("%w: curve_secretkey: %w", ErrConnection, err)
	}
	if subtle.ConstantTimeCompare(secret.PublicKey().Bytes(), k.CurvePublic[:]) == 0 {
		return fmt.Errorf("%w: curve_publickey is not that of curve_secretkey", ErrConnection)
	}
	return nil
}

// String hides the key.
func (k CurveKey) String() string { return "(hidden)" }

// GoString hides the key.
func (k CurveKey) GoString() string { return k.String() }

// LogValue hides the key.
func (k CurveKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// z85 are the digits of Z85: five of them, to the base 85, are four bytes.
const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

const keyDigits = len(CurveKey{}) / 4 * 5

// MarshalText returns the key as Z85.
func (k CurveKey) MarshalText() ([]byte, error) {
	text := make([]byte, 0, keyDigits)
	for at := 0; at < len(k); at += 4 {
		n := binary.BigEndian.Uint32(k[at:])
		for _, power := range []uint32{85 * 85 * 85 * 85, 85 * 85 * 85, 85 * 85, 85, 1} {
			text = append(text, z85[n/power%85])
		}
	}
	return text, nil
}

// errZ85 does not repeat what it was given: that may be a key with one wrong digit.
var errZ85 = errors.New("it is not a CURVE key, which is 40 characters of Z85")

// UnmarshalText reads a key as Z85; the empty text is no key.
func (k *CurveKey) UnmarshalText(text []byte) error {
	*k = CurveKey{}
	if len(text) == 0 {
		return nil
	}
	if len(text) != keyDigits {
		return errZ85
	}
	var read CurveKey
	for at := 0; at < len(read); at += 4 {
		n := uint64(0)
		for _, c := range text[at/4*5 : at/4*5+5] {
			digit := strings.IndexByte(z85, c)
			if digit < 0 {
				return errZ85
			}
			n = n*85 + uint64(digit)
		}
		if n > math.MaxUint32 {
			return errZ85
		}
		binary.BigEndian.PutUint32(read[at:], uint32(n))
	}
	*k = read
	return nil
}
