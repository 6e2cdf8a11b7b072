package shop

import (
	"fmt"
	"time"
)

// Config says which shop it is, and how it is played. The zero Config is a shop of seed 0 without end, as fast as can be.
type Config struct {
	Seed uint64
	// Start is when the shop opens, in event time, and has no orders before; default 2026-01-05T08:00:00Z.
	Start time.Time
	// Records ends the shop: when so many have been sent it takes no more orders, and is over when what was still to come of the earlier
	// ones, such as their payments, has been sent too. 0: it has no end.
	Records int
	// Rate is how many records are sent a second, of all topics together; 0: as fast as can be. An hour of event time has about 5,000.
	Rate float64

	// What follows is for Open alone.

	// Brokers of a cluster that the shop is played into; nil: those of the variable KAFKA_BROKERS. Where neither names any, the shop has a
	// broker of its own.
	Brokers []string
	// Prefix stands before the names of the topics. Default: nothing in a broker of its own; in a cluster one that no other shop has, such
	// as "shop-hoh8gz1njs-", because a second shop's records among those of a first would make nonsense of both.
	Prefix string
	// Partitions of each topic, default 4.
	Partitions int
}

// day is when the shop opens, unless Start says otherwise: a Monday.
var day = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func (c *Config) fill() {
	if c.Start.IsZero() {
		c.Start = day
	}
	c.Start = c.Start.UTC()
	if c.Partitions == 0 {
		c.Partitions = 4
	}
}

func (c *Config) validate() error {
	switch {
	case c.Records < 0:
		return fmt.Errorf("shop: %d records: want a number, or 0 for no end", c.Records)
	case c.Rate < 0:
		return fmt.Errorf("shop: rate %g: want records a second, or 0 for no limit", c.Rate)
	case c.Partitions < 1:
		return fmt.Errorf("shop: %d partitions: want at least one", c.Partitions)
	case c.Start.Year() < 1970 || c.Start.Year() > 2200:
		return fmt.Errorf("shop: start %s: want a year from 1970 to 2200", c.Start.Format(time.RFC3339))
	}
	return nil
}
