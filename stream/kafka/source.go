package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"cancha/stream"
)

// Source reads topics. It keeps no state of its own: each Run begins where the group's offsets, or Config.Offsets, say, and
// several runs may go on at once. A Config that cannot work is an error of the query's Start. A broker that refuses this client
// is one of Run: the password is wrong, its certificate is not to be trusted, it speaks TLS where the Config has none, or the
// other way round. A broker that is away is waited for.
func Source(cfg Config) stream.Source {
	cfg.fill()
	return source{func() *Config { return &cfg }}
}

// source holds a function: printing a query, which has its source inside, must not show a password. fmt calls no Format
// method of a field that is not exported, and follows pointers for verbs that do not fit.
type source struct{ cfg func() *Config }

// Description implements stream.Source.
func (s source) Description() string {
	return fmt.Sprintf("kafka %s at %s", s.cfg().subject(), strings.Join(s.cfg().Brokers, ","))
}

// Identity implements stream.Identified: the topics, whichever brokers are asked.
func (s source) Identity() string { return "kafka " + s.cfg().subject() }

// Replayable implements stream.Replayable.
func (s source) Replayable() {}

// Hears implements stream.Hearer. Topics of one name on two clusters are two topics: that is what a mirror reads and writes.
func (s source) Hears(to stream.Sink) bool {
	out, ok := to.(*sink)
	if cfg := s.cfg(); ok && !cfg.Feedback && cfg.reads(out.cfg().Topic) {
		return slices.ContainsFunc(cfg.Brokers, func(one string) bool {
			return slices.ContainsFunc(out.cfg().Brokers, func(other string) bool { return sameBroker(one, other) })
		})
	}
	return false
}

// reads tells whether a topic is one of those that are read.
func (c *Config) reads(topic string) bool {
	pattern, err := c.pattern()
	return slices.Contains(c.names(), topic) || err == nil && pattern != nil && pattern.MatchString(topic)
}

// sameBroker tells whether two addresses name one broker, as far as they tell by themselves.
func sameBroker(a, b string) bool {
	return strings.EqualFold(loopback(a), loopback(b))
}

// loopback is an address with one name for this machine.
func loopback(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

// Ends implements stream.Ending.
func (s source) Ends() <-chan struct{} { return s.cfg().until() }

// Shared implements stream.Shared.
func (s source) Shared() bool { return s.cfg().Group != "" }

// Partitions implements stream.Partitioned.
func (s source) Partitions(ctx context.Context) ([]stream.Partition, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	c := s.cfg().cluster()
	defer c.conns.closeAll()
	found, err := c.partitions(ctx)
	if err != nil {
		return nil, c.diagnose(ctx, err)
	}
	return inOrder(found), nil
}

// Check implements stream.Checker.
func (s source) Check() error { return s.cfg().validate() }

// Run implements stream.Source.
func (s source) Run(ctx context.Context, h stream.Handler) error {
	if err := s.Check(); err != nil {
		return err
	}
	cfg := s.cfg()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	r := &run{
		ctx: ctx, cfg: cfg, handler: h, end: end, positions: make(map[stream.Partition]*position),
		cluster: cfg.cluster(),
	}
	r.run(ctx)
	// Whoever ended the run said why; a caller's own cancel is no error.
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errExhausted) {
		return fmt.Errorf("read %s: %w", r.cluster.subject(), err)
	}
	return nil
}

// cluster is a new way to the brokers of a valid configuration.
func (c *Config) cluster() *cluster {
	pattern, _ := c.pattern()
	return &cluster{brokers: c.Brokers, topics: c.names(), pattern: pattern, sec: c.Security, conns: conns{wrap: c.wrap},
		readCommitted: c.Committed, decompressor: kgo.DefaultDecompressor()}
}

// run reads until ctx ends and then grants leaveTimeout for the last commit and the goodbye to the group: a broker that does
// not answer cannot hold it longer, because its connections are closed.
func (r *run) run(ctx context.Context) {
	left := make(chan struct{})
	var guard sync.WaitGroup
	guard.Go(func() {
		select {
		case <-left:
		case <-ctx.Done():
			select {
			case <-left:
			case <-time.After(leaveTimeout):
			}
		}
		r.cluster.conns.closeAll()
	})
	if r.cfg.Group == "" {
		r.alone(ctx)
	} else {
		r.group(ctx)
	}
	close(left)
	guard.Wait()
}

var errExhausted = errors.New("everything has been read")

// run is one Run of a source.
type run struct {
	ctx     context.Context // of the run: what a handler gets
	cfg     *Config
	cluster *cluster
	handler stream.Handler
	end     context.CancelCauseFunc // ends the run and tells why

	greeted bool // the handler has been told where the group goes on; of the one goroutine that assigns
	// old are the partitions that were there when the run began, once the brokers have said so. What comes later is new with all that it holds: Latest
	// does not mean to leave that out.
	old map[stream.Partition]bool

	mu        sync.Mutex
	positions map[stream.Partition]*position // all partitions that this run has ever read
	assigned  map[stream.Partition]bool      // those of now
	others    int                            // partitions that other members of the group have, or nobody
	goals     map[stream.Partition]int64     // where those ended when they were asked for first
	next      time.Time                      // of the next try that the handler has been told of
}

// position is how far a run has got in a partition. It outlives connections and generations: the offsets that the group has
// committed are older, and going back to them would repeat records.
type position struct {
	next      int64  // offset of the next record to hand over; -1 before it is known
	committed int64  // the group's offset as this run knows it; -1 for none
	note      string // what was committed with it
	first     int64  // where the run began; -1 before it is known
	before    mark   // what the group had committed then
	ended     bool   // what it held when the source was to end has been read
	id        string // of the topic; empty before it is known, or where the brokers know none
}

// mark is what a group has committed of a partition.
type mark struct {
	offset int64 // -1: nothing
	note   string
}

// assign makes partitions the ones that are read and tells the handler. committed is what the group has committed of them. It returns false when the
// handler refuses one, which ends the run.
func (r *run) assign(ctx context.Context, committed map[stream.Partition]mark) bool {
	ids := r.cluster.ids(ctx, topicsOf(committed))
	r.mu.Lock()
	r.assigned = make(map[stream.Partition]bool, len(committed))
	for p := range committed {
		r.assigned[p] = true
	}
	r.mu.Unlock()
	for _, p := range inOrder(committed) {
		if err := r.place(p, committed[p], ids[p.Topic].String()); err != nil {
			r.end(err)
			return false
		}
	}
	r.starts(ctx, committed)
	if to, ok := r.handler.(stream.Noter); ok {
		if sentence := r.resumed(committed); sentence != "" {
			to.Note(sentence)
		}
	}
	r.handler.Assigned(inOrder(committed))
	return true
}

// place finds where a partition is to be read on: where the handler says, where this run was, or another member of the group is.
func (r *run) place(p stream.Partition, committed mark, id string) error {
	pos, found := r.position(p), committed
	if pos != nil && pos.id != "" && id != "" && pos.id != id {
		return r.recreated(p, pos, id)
	}
	if _, told := r.cfg.offset(p); told && (pos == nil || found == pos.before) {
		committed = mark{offset: -1} // the configuration wins, until the group has read on
	}
	known, next := false, int64(0)
	b, asks := r.handler.(stream.Beginner)
	if asks {
		var err error
		if next, known, err = b.Begin(p, stream.Found{ID: id, Committed: committed.offset, Note: committed.note,
			Recreated: r.cfg.Recreated == ReadRecreated}); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if pos != nil && !asks {
		if committed.offset > pos.next && committed.offset != pos.committed {
			// Another member of the group has had the partition in between and has read on to there.
			pos.next, pos.committed = committed.offset, committed.offset
		}
		return nil
	}
	if !known {
		next = r.begin(p, pos, committed.offset)
	}
	is := &position{next: next, first: next, committed: committed.offset, before: found, id: id}
	if pos != nil {
		is.first, is.before = pos.first, pos.before
	}
	r.positions[p] = is
	return nil
}

// starts finds the ends of the partitions that begin there, and tells the handler, who can keep them before anything has come. One whose broker does not
// answer is found when its reader has a connection.
func (r *run) starts(ctx context.Context, partitions map[stream.Partition]mark) {
	to, ok := r.handler.(stream.Starter)
	if !ok {
		return
	}
	var asking sync.WaitGroup
	for p := range partitions {
		if pos := r.position(p); pos.next < 0 && r.latest(p) {
			asking.Go(func() { r.start(ctx, to, p, pos) })
		}
	}
	asking.Wait()
}

func (r *run) start(ctx context.Context, to stream.Starter, p stream.Partition, pos *position) {
	link, err := r.cluster.leader(ctx, p)
	if err != nil {
		return
	}
	defer link.conn.Close()
	defer context.AfterFunc(ctx, func() { link.conn.Close() })()
	if _, last, err := link.offsets(); err == nil {
		r.advance(pos, last)
		to.Starts(p, last)
	}
}

// latest tells whether a partition of which nothing is known begins at its end.
func (r *run) latest(p stream.Partition) bool {
	return r.cfg.Start == Latest && (r.old == nil || r.old[p])
}

// inOrder returns partitions by topic and number.
func inOrder[V any](partitions map[stream.Partition]V) []stream.Partition {
	return slices.SortedFunc(maps.Keys(partitions), func(a, b stream.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
}

// named names a partition in an error of the run, which names the topic if there is but one.
func (r *run) named(p stream.Partition) string {
	if r.cluster.pattern == nil && len(r.cluster.topics) == 1 {
		return fmt.Sprintf("partition %d", p.ID)
	}
	return fmt.Sprintf("partition %d of topic %s", p.ID, p.Topic)
}

// resumed says, of the first partitions that a run is given, that its group has read in them before.
func (r *run) resumed(committed map[stream.Partition]mark) string {
	if r.greeted || len(committed) == 0 {
		return ""
	}
	r.greeted = true
	var places []string
	single := r.cluster.pattern == nil && len(r.cluster.topics) == 1
	for _, p := range inOrder(committed) {
		if _, told := r.cfg.offset(p); committed[p].offset <= 0 || told {
			continue
		}
		name := strconv.Itoa(p.ID)
		if !single {
			name = p.Topic + "/" + name
		}
		places = append(places, fmt.Sprintf("%s at %d", name, committed[p].offset))
	}
	if len(places) == 0 {
		return ""
	}
	const most = 8
	if n := len(places) - most; n > 0 {
		places = append(places[:most], fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("Group %s has read %s before and goes on behind that (partition %s): what comes before is not in these results. "+
		"A group that is new, or none, begins at the first record.", r.cfg.Group, r.cluster.subject(), strings.Join(places, ", "))
}

// begin is where a partition begins that this run has not read before, or of which the handler has nothing any more. To go on at pos.next then would lose
// what the handler had not given out: the records of open windows.
func (r *run) begin(p stream.Partition, pos *position, committed int64) int64 {
	if at, ok := r.cfg.offset(p); ok && pos == nil {
		return at
	}
	if pos != nil && committed < 0 {
		return pos.first
	}
	return committed
}

func (r *run) position(partition stream.Partition) *position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.positions[partition]
}

// advance records that everything before next has been handled.
func (r *run) advance(p *position, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.next = next
	if p.first < 0 {
		p.first = next
	}
}

// exhausted records that a partition has been read as far as the source is to read, and ends the run when all have been. Where other members of the group have
// partitions, commitLoop ends it, once they have read theirs.
func (r *run) exhausted(p *position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.ended = true
	if r.others == 0 && r.readAll() {
		r.end(errExhausted)
	}
}

// retry reports err and waits before the next try. Several loops lose the same broker at once: the handler hears of it once
// for each wait. It returns false when the run has ended or err is one that no try can mend.
func (r *run) retry(ctx context.Context, err error, b *backoff) bool {
	if ctx.Err() != nil {
		return false
	}
	if hopeless(err) {
		r.end(r.cluster.diagnose(ctx, err))
		return false
	}
	wait := b.next()
	r.mu.Lock()
	if now := time.Now(); now.After(r.next) {
		r.next = now.Add(wait)
		r.handler.Retry(err, wait)
	}
	r.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if cause := r.cluster.diagnose(ctx, err); hopeless(cause) {
		r.end(cause)
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// backoff is the wait between tries: it doubles from minBackoff to maxBackoff.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	return b.last
}

func (b *backoff) reset() { b.last = 0 }

// alone reads all partitions without a group, until ctx ends. When a topic grows, or its partitions cannot be looked up
// for a while, it goes on with those it has.
func (r *run) alone(ctx context.Context) {
	var b backoff
	for {
		found, err := r.cluster.partitions(ctx)
		if r.old == nil && (err == nil || errors.Is(err, kafka.UnknownTopicOrPartition)) {
			r.old = make(map[stream.Partition]bool)
			for p := range found {
				r.old[p] = true
			}
		}
		if err != nil {
			if !r.retry(ctx, err, &b) {
				return
			}
			continue
		}
		b.reset()
		r.generation(ctx, func(ctx context.Context) { r.watchGrowth(ctx, found) }, uncommitted(found))
		if ctx.Err() != nil {
			return
		}
	}
}

func uncommitted(found map[stream.Partition]kafka.Partition) map[stream.Partition]mark {
	none := make(map[stream.Partition]mark, len(found))
	for p := range found {
		none[p] = mark{offset: -1}
	}
	return none
}

// watchGrowth returns when there are other partitions than known, or ctx ends. One that is named and gone is waited for: it
// is the reader's to say so.
func (r *run) watchGrowth(ctx context.Context, known map[stream.Partition]kafka.Partition) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if found, err := r.cluster.partitions(ctx); err == nil && !sameKeys(found, known) {
				return
			}
		}
	}
}

// sameKeys reports whether two maps have the same keys.
func sameKeys[K comparable, V any](a, b map[K]V) bool {
	return maps.EqualFunc(a, b, func(V, V) bool { return true })
}

// generation reads partitions until ctx or beside ends, and waits for all readers.
func (r *run) generation(ctx context.Context, beside func(context.Context), committed map[stream.Partition]mark) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if !r.assign(ctx, committed) {
		return
	}
	var readers sync.WaitGroup
	for p := range committed {
		readers.Go(func() { (&reader{run: r, id: p, pos: r.position(p)}).loop(ctx) })
	}
	beside(ctx)
	stop()
	readers.Wait()
	if to, ok := r.handler.(stream.Releaser); ok {
		to.Release()
	}
}
