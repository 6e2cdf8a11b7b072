package shop

import (
	"fmt"
	"slices"

	"cancha/stream"
)

// Source is a source of the records of one topic, without a broker: one partition, that ends with the shop. It needs Config.Records, because it
// holds them all. With a Rate the topic gets its share of it, so that two topics of one shop that are read together advance together, nearly.
func Source(cfg Config, topic string) (stream.Source, error) {
	if !slices.Contains([]string{Orders, Payments, Products}, topic) {
		return nil, fmt.Errorf("shop: no topic %q: there are %s, %s and %s", topic, Orders, Payments, Products)
	}
	if cfg.Records == 0 {
		return nil, fmt.Errorf("shop: a source of %s without end: set Config.Records, or use Open", topic)
	}
	all, err := Records(cfg)
	if err != nil {
		return nil, err
	}
	var kept []stream.Record
	total := 0
	for r := range all {
		if total++; r.Topic == topic {
			kept = append(kept, r)
		}
	}
	if cfg.Rate == 0 {
		return stream.Memory(topic, [][]stream.Record{kept}), nil
	}
	share := cfg.Rate * float64(len(kept)) / float64(total)
	return stream.Generate(topic, 1, share, func(_ int, n int64) stream.Record { return kept[n] }).Records(int64(len(kept))), nil
}
