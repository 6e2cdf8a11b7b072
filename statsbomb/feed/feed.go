package feed

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/replay"
	"cancha/statsbomb/simulate"
	"cancha/stream"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// Topic is the topic that producers fill and notebooks read, by default.
const Topic = "statsbomb-360-events"

// BrokersVariable names the environment variable that holds the addresses of a cluster, parted by commas.
const BrokersVariable = "KAFKA_BROKERS"

// Config says what a feed carries. The zero Config plays simulated matches without end, as fast as can be.
type Config struct {
	// Brokers of a cluster whose Topic is read; nil: those of the variable KAFKA_BROKERS. Where neither names any, the feed
	// is of the process itself, and the fields below say what it plays; with a cluster they mean nothing.
	Brokers []string
	Topic   string // default Topic

	Data   string           // folder in StatsBomb's open-data layout; empty: simulated matches
	Filter statsbomb.Filter // which matches of the folder; of simulated ones From and To count
	Frames bool             // simulated matches have 360 frames

	Rate       float64   // events a second; 0: as fast as can be
	Matches    int       // after so many the feed, and its sources, end; 0: never
	Start      time.Time // kick-off of the first matches in event time; default: now, whole minute
	Seed       uint64    // of the simulator and of the order of the matches
	ByDate     bool      // matches in the order of their dates instead
	Partitions int       // default 4
	// RetentionBytes of each partition that the process's own broker keeps, default 64 MiB. Readers that fall further
	// behind lose records, and are told how many.
	RetentionBytes int64
	// Logger gets matches that are left out and faults of the broker; nil is silent.
	Logger *slog.Logger
}

// Feed is an open feed. Close it, or end the context that it was opened with.
type Feed struct {
	cfg     Config
	brokers []string
	what    string            // of the matches
	archive statsbomb.Archive // nil with a cluster
	named   sync.Once
	teams   map[int64]string // by named

	own      *broker.Broker // nil with a cluster
	stop     context.CancelFunc
	played   chan struct{} // closed when the replay has ended
	err      error         // why; read after played
	progress atomic.Pointer[replay.Progress]
	close    sync.Once
	unwatch  func() bool
}

// Open opens a feed. With a broker of its own it returns when the topic is there and matches are being played into it, and
// the feed closes when ctx ends. A cluster is not asked: its sources find it, and report while it is away.
func Open(ctx context.Context, cfg Config) (*Feed, error) {
	if cfg.Topic == "" {
		cfg.Topic = Topic
	}
	if cfg.Brokers == nil {
		cfg.Brokers = kafka.Brokers(os.Getenv(BrokersVariable))
	}
	f := &Feed{cfg: cfg, brokers: cfg.Brokers, stop: func() {}, played: make(chan struct{}), unwatch: func() bool { return false }}
	f.progress.Store(&replay.Progress{})
	if len(f.brokers) > 0 {
		return f, nil
	}
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.unwatch = context.AfterFunc(ctx, func() { f.Close() })
	return f, nil
}

// begin starts the process's own broker and the replay into it.
func (f *Feed) begin(ctx context.Context) (err error) {
	archive, what, err := Archive(f.cfg.Data, f.cfg.Filter, simulate.Config{Seed: f.cfg.Seed, Frames: f.cfg.Frames})
	if err != nil {
		return err
	}
	f.archive, f.what = archive, what
	if f.own, err = broker.Start(broker.Config{Partitions: f.cfg.Partitions, RetentionBytes: f.cfg.RetentionBytes, Logger: f.cfg.Logger}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.own.Close()
		}
	}()
	f.brokers = []string{f.own.Addr()}
	out, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: f.brokers, Topic: f.cfg.Topic, Partitions: f.cfg.Partitions})
	if err != nil {
		return err
	}
	partitions, err := out.Partitions(ctx)
	plan := f.plan(partitions)
	if err = cmp.Or(err, plan.Validate()); err != nil {
		return cmp.Or(err, out.Close(ctx))
	}
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx)) // Close ends it: the broker must not go first
	go func() {
		defer close(f.played)
		f.err = f.play(ctx, archive, out, plan)
	}()
	return nil
}

func (f *Feed) plan(partitions int) replay.Config {
	return replay.Config{
		Start: f.cfg.Start, Seed: f.cfg.Seed, ByDate: f.cfg.ByDate, Matches: f.cfg.Matches, Rate: f.cfg.Rate,
		Partitions: partitions, PartitionOf: func(key []byte) int { return kafka.PartitionOf(key, partitions) },
		Warn: f.warn,
	}
}

func (f *Feed) play(ctx context.Context, archive statsbomb.Archive, out *kafka.Producer, plan replay.Config) error {
	err := replay.Run(ctx, archive, out, plan, func(p replay.Progress) { f.progress.Store(&p) })
	// Run has flushed, or has given up: nothing is left to wait for.
	left, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return cmp.Or(err, out.Close(left))
}

func (f *Feed) warn(err error) {
	if f.cfg.Logger != nil {
		f.cfg.Logger.Warn("feed: " + err.Error())
	}
}

// Archive opens the matches that data names: a folder in StatsBomb's open-data layout, of which filter takes a part, or, if
// it is empty, simulated ones, of which the filter's dates take a part: of so many matches, or where sim names no number, of as many seasons, up to ten,
// as it takes to come to the first of these dates. what says so in words for a user.
func Archive(data string, filter statsbomb.Filter, sim simulate.Config) (archive statsbomb.Archive, what string, err error) {
	if data == "" {
		if err := sim.Validate(); err != nil {
			return nil, "", fmt.Errorf("simulate: %w", err)
		}
		return simulated(sim, filter)
	}
	folder, err := statsbomb.OpenFolder(data)
	if err != nil {
		return nil, "", err
	}
	subset := statsbomb.Where(folder, filter)
	if len(subset.Matches()) == 0 {
		return nil, "", fmt.Errorf("%s lists no match of the competition, seasons and dates that are asked for", data)
	}
	what = "matches of " + data
	if subset.Source() == statsbomb.SourceSimulator {
		what = "simulated " + what
	}
	return subset, what, nil
}

// simulated takes the matches of a filter's dates. Competition and season name real ones, which the simulator does not have.
func simulated(sim simulate.Config, filter statsbomb.Filter) (statsbomb.Archive, string, error) {
	archive := simulate.New(sim)
	if filter.From == "" && filter.To == "" {
		return archive, "simulated matches", nil
	}
	dates := statsbomb.Filter{From: filter.From, To: filter.To}
	subset, season := statsbomb.Where(archive, dates), len(archive.Matches())
	for n := 2; n <= mostSeasons && sim.Matches == 0 && last(archive) < filter.From; n++ { // a model may have learned from more than one
		longer := sim
		longer.Matches = n * season
		archive = simulate.New(longer)
		subset = statsbomb.Where(archive, dates)
	}
	if len(subset.Matches()) == 0 {
		return nil, "", fmt.Errorf("no simulated match from %q to %q; ask for more matches or other dates", filter.From, filter.To)
	}
	return subset, "simulated matches", nil
}

// mostSeasons is how many seasons are simulated at most to come to a date.
const mostSeasons = 10

// last is the date of the last match of an archive, which is sorted by date.
func last(a statsbomb.Archive) string {
	all := a.Matches()
	return all[len(all)-1].Date
}

// Team is the name of a team in the matches that the feed plays; of one that it does not know, as with a cluster, "team" and
// the id.
func (f *Feed) Team(id int64) string {
	if f.archive == nil {
		return fmt.Sprintf("team %d", id)
	}
	f.named.Do(func() {
		f.teams = map[int64]string{}
		for _, m := range f.archive.Matches() {
			f.teams[int64(m.Home.ID)], f.teams[int64(m.Away.ID)] = m.Home.Name, m.Away.Name
		}
	})
	return cmp.Or(f.teams[id], fmt.Sprintf("team %d", id))
}

// Source is a source of the feed's records for a query. Sources of one group share the records between them; with an empty
// group each gets all, from the first that there is. Where the feed ends, its sources end after the last record.
func (f *Feed) Source(group string) stream.Source {
	cfg := kafka.Config{Brokers: f.brokers, Topic: f.cfg.Topic, Group: group, Logger: f.cfg.Logger}
	if f.own != nil {
		cfg.Until = f.played
	}
	return kafka.Source(cfg)
}

// Brokers are the addresses at which the feed's topic is.
func (f *Feed) Brokers() []string { return f.brokers }

// Topic is the feed's topic.
func (f *Feed) Topic() string { return f.cfg.Topic }

// Own reports whether the feed is of the process itself, rather than of a cluster.
func (f *Feed) Own() bool { return f.own != nil }

// Progress is how far the replay has come. It is zero for a cluster, where others produce.
func (f *Feed) Progress() replay.Progress { return *f.progress.Load() }

// Played is closed when all matches have been played, or the replay has failed; Err tells which. With a cluster it never is.
func (f *Feed) Played() <-chan struct{} { return f.played }

// Err is why the replay ended, nil while it goes on and when it came to its end.
func (f *Feed) Err() error {
	select {
	case <-f.played:
		return f.err
	default:
		return nil
	}
}

// Close ends the replay, waits for it and stops the process's own broker: sources that still read lose it. With a cluster it
// does nothing. It may be called twice.
func (f *Feed) Close() error {
	f.unwatch()
	f.close.Do(func() {
		f.stop()
		if f.own != nil {
			<-f.played
			f.own.Close()
		}
	})
	return f.Err()
}

// String says what the feed is, for a user.
func (f *Feed) String() string {
	where := fmt.Sprintf("topic %s at %s", f.cfg.Topic, strings.Join(f.brokers, ","))
	if f.own == nil {
		return where
	}
	rate := "as fast as can be"
	if f.cfg.Rate > 0 {
		rate = fmt.Sprintf("%g events/s", f.cfg.Rate)
	}
	return fmt.Sprintf("%s, %s, in %s (this process's own broker)", f.what, rate, where)
}
