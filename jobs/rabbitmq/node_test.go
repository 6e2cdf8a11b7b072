package rabbitmq_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/rabbitmq"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
)

// short is the consumer_timeout of the node of these tests, which others have at 30 minutes.
const short = 1500 * time.Millisecond

// TestNode is what needs a server with settings of its own: one that takes deliveries back early, speaks TLS, and runs out of memory.
func TestNode(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(server(t))
	if err != nil {
		t.Fatal(err)
	}
	folder, secure := certificates(t), fmt.Sprintf("127.0.0.1:%d", portOf(t, u)+24)
	n := startNode(t, 20, strings.Join([]string{fmt.Sprintf("consumer_timeout = %d", short.Milliseconds()), "listeners.ssl.default = " + secure,
		"ssl_options.cacertfile = " + folder + "/ca.pem", "ssl_options.certfile = " + folder + "/ca.pem",
		"ssl_options.keyfile = " + folder + "/key.pem"}, "\n"))
	n.do(t, "ctl", "eval", "application:set_env(rabbit, channel_tick_interval, 300).") // so often it looks; usually once a minute
	t.Run("refused", func(t *testing.T) { testRefused(t, n, secure, folder) })
	t.Run("taken back", func(t *testing.T) { testTakenBack(t, n) })
	t.Run("long job", func(t *testing.T) { testLongJob(t, n) })
	t.Run("no room", func(t *testing.T) { testNoRoom(t, n) })
}

// certificates makes a certificate for localhost in a folder that the server's user can read.
func certificates(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "cancha-rabbitmq-tls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	err = errors.Join(err, os.Chmod(folder, 0o755),
		os.WriteFile(filepath.Join(folder, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o644),
		os.WriteFile(filepath.Join(folder, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// testRefused: a connection that is refused for good says at once why, and what to do, and never the password; one over TLS works where the
// authority is known.
func testRefused(t *testing.T, n *node, secure, folder string) {
	u, err := url.Parse(n.address)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(secure)
	for _, test := range []struct{ name, address, says string }{
		{"password", "amqp://guest:s3cret@" + u.Host + "/", `the server refuses the user "guest"`},
		{"vhost", "amqp://guest:guest@" + u.Host + "/nowhere", `there is no vhost "nowhere"`},
		{"authority", "amqps://guest:s3cret@localhost:" + port + "/", "the certificate of localhost is not trusted"},
		{"name", "amqps://guest:s3cret@127.0.0.1:" + port + "/?cacertfile=" + folder + "/ca.pem", "the certificate of 127.0.0.1 is not trusted"},
		{"no TLS", "amqps://guest:s3cret@" + u.Host + "/", "speaks no TLS at port"},
		{"form", "http://guest:s3cret@" + u.Host + "/", "the URL is not of the form amqp://"},
		{"signs", "amqp://guest:s3cret%@" + u.Host + "/", "the URL is not of the form amqp://"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		b, err := rabbitmq.Dial(ctx, rabbitmq.Config{URL: test.address})
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %s", test.name, err, test.says)
		}
		if err == nil {
			_ = b.Close()
		}
		cancel()
	}
	b := dialed(t, "amqps://guest:guest@localhost:"+port+"/?cacertfile="+folder+"/ca.pem")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// testTakenBack: what is in hand for too long is lost to who has it, and comes again, counted; who settles in time goes on.
func testTakenBack(t *testing.T, n *node) {
	b := dialed(t, n.address)
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "taken", MaxDeliveries: 5}); err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), "taken", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "taken", queue.Message{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	d, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Next(t.Context()) // the hand is full: it comes when the server has emptied it
	if err != nil || again.ID != "one" || again.Count != 2 {
		t.Fatalf("got %+v, %v", again, err)
	}
	if err := d.Ack(t.Context()); !errors.Is(err, queue.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if err := again.Retry(t.Context(), 2*short); err != nil { // nor does what is kept away suffer, which its keeper has in hand
		t.Fatal(err)
	}
	from := time.Now()
	if again, err = c.Next(t.Context()); err != nil || again.Count != 3 || time.Since(from) < 2*short-time.Second/2 {
		t.Errorf("got %+v, %v after %v", again, err, time.Since(from))
	}
	if err := again.Ack(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// testLongJob: a job that takes longer than the server leaves a delivery to a worker runs once, and is completed: what comes again is
// refused where the job is claimed.
func testLongJob(t *testing.T, n *node) {
	b := dialed(t, n.address)
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.Start(t.Context(), b, st, scheduler.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	var runs atomic.Int32
	long := func(ctx context.Context, _ *worker.Task) (any, error) {
		runs.Add(1)
		select {
		case <-time.After(4 * short):
		case <-ctx.Done():
		}
		return "done", context.Cause(ctx)
	}
	for i := range 2 { // one of which is idle, and is given what comes again
		k, err := worker.Start(t.Context(), worker.Config{Broker: dialed(t, n.address),
			Worker: placement.Worker{ID: fmt.Sprint("w", i), Device: placement.CPU, Model: "test"},
			Funcs:  map[string]worker.Func{"long": long}, Beat: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Close() }) // the broker may be closed by then
	}
	c, err := b.Consume(t.Context(), job.QueueResults, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := b.Publish(t.Context(), job.QueueJobs, queue.Message{Body: []byte(`{"job_type":"long","job_id":"a"}`)}); err != nil {
		t.Fatal(err)
	}
	d, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		Status   string
		Attempts int
	}
	if err := errors.Join(json.Unmarshal(d.Body, &o), d.Ack(t.Context())); err != nil || o.Status != "completed" || o.Attempts != 1 || runs.Load() != 1 {
		t.Errorf("got %+v, %v, %d runs; want it completed by the one", o, err, runs.Load())
	}
}

// testNoRoom: while the server's memory is used up, what is published is refused, or waits, and says so; what is settled is settled; and
// all goes on when there is room.
func testNoRoom(t *testing.T, n *node) {
	n.do(t, "ctl", "eval", "application:set_env(rabbit, consumer_timeout, 1800000).") // of channels from now on
	b := dialed(t, n.address)
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "room", Shared: true}); err != nil {
		t.Fatal(err)
	}
	confirmed := map[string]bool{"before": true}
	if err := b.Publish(t.Context(), "room", queue.Message{ID: "before"}); err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), "room", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.do(t, "ctl", "set_vm_memory_high_watermark", "absolute", "1MB")
	for i := 0; err == nil || errors.Is(err, context.DeadlineExceeded); i++ { // the server says so when something comes; what it has read by then, it takes
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		id := fmt.Sprint("on its way ", i)
		if err = b.Publish(ctx, "room", queue.Message{ID: id}); err == nil {
			confirmed[id] = true
		}
		cancel()
	}
	if !errors.Is(err, queue.ErrFull) || !strings.Contains(err.Error(), "low on memory") {
		t.Errorf("got %v, want ErrFull for want of memory", err)
	}
	if err := d.Ack(t.Context()); err != nil {
		t.Error(err)
	}
	delete(confirmed, d.ID)
	n.do(t, "ctl", "set_vm_memory_high_watermark", "0.4")
	for errors.Is(err, queue.ErrFull) {
		err = b.Publish(t.Context(), "room", queue.Message{ID: "after"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for d.ID != "after" {
		if d, err = c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		delete(confirmed, d.ID)
		if err := d.Ack(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(confirmed) > 0 {
		t.Errorf("%v were confirmed and did not come", confirmed)
	}
}
