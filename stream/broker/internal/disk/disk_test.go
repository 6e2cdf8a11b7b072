package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream/broker"
	"cancha/stream/broker/internal/disk"
)

// perPartition batches of one record each are in both partitions of a closed directory.
const perPartition = 6

// closed is a directory that a broker has filled and left: topic t, two partitions, and the commits of a group.
func closed(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	b, err := broker.Start(broker.Config{Dir: dir, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(20*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.UnknownTopicRetries(-1),
		kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.FetchMaxWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * perPartition {
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: fmt.Appendf(nil, "value %d", i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < 2*perPartition; {
		f := c.PollFetches(t.Context())
		n += f.NumRecords()
		if err := c.CommitRecords(t.Context(), f.Records()...); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// served are the values that a broker on a directory gives out, by their offsets; it waits for want of them.
func served(t *testing.T, dir string, want int) (values map[string]string, log string) {
	t.Helper()
	var text bytes.Buffer
	b, err := broker.Start(broker.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	values = map[string]string{}
	for len(values) < want {
		f := c.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %d values of %d; log %s", len(values), want, &text)
		}
		f.EachRecord(func(r *kgo.Record) { values[fmt.Sprintf("%d/%d", r.Partition, r.Offset)] = string(r.Value) })
	}
	return values, text.String()
}

func all() map[string]string {
	m := map[string]string{}
	for i := range 2 * perPartition {
		m[fmt.Sprintf("%d/%d", i%2, i/2)] = fmt.Sprintf("value %d", i)
	}
	return m
}

func TestWhole(t *testing.T) {
	dir := closed(t)
	r, err := disk.Verify(dir)
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("problems %v, %v", r.Problems, err)
	}
	if len(r.Partitions) != 2 || r.Partitions[1].Records != perPartition || r.Partitions[1].Next != perPartition || r.Partitions[1].Batches != perPartition {
		t.Errorf("partitions %+v", r.Partitions)
	}
	got, log := served(t, dir, 2*perPartition)
	if !maps.Equal(got, all()) || log != "" {
		t.Errorf("got %v, logged %s", got, log)
	}
}

// TestLists takes the lists away: they come back from their copies, or the directory is refused.
func TestLists(t *testing.T) {
	for _, damage := range []struct {
		name string
		do   func(dir string) error
		log  string
	}{
		{"meta.json is gone", func(dir string) error { return os.Remove(filepath.Join(dir, "meta.json")) }, "restored from copies"},
		{"topics.json is gone", func(dir string) error { return os.Remove(filepath.Join(dir, "topics.json")) }, "restored from copies"},
		{"topics.json is empty", func(dir string) error { return os.Truncate(filepath.Join(dir, "topics.json"), 0) }, "restored from copies"},
		{"topics.json has one digit changed", func(dir string) error { return replace(dir, "topics.json", `"partitions":2`, `"partitions":1`) }, "restored from copies"},
		{"meta.json and its copy are gone", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "meta.json")), os.Remove(filepath.Join(dir, "copies", "meta.json")))
		}, "a new id of the cluster"},
		{"a list that is no JSON", func(dir string) error { return os.WriteFile(filepath.Join(dir, "quotas.json"), []byte("{"), 0o644) }, "damaged/quotas.json@0"},
		{"a snapshot that is none", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "partitions/t-0/snapshot.json"), []byte("{"), 0o644)
		}, "damaged/partitions/t-0/snapshot.json@0"},
		{"a snapshot with one digit changed", func(dir string) error {
			return replace(dir, "partitions/t-0/snapshot.json", `"high_watermark":6`, `"high_watermark":4`)
		}, "damaged/partitions/t-0/snapshot.json@0"},
	} {
		t.Run(damage.name, func(t *testing.T) {
			dir := closed(t)
			if err := damage.do(dir); err != nil {
				t.Fatal(err)
			}
			got, log := served(t, dir, 2*perPartition)
			if !maps.Equal(got, all()) || !strings.Contains(log, damage.log) {
				t.Errorf("got %v, logged %s", got, log)
			}
			if r, err := disk.Verify(dir); err != nil || len(r.Problems) > 0 {
				t.Errorf("afterwards: problems %v, %v", r.Problems, err)
			}
		})
	}
}

func replace(dir, file, from, to string) error {
	path := filepath.Join(dir, file)
	raw, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(raw, []byte(from)) {
		err = fmt.Errorf("%s lacks %s: %s", file, from, raw)
	}
	return errors.Join(err, os.WriteFile(path, bytes.Replace(raw, []byte(from), []byte(to), 1), 0o644))
}

func TestUnknowable(t *testing.T) {
	dir := closed(t)
	for _, file := range []string{"topics.json", "copies/topics.json"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := broker.Start(broker.Config{Dir: dir})
	if !errors.Is(err, disk.ErrUnknowable) || !strings.Contains(err.Error(), "t (partitions up to 1)") || !strings.Contains(err.Error(), "-rebuild") {
		t.Fatalf("got %v", err)
	}
	b, err := broker.Start(broker.Config{Dir: dir, Rebuild: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if got, _ := served(t, dir, 2*perPartition); !maps.Equal(got, all()) {
		t.Errorf("got %v", got)
	}
}

// TestOneBit flips each byte's bits in turn in a file of batches. Whatever the bit, the other batches are served at their
// offsets, and what is not served is named and kept.
func TestOneBit(t *testing.T) {
	dir := closed(t)
	file := filepath.Join(dir, "partitions/t-0/0.dat")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		raw := bytes.Clone(whole)
		raw[at] ^= 1 << (at % 8)
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := disk.Verify(dir)
		if err != nil {
			t.Fatal(err)
		}
		p := r.Partitions[0]
		inEpoch := at%(len(whole)/perPartition) >= 12 && at%(len(whole)/perPartition) < 16
		if p.Next < perPartition || p.First > 1 || p.Records < perPartition-1 || len(r.Problems) == 0 && !inEpoch {
			t.Errorf("bit %d of byte %d: %+v, problems %v", at%8, at, p, r.Problems)
		}
	}
}

// TestFlippedBitIsServedAround starts a broker on a damaged segment.
func TestFlippedBitIsServedAround(t *testing.T) {
	for _, lost := range []int{0, 2, perPartition - 1} {
		t.Run(fmt.Sprint("batch ", lost), func(t *testing.T) {
			dir := closed(t)
			file := filepath.Join(dir, "partitions/t-0/0.dat")
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw[lost*len(raw)/perPartition+70] ^= 4
			if err := os.WriteFile(file, raw, 0o644); err != nil {
				t.Fatal(err)
			}
			want := all()
			delete(want, fmt.Sprint("0/", lost))
			got, log := served(t, dir, len(want))
			if !maps.Equal(got, want) || !strings.Contains(log, "damaged/partitions/t-0/0.dat@") {
				t.Errorf("got %v, logged %s", got, log)
			}
			got, log = served(t, dir, len(want))
			if !maps.Equal(got, want) || log != "" {
				t.Errorf("the second time: got %v, logged %s", got, log)
			}
			if r, err := disk.Verify(dir); err != nil || r.Partitions[0].Next != perPartition {
				t.Errorf("the next offset is given twice: %+v, %v", r.Partitions[0], err)
			}
		})
	}
}

// TestMissing takes the last batch off a segment, as if it had never been there, and whole segments away.
func TestMissing(t *testing.T) {
	dir := closed(t)
	file := filepath.Join(dir, "partitions/t-0/0.dat")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, info.Size()/perPartition*(perPartition-1)); err != nil {
		t.Fatal(err)
	}
	want := all()
	delete(want, fmt.Sprint("0/", perPartition-1))
	got, log := served(t, dir, len(want))
	if !maps.Equal(got, want) || !strings.Contains(log, "offsets 5 to 5 are missing at its end") {
		t.Errorf("got %v, logged %s", got, log)
	}
	if r, err := disk.Verify(dir); err != nil || len(r.Problems) > 0 || r.Partitions[0].Next != perPartition {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
	dir = closed(t)
	if err := os.Remove(filepath.Join(dir, "partitions/t-0/0.dat")); err != nil {
		t.Fatal(err)
	}
	r, err := disk.Verify(dir)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].What, "offsets 0 to 5 are missing: all segments are gone") {
		t.Errorf("without segments: %+v, %v", r, err)
	}
}

// TestGroups damages one commit of a group: the others stay.
func TestGroups(t *testing.T) {
	dir := closed(t)
	file := filepath.Join(dir, "groups.log")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[20] ^= 1
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := disk.Mend(dir)
	if err != nil || len(r.Problems) == 0 {
		t.Fatalf("problems %v, %v", r.Problems, err)
	}
	mended, err := os.ReadFile(file)
	if err != nil || len(mended) == 0 || !bytes.HasSuffix(raw, mended) {
		t.Errorf("left of %q: %q, %v", raw, mended, err)
	}
}

// FuzzVerify takes any bytes for a segment.
func FuzzVerify(f *testing.F) {
	dir := closed(f)
	file := filepath.Join(dir, "partitions/t-0/0.dat")
	whole, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:100])
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := disk.Verify(dir); err != nil {
			t.Error(err)
		}
	})
}
