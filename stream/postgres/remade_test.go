package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
)

// TestRemade: a query does not go on with a table that has lost what it had written there, since it was dropped or is another one. It says so of one
// that was emptied.
func TestRemade(t *testing.T) {
	const gone, remade, emptied = "the table has gone while the query ran", "it was dropped and made anew", "is empty, and has had rows of query"
	for _, test := range []struct {
		name    string
		key     []string
		stopped string // what happens to the table while the query is stopped
		running string // and while it runs
		rows    int    // that were written before
		want    string // part of an error
		note    string
	}{
		{"dropped while stopped", nil, "DROP TABLE z", "", 10, remade, ""},
		{"dropped while stopped, rows by keys", []string{"id"}, "DROP TABLE z", "", 10, remade, ""},
		{"made anew while stopped, with rows", nil, "CREATE TABLE y AS TABLE z; DROP TABLE z; ALTER TABLE y RENAME TO z", "", 10, remade, ""},
		{"put back, and said so", nil, "CREATE TABLE y AS TABLE z; DROP TABLE z; ALTER TABLE y RENAME TO z; UPDATE cancha_epochs SET relation = NULL", "", 10, "", ""},
		{"dropped while running", nil, "", "DROP TABLE z", 10, gone, ""},
		{"dropped while running, rows by keys", []string{"id"}, "", "DROP TABLE z", 10, gone, ""},
		{"made anew while running", nil, "", "DROP TABLE z; CREATE TABLE z (id bigint)", 10, remade, ""},
		{"dropped, and nothing was written", nil, "DROP TABLE z", "", 0, "", ""},
		{"made anew while running, and nothing was written", nil, "", "DROP TABLE z; CREATE TABLE z (id bigint)", 0, "", ""},
		{"emptied", nil, "TRUNCATE z", "", 10, "", emptied},
		{"rows taken out", nil, "DELETE FROM z WHERE id < 8", "", 10, "", ""},
		{"a table of epochs of an earlier version", nil, "ALTER TABLE cancha_epochs DROP COLUMN relation", "", 10, "", ""},
		{"that, and made anew while running", nil, "ALTER TABLE cancha_epochs DROP COLUMN relation", "DROP TABLE z; CREATE TABLE z (id bigint)", 10, remade, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := server(t)
			in := stream.Memory("in", [][]stream.Record{nil}).Follow()
			next := 0
			more := func(n int) {
				for range n {
					in.Append(0, stream.Record{Value: fmt.Appendf(nil, `{"id":%d}`, next)})
					next++
				}
			}
			query := stream.From(in).Select("id").Checkpoint(checkpoint.Folder(t.TempDir())).Epoch(10 * time.Millisecond).
				To(Sink(Config{URL: d.url, Table: "z", Create: true, Key: test.key, Types: map[string]string{"id": "bigint"}}))
			written := func(r *stream.Running, where string, want int) {
				t.Helper()
				for r.Active() && d.ask("SELECT count(*) FROM z " + where)[0] != fmt.Sprint(want) {
				}
				if err := r.Err(); err != nil {
					t.Fatal(err)
				}
			}
			r, err := query.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			more(test.rows)
			written(r, "", test.rows)
			if test.stopped != "" {
				if err := r.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				d.exec(test.stopped)
				r, err = query.Start(t.Context())
			}
			if err == nil {
				if test.running != "" {
					d.exec(test.running)
				}
				more(5)
				if test.want != "" {
					err = r.Wait(t.Context())
				} else {
					written(r, fmt.Sprint("WHERE id >= ", test.rows), 5)
				}
			}
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "write to another table") {
					t.Errorf("got %v, want an error with %q and what to do", err, test.want)
				}
				if _, err := query.Start(t.Context()); err == nil || !strings.Contains(err.Error(), remade) {
					t.Errorf("the next start: got %v, want it refused", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(r.Notes(), " "); strings.Contains(notes, emptied) != (test.note == emptied) {
				t.Errorf("got the notes %q, want %q in them", notes, test.note)
			}
			if err := r.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRelationNotAdded: a user who may not change the table of epochs of an earlier version writes on, and is told what is not noticed.
func TestRelationNotAdded(t *testing.T) {
	d := server(t)
	d.exec(fmt.Sprintf(`CREATE TABLE cancha_epochs (query text, unit text, target text, epoch bigint NOT NULL, runs text, PRIMARY KEY (query, unit, target));
		CREATE TABLE sold (shop text, sold bigint); DROP ROLE IF EXISTS appender; CREATE ROLE appender LOGIN PASSWORD 'x';
		GRANT USAGE, CREATE ON SCHEMA %s TO appender; GRANT SELECT, INSERT, UPDATE ON cancha_epochs TO appender; GRANT INSERT ON sold TO appender`, quote(d.schema)))
	t.Cleanup(func() { d.exec("DROP OWNED BY appender; DROP ROLE appender") })
	s := newSink(Config{URL: d.as("appender", "x"), Table: "sold"})
	if _, err := s.Resume(t.Context(), shops().Columns, stream.Mark{Query: "q", Unit: checkpoint.Whole, Run: "run"}); err != nil {
		t.Fatal(err)
	}
	if note, err := s.Revert(t.Context(), checkpoint.Whole); err != nil || !strings.Contains(note, "ADD COLUMN relation text") {
		t.Errorf("got the note %q, %v, want what the owner can do", note, err)
	}
	rows := shops("a", 1)
	rows.Unit, rows.Run = checkpoint.Whole, "run"
	if err := s.Write(t.Context(), 1, rows); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	d.want("SELECT * FROM sold", "a|1")
}
