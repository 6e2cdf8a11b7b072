package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/checkpoint"
	"cancha/stream/internal/changelog"
)

// errKilled ends a query in a test as kill -9 would: nothing of it is given out or saved any more.
var errKilled = errors.New("killed")

// ledger is a table that keeps rows with the epochs that they came with, as a database does: each unit's epochs once.
type ledger struct {
	mu     sync.Mutex
	epochs map[string]int64
	lines  []string
}

// page is a ledger as a sink of one process.
type page struct{ of *ledger }

func (p page) String() string { return "ledger" }

func (p page) Resume(_ context.Context, _ []stream.Column, mark stream.Mark) (int64, error) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.of.epochs[mark.Unit], nil
}

func (p page) Position() []byte { return nil }

func (p page) Write(_ context.Context, epoch int64, rows *stream.Rows) error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.epochs == nil {
		p.of.epochs = map[string]int64{}
	}
	if p.of.epochs[rows.Unit] >= epoch {
		return nil // another process was faster with the same rows
	}
	p.of.epochs[rows.Unit] = epoch
	for i := range rows.Len() {
		p.of.lines = append(p.of.lines, string(rows.AppendJSON(nil, i)))
	}
	return nil
}

// moves fills a topic with records of many keys, in disorder and some of them late.
func moves(t *testing.T, addr, topic string, n int) {
	t.Helper()
	movesOn(t, addr, topic, 0, n)
}

// movesOn fills a topic with some of these records: from one on, up to another.
func movesOn(t *testing.T, addr, topic string, from, to int) {
	t.Helper()
	p, err := NewProducer(ProducerConfig{Brokers: []string{addr}, Topic: topic, Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(5, 6))
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range to {
		at = at.Add(time.Duration(dice.IntN(100)) * time.Millisecond)
		key := fmt.Sprintf("k%d", dice.IntN(40))
		value := fmt.Sprintf(`{"k":%q,"id":%d,"x":%.3f,"ts":%q}`, key, i, dice.NormFloat64(), at.Add(-time.Duration(dice.IntN(8000))*time.Millisecond).Format(time.RFC3339Nano))
		if i < from {
			continue
		}
		if err := p.Send(t.Context(), []byte(key), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// slow takes its time, so that queries are killed in the middle.
func slow(row stream.Row) (bool, error) {
	if row.Int("id")%20 == 0 {
		time.Sleep(2 * time.Millisecond)
	}
	return true, nil
}

func windows(cfg Config) *stream.Query {
	return stream.From(Source(cfg)).EventTime(stream.Field("ts").AsTime()).KeyedBy("k").Watermark(5*time.Second).
		FilterFunc("slow", slow, "id").GroupBy("k").Window(stream.Tumbling(30*time.Second)).Agg(stream.Count("n"), stream.Stats("x", stream.Field("x")))
}

// TestGroupKilled: members of a group come, are killed and come again, while others read on: windows are whole, and given out once where there is a
// checkpoint, at least once and always alike where there is none.
func TestGroupKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	moves(t, addr, topic, 40_000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, FetchBytes: 16 << 10}
	want := &ledger{}
	alone := cfg
	alone.Until = closed()
	if err := live(t, windows(alone).Checkpoint(checkpoint.Folder(t.TempDir())).To(page{want}), 0); err != nil {
		t.Fatal(err)
	}
	for _, members := range []int{1, 3} {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d members, checkpoint %v", members, kept), func(t *testing.T) {
				got := &ledger{}
				dir := t.TempDir()
				cfg := cfg
				cfg.Group = fmt.Sprintf("%s-%d-%v", topic, members, kept)
				query := func(cfg Config) *stream.Query {
					q := windows(cfg)
					if !kept {
						return q.To(got.sink())
					}
					return q.Checkpoint(checkpoint.Folder(dir)).Epoch(20 * time.Millisecond).To(page{got})
				}
				var running sync.WaitGroup
				for m := range members {
					running.Go(func() {
						dice := rand.New(rand.NewPCG(uint64(m), 9))
						for range 4 {
							if err := live(t, query(cfg), time.Duration(dice.IntN(1500))*time.Millisecond+50*time.Millisecond); err != nil && !errors.Is(err, errKilled) {
								t.Error(err)
							}
						}
					})
				}
				running.Wait()
				cfg.Until = closed()
				if err := live(t, query(cfg), 0); err != nil {
					t.Fatal(err)
				}
				check(t, got.lines, want.lines, kept)
			})
		}
	}
}

// check compares lines, each of which has to come once, or at least once.
func check(t *testing.T, got, want []string, once bool) {
	t.Helper()
	count := map[string]int{}
	for _, line := range got {
		count[line]++
	}
	lost := 0
	for _, line := range want {
		if count[line] == 0 {
			lost++
		}
	}
	twice, odd := 0, []string{}
	known := map[string]bool{}
	for _, line := range want {
		known[line] = true
	}
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if count[line] > 1 {
			twice++
		}
		if !known[line] {
			odd = append(odd, line)
		}
	}
	if lost > 0 || len(odd) > 0 || once && twice > 0 {
		t.Errorf("of %d rows: %d lost, %d twice, %d wrong ones:\n%s", len(want), lost, twice, len(odd), strings.Join(odd[:min(len(odd), 5)], "\n"))
	}
	t.Logf("%d rows, %d twice", len(want), twice)
}

// live runs a query to its end, or kills it after a time.
func live(t *testing.T, q *stream.Query, life time.Duration) error {
	ctx, kill := context.WithCancelCause(context.Background())
	defer kill(nil)
	r, err := q.Start(ctx)
	if err != nil {
		return err
	}
	if life > 0 {
		timer := time.AfterFunc(life, func() { kill(errKilled) })
		defer timer.Stop()
	}
	return r.Wait(context.Background())
}

// committed reads the values of a topic that are committed, with franz-go's consumer and with our source: they must agree.
func committed(t *testing.T, addr, topic string) (lines []string) {
	t.Helper()
	theirs := consumed(t, addr, topic)
	r, err := stream.From(Source(Config{Brokers: []string{addr}, Topic: topic, Committed: true, Until: closed(), FetchBytes: 8 << 10})).
		Select("text").Format(stream.TextFormat()).Start(t.Context())
	if err == nil {
		err = r.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := r.Results().Strings("text")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Errorf("our source reads %d committed records, franz-go %d: %s", len(ours), len(theirs), differing(ours, theirs))
	}
	return theirs
}

// consumed reads with franz-go.
func consumed(t *testing.T, addr, topic string) (lines []string) {
	t.Helper()
	lags, err := Lag(t.Context(), Config{Brokers: []string{addr}, Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int]int64{}
	for _, l := range lags {
		ends[l.Partition] = l.End
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for left := len(ends); left > 0; {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		left = 0
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				lines = append(lines, string(r.Value))
			}
			if r.Offset+1 >= ends[int(r.Partition)] {
				delete(ends, int(r.Partition))
			}
		})
		for p, end := range ends {
			if end == 0 {
				delete(ends, p)
			}
		}
		left = len(ends)
	}
	return lines
}

// TestExactSink: a query that writes to a topic is killed again and again, alone and with others in a group; who reads what is committed sees each row
// once.
func TestExactSink(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	moves(t, addr, topic, 20_000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, FetchBytes: 16 << 10, Until: closed()}
	want := &ledger{}
	if err := live(t, windows(cfg).Checkpoint(checkpoint.Folder(t.TempDir())).To(page{want}), 0); err != nil {
		t.Fatal(err)
	}
	for _, members := range []int{1, 2} {
		t.Run(fmt.Sprint(members, " members"), func(t *testing.T) {
			out, dir, cfg := fmt.Sprintf("%s-out-%d", topic, members), t.TempDir(), cfg
			if members > 1 {
				cfg.Group = topic
			}
			query := func() *stream.Query {
				return windows(cfg).Checkpoint(checkpoint.Folder(dir)).Epoch(20 * time.Millisecond).To(Sink(SinkConfig{Brokers: []string{addr}, Topic: out, Key: "k"}))
			}
			var running sync.WaitGroup
			for m := range members {
				running.Go(func() {
					dice := rand.New(rand.NewPCG(uint64(m), 3))
					for range 5 {
						if err := live(t, query(), time.Duration(dice.IntN(600))*time.Millisecond+50*time.Millisecond); err != nil && !errors.Is(err, errKilled) {
							t.Error(err)
						}
					}
				})
			}
			running.Wait()
			if err := live(t, query(), 0); err != nil {
				t.Fatal(err)
			}
			check(t, committed(t, addr, out), want.lines, true)
		})
	}
}

// TestSnapshots: two processes that go on from one snapshot in a topic, of which one gets further, and a query that is killed again and again.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	open := func(name string) *Snapshots {
		s, err := NewSnapshots(t.Context(), SnapshotsConfig{Brokers: []string{addr}, Topic: topic + "-snapshots", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	one, two := open("race"), open("race")
	big := [][]byte{make([]byte, 3*chunkBytes), []byte("end")}
	if err := one.Write(t.Context(), "u", 1, big); err != nil {
		t.Fatal(err)
	}
	if err := two.Write(t.Context(), "u", 1, [][]byte{[]byte("other")}); !errors.Is(err, checkpoint.ErrTaken) {
		t.Errorf("epoch 1 written twice: %v, want ErrTaken", err)
	}
	var writing sync.WaitGroup
	errs := make([]error, 2)
	for i, s := range []*Snapshots{one, two} {
		writing.Go(func() { errs[i] = s.Write(t.Context(), "u", 2, [][]byte{fmt.Append(nil, i)}) })
	}
	writing.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("epoch 2 written at once by two: %v, %v, want that one gets further", errs[0], errs[1])
	}
	for _, s := range []*Snapshots{one, two, open("race")} {
		epochs, err := s.List(t.Context(), "u")
		b, failed := s.Read(t.Context(), "u", 1)
		if !slices.Equal(epochs, []int64{1, 2}) || len(b) != 3*chunkBytes+3 || errors.Join(err, failed) != nil {
			t.Errorf("epochs %v, %d bytes, %v, %v", epochs, len(b), err, failed)
		}
	}
	if err := one.Remove(t.Context(), "u", 1); err != nil {
		t.Fatal(err)
	}
	if epochs, err := open("race").List(t.Context(), "u"); !slices.Equal(epochs, []int64{2}) || err != nil {
		t.Errorf("after Remove: %v, %v", epochs, err)
	}
	if err := two.Write(t.Context(), "u", 1, [][]byte{[]byte("late")}); !errors.Is(err, checkpoint.ErrTaken) {
		t.Errorf("epoch 1, which was removed, written behind epoch 2: %v, want ErrTaken", err)
	}

	moves(t, addr, topic, 10_000)
	cfg := Config{Brokers: []string{addr}, Topic: topic, FetchBytes: 16 << 10, Until: closed()}
	want, got := &ledger{}, &ledger{}
	if err := live(t, windows(cfg).Checkpoint(checkpoint.Folder(t.TempDir())).To(page{want}), 0); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(2, 9))
	for ends := range 6 {
		life := time.Duration(dice.IntN(300)+50) * time.Millisecond
		if ends == 5 {
			life = 0
		}
		if err := live(t, windows(cfg).Checkpoint(open("windows")).Epoch(20*time.Millisecond).To(page{got}), life); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	check(t, got.lines, want.lines, true)
}

// TestRemovedSnapshotsAreForgotten: nothing is kept of a snapshot that was removed, by whoever removes it, whoever reads that, and whoever comes later.
func TestRemovedSnapshotsAreForgotten(t *testing.T) {
	t.Parallel()
	cfg := SnapshotsConfig{Brokers: []string{startBroker(t, broker.Config{})}, Topic: topicName(t), Name: "q"}
	open := func() *Snapshots {
		s, err := NewSnapshots(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	one, two := open(), open()
	for epoch := range int64(5) {
		err := one.Write(t.Context(), "u", epoch, [][]byte{make([]byte, chunkBytes+1)})
		if _, failed := two.List(t.Context(), "u"); errors.Join(err, failed) != nil {
			t.Fatal(err, failed)
		}
		if epoch > 0 {
			if err := one.Remove(t.Context(), "u", epoch-1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, s := range []*Snapshots{one, two, open()} {
		if epochs, err := s.List(t.Context(), "u"); !slices.Equal(epochs, []int64{4}) || err != nil || len(s.of["u"]) != 1 {
			t.Errorf("process %d: epochs %v, %v, of %d that it keeps, want the last alone", i, epochs, err, len(s.of["u"]))
		}
	}
}

// TestLatestOfQuietPartitions: where a query began at the end of a partition is in its checkpoint before the partition has had a record, so that what comes
// between a crash and the next run is read. With the long times it is there before the broker has answered a fetch, or an epoch has ended by its time.
func TestLatestOfQuietPartitions(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	for _, c := range []struct {
		group       bool
		idle, epoch time.Duration
	}{
		{false, 20 * time.Millisecond, 10 * time.Millisecond}, {true, 20 * time.Millisecond, 10 * time.Millisecond},
		{false, time.Second, time.Hour}, {true, time.Second, time.Hour},
	} {
		t.Run(fmt.Sprintf("group %v, epochs of %v", c.group, c.epoch), func(t *testing.T) {
			topic := topicName(t)
			produce(t, addr, topic, 2, 0, 100)
			cfg := Config{Brokers: []string{addr}, Topic: topic, Start: Latest, IdleInterval: c.idle}
			units := []string{checkpoint.Whole}
			if c.group {
				cfg.Group = topic
				units = []string{"partition 0 " + topic, "partition 1 " + topic}
			}
			place := checkpoint.Folder(t.TempDir())
			query := func(cfg Config) *stream.Query {
				return stream.From(Source(cfg)).Format(stream.TextFormat()).Select("text").Checkpoint(place).Epoch(c.epoch)
			}
			ctx, kill := context.WithCancelCause(t.Context())
			r, err := query(cfg).Start(ctx)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "both places in the checkpoint", func() bool { return len(places(t, place, units)) == 2 })
			kill(errKilled)
			r.Wait(t.Context())
			produce(t, addr, topic, 2, 100, 150)
			cfg.Until, cfg.IdleInterval = closed(), 20*time.Millisecond
			if r, err = query(cfg).Start(t.Context()); err == nil {
				err = r.Wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Results().Total; got != 50 {
				t.Errorf("got %d records after the crash, want 50", got)
			}
		})
	}
}

// places are the offsets from which a checkpoint's units go on, of the partitions of which they are known.
func places(t *testing.T, place checkpoint.Place, units []string) map[string]int64 {
	t.Helper()
	known := map[string]int64{}
	for _, unit := range units {
		state, err := checkpoint.Load(t.Context(), place, unit)
		if err != nil {
			t.Fatal(err)
		}
		if state == nil {
			continue
		}
		for name, part := range state.Sections {
			b := changelog.BytesOf(part.Head)
			if b.Text(); !strings.HasPrefix(name, "lane ") {
				continue
			}
			if next := b.Int(); next >= 0 {
				known[name] = next
			}
		}
	}
	return known
}

// TestSharedPortions: MaxRecords of a query in a group counts what the runs before have read, and what comes after its end is another portion.
func TestSharedPortions(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	moves(t, addr, topic, 4000)
	dir := t.TempDir()
	cfg := Config{Brokers: []string{addr}, Topic: topic, Group: topic, FetchBytes: 16 << 10}
	for i, c := range []struct {
		limit, records int64
		life           time.Duration
	}{{1500, 1500, 0}, {2500, -1, 100 * time.Millisecond}, {2500, -1, 0}, {2500, -1, 30 * time.Millisecond}, {2500, 0, 0}} {
		ctx, kill := context.WithCancelCause(t.Context())
		r, err := windows(cfg).Checkpoint(checkpoint.Folder(dir)).Epoch(20 * time.Millisecond).MaxRecords(c.limit).Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if c.life > 0 {
			time.AfterFunc(c.life, func() { kill(errKilled) })
		}
		waiting, stop := context.WithTimeout(t.Context(), 20*time.Second)
		if err := r.Wait(waiting); err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("run %d: %v, %+v, %q", i, err, r.Totals(), r.Notes())
		}
		stop()
		if got := r.Totals().Records; c.records >= 0 && got != c.records {
			t.Errorf("run %d: %d records, want %d", i, got, c.records)
		}
		kill(nil)
	}
}

// TestSharedPortionIsReadElsewhere: a query whose MaxRecords another process of its group has read a part of ends, though that one still has its partitions.
func TestSharedPortionIsReadElsewhere(t *testing.T) {
	t.Parallel()
	addr := startBroker(t, broker.Config{})
	topic := topicName(t)
	moves(t, addr, topic, 2000)
	place := checkpoint.Folder(t.TempDir())
	query := windows(Config{Brokers: []string{addr}, Topic: topic, Group: topic}).Checkpoint(place).Epoch(20 * time.Millisecond)
	begin := func(q *stream.Query) *stream.Running {
		r, err := q.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	limited := begin(query.MaxRecords(4000))
	eventually(t, "the first half is read", func() bool { return limited.Totals().Records == 2000 })
	other := begin(query)
	eventually(t, "the other one has partitions", func() bool { return strings.Contains(strings.Join(other.Notes(), " "), "goes on from epoch") })
	movesOn(t, addr, topic, 2000, 4000)
	waiting, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if err := limited.Wait(waiting); err != nil {
		t.Errorf("%v: %d records here, %d there", err, limited.Totals().Records, other.Totals().Records)
	}
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	units := make([]string, 4)
	for i := range units {
		units[i] = fmt.Sprintf("partition %d %s", i, topic)
	}
	all := int64(0)
	for _, next := range places(t, place, units) {
		all += next
	}
	if there := other.Totals().Records; all != 4000 || there == 0 {
		t.Errorf("%d records together, %d of them there; want 4000, and some there", all, there)
	}
}
