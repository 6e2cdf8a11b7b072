package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	bench "cancha/bench/stream"
	"cancha/ml/forest"
	"cancha/ml/lwp"
	"cancha/statsbomb"
	"cancha/statsbomb/feed"
	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/statsbomb/streaming"
	"cancha/stream"
	"cancha/stream/kafka"
)

// clock times how long each event takes from when it is sent until a result holds it. Events of one group come back in their order.
type clock struct {
	mu          sync.Mutex
	sent        map[string][]time.Time // of each group, by when it was sent
	seen        map[string]int         // of each group, how many have come back
	first, took []time.Duration        // of events that were due in the first seconds, and of all later ones
	warm        time.Time              // when these seconds are over
}

// warmUp is for how long connections, memory and the tables of what comes in are new.
const warmUp = 5 * time.Second

func newClock() *clock { return &clock{sent: map[string][]time.Time{}, seen: map[string]int{}} }

// send notes an event by when it was due: one that has to wait for others to be sent has waited.
func (c *clock) send(group string, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warm.IsZero() {
		c.warm = due.Add(warmUp)
	}
	c.sent[group] = append(c.sent[group], due)
}

// back says that so many events of a group have come back up to now.
func (c *clock) back(group string, upTo int) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.seen[group] < upTo {
		if sent := c.sent[group][c.seen[group]]; sent.Before(c.warm) {
			c.first = append(c.first, now.Sub(sent))
		} else {
			c.took = append(c.took, now.Sub(sent))
		}
		c.seen[group]++
	}
}

// again says that one more event of a group has come back.
func (c *clock) again(group string) {
	c.mu.Lock()
	next := c.seen[group] + 1
	c.mu.Unlock()
	c.back(group, next)
}

// latencies is the line that a run prints: milliseconds from when an event was due to be sent until the row was given out.
type latencies struct {
	Query    string  `json:"query"`
	Rate     float64 `json:"rate"` // events a second
	Sent     int     `json:"sent"`
	Back     int     `json:"back"`
	P50      float64 `json:"p50_ms"`
	P90      float64 `json:"p90_ms"`
	P99      float64 `json:"p99_ms"`
	Max      float64 `json:"max_ms"`
	FirstP99 float64 `json:"first_p99_ms"` // of the first seconds
	FirstMax float64 `json:"first_max_ms"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"` // producer and query
}

// print ends a run: every event must have come back.
func (c *clock) print(query string, rate float64, m meter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	back := len(c.first) + len(c.took)
	o, err := m.outcome(query, int64(back), 0)
	if err != nil {
		return err
	}
	if len(c.first) == 0 || len(c.took) == 0 {
		return fmt.Errorf("%s: %d events came back in the first %v, %d later: send more (-events)", query, len(c.first), warmUp, len(c.took))
	}
	sent := 0
	for _, times := range c.sent {
		sent += len(times)
	}
	first, took := quantiles(c.first), quantiles(c.took)
	line := latencies{query, rate, sent, back, took(.5), took(.9), took(.99), took(1), first(.99), first(1), o.Seconds, o.CPU}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil || sent == back {
		return err
	}
	return fmt.Errorf("%s: %d events sent, %d came back", query, sent, back)
}

// quantiles returns the quantiles of times, in milliseconds.
func quantiles(times []time.Duration) func(q float64) float64 {
	slices.Sort(times)
	return func(q float64) float64 { return float64(times[int(q*float64(len(times)-1))].Microseconds()) / 1000 }
}

// fresh is a topic of its own and a producer for it.
func (s settings) fresh(ctx context.Context, what string) (*kafka.Producer, stream.Source, error) {
	topic := fmt.Sprintf("%s-%s-%d", s.topic, what, time.Now().UnixNano())
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: s.brokers, Topic: topic, Partitions: partitions, Linger: time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	if _, err := producer.Partitions(ctx); err != nil {
		return nil, nil, err
	}
	return producer, kafka.Source(kafka.Config{Brokers: s.brokers, Topic: topic}), nil
}

// latency sends events at a rate and reads the statistics in update mode: a row's count tells which events it holds.
func (s settings) latency(ctx context.Context) error {
	producer, source, err := s.fresh(ctx, "latency")
	if err != nil {
		return err
	}
	c := newClock()
	group := func(match, team int64, minute time.Time) string {
		return fmt.Sprint(match, " ", team, " ", minute.Unix())
	}
	sink := stream.SinkFunc(func(_ int64, rows *stream.Rows) error {
		for i := range rows.Len() {
			r := rows.Row(i)
			c.back(group(r.Int("match_id"), r.Int("team_id"), r.Time("window_start")), int(r.Int("n")))
		}
		return nil
	})
	running, err := statistics(source).Output(stream.Update).KeepRows(1000).To(sink).MaxRecords(int64(s.events)).Start(ctx)
	if err != nil {
		return err
	}
	m, err := measure()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	paced := newPace(s.rate)
	for i := range s.events {
		due := paced.wait(i)
		match, now := i%matches+1, time.Now().UTC()
		value, team := bench.Event(random, match, i/matches+1, now)
		c.send(group(int64(match), int64(team), now.Truncate(time.Minute)), due)
		if err := producer.Send(ctx, strconv.AppendInt(nil, int64(match), 10), value); err != nil {
			return err
		}
	}
	if err := errors.Join(producer.Close(ctx), running.Wait(ctx)); err != nil {
		return err
	}
	return c.print("minutes, update mode", s.rate, m)
}

// pace spreads events evenly over time.
type pace struct {
	began time.Time
	every float64 // nanoseconds
}

func newPace(rate float64) pace { return pace{time.Now(), 1e9 / rate} }

// wait returns when event i is due, and when that is; up to a millisecond early, since a sleep as short as that takes longer: it is due then.
func (p pace) wait(i int) time.Time {
	due := p.began.Add(time.Duration(float64(i) * p.every))
	if d := time.Until(due); d > time.Millisecond {
		time.Sleep(d)
	}
	if now := time.Now(); now.Before(due) {
		return now
	}
	return due
}

// scoring replays simulated matches at a rate and scores them by a forest that it trains before.
func (s settings) scoring(ctx context.Context) error {
	archive, _, err := feed.Archive("", statsbomb.Filter{}, simulate.Config{Seed: 2026, Matches: 80})
	if err != nil {
		return err
	}
	train, err := lwp.Load(ctx, archive, nil)
	if err != nil {
		return err
	}
	model, err := lwp.Fit(ctx, train, lwp.Config{Target: lwp.RemainingGoals, Forest: forest.Config{Trees: 100, Seed: 7}})
	if err != nil {
		return err
	}
	board, err := streaming.NewBoard(lwp.NewLive(model, 0), 0)
	if err != nil {
		return err
	}
	producer, source, err := s.fresh(ctx, "scoring")
	if err != nil {
		return err
	}
	c := newClock()
	sink := stream.SinkFunc(func(_ int64, rows *stream.Rows) error {
		for i := range rows.Len() {
			c.again(strconv.FormatInt(rows.Row(i).Int("match_id"), 10))
		}
		return nil
	})
	running, err := streaming.Score(source, board).KeepRows(1000).To(sink).MaxRecords(int64(s.events)).Start(ctx)
	if err != nil {
		return err
	}
	m, err := measure()
	if err != nil {
		return err
	}
	replaying, stop := context.WithCancel(ctx)
	defer stop()
	out := &limited{to: producer, clock: c, left: s.events, stop: stop}
	err = replay.Run(replaying, archive, out, replay.Config{Seed: 7, Rate: s.rate, Partitions: partitions,
		PartitionOf: func(key []byte) int { return kafka.PartitionOf(key, partitions) }}, nil)
	if err := errors.Join(err, producer.Close(ctx), running.Wait(ctx)); err != nil {
		return err
	}
	return c.print("scoring", s.rate, m)
}

// limited is a replay's writer that times what it sends, and ends the replay after so many records.
type limited struct {
	to    *kafka.Producer
	clock *clock
	left  int
	stop  context.CancelFunc
}

func (l *limited) Send(ctx context.Context, key, value []byte) error {
	if l.left == 0 {
		return nil
	}
	l.clock.send(string(key), time.Now()) // the replay keeps its own pace
	if l.left--; l.left == 0 {
		defer l.stop()
	}
	return l.to.Send(ctx, key, value)
}

func (l *limited) Flush(ctx context.Context) error { return l.to.Flush(ctx) }
