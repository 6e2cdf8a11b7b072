package kafka

import (
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// last is what a handler has been assigned last, and how often it has been told.
func (h *recorder) last() (partitions []stream.Partition, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.assigned); n > 0 {
		return h.assigned[n-1], n
	}
	return nil, 0
}

// TestStay: partitions that stay are not taken away when another member comes and goes.
func TestStay(t *testing.T) {
	t.Parallel()
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	produce(t, addr, topic, 4, 0, 100)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic}
	first, second := &recorder{}, &recorder{}
	one := begin(t, cfg, first)
	eventually(t, "the first has all", func() bool { return first.has(4) })
	two := begin(t, cfg, second)
	eventually(t, "each has two", func() bool { return first.has(2) && second.has(2) })
	kept, _ := first.last()
	two.stop(t)
	eventually(t, "the first has all again", func() bool { return first.has(4) })
	one.stop(t)
	first.mu.Lock()
	defer first.mu.Unlock()
	for _, set := range first.assigned {
		for _, p := range kept {
			if !strings.Contains(stringOf(set), stringOf([]stream.Partition{p})) {
				t.Errorf("%v, which stayed, was away for a while: %v", p, first.assigned)
			}
		}
	}
}

func stringOf(partitions []stream.Partition) string {
	var text strings.Builder
	for _, p := range partitions {
		text.WriteString(" " + p.Topic + "/" + string(rune('0'+p.ID)))
	}
	return text.String()
}

// TestInstance: a member with a name that ends and comes again has its partitions at once, and the others notice nothing.
func TestInstance(t *testing.T) {
	t.Parallel()
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	produce(t, addr, topic, 4, 0, 100)
	cfg := func(name string) Config {
		return Config{Brokers: []string{addr}, Topic: topic, Group: topic, Instance: name}
	}
	first, second := &recorder{}, &recorder{}
	one := begin(t, cfg("a"), first)
	two := begin(t, cfg("b"), second)
	eventually(t, "each has two", func() bool { return first.has(2) && second.has(2) })
	had, _ := second.last()
	_, told := first.last()
	two.stop(t)
	began, again := time.Now(), &recorder{}
	two = begin(t, cfg("b"), again)
	eventually(t, "it has two again", func() bool { return again.has(2) })
	if took := time.Since(began); took > sessionTimeout/2 {
		t.Errorf("its partitions came after %v, as if its session had to end", took)
	}
	if got, _ := again.last(); stringOf(got) != stringOf(had) {
		t.Errorf("it has %v, and had %v", got, had)
	}
	if _, now := first.last(); now != told {
		t.Errorf("the other member was told of it %d times", now-told)
	}
	two.stop(t)
	one.stop(t)
}

// TestOneNameTwice: of two processes with one name the one that came first ends, and says why.
func TestOneNameTwice(t *testing.T) {
	t.Parallel()
	addr, topic := startBroker(t, broker.Config{}), topicName(t)
	produce(t, addr, topic, 2, 0, 10)
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, Instance: "a"}
	first, second := &recorder{}, &recorder{}
	one := begin(t, cfg, first)
	eventually(t, "the first has all", func() bool { return first.has(2) })
	two := begin(t, cfg, second)
	if err := one.wait(t); err == nil || !strings.Contains(err.Error(), `another process reads as the instance "a"`) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the second has all", func() bool { return second.has(2) })
	two.stop(t)
}
