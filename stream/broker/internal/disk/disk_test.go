package disk_test

import (
	"bytes"
	"context"
	"encoding/json"
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

	"cancha/internal/alloctest"
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

// killed is a directory that closed has left and another broker has had since: as it is when that one is killed.
func killed(t testing.TB) string {
	t.Helper()
	dir := closed(t)
	b, err := broker.Start(broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Ping(t.Context()); err != nil { // with an answer the copies are there
		t.Fatal(err)
	}
	return copyOf(t, dir)
}

func copyOf(t testing.TB, dir string) string {
	t.Helper()
	now := t.TempDir()
	if err := os.CopyFS(now, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return now
}

// TestOneDigit changes each digit in turn of all small files of a directory whose broker was killed, as long as they still are JSON.
// Whatever the digit, it is found; a list is restored, and what can be done without is set aside.
func TestOneDigit(t *testing.T) {
	dir := killed(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := filepath.Glob(filepath.Join(dir, "partitions/*/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	digits := 0
	for _, path := range append(files, snapshots...) {
		file, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if file == "started.json" { // ours, with a checksum
			continue
		}
		for at, c := range whole {
			if c < '0' || c > '9' {
				continue
			}
			digits++
			raw := bytes.Clone(whole)
			raw[at] = '1' + (c-'0')%9
			if !json.Valid(raw) {
				t.Fatalf("%s is no JSON with another digit at %d: %s", file, at, raw)
			}
			if err := os.WriteFile(path, raw, 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := disk.Verify(dir)
			if err != nil || len(r.Problems) == 0 || r.Problems[0].File != file {
				t.Errorf("%s: %s instead of %s: problems %v, %v", file, raw, whole, r.Problems, err)
			}
		}
		now := copyOf(t, dir)
		if _, err := disk.Mend(now); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		left, _ := os.ReadFile(filepath.Join(now, file))
		if kept, _ := os.ReadFile(filepath.Join(now, "copies", file)); (kept != nil || left != nil) && !bytes.Equal(left, whole) {
			t.Errorf("%s: left %s, want %s", file, left, whole)
		}
		if got, _ := served(t, now, 2*perPartition); !maps.Equal(got, all()) {
			t.Errorf("%s: got %v", file, got)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := disk.Verify(dir); err != nil || len(r.Problems) > 0 || digits < 100 {
		t.Errorf("of %d digits, with none changed: problems %v, %v", digits, r.Problems, err)
	}
}

// TestCopies has a directory whose broker was killed, and a copy that is not its list's.
func TestCopies(t *testing.T) {
	const more = `"partitions":3`
	for _, c := range []struct {
		name, file, from, to string
		list                 bool // the list has changed too
		refused              bool
	}{
		{"a change that nobody was told of", "topics.json", `"partitions":2`, more, false, false},
		{"a copy with a digit changed", "copies/topics.json", `"partitions":2`, more, false, false},
		{"and another list", "copies/topics.json", `"replicas":1`, `"replicas":2`, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := killed(t)
			if err := replace(dir, c.file, c.from, c.to); err != nil {
				t.Fatal(err)
			}
			if c.list {
				if err := replace(dir, "topics.json", `"partitions":2`, more); err != nil {
					t.Fatal(err)
				}
			}
			if c.refused {
				b, err := broker.Start(broker.Config{Dir: dir})
				if err == nil {
					b.Close()
				}
				if !errors.Is(err, disk.ErrUndecided) || !strings.Contains(err.Error(), "topics.json") || !strings.Contains(err.Error(), "-rebuild") {
					t.Fatalf("got %v", err)
				}
				if b, err = broker.Start(broker.Config{Dir: dir, Rebuild: true}); err != nil {
					t.Fatal(err)
				}
				b.Close()
			}
			if got, _ := served(t, dir, 2*perPartition); !maps.Equal(got, all()) {
				t.Errorf("got %v", got)
			}
			r, err := disk.Verify(dir)
			if err != nil || len(r.Problems) > 0 {
				t.Errorf("afterwards: problems %v, %v", r.Problems, err)
			}
			list, _ := os.ReadFile(filepath.Join(dir, "topics.json"))
			if bytes.Contains(list, []byte(more)) != c.list {
				t.Errorf("the list is %s", list)
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

// TestTrim cuts off a part of an entry, as a full disk leaves it, and nothing else.
func TestTrim(t *testing.T) {
	dir := closed(t)
	file := filepath.Join(dir, "groups.log")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[20] ^= 1
	for _, c := range []struct {
		name string
		raw  []byte
		want []byte
	}{
		{"whole", whole, whole},
		{"a part of an entry", append(bytes.Clone(whole), whole[:15]...), whole},
		{"an entry cut off", whole[:len(whole)-1], nil},
		{"a damaged entry in front", damaged, damaged},
		{"nothing", nil, nil},
	} {
		if err := os.WriteFile(file, c.raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := disk.Trim(dir); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if c.name == "an entry cut off" {
			if len(got) >= len(c.raw) || !bytes.HasPrefix(whole, got) {
				t.Errorf("%s: left %d bytes of %d", c.name, len(got), len(c.raw))
			}
			continue
		}
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: left %q, want %q", c.name, got, c.want)
		}
	}
}

// TestEmptyPartitions has folders of a topic that was not made, because the disk was full.
func TestEmptyPartitions(t *testing.T) {
	dir := closed(t)
	for _, file := range []string{"partitions/u-0/0.dat", "partitions/u-1/none"} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if got, log := served(t, dir, 2*perPartition); !maps.Equal(got, all()) || log != "" {
		t.Errorf("got %v, logged %s", got, log)
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
		alloctest.Bounded(t, len(raw), func() {
			if _, err := disk.Verify(dir); err != nil {
				t.Error(err)
			}
		})
	})
}
