package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
)

// SinkConfig says where the rows of a query are written. Brokers and Topic are required.
type SinkConfig struct {
	Brokers []string
	Topic   string
	// Key is the column whose text is the key of a row's record: rows of one key go to one partition, in their order. A row
	// without a value there gets no key. Empty: no record has one.
	Key string
	Security
	// Partitions of the topic if the sink has to make it, default 4. A topic that exists keeps its own.
	Partitions int
	// BatchBytes bounds a batch of rows as it is sent, and so a single row with its key: default 1,048,588. See ProducerConfig.
	BatchBytes int
}

// String tells where the rows are written, without the password.
func (c SinkConfig) String() string {
	text := fmt.Sprintf("kafka.SinkConfig{%s at %s", c.Topic, strings.Join(c.Brokers, ","))
	if c.Key != "" {
		text += ", key " + c.Key
	}
	return text + ", " + c.Security.String() + "}"
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c SinkConfig) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

const (
	// sinkOpening is how long the start of a query waits for brokers that are away.
	sinkOpening = 10 * time.Second
	sinkClosing = 2 * time.Second
)

// Sink writes the rows of a query to a topic, each as a JSON object: the columns in their order, times in RFC 3339, absent
// values left out. It serves one query at a time.
//
// The start of the query makes the topic unless it exists, and fails where no broker answers within ten seconds, or one
// refuses this client, or there is no column for the key. A write returns when the brokers have acknowledged its rows, so
// that a slow or absent cluster holds the query up and loses nothing; within one run of a query every row that it gave out
// is written once, however often brokers go away. In update mode a row is written each time
// that it changes, and with a Key the last record of a key is its newest row.
//
// In a query with a Checkpoint each row is there exactly once for those who read what is committed (isolation.level=read_committed): an epoch is a
// transaction, in which its number is noted as the offset of a group, with the run of the query. A topic cannot go back: a query that goes on from a snapshot
// behind which there are epochs already, or from another copy of its checkpoint, is refused. So is a topic that was deleted and made anew after the query had
// written to it, by the start as by the next epoch, if the brokers tell the IDs of topics (since Kafka 2.8). A process that was frozen while another went on with its query can write
// nothing any more. An absent cluster holds the query up, too, when the transactions are taken over anew, after an outage or with another partition.
//
// Brokers forget that offset when nothing was written for offsets.retention.minutes, seven days by default: a query that died in the middle of an epoch and
// is started again after that may write the epoch's rows a second time.
//
// Without a checkpoint a query that dies may have written rows that nobody has noted: run again
// from where its source was last committed it writes these again. That is at least once; who reads
// the topic tells rows apart by their content, such as the window and the groups.
func Sink(cfg SinkConfig) stream.Sink { return newSink(cfg) }

// sink implements stream.Sink, stream.Opener and stream.Closer.
type sink struct {
	cfg func() *SinkConfig // a function, as in source
	out *Producer          // nil: not open, or exact

	told error // of the last Write

	mu      sync.Mutex
	exact   map[string]*exact // of a query with a checkpoint, by unit; nil: not open for one
	run     string            // of that query
	is      topicID           // of the topic that its units write; zero: brokers have not told
	reached bool              // the brokers have let such a query in: it has started, and waits for them from now on
}

func newSink(cfg SinkConfig) *sink { return &sink{cfg: func() *SinkConfig { return &cfg }} }

// String tells where the rows are written: progress reports show it.
func (s *sink) String() string {
	return fmt.Sprintf("kafka %s at %s", s.cfg().Topic, strings.Join(s.cfg().Brokers, ","))
}

// Identity implements stream.Identified: the topic, whichever brokers are asked.
func (s *sink) Identity() string { return "kafka " + s.cfg().Topic }

// Open implements stream.Opener. A broker that cannot be reached is an error: a query that has nowhere to write its rows
// should not start.
func (s *sink) Open(ctx context.Context, columns []stream.Column) error {
	cfg := s.cfg()
	s.mu.Lock()
	serves := s.out != nil || s.exact != nil
	s.mu.Unlock()
	if err := s.fits(columns, serves); err != nil {
		return err
	}
	out, err := NewProducer(s.producer())
	if err != nil {
		return err
	}
	n, err := s.make(ctx)
	if err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), sinkClosing)
		defer cancel()
		out.Close(closing)
		return fmt.Errorf("kafka: open sink %s: %w", cfg.Topic, err)
	}
	out.made.Store(n > 0)
	s.out = out
	return nil
}

func (s *sink) producer() ProducerConfig {
	cfg := s.cfg()
	return ProducerConfig{Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: cfg.Partitions, BatchBytes: cfg.BatchBytes, Security: cfg.Security}
}

// opening bounds how long brokers that are away are waited for: without an end once they have been there.
func (s *sink) opening(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.reached {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, sinkOpening)
}

// make makes the topic unless it exists, and returns how many partitions it has.
func (s *sink) make(ctx context.Context) (int, error) {
	cfg := s.cfg()
	opening, cancel := s.opening(ctx)
	defer cancel()
	n, err := CreateTopic(opening, TopicConfig{Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: cfg.Partitions, Security: cfg.Security})
	return n, tried(ctx, opening, err)
}

// tried says of an error of opening that it is one after a while, if it is, and why ctx has ended, if it has.
func tried(ctx, opening context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && opening.Err() != nil:
		return fmt.Errorf("tried for %v: %w; see that the brokers run and that Brokers names them, and start the query again", sinkOpening, err)
	}
	return ended(ctx, err)
}

// Resume implements stream.Resumer. A query that runs takes its transactions over anew after an outage, or with a partition that it gets: then brokers
// that are away are waited for, as Write does.
func (s *sink) Resume(ctx context.Context, columns []stream.Column, mark stream.Mark) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fits(columns, s.out != nil || s.exact != nil && s.run != mark.Run); err != nil {
		return 0, err
	}
	if x := s.exact[mark.Unit]; x != nil { // the unit was this process's before
		x.close()
		delete(s.exact, mark.Unit)
	}
	if len(mark.Position) == 0 || mark.Wrote == (stream.EpochID{}) { // else one that is not there is not made: what was written would not be in it
		if _, err := s.make(ctx); err != nil {
			return 0, fmt.Errorf("kafka: open sink %s: %w", s.cfg().Topic, err)
		}
	}
	opening, cancel := s.opening(ctx)
	defer cancel()
	x, err := openExact(opening, s.producer(), transactionsOf+strings.Join([]string{mark.Query, mark.Unit, s.cfg().Topic}, " "))
	if err != nil {
		return 0, tried(ctx, opening, err)
	}
	epoch, err := s.meet(opening, x, mark)
	if err != nil {
		x.close()
		return 0, tried(ctx, opening, err)
	}
	s.serve(mark.Run)
	s.exact[mark.Unit], s.is = x, cmp.Or(x.is, s.is)
	return epoch, nil
}

// meet compares what a unit's transactions say, and which topic it is, with what the checkpoint knows, and with what the sink's other units write.
func (s *sink) meet(ctx context.Context, x *exact, mark stream.Mark) (epoch int64, err error) {
	if err := x.stands(ctx, mark); err != nil {
		return 0, err
	}
	if len(s.exact) > 0 && x.is != (topicID{}) && s.is != (topicID{}) && x.is != s.is {
		return 0, fmt.Errorf("kafka: topic %s has been deleted and made anew while the query wrote it: it was %s, and is %s, and what it had is gone: %s",
			x.topic, s.is, x.is, elsewhere)
	}
	if epoch, err = x.meet(mark); err == nil {
		err = x.foreign(ctx, mark)
	}
	return epoch, err
}

// Probe implements stream.Prober: brokers that make the topic, or tell of it, are there and let this client in.
func (s *sink) Probe(ctx context.Context, columns []stream.Column, run string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fits(columns, s.out != nil || s.exact != nil && s.run != run); err != nil {
		return err
	}
	if _, err := s.make(ctx); err != nil {
		return fmt.Errorf("kafka: open sink %s: %w", s.cfg().Topic, err)
	}
	s.serve(run)
	return nil
}

// serve notes that the brokers have let a query with a checkpoint in.
func (s *sink) serve(run string) {
	if s.exact == nil {
		s.exact, s.is = map[string]*exact{}, topicID{}
	}
	s.run, s.reached = run, true
}

// Position implements stream.Resumer: the ID of the topic. Which epoch is there last, the topic knows.
func (s *sink) Position() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.is == (topicID{}) {
		return nil
	}
	return slices.Clone(s.is[:])
}

// Marks implements stream.Marked: the transactions have the topic's name, at whichever of its brokers.
func (s *sink) Marks() (places []string, err error) {
	for _, broker := range s.cfg().Brokers {
		places = append(places, fmt.Sprintf("topic %s at %s", s.cfg().Topic, broker))
	}
	return places, nil
}

// fits refuses columns without the key, and a query while the sink serves another.
func (s *sink) fits(columns []stream.Column, serves bool) error {
	cfg := s.cfg()
	if serves {
		return fmt.Errorf("kafka: sink %s serves another query that runs: make one of its own for each query, or wait for the end of that one", cfg.Topic)
	}
	if cfg.Key != "" && !slices.ContainsFunc(columns, func(c stream.Column) bool { return c.Name == cfg.Key }) {
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
		}
		return fmt.Errorf("kafka: sink %s: no column %q for the key among %s", cfg.Topic, cfg.Key, strings.Join(names, ", "))
	}
	return nil
}

// Write implements stream.Sink. It waits for the acknowledgement of all rows, while brokers are away too, until ctx ends.
func (s *sink) Write(ctx context.Context, epoch int64, rows *stream.Rows) error {
	s.mu.Lock()
	x := s.exact[rows.Unit]
	s.mu.Unlock()
	if x != nil {
		err := x.write(ctx, stream.EpochID{Run: rows.Run, Number: epoch}, s.records(rows))
		s.mu.Lock()
		s.is = cmp.Or(s.is, x.is)
		s.mu.Unlock()
		return err
	}
	if s.out == nil {
		return fmt.Errorf("kafka: sink %s is not open", s.cfg().Topic)
	}
	s.told = s.send(ctx, rows)
	return s.told
}

func (s *sink) send(ctx context.Context, rows *stream.Rows) error {
	for _, r := range s.records(rows) {
		if err := s.out.Send(ctx, r.Key, r.Value); err != nil {
			return err
		}
	}
	return s.out.Flush(ctx)
}

// records are rows as records of the topic.
func (s *sink) records(rows *stream.Rows) []*kgo.Record {
	column := -1
	if key := s.cfg().Key; key != "" {
		column = rows.Index(key)
	}
	records := make([]*kgo.Record, rows.Len())
	for i := range records {
		records[i] = &kgo.Record{Value: rows.AppendJSON(nil, i)}
		if column >= 0 && !rows.At(i, column).IsNull() {
			records[i].Key = []byte(rows.At(i, column).Text())
		}
	}
	return records
}

// Close implements stream.Closer: it disconnects. What Write has returned from is acknowledged; a Write that was interrupted may have written a part.
func (s *sink) Close() error {
	s.mu.Lock()
	for _, x := range s.exact {
		x.close()
	}
	s.exact, s.reached = nil, false
	s.mu.Unlock()
	if s.out == nil {
		return nil
	}
	out := s.out
	s.out = nil
	ctx, cancel := context.WithTimeout(context.Background(), sinkClosing)
	defer cancel()
	err := out.Close(ctx)
	if err != nil && s.told != nil && err.Error() == s.told.Error() {
		return nil // Write has said so
	}
	return err
}
