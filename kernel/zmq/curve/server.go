package curve

import (
	"crypto/rand"
	"fmt"
	"slices"
)

// Sizes of the commands' bodies, in bytes, without their names.
const (
	versionSize  = 2
	paddingSize  = 72 // makes a HELLO larger than its answer
	proofSize    = 64 // zeros, which a HELLO's box holds
	keySize      = 32
	helloSize    = versionSize + paddingSize + keySize + shortNonce + proofSize + boxOverhead
	cookieSize   = longNonce + 2*keySize + boxOverhead
	welcomeSize  = longNonce + keySize + cookieSize + boxOverhead
	vouchSize    = longNonce + 2*keySize + boxOverhead
	initiateSize = cookieSize + shortNonce + keySize + vouchSize + boxOverhead // and the metadata
	readySize    = shortNonce + boxOverhead                                    // and the metadata
)

// Prefixes of the nonces.
const (
	helloPrefix    = "CurveZMQHELLO---"
	welcomePrefix  = "WELCOME-"
	cookiePrefix   = "COOKIE--"
	initiatePrefix = "CurveZMQINITIATE"
	vouchPrefix    = "VOUCH---"
	readyPrefix    = "CurveZMQREADY---"
	clientPrefix   = "CurveZMQMESSAGEC"
	serverPrefix   = "CurveZMQMESSAGES"
)

// Server is the server's side of one handshake. Between Welcome and Ready it keeps the key of one cookie; the transient keys are in the
// cookie, which the client has. So a cookie is good for one INITIATE on its own connection.
type Server struct {
	keys    Pair
	heard   counter // of the client's nonces
	waiting bool    // for an INITIATE
	cookie  Key     // encrypts the cookie
}

// NewServer begins a handshake of the server that has these keys.
func NewServer(keys Pair) *Server { return &Server{keys: keys} }

// Welcome answers a HELLO's body with a WELCOME's.
func (s *Server) Welcome(hello []byte) ([]byte, error) {
	client, key, err := s.readHello(hello)
	if err != nil {
		return nil, fmt.Errorf("HELLO: %w", err)
	}
	transient := NewPair()
	_, _ = rand.Read(s.cookie[:]) // never fails, by its contract
	s.waiting = true
	content := slices.Clone(transient.Public[:])
	content = sealLong(content, cookiePrefix, slices.Concat(client[:], transient.Secret[:]), &s.cookie)
	return sealLong(nil, welcomePrefix, content, key), nil
}

// readHello returns the client's transient key and the key of the WELCOME's box.
func (s *Server) readHello(hello []byte) (client Key, key *Key, err error) {
	if len(hello) != helloSize || hello[0] != 1 || hello[1] != 0 {
		return client, nil, ErrMalformed
	}
	padding, rest := hello[versionSize:versionSize+paddingSize], hello[versionSize+paddingSize:]
	if slices.ContainsFunc(padding, func(b byte) bool { return b != 0 }) {
		return client, nil, ErrMalformed
	}
	client, rest = Key(rest[:keySize]), rest[keySize:]
	if key, err = shared(&client, &s.keys.Secret); err != nil {
		return client, nil, err
	}
	proof, err := s.heard.open(rest, helloPrefix, key)
	if err != nil {
		return client, nil, err
	}
	if !equal(proof, make([]byte, proofSize)) {
		return client, nil, ErrMalformed
	}
	return client, key, nil
}

// Ready answers an INITIATE's body with a READY's, which carries metadata. It returns the client's metadata, and the session, which is
// this server's from then on.
func (s *Server) Ready(initiate, metadata []byte) (ready, peer []byte, session *Session, err error) {
	key, peer, err := s.readInitiate(initiate)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("INITIATE: %w", err)
	}
	session = &Session{key: *key, mine: serverPrefix, theirs: clientPrefix, received: s.heard}
	return session.sent.seal(nil, readyPrefix, metadata, key), peer, session, nil
}

// readInitiate returns the session's key and the client's metadata.
func (s *Server) readInitiate(initiate []byte) (key *Key, metadata []byte, err error) {
	if len(initiate) < initiateSize || !s.waiting {
		return nil, nil, ErrMalformed
	}
	cookie, err := openLong(initiate[:cookieSize], cookiePrefix, &s.cookie)
	s.waiting, s.cookie = false, Key{}
	if err != nil {
		return nil, nil, fmt.Errorf("cookie: %w", err)
	}
	client, secret := Key(cookie[:keySize]), Key(cookie[keySize:])
	if key, err = shared(&client, &secret); err != nil {
		return nil, nil, err
	}
	content, err := s.heard.open(initiate[cookieSize:], initiatePrefix, key)
	if err != nil {
		return nil, nil, err
	}
	permanent, vouch := Key(content[:keySize]), content[keySize:keySize+vouchSize]
	if err := s.checkVouch(vouch, &permanent, &client, &secret); err != nil {
		return nil, nil, fmt.Errorf("vouch: %w", err)
	}
	return key, content[keySize+vouchSize:], nil
}

// checkVouch checks that who has the client's permanent key vouches for its transient one, towards this server.
func (s *Server) checkVouch(vouch []byte, permanent, client, secret *Key) error {
	key, err := shared(permanent, secret)
	if err != nil {
		return err
	}
	content, err := openLong(vouch, vouchPrefix, key)
	if err != nil {
		return err
	}
	if !equal(content, slices.Concat(client[:], s.keys.Public[:])) {
		return ErrBox
	}
	return nil
}
