package kafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
)

// write writes epochs of ten records in transactions, in a process of its own, from the one on that is not there yet, until it is killed.
func write() {
	topic := os.Getenv("CANCHA_TEST_DIR")
	ctx := context.Background()
	x, err := openExact(ctx, ProducerConfig{Brokers: []string{os.Getenv("CANCHA_TEST_ADDR")}, Topic: topic}, "writer of "+topic)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for epoch := x.last.Number + 1; ; epoch++ {
		if err := x.write(ctx, stream.EpochID{Number: epoch}, recordsOf(epoch)); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("wrote", epoch)
	}
}

func recordsOf(epoch int64) (all []*kgo.Record) {
	for i := range 10 {
		all = append(all, &kgo.Record{Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, "%d/%d", epoch, i)})
	}
	return all
}

// TestWriterKilled kills a writer of transactions with -9, in the middle of one as a rule, again and again: each epoch is there once and whole, up to
// the last.
func TestWriterKilled(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic}); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(3, 1))
	for range 25 {
		p := start(t, "writer", addr, topic)
		p.line(t, "wrote")
		time.Sleep(time.Duration(dice.IntN(40)) * time.Millisecond)
		p.kill()
	}
	x, err := openExact(t.Context(), ProducerConfig{Brokers: []string{addr}, Topic: topic}, "writer of "+topic)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	var want []string
	for epoch := int64(1); epoch <= x.last.Number; epoch++ {
		for _, r := range recordsOf(epoch) {
			want = append(want, string(r.Value))
		}
	}
	got := committed(t, addr, topic)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d records are committed, want %d of %d epochs: %s", len(got), len(want), x.last.Number, differing(got, want))
	}
}

// differing tells which epochs of two lists differ.
func differing(got, want []string) string {
	count := map[string]int{}
	for _, line := range want {
		epoch, _, _ := strings.Cut(line, "/")
		count[epoch]--
	}
	for _, line := range got {
		epoch, _, _ := strings.Cut(line, "/")
		count[epoch]++
	}
	var parts []string
	for epoch, n := range count {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("epoch %s: %+d", epoch, n))
		}
	}
	return strings.Join(parts, ", ")
}
