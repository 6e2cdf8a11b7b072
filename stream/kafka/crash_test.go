package kafka

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strconv"
	"syscall"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/broker"
)

// digest is a handler's memory of exactly which records came in which order, by partition.
type digest struct {
	recorder
	sums map[int]hash.Hash
}

func newDigest() *digest {
	d := &digest{sums: make(map[int]hash.Hash)}
	for p := range 4 {
		d.sums[p] = sha256.New()
	}
	d.onBatch = func(b stream.Batch) {
		for _, r := range b.Records { // one goroutine a partition, as recorder checks
			var head [20]byte
			binary.BigEndian.PutUint64(head[:], uint64(r.Offset))
			binary.BigEndian.PutUint64(head[8:], uint64(r.Time.UnixMilli()))
			binary.BigEndian.PutUint32(head[16:], uint32(len(r.Value)))
			d.sums[b.Partition].Write(head[:])
			d.sums[b.Partition].Write(r.Key)
			d.sums[b.Partition].Write(r.Value)
		}
	}
	return d
}

func (d *digest) String() string {
	text := ""
	for p := range 4 {
		text += fmt.Sprintf("%x ", d.sums[p].Sum(nil)[:8])
	}
	return text
}

// TestBrokerKilledWhileReading kills the broker three times with -9 while a source reads, and starts the source before the
// broker: it must report, resume and hand over exactly what an undisturbed run does.
func TestBrokerKilledWhileReading(t *testing.T) {
	const n = 60000
	dir := t.TempDir()
	p, addr := killable(t, "", dir)
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, n)
	undisturbed := newDigest()
	if err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Until: closed()}, undisturbed).wait(t); err != nil {
		t.Fatal(err)
	}
	undisturbed.check(t, n)

	for _, group := range []string{"", "g"} {
		t.Run("group "+group, func(t *testing.T) {
			p.kill()
			d := newDigest()
			read := d.onBatch
			d.onBatch = func(b stream.Batch) {
				read(b)
				if len(b.Records) > 0 {
					time.Sleep(15 * time.Millisecond) // slow enough to be caught in the middle
				}
			}
			until := make(chan struct{})
			// Small fetches put the kills in the middle of record batches.
			r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group, FetchBytes: 16 << 10, Until: until}, d)
			retried := func(more int) func() bool {
				return func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.retries) >= more }
			}
			eventually(t, "a retry with the broker away at start", retried(2))
			p, _ = killable(t, addr, dir)
			for kill := 1; kill <= 3; kill++ {
				eventually(t, fmt.Sprint("enough records for kill ", kill), func() bool { return d.count() >= kill*n/5 })
				d.mu.Lock()
				before := len(d.retries)
				d.mu.Unlock()
				p.kill()
				eventually(t, "a retry", retried(before+1))
				p, _ = killable(t, addr, dir)
			}
			close(until)
			if err := r.wait(t); err != nil {
				t.Fatal(err)
			}
			d.check(t, n)
			if got, want := d.String(), undisturbed.String(); got != want {
				t.Errorf("records after three kills: got %s, want %s", got, want)
			}
			checkWaits(t, d.waits)
			t.Logf("%d retries", len(d.retries))
		})
	}
	p.kill()
}

// checkWaits requires waits within the bounds that begin with the least.
func checkWaits(t *testing.T, waits []time.Duration) {
	t.Helper()
	for i, w := range waits {
		if w < minBackoff || w > maxBackoff {
			t.Errorf("wait %d: got %v, want %v to %v", i, w, minBackoff, maxBackoff)
		}
	}
	if len(waits) > 0 && waits[0] != minBackoff {
		t.Errorf("first wait: got %v, want %v", waits[0], minBackoff)
	}
}

// TestBrokerKilledWhileWriting kills the broker three times with -9 while a producer writes: every record must be there
// once, and those of one key in the order in which they were sent.
func TestBrokerKilledWhileWriting(t *testing.T) {
	const n = 60000
	dir := t.TempDir()
	p, addr := killable(t, "", dir)
	topic := topicName(t)
	w := producer(t, addr, topic, 4)
	written := make(chan error, 1)
	go func() {
		for i := range n {
			if i%1000 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			if err := w.Send(t.Context(), []byte(strconv.Itoa(i%16)), []byte("value "+strconv.Itoa(i))); err != nil {
				written <- err
				return
			}
		}
		written <- w.Close(t.Context())
	}()
	for kill := 1; kill <= 3; kill++ {
		eventually(t, "acknowledged records", func() bool { return w.Acked() >= int64(kill*n/5) })
		p.kill()
		p, _ = killable(t, addr, dir)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if got := w.Acked(); got != n {
		t.Errorf("acknowledged: got %d, want %d", got, n)
	}
	h := &recorder{}
	last := map[string]int{}
	disorder := 0
	h.onBatch = func(b stream.Batch) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, r := range b.Records {
			i, _ := strconv.Atoi(string(r.Value[len("value "):]))
			if prev, ok := last[string(r.Key)]; ok && i <= prev {
				disorder++
			}
			last[string(r.Key)] = i
		}
	}
	if err := begin(t, Config{Brokers: []string{addr}, Topic: topic, Until: closed()}, h).wait(t); err != nil {
		t.Fatal(err)
	}
	if disorder > 0 {
		t.Errorf("%d records came before an earlier one of their key", disorder)
	}
	h.check(t, n)
	p.kill()
}

// TestFrozenBroker stops the broker without ending it: nothing refuses, nothing answers.
func TestFrozenBroker(t *testing.T) {
	t.Parallel()
	p, addr := killable(t, "", t.TempDir())
	topic := topicName(t)
	produce(t, addr, topic, 4, 0, 1000)
	for _, group := range []string{"", "g"} {
		h := &recorder{}
		r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: group}, h)
		eventually(t, "1000 records", func() bool { return h.count() == 1000 })
		p.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(time.Second) // into the next fetch and heartbeat
		begun := time.Now()
		r.stop(t)
		if took := time.Since(begun); took > leaveTimeout+time.Second {
			t.Errorf("group %q: Run ended %v after the cancel, want within %v", group, took, leaveTimeout+time.Second)
		}
		p.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// TestKilledMemberIsReplaced kills a consumer with -9, which cannot say goodbye, and starts another of its group.
func TestKilledMemberIsReplaced(t *testing.T) {
	t.Parallel()
	addr := realCluster()
	if addr == "" {
		addr = startBroker(t, broker.Config{Partitions: 2})
	}
	topic := "t"
	produce(t, addr, topic, 2, 0, 1000)
	old := start(t, "consumer", addr, "")
	old.line(t, "reads")
	old.kill()
	begun := time.Now()
	fresh := &recorder{}
	r := begin(t, Config{Brokers: []string{addr}, Topic: topic, Group: "g"}, fresh)
	produce(t, addr, topic, 2, 1000, 2000)
	eventually(t, "the records after the kill", func() bool { return fresh.count() >= 1000 })
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("a restarted member reads after %v, want within 10 s", took)
	} else {
		t.Logf("reads again after %v", took.Round(10*time.Millisecond))
	}
	r.stop(t)
}
