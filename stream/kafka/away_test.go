package kafka

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
)

// flaky is a port that breaks some of the next connections, each when it has taken a request.
type flaky struct {
	net.Listener
	sound, breaks atomic.Int64 // how many go through before, and how many break then
}

// Accept implements net.Listener.
func (f *flaky) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	for ; err == nil && f.sound.Add(-1) < 0 && f.breaks.Add(-1) >= 0; c, err = f.Listener.Accept() {
		c.Read(make([]byte, 4096)) // all of it: else the client would see a reset
		c.Close()
	}
	return c, err
}

// breakAfter lets so many connections through, and breaks the three after them.
func (f *flaky) breakAfter(sound int64) {
	f.sound.Store(sound)
	f.breaks.Store(3)
}

// TestFirstAnswerLost: a connection that ends before its first answer is tried again, by whoever takes transactions over and by a producer. franz-go takes
// it for a port of another kind, unless it is told otherwise.
func TestFirstAnswerLost(t *testing.T) {
	t.Parallel()
	f := &flaky{}
	addr := fake(t, kfake.ListenFn(func(network, address string) (_ net.Listener, err error) {
		f.Listener, err = net.Listen(network, address)
		return f, err
	}))
	for sound := range int64(4) {
		cfg := ProducerConfig{Brokers: []string{addr}, Topic: topicName(t)}
		p := producer(t, addr, cfg.Topic, 4)
		if _, err := p.Partitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.breakAfter(sound)
		if err := errors.Join(p.Send(t.Context(), nil, []byte("value")), p.Close(t.Context())); err != nil {
			t.Errorf("a producer, after %d connections: %v", sound, err)
		}
		f.breakAfter(sound)
		x, err := openExact(t.Context(), cfg, "writer of "+cfg.Topic)
		if err != nil {
			t.Fatalf("transactions, after %d connections: %v", sound, err)
		}
		defer x.close()
		if err := x.write(t.Context(), stream.EpochID{Number: 1}, recordsOf(1)); err != nil {
			t.Errorf("transactions, after %d connections: %v", sound, err)
		}
	}
}

// TestTransactionForgotten: a broker that was killed in a transaction may know nothing of it, or of what its producer wrote before, and one may answer without
// telling whether it has done what it was asked for. What was to be written is written by whoever takes the transactions over, once.
func TestTransactionForgotten(t *testing.T) {
	t.Parallel()
	offsets := func(said *kerr.Error) func(req kmsg.Request) (kmsg.Response, error, bool) {
		return func(req kmsg.Request) (kmsg.Response, error, bool) {
			answer := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
			answer.ErrorCode = said.Code
			return answer, nil, true
		}
	}
	end := func(said *kerr.Error) func(req kmsg.Request) (kmsg.Response, error, bool) {
		return func(req kmsg.Request) (kmsg.Response, error, bool) {
			answer := req.ResponseKind().(*kmsg.EndTxnResponse)
			answer.ErrorCode = said.Code
			return answer, nil, true
		}
	}
	produce := func(said *kerr.Error) func(req kmsg.Request) (kmsg.Response, error, bool) {
		return func(req kmsg.Request) (kmsg.Response, error, bool) {
			answer := req.ResponseKind().(*kmsg.ProduceResponse)
			for _, topic := range req.(*kmsg.ProduceRequest).Topics {
				is := kmsg.ProduceResponseTopic{Topic: topic.Topic, TopicID: topic.TopicID}
				for _, p := range topic.Partitions {
					is.Partitions = append(is.Partitions, kmsg.ProduceResponseTopicPartition{Partition: p.Partition, ErrorCode: said.Code})
				}
				answer.Topics = append(answer.Topics, is)
			}
			return answer, nil, true
		}
	}
	for _, said := range []*kerr.Error{kerr.InvalidTxnState, kerr.TransactionAbortable, kerr.UnknownServerError, kerr.RequestTimedOut} {
		t.Run("offsets "+said.Message, func(t *testing.T) { forgotten(t, int16(kmsg.AddOffsetsToTxn), offsets(said)) })
		t.Run("end "+said.Message, func(t *testing.T) { forgotten(t, int16(kmsg.EndTxn), end(said)) })
	}
	for _, said := range []*kerr.Error{kerr.OutOfOrderSequenceNumber, kerr.TransactionAbortable, kerr.UnknownServerError} {
		t.Run("produce "+said.Message, func(t *testing.T) { forgotten(t, int16(kmsg.Produce), produce(said)) })
	}
	t.Run("broken", func(t *testing.T) {
		forgotten(t, int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, errors.New("the connection breaks"), true })
	})
}

// forgotten writes an epoch to a broker that answers a request as given until that has failed.
func forgotten(t *testing.T, request int16, answer func(kmsg.Request) (kmsg.Response, error, bool)) {
	t.Helper()
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var well atomic.Bool
	c.ControlKey(request, func(req kmsg.Request) (kmsg.Response, error, bool) {
		if well.Load() {
			return nil, nil, false
		}
		c.KeepControl()
		return answer(req)
	})
	addr, topic := c.ListenAddrs()[0], topicName(t)
	if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic}); err != nil {
		t.Fatal(err)
	}
	for try := range 2 {
		x, err := openExact(t.Context(), ProducerConfig{Brokers: []string{addr}, Topic: topic}, "writer of "+topic)
		if err != nil {
			t.Fatal(err)
		}
		defer x.close()
		err = x.write(t.Context(), stream.EpochID{Number: 1}, recordsOf(1))
		well.Store(true)
		if try == 0 && !errors.Is(err, stream.ErrTakenOver) || try == 1 && err != nil {
			t.Errorf("try %d: %v", try, err)
		}
	}
	if got := committed(t, addr, topic); len(got) != len(recordsOf(1)) {
		t.Errorf("%d records are committed, want %d: %v", len(got), len(recordsOf(1)), got)
	}
}

// TestTwoTakeOver: transactions that another process takes over at the same moment are taken over anew, by a client that has not been told that it is fenced.
func TestTwoTakeOver(t *testing.T) {
	t.Parallel()
	for _, said := range []*kerr.Error{kerr.ProducerFenced, kerr.InvalidProducerEpoch} {
		t.Run(said.Message, func(t *testing.T) {
			t.Parallel()
			c, err := kfake.NewCluster(kfake.NumBrokers(1))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			addr, topic := c.ListenAddrs()[0], topicName(t)
			if _, err := CreateTopic(t.Context(), TopicConfig{Brokers: []string{addr}, Topic: topic}); err != nil {
				t.Fatal(err)
			}
			c.ControlKey(int16(kmsg.InitProducerID), func(req kmsg.Request) (kmsg.Response, error, bool) { // the first alone
				answer := req.ResponseKind().(*kmsg.InitProducerIDResponse)
				answer.ErrorCode = said.Code
				return answer, nil, true
			})
			x, err := openExact(t.Context(), ProducerConfig{Brokers: []string{addr}, Topic: topic}, "writer of "+topic)
			if err != nil {
				t.Fatal(err)
			}
			defer x.close()
			if err := x.write(t.Context(), stream.EpochID{Number: 1}, recordsOf(1)); err != nil {
				t.Error(err)
			}
		})
	}
}

// refusing is a sink that fails at its first rows, when the snapshot that has them is there.
type refusing struct{ *sink }

// Write implements stream.Sink.
func (refusing) Write(context.Context, int64, *stream.Rows) error { return errKilled }

// TestOtherBrokers: a query that ended before its topic had the rows of the last epoch, and goes on by another list of the cluster's brokers, gives these
// rows out: the topic is the same.
func TestOtherBrokers(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic, dir := topicName(t), t.TempDir()
	moves(t, addr, topic, 5_000)
	query := func() *stream.Query {
		return windows(Config{Brokers: []string{addr}, Topic: topic, Until: closed()}).Checkpoint(checkpoint.Folder(dir)).Epoch(20 * time.Millisecond)
	}
	want := &ledger{}
	if err := live(t, query().Checkpoint(checkpoint.Folder(t.TempDir())).To(page{want}), 0); err != nil {
		t.Fatal(err)
	}
	out := SinkConfig{Brokers: []string{addr}, Topic: topic + "-out"}
	if err := live(t, query().To(refusing{newSink(out)}), 0); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	out.Brokers = []string{addr, addr}
	if err := live(t, query().To(Sink(out)), 0); err != nil {
		t.Fatal(err)
	}
	check(t, committed(t, addr, out.Topic), want.lines, true)
}
