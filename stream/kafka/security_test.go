package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"cancha/stream"
	"cancha/stream/broker"
)

// ports are those of a cluster, or of several, with each kind of security; user and password are the same on all.
type ports struct {
	plain, sasl, tls, saslTLS, mutual string
	certificates                      string // folder: ca.pem signs the brokers' and client.pem, other.pem signs nothing
}

const (
	testUser     = "reader"
	testPassword = "s3cret-word"
)

func (p *ports) tlsOf(t *testing.T, ca, client string) *tls.Config {
	t.Helper()
	file := func(name string) string {
		if name == "" {
			return ""
		}
		return filepath.Join(p.certificates, name)
	}
	cert, key := "", ""
	if client != "" {
		cert, key = client+".pem", client+".key"
	}
	cfg, err := TLSFromFiles(file(ca), file(cert), file(key))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// securePorts are those of an Apache Kafka, if scripts/kafka.sh has started one, or else of brokers in this process.
func securePorts(t *testing.T) *ports {
	t.Helper()
	if dir := os.Getenv("CANCHA_KAFKA_CERTIFICATES"); dir != "" {
		return &ports{realCluster(), os.Getenv("CANCHA_KAFKA_SASL"), os.Getenv("CANCHA_KAFKA_TLS"), os.Getenv("CANCHA_KAFKA_SASL_TLS"),
			os.Getenv("CANCHA_KAFKA_MUTUAL_TLS"), dir}
	}
	p := &ports{certificates: t.TempDir()}
	authority := newAuthority(t, filepath.Join(p.certificates, "ca.pem"))
	newAuthority(t, filepath.Join(p.certificates, "other.pem"))
	authority.sign(t, filepath.Join(p.certificates, "client"))
	authority.sign(t, filepath.Join(p.certificates, "broker"))
	pair, err := tls.LoadX509KeyPair(filepath.Join(p.certificates, "broker.pem"), filepath.Join(p.certificates, "broker.key"))
	if err != nil {
		t.Fatal(err)
	}
	encrypted := kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}})
	users := []kfake.Opt{kfake.EnableSASL()}
	for _, mechanism := range []string{Plain, ScramSHA256, ScramSHA512} {
		users = append(users, kfake.Superuser(mechanism, testUser, testPassword))
	}
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	p.plain = b.Addr()
	p.sasl = fake(t, users...)
	p.tls = fake(t, encrypted)
	p.saslTLS = fake(t, append(users, encrypted)...)
	p.mutual = fake(t, kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.pool,
	}))
	return p
}

func fake(t *testing.T, opts ...kfake.Opt) string {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T, file string) *authority {
	t.Helper()
	a := &authority{cert: template("cancha test " + filepath.Base(file)), key: newKey(t), pool: x509.NewCertPool()}
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, file, "CERTIFICATE", der)
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

// sign makes a certificate for 127.0.0.1, in file.pem and file.key.
func (a *authority) sign(t *testing.T, file string) {
	t.Helper()
	cert, key := template(filepath.Base(file)), newKey(t)
	cert.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, file+".pem", "CERTIFICATE", der)
	if der, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		t.Fatal(err)
	}
	writePEM(t, file+".key", "PRIVATE KEY", der)
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSecured writes and reads over every kind of secured port, alone and in a group.
func TestSecured(t *testing.T) {
	p := securePorts(t)
	known := p.tlsOf(t, "ca.pem", "")
	for _, row := range []struct {
		name, addr string
		security   Security
	}{
		{"PLAIN", p.sasl, Security{User: testUser, Password: testPassword}},
		{"SCRAM-SHA-256", p.sasl, Security{User: testUser, Password: testPassword, Mechanism: ScramSHA256}},
		{"SCRAM-SHA-512", p.sasl, Security{User: testUser, Password: testPassword, Mechanism: ScramSHA512}},
		{"TLS", p.tls, Security{TLS: known}},
		{"TLS and SCRAM", p.saslTLS, Security{TLS: known, User: testUser, Password: testPassword, Mechanism: ScramSHA512}},
		{"client certificate", p.mutual, Security{TLS: p.tlsOf(t, "ca.pem", "client")}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			topic := topicName(t)
			w, err := NewProducer(ProducerConfig{Brokers: []string{row.addr}, Topic: topic, Security: row.security})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 1000 {
				if err := w.Send(t.Context(), fmt.Append(nil, i%16), fmt.Append(nil, "value ", i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			cfg := Config{Brokers: []string{row.addr}, Topic: topic, Until: closed(), Security: row.security}
			for _, cfg.Group = range []string{"", topic} {
				h := &recorder{}
				if err := begin(t, cfg, h).wait(t); err != nil {
					t.Fatal(err)
				}
				h.check(t, 1000)
			}
			lags, err := Lag(t.Context(), cfg)
			if err != nil || len(lags) != defaultPartitions || lags[0].Lag != 0 {
				t.Errorf("got lags %+v, %v, want four of nothing", lags, err)
			}
		})
	}
}

// TestRefused: what no try can mend ends everything soon, with a sentence that names the cause and what to do.
func TestRefused(t *testing.T) {
	p := securePorts(t)
	known, unknown := p.tlsOf(t, "ca.pem", ""), p.tlsOf(t, "other.pem", "")
	misnamed := known.Clone()
	misnamed.ServerName = "kafka.example"
	user := Security{User: testUser, Password: testPassword}
	wrong := Security{User: testUser, Password: "gu3ss-word"}
	with := func(s Security, cfg *tls.Config, mechanism string) Security {
		s.TLS, s.Mechanism = cfg, mechanism
		return s
	}
	for _, row := range []struct {
		name, addr string
		security   Security
		want       []string
	}{
		{"wrong password, PLAIN", p.sasl, wrong, []string{"refuses user reader with PLAIN", "KAFKA_PASSWORD"}},
		{"wrong password, SCRAM-SHA-256", p.sasl, with(wrong, nil, ScramSHA256), []string{"refuses user reader with SCRAM-SHA-256", "KAFKA_PASSWORD"}},
		{"wrong password, SCRAM-SHA-512 and TLS", p.saslTLS, with(wrong, known, ScramSHA512), []string{"refuses user reader", "KAFKA_PASSWORD"}},
		{"nobody", p.sasl, Security{User: "nobody", Password: "x"}, []string{"refuses user nobody", "KAFKA_USER"}},
		{"no user where one is wanted", p.sasl, Security{}, []string{"wants a user", "KAFKA_USER", "SCRAM-SHA-256"}},
		{"no user where one is wanted, TLS", p.saslTLS, Security{TLS: known}, []string{"wants a user", "KAFKA_USER"}},
		{"TLS on a plain port", p.plain, Security{TLS: known}, []string{"does not speak TLS", "KAFKA_TLS"}},
		{"TLS on a SASL port", p.sasl, with(user, known, ""), []string{"does not speak TLS", "KAFKA_TLS"}},
		{"plain on a TLS port", p.tls, Security{}, []string{"speaks only TLS", "KAFKA_TLS"}},
		{"SASL on a TLS port", p.saslTLS, user, []string{"speaks only TLS", "KAFKA_TLS"}},
		{"plain where client certificates are wanted", p.mutual, Security{}, []string{"speaks only TLS", "KAFKA_TLS"}},
		{"unknown authority", p.tls, Security{TLS: unknown}, []string{"authority that is not known here", "KAFKA_TLS_CA"}},
		{"authorities of the system", p.tls, Security{TLS: &tls.Config{}}, []string{"authority that is not known here", "KAFKA_TLS_CA"}},
		{"other name", p.tls, Security{TLS: misnamed}, []string{"certificate for another name", "ServerName"}},
		{"no client certificate", p.mutual, Security{TLS: known}, []string{"client certificate", "KAFKA_TLS_CERT"}},
	} {
		if row.name == "TLS on a SASL port" && realCluster() == "" {
			continue // kfake waits for the hundreds of megabytes that a TLS greeting announces, if it is read as Kafka
		}
		for by, try := range ways(row.addr, row.security) {
			t.Run(row.name+", "+by, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				begun := time.Now()
				err := try(ctx, topicName(t))
				took := time.Since(begun)
				if err == nil || took > 10*time.Second {
					t.Fatalf("got %v after %v, want an error within 10 s", err, took)
				}
				t.Logf("after %v: %v", took.Round(time.Millisecond), err)
				for _, want := range append(row.want, row.addr) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("got %q, want it to have %q", err, want)
					}
				}
				if strings.Contains(err.Error(), testPassword) || strings.Contains(err.Error(), "gu3ss-word") {
					t.Errorf("the error has the password: %v", err)
				}
			})
		}
	}
}

// ways are those to a cluster: each returns what its try ended with.
func ways(addr string, s Security) map[string]func(ctx context.Context, topic string) error {
	read := func(group bool) func(ctx context.Context, topic string) error {
		return func(ctx context.Context, topic string) error {
			cfg := Config{Brokers: []string{addr}, Topic: topic, Security: s}
			if group {
				cfg.Group = topic
			}
			return Source(cfg).Run(ctx, &recorder{})
		}
	}
	return map[string]func(ctx context.Context, topic string) error{
		"source": read(false),
		"group":  read(true),
		"topic": func(ctx context.Context, topic string) error {
			_, err := CreateTopic(ctx, TopicConfig{Brokers: []string{addr}, Topic: topic, Security: s})
			return err
		},
		"lag": func(ctx context.Context, topic string) error {
			_, err := Lag(ctx, Config{Brokers: []string{addr}, Topic: topic, Security: s})
			return err
		},
		"producer": func(ctx context.Context, topic string) error {
			w, err := NewProducer(ProducerConfig{Brokers: []string{addr}, Topic: topic, Security: s})
			if err != nil {
				return err
			}
			return errors.Join(w.Send(ctx, nil, []byte("v")), w.Close(ctx))
		},
	}
}

// TestProducerRefusedLater: the broker comes back with another password. What waits is given up, and told.
func TestProducerRefusedLater(t *testing.T) {
	t.Parallel()
	begin := func(password string, port int) *kfake.Cluster {
		opts := []kfake.Opt{kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser(Plain, testUser, password)}
		if port != 0 {
			opts = append(opts, kfake.Ports(port))
		}
		c, err := kfake.NewCluster(opts...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := begin(testPassword, 0)
	addr := c.ListenAddrs()[0]
	w, err := NewProducer(ProducerConfig{Brokers: []string{addr}, Topic: "t", Security: Security{User: testUser, Password: testPassword}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Send(t.Context(), nil, []byte("v")), w.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := w.Send(t.Context(), nil, []byte("while it is away")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	_, port, _ := net.SplitHostPort(addr)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c = begin("another", number)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := w.Close(ctx); err == nil || !strings.Contains(err.Error(), "refuses user reader") {
		t.Errorf("got %v, want that the user is refused", err)
	}
}

// TestAwayIsWaitedFor: with security too, a broker that is merely away is tried until it is there.
func TestAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	// First there is somebody who accepts and hangs up, as a broker on its way down does, and then nobody.
	go func() {
		for range 3 {
			if c, err := free.Accept(); err == nil {
				c.Close()
			}
		}
		free.Close()
	}()
	s := Security{User: testUser, Password: testPassword, TLS: &tls.Config{InsecureSkipVerify: true}}
	h := &recorder{}
	r := begin(t, Config{Brokers: []string{addr}, Topic: "t", Security: s}, h)
	eventually(t, "five reports that the broker is away", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.retries) >= 5
	})
	r.stop(t)
}

func TestPasswordIsNotPrinted(t *testing.T) {
	s := Security{User: testUser, Password: testPassword}
	w, err := NewProducer(ProducerConfig{Brokers: []string{"a:1"}, Topic: "t", Security: s})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	cfg := Config{Brokers: []string{"a:1"}, Topic: "t", Group: "g", Security: s}
	for _, v := range []any{
		s, &s, cfg, &cfg, []Config{cfg}, w, *s.clone(), ProducerConfig{Topic: "t", Security: s}, TopicConfig{Topic: "t", Security: s},
		Source(cfg), stream.From(Source(cfg)), struct{ inside any }{Source(cfg)}, struct{ inside *Producer }{w},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, testPassword) || strings.Contains(got, fmt.Sprintf("%x", testPassword)) {
				t.Errorf("%T with %s: got %s", v, verb, got)
			}
		}
	}
	if got, want := fmt.Sprintf("%+v", cfg), "kafka.Config{t at a:1, group g, PLAIN as reader}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func (s Security) clone() *Security { return &s }

func TestSecurityFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	newAuthority(t, ca).sign(t, filepath.Join(dir, "client"))
	cert, key := filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	for _, row := range []struct {
		name string
		env  map[string]string
		want string // the words of an error begin with "error: "
	}{
		{"nothing", nil, "not secured"},
		{"TLS", map[string]string{"KAFKA_TLS": "1"}, "TLS"},
		{"authority", map[string]string{"KAFKA_TLS_CA": ca}, "TLS"},
		{"client", map[string]string{"KAFKA_TLS_CA": ca, "KAFKA_TLS_CERT": cert, "KAFKA_TLS_KEY": key}, "TLS"},
		{"user", map[string]string{"KAFKA_USER": "u", "KAFKA_PASSWORD": "p"}, "PLAIN as u"},
		{"all", map[string]string{"KAFKA_TLS": "1", "KAFKA_USER": "u", "KAFKA_PASSWORD": "p", "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512"}, "TLS, SCRAM-SHA-512 as u"},
		{"no such mechanism", map[string]string{"KAFKA_USER": "u", "KAFKA_SASL_MECHANISM": "GSSAPI"}, `error: mechanism "GSSAPI": want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512`},
		{"no user", map[string]string{"KAFKA_PASSWORD": "p"}, "error: KAFKA_USER is not"},
		{"no key", map[string]string{"KAFKA_TLS_CERT": cert}, "error: belong together"},
		{"no authority", map[string]string{"KAFKA_TLS_CA": ca + "x"}, "error: no such file"},
		{"key for authority", map[string]string{"KAFKA_TLS_CA": key}, "error: no certificate in it"},
		{"contradiction", map[string]string{"KAFKA_TLS": "0", "KAFKA_TLS_CA": ca}, "error: unset the one or the others"},
		{"maybe", map[string]string{"KAFKA_TLS": "maybe"}, "error: want 1 or 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, name := range []string{"KAFKA_TLS", "KAFKA_TLS_CA", "KAFKA_TLS_CERT", "KAFKA_TLS_KEY", "KAFKA_USER", "KAFKA_PASSWORD", "KAFKA_SASL_MECHANISM"} {
				t.Setenv(name, row.env[name])
			}
			s, err := SecurityFromEnvironment()
			if words, bad := strings.CutPrefix(row.want, "error: "); bad {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("got %v, want an error with %q", err, words)
				}
				return
			}
			if got := s.String(); err != nil || got != row.want {
				t.Errorf("got %s, %v, want %s", got, err, row.want)
			}
		})
	}
}
