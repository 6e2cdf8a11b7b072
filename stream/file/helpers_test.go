package file

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"cancha/stream"
)

// keeper keeps what it is given.
type keeper struct {
	mu       sync.Mutex
	assigned int
	values   map[int][]string
	offsets  map[int][]int64
	times    map[int]time.Time
	empty    map[int]int
	notes    []string
	high     int64
	changed  chan struct{}
}

func newKeeper() *keeper {
	return &keeper{values: map[int][]string{}, offsets: map[int][]int64{}, times: map[int]time.Time{}, empty: map[int]int{}, changed: make(chan struct{}, 1)}
}

func (k *keeper) Assigned(partitions []stream.Partition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.assigned = len(partitions)
	k.tell()
}

func (k *keeper) Retry(error, time.Duration) {}

func (k *keeper) Note(s string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes = append(k.notes, s)
	k.tell()
}

func (k *keeper) Batch(_ context.Context, b stream.Batch) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(b.Records) == 0 {
		k.empty[b.Partition]++
	}
	for _, r := range b.Records {
		k.values[b.Partition] = append(k.values[b.Partition], string(r.Value))
		k.offsets[b.Partition] = append(k.offsets[b.Partition], r.Offset)
		k.times[b.Partition] = r.Time
	}
	k.high = b.HighWatermark
	k.tell()
	return nil
}

func (k *keeper) tell() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// wait waits until a condition holds, which it asks for after each call of the source.
func (k *keeper) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		k.mu.Lock()
		ok := holds()
		k.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-k.changed:
		case <-timeout:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// read runs a source that ends by itself.
func read(t *testing.T, f *Files) (*keeper, error) {
	t.Helper()
	k := newKeeper()
	return k, f.Run(t.Context(), k)
}

// started runs a source that follows; end cancels it and returns what it returns.
func started(t *testing.T, f *Files) (k *keeper, done <-chan error, end func()) {
	t.Helper()
	k = newKeeper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	var ended sync.WaitGroup
	ended.Go(func() { result <- f.Run(ctx, k) })
	end = func() {
		cancel()
		ended.Wait()
	}
	t.Cleanup(end)
	return k, result, end
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zst(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

// count counts records.
type count struct{ records int }

func (*count) Assigned([]stream.Partition) {}
func (*count) Retry(error, time.Duration)  {}
func (c *count) Batch(_ context.Context, b stream.Batch) error {
	c.records += len(b.Records)
	return nil
}
