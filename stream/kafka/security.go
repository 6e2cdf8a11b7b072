package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Security is what a cluster asks for. The zero Security is a plain connection without a user. Printing one, or a
// configuration that has one, never shows the password.
type Security struct {
	TLS *tls.Config // nil: no encryption; TLSFromFiles makes one
	// User and Password are for SASL; an empty User: none. Without TLS, PLAIN sends the password for everybody on the way to
	// read; SCRAM does not send it at all.
	User     string
	Password string `json:"-"`
	// Mechanism is how the user is proved: PLAIN (the default), SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string
}

// Mechanisms of Security.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// SecurityFromEnvironment returns the Security that variables describe, so that no password need be in a notebook:
//
//	KAFKA_TLS             1: TLS, with the certificate authorities of the system
//	KAFKA_TLS_CA          file with the certificate of the authority that signs the brokers'; implies TLS
//	KAFKA_TLS_CERT, _KEY  files with the client's own certificate and key, for brokers that ask for one; imply TLS
//	KAFKA_USER            user; none: no SASL
//	KAFKA_PASSWORD        its password
//	KAFKA_SASL_MECHANISM  PLAIN (the default), SCRAM-SHA-256 or SCRAM-SHA-512
//
// Without any of them it is the zero Security. An error names the variable that cannot be right.
func SecurityFromEnvironment() (Security, error) {
	s := Security{User: os.Getenv("KAFKA_USER"), Password: os.Getenv("KAFKA_PASSWORD"), Mechanism: os.Getenv("KAFKA_SASL_MECHANISM")}
	ca, cert, key := os.Getenv("KAFKA_TLS_CA"), os.Getenv("KAFKA_TLS_CERT"), os.Getenv("KAFKA_TLS_KEY")
	on := ca != "" || cert != "" || key != ""
	switch v := os.Getenv("KAFKA_TLS"); v {
	case "":
	case "0", "false":
		if on {
			return Security{}, fmt.Errorf("kafka: KAFKA_TLS is %s, but KAFKA_TLS_CA, KAFKA_TLS_CERT or KAFKA_TLS_KEY is set: unset the one or the others", v)
		}
	case "1", "true":
		on = true
	default:
		return Security{}, fmt.Errorf("kafka: KAFKA_TLS is %q: want 1 or 0", v)
	}
	if on {
		var err error
		if s.TLS, err = TLSFromFiles(ca, cert, key); err != nil {
			return Security{}, fmt.Errorf("%w (KAFKA_TLS_CA, KAFKA_TLS_CERT, KAFKA_TLS_KEY)", err)
		}
	}
	if s.User == "" && (s.Password != "" || s.Mechanism != "") {
		return Security{}, errors.New("kafka: KAFKA_PASSWORD or KAFKA_SASL_MECHANISM is set, but KAFKA_USER is not")
	}
	return s, s.validate()
}

// TLSFromFiles returns a TLS configuration from PEM files: ca has the certificates of the authorities that may sign the
// brokers' (empty: those of the system), cert and key the client's own, for brokers that ask for one (empty: none).
func TLSFromFiles(ca, cert, key string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("kafka: certificate authority: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: certificate authority %s: no certificate in it: want a PEM file, which begins with -----BEGIN CERTIFICATE-----", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("kafka: a client's certificate and its key belong together: one of them is missing")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("kafka: client certificate %s with key %s: %w", cert, key, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// String tells how a connection is secured, without the password: "TLS, SCRAM-SHA-256 as reader".
func (s Security) String() string {
	var parts []string
	if s.TLS != nil {
		parts = append(parts, "TLS")
	}
	if s.User != "" {
		parts = append(parts, s.mechanism()+" as "+s.User)
	}
	if len(parts) == 0 {
		return "not secured"
	}
	return strings.Join(parts, ", ")
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (s Security) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

func (s Security) mechanism() string {
	if s.Mechanism == "" {
		return Plain
	}
	return s.Mechanism
}

func (s Security) validate() error {
	switch s.mechanism() {
	case Plain, ScramSHA256, ScramSHA512:
	default:
		return fmt.Errorf("kafka: SASL mechanism %q: want %s, %s or %s", s.Mechanism, Plain, ScramSHA256, ScramSHA512)
	}
	if s.User == "" && (s.Password != "" || s.Mechanism != "") {
		return errors.New("kafka: a password or a mechanism, but no user")
	}
	return nil
}

// sasl returns what proves the user; nil if there is none.
func (s Security) sasl() sasl.Mechanism {
	switch {
	case s.User == "":
		return nil
	case s.Mechanism == ScramSHA256:
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism()
	case s.Mechanism == ScramSHA512:
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism()
	}
	return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()
}
