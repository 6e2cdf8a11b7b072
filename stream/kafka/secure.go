package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusal is why a broker and this client cannot talk, however often they try. Both client libraries get connections that
// are encrypted and authenticated already, so that there is one place that knows such causes: kafka-go hides some of them
// and franz-go tries again until the caller's deadline.
type refusal struct {
	broker string
	what   string // is the matter
	advice string
	err    error // may be nil
}

func (r *refusal) Error() string {
	text := "broker " + r.broker + " " + r.what
	if r.err != nil {
		text += " (" + r.err.Error() + ")"
	}
	return text + ": " + r.advice
}

func (r *refusal) Unwrap() error { return r.err }

// secure turns a connection to a broker into one that is encrypted and authenticated, as far as s asks for it. It owns conn:
// after an error it is closed.
func (s *Security) secure(ctx context.Context, conn net.Conn, broker string) (net.Conn, error) {
	if s.TLS != nil {
		t := tls.Client(conn, s.clientTLS(broker))
		if err := t.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, explainTLS(broker, err)
		}
		conn = t
	}
	if s.User == "" {
		return conn, nil
	}
	if err := s.authenticate(ctx, conn, broker); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// clientTLS completes the configuration with the name that the broker's certificate must have.
func (s *Security) clientTLS(broker string) *tls.Config {
	if s.TLS.ServerName != "" {
		return s.TLS
	}
	cfg := s.TLS.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(broker)
	return cfg
}

// explainTLS tells a handshake that cannot succeed from a connection that was lost: only the former is a refusal.
func explainTLS(broker string, err error) error {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		op        *net.OpError
	)
	switch {
	case errors.As(err, &authority):
		return &refusal{broker, "has a certificate of an authority that is not known here",
			"name the file with the authority's certificate in KAFKA_TLS_CA, or give it to TLSFromFiles", err}
	case errors.As(err, &name):
		return &refusal{broker, "has a certificate for another name",
			"connect to it by a name that the certificate has, or set TLS.ServerName to one", err}
	case errors.As(err, &invalid), errors.As(err, &verify):
		return &refusal{broker, "has a certificate that is not valid", "look at its dates and at this machine's clock", err}
	case errors.As(err, &plain):
		return &refusal{broker, "does not speak TLS on this port", adviceNoTLS, err}
	case errors.As(err, &op) && op.Op == "remote error":
		return refusedByTLS(broker, err)
	case isTLS(err) && !lost(err):
		return &refusal{broker, "and this client find no common TLS", "see which versions and ciphers it takes, and set Security.TLS", err}
	}
	return fmt.Errorf("TLS with broker %s: %w", broker, err)
}

const (
	adviceNoTLS = "take its TLS port, or leave TLS out (Security.TLS, KAFKA_TLS, KAFKA_TLS_CA)"
	adviceTLS   = "set Security.TLS (KAFKA_TLS=1, KAFKA_TLS_CA), or take a port without TLS"
)

// refusedByTLS is what the broker's own alert means. Since TLS 1.3 it comes only after the client's part of the handshake.
func refusedByTLS(broker string, err error) error {
	return &refusal{broker, "ended the TLS handshake",
		"it may ask for a client certificate: give it one that its authority has signed (TLSFromFiles, KAFKA_TLS_CERT and KAFKA_TLS_KEY)", err}
}

func isTLS(err error) bool { return strings.Contains(err.Error(), "tls: ") }

// lost reports whether err is about the connection and not about what was said over it.
func lost(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network)
}

// hungUp tells that a broker, having agreed on a mechanism, closed the connection when it was shown the proof. Apache Kafka
// says that the user is refused; others close, and so does a broker that goes down in that moment.
type hungUp struct{ refusal error }

var errHungUp = errors.New("it closes the connection")

func (h *hungUp) Error() string { return h.refusal.Error() }

// hangUps is how many times in a row it takes until a hang-up is a refusal: a broker on its way down agrees on no mechanism
// any more.
const hangUps = 3

// doubt counts hang-ups in a row.
type doubt struct{ n atomic.Int32 }

func (d *doubt) secure(ctx context.Context, s *Security, conn net.Conn, broker string) (net.Conn, error) {
	conn, err := s.secure(ctx, conn, broker)
	var hung *hungUp
	switch {
	case err == nil:
		d.n.Store(0)
	case errors.As(err, &hung) && d.n.Add(1) >= hangUps:
		return nil, hung.refusal
	}
	return conn, err
}

// authenticate proves the user over a connection that has said nothing yet: a handshake names the mechanism, and then the
// mechanism's own messages go to and fro (KIP-43, KIP-152).
func (s *Security) authenticate(ctx context.Context, conn net.Conn, broker string) error {
	defer untilDone(ctx, conn)()
	mechanism := s.sasl()
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, mechanism.Name()
	response, err := exchange(conn, hello)
	if err != nil {
		return fmt.Errorf("SASL with broker %s: %w", broker, err)
	}
	if err := s.explainHandshake(broker, response.(*kmsg.SASLHandshakeResponse)); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(broker)
	session, say, err := mechanism.Authenticate(ctx, host)
	if err != nil {
		return s.refused(broker, err)
	}
	for done := false; !done; {
		say, done, err = s.step(conn, broker, say, session.Challenge)
		if err != nil {
			return err
		}
	}
	return nil
}

// step sends one message of the mechanism and lets it look at the answer.
func (s *Security) step(conn net.Conn, broker string, say []byte, look func([]byte) (bool, []byte, error)) (next []byte, done bool, err error) {
	request := kmsg.NewPtrSASLAuthenticateRequest()
	request.SASLAuthBytes = say
	response, err := exchange(conn, request)
	if errors.Is(err, io.EOF) {
		return nil, false, &hungUp{s.refused(broker, errHungUp)}
	}
	if err != nil {
		return nil, false, fmt.Errorf("SASL with broker %s: %w", broker, err)
	}
	answer := response.(*kmsg.SASLAuthenticateResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		if answer.ErrorMessage != nil && *answer.ErrorMessage != "" {
			err = errors.New(*answer.ErrorMessage)
		}
		return nil, false, s.refused(broker, err)
	}
	done, next, err = look(answer.SASLAuthBytes)
	if err != nil {
		return nil, false, s.refused(broker, err)
	}
	return next, done, nil
}

func (s *Security) refused(broker string, err error) error {
	return &refusal{broker, fmt.Sprintf("refuses user %s with %s", s.User, s.mechanism()),
		"see whether the user has this password, and for this mechanism (KAFKA_USER, KAFKA_PASSWORD, KAFKA_SASL_MECHANISM), and whether this port takes users", err}
}

func (s *Security) explainHandshake(broker string, r *kmsg.SASLHandshakeResponse) error {
	err := kerr.ErrorForCode(r.ErrorCode)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return &refusal{broker, "does not take " + s.mechanism(),
			"it takes " + strings.Join(r.SupportedMechanisms, ", ") + ": set Security.Mechanism (KAFKA_SASL_MECHANISM)", nil}
	case errors.Is(err, kerr.IllegalSaslState):
		return &refusal{broker, "takes no user on this port", "take its SASL port, or leave the user out (Security.User, KAFKA_USER)", nil}
	}
	return fmt.Errorf("SASL with broker %s: %w", broker, err)
}

// maxAnswer bounds the answers of exchange; the largest is a list of all topics.
const maxAnswer = 16 << 20

// exchange sends a request and reads the answer, on a connection that nobody else uses.
func exchange(conn net.Conn, request kmsg.Request) (kmsg.Response, error) {
	const correlation = 1
	asked := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, request, correlation)
	if _, err := conn.Write(asked); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 4 || size > maxAnswer || binary.BigEndian.Uint32(head[4:]) != correlation {
		return nil, errGarbled
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	response := request.ResponseKind()
	if response.IsFlexible() && response.Key() != (*kmsg.ApiVersionsRequest)(nil).Key() {
		if len(body) == 0 || body[0] != 0 {
			return nil, errGarbled
		}
		body = body[1:] // the header's tags, of which there are none
	}
	if err := response.ReadFrom(body); err != nil {
		return nil, errors.Join(errGarbled, err)
	}
	return response, nil
}

// errGarbled tells that what came is no answer of a Kafka broker.
var errGarbled = errors.New("the answer is not Kafka's")

// untilDone lets ctx interrupt what is read and written on conn; the returned function ends that.
func untilDone(ctx context.Context, conn net.Conn) func() {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(dialTimeout)
	}
	conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return func() {
		if stop() {
			conn.SetDeadline(time.Time{})
		}
	}
}
