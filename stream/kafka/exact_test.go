package kafka

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// brittle is a connection that breaks after a number of bytes.
type brittle struct {
	net.Conn
	left int
}

func (c *brittle) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.Conn.Close()
		return 0, errors.New("connection broken by the test")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestBrokenConnections reads 100,000 records over connections that break all the time, in the middle of responses, from
// offsets in the middle of record batches: each record must come once. Apache Kafka answers such a fetch with the whole
// batch, the broker of package broker does not, so this is worth most with CANCHA_KAFKA.
func TestBrokenConnections(t *testing.T) {
	const n = 100000
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, n)
	wrap := func(c net.Conn) net.Conn { return &brittle{c, 5000 + rand.IntN(300000)} }
	for _, group := range []string{"", topic} {
		t.Run("group "+strconv.FormatBool(group != ""), func(t *testing.T) {
			offsets := map[int]int64{0: 0, 1: 1, 2: 777, 3: 12345}
			skipped := 0
			for _, o := range offsets {
				skipped += int(o)
			}
			d := newDigest()
			cfg := Config{
				Brokers: []string{addr}, Topic: topic, Group: group, Offsets: offsets, FetchBytes: 50000, Until: closed(), wrap: wrap,
			}
			if err := begin(t, cfg, d).wait(t); err != nil {
				t.Fatal(err)
			}
			d.check(t, n-skipped)
			if len(d.retries) == 0 {
				t.Error("no connection broke: the test tests nothing")
			}
			cfg.wrap, cfg.Group = nil, ""
			sound := newDigest()
			if err := begin(t, cfg, sound).wait(t); err != nil {
				t.Fatal(err)
			}
			if got, want := d.String(), sound.String(); got != want {
				t.Errorf("over broken connections: got %s, want %s as over sound ones", got, want)
			}
			t.Logf("%d retries", len(d.retries))
		})
	}
}

// TestClusterKilled does to an Apache Kafka what TestBrokerKilledWhileReading does to a broker of package broker; the script
// that started it (scripts/kafka.sh, which sets the variable) kills it and starts it again.
func TestClusterKilled(t *testing.T) {
	script, addr := os.Getenv("CANCHA_KAFKA_SH"), os.Getenv("CANCHA_KAFKA")
	if script == "" || addr == "" {
		t.Skip("needs an Apache Kafka that may be killed: run under scripts/kafka.sh with")
	}
	const n = 60000
	topic := topicName(t)
	w := producer(t, addr, topic, 4)
	h := &recorder{onBatch: func(b stream.Batch) {
		if len(b.Records) > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}}
	until := make(chan struct{})
	r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: topic, FetchBytes: 16 << 10, Until: until}, h)
	written := make(chan error, 1)
	go func() {
		for i := range n {
			if err := w.Send(t.Context(), []byte(strconv.Itoa(i%16)), []byte("value "+strconv.Itoa(i))); err != nil {
				written <- err
				return
			}
			if i%100 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		written <- w.Close(t.Context())
	}()
	eventually(t, "some records", func() bool { return h.count() > n/5 })
	for _, step := range []string{"kill", "start"} {
		if out, err := exec.Command(script, step).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	close(until)
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	h.check(t, n)
	if len(h.retries) == 0 {
		t.Error("no retry reported")
	}
}
