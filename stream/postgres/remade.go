package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// relation is the number that PostgreSQL gives the table, another one for each that is made under its name; empty where there is none.
func (s *sink) relation(ctx context.Context) (string, error) {
	answer, err := ask(ctx, s.conn, "SELECT coalesce(to_regclass($1)::oid::text, '')", s.cfg().sql())
	if err != nil {
		return "", err
	}
	return answer[0][0], nil
}

// find has a unit know which table it writes, and whether that has any row. A user who may not read it does not learn the latter.
func (s *sink) find(ctx context.Context, u *writing) (err error) {
	if u.is, err = s.relation(ctx); err != nil || u.there.epoch == 0 {
		return err
	}
	answer, err := s.conn.Exec(ctx, "SELECT NOT EXISTS (SELECT FROM "+s.cfg().sql()+")").ReadAll()
	if told := (*pgconn.PgError)(nil); errors.As(err, &told) && !passing(err) {
		return nil
	}
	u.empty = err == nil && string(answer[0].Rows[0][0]) == "t"
	return err
}

// replaced is an error where the table is another one than has the rows of a unit. Which one that is, tables of epochs of earlier versions do not know: it is
// the one that was there when the query began.
func (s *sink) replaced(u *writing, is string) error {
	if u.there.epoch == 0 || is == cmp.Or(u.there.of, u.is) {
		return nil
	}
	return fmt.Errorf("it was dropped and made anew, and lacks the rows of %s up to epoch %d: write to another table, which gets the rows from now on, "+
		"or begin anew with another place for the checkpoint. Or put the rows back, and then say so: UPDATE %s SET relation = NULL WHERE query = '%s' AND unit = '%s' AND target = '%s'",
		u.unit, u.there.epoch, s.cfg().ledger(), u.query, strings.ReplaceAll(u.unit, "'", "''"), strings.ReplaceAll(s.cfg().Table, "'", "''"))
}

// emptied is what a user should know of a table out of which all rows have been taken.
func (s *sink) emptied(u *writing) string {
	if !u.empty {
		return ""
	}
	return fmt.Sprintf("Table %s is empty, and has had rows of %s up to epoch %d: they were taken out, and do not come again.", s.cfg().Table, u.unit, u.there.epoch)
}

// adopt has the table of epochs say that a unit's rows are in the table that is there now, where an earlier version, or a person, has left that open.
func (s *sink) adopt(ctx context.Context, u *writing) error {
	if s.unrelated || u.is == "" || u.there.epoch == 0 || u.there.of != "" {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	if err := s.relate(ctx, u, "relation IS NULL"); err != nil {
		return err
	}
	u.there.of = u.is
	return nil
}

// relate has the table of epochs say which table a unit's rows are in, on a condition.
func (s *sink) relate(ctx context.Context, u *writing, where string) error {
	return s.conn.ExecParams(ctx, fmt.Sprintf("UPDATE %s SET relation = $4 WHERE query = $1 AND unit = $2 AND target = $3 AND %s", s.cfg().ledger(), where),
		[][]byte{[]byte(u.query), []byte(u.unit), []byte(s.cfg().Table), []byte(u.is)}, nil, nil, nil).Read().Err
}

// stands makes it a part of the transaction which table the rows are in. They have been written: nobody can drop it before the transaction ends.
func (s *sink) stands(ctx context.Context, u *writing) error {
	is, err := s.relation(ctx)
	if err != nil {
		return err
	}
	if err := s.replaced(u, is); err != nil {
		return err
	}
	u.is = is
	if s.unrelated {
		return nil
	}
	return s.relate(ctx, u, "relation IS DISTINCT FROM $4")
}

// gone says what is lost where there is no table any more. The server's advice would be to make it again.
func gone(err error, u *writing) error {
	told := (*pgconn.PgError)(nil)
	if !errors.As(err, &told) || told.Code != undefinedTable || u.there.epoch == 0 {
		return err
	}
	return fmt.Errorf("the table has gone while the query ran, and with it the rows of %s up to epoch %d: put it back with them, write to another table, "+
		"which gets the rows from now on, or begin anew with another place for the checkpoint: %v", u.unit, u.there.epoch, said(told))
}
