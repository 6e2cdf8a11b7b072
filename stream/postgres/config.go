package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config says into which table of which database rows are written. Table is required. Printing a Config never shows a password.
type Config struct {
	// URL says where the database is, in either of libpq's forms: postgres://user@host:5432/database?sslmode=verify-full, or
	// "host=/run/postgresql dbname=shop". What it leaves out is taken from PGHOST, PGUSER and libpq's other variables, and from ~/.pgpass.
	URL string `json:"-"`
	// Password wins over one in URL, where some characters would have to be escaped.
	Password string `json:"-"`
	// Table is its name as it is in the catalogue, with its schema if that is not in the search path: orders, sales.orders.
	Table string
	// Key are columns by which a row is told from others: one that is there already is updated. The table must have a primary key or a unique
	// index of just these columns. Empty: rows are appended.
	Key []string
	// Create makes the table unless it exists: bigint for integers, double precision for numbers, boolean, text, timestamptz, jsonb for JSON, and
	// text for columns whose kind the query does not know; Types says otherwise. Key becomes the primary key.
	Create bool
	// Types are SQL types of columns for Create, as they are: "numeric(12,2)".
	Types map[string]string
	// Patience is how long a Write waits for a server that is away, default one minute.
	Patience time.Duration

	wrap func(net.Conn) net.Conn // tests break connections through it
}

const (
	defaultPatience = time.Minute
	// opening is how long the start of a query waits for a server that is away, at most. One that runs waits without an end when it gets a partition.
	opening = 10 * time.Second
	closing = 2 * time.Second

	dialTimeout = 5 * time.Second
	minBackoff  = 50 * time.Millisecond
	maxBackoff  = 2 * time.Second

	// maxName is how many bytes of a name PostgreSQL keeps; it cuts the rest off.
	maxName = 63
)

func (c *Config) fill() {
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
}

func (c *Config) validate() error {
	switch {
	case c.Table == "":
		return errors.New("no table: name one in Table")
	case strings.Count(c.Table, ".") > 1 || strings.HasPrefix(c.Table, ".") || strings.HasSuffix(c.Table, "."):
		return fmt.Errorf("table %q: want table or schema.table", c.Table)
	case c.Patience < 0:
		return fmt.Errorf("patience %v: want 0, for one minute, or more", c.Patience)
	case c.Patience > 0 && c.Patience < time.Millisecond:
		return fmt.Errorf("patience %v: a number alone is nanoseconds; write it with its unit, such as time.Minute, and at least a millisecond", c.Patience)
	case len(c.Types) > 0 && !c.Create:
		return errors.New("Types is for Create, which is not set: a table that exists has its own")
	}
	for i, name := range c.Key {
		if slices.Contains(c.Key[:i], name) {
			return fmt.Errorf("column %q is in Key twice", name)
		}
	}
	return nil
}

// parse reads URL. What the library says of one that it cannot read may hold a part of the password, and is left out.
func (c *Config) parse() (*pgconn.Config, error) {
	parsed, err := pgconn.ParseConfig(c.URL)
	if err != nil {
		return nil, errors.New("the URL cannot be read: want postgres://user@host:5432/database or host=… user=… dbname=…; " +
			"a password with / @ : or % in it has to be escaped there, but not in Password")
	}
	if c.Password != "" {
		parsed.Password = c.Password
	}
	if _, set := parsed.RuntimeParams["application_name"]; !set {
		parsed.RuntimeParams["application_name"] = "cancha"
	}
	parsed.RuntimeParams["client_encoding"] = "UTF8"
	if parsed.ConnectTimeout == 0 {
		parsed.ConnectTimeout = dialTimeout
	}
	// A server whose machine has vanished says no goodbye: it is asked every few seconds whether it is there.
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}
	parsed.DialFunc = dialer.DialContext
	if c.wrap != nil {
		parsed.AfterNetConnect = wrapped(c.wrap)
	}
	return parsed, nil
}

// String tells what is written where, without the password.
func (c Config) String() string {
	text := "postgres.Config{" + c.Table + " at " + c.place()
	if len(c.Key) > 0 {
		text += ", key " + strings.Join(c.Key, ", ")
	}
	return text + "}"
}

// Format implements fmt.Formatter: every verb, also %+v and %#v, writes String.
func (c Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// place is where the database is.
func (c *Config) place() string {
	parsed, err := c.parse()
	if err != nil {
		return "an unreadable URL"
	}
	return fmt.Sprintf("%s, user %s", databaseOf(parsed), parsed.User)
}

func databaseOf(c *pgconn.Config) string {
	at := net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	if strings.HasPrefix(c.Host, "/") {
		at = fmt.Sprintf("%s (port %d)", c.Host, c.Port)
	}
	return at + ", database " + cmp.Or(c.Database, c.User)
}
