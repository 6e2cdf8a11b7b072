package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// Snapshots is a place for the snapshots of queries in a topic, beside their input: whatever process of whatever machine goes on with a query finds
// them there. The topic has one partition and is compacted; it is made unless it exists, and may serve several queries whose names differ, each with a
// Snapshots of its own name. Close it when the queries have ended.
//
// A snapshot is cut into records of half a megabyte and one that says that they are all there. Of two processes that write the same epoch the one
// counts whose last record comes first in the topic; both read it back before they go on.
type Snapshots struct {
	cfg    func() *SnapshotsConfig // a function, as in source
	writer string                  // of this process
	out    *Producer
	c      *cluster

	mu   sync.Mutex
	next int64 // offset up to which the topic has been read
	of   map[string]map[int64]*storedEpoch
}

// SnapshotsConfig says where Snapshots are. Brokers, Topic and Name are required.
type SnapshotsConfig struct {
	Brokers []string
	Topic   string
	Name    string // of the query
	Security
}

// String tells where the snapshots are, without the password.
func (c SnapshotsConfig) String() string {
	return fmt.Sprintf("kafka.SnapshotsConfig{%s in %s at %s, %s}", c.Name, c.Topic, strings.Join(c.Brokers, ","), c.Security.String())
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c SnapshotsConfig) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// storedEpoch is what the topic has of an epoch.
type storedEpoch struct {
	owner  string                    // whose snapshot counts; empty: none is complete
	chunks map[string]map[int][]byte // by writer and number
	count  map[string]int            // of the chunks of complete ones
}

const (
	chunkBytes  = 512 << 10
	endOfChunks = "end"
	keyGap      = "\x00" // between the parts of a record's key
)

// NewSnapshots opens the place: it makes the topic, waiting at most until ctx ends.
func NewSnapshots(ctx context.Context, cfg SnapshotsConfig) (*Snapshots, error) {
	if cfg.Name == "" || strings.Contains(cfg.Name, keyGap) {
		return nil, fmt.Errorf("kafka: snapshots without a name of their query")
	}
	if _, err := CreateTopic(ctx, TopicConfig{Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: 1, Compact: true, Security: cfg.Security}); err != nil {
		return nil, fmt.Errorf("kafka: snapshots in %s: %w", cfg.Topic, err)
	}
	out, err := NewProducer(ProducerConfig{Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: 1, Security: cfg.Security})
	if err != nil {
		return nil, err
	}
	source := Config{Brokers: cfg.Brokers, Topic: cfg.Topic, Security: cfg.Security}
	source.fill()
	return &Snapshots{cfg: func() *SnapshotsConfig { return &cfg }, writer: strconv.FormatInt(time.Now().UnixNano(), 36), out: out, c: source.cluster(),
		of: map[string]map[int64]*storedEpoch{}}, nil
}

// String implements checkpoint.Place.
func (s *Snapshots) String() string {
	return fmt.Sprintf("%s in kafka %s at %s", s.cfg().Name, s.cfg().Topic, strings.Join(s.cfg().Brokers, ","))
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (s *Snapshots) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// Close disconnects.
func (s *Snapshots) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), sinkClosing)
	defer cancel()
	s.c.conns.closeAll()
	return s.out.Close(ctx)
}

// List implements checkpoint.Place.
func (s *Snapshots) List(ctx context.Context, unit string) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	var epochs []int64
	for epoch, w := range s.of[unit] {
		if w.owner != "" {
			epochs = append(epochs, epoch)
		}
	}
	slices.Sort(epochs)
	return epochs, nil
}

// Read implements checkpoint.Place.
func (s *Snapshots) Read(ctx context.Context, unit string, epoch int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	w := s.of[unit][epoch]
	if w == nil || w.owner == "" {
		return nil, fmt.Errorf("kafka: %s has no snapshot %d of %s", s, epoch, unit)
	}
	var all []byte
	for i := range w.count[w.owner] {
		chunk, ok := w.chunks[w.owner][i]
		if !ok {
			return nil, fmt.Errorf("kafka: %s: part %d of snapshot %d is missing", s, i, epoch)
		}
		all = append(all, chunk...)
	}
	return all, nil
}

// Write implements checkpoint.Place.
func (s *Snapshots) Write(ctx context.Context, unit string, epoch int64, pieces [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	if w := s.of[unit][epoch]; w != nil && w.owner != "" || s.later(unit, epoch) {
		return checkpoint.ErrTaken
	}
	all := slices.Concat(pieces...)
	count := 0
	for ; len(all) > 0; count++ {
		n := min(len(all), chunkBytes)
		if err := s.out.Send(ctx, s.key(unit, epoch, s.writer, strconv.Itoa(count)), all[:n]); err != nil {
			return ended(ctx, err)
		}
		all = all[n:]
	}
	if err := s.out.Send(ctx, s.key(unit, epoch, s.writer, endOfChunks), binary.AppendUvarint(nil, uint64(count))); err != nil {
		return err
	}
	err := s.settle(ctx)
	if err == nil {
		err = s.catchUp(ctx)
	}
	if err != nil {
		return err
	}
	if w := s.of[unit][epoch]; w == nil || w.owner != s.writer {
		return errors.Join(checkpoint.ErrTaken, s.erase(ctx, unit, epoch, s.writer))
	}
	if s.later(unit, epoch) { // which may need this one, if it was the newest for a moment
		return checkpoint.ErrTaken
	}
	return nil
}

// later tells whether there is a snapshot of a later epoch: this one's number may be free only because its snapshot was removed.
func (s *Snapshots) later(unit string, epoch int64) bool {
	for at, w := range s.of[unit] {
		if at > epoch && w.owner != "" {
			return true
		}
	}
	return false
}

// settle waits until what was sent is in the topic. Where ctx ends meanwhile it waits a little longer: a snapshot that came after a next process has looked
// for it would be in that one's way.
func (s *Snapshots) settle(ctx context.Context) error {
	err := s.out.Flush(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sinkClosing)
	defer cancel()
	_ = s.out.Flush(last) // it is over, either way
	return context.Cause(ctx)
}

// Remove implements checkpoint.Place.
func (s *Snapshots) Remove(ctx context.Context, unit string, epoch int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.of[unit][epoch]
	if w == nil {
		return nil
	}
	for writer := range maps.Keys(w.chunks) {
		if err := s.erase(ctx, unit, epoch, writer); err != nil {
			return err
		}
	}
	delete(s.of[unit], epoch)
	return s.settle(ctx)
}

// erase writes records without values in place of a writer's: compaction takes both away.
func (s *Snapshots) erase(ctx context.Context, unit string, epoch int64, writer string) error {
	w := s.of[unit][epoch]
	if w == nil {
		return nil
	}
	if err := s.out.Send(ctx, s.key(unit, epoch, writer, endOfChunks), nil); err != nil { // first: what is not complete is none
		return ended(ctx, err)
	}
	for i := range w.chunks[writer] {
		if err := s.out.Send(ctx, s.key(unit, epoch, writer, strconv.Itoa(i)), nil); err != nil {
			return ended(ctx, err)
		}
	}
	return nil
}

func (s *Snapshots) key(unit string, epoch int64, writer, part string) []byte {
	return []byte(strings.Join([]string{s.cfg().Name, unit, strconv.FormatInt(epoch, 10), writer, part}, keyGap))
}

// catchUp reads what has been written to the topic.
func (s *Snapshots) catchUp(ctx context.Context) error {
	var b backoff
	for {
		err := s.readOn(ctx)
		if err == nil || ctx.Err() != nil || hopeless(err) {
			if err != nil {
				err = fmt.Errorf("kafka: read %s: %w", s, ended(ctx, err))
			}
			return err
		}
		s.c.forget()
		if !pause(ctx, b.next()) {
			return fmt.Errorf("kafka: read %s: %w", s, context.Cause(ctx))
		}
	}
}

// readOn reads the topic to its end, over one connection.
func (s *Snapshots) readOn(ctx context.Context) error {
	link, err := s.c.leader(ctx, stream.Partition{Topic: s.cfg().Topic})
	if err != nil {
		return err
	}
	defer link.conn.Close()
	defer context.AfterFunc(ctx, func() { link.conn.Close() })()
	first, last, err := link.offsets()
	if err != nil {
		return err
	}
	for s.next = max(s.next, first); s.next < last; {
		if err := link.fetch(s.next, defaultIdle, defaultFetch); err != nil {
			return err
		}
		got, err := link.receive()
		if err != nil {
			return err
		}
		for i := range got.records {
			s.take(&got.records[i])
		}
		s.next = max(s.next, got.next)
	}
	return nil
}

// take takes a record in. Its bytes are the link's.
func (s *Snapshots) take(r *stream.Record) {
	parts := strings.Split(string(r.Key), keyGap)
	if len(parts) != 5 || parts[0] != s.cfg().Name {
		return
	}
	unit, writer, part := parts[1], parts[3], parts[4]
	epoch, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return
	}
	if s.of[unit] == nil {
		s.of[unit] = map[int64]*storedEpoch{}
	}
	w := s.of[unit][epoch]
	switch {
	case w == nil && r.Value == nil:
		return // Remove's own records, read back: an epoch that was made of them would stay for ever
	case w == nil:
		w = &storedEpoch{chunks: map[string]map[int][]byte{}, count: map[string]int{}}
		s.of[unit][epoch] = w
	}
	w.take(writer, part, r.Value)
	if len(w.chunks) == 0 {
		delete(s.of[unit], epoch)
	}
}

// take takes a record of a writer's in: a part, its last record, or what erases one of these.
func (w *storedEpoch) take(writer, part string, value []byte) {
	if w.chunks[writer] == nil {
		w.chunks[writer] = map[int][]byte{}
	}
	if part == endOfChunks {
		w.end(writer, value)
	} else if i, err := strconv.Atoi(part); err == nil && value != nil {
		w.chunks[writer][i] = slices.Clone(value)
	} else if err == nil {
		delete(w.chunks[writer], i)
	}
	if value == nil && w.owner != writer && len(w.chunks[writer]) == 0 {
		delete(w.chunks, writer)
		delete(w.count, writer)
	}
}

// end takes a writer's last record in. The first that is complete counts, until it is erased.
func (w *storedEpoch) end(writer string, value []byte) {
	count, n := binary.Uvarint(value)
	switch {
	case value == nil && w.owner == writer:
		w.owner = ""
	case n > 0 && w.owner == "":
		w.owner, w.count[writer] = writer, int(count)
	}
}
