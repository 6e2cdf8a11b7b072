package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
)

// reader reads one partition. One goroutine owns it.
type reader struct {
	run  *run
	id   stream.Partition
	pos  *position
	next int64 // pos.next, which only this reader moves while it runs
	lost int64 // not yet handed over
	high int64 // the partition's end, as last heard

	looked time.Time // whether the topic is still the same one, where fetches do not tell

	records []stream.Record // of the last fetch
	backoff backoff
}

// errOutOfRange tells that the broker no longer has, or does not yet have, the asked offset.
var errOutOfRange = errors.New("offset out of range")

// errStuck tells that a fetch brought neither records nor the end of the partition.
var errStuck = errors.New("the broker has records but sent none")

// loop reads until ctx ends, over as many connections as it takes.
func (r *reader) loop(ctx context.Context) {
	r.next = r.pos.next
	for asked := int64(-1); ; {
		err := r.connected(ctx)
		if back := (*stream.Rewind)(nil); errors.As(err, &back) {
			continue
		}
		if errors.Is(err, errOutOfRange) && r.next != asked && ctx.Err() == nil {
			asked = r.next
			continue // the new connection finds where the partition begins now
		}
		if !r.run.retry(ctx, fmt.Errorf("%s: %w", r.run.named(r.id), err), &r.backoff) {
			return
		}
		r.run.cluster.forget()
	}
}

// connected reads over one connection until it breaks or ctx ends.
func (r *reader) connected(ctx context.Context) error {
	link, err := r.run.cluster.leader(ctx, r.id)
	if err != nil {
		return err
	}
	defer link.conn.Close()
	defer context.AfterFunc(ctx, func() { link.conn.Close() })()
	if err := r.recognize(link); err != nil {
		return err
	}
	if err := r.settle(ctx, link); err != nil {
		return err
	}
	r.looked = time.Now()
	r.records = nil // of the connection before
	ending, err := r.ask(link)
	for err == nil {
		high, throttled, failed := r.fetch(link)
		if throttled > 0 {
			if !pause(ctx, throttled) {
				return context.Cause(ctx)
			}
			ending, err = r.ask(link)
			continue
		}
		if err := r.stillThere(ctx, link); err != nil { // what came may be another one's
			return err
		}
		r.high = max(r.high, high)
		reached := ending
		if failed == nil { // the broker looks for what follows while these records are handled
			ending, err = r.ask(link)
		}
		if len(r.records) > 0 || failed == nil {
			if err := r.hand(ctx, high); err != nil {
				return err
			}
		}
		if failed != nil {
			return failed
		}
		r.backoff.reset()
		if reached && r.next >= high {
			r.run.exhausted(r.pos)
		}
	}
	return err
}

// ask asks for what follows the records in hand. ending tells whether the source was to end before: what was there then is in the answer or has been
// read already.
func (r *reader) ask(l *link) (ending bool, err error) {
	from := r.next
	if n := len(r.records); n > 0 {
		from = r.records[n-1].Offset + 1
	}
	ending = r.run.untilReached()
	return ending, l.fetch(from, r.run.cfg.IdleInterval, r.run.cfg.FetchBytes)
}

// pause waits, and tells whether ctx lasted as long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// settle finds the first offset to read within what the partition holds, and counts what retention took before it could be
// read.
func (r *reader) settle(ctx context.Context, l *link) error {
	first, last, err := l.offsets()
	if err != nil {
		return fmt.Errorf("look up offsets: %w", err)
	}
	switch {
	case r.next > last && r.run.cluster.other(ctx, l): // those offsets are another one's
		return fmt.Errorf("topic %s: %w", l.id.Topic, errAnother)
	case r.next < 0 && r.run.latest(r.id):
		r.next = last
	case r.next < 0:
		r.next = first
	case r.next < first:
		r.lost += first - r.next
		r.next = first
	case r.next > last:
		err := fmt.Errorf("%s ends at offset %d, but was to be read from %d: the topic has been made anew or cut; start again with another group or without offsets", r.run.named(r.id), last, r.next)
		r.run.end(err)
		return err
	}
	r.run.advance(r.pos, r.next)
	return nil
}

// fetch leaves in r.records what was asked for. high is the partition's end at that time. Records that came before an
// error are kept. A broker that has throttled this client has sent nothing.
func (r *reader) fetch(l *link) (high int64, throttled time.Duration, err error) {
	got, err := l.receive()
	if r.records = got.records; errors.Is(err, kafka.OffsetOutOfRange) {
		return 0, 0, errOutOfRange
	}
	if n := len(r.records); err != nil || n > 0 {
		if n > 0 { // Apache Kafka notes the partition's end before it reads the records: those that come in between lie beyond it
			got.high = max(got.high, r.records[n-1].Offset+1)
		}
		return got.high, 0, err
	}
	switch { // compaction and the markers of transactions can leave a stretch without records
	case got.next > r.next:
		r.next = got.next
		r.run.advance(r.pos, r.next)
	case r.next < got.high && got.throttled == 0:
		return got.high, 0, errStuck
	}
	return got.high, got.throttled, nil
}

// headers are a record's; most have none.
func headers(of []kgo.RecordHeader) []stream.Header {
	if len(of) == 0 {
		return nil
	}
	out := make([]stream.Header, len(of))
	for i, h := range of {
		out[i] = stream.Header{Key: h.Key, Value: h.Value}
	}
	return out
}

// hand gives the fetched records to the handler in pieces; without records it gives an empty batch, if that is the truth.
// An error that is not ctx's ends the run.
func (r *reader) hand(ctx context.Context, high int64) error {
	if len(r.records) == 0 && r.next < high {
		return nil
	}
	for rest := r.records; ; {
		n := piece(rest)
		b := stream.Batch{Topic: r.id.Topic, Partition: r.id.ID, Records: rest[:n], HighWatermark: high, Lost: r.lost}
		if err := r.handle(ctx, b); err != nil {
			return err
		}
		if rest = rest[n:]; len(rest) == 0 {
			return nil
		}
	}
}

// handle passes one batch. The handler gets the context of the whole run: the end of a generation waits for the batch that
// is under way, since half a batch is nowhere.
func (r *reader) handle(ctx context.Context, b stream.Batch) error {
	if a, ok := r.run.handler.(stream.Aligner); ok && len(b.Records) > 0 {
		a.Align(ctx, r.id)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := r.run.handler.Batch(r.run.ctx, b); err != nil {
		if back := (*stream.Rewind)(nil); errors.As(err, &back) {
			r.next = back.Next
			r.run.advance(r.pos, r.next)
			return err
		}
		if part := (*stream.Partial)(nil); errors.As(err, &part) && part.Handled > 0 {
			r.run.advance(r.pos, b.Records[part.Handled-1].Offset+1)
		}
		r.run.end(err)
		return err
	}
	r.lost = 0
	if n := len(b.Records); n > 0 {
		r.next = b.Records[n-1].Offset + 1
		r.run.advance(r.pos, r.next)
	}
	return nil
}

// piece is how many of the records go into one batch.
func piece(records []stream.Record) int {
	size := 0
	for i := range records {
		if size += len(records[i].Key) + len(records[i].Value); i == maxBatchRecords || size > maxBatchBytes && i > 0 {
			return i
		}
	}
	return len(records)
}
