package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"cancha/stream"
)

// Start says where to begin in a partition for which the group has no committed offset.
type Start int

const (
	Earliest Start = iota // at the oldest record that the broker still has
	Latest                // at what is produced from now on, which is all of a topic or partition that is made later (in a Group what comes once the group has seen it)
)

// Recreation says what a Source does where a topic has been deleted and made anew under its name, while it is read or since: its offsets name other records
// then.
type Recreation int

const (
	// FailOnRecreation ends the source with an error that names both. Nobody but the user knows whether the new topic has the old one's records again.
	FailOnRecreation Recreation = iota
	// ReadRecreated reads what was made anew from its beginning, like a topic that was not there before, and says so in a note. Records of the old one that had
	// not been read are gone, and count as lost as far as the source knew of them. Windows and other state go on: event times of the new topic that lie behind the
	// watermark are late.
	ReadRecreated
)

// Config says which topics a Source reads and how. Brokers is required, and at least one of Topic, Topics and Pattern; what
// they name is read together.
type Config struct {
	Brokers []string // host:port, one or more of the cluster
	Topic   string
	Topics  []string // more topics
	// Pattern is a regular expression: all topics whose whole name it matches are read, also those that are made later,
	// which are seen within a few seconds. Kafka's own topics, such as __consumer_offsets, never match.
	Pattern string
	// Group shares the partitions of the topics among all sources of the same group and keeps the offsets of what has been
	// read at the broker. Empty: the source reads all partitions alone and commits nothing.
	Group string
	// Instance is the name of this member of the Group (group.instance.id), which no other member has: a process that ends, however it ends, and is
	// started again within the session of 6 s gets its partitions back at once, and no other member notices. Without a name those wait for the session
	// of a member that was killed to end.
	Instance string
	// Start matters where the group has no offset yet.
	Start Start
	// Offsets are the first offsets to read of Topic, by partition, such as a checkpoint holds. They win over what the group
	// has committed; partitions that are not named follow Group and Start.
	Offsets map[int]int64
	// OffsetsOf are the same for several topics, by topic and partition.
	OffsetsOf map[string]map[int]int64
	// Recreated says what happens where a topic is another one than was read, although it has the name: FailOnRecreation unless set. It is noticed within seconds by
	// the topic's ID, which Apache Kafka has since 2.8; from 3.1 on no record of the new one is taken for one of the old. A query with a Checkpoint or
	// a Group finds it out at its next start, too.
	Recreated Recreation
	// Committed leaves out records of transactions that were aborted, and waits for the end of those that are open, as isolation.level=read_committed
	// does: what a Sink of a query with a Checkpoint writes is read once so. Unset, all records are read as they come.
	Committed bool
	// Feedback lets a query write to a topic that it reads. Unset, Start refuses that where one broker is named by both: a query that makes a row of each
	// record feeds itself without end.
	Feedback bool
	// IdleInterval is how often a partition without new records is reported, and how long the broker holds a fetch for
	// them. Default 500 ms.
	IdleInterval time.Duration
	// AvailableNow ends the source once it has read what the topics hold when it begins to read: for a table of what is there, one side of a join, or a
	// query by day. stream.Query has an AvailableNow of the whole query. Unset, the source reads on for ever, or as Until says.
	AvailableNow bool
	// Until, once closed, ends the source as soon as it has read what the topics then hold: for one that is to end when something else has. nil: it reads
	// on for ever, unless AvailableNow is set.
	//
	// A member of a Group ends, with either, once the group has read what the topics held: it takes over the partitions of a member that has died. Others that
	// live and commit nothing for 12 s are not waited for any longer, and a note names what they have.
	Until <-chan struct{}
	// FetchBytes bounds one fetch of one partition, default 2 MiB. The broker sends more if its first batch is larger.
	FetchBytes int
	Security
	// Logger gets commits that failed and what the group decides. nil is silent.
	Logger *slog.Logger

	wrap func(net.Conn) net.Conn // tests break connections through it
}

const (
	defaultIdle  = 500 * time.Millisecond
	defaultFetch = 2 << 20
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

// until is closed once the source has to read no further than the topics then hold.
func (c *Config) until() <-chan struct{} {
	if c.AvailableNow {
		return now
	}
	return c.Until
}

// now is closed.
var now = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *Config) validate() error {
	if err := validateBrokers(c.Brokers, c.Security); err != nil {
		return err
	}
	pattern, err := c.pattern()
	if err != nil {
		return err
	}
	names := c.names()
	switch {
	case len(names) == 0 && pattern == nil:
		return errors.New("kafka: no topic: name one in Topic or Topics, or several by a Pattern")
	case len(c.Offsets) > 0 && c.Topic == "":
		return errors.New("kafka: Offsets are those of Topic: for Topics and Pattern there is OffsetsOf")
	case c.OffsetsOf[c.Topic] != nil && c.Offsets != nil:
		return fmt.Errorf("kafka: both Offsets and OffsetsOf name topic %s", c.Topic)
	case c.Instance != "" && c.Group == "":
		return fmt.Errorf("kafka: Instance %q names a member of a Group, and there is none", c.Instance)
	case c.Instance != "" && !topicNames.MatchString(c.Instance):
		return fmt.Errorf("kafka: Instance %.260q: want 1 to 249 of the letters a-z, A-Z, 0-9, dot, underscore and hyphen", c.Instance)
	case c.AvailableNow && c.Until != nil:
		return errors.New("kafka: both AvailableNow and Until say when the source ends: set one of them")
	case c.Start != Earliest && c.Start != Latest:
		return fmt.Errorf("kafka: start %d: want Earliest or Latest", c.Start)
	case c.Recreated != FailOnRecreation && c.Recreated != ReadRecreated:
		return fmt.Errorf("kafka: recreated %d: want FailOnRecreation or ReadRecreated", c.Recreated)
	case c.IdleInterval < 10*time.Millisecond || c.IdleInterval > time.Second:
		return fmt.Errorf("kafka: idle interval %v: want 10 ms to 1 s", c.IdleInterval)
	case c.FetchBytes < 1<<10 || c.FetchBytes > 1<<28:
		return fmt.Errorf("kafka: fetch of %d bytes: want 1 KiB to 256 MiB", c.FetchBytes)
	}
	for _, name := range names {
		if err := validateTopic(name); err != nil {
			return err
		}
	}
	if err := validateOffsets(c.Topic, c.Offsets); err != nil {
		return err
	}
	for topic, offsets := range c.OffsetsOf {
		if err := validateOffsets(topic, offsets); err != nil {
			return err
		}
		if !slices.Contains(names, topic) && (pattern == nil || !pattern.MatchString(topic)) {
			return fmt.Errorf("kafka: OffsetsOf names topic %s, which is not read", topic)
		}
	}
	return nil
}

func validateOffsets(topic string, offsets map[int]int64) error {
	for p, o := range offsets {
		if p < 0 || o < 0 {
			return fmt.Errorf("kafka: offset %d of partition %d of topic %s: neither may be negative", o, p, topic)
		}
	}
	return nil
}

// names are the topics that are named, each once.
func (c *Config) names() []string {
	names := slices.Clone(c.Topics)
	if c.Topic != "" {
		names = append(names, c.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pattern is Pattern for whole names; nil: there is none.
func (c *Config) pattern() (*regexp.Regexp, error) {
	if c.Pattern == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(c.Pattern); err != nil { // by itself: a parenthesis too many must not match the one below
		return nil, fmt.Errorf("kafka: pattern %q: %w", c.Pattern, err)
	}
	return regexp.MustCompile("^(?:" + c.Pattern + ")$"), nil
}

// offset is where a partition is to be read from, if the configuration says so.
func (c *Config) offset(p stream.Partition) (int64, bool) {
	if p.Topic == c.Topic && c.Offsets != nil {
		at, ok := c.Offsets[p.ID]
		return at, ok
	}
	at, ok := c.OffsetsOf[p.Topic][p.ID]
	return at, ok
}

// String tells what is read, by whom and over which kind of connection, without the password.
func (c Config) String() string {
	text := fmt.Sprintf("kafka.Config{%s at %s", c.subject(), strings.Join(c.Brokers, ","))
	if c.Group != "" {
		text += ", group " + c.Group
	}
	if c.Instance != "" {
		text += " as " + c.Instance
	}
	return text + ", " + c.Security.String() + "}"
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// subject names the topics: "goals", "goals, shots", "topics like goals-.*".
func (c *Config) subject() string {
	named := strings.Join(c.names(), ", ")
	switch {
	case c.Pattern == "":
		return named
	case named == "":
		return "topics like " + c.Pattern
	}
	return named + ", topics like " + c.Pattern
}

func validateTarget(brokers []string, topic string, security Security) error {
	if err := validateBrokers(brokers, security); err != nil {
		return err
	}
	if topic == "" {
		return errors.New("kafka: no topic")
	}
	return validateTopic(topic)
}

// topicNames is what Kafka takes as the name of a topic (org.apache.kafka.common.internals.Topic); . and .. are none.
var topicNames = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// validateTopic refuses a name that no topic can have: brokers would be asked for it for ever.
func validateTopic(name string) error {
	if name == "" {
		return errors.New("kafka: an empty name of a topic")
	}
	if !topicNames.MatchString(name) || name == "." || name == ".." {
		return fmt.Errorf("kafka: topic %.260q: want 1 to 249 of the letters a-z, A-Z, 0-9, dot, underscore and hyphen, other than . and ..", name)
	}
	return nil
}

func validateBrokers(brokers []string, security Security) error {
	if len(brokers) == 0 {
		return errors.New("kafka: no broker address: name one, or set KAFKA_BROKERS")
	}
	for _, b := range brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return fmt.Errorf("kafka: broker address %q: want host:port, such as 127.0.0.1:9092", b)
		}
	}
	return security.validate()
}
