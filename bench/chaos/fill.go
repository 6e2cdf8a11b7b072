package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/stream/kafka"
)

const partitions = 4

// fill fills a topic with n records: of many keys, in disorder, some late, and a poisoned one now and then.
func fill(ctx context.Context, brokers []string, topic string, n int, seed uint64) error {
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: topic, Partitions: partitions})
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(seed, 17))
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		at = at.Add(time.Duration(dice.IntN(20)) * time.Millisecond)
		key := fmt.Sprintf("k%d", dice.IntN(200))
		value := fmt.Sprintf(`{"k":%q,"id":%d,"x":%.3f,"ts":%d}`, key, i, dice.NormFloat64(),
			at.Add(-time.Duration(dice.IntN(7000))*time.Millisecond).UnixMilli())
		if dice.IntN(5000) == 0 {
			value = value[:len(value)/2]
		}
		if err := p.Send(ctx, []byte(key), []byte(value)); err != nil {
			return err
		}
	}
	return p.Close(ctx)
}

// play plays simulated matches into a topic until it has about n events.
func play(ctx context.Context, brokers []string, topic string, n int) error {
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: topic, Partitions: partitions})
	if err != nil {
		return err
	}
	if _, err := p.Partitions(ctx); err != nil {
		return err
	}
	const eventsOfMatch = 3500
	plan := replay.Config{Start: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), Seed: 7, Matches: max(4, n/eventsOfMatch), Partitions: partitions,
		PartitionOf: func(key []byte) int { return kafka.PartitionOf(key, partitions) }}
	if err := replay.Run(ctx, simulate.New(simulate.Config{Seed: 7}), p, plan, func(replay.Progress) {}); err != nil {
		return err
	}
	return p.Close(ctx)
}
