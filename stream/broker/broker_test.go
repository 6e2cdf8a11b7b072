package broker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestMain lets the test binary be the broker that a test kills.
func TestMain(m *testing.M) {
	dir := os.Getenv("CANCHA_TEST_BROKER_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	b, err := Start(Config{Dir: dir, Addr: os.Getenv("CANCHA_TEST_BROKER_ADDR")})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("addr", b.Addr())
	select {}
}

// child is a broker in a process of its own.
func child(t *testing.T, dir, addr string) (kill func(), at string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CANCHA_TEST_BROKER_DIR="+dir, "CANCHA_TEST_BROKER_ADDR="+addr)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	at, ok := strings.CutPrefix(strings.TrimSpace(line), "addr ")
	if err != nil || !ok {
		t.Fatalf("child broker said %q, %v", line, err)
	}
	return kill, at
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.UnknownTopicRetries(-1), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func start(t *testing.T, cfg Config) *Broker {
	t.Helper()
	b, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// read returns how often each value is in topic t.
func read(t *testing.T, addr string, want int) map[string]int {
	t.Helper()
	c := client(t, addr, kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	values := make(map[string]int)
	for len(values) < want {
		f := c.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("read %d values of %d: %v", len(values), want, err)
		}
		f.EachRecord(func(r *kgo.Record) { values[string(r.Value)]++ })
	}
	return values
}

func TestTopicsAreMadeWithTheConfiguredPartitions(t *testing.T) {
	t.Parallel()
	for _, want := range []int{0, 7} {
		b := start(t, Config{Partitions: want})
		c := client(t, b.Addr())
		if err := c.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		req := kmsg.NewPtrMetadataRequest()
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("t")
		req.Topics = append(req.Topics, topic)
		res, err := req.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 {
			want = DefaultPartitions
		}
		if got := len(res.Topics[0].Partitions); got != want {
			t.Errorf("partitions: got %d, want %d", got, want)
		}
	}
}

// TestKill9 kills a durable broker twice with -9 while records are written: all that it acknowledged are served after each
// restart, at the same address.
func TestKill9(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kill, addr := child(t, dir, "127.0.0.1:0")
	next := 0
	for range 2 {
		c := client(t, addr)
		var acked atomic.Int64
		before := next
		for ; acked.Load() < 5000; next++ {
			c.Produce(t.Context(), &kgo.Record{Key: []byte(strconv.Itoa(next % 7)), Value: []byte(strconv.Itoa(next))}, func(r *kgo.Record, err error) {
				if err == nil {
					acked.Add(1)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := c.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		if got := int(acked.Load()); got != next-before {
			t.Fatalf("acknowledged %d of %d", got, next-before)
		}
		for i := range 3000 { // in flight while the broker dies; they may be there or not
			c.Produce(t.Context(), &kgo.Record{Key: []byte("k"), Value: []byte("doubtful " + strconv.Itoa(i))}, nil)
		}
		kill()
		var again string
		kill, again = child(t, dir, addr)
		if again != addr {
			t.Errorf("address after the restart: got %s, want %s", again, addr)
		}
		if err := c.Flush(t.Context()); err != nil { // the same client finds it again
			t.Fatal(err)
		}
		for v, n := range read(t, addr, next) {
			if n != 1 && !strings.HasPrefix(v, "doubtful") {
				t.Errorf("value %s is there %d times", v, n)
			}
		}
	}
	values := read(t, addr, next+3000)
	for i := range next {
		if values[strconv.Itoa(i)] != 1 {
			t.Fatalf("record %d: acknowledged, and there %d times", i, values[strconv.Itoa(i)])
		}
	}
}

// TestAnswersWaitForCopies looks at the list of topics and its copy whenever an answer has come.
func TestAnswersWaitForCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	c := client(t, b.Addr())
	for i := range 20 {
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprint("topic", i), 1, 1
		req.Topics = append(req.Topics, topic)
		if _, err := req.RequestWith(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(filepath.Join(dir, "topics.json"))
		if err != nil || !strings.Contains(string(list), topic.Topic) {
			t.Fatalf("the list of topics is %s, %v", list, err)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, "copies", "topics.json")); err != nil || !strings.HasPrefix(string(kept), string(list)) {
			t.Fatalf("%s was answered for, and the copy is %s, %v", topic.Topic, kept, err)
		}
	}
}

// TestNoCopies serves where no copy can be made, and says so once.
func TestNoCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copies := filepath.Join(dir, "copies")
	var text bytes.Buffer
	b := start(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	c := client(t, b.Addr())
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(copies), os.WriteFile(copies, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"t", "u", "v"} {
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	if n := strings.Count(text.String(), "cannot keep copies"); n != 1 {
		t.Errorf("told %d times, want once: %s", n, text.String())
	}
}

func TestCloseAndStartAgain(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir()}
	b := start(t, cfg)
	c := client(t, b.Addr())
	if err := c.ProduceSync(t.Context(), kgo.StringRecord("kept")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.Close()
	b.Close() // twice is once
	cfg.Addr = b.Addr()
	again := start(t, cfg)
	if got := read(t, again.Addr(), 1); got["kept"] != 1 {
		t.Errorf("after a restart: got %v, want the record", got)
	}
}

func TestRetentionBoundsMemory(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Partitions: 1, RetentionBytes: 2 << 20})
	c := client(t, b.Addr())
	value := strings.Repeat("x", 1000)
	for range 10000 {
		c.Produce(t.Context(), kgo.StringRecord(value), nil)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := func() int64 {
		req := kmsg.NewPtrListOffsetsRequest()
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Timestamp = -2
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic, topic.Partitions = "t", append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		res, err := req.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return res.Topics[0].Partitions[0].Offset
	}
	for end := time.Now().Add(5 * time.Second); first() < 7000; {
		if time.Now().After(end) {
			t.Fatalf("oldest record has offset %d, want at least 7000 of 10,000 gone", first())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestStartErrors(t *testing.T) {
	taken := start(t, Config{Dir: t.TempDir()})
	used := t.TempDir()
	start(t, Config{Dir: used})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "meta.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"port taken", Config{Addr: taken.Addr()}, "is taken by another program"},
		{"directory in use", Config{Dir: used}, "is in use by another broker"},
		{"directory is a file", Config{Dir: file}, "make data directory"},
		{"directory below a file", Config{Dir: filepath.Join(file, "d")}, "make data directory"},
		{"directory damaged", Config{Dir: broken}, broken},
		{"address without port", Config{Addr: "localhost"}, "want host:port"},
		{"address with a bad port", Config{Addr: "localhost:kafka"}, "number from 0 to 65535"},
		{"address of no host", Config{Addr: ":9092"}, "name a host"},
		{"foreign address", Config{Addr: "192.0.2.1:0"}, "not an address of this machine"},
		{"partitions", Config{Partitions: -1}, "at least one"},
		{"more partitions than a topic may have", Config{Partitions: maxTopicPartitions + 1}, "1000 at most"},
		{"retention", Config{RetentionBytes: -1}, "positive"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, err := Start(row.cfg)
			if err == nil {
				b.Close()
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
}

func TestFailedStartLeavesNothingBehind(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: t.TempDir(), Addr: ln.Addr().String()}
	if _, err := Start(cfg); err == nil {
		t.Fatal("started on a taken port")
	}
	ln.Close()
	start(t, cfg) // neither the directory nor the port is still held
}

// TestSpoken: the broker says of one kind of request that it does not know it, since its answer ends Java's clients.
func TestSpoken(t *testing.T) {
	c := client(t, start(t, Config{}).Addr())
	answer, err := kmsg.NewPtrApiVersionsRequest().RequestWith(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	known := map[int16]bool{}
	for _, k := range answer.ApiKeys {
		known[k.ApiKey] = true
	}
	if key := int16(kmsg.DescribeTopicPartitions); known[key] || !known[int16(kmsg.Metadata)] || len(known) < 50 {
		t.Errorf("it knows %d kinds, DescribeTopicPartitions among them: %v", len(known), known[key])
	}
}
