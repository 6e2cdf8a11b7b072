package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"cancha/stream"
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
	if s.queries != nil && s.run == mark.Run { // another unit of the same query, which another process may have begun
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
	s.run, s.queries = run, map[string]string{}
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

// goOn finds the last epoch of a unit that the table has.
func (s *sink) goOn(ctx context.Context, mark stream.Mark) (written int64, err error) {
	s.queries[mark.Unit] = mark.Query
	err = s.persist(ctx, s.patience(), func() (err error) {
		if err = s.ready(ctx); err != nil {
			return err
		}
		written, err = s.noted(ctx, mark.Unit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("postgres: find the last epoch in table %s: %w", s.cfg().ledger(), err)
	}
	s.reached = true
	return max(written, mark.Epoch), nil
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

// noted makes the table of epochs, unless it exists, and asks it for the last one of a unit; 0 if there is none.
func (s *sink) noted(ctx context.Context, unit string) (int64, error) {
	err := makeTable(ctx, s.conn, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (query text, unit text, target text, epoch bigint NOT NULL, PRIMARY KEY (query, unit, target))",
		s.cfg().ledger()))
	if err != nil {
		return 0, err
	}
	result := s.conn.ExecParams(ctx, fmt.Sprintf("SELECT epoch FROM %s WHERE query = $1 AND unit = $2 AND target = $3", s.cfg().ledger()),
		[][]byte{[]byte(s.queries[unit]), []byte(unit), []byte(s.cfg().Table)}, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) == 0 {
		return 0, result.Err
	}
	return strconv.ParseInt(string(result.Rows[0][0]), 10, 64)
}

// note makes the epoch's number a part of the transaction. It is false if that epoch, or a later one, is there: two processes that write the same epoch
// wait for each other here.
func (s *sink) note(ctx context.Context, unit string, epoch int64) (fresh bool, err error) {
	result := s.conn.ExecParams(ctx, fmt.Sprintf("INSERT INTO %[1]s AS old (query, unit, target, epoch) VALUES ($1, $2, $3, $4::bigint) "+
		"ON CONFLICT (query, unit, target) DO UPDATE SET epoch = EXCLUDED.epoch WHERE old.epoch < EXCLUDED.epoch RETURNING epoch", s.cfg().ledger()),
		[][]byte{[]byte(s.queries[unit]), []byte(unit), []byte(s.cfg().Table), strconv.AppendInt(nil, epoch, 10)}, nil, nil, nil).Read()
	return len(result.Rows) > 0, result.Err
}

// writeEpoch writes rows and their epoch's number in a transaction, and nothing if they are there.
func (s *sink) writeEpoch(ctx context.Context, unit string, epoch int64, rows *stream.Rows) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "BEGIN").ReadAll(); err != nil {
		return err
	}
	fresh, err := s.note(ctx, unit, epoch)
	if err == nil && fresh {
		err = s.put(ctx, rows)
	}
	if err != nil {
		return err
	}
	results, err := s.conn.Exec(ctx, "COMMIT").ReadAll()
	if err == nil && results[0].CommandTag.String() != "COMMIT" {
		err = fmt.Errorf("the server answered COMMIT with %s", results[0].CommandTag)
	}
	return err
}
