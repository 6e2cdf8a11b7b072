package streaming_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/stream"
)

// memory takes what a replay sends, by match.
type memory struct{ partitions [][]stream.Record }

func (m *memory) Send(_ context.Context, key, value []byte) error {
	p := partitionOf(key, len(m.partitions))
	m.partitions[p] = append(m.partitions[p], stream.Record{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	return nil
}

func (m *memory) Flush(context.Context) error { return nil }

func partitionOf(key []byte, n int) int { return int(key[len(key)-1]) % n }

// simulated replays simulated matches into partitions. The records are the same byte for byte in every run, producer_timestamp aside.
func simulated(t testing.TB, matches, partitions int) [][]stream.Record {
	t.Helper()
	m := &memory{make([][]stream.Record, partitions)}
	err := replay.Run(t.Context(), simulate.New(simulate.Config{Seed: 5}), m, replay.Config{Start: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), Seed: 3,
		Matches: matches, Partitions: partitions, PartitionOf: func(key []byte) int { return partitionOf(key, partitions) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, records := range m.partitions {
		for i := range records {
			records[i].Value = untimed(records[i].Value)
		}
	}
	return m.partitions
}

// untimed gives a record a producer_timestamp that does not depend on when the test runs.
func untimed(value []byte) []byte {
	const name, form = `"producer_timestamp":"`, "2026-03-01T15:00:00.000Z"
	if i := bytes.Index(value, []byte(name)); i >= 0 {
		copy(value[i+len(name):], form)
	}
	return value
}

// damaged changes some records: some to what is no JSON, some to what no event is.
func damaged(partitions [][]stream.Record) [][]stream.Record {
	for _, records := range partitions {
		for i := range records {
			switch v := string(records[i].Value); i % 97 {
			case 13:
				records[i].Value = []byte(v[:len(v)/2])
			case 31:
				records[i].Value = []byte(strings.Replace(v, `"team":{"id":`, `"team":{"id":"x`, 1))
			case 47:
				records[i].Value = []byte(strings.Replace(v, `"match_id"`, `"no_id"`, 1))
			case 61:
				records[i].Value = []byte(strings.Replace(v, `"event_time"`, `"no_time"`, 1))
			case 71:
				records[i].Value = []byte(`[1]`)
			case 83:
				records[i].Value = []byte(strings.Replace(v, `"home_team":{"id":`, `"home_team":{"no":`, 1))
			}
		}
	}
	return partitions
}

// mutated makes n records out of others by small accidents, the same in every run.
func mutated(of []stream.Record, n int) []stream.Record {
	random := rand.New(rand.NewPCG(7, 7))
	records := make([]stream.Record, n)
	for i := range records {
		from := of[i*len(of)/n]
		value := bytes.Clone(from.Value)
		for range 1 + random.IntN(2) {
			value = mutate(random, value)
		}
		records[i] = stream.Record{Key: from.Key, Value: value}
	}
	return records
}

// mutate flips, cuts, inserts or swaps a type. The result is never empty and has no end of a line, so that it can lie in a file of lines.
func mutate(random *rand.Rand, value []byte) []byte {
	at := random.IntN(len(value))
	switch random.IntN(4) {
	case 0:
		value[at] = letter(random)
	case 1:
		end := at + 1 + random.IntN(len(value)-at)
		if random.IntN(3) > 0 {
			end = min(end, at+3)
		}
		value = append(value[:at], value[end:]...)
	case 2:
		value = append(value[:at], append([]byte{letter(random)}, value[at:]...)...)
	default:
		value = retyped(random, value, at)
	}
	if len(value) == 0 {
		return []byte{'x'}
	}
	return value
}

// letter is one that means something in JSON, or any other, but no end of a line.
func letter(random *rand.Rand) byte {
	const telling = `{}[]",:\ -+.eE019tfnN`
	if random.IntN(2) == 0 {
		return telling[random.IntN(len(telling))]
	}
	if c := byte(random.IntN(256)); c != '\n' && c != '\r' {
		return c
	}
	return 0
}

// retyped puts a value of another type in the place of the next one behind at.
func retyped(random *rand.Rand, value []byte, at int) []byte {
	others := []string{"null", "true", "false", `"x"`, `""`, "17", "-1", "1.5", "1e999", "1e160", "[]", "[1]", "{}", `{"id":1}`, "NaN", `"2026-03-01"`}
	colon := bytes.Index(value[at:], []byte(`":`))
	if colon < 0 {
		return value
	}
	from := at + colon + 2
	end := bytes.IndexAny(value[from:], ",}]")
	if end < 0 {
		return value
	}
	other := others[random.IntN(len(others))]
	return append(value[:from], append([]byte(other), value[from+end:]...)...)
}
