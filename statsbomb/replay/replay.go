package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cancha/internal/callback"
	"cancha/statsbomb"
)

// Writer takes the records. Send may keep key and value; Flush waits until all that was sent is safe. kafka.Producer is one.
type Writer interface {
	Send(ctx context.Context, key, value []byte) error
	Flush(ctx context.Context) error
}

// Config says what to replay and how fast.
type Config struct {
	// Start is the kick-off of the first batch, from 1970 on; default: now, whole minute.
	Start time.Time
	// Seed gives the order of the matches.
	Seed uint64
	// ByDate plays the matches in the archive's own order instead of one drawn by Seed.
	ByDate bool
	// Matches ends the replay after so many; 0: never. An archive that has fewer is played again, in another order.
	Matches int
	// Rate is how many events are sent a second; 0: as many as can be.
	Rate float64
	// Partitions of the topic, at least 1, and the partition of a key: what kafka.Producer has and does.
	Partitions  int
	PartitionOf func(key []byte) int
	// ProducerID goes into each record, default "cancha".
	ProducerID string
	// Warn hears of matches that are left out because their files cannot be read; nil: nobody does.
	Warn func(err error)

	firstID int64 // match ids come after it
}

// matchesPerPartition is how many matches of a batch a partition has at least.
const matchesPerPartition = 4

// flushTimeout is what a replay that is told to stop, or fails, grants the records it has sent.
const flushTimeout = 5 * time.Second

// Progress is how far a replay has come.
type Progress struct {
	Sent      int64         // events
	Rate      float64       // events a second since the last report
	Matches   int64         // matches whose last event has been sent
	Batch     int64         // number of the batch being played, from 1
	EventTime time.Time     // of the latest event sent; zero before the first
	Skipped   int64         // matches left out: without events, or not to be read
	Elapsed   time.Duration // since Run began
	Done      bool          // the last report
}

// Run replays until Config.Matches have been sent or ctx ends; both are no error. It flushes before it returns:
// at the end of the matches until ctx ends, otherwise for a few seconds. progress, if
// not nil, is called once a second and at the end, from one goroutine at a time.
func Run(ctx context.Context, archive statsbomb.Archive, out Writer, cfg Config, progress func(Progress)) error {
	cfg.fill()
	if err := cfg.Validate(); err != nil {
		return err
	}
	r := &run{cfg: cfg, out: out, plan: newPlan(archive, cfg), pace: newPacer(cfg.Rate)}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var reports sync.WaitGroup
	var reportErr error
	if progress != nil {
		calling := callback.Context() // the last call comes after ctx has ended
		reports.Go(func() {
			reportErr = callback.Do(calling, func() error { r.report(ctx, progress); return nil })
			stop() // nothing is sent that nobody is told of
		})
	}
	err := r.batches(ctx)
	if err == nil {
		err = out.Flush(ctx) // however long the broker is away
	}
	if err != nil { // a fault, or told to stop, which is none: what has been sent is flushed even then
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if flushErr := out.Flush(flush); ctx.Err() != nil {
			err = flushErr
		}
	}
	stop()
	reports.Wait()
	if reportErr != nil {
		return fmt.Errorf("progress: %w", reportErr)
	}
	return err
}

func (c *Config) fill() {
	if c.Start.IsZero() {
		now := time.Now()
		c.Start, c.firstID = now.Truncate(time.Minute), firstIDNow(now)
	} else {
		c.firstID = firstIDOf(c.Start, c.Seed)
	}
	c.Start = c.Start.UTC()
	if c.ProducerID == "" {
		c.ProducerID = "cancha"
	}
}

// Validate tells what Run would refuse.
func (c Config) Validate() error {
	switch {
	case !c.Start.IsZero() && c.Start.Unix() < 0:
		return fmt.Errorf("replay: start %s: want 1970 or later", c.Start.Format(time.RFC3339))
	case c.Rate < 0:
		return fmt.Errorf("replay: rate %g: want events a second, or 0 for no limit", c.Rate)
	case c.Matches < 0:
		return fmt.Errorf("replay: %d matches: want a number, or 0 for no end", c.Matches)
	case c.Partitions < 1 || c.PartitionOf == nil:
		return errors.New("replay: the number of partitions and the partition of a key must be known")
	}
	return nil
}

// run is one replay. The goroutine of Run owns all but the counters.
type run struct {
	cfg  Config
	out  Writer
	plan *plan
	pace *pacer

	sent, matches, batch atomic.Int64
	eventTime            atomic.Int64 // Unix milliseconds; 0 before the first
}

// batches plays one batch after another. The next one is prepared beside the second half of the one being sent, or beside
// all of it when nothing holds the sending back: a batch of real matches takes about a second to read and encode.
func (r *run) batches(ctx context.Context) error {
	kickoff := r.cfg.Start
	next := r.plan.prepare(ctx)
	for {
		b, err := next()
		if err != nil || b == nil {
			return err
		}
		r.batch.Add(1)
		early := 0
		if r.cfg.Rate > 0 {
			early = b.events / 2
		}
		next = nil
		err = r.send(ctx, b, kickoff, func(sent int) {
			if next == nil && sent >= early {
				next = r.plan.prepare(ctx)
			}
		})
		if err != nil {
			if next != nil {
				next() // its goroutines end with ctx; wait for them
			}
			return err
		}
		kickoff = kickoff.Add(b.latest()).Truncate(time.Minute).Add(time.Minute)
	}
}

// send sends the events of a batch in event-time order. before is called before each, with the number sent so far.
func (r *run) send(ctx context.Context, b *batch, kickoff time.Time, before func(sent int)) error {
	env := newEnvelope(r.cfg.ProducerID, r.plan.archive.Source())
	for sent := 0; ; sent++ {
		before(sent)
		m, i := b.pop()
		if m == nil {
			return nil
		}
		if err := r.pace.wait(ctx); err != nil {
			return err
		}
		at := kickoff.Add(m.at[i])
		if err := r.out.Send(ctx, m.key, env.value(m, i, at, time.Now())); err != nil {
			return err
		}
		r.sent.Add(1)
		r.eventTime.Store(at.UnixMilli())
		if i == len(m.at)-1 {
			r.matches.Add(1)
		}
	}
}

// report calls progress once a second until ctx ends, and then once more.
func (r *run) report(ctx context.Context, progress func(Progress)) {
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, lastAt := int64(0), begun
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
		}
		now := time.Now()
		p := Progress{
			Sent: r.sent.Load(), Matches: r.matches.Load(), Batch: r.batch.Load(), Skipped: r.plan.skipped.Load(),
			Elapsed: now.Sub(begun), Done: done,
		}
		if ms := r.eventTime.Load(); ms != 0 {
			p.EventTime = time.UnixMilli(ms).UTC()
		}
		p.Rate = float64(p.Sent-last) / max(now.Sub(lastAt).Seconds(), 1e-9)
		last, lastAt = p.Sent, now
		progress(p)
	}
}
