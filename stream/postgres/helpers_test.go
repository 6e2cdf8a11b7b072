package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"cancha/stream"
)

// database is the server that scripts/postgres.sh has started, with a schema for one test.
type database struct {
	t      *testing.T
	url    string
	schema string
}

func server(t *testing.T) *database {
	t.Helper()
	at := os.Getenv("CANCHA_POSTGRES")
	if at == "" {
		t.Skip("CANCHA_POSTGRES is not set: scripts/postgres.sh with go test ./stream/postgres runs this test on a PostgreSQL of its own")
	}
	d := &database{t: t, url: at, schema: strings.ToLower(strings.NewReplacer("/", "_", "#", "_").Replace(t.Name()))}
	d.exec("DROP SCHEMA IF EXISTS " + quote(d.schema) + " CASCADE; CREATE SCHEMA " + quote(d.schema))
	d.url += "&search_path=" + url.QueryEscape(quote(d.schema))
	return d
}

// as is the URL for another user and password.
func (d *database) as(user, password string) string {
	u, err := url.Parse(d.url)
	if err != nil {
		d.t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

func (d *database) run(sql string) ([]*pgconn.Result, error) {
	conn, err := pgconn.Connect(context.Background(), d.url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.Background())
	return conn.Exec(context.Background(), sql).ReadAll()
}

func (d *database) exec(sql string) {
	d.t.Helper()
	if _, err := d.run(sql); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

// ask returns rows as lines of values parted by |.
func (d *database) ask(sql string) (lines []string) {
	d.t.Helper()
	results, err := d.run(sql)
	if err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	for _, row := range results[0].Rows {
		var cells []string
		for _, cell := range row {
			if cell == nil {
				cell = []byte("NULL")
			}
			cells = append(cells, string(cell))
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	return lines
}

func (d *database) want(sql string, want ...string) {
	d.t.Helper()
	if got := d.ask(sql); !slices.Equal(got, want) {
		d.t.Errorf("%s: got\n%s\nwant\n%s", sql, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// shops are rows of a key and a count.
func shops(pairs ...any) *stream.Rows {
	rows := stream.NewRows(stream.Column{Name: "shop", Kind: stream.Any}, stream.Column{Name: "sold", Kind: stream.Int})
	for i := 0; i < len(pairs); i += 2 {
		rows.Append(valueOf(pairs[i]), valueOf(pairs[i+1]))
	}
	return rows
}

func valueOf(x any) stream.Value {
	v, ok := stream.ValueOf(x)
	if !ok {
		panic("no value")
	}
	return v
}

// write opens a sink, writes, and closes it.
func write(t *testing.T, cfg Config, writes ...*stream.Rows) error {
	t.Helper()
	s := newSink(cfg)
	err := s.Open(t.Context(), writes[0].Columns)
	for i, rows := range writes {
		if err == nil {
			err = s.Write(t.Context(), int64(i+1), rows)
		}
	}
	return errors.Join(err, s.Close())
}

// gate is a port in front of the server, which a test shuts.
type gate struct {
	t      *testing.T
	at, to string
	url    string

	mu    sync.Mutex
	l     net.Listener
	conns []net.Conn
}

func newGate(t *testing.T, to string) *gate {
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, at: "127.0.0.1:0", to: u.Host}
	g.open()
	u.Host = g.at
	g.url = u.String()
	t.Cleanup(g.shut)
	return g
}

// open lets connections through.
func (g *gate) open() {
	l, err := net.Listen("tcp", g.at)
	if err != nil {
		g.t.Error(err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.l, g.at = l, l.Addr().String()
	go g.serve(l)
}

func (g *gate) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.to)
		if err != nil {
			in.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, in, out)
		g.mu.Unlock()
		go pass(in, out)
		go pass(out, in)
	}
}

func pass(to, from net.Conn) {
	io.Copy(to, from) // until either is closed
	to.Close()
}

// shut ends all connections and takes no more.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.l.Close()
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}
