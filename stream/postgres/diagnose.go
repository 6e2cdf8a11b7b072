package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// passing tells whether an error is one that passes: the server is away, stops, starts, or wants the transaction tried again.
func passing(err error) bool {
	if errors.Is(err, errRunning) {
		return true
	}
	told := (*pgconn.PgError)(nil)
	if !errors.As(err, &told) {
		return lost(err)
	}
	switch told.Code {
	case "57P01", "57P02", "57P03", "57P05", // stopped by its administrator, crashed, not yet up, idle for too long
		"53300", "53400", // too many connections
		"25006",          // it is a standby, or not yet a primary
		"40001", "40P01": // against another transaction
		return true
	}
	return strings.HasPrefix(told.Code, "08") // connections
}

// lost tells whether an error is one of the connection, and not of the rows or the table.
func lost(err error) bool {
	var (
		connecting *pgconn.ConnectError
		network    net.Error
	)
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// diagnose says what has happened and what to do. It keeps the server's own error, but not those of the library that hold its configuration, in which
// the password is.
func (c *Config) diagnose(err error) error {
	told := (*pgconn.PgError)(nil)
	connecting := (*pgconn.ConnectError)(nil)
	switch {
	case errors.As(err, &told):
		if advice := c.advice(told); advice != "" {
			return fmt.Errorf("%s: %w", advice, said(told))
		}
		return said(told)
	case errors.As(err, &connecting):
		if !away(err) {
			return fmt.Errorf("the server at %s cannot be talked to: see sslmode in the URL, and whether it is PostgreSQL that answers there: %w",
				c.place(), errors.Unwrap(connecting))
		}
		return fmt.Errorf("no server answers at %s: is it running there, and is the URL right? %w", c.place(), errors.Unwrap(connecting))
	case lost(err):
		return fmt.Errorf("the connection to %s was lost: %w", c.place(), err)
	}
	return err
}

// answer is an error of the server with its details, which the library's text leaves out.
type answer struct {
	told *pgconn.PgError
}

func said(told *pgconn.PgError) error { return &answer{told} }

// Unwrap gives the library's error, for its code.
func (a *answer) Unwrap() error { return a.told }

// Error is the server's message, its detail, and for a value the row and the column.
func (a *answer) Error() string {
	text := a.told.Message
	if a.told.Detail != "" {
		text += " (" + strings.TrimSuffix(a.told.Detail, ".") + ")"
	}
	if place, _, _ := strings.Cut(a.told.Where, "\n"); strings.HasPrefix(place, "COPY ") {
		text += ", at " + place
	} else if _, place, ok := strings.Cut(a.told.Where, "\nCOPY "); ok { // behind the steps within a value, of JSON for example
		text += ", at COPY " + place
	}
	return fmt.Sprintf("%s [SQLSTATE %s]", text, a.told.Code)
}

// advice is what the reader may do about an error of the server; "" if that is not known.
func (c *Config) advice(told *pgconn.PgError) string {
	parsed, err := c.parse()
	if err != nil {
		return ""
	}
	switch code := told.Code; {
	case code == "28P01":
		return fmt.Sprintf("there is no user %s, or the password is not the right one: see Password and the URL, PGPASSWORD and ~/.pgpass", parsed.User)
	case code == "28000":
		return fmt.Sprintf("the server does not let user %s in: see its pg_hba.conf, the name of the user, and sslmode in the URL", parsed.User)
	case code == "3D000":
		return "there is no such database: create it, or name another in the URL"
	case code == "3F000":
		return "there is no such schema: create it, or name another in Table"
	case code == undefinedTable:
		return "the table has gone while the query ran: make it again, or set Create, and start the query anew"
	case code == "42501":
		return c.grant(parsed.User)
	case code == uniqueViolation && len(c.Key) == 0:
		return fmt.Sprintf("a row is there already, by %s: name its columns in Key, so that such rows are updated, or drop the constraint",
			quote(told.ConstraintName))
	case code == uniqueViolation:
		return fmt.Sprintf("a row differs in Key from all others, but not by %s: name that one's columns in Key, or drop the constraint",
			quote(told.ConstraintName))
	case code == "23502":
		return fmt.Sprintf("a row has no value for column %s, which must have one: filter such rows out with Filter(Has(…)), or ALTER TABLE … DROP NOT NULL",
			told.ColumnName)
	case code == "23503", code == "23514", code == "23P01":
		return fmt.Sprintf("a row is against the constraint %s: filter such rows out, or change the constraint", quote(told.ConstraintName))
	case code == "22P05":
		return "jsonb takes no zero byte in a text: give the column the type json or text"
	case strings.HasPrefix(code, "22"):
		return "a value does not fit into its column (the line is the row of this Write): convert it in the query, or change the column's type"
	case slices.Contains([]string{"53100", "53200"}, code):
		return "the server has no room left, on its disk or in memory"
	case code == "42704" || code == "42601":
		return "the server does not understand the statement: see Types"
	}
	return ""
}

// away tells whether nobody was reached.
func away(err error) bool {
	var (
		dialled *net.OpError
		unnamed *net.DNSError
	)
	return errors.As(err, &unnamed) || errors.As(err, &dialled) && dialled.Op == "dial"
}
