package kafka

import (
	"errors"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

func TestSourceReadsEverythingInOrder(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	for _, group := range []string{"", "readers"} {
		for _, fetch := range []int{0, 2 << 10} {
			t.Run("group "+group+" fetch "+strconv.Itoa(fetch), func(t *testing.T) {
				topic := topicName(t)
				produce(t, addr, topic, 4, 0, 20000)
				cfg := Config{Brokers: []string{addr}, Topic: topic, FetchBytes: fetch, Until: closed()}
				if group != "" {
					cfg.Group = topic
				}
				h := &recorder{}
				start := time.Now()
				h.onBatch = func(b stream.Batch) {
					for _, r := range b.Records {
						i, _ := strconv.Atoi(strings.TrimPrefix(string(r.Value), "value "))
						if got, want := string(r.Key), strconv.Itoa(i%16); got != want {
							t.Errorf("key of %q: got %s, want %s", r.Value, got, want)
						}
						if age := start.Sub(r.Time).Abs(); age > time.Minute {
							t.Errorf("time of %q: %v from now", r.Value, age)
						}
					}
				}
				if err := begin(t, cfg, h).wait(t); err != nil {
					t.Fatal(err)
				}
				h.check(t, 20000)
				// A cluster whose first group this is needs a moment to make its offsets topic.
				if len(h.retries) > 0 && realCluster() == "" {
					t.Errorf("retries on a sound broker: %v", h.retries)
				}
			})
		}
	}
}

func TestIdlePartitionsAreReported(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, 100)
	h := &recorder{}
	r := begin(t, Config{Brokers: []string{addr}, Topic: topic}, h)
	eventually(t, "two empty batches of each partition", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.empty[0] > 1 && h.empty[1] > 1 && h.empty[2] > 1 && h.empty[3] > 1
	})
	begun := time.Now()
	h.mu.Lock()
	before := h.empty[0]
	h.mu.Unlock()
	eventually(t, "two more empty batches", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.empty[0] >= before+2
	})
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("two empty batches took %v, want at most 2 s", took)
	}
	r.stop(t)
	h.check(t, 100)
}

func TestGroupGoesOnWhereItLeftOff(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, Until: closed()}
	produce(t, addr, topic, 4, 0, 1000)
	first, second := &recorder{}, &recorder{}
	if err := begin(t, cfg, first).wait(t); err != nil {
		t.Fatal(err)
	}
	first.check(t, 1000)
	lags, err := Lag(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lags {
		if l.Lag != 0 || l.Committed != l.End {
			t.Errorf("after reading everything: got %+v, want lag 0", l)
		}
	}
	produce(t, addr, topic, 4, 1000, 1500)
	if err := begin(t, cfg, second).wait(t); err != nil {
		t.Fatal(err)
	}
	second.check(t, 500)
}

// TestSendMakesTheTopic as the configuration has it, not as the broker would.
func TestSendMakesTheTopic(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	p, err := NewProducer(ProducerConfig{Brokers: []string{addr}, Topic: topic, Partitions: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Send(t.Context(), []byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic}); err != nil || n != 7 {
		t.Errorf("the topic has %d partitions, %v, want 7", n, err)
	}
}

// TestGroupGoesOnAfterMaxRecords: what a query has counted is not counted again, and what it has not is still to come.
func TestGroupGoesOnAfterMaxRecords(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, Until: closed()}
	produce(t, addr, topic, 4, 0, 1000)
	q := stream.From(Source(cfg)).Window(stream.Tumbling(time.Minute)).Agg(stream.Count("n")) // all records are bad to it, and counted
	for i, limit := range []int64{300, 1, 250} {
		running, err := q.MaxRecords(limit).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := running.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := running.Totals().Records; got != limit {
			t.Errorf("run %d: got %d records, want %d", i, got, limit)
		}
		notes := running.Notes()
		if told := len(notes) == 3 && strings.HasPrefix(notes[1], "Group "+topic+" has read topic "+topic+" before and goes on behind that (partition "); told != (i > 0) {
			t.Errorf("run %d: it says %q", i, notes)
		}
	}
	rest := &recorder{}
	if err := begin(t, cfg, rest).wait(t); err != nil {
		t.Fatal(err)
	}
	rest.check(t, 449)
}

func TestOffsetsWinOverTheGroup(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 1, 0, 1000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, Until: closed()}
	if err := begin(t, cfg, &recorder{}).wait(t); err != nil {
		t.Fatal(err)
	}
	cfg.Offsets = map[int]int64{0: 400}
	h := &recorder{}
	if err := begin(t, cfg, h).wait(t); err != nil {
		t.Fatal(err)
	}
	h.check(t, 600)
}

func TestLatestReadsOnlyWhatComes(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 2, 0, 100)
	h := &recorder{}
	r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Start: Latest, IdleInterval: 50 * time.Millisecond}, h)
	eventually(t, "an empty batch of each partition", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.empty[0] > 0 && h.empty[1] > 0
	})
	produce(t, addr, topic, 2, 100, 150)
	eventually(t, "50 records", func() bool { return h.count() >= 50 })
	r.stop(t)
	h.check(t, 50)
}

// TestLatestOfALaterTopic: all of a topic that is made after the start is produced from then on; what another held before is not.
func TestLatestOfALaterTopic(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	there, later := topicName(t)+"-there", topicName(t)+"-later"
	produce(t, addr, there, 2, 0, 100)
	h := &recorder{}
	r := begin(t, Config{Brokers: []string{addr}, Topics: []string{there, later}, Start: Latest, IdleInterval: 50 * time.Millisecond}, h)
	eventually(t, "a retry", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.retries) > 0
	})
	produce(t, addr, later, 1, 0, 30)
	eventually(t, "30 records", func() bool { return h.count() >= 30 })
	r.stop(t)
	if got := h.count(); got != 30 {
		t.Errorf("got %d records, want the 30 of the later topic", got)
	}
}

func TestTopicThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	for _, group := range []string{"", "early"} {
		t.Run("group "+group, func(t *testing.T) {
			topic := topicName(t)
			h := &recorder{}
			r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group, Until: closed()}, h)
			eventually(t, "a retry", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return len(h.retries) > 1
			})
			h.mu.Lock()
			if got := h.retries[0].Error(); !strings.Contains(got, "topic "+topic+" does not exist yet") {
				t.Errorf("retry: got %q, want it to say that the topic does not exist yet", got)
			}
			h.mu.Unlock()
			produce(t, addr, topic, 3, 0, 300) // the reader must not have made it with another number of partitions
			if err := r.wait(t); err != nil {
				t.Fatal(err)
			}
			h.check(t, 300)
			if got := len(h.assigned[0]); got != 3 {
				t.Errorf("partitions: got %d, want the 3 that the producer asked for", got)
			}
		})
	}
}

func TestRetentionIsCountedLoss(t *testing.T) {
	t.Parallel()
	b, err := broker.Start(broker.Config{RetentionBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	topic := topicName(t)
	value := []byte(strings.Repeat("x", 1000))
	p := producer(t, b.Addr(), topic, 1)
	for range 5000 {
		if err := p.Send(t.Context(), []byte("k"), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Brokers: []string{b.Addr()}, Topic: topic, Until: closed(), Offsets: map[int]int64{0: 10}}
	eventually(t, "retention", func() bool {
		lags, err := Lag(t.Context(), cfg)
		return err == nil && lags[0].First > 3000
	})
	h := &recorder{}
	if err := begin(t, cfg, h).wait(t); err != nil {
		t.Fatal(err)
	}
	h.check(t, -1)
	if got, want := int(h.lost)+h.records, 4990; got != want || h.lost < 2990 {
		t.Errorf("lost %d and read %d: got %d together, want %d and a loss of at least 2990", h.lost, h.records, got, want)
	}
}

func TestLossWhileReading(t *testing.T) {
	t.Parallel()
	b, err := broker.Start(broker.Config{RetentionBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	topic := topicName(t)
	p := producer(t, b.Addr(), topic, 1)
	value := []byte(strings.Repeat("x", 1000))
	send := func(n int) {
		for range n {
			if err := p.Send(t.Context(), []byte("k"), value); err != nil {
				t.Error(err)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	send(100)
	h := &recorder{}
	until := make(chan struct{})
	slow := true
	h.onBatch = func(b stream.Batch) {
		if slow && len(b.Records) > 0 {
			slow = false
			send(6000) // while the handler is busy, retention overtakes it
			time.Sleep(2 * retentionWait)
			close(until)
		}
	}
	if err := begin(t, Config{Brokers: []string{b.Addr()}, Topic: topic, Until: until}, h).wait(t); err != nil {
		t.Fatal(err)
	}
	h.check(t, -1)
	if got, want := int(h.lost)+h.records, 6100; got != want || h.lost == 0 {
		t.Errorf("lost %d and read %d: got %d together, want %d", h.lost, h.records, got, want)
	}
}

// retentionWait is how often a broker of package broker applies retention.
const retentionWait = time.Second

func TestRecreatedTopicIsAnErrorNotAReset(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 1, 0, 10)
	err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Offsets: map[int]int64{0: 11}}, &recorder{}).wait(t)
	if err == nil || !strings.Contains(err.Error(), "ends at offset 10, but was to be read from 11") {
		t.Errorf("got %v, want an error that names both offsets", err)
	}
}

func TestHandlerErrorEndsTheRun(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 2, 0, 10)
	boom := errors.New("boom")
	for _, group := range []string{"", topic} {
		if err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group}, &recorder{fail: boom}).wait(t); !errors.Is(err, boom) {
			t.Errorf("group %q: got %v, want the handler's error", group, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no broker", Config{Topic: "t"}, "KAFKA_BROKERS"},
		{"broker without port", Config{Brokers: []string{"localhost"}, Topic: "t"}, "host:port"},
		{"no topic", Config{Brokers: []string{"a:1"}}, "no topic"},
		{"start", Config{Brokers: []string{"a:1"}, Topic: "t", Start: 7}, "Earliest"},
		{"idle interval", Config{Brokers: []string{"a:1"}, Topic: "t", IdleInterval: time.Minute}, "10 ms to 1 s"},
		{"empty name", Config{Brokers: []string{"a:1"}, Topics: []string{"t", ""}}, "empty name"},
		{"impossible name", Config{Brokers: []string{"a:1"}, Topic: "my orders"}, `topic "my orders"`},
		{"name of dots", Config{Brokers: []string{"a:1"}, Topics: []string{"t", ".."}}, `topic ".."`},
		{"pattern", Config{Brokers: []string{"a:1"}, Pattern: "a)(b"}, "parsing regexp"},
		{"offsets without topic", Config{Brokers: []string{"a:1"}, Topics: []string{"t"}, Offsets: map[int]int64{0: 1}}, "OffsetsOf"},
		{"offsets twice", Config{Brokers: []string{"a:1"}, Topic: "t", Offsets: map[int]int64{0: 1}, OffsetsOf: map[string]map[int]int64{"t": {0: 1}}}, "both"},
		{"offsets of another topic", Config{Brokers: []string{"a:1"}, Topic: "t", OffsetsOf: map[string]map[int]int64{"u": {0: 1}}}, "not read"},
		{"negative offset of a topic", Config{Brokers: []string{"a:1"}, Pattern: ".*", OffsetsOf: map[string]map[int]int64{"u": {0: -1}}}, "negative"},
		{"mechanism", Config{Brokers: []string{"a:1"}, Topic: "t", Security: Security{User: "u", Mechanism: "GSSAPI"}}, "SCRAM-SHA-256"},
		{"password without user", Config{Brokers: []string{"a:1"}, Topic: "t", Security: Security{Password: "p"}}, "no user"},
		{"negative offset", Config{Brokers: []string{"a:1"}, Topic: "t", Offsets: map[int]int64{0: -1}}, "negative"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := Source(row.cfg).Run(t.Context(), &recorder{})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
			if _, refused := stream.From(Source(row.cfg)).Select("a").Start(t.Context()); refused == nil || !strings.Contains(refused.Error(), row.want) {
				t.Errorf("Start: %v, want an error with %q", refused, row.want)
			}
		})
	}
}

// TestCancelEndsEverything cancels while the source reads, while no broker answers, and while one accepts connections and
// says nothing.
func TestCancelEndsEverything(t *testing.T) {
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, 1000)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, row := range []struct{ name, addr, group string }{
		{"reading alone", addr, ""},
		{"reading in a group", addr, topic},
		{"nobody there", "127.0.0.1:1", ""},
		{"nobody there, group", "127.0.0.1:1", topic},
		{"silent broker", silent.Addr().String(), ""},
		{"silent broker, group", silent.Addr().String(), topic},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			h := &recorder{}
			r := begin(t, Config{Brokers: []string{row.addr}, Topic: topic, Group: row.group}, h)
			if row.addr == addr {
				eventually(t, "1000 records", func() bool { return h.count() == 1000 })
			} else {
				time.Sleep(50 * time.Millisecond)
			}
			begun := time.Now()
			r.stop(t)
			if took := time.Since(begun); took > leaveTimeout+time.Second {
				t.Errorf("Run ended %v after the cancel, want within %v", took, leaveTimeout+time.Second)
			}
			eventually(t, "goroutines gone", func() bool { return runtime.NumGoroutine() <= before+2 })
		})
	}
}

func TestRebalanceSharesPartitions(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, 2000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, IdleInterval: 100 * time.Millisecond}
	first, second := &recorder{}, &recorder{}
	a := begin(t, cfg, first)
	eventually(t, "2000 records", func() bool { return first.count() == 2000 })
	b := begin(t, cfg, second)
	eventually(t, "two partitions each", func() bool { return first.has(2) && second.has(2) })
	produce(t, addr, topic, 4, 2000, 4000)
	eventually(t, "4000 records", func() bool { return first.count()+second.count() >= 4000 })
	b.stop(t)
	eventually(t, "all four again", func() bool { return first.has(4) })
	produce(t, addr, topic, 4, 4000, 5000)
	eventually(t, "5000 records", func() bool { return first.count()+second.count() >= 5000 })
	a.stop(t)
	if got := first.count() + second.count(); got != 5000 {
		t.Errorf("got %d records in both members, want 5000", got)
	}
	for v, n := range first.values {
		if n != 1 || second.values[v] != 0 {
			t.Errorf("%s came %d times to one and %d to the other member", v, n, second.values[v])
		}
	}
}

// has reports whether the latest assignment is of n partitions.
func (h *recorder) has(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.assigned) > 0 && len(h.assigned[len(h.assigned)-1]) == n
}

func TestDescription(t *testing.T) {
	got := Source(Config{Brokers: []string{"a:1", "b:2"}, Topic: "t"}).Description()
	if want := "kafka t at a:1,b:2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = Source(Config{Brokers: []string{"a:1"}, Topics: []string{"u", "t"}, Pattern: "v.*"}).Description()
	if want := "kafka t, u, topics like v.* at a:1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Brokers("a:1, b:2,"); len(got) != 2 || got[1] != "b:2" {
		t.Errorf("Brokers: got %q", got)
	}
}
