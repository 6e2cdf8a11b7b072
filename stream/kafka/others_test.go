package kafka

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// mortal is a member of a group that reads and commits nothing, and whose connections can be cut for good: for the brokers that is kill -9.
type mortal struct {
	client *kgo.Client
	had    chan int // how many partitions it has, as often as that changes

	mu   sync.Mutex
	dead bool
	open []net.Conn
}

// newMortal joins a group, and waits until it has all partitions.
func newMortal(t *testing.T, addr, topic, group string, partitions int) *mortal {
	t.Helper()
	m := &mortal{had: make(chan int, 100)}
	n := 0
	changed := func(by int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, of map[string][]int32) {
			n += by * count(of)
			m.had <- n
		}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(sessionTimeout), kgo.HeartbeatInterval(heartbeatInterval), kgo.DisableAutoCommit(), kgo.Dialer(m.dial),
		kgo.OnPartitionsAssigned(changed(1)), kgo.OnPartitionsRevoked(changed(-1)), kgo.OnPartitionsLost(changed(-1)))
	if err != nil {
		t.Fatal(err)
	}
	m.client = client
	var polling sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	polling.Go(func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx)
		}
	})
	t.Cleanup(func() {
		cancel()
		polling.Wait()
		m.mu.Lock()
		m.dead = false // else its goodbye would wait for brokers
		m.mu.Unlock()
		client.Close()
	})
	m.has(t, partitions)
	return m
}

// has waits until it has so many partitions.
func (m *mortal) has(t *testing.T, partitions int) {
	t.Helper()
	for {
		select {
		case n := <-m.had:
			if n == partitions {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("the other member has never had %d partitions", partitions)
		}
	}
}

func (m *mortal) dial(ctx context.Context, network, address string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, net.ErrClosed
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		m.open = append(m.open, conn)
	}
	return conn, err
}

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, c := range m.open {
		c.Close()
	}
}

// noted is a recorder that keeps notes.
type noted struct {
	recorder
	notes []string
}

// Note implements stream.Noter.
func (n *noted) Note(sentence string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, sentence)
}

// TestRestOfTheDead: a source that is to end with what there is reads the partitions of a member that was killed, too, which nobody else does. One that lives
// and commits nothing has them to itself, and a note says so.
func TestRestOfTheDead(t *testing.T) {
	t.Parallel()
	const n = 4000
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	produce(t, addr, topic, 4, 0, n)
	for _, dies := range []bool{true, false} {
		name := map[bool]string{true: "dead", false: "alive"}[dies]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := topic + name
			other := newMortal(t, addr, topic, group, 4)
			h := &noted{}
			r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group, Until: closed()}, h)
			other.has(t, 2)
			eventually(t, "it has what the other has given up", func() bool { return h.has(2) })
			if dies {
				other.die()
			}
			if err := r.wait(t); err != nil {
				t.Fatal(err)
			}
			if !dies {
				h.check(t, -1)
				if note := strings.Join(h.notes, "\n"); h.records == n || !strings.Contains(note, "Other members of group "+group+" have partition ") {
					t.Errorf("got %d of %d records and the notes %q, want that others have some", h.records, n, note)
				}
				return
			}
			if h.check(t, n); len(h.notes) > 0 {
				t.Errorf("got the notes %q, want none", h.notes)
			}
		})
	}
}

// TestAllReadTheRest: two members that are to end with what there is read it once between them, and have no note of what is left.
func TestAllReadTheRest(t *testing.T) {
	t.Parallel()
	const n = 4000
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	produce(t, addr, topic, 4, 0, n)
	one, two := &noted{}, &noted{}
	until := make(chan struct{})
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, Until: until}
	first := begin(t, cfg, one)
	eventually(t, "the first has all", func() bool { return one.has(4) })
	second := begin(t, cfg, two)
	eventually(t, "each has two", func() bool { return one.has(2) && two.has(2) })
	produce(t, addr, topic, 4, n, 2*n)
	close(until)
	for _, r := range []*background{first, second} {
		if err := r.wait(t); err != nil {
			t.Error(err)
		}
	}
	notes := strings.Join(append(one.notes, two.notes...), "\n")
	if got := one.records + two.records; got != 2*n || strings.Contains(notes, "Other members") {
		t.Errorf("got %d records and the notes %q, want %d and none of other members", got, notes, 2*n)
	}
}

// TestAvailableOfTheDead is TestRestOfTheDead for a query that is to end with what was available.
func TestAvailableOfTheDead(t *testing.T) {
	t.Parallel()
	const n = 4000
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	produce(t, addr, topic, 4, 0, n)
	other := newMortal(t, addr, topic, topic, 4)
	r, err := stream.From(Source(Config{Brokers: []string{addr}, Topic: topic, Group: topic})).Format(stream.TextFormat()).Select("text").AvailableNow().Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other.has(t, 2)
	eventually(t, "it reads what the other has given up", func() bool { return r.Totals().Records > 0 })
	other.die()
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Totals().Records; got != n {
		t.Errorf("got %d of %d records, with the notes %q", got, n, r.Notes())
	}
}

// TestRestInLongEpochs: members whose epochs are longer than anybody waits commit what they have read when they are to end: none is taken for stuck.
func TestRestInLongEpochs(t *testing.T) {
	t.Parallel()
	addr, topic, place := startBroker(t, broker.Config{}), topicName(t), checkpoint.Folder(t.TempDir())
	moves(t, addr, topic, 3000)
	until := make(chan struct{})
	var members []*stream.Running
	for range 2 {
		r, err := windows(Config{Brokers: []string{addr}, Topic: topic, Group: topic, Until: until}).Checkpoint(place).Epoch(time.Hour).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, r)
	}
	sent := 3000
	eventually(t, "both members read", func() bool {
		movesOn(t, addr, topic, sent, sent+100)
		sent += 100
		return members[0].Totals().Records > 0 && members[1].Totals().Records > 0
	})
	close(until)
	for i, r := range members {
		if err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Notes(), "\n"); strings.Contains(notes, "Other members") {
			t.Errorf("member %d: %s", i, notes)
		}
	}
}
