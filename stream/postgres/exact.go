package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"cancha/stream"
	"cancha/stream/internal/lineage"
)

// epochs is the table that says, for each unit of a query and each table that it writes, which epoch is there last. It stands beside the table.
const epochs = "cancha_epochs"

// ledger is the table of epochs as SQL has it.
func (c *Config) ledger() string {
	if schema, _, ok := strings.Cut(c.Table, "."); ok {
		return quote(schema) + "." + quote(epochs)
	}
	return quote(epochs)
}

// Resume implements stream.Resumer. One that fails leaves the sink as it was.
func (s *sink) Resume(ctx context.Context, columns []stream.Column, mark stream.Mark) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units != nil && s.run == mark.Run { // another unit of the same query, which another process may have begun
		return s.goOn(ctx, mark)
	}
	if err := s.serve(ctx, columns, mark.Run); err != nil {
		return 0, err
	}
	epoch, err := s.goOn(ctx, mark)
	if err != nil {
		s.Close()
	}
	return epoch, err
}

// Probe implements stream.Prober. A process that only stands by keeps no connection.
func (s *sink) Probe(ctx context.Context, columns []stream.Column, run string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.serve(ctx, columns, run); err != nil {
		return err
	}
	s.reached = true
	s.disconnect()
	return nil
}

// serve opens the sink for a run of a query with a checkpoint.
func (s *sink) serve(ctx context.Context, columns []stream.Column, run string) error {
	if err := s.Open(ctx, columns); err != nil {
		return err
	}
	s.run, s.units = run, map[string]*writing{}
	return nil
}

// patience is how long opening waits for a server that is away: without an end once the server has let the query in, which has started then.
func (s *sink) patience() time.Duration {
	if s.reached {
		return math.MaxInt64
	}
	cfg := *s.cfg()
	cfg.fill()
	return min(opening, cfg.Patience)
}

// goOn finds the last epoch of a unit that the table has, and whether it is what the checkpoint knows.
func (s *sink) goOn(ctx context.Context, mark stream.Mark) (written int64, err error) {
	u := &writing{query: mark.Query, unit: mark.Unit}
	others := 0
	err = s.persist(ctx, s.patience(), func() (err error) {
		if err = s.ready(ctx); err != nil {
			return err
		}
		if err = s.makeLedger(ctx); err != nil {
			return err
		}
		if u.there, err = s.noted(ctx, u, ""); err == nil {
			others, err = s.others(ctx, u)
		}
		if err == nil {
			err = s.find(ctx, u)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("postgres: find the last epoch in table %s: %w", s.cfg().ledger(), err)
	}
	s.reached = true
	if written, err = s.meet(u, mark, others); err != nil {
		return 0, fmt.Errorf("postgres: table %s: %w", s.cfg().Table, err)
	}
	u.note = strings.TrimSpace(u.note + " " + s.emptied(u))
	if s.unrelated {
		u.note = strings.TrimSpace(u.note + " " + s.lacking())
	}
	s.units[mark.Unit] = u
	return written, nil
}

// meet compares what the table has with what the checkpoint knows, and has the unit's path go on from there. Appended rows stay: where they are more than the
// checkpoint knows it is an error. Rows with a key come again and replace themselves.
func (s *sink) meet(u *writing, mark stream.Mark, others int) (written int64, err error) {
	if err := s.replaced(u, u.is); err != nil {
		return 0, err
	}
	at, last := mark.Snapshot, stream.EpochID{Run: u.there.path.Of(u.there.epoch), Number: u.there.epoch}
	short := func(id stream.EpochID) stream.EpochID {
		return stream.EpochID{Run: lineage.Short(id.Run), Number: id.Number}
	}
	u.path = lineage.Path{}
	if at != (stream.EpochID{}) {
		u.path = lineage.Path{{ID: lineage.Short(at.Run), To: at.Number}}
	}
	switch {
	case !u.there.known:
		if written, err = s.beginUnit(u, mark, others); err != nil {
			return 0, err
		}
	case s.behind(u, at):
		u.path, written = u.there.path.Back(at.Run, at.Number), at.Number // whose rows are there, or later ones of their keys
		s.back(u, at)
	case last == short(at):
		u.path, written = u.there.path.Back(at.Run, at.Number), at.Number
	case mark.Wrote != (stream.EpochID{}) && last == short(mark.Wrote), last.Run == "" && mark.Wrote == (stream.EpochID{}) && last.Number <= at.Number:
		u.path, written = append(u.there.path.Back(last.Run, last.Number), u.path...), max(mark.Epoch, last.Number)
	case s.behind(u, mark.Wrote): // a run that has gone back to it has taken a snapshot, and died before it came to the table
		u.path, written = u.there.path.Through(mark.Wrote.Run, mark.Wrote.Number, at.Run, at.Number), mark.Wrote.Number
		s.back(u, mark.Wrote)
	default:
		return 0, fmt.Errorf("it has the rows of %s up to epoch %d, and they are not those that the checkpoint knows, which is of epoch %d: what comes behind it is there already, "+
			"or is of a query that has gone on from elsewhere; go on from the checkpoint that wrote it last, or write to another table, which gets the rows from now on. "+
			"Or take the rows behind that epoch out, and then say so: %s", mark.Unit, last.Number, at.Number, s.amend(u, mark))
	}
	u.path = u.path.On(mark.Run)
	return written, nil
}

// behind tells whether a table with a key has an epoch, and later ones whose rows come again.
func (s *sink) behind(u *writing, id stream.EpochID) bool {
	return len(s.cfg().Key) > 0 && u.there.path.Has(id.Run, id.Number) && u.there.epoch > id.Number
}

// back has Revert go back to an epoch.
func (s *sink) back(u *writing, id stream.EpochID) {
	u.back = &entry{true, id.Number, u.there.path.Back(id.Run, id.Number), u.there.of}
	u.note = fmt.Sprintf("Table %s has rows of %s up to epoch %d, and the query goes on from epoch %d: the rows behind that come again and replace those of their keys.",
		s.cfg().Table, u.unit, u.there.epoch, id.Number)
}

// beginUnit begins with a unit of which the table has nothing.
func (s *sink) beginUnit(u *writing, mark stream.Mark, others int) (written int64, err error) {
	switch {
	case mark.Wrote != (stream.EpochID{}):
		return 0, fmt.Errorf("the checkpoint says that it has the rows of %s up to epoch %d, and the table %s knows nothing of them: put them back, "+
			"or write to another table, which gets the rows from now on", mark.Unit, mark.Epoch, epochs)
	case others > 0 && mark.Snapshot.Number > 0 && !mark.Known:
		return 0, fmt.Errorf("it has rows of another checkpoint, as the table %s says, and this one, of epoch %d, has not written there yet: "+
			"go on from the checkpoint that wrote them, or write to another table, which gets the rows from now on", epochs, mark.Snapshot.Number)
	case others > 0 && len(s.cfg().Key) == 0:
		u.note = fmt.Sprintf("Table %s has rows of another checkpoint, too, as the table %s says: those of both will be there.", s.cfg().Table, epochs)
	}
	return mark.Epoch, nil
}

// amend is the statement by which a person says that a table has the rows up to what a checkpoint knows.
func (s *sink) amend(u *writing, mark stream.Mark) string {
	last, path := mark.Epoch, lineage.Path{}
	if mark.Wrote != (stream.EpochID{}) {
		path = lineage.Path{{ID: lineage.Short(mark.Wrote.Run), To: last}}
	}
	return fmt.Sprintf("UPDATE %s SET epoch = %d, runs = '%s' WHERE query = '%s' AND unit = '%s' AND target = '%s'", s.cfg().ledger(), last, path, u.query,
		strings.ReplaceAll(u.unit, "'", "''"), strings.ReplaceAll(s.cfg().Table, "'", "''"))
}

// Revert implements stream.Reverter: no row is taken off, but the table of epochs tells where the query goes on from. A run that ends before it has written a
// row leaves what its checkpoint knows.
func (s *sink) Revert(ctx context.Context, unit string) (note string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[unit]
	if u == nil {
		return "", nil
	}
	if u.back != nil {
		err := s.persist(ctx, s.patience(), func() error { return s.goBack(ctx, u) })
		if err != nil {
			return "", fmt.Errorf("postgres: go back to epoch %d in table %s: %w", u.back.epoch, s.cfg().ledger(), err)
		}
		u.there, u.back = *u.back, nil
	}
	if err := s.persist(ctx, s.patience(), func() error { return s.adopt(ctx, u) }); err != nil {
		return "", fmt.Errorf("postgres: note in table %s which table it is of: %w", s.cfg().ledger(), err)
	}
	note, u.note = u.note, ""
	return note, nil
}

// goBack has the table of epochs tell of a unit what it goes back to, if that has what it had when the unit was opened.
func (s *sink) goBack(ctx context.Context, u *writing) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	number := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
	result := s.conn.ExecParams(ctx, fmt.Sprintf("UPDATE %s SET epoch = $4::bigint, runs = $5 WHERE query = $1 AND unit = $2 AND target = $3 "+
		"AND epoch = $6::bigint AND coalesce(nullif(runs, ''), $7) = $7", s.cfg().ledger()),
		[][]byte{[]byte(u.query), []byte(u.unit), []byte(s.cfg().Table), number(u.back.epoch), []byte(u.back.path.String()), number(u.there.epoch), []byte(u.there.path.String())},
		nil, nil, nil).Read()
	if result.Err != nil || result.CommandTag.RowsAffected() > 0 {
		return result.Err
	}
	e, err := s.noted(ctx, u, "")
	if err == nil && (e.epoch != u.back.epoch || e.path.String() != u.back.path.String()) { // else it was done, and the answer was lost
		err = fmt.Errorf("%w: it has the rows of %s up to epoch %d now", stream.ErrTakenOver, u.unit, e.epoch)
	}
	return err
}

// Marks implements stream.Marked: the rows of the table of epochs that have this table's name, whoever writes them.
func (s *sink) Marks() ([]string, error) {
	parsed, err := s.cfg().parse()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return []string{fmt.Sprintf("table %s at %s", s.cfg().Table, databaseOf(parsed))}, nil
}

// Position implements stream.Resumer: the table of epochs knows.
func (s *sink) Position() []byte { return nil }

// writing is a unit of a query that the sink is open for.
type writing struct {
	query, unit string
	path        lineage.Path // of the runs that have written it, this one too
	there       entry        // what the table of epochs says, as this process knows it
	back        *entry       // what it is to say once the query goes on; nil: nothing else
	note        string
	is          string // the relation that the table is
	empty       bool   // it has had rows, and has none
}

// entry is what the table of epochs says of a unit.
type entry struct {
	known bool
	epoch int64
	path  lineage.Path
	of    string // the relation that has these rows; empty: an earlier version wrote them
}

// makeLedger makes the table of epochs, unless it exists, and adds to one of an earlier version what that lacks.
func (s *sink) makeLedger(ctx context.Context) error {
	err := makeTable(ctx, s.conn, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (query text, unit text, target text, epoch bigint NOT NULL, runs text, relation text, PRIMARY KEY (query, unit, target))",
		s.cfg().ledger()))
	if err != nil {
		return err
	}
	told := (*pgconn.PgError)(nil)
	if err = s.addColumn(ctx, "runs"); errors.As(err, &told) && !passing(err) {
		return fmt.Errorf("an earlier version made it without its column runs, which its owner can add: ALTER TABLE %s ADD COLUMN runs text: %v", s.cfg().ledger(), told)
	} else if err != nil {
		return err
	}
	err = s.addColumn(ctx, "relation")
	if s.unrelated = errors.As(err, &told) && !passing(err); s.unrelated {
		return nil // the rows can be written without
	}
	return err
}

// lacking is what a user should know of a table of epochs that cannot note which table has the rows.
func (s *sink) lacking() string {
	return fmt.Sprintf("An earlier version made the table %s without its column relation: a table that is dropped and made anew is not noticed. "+
		"Its owner can add it: ALTER TABLE %s ADD COLUMN relation text.", epochs, s.cfg().ledger())
}

// addColumn adds a column of texts to the table of epochs, unless that has it.
func (s *sink) addColumn(ctx context.Context, name string) error {
	_, err := s.conn.Exec(ctx, fmt.Sprintf("SELECT %s FROM %s LIMIT 0", name, s.cfg().ledger())).ReadAll()
	if told := (*pgconn.PgError)(nil); err == nil || !errors.As(err, &told) || told.Code != undefinedColumn {
		return err
	}
	_, err = s.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s text", s.cfg().ledger(), name)).ReadAll()
	if told := (*pgconn.PgError)(nil); errors.As(err, &told) && told.Code == internalError { // of several who add it at once, one may do so
		_, err = s.conn.Exec(ctx, fmt.Sprintf("SELECT %s FROM %s LIMIT 0", name, s.cfg().ledger())).ReadAll()
	}
	return err
}

const (
	undefinedColumn = "42703"
	internalError   = "XX000" // among others: tuple concurrently updated
)

// noted asks the table of epochs for the last one of a unit. lock may be FOR UPDATE.
func (s *sink) noted(ctx context.Context, u *writing, lock string) (e entry, err error) {
	relation := "relation"
	if s.unrelated {
		relation = "''"
	}
	result := s.conn.ExecParams(ctx, fmt.Sprintf("SELECT epoch, runs, %s FROM %s WHERE query = $1 AND unit = $2 AND target = $3 %s", relation, s.cfg().ledger(), lock),
		[][]byte{[]byte(u.query), []byte(u.unit), []byte(s.cfg().Table)}, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) == 0 {
		return e, result.Err
	}
	e.known, e.of = true, string(result.Rows[0][2])
	if e.epoch, err = strconv.ParseInt(string(result.Rows[0][0]), 10, 64); err != nil {
		return e, err
	}
	if len(result.Rows[0][1]) == 0 { // an earlier version wrote it
		e.path = lineage.Path{{To: e.epoch}}
		return e, nil
	}
	e.path, err = lineage.Parse(string(result.Rows[0][1]))
	return e, err
}

// others asks how many units of other checkpoints the table has, of whichever names: those of queries that share other topics have these topics' names.
func (s *sink) others(ctx context.Context, u *writing) (int, error) {
	result := s.conn.ExecParams(ctx, fmt.Sprintf("SELECT count(*) FROM %s WHERE query <> $1 AND target = $2 AND epoch > 0", s.cfg().ledger()),
		[][]byte{[]byte(u.query), []byte(s.cfg().Table)}, nil, nil, nil).Read()
	if result.Err != nil {
		return 0, result.Err
	}
	return strconv.Atoi(string(result.Rows[0][0]))
}

// note makes the epoch's number a part of the transaction. It is false if that epoch is there: two processes that write the same epoch wait for each other
// here. Where another one has written what this one does not know, the unit is that one's.
func (s *sink) note(ctx context.Context, u *writing, id stream.EpochID) (fresh bool, err error) {
	key := [][]byte{[]byte(u.query), []byte(u.unit), []byte(s.cfg().Table)}
	made := s.conn.ExecParams(ctx, fmt.Sprintf("INSERT INTO %s (query, unit, target, epoch) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING", s.cfg().ledger()),
		key, nil, nil, nil).Read()
	if made.Err != nil {
		return false, made.Err
	}
	e, err := s.noted(ctx, u, "FOR UPDATE")
	if err != nil {
		return false, err
	}
	switch {
	case e.epoch == id.Number && e.path.Of(e.epoch) == lineage.Short(id.Run):
		u.there, u.back = e, nil
		return false, nil
	case e.epoch != u.there.epoch || u.there.epoch > 0 && e.path.String() != u.there.path.String():
		return false, fmt.Errorf("%w: table %s has the rows of %s up to epoch %d now", stream.ErrTakenOver, s.cfg().Table, u.unit, e.epoch)
	}
	result := s.conn.ExecParams(ctx, fmt.Sprintf("UPDATE %s SET epoch = $4::bigint, runs = $5 WHERE query = $1 AND unit = $2 AND target = $3", s.cfg().ledger()),
		append(key, strconv.AppendInt(nil, id.Number, 10), []byte(u.path.String())), nil, nil, nil).Read()
	return true, result.Err
}

// writeEpoch writes rows and their epoch's number in a transaction, and nothing if they are there.
func (s *sink) writeEpoch(ctx context.Context, epoch int64, rows *stream.Rows) error {
	u := s.units[rows.Unit]
	if u == nil {
		return fmt.Errorf("it is not open for %q", rows.Unit)
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "BEGIN").ReadAll(); err != nil {
		return err
	}
	fresh, err := s.note(ctx, u, stream.EpochID{Run: rows.Run, Number: epoch})
	if err == nil && fresh {
		err = gone(s.put(ctx, rows), u)
	}
	if err == nil && fresh {
		err = s.stands(ctx, u)
	}
	if err != nil {
		return err
	}
	results, err := s.conn.Exec(ctx, "COMMIT").ReadAll()
	if err == nil && results[0].CommandTag.String() != "COMMIT" {
		err = fmt.Errorf("the server answered COMMIT with %s", results[0].CommandTag)
	}
	if err == nil && fresh {
		u.there, u.back = entry{true, epoch, u.path, u.is}, nil
	}
	return err
}
