package kerneltest

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cancha/kernel/wire"
	"cancha/kernel/zmq"
)

// A heartbeat is asked for every beatPause and must be answered within beatLimit, 99 times of 100.
const (
	beatPause = 20 * time.Millisecond
	beatLimit = 50 * time.Millisecond
)

// beside is what goes on beside a soak: a heartbeat, a subscriber that hardly reads, and peers that say nothing, one on each port.
type beside struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	beats   []time.Duration // of the heartbeat's goroutine until end
	fault   error           // likewise: why there are no more
	slow    atomic.Int64    // connections of the subscriber that hardly reads
	read    atomic.Int64    // messages that it has read
	dropped atomic.Int64    // of these the kernel has ended
	silence atomic.Int64    // silent connections that the kernel has ended
	current atomic.Pointer[zmq.Conn]
}

func (s *soaker) startBeside(t *testing.T) *beside {
	ctx, cancel := context.WithCancel(t.Context())
	b := &beside{cancel: cancel}
	connection := s.kernel.Connection()
	b.all.Go(func() {
		b.fault = b.beat(ctx, connection.Endpoint(connection.HBPort))
	})
	b.all.Go(func() {
		b.subscribe(ctx, connection.Endpoint(connection.IOPubPort))
	})
	for _, port := range s.ports() {
		network, address := connection.Address(port)
		b.all.Go(func() { b.silent(ctx, network, address) })
	}
	t.Cleanup(b.end)
	return b
}

// end ends what goes on and waits for it.
func (b *beside) end() {
	b.cancel()
	b.all.Wait()
}

// beat asks for a heartbeat again and again.
func (b *beside) beat(ctx context.Context, at wire.Endpoint) error {
	c, err := zmq.DialRequester(ctx, at)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	for ctx.Err() == nil {
		begin := time.Now()
		if err = c.Send([][]byte{[]byte("ping")}); err == nil {
			_, err = c.Receive()
		}
		if err != nil {
			break
		}
		b.beats = append(b.beats, time.Since(begin))
		pause(ctx, beatPause)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// subscribe reads a message every half second, and connects again when it is dropped for that.
func (b *beside) subscribe(ctx context.Context, at wire.Endpoint) {
	for ctx.Err() == nil {
		c, err := zmq.DialSubscriber(ctx, at, "")
		if err != nil {
			return
		}
		b.slow.Add(1)
		b.current.Store(c)
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		for ctx.Err() == nil {
			if _, err := c.Receive(); err != nil {
				break
			}
			b.read.Add(1)
			pause(ctx, 500*time.Millisecond)
		}
		if b.current.CompareAndSwap(c, nil) && ctx.Err() == nil {
			b.dropped.Add(1)
		}
		stop()
		_ = c.Close()
	}
}

// letGo ends the slow subscriber's connection, and so what waits for it; it connects again.
func (b *beside) letGo() {
	if c := b.current.Swap(nil); c != nil {
		_ = c.Close()
	}
}

// silent connects and waits for the kernel to lose patience.
func (b *beside) silent(ctx context.Context, network, address string) {
	for ctx.Err() == nil {
		c, err := net.Dial(network, address)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		_, _ = io.Copy(io.Discard, c) // its greeting, and its end
		b.silence.Add(1)
		stop()
		_ = c.Close()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (b *beside) report(t *testing.T) {
	t.Logf("beside: %d heartbeats, median %v, p99 %v, longest %v; a slow subscriber read %d messages in %d connections, %d of which the kernel ended; %d silent peers were cut off",
		len(b.beats), b.quantile(50), b.quantile(99), b.quantile(100), b.read.Load(), b.slow.Load(), b.dropped.Load(), b.silence.Load())
}

func (b *beside) quantile(percent int) time.Duration {
	if len(b.beats) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(b.beats))
	return sorted[(len(sorted)-1)*percent/100]
}

func (b *beside) judge(t *testing.T) {
	if b.fault != nil || len(b.beats) == 0 {
		t.Fatalf("the heartbeat ended after %d: %v", len(b.beats), b.fault)
	}
	if p99 := b.quantile(99); p99 > beatLimit {
		t.Errorf("the heartbeat's p99 is %v, want at most %v", p99, beatLimit)
	}
	if b.silence.Load() == 0 {
		t.Error("no silent peer was cut off")
	}
}
