package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"cancha/stream/broker/internal/disk"
	"cancha/stream/broker/internal/guard"
)

// Config says how a broker listens and what it keeps. The zero Config is a broker in memory on a free loopback port.
type Config struct {
	// Dir keeps topics, records, groups and offsets across restarts. Empty: in memory, gone with the process. One broker
	// at a time uses a directory.
	Dir string
	// Addr is the address to listen on, default "127.0.0.1:0" (a free port). The broker has no passwords: an address that
	// other machines reach is open to them.
	Addr string
	// Rebuild makes a list of topics from the records in Dir where that list and its copy are gone. Topics get as many
	// partitions as have records, which may be too few. Where a list and a damaged copy contradict each other it takes the
	// list. Without Rebuild such directories are refused.
	Rebuild bool
	// Partitions of a topic that is created without a number of its own, default 4.
	Partitions int
	// RetentionBytes bounds each partition: the oldest batches beyond it are dropped. Default 64 MiB in memory, 1 GiB with
	// Dir.
	RetentionBytes int64
	// Sync waits for the disk at each produced batch. About half the throughput; needed only where the machine itself
	// may lose power.
	Sync bool
	// Logger gets faults, such as a full disk, damaged data and refused peers. nil is silent.
	Logger *slog.Logger
}

// Limits and defaults of a Config.
const (
	DefaultPartitions      = 4
	DefaultRetentionMemory = 64 << 20
	DefaultRetentionDir    = 1 << 30
	minSegment, maxSegment = 1 << 20, 64 << 20
	retentionPeriod        = time.Second
)

// Broker is a running broker. Close it.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	dir     string
	lock    *dirLock
	log     *slog.Logger
	policy  *policy
	copies  *copies
	faults  *faults

	wanted chan string // topics that clients ask for
	stop   chan struct{}
	ended  sync.WaitGroup
	closed sync.Once
}

// Start begins to listen and serve. It fails when the address is taken, when Dir cannot be written or is in use, and when
// what Dir holds cannot be read; each error says what to do.
func Start(cfg Config) (*Broker, error) {
	cfg.fill()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := cfg.mend(); err != nil {
		lock.release()
		return nil, err
	}
	var port *guard.Listener
	kept, failed := newCopies(&cfg), &faults{log: cfg.Logger, dir: cfg.Dir}
	cluster, err := kfake.NewCluster(cfg.options(&port, kept, failed)...)
	if err != nil {
		kept.close()
		lock.release()
		return nil, explain(cfg, err)
	}
	b := &Broker{cluster: cluster, addr: cluster.ListenAddrs()[0], dir: cfg.Dir, lock: lock, log: cfg.Logger, copies: kept, faults: failed, wanted: make(chan string, 64), stop: make(chan struct{})}
	b.policy = &policy{defaultPartitions: cfg.Partitions, peers: port.Connections, made: map[string]int{}, groups: map[string]bool{}}
	if cfg.Dir != "" {
		cluster.Fault(failed.rules()...) // before those of the policy, which count what they see
		_ = cluster.DeleteTopic(trial)   // left behind by a process that was killed; mostly there is none
	}
	cluster.Fault(b.policy.faults()...)
	b.ended.Go(b.retain)
	if cfg.Dir != "" {
		b.ended.Go(b.makeTopics)
	}
	return b, nil
}

// Report is what the directory of a durable broker holds, and what in it is not as it was written.
type Report = disk.Report

// Verify looks over the directory of a durable broker that is not running, and changes nothing.
func Verify(dir string) (*Report, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer lock.release()
	report, err := disk.Verify(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	return report, nil
}

// unreadable says what can be done about a directory that cannot be looked over.
func unreadable(dir string, err error) error {
	if errors.Is(err, disk.ErrUnknowable) {
		return fmt.Errorf("broker: %s: %w; put a topics.json back, or start with -rebuild (Config.Rebuild), which makes one of the records", dir, err)
	}
	if errors.Is(err, disk.ErrUndecided) {
		return fmt.Errorf("broker: %s: %w; put the right one back and remove the copy, or start with -rebuild (Config.Rebuild), which takes the list as it is", dir, err)
	}
	return fmt.Errorf("broker: look over %s: %w", dir, err)
}

// Addr is the address that clients connect to, host:port.
func (b *Broker) Addr() string { return b.addr }

// Close stops listening, writes what Dir still lacks and waits. Clients see their connections end. It may be called twice.
func (b *Broker) Close() error {
	b.closed.Do(func() {
		close(b.stop)
		b.ended.Wait()
		if b.dir != "" {
			b.tell("take away checksums of its files", disk.Ending(b.dir))
		}
		b.cluster.Close()
		b.copies.keep()
		b.copies.close()
		if b.dir != "" {
			b.tell("write checksums of its files", disk.Seal(b.dir))
		}
		b.lock.release()
	})
	return nil
}

// retain applies retention once a second. kfake does it by itself only for topics that have a setting of their own, and
// then once an hour: too late for a broker that lives in memory.
func (b *Broker) retain() {
	tick := time.NewTicker(retentionPeriod)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
			b.cluster.ApplyRetention()
			b.policy.recount(b.cluster)
			b.faults.again(b.cluster)
			b.copies.keep()
		}
	}
}

func (b *Broker) tell(what string, err error) {
	if err != nil {
		b.log.Error("broker: "+what, "cause", err)
	}
}

// copies keeps copies of the lists without which a directory says nothing. A nil copies keeps none.
type copies struct {
	of   *disk.Copies
	log  *slog.Logger
	told atomic.Int64 // Unix seconds
}

func newCopies(c *Config) *copies {
	if c.Dir == "" {
		return nil
	}
	return &copies{of: disk.NewCopies(c.Dir), log: c.Logger}
}

// keep is called before each answer, and now and then. A full disk is told once a minute at most.
func (c *copies) keep() {
	if c == nil {
		return
	}
	err := c.of.Keep()
	if err == nil {
		return
	}
	if now, told := time.Now().Unix(), c.told.Load(); now-told >= 60 && c.told.CompareAndSwap(told, now) {
		c.log.Error("broker: cannot keep copies of its lists", "cause", err)
	}
}

func (c *copies) close() {
	if c != nil {
		c.of.Close()
	}
}

// mend looks over the directory, and has what is damaged set aside and told.
func (c *Config) mend() error {
	if c.Dir == "" {
		return nil
	}
	report, err := disk.Mend(c.Dir)
	if (errors.Is(err, disk.ErrUnknowable) || errors.Is(err, disk.ErrUndecided)) && c.Rebuild {
		if err = disk.Rebuild(c.Dir); err == nil {
			report, err = disk.Mend(c.Dir)
		}
	}
	if err != nil {
		return unreadable(c.Dir, err)
	}
	for _, p := range report.Problems {
		c.Logger.Warn("broker: damaged data", "file", p.File, "what", p.What, "done", p.Done)
	}
	return disk.Unseal(c.Dir)
}

func (c *Config) fill() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.Partitions == 0 {
		c.Partitions = DefaultPartitions
	}
	if c.RetentionBytes == 0 {
		c.RetentionBytes = DefaultRetentionMemory
		if c.Dir != "" {
			c.RetentionBytes = DefaultRetentionDir
		}
	}
}

func (c *Config) validate() error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("broker: address %q: want host:port, such as 127.0.0.1:9092", c.Addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("broker: address %q: the port must be a number from 0 to 65535", c.Addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("broker: address %q: clients are sent back to this very address, so name a host that they reach", c.Addr)
	}
	if c.Partitions < 1 {
		return fmt.Errorf("broker: %d partitions: want at least one", c.Partitions)
	}
	if c.Partitions > maxTopicPartitions {
		return fmt.Errorf("broker: %d partitions: a topic has %d at most", c.Partitions, maxTopicPartitions)
	}
	if c.RetentionBytes < 0 {
		return fmt.Errorf("broker: retention of %d bytes: want a positive number", c.RetentionBytes)
	}
	return nil
}

// options are kfake's. Segments are a small part of the retention, because a segment is freed as a whole.
func (c *Config) options(port **guard.Listener, kept *copies, failed *faults) []kfake.Opt {
	segment := min(max(c.RetentionBytes/8, minSegment), maxSegment)
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.MaxVersions(spoken()),
		kfake.ListenFn(c.listen(port, kept, failed)),
		kfake.DefaultNumPartitions(c.Partitions),
		kfake.BrokerConfigs(map[string]string{
			"log.retention.bytes": strconv.FormatInt(c.RetentionBytes, 10),
			"log.segment.bytes":   strconv.FormatInt(segment, 10),
			"log.retention.ms":    "-1", // an old event is no less true
		}),
	}
	if c.Dir != "" {
		opts = append(opts, kfake.DataDir(c.Dir))
	} else {
		opts = append(opts, kfake.AllowAutoTopicCreation())
	}
	if c.Sync {
		opts = append(opts, kfake.SyncWrites())
	}
	return append(opts, kfake.WithLogger(failed))
}

// spoken are the kinds of requests that the broker says it knows: those of Kafka's latest release, but for DescribeTopicPartitions, in
// whose answers it leaves out lists that Kafka's Java clients (Spark's among them) take for granted. Without it they ask by Metadata.
func spoken() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.DescribeTopicPartitions), -1)
	return v
}

// listen puts the guard in front of kfake, which reads whatever a peer announces and ends the process at a kind of request that
// it does not know.
func (c *Config) listen(port **guard.Listener, kept *copies, failed *faults) func(network, _ string) (net.Listener, error) {
	return func(network, _ string) (net.Listener, error) {
		l, err := net.Listen(network, c.Addr)
		if err != nil {
			return nil, err
		}
		*port = guard.Listen(l, guard.Limits{}, c.Logger)
		if kept != nil {
			(*port).Arrived = failed.count
			(*port).Answering = func(to guard.Request, answer []byte) []byte {
				kept.keep()
				return failed.answer(to, answer)
			}
		}
		return *port, nil
	}
}

// explain adds the likely cause and what to do to an error of starting.
func explain(cfg Config, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("broker: %s is taken by another program, perhaps another broker: stop it or choose another address: %w", cfg.Addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("broker: %s is not an address of this machine: %w", cfg.Addr, err)
	case errors.Is(err, syscall.EACCES) && cfg.Dir == "":
		return fmt.Errorf("broker: not allowed to listen on %s (ports below 1024 need rights): %w", cfg.Addr, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("broker: no space left for %s: free some or choose another directory: %w", cfg.Dir, err)
	case cfg.Dir != "":
		return fmt.Errorf("broker: start on %s with data in %s: %w", cfg.Addr, cfg.Dir, err)
	}
	return fmt.Errorf("broker: start on %s: %w", cfg.Addr, err)
}
