package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"
)

// Start says where to begin in a partition for which the group has no committed offset.
type Start int

const (
	Earliest Start = iota // at the oldest record that the broker still has
	Latest                // at what is produced from now on
)

// Config says which topic a Source reads and how. Brokers and Topic are required.
type Config struct {
	Brokers []string // host:port, one or more of the cluster
	Topic   string
	// Group shares the partitions of the topic among all sources of the same group and keeps the offsets of what has been
	// read at the broker. Empty: the source reads all partitions alone and commits nothing.
	Group string
	// Start matters where the group has no offset yet.
	Start Start
	// Offsets are the first offsets to read, by partition, such as a checkpoint holds. They win over what the group has
	// committed; partitions that are not named follow Group and Start.
	Offsets map[int]int64
	// IdleInterval is how often a partition without new records is reported, and how long the broker holds a fetch for
	// them. Default 500 ms.
	IdleInterval time.Duration
	// Until, once closed, ends the source as soon as it has read what the topic then holds. nil: it reads on for ever.
	Until <-chan struct{}
	// FetchBytes bounds one fetch of one partition, default 1 MiB. The broker sends more if its first batch is larger.
	FetchBytes int
	Security
	// Logger gets commits that failed and what the group decides. nil is silent.
	Logger *slog.Logger

	wrap func(net.Conn) net.Conn // tests break connections through it
}

// Security is what a cluster asks for. The zero Security is a plain connection.
type Security struct {
	TLS            *tls.Config // nil: no encryption
	User, Password string      // SASL/PLAIN; empty: none
}

const (
	defaultIdle  = 500 * time.Millisecond
	defaultFetch = 1 << 20
	clientID     = "cancha"

	// A handler gets at most this much at once; a query's progress and its reaction to a stop are as fine as that.
	maxBatchRecords = 4096
	maxBatchBytes   = 1 << 20

	// A process that died holds its partitions until its session ends; 6 s is the least that brokers allow by default.
	sessionTimeout    = 6 * time.Second
	heartbeatInterval = 500 * time.Millisecond
	rebalanceTimeout  = 30 * time.Second // how long a member may take to finish its batch
	watchInterval     = 2 * time.Second  // how soon new partitions are seen
	commitInterval    = time.Second

	// No request waits longer for a broker that is silent.
	requestTimeout = 5 * time.Second
	dialTimeout    = 3 * time.Second
	// leaveTimeout is what a source that is told to stop grants the last commit and the goodbye.
	leaveTimeout = 2 * time.Second

	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Brokers splits a list such as the variable KAFKA_BROKERS holds: addresses parted by commas, spaces ignored.
func Brokers(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func (c *Config) fill() {
	if c.IdleInterval == 0 {
		c.IdleInterval = defaultIdle
	}
	if c.FetchBytes == 0 {
		c.FetchBytes = defaultFetch
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	if err := validateTarget(c.Brokers, c.Topic); err != nil {
		return err
	}
	switch {
	case c.Start != Earliest && c.Start != Latest:
		return fmt.Errorf("kafka: start %d: want Earliest or Latest", c.Start)
	case c.IdleInterval < 10*time.Millisecond || c.IdleInterval > time.Second:
		return fmt.Errorf("kafka: idle interval %v: want 10 ms to 1 s", c.IdleInterval)
	case c.FetchBytes < 1<<10 || c.FetchBytes > 1<<28:
		return fmt.Errorf("kafka: fetch of %d bytes: want 1 KiB to 256 MiB", c.FetchBytes)
	}
	for p, o := range c.Offsets {
		if p < 0 || o < 0 {
			return fmt.Errorf("kafka: offset %d of partition %d: neither may be negative", o, p)
		}
	}
	return nil
}

func validateTarget(brokers []string, topic string) error {
	if len(brokers) == 0 {
		return errors.New("kafka: no broker address: name one, or set KAFKA_BROKERS")
	}
	for _, b := range brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return fmt.Errorf("kafka: broker address %q: want host:port, such as 127.0.0.1:9092", b)
		}
	}
	if topic == "" {
		return errors.New("kafka: no topic")
	}
	return nil
}
