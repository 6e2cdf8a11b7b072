package kafka

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// TestMain lets the test binary be the broker, or the consumer, that a test kills.
func TestMain(m *testing.M) {
	switch os.Getenv("CANCHA_TEST_ROLE") {
	case "broker":
		serve()
	case "consumer":
		consume()
	case "writer":
		write()
	default:
		os.Exit(m.Run())
	}
}

// serve is a broker in a process of its own, until it is killed.
func serve() {
	b, err := broker.Start(broker.Config{Dir: os.Getenv("CANCHA_TEST_DIR"), Addr: os.Getenv("CANCHA_TEST_ADDR")})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("addr", b.Addr())
	select {}
}

// consume is a group member in a process of its own, until it is killed. It tells when it reads.
func consume() {
	h := &recorder{}
	h.onBatch = func(b stream.Batch) {
		if len(b.Records) > 0 {
			fmt.Println("reads", b.Partition)
		}
	}
	Source(Config{Brokers: []string{os.Getenv("CANCHA_TEST_ADDR")}, Topic: "t", Group: "g"}).Run(context.Background(), h)
}

// process is a child in one of the roles above.
type process struct {
	cmd   *exec.Cmd
	lines chan string
}

func start(t *testing.T, role, addr, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CANCHA_TEST_ROLE="+role, "CANCHA_TEST_ADDR="+addr, "CANCHA_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 1000)}
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			p.lines <- in.Text()
		}
		close(p.lines)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// line waits for a line that begins with word and returns the rest.
func (p *process) line(t *testing.T, word string) string {
	t.Helper()
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				t.Fatalf("child ended without a line %q", word)
			}
			if rest, found := strings.CutPrefix(l, word+" "); found {
				return rest
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no line %q from the child in 20 s", word)
		}
	}
}

// killable is a durable broker in a child process on a fixed address.
func killable(t *testing.T, addr, dir string) (*process, string) {
	t.Helper()
	p := start(t, "broker", addr, dir)
	return p, p.line(t, "addr")
}

// realCluster is the address of an Apache Kafka to test against, if there is one.
func realCluster() string { return os.Getenv("CANCHA_KAFKA") }

func startBroker(t *testing.T, cfg broker.Config) string {
	t.Helper()
	if addr := realCluster(); addr != "" && cfg == (broker.Config{}) {
		return addr
	}
	b, err := broker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b.Addr()
}

// recorder is a handler that checks what every handler may rely on and keeps what it is given.
type recorder struct {
	mu       sync.Mutex
	assigned [][]stream.Partition
	next     map[stream.Partition]int64 // offset after the last record or loss
	records  int
	lost     int64
	empty    map[int]int // empty batches by partition number
	retries  []error
	waits    []time.Duration
	faults   []string
	values   map[string]int // how often each value came
	busy     map[stream.Partition]bool

	onBatch func(stream.Batch)
	fail    error // returned by Batch
}

func (h *recorder) Assigned(p []stream.Partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.assigned = append(h.assigned, p)
}

func (h *recorder) Retry(err error, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retries, h.waits = append(h.retries, err), append(h.waits, wait)
}

func (h *recorder) Batch(_ context.Context, b stream.Batch) error {
	h.enter(b)
	if h.onBatch != nil {
		h.onBatch(b)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy[stream.Partition{Topic: b.Topic, ID: b.Partition}] = false
	return h.fail
}

func (h *recorder) enter(b stream.Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next == nil {
		h.next, h.busy = map[stream.Partition]int64{}, map[stream.Partition]bool{}
		h.empty, h.values = map[int]int{}, map[string]int{}
	}
	from := stream.Partition{Topic: b.Topic, ID: b.Partition}
	if len(h.assigned) == 0 || !slices.Contains(h.assigned[len(h.assigned)-1], from) {
		h.fault("a batch of %v, which is not assigned: %v", from, h.assigned)
	}
	if h.busy[from] {
		h.fault("two batches of %v at once", from)
	}
	h.busy[from] = true
	h.lost += b.Lost
	if len(b.Records) == 0 {
		h.empty[b.Partition]++
	}
	if len(b.Records) > maxBatchRecords {
		h.fault("batch of %d records", len(b.Records))
	}
	next, known := h.next[from]
	next += b.Lost
	for _, r := range b.Records {
		if known && r.Offset != next {
			h.fault("%v: offset %d after %d", from, r.Offset, next-1)
		}
		if r.Topic != b.Topic || r.Partition != b.Partition || r.Offset >= b.HighWatermark {
			h.fault("record %s/%d/%d in a batch of %v with end %d", r.Topic, r.Partition, r.Offset, from, b.HighWatermark)
		}
		next, known = r.Offset+1, true
		h.values[string(r.Value)]++
	}
	if known {
		h.next[from] = next
	}
	h.records += len(b.Records)
}

func (h *recorder) fault(format string, args ...any) {
	if len(h.faults) < 10 {
		h.faults = append(h.faults, fmt.Sprintf(format, args...))
	}
}

func (h *recorder) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.records
}

// check reports faults and, unless want is negative, values that did not come exactly once.
func (h *recorder) check(t *testing.T, want int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.faults {
		t.Error(f)
	}
	if want < 0 {
		return
	}
	if h.records != want || len(h.values) != want {
		t.Errorf("got %d records with %d different values, want %d", h.records, len(h.values), want)
	}
}

// produce writes values from..to-1 under 16 keys.
func produce(t *testing.T, addr, topic string, partitions, from, to int) {
	t.Helper()
	p := producer(t, addr, topic, partitions)
	for i := from; i < to; i++ {
		if err := p.Send(t.Context(), []byte(strconv.Itoa(i%16)), []byte("value "+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func producer(t *testing.T, addr, topic string, partitions int) *Producer {
	t.Helper()
	p, err := NewProducer(ProducerConfig{Brokers: []string{addr}, Topic: topic, Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Partitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// closed is a channel for Config.Until: read what there is.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// background is a Run in the background.
type background struct {
	cancel context.CancelFunc
	err    chan error
}

func begin(t *testing.T, cfg Config, h stream.Handler) *background {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &background{cancel, make(chan error, 1)}
	go func() { r.err <- Source(cfg).Run(ctx, h) }()
	t.Cleanup(cancel)
	return r
}

// wait waits for the end of the run.
func (r *background) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.err:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("Run did not end in 30 s")
		return nil
	}
}

// stop cancels the run and requires it to end without an error.
func (r *background) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	if err := r.wait(t); err != nil {
		t.Errorf("Run after cancel: got %v, want nil", err)
	}
}

// eventually waits until ok, up to 25 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(25 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not in 25 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// topicName is a topic of the test's own: a real cluster serves many tests.
func topicName(t *testing.T) string {
	return fmt.Sprintf("%s-%d", strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name()), time.Now().UnixNano())
}
