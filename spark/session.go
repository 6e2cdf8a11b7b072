package spark

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"cancha/internal/cellio"
	"cancha/internal/lastwill"
	"cancha/internal/running"
	"cancha/spark/internal/connect"
	"cancha/spark/internal/protocol"
)

// Config says which server a session is made with, and what it may do. The zero value of each field but Master is a good one.
type Config struct {
	// Master is the server's address as Spark's clients write it: sc://host:15002, with /;token=…;use_ssl=true;user_id=…;session_id=… behind it, and
	// headers as further keys, such as Databricks' x-databricks-cluster-id. ca=FILE names a file of trusted certificates.
	Master string
	// Settings of the session, such as "spark.sql.shuffle.partitions": "64". The time zone is UTC unless they say otherwise, as in package stream. What
	// they leave out is as the file of settings has it (cancha.conf, or the spark-defaults.conf that CANCHA_CONF names): spark.sql.… and
	// spark.rapids.sql.…. Of what else it has, which only the server's start can set, Notes tells where the server differs.
	Settings map[string]string
	// Kafka are further options of Kafka's Java client for queries of package stream, such as kafka.ssl.truststore.location: a file of the cluster's
	// machines.
	Kafka map[string]string
	// BatchRecords is how many records of a source a batch of such a query reads at most; 0: all that there are.
	BatchRecords int64
	// CollectRows is how many rows Collect takes at most, 0: 100,000, below 0: all.
	CollectRows int
	// CollectBytes is how many bytes of Arrow Collect takes at most, 0: 256 MB, below 0: all.
	CollectBytes int64
	// Folder is where a model lies for a moment on its way here ([Model.Classifier], [Trainer]): a folder that the server and its workers write and read, such as
	// s3a://bucket/place or dbfs:/tmp. Empty: what the setting cancha.spark.folder or the variable CANCHA_SPARK_FOLDER says, or else /tmp/cancha in the cluster's file
	// system.
	Folder string
	// Progress is told how far an operation has come, about every two seconds, by the goroutine that waits for it. It must not call the session.
	// nil: a cell that waits shows a bar.
	Progress func(Stages)
	// Logger takes what the server warns of; nil is silent.
	Logger *slog.Logger
}

// Format implements fmt.Formatter: every verb writes the address alone. What stands behind it in Master may be secret.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "spark.Config{%s}", shortened(c.Master)) }

const (
	defaultRows  = 100_000
	defaultBytes = 256_000_000
)

// fill replaces what was left 0.
func (c *Config) fill() {
	if c.CollectRows == 0 {
		c.CollectRows = defaultRows
	}
	if c.CollectBytes == 0 {
		c.CollectBytes = defaultBytes
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	settings := map[string]string{timeZone: "UTC"}
	maps.Copy(settings, c.Settings)
	c.Settings = settings
}

const timeZone = "spark.sql.session.timeZone"

// Error is what the server says of work that failed: Spark's error class, its SQLSTATE and its text. Find it by errors.As.
type Error = connect.Error

// Session is a session on a server. Its methods may be called from any goroutine. After Close they fail.
type Session struct {
	client *connect.Client
	config Config
	master string // host:port

	notes []string

	remembered *remembered
	entry      atomic.Pointer[running.Entry] // nil: it is a query's own
	ctx        context.Context               // ends with Close: what runs in the background sees it
	cancel     context.CancelFunc
	background sync.WaitGroup

	told func(note string) // nil: the logger is

	watched func(Stages) // told of all that is waited for, beside Config.Progress; nil: nobody is
	close   func() error // once
}

// note tells a sentence that a user should read.
func (s *Session) note(sentence string) {
	if s.told != nil {
		s.told(sentence)
		return
	}
	s.config.Logger.Warn("spark: " + sentence)
}

// Connect makes a session with the server at an address like sc://host:15002, with what else is in [Config.Master].
func Connect(ctx context.Context, master string) (*Session, error) {
	return Config{Master: master}.Connect(ctx)
}

// Connect makes a session. A server that cannot be reached, is none of Spark 4, or refuses the token or a setting is an error. In the background, for
// at most five seconds, sessions are released that processes of this machine have left on the same server when they died. A session with the same server
// that an earlier execution of the same cell has made is closed first, unless Master names a session by session_id.
func (c Config) Connect(ctx context.Context) (*Session, error) {
	target, err := address(c.Master)
	if err != nil {
		return nil, err
	}
	if target.SessionID == "" { // a session that was closed is none that could be gone on in
		if err := running.Process().Replace(ctx, openSession, place(target)); err != nil {
			return nil, err
		}
	}
	s, err := c.connect(ctx)
	if err == nil {
		s.entry.Store(running.Process().Add(listedSession{s}))
	}
	return s, err
}

// openSession is the kind of sessions in the list of what runs, where a cell that is run again finds the one that it has made before.
const openSession running.Kind = "spark session"

type listedSession struct{ *Session }

// Kind implements running.Thing.
func (l listedSession) Kind() running.Kind { return openSession }

// Name implements running.Thing.
func (l listedSession) Name() string { return l.master }

// Stop implements running.Stopper.
func (l listedSession) Stop(context.Context) error { return l.Close() }

// connect makes a session that is not listed.
func (c Config) connect(ctx context.Context) (*Session, error) {
	c.fill()
	target, err := address(c.Master)
	if err != nil {
		return nil, err
	}
	client, err := connect.Dial(ctx, target)
	if err != nil {
		return nil, err // it names the address
	}
	c.Master = "" // whoever prints a part of the session prints no token
	s := &Session{client: client, config: c, master: place(target)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.end)
	err = s.ofFile(ctx, c.Settings)
	if err == nil {
		err = s.set(ctx, c.Settings)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.remember(target)
	return s, nil
}

// alone refuses a session by its id, where each piece of work has a session of its own that is released behind it.
func (c Config) alone() error {
	target, err := address(c.Master)
	if err == nil && target.SessionID != "" {
		return errors.New("spark: each query and each fit has a session of its own, which is released behind it: leave session_id out of the address, " +
			"or connect to that session, and use its Start or FitForest")
	}
	return err
}

// address reads a master.
func address(master string) (connect.Target, error) {
	if !strings.HasPrefix(master, "sc://") {
		return connect.Target{}, fmt.Errorf("spark: master %q is no address of Spark Connect; write sc://host:15002, the host where "+
			"start-connect-server.sh was called (spark://…, yarn and local[…] are what that server is started with)", shortened(master))
	}
	return connect.Parse(master)
}

// shortened keeps a text that may hold a token out of an error: what stands before the first of ;@? is shown, and of a user with a password in front
// of the host not even that.
func shortened(master string) string {
	end := strings.IndexAny(master, ";@?")
	if end < 0 {
		return master
	}
	begin := scheme.FindString(master)
	host, _, _ := strings.Cut(master[len(begin):], "/")
	if master[end] == '@' || strings.Contains(host, "@") {
		return begin + "…"
	}
	return master[:end] + "…"
}

// scheme matches how an address begins.
var scheme = regexp.MustCompile(`^[a-z0-9+.-]+://`)

// place is where a server is, without what is secret.
func place(t connect.Target) string { return net.JoinHostPort(t.Host, strconv.Itoa(t.Port)) }

// ID is the session's, a UUID. Behind ;session_id= in a master it lets another process use the same session.
func (s *Session) ID() string { return s.client.Session() }

// Version is the server's version of Spark.
func (s *Session) Version() string { return s.client.Version() }

// String tells what the session is.
func (s *Session) String() string {
	return fmt.Sprintf("Spark %s at %s, session %s", s.Version(), s.master, s.ID())
}

// Format implements fmt.Formatter: every verb writes String.
func (s *Session) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// Close stops following streaming queries, releases the session, which ends what runs in it, and closes the connection. Calling it again gives the
// same answer.
func (s *Session) Close() error { return s.close() }

func (s *Session) end() error {
	s.cancel()
	s.background.Wait()
	defer func() { s.entry.Load().End(nil) }()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	err := s.client.Release(ctx)
	if err == nil {
		lastwill.Process().Revoke(s.ID())
		s.remembered.forget()
	} else { // the executor of the last will may have more luck, when this process ends
		s.remembered.leave()
	}
	if err = errors.Join(err, s.client.Close()); err != nil {
		return fmt.Errorf("spark: close the session: %w", err)
	}
	return nil
}

// run executes a plan, and tells how far it has come. It ends with ctx, or by an interrupt of the cell that has called: of a cell that says
// context.Background, and is left behind when it does not stop, the work would go on there.
func (s *Session) run(ctx context.Context, p *protocol.Plan, each func(*protocol.ExecuteResponse) error) error {
	ctx, stop := joined(ctx)
	defer stop()
	tell, end := s.progress(ctx)
	defer end()
	return s.client.Execute(ctx, p, func(r *protocol.ExecuteResponse) error {
		if p := r.GetProgress(); p != nil {
			tell(stagesOf(p))
		}
		return each(r)
	})
}

// joined is a context that an interrupt of the running cell ends too, unless the work goes on beside cells.
func joined(ctx context.Context) (context.Context, context.CancelFunc) {
	run := cellio.CurrentRun()
	if run == nil || ctx.Value(besideCells{}) != nil {
		return ctx, func() {}
	}
	joined, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(run.Context(), func() { cancel(context.Cause(run.Context())) })
	return joined, func() { unwatch(); cancel(nil) }
}

// besideCells is the key of contexts of what goes on beside cells, whichever has begun it.
type besideCells struct{}

// do executes a command that answers with one part of a response; take tells whether it was that one. nil: there is no answer.
func (s *Session) do(ctx context.Context, c *protocol.Command, take func(*protocol.ExecuteResponse) bool) error {
	return s.command(ctx, s.run, c, take)
}

// execution is run, or the client's, which tells nobody of progress.
type execution func(ctx context.Context, p *protocol.Plan, each func(*protocol.ExecuteResponse) error) error

func (s *Session) command(ctx context.Context, run execution, c *protocol.Command, take func(*protocol.ExecuteResponse) bool) error {
	taken := take == nil
	err := run(ctx, &protocol.Plan{Of: &protocol.Plan_Command{Command: c}}, func(r *protocol.ExecuteResponse) error {
		if take != nil && take(r) {
			taken = true
		}
		return nil
	})
	if err == nil && !taken {
		return errors.New("spark: the server did not answer what was asked; is it of Spark 4?")
	}
	return err
}

// Set changes a setting of the session. One that only the server's start can set is an error.
func (s *Session) Set(ctx context.Context, key, value string) error {
	return s.set(ctx, map[string]string{key: value})
}

func (s *Session) set(ctx context.Context, settings map[string]string) error {
	var pairs []*protocol.Pair
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value := settings[key]
		pairs = append(pairs, &protocol.Pair{Key: key, Value: &value})
	}
	_, err := s.configure(ctx, &protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_Set{Set: &protocol.ConfigRequest_Set{Pairs: pairs}}})
	if err != nil {
		return fmt.Errorf("spark: set %s: %w", strings.Join(slices.Sorted(maps.Keys(settings)), ", "), err)
	}
	return nil
}

// Get returns a setting of the session, or its default; false if it is not set and has none.
func (s *Session) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	r, err := s.configure(ctx, &protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_GetOption{GetOption: &protocol.ConfigRequest_Get{Keys: []string{key}}}})
	if err != nil {
		return "", false, fmt.Errorf("spark: get %s: %w", key, err)
	}
	for _, p := range r.Pairs {
		if p.Key == key && p.Value != nil {
			return *p.Value, true, nil
		}
	}
	return "", false, nil
}

// configure calls Config, and logs what the server warns of.
func (s *Session) configure(ctx context.Context, o *protocol.ConfigRequest_Operation) (*protocol.ConfigResponse, error) {
	r, err := s.client.Config(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, w := range r.Warnings {
		s.config.Logger.Warn("spark: " + w)
	}
	return r, nil
}

// Interrupt ends what runs in the session, streaming queries apart, and returns how many operations that were. The session goes on.
func (s *Session) Interrupt(ctx context.Context) (operations int, err error) {
	ids, err := s.client.Interrupt(ctx, "")
	return len(ids), err
}
