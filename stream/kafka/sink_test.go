package kafka

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"cancha/stream"
)

// written reads a topic back: the values by key, in their order.
func written(t *testing.T, cfg Config) map[string]string {
	t.Helper()
	got := map[string]string{}
	h := &recorder{onBatch: func(b stream.Batch) {
		for _, r := range b.Records {
			got[string(r.Key)] += string(r.Value) + " "
		}
	}}
	cfg.Until = closed()
	if err := begin(t, cfg, h).wait(t); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestSinkWrites: what put has returned from is in the topic, by key and in order.
func TestSinkWrites(t *testing.T) {
	t.Parallel()
	p := securePorts(t)
	s := Security{User: testUser, Password: testPassword, Mechanism: ScramSHA256}
	topic := topicName(t)
	out := newSink(SinkConfig{Brokers: []string{p.sasl}, Topic: topic, Key: "team", Security: s, Partitions: 1})
	if err := out.open(t.Context(), []string{"minute", "team"}); err != nil {
		t.Fatal(err)
	}
	for epoch := range 3 {
		err := out.put(t.Context(), 2, func(i int) (key, value []byte) { return fmt.Append(nil, "team ", i), fmt.Append(nil, epoch) })
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join([]string{"0 ", "1 ", "2 "}[:epoch+1], "")
		if got := written(t, Config{Brokers: []string{p.sasl}, Topic: topic, Security: s}); !maps.Equal(got, map[string]string{"team 0": want, "team 1": want}) {
			t.Errorf("after write %d: got %v", epoch, got)
		}
	}
	for range 2 {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	}
	if n, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{p.sasl}, Topic: topic, Security: s}); n != 1 || err != nil {
		t.Errorf("the topic has %d partitions, %v, want 1", n, err)
	}
}

// TestSinkOpens or says why not, before a query starts.
func TestSinkOpens(t *testing.T) {
	t.Parallel()
	p := securePorts(t)
	for _, row := range []struct {
		name string
		cfg  SinkConfig
		want string
	}{
		{"no such column", SinkConfig{Brokers: []string{p.plain}, Topic: "t", Key: "player"}, `no column "player" for the key among minute, team`},
		{"no topic", SinkConfig{Brokers: []string{p.plain}}, "no topic"},
		{"wrong password", SinkConfig{Brokers: []string{p.sasl}, Topic: "t", Security: Security{User: testUser, Password: "gu3ss-word"}}, "refuses user reader"},
		{"nobody there", SinkConfig{Brokers: []string{"127.0.0.1:1"}, Topic: "t"}, "connection refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			err := newSink(row.cfg).open(t.Context(), []string{"minute", "team"})
			if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), row.want) || took > sinkOpening+5*time.Second {
				t.Errorf("got %v after %v, want an error with %q", err, took, row.want)
			}
		})
	}
}

// TestSinkWaitsForItsBroker: rows that are written while the broker is away arrive when it is back, once each.
func TestSinkWaitsForItsBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, addr := killable(t, "", dir)
	topic := topicName(t)
	out := newSink(SinkConfig{Brokers: []string{addr}, Topic: topic, Partitions: 1})
	if err := out.open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, n int) error {
		return out.put(ctx, 1, func(int) (key, value []byte) { return []byte("k"), fmt.Append(nil, n) })
	}
	for i := range 3 {
		if err := put(t.Context(), 3*i); err != nil {
			t.Fatal(err)
		}
		p.kill()
		back := make(chan *process)
		go func() {
			time.Sleep(500 * time.Millisecond)
			p, _ := killable(t, addr, dir)
			back <- p
		}()
		if err := put(t.Context(), 3*i+1); err != nil {
			t.Fatal(err)
		}
		p = <-back
		if err := put(t.Context(), 3*i+2); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := written(t, Config{Brokers: []string{addr}, Topic: topic})["k"], "0 1 2 3 4 5 6 7 8 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := put(ctx, 9); err == nil {
		t.Error("a write without a broker is acknowledged")
	}
	begun := time.Now()
	out.Close()
	if took := time.Since(begun); took > sinkClosing+3*time.Second { // the client has its own wait for a dial
		t.Errorf("Close took %v, want about %v", took, sinkClosing)
	}
}
