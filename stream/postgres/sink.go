package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"cancha/stream"
)

// Sink writes the rows of a query into a table, a transaction for each Write: who reads the table sees whole Writes. It serves one query at a time.
//
// The start of the query makes the table if Create is set, and fails where no server answers within ten seconds or the rows do not fit into the
// table: a column is missing, its type cannot take all that the query's column may hold, or nothing in the table tells rows apart by the Key. A
// column whose kind the query does not know, such as a path of GroupBy, may have any type there; then each value must fit. Values stand as CSV
// has them, in json and jsonb as JSON; times are cut to microseconds, and are UTC in a column without a time zone; what is not UTF-8 in a text, and
// zero bytes, become U+FFFD.
//
// With a Key a row replaces the one with the same values in these columns; of several in one Write the last one counts. Such a row must have all
// of them. In update mode, with the groups and window_start as the Key, the table is the query's result.
//
// Write returns when its transaction is committed. A server that goes away is waited for, up to Patience, and the transaction is tried again; if
// it went away while committing, it is asked afterwards whether it had. So within one run each row is written once. A value that the table refuses
// (a range, a constraint) ends the query with an error, and of its Write there is no row.
//
// In a query with a Checkpoint each row is there exactly once, appended or by key, whatever happens to the query: the transaction also notes its epoch
// in the table cancha_epochs beside the target, which it makes. That table also has the target's OID: a target that was dropped and made anew is refused, by the
// start as by the next epoch, since it lacks what the query had written. One that was emptied makes a note. A query that goes on from an older snapshot, such as a savepoint, is refused where the table
// has later rows that were appended; with a Key these come again and replace themselves. Where a query that runs gets a partition of its group while the server is away, it waits for the
// server as long as it takes, or until it is stopped. Without a checkpoint a query that dies may have
// written rows that nobody has noted: run again from where its source was last committed, it writes these again. That is at least once: appended
// rows can be there twice, while with a Key the repeats find themselves, and do no harm.
//
// Updates go through a temporary table, which the user must be allowed to make. Behind PgBouncer that takes its mode session.
func Sink(cfg Config) stream.Sink { return newSink(cfg) }

// sink implements stream.Sink, stream.Opener and stream.Closer.
type sink struct {
	cfg func() *Config // a function, so that nothing that prints a sink prints a password
	at  string         // where the database is

	mu        sync.Mutex          // of Resume, which may come beside a Write
	run       string              // of the query that it is open for
	units     map[string]*writing // of the query; nil: it has no checkpoint
	unrelated bool                // the table of epochs lacks the column relation, and this user may not add it
	reached   bool                // the server has let such a query in: it has started, and Resume waits for the server from now on

	open    bool
	given   []stream.Column
	columns []column
	conn    *pgconn.PgConn // nil: none
	doubt   string         // the transaction of which it is not known whether it was committed
}

func newSink(cfg Config) *sink {
	return &sink{cfg: func() *Config { return &cfg }, at: cfg.place()}
}

// String tells where the rows are written: progress reports show it.
func (s *sink) String() string { return "postgres " + s.cfg().Table + " at " + s.at }

// wrapped is a connection as the library wants it wrapped.
func wrapped(wrap func(net.Conn) net.Conn) func(context.Context, *pgconn.Config, net.Conn) (net.Conn, error) {
	return func(_ context.Context, _ *pgconn.Config, c net.Conn) (net.Conn, error) { return wrap(c), nil }
}

// Open implements stream.Opener.
func (s *sink) Open(ctx context.Context, columns []stream.Column) error {
	cfg := *s.cfg()
	cfg.fill()
	if s.open {
		return fmt.Errorf("postgres: the sink of table %s serves another query that runs: make one of its own for each query, or wait for the end of that one", cfg.Table)
	}
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if _, err := cfg.parse(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	s.given, s.doubt = slices.Clone(columns), ""
	err := s.persist(ctx, s.patience(), func() (err error) {
		if err = s.connect(ctx); err != nil {
			return err
		}
		if s.columns, err = cfg.look(ctx, s.conn, columns); err != nil {
			return err
		}
		return s.stage(ctx)
	})
	if err != nil {
		return fmt.Errorf("postgres: open table %s: %w", cfg.Table, err)
	}
	s.open = true
	return nil
}

// Write implements stream.Sink.
func (s *sink) Write(ctx context.Context, epoch int64, rows *stream.Rows) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := *s.cfg()
	cfg.fill()
	if !s.open {
		return fmt.Errorf("postgres: the sink of table %s is not open", cfg.Table)
	}
	if !slices.Equal(rows.Columns, s.given) {
		return fmt.Errorf("postgres: table %s: the rows have the columns %v, and the query had %v", cfg.Table, rows.Columns, s.given)
	}
	if rows.Len() == 0 {
		return nil
	}
	err := s.keyed(rows)
	if err == nil {
		err = s.persist(ctx, cfg.Patience, func() error {
			if s.units != nil {
				return s.writeEpoch(ctx, epoch, rows)
			}
			return s.attempt(ctx, rows)
		})
	}
	if err != nil {
		return fmt.Errorf("postgres: write into table %s: %w", cfg.Table, err)
	}
	return nil
}

// keyed checks that each row has its key: to PostgreSQL absent values differ, so that a repeat would be another row.
func (s *sink) keyed(rows *stream.Rows) error {
	for _, name := range s.cfg().Key {
		at := rows.Index(name)
		for i := range rows.Len() {
			if rows.At(i, at).IsNull() {
				return fmt.Errorf("row %d has no value in column %s, which is in Key: Filter(Has(%q)) leaves such rows out", i+1, name, name)
			}
		}
	}
	return nil
}

// persist does something until it succeeds, fails for good, or patience is over. Behind a failure there is no connection any more.
func (s *sink) persist(ctx context.Context, patience time.Duration, do func() error) error {
	began, pause := time.Now(), minBackoff
	for {
		err := do()
		if err == nil {
			return nil
		}
		s.disconnect()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passing(err):
			return s.cfg().diagnose(err)
		case time.Since(began)+pause > patience:
			return fmt.Errorf("tried for %v: %w", patience, s.cfg().diagnose(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxBackoff)
	}
}

func (s *sink) connect(ctx context.Context) error {
	parsed, err := s.cfg().parse()
	if err != nil {
		return err
	}
	s.conn, err = pgconn.ConnectConfig(ctx, parsed)
	return err
}

func (s *sink) disconnect() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	s.conn.Close(ctx) // of a connection that is no longer needed, or lost
	s.conn = nil
}

// The table that rows to be merged go through, and its column for their order.
const (
	staged = `pg_temp."cancha rows"`
	order  = `"cancha order"`
)

// stage makes the temporary table for updates. Its columns are the target's, without what is demanded of them.
func (s *sink) stage(ctx context.Context) error {
	if len(s.cfg().Key) == 0 {
		return nil
	}
	_, err := s.conn.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE %s ON COMMIT DELETE ROWS AS SELECT %s, 0::bigint AS %s FROM %s WITH NO DATA",
		strings.TrimPrefix(staged, "pg_temp."), s.names(), order, s.cfg().sql())).ReadAll()
	return err
}

func (s *sink) names() string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.Name
	}
	return quoted(names)
}

// ready makes a new connection if there is none.
func (s *sink) ready(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	return s.stage(ctx)
}

// attempt writes rows in a transaction, on a new connection if there is none.
func (s *sink) attempt(ctx context.Context, rows *stream.Rows) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.doubt != "" {
		if committed, err := s.resolve(ctx); committed || err != nil {
			return err
		}
	}
	id, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := s.put(ctx, rows); err != nil {
		return err
	}
	return s.commit(ctx, id)
}

// begin begins a transaction and returns its number.
func (s *sink) begin(ctx context.Context) (string, error) {
	results, err := s.conn.Exec(ctx, "BEGIN; SELECT pg_current_xact_id()").ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[1].Rows[0][0]), nil
}

func (s *sink) put(ctx context.Context, rows *stream.Rows) error {
	in := &copyReader{rows: rows, columns: s.columns}
	if len(s.cfg().Key) == 0 {
		_, err := s.conn.CopyFrom(ctx, in, fmt.Sprintf("COPY %s (%s) FROM STDIN", s.cfg().sql(), s.names()))
		return err
	}
	in.number = true
	if _, err := s.conn.CopyFrom(ctx, in, fmt.Sprintf("COPY %s (%s, %s) FROM STDIN", staged, s.names(), order)); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, s.merge()).ReadAll()
	return err
}

// merge is the statement that takes the last row of each key into the table.
func (s *sink) merge() string {
	key := quoted(s.cfg().Key)
	var sets []string
	for _, c := range s.columns {
		if !slices.Contains(s.cfg().Key, c.Name) {
			sets = append(sets, quote(c.Name)+" = EXCLUDED."+quote(c.Name))
		}
	}
	action := "DO NOTHING"
	if len(sets) > 0 {
		action = "DO UPDATE SET " + strings.Join(sets, ", ")
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT DISTINCT ON (%s) %s FROM %s ORDER BY %s, %s DESC ON CONFLICT (%s) %s",
		s.cfg().sql(), s.names(), key, s.names(), staged, key, order, key, action)
}

// commit ends the transaction. If the connection is lost meanwhile, the transaction is in doubt.
func (s *sink) commit(ctx context.Context, id string) error {
	s.doubt = id
	results, err := s.conn.Exec(ctx, "COMMIT").ReadAll()
	if err == nil && results[0].CommandTag.String() != "COMMIT" {
		err = fmt.Errorf("the server answered COMMIT with %s", results[0].CommandTag)
	}
	if refused := (*pgconn.PgError)(nil); err == nil || errors.As(err, &refused) && s.conn.TxStatus() == 'I' {
		s.doubt = ""
	}
	return err
}

// errRunning is what a transaction in doubt gives while the server has not noticed that its connection is lost.
var errRunning = errors.New("the server is still at the transaction of a connection that was lost")

// resolve asks what has become of the transaction in doubt. A server that does not know it, such as one that took over from another, has not
// committed it.
func (s *sink) resolve(ctx context.Context) (committed bool, err error) {
	answer, err := ask(ctx, s.conn, "SELECT coalesce(pg_xact_status($1::xid8), 'unknown')", s.doubt)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && !passing(err) {
		s.doubt = ""
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if answer[0][0] == "in progress" {
		return false, errRunning
	}
	s.doubt = ""
	return answer[0][0] == "committed", nil
}

// Close implements stream.Closer: it disconnects. What Write has returned from is committed; of a Write that was interrupted there is all or nothing.
func (s *sink) Close() error {
	s.open, s.units, s.reached = false, nil, false
	s.disconnect()
	return nil
}
