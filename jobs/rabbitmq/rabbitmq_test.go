package rabbitmq_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/jobs/jobstest"
	"cancha/jobs/queue"
	"cancha/jobs/rabbitmq"
)

// The tests that need a server run by "make integration-rabbitmq", which sets these.
const (
	envServer = "CANCHA_RABBITMQ"     // its address
	envAPI    = "CANCHA_RABBITMQ_API" // of its management; "": all tests share one vhost
	envScript = "CANCHA_RABBITMQ_SH"  // scripts/rabbitmq.sh, which starts and kills others; "": those tests are skipped
)

// server is the address of a RabbitMQ, in a vhost that only this test uses.
func server(t testing.TB) string {
	t.Helper()
	address := os.Getenv(envServer)
	if address == "" {
		t.Skip(envServer + " names no RabbitMQ; make integration-rabbitmq starts one")
	}
	api := os.Getenv(envAPI)
	if api == "" {
		return address
	}
	name := "test-" + strings.ToLower(rand.Text()[:10])
	manage(t, http.MethodPut, api+"/api/vhosts/"+name, "")
	t.Cleanup(func() { manage(t, http.MethodDelete, api+"/api/vhosts/"+name, "") })
	manage(t, http.MethodPut, api+"/api/permissions/"+name+"/guest", `{"configure":".*","write":".*","read":".*"}`)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func manage(t testing.TB, method, address, body string) {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %s", method, r.URL.Redacted(), answer.Status, text)
	}
}

// connected is a vhost of a RabbitMQ, which is reached through a proxy that can be cut.
type connected struct {
	url   string
	proxy *proxy
	mu    sync.Mutex
	all   []*rabbitmq.Broker
}

func newConnected(t testing.TB) *connected { return connectedTo(t, server(t)) }

func connectedTo(t testing.TB, address string) *connected {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, u.Host)
	u.Host = p.address
	return &connected{url: u.String(), proxy: p}
}

func (c *connected) Connect(t testing.TB) queue.Broker {
	t.Helper()
	b := dialed(t, c.url)
	c.mu.Lock()
	c.all = append(c.all, b)
	c.mu.Unlock()
	return b
}

func dialed(t testing.TB, address string) *rabbitmq.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config := rabbitmq.Config{URL: address}
	if os.Getenv("CANCHA_LOG") != "" {
		config.Logger = slog.Default()
	}
	b, err := rabbitmq.Dial(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// FetchesAhead says that a delivery which is on its way when a consumer is cancelled is returned, and counted, by the server.
func (c *connected) FetchesAhead() {}

func (c *connected) Break(t testing.TB) { c.proxy.cut() }
func (c *connected) Mend(t testing.TB)  { c.proxy.listen(t) }

// node is a server of a test's own: what is done to it hurts no other test.
type node struct {
	address, api string
	env          []string
}

// startNode starts a server on ports so far above those of the one that all use, with lines for its configuration; the test's clean-up ends it.
func startNode(t testing.TB, above int, conf string) *node {
	t.Helper()
	address := os.Getenv(envServer)
	if os.Getenv(envScript) == "" {
		t.Skip(envScript + " names no script that starts a RabbitMQ; make integration-rabbitmq has one")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(t, u)
	at := func(port int) string { return net.JoinHostPort(u.Hostname(), strconv.Itoa(port)) }
	port += above
	n := &node{address: "amqp://guest:guest@" + at(port) + "/", api: "http://guest:guest@" + at(port+1),
		env: append(os.Environ(), "RABBITMQ_TEST_PORT="+strconv.Itoa(port), "RABBITMQ_TEST_CONF="+conf)}
	n.do(t, "fresh")
	t.Cleanup(func() { n.do(t, "stop") })
	return n
}

func portOf(t testing.TB, u *url.URL) int {
	t.Helper()
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// do runs scripts/rabbitmq.sh on it.
func (n *node) do(t testing.TB, arguments ...string) {
	t.Helper()
	c := exec.Command(os.Getenv(envScript), arguments...)
	c.Env = n.env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", arguments, err, out)
	}
}

// restarted is a server that is killed, with what was connected to it: those would take messages when they are back.
type restarted struct {
	*connected
	node *node
}

func (r restarted) Restart(t testing.TB) {
	r.node.do(t, "kill")
	r.mu.Lock()
	for _, b := range r.all {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	r.mu.Unlock()
	r.node.do(t, "start")
}

// proxy passes on what comes, until it is cut.
type proxy struct {
	to, address string
	work        sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	isCut    bool // a connection that is being made has to know
}

func newProxy(t testing.TB, to string) *proxy {
	p := &proxy{to: to, address: "127.0.0.1:0", conns: map[net.Conn]struct{}{}}
	p.listen(t)
	t.Cleanup(p.cut)
	return p
}

func (p *proxy) listen(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.address, p.isCut = l, l.Addr().String(), false
	p.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.pass(conn) })
		}
	})
}

func (p *proxy) pass(conn net.Conn) {
	defer conn.Close()
	other, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer other.Close()
	p.keep(conn)
	p.work.Go(func() { // what was written before a cut reaches the server
		_, _ = io.Copy(other, conn)
		_ = other.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(conn, other)
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	if p.isCut {
		endSoon(c)
	}
}

// cut ends all connections, and returns when both sides know.
func (p *proxy) cut() {
	p.mu.Lock()
	_ = p.listener.Close()
	p.isCut = true
	for c := range p.conns {
		endSoon(c)
	}
	p.mu.Unlock()
	p.work.Wait()
}

func endSoon(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // which is enough for what is there
}

func TestBroker(t *testing.T) {
	jobstest.TestBroker(t, func(t *testing.T) jobstest.Bench { return newConnected(t) }, nil)
}

// TestKilled is what kills a server, which is one of its own.
func TestKilled(t *testing.T) {
	t.Parallel()
	n := startNode(t, 10, "")
	t.Run("restart", func(t *testing.T) {
		jobstest.TestRestart(t, func(t *testing.T) jobstest.Bench { return restarted{connectedTo(t, n.address), n} })
	})
	t.Run("in the midst", func(t *testing.T) { testKills(t, n) })
}

func TestJobs(t *testing.T) {
	jobstest.TestJobs(t, func(t *testing.T) jobstest.Bench { return newConnected(t) })
}

// direct is a vhost without a proxy, which would be measured, too.
type direct string

func (d direct) Connect(t testing.TB) queue.Broker { return dialed(t, string(d)) }

func BenchmarkBroker(b *testing.B) {
	for _, inFlight := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) { jobstest.BenchmarkBroker(b, dialed(b, server(b)), inFlight) })
	}
}

func BenchmarkJobs(b *testing.B) {
	for _, inFlight := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) { jobstest.BenchmarkJobs(b, direct(server(b)), 2, inFlight) })
	}
}
