package eval_test

import (
	"strings"
	"testing"
)

// warehouse declares a session as cancha/spark has one: its SQL tells what it was asked, and whether an interrupt could reach it.
const warehouse = `import "errors"
type warehouse struct{ name string }
type answer string
func (w *warehouse) SQL(ctx context.Context, query string, args ...any) (answer, error) {
	if strings.Contains(query, "nowhere") {
		return "", errors.New("[TABLE_OR_VIEW_NOT_FOUND] nowhere")
	}
	return answer(fmt.Sprintf("%s: %q", w.name, query)), nil
}`

// TestSQL runs cells of SQL in a session that other cells have made.
func TestSQL(t *testing.T) {
	once(t)
	n := newNotebook(t)
	refused := func(code, want string) {
		t.Helper()
		r := n.run(code)
		if r.Err == nil || !strings.Contains(strings.Join(r.Err.Traceback, "\n"), want) {
			t.Errorf("%s: got %+v, want %q", code, r.Err, want)
		}
	}
	shown := func(code string) string {
		t.Helper()
		n.ok(code)
		n.out.Flush()
		all := n.results()
		return all[len(all)-1]
	}
	refused("%%sql\nSELECT 1", `no cell has made a session that it can ask. For Spark: import "cancha/spark"`)
	n.ok(warehouse)
	n.ok("w := &warehouse{\"w\"}")
	if got := shown("%%sql\nSELECT `a`, \"b\"\nFROM t -- %pwd\n"); got != `w: "SELECT `+"`a`"+`, \"b\"\nFROM t -- %pwd"` {
		t.Errorf("got %s", got)
	}
	if got := shown("%%sql -o rows\nSELECT 1"); got != `w: "SELECT 1"` {
		t.Errorf("got %s", got)
	}
	if got := shown("len(rows)"); got != "13" {
		t.Errorf("the length of what is kept: got %s", got)
	}
	refused("%%sql\nSELECT * FROM nowhere", "[TABLE_OR_VIEW_NOT_FOUND] nowhere")
	refused("%%sql\n \n", "there is no statement below it")
	refused("%%sql -o\nSELECT 1", "-o needs the name of a variable")
	refused("%%sql -o a.b\nSELECT 1", `"a.b" is no name of a variable`)
	refused("%%sql -o _\nSELECT 1", `"_" is no name of a variable`)
	refused("%%sql w rows\nSELECT 1", "usage: %%sql [-o NAME] [SESSION]")
	refused("%%sql rows\nSELECT 1", "rows has no method SQL(ctx, query)")
	refused("%%sql nope\nSELECT 1", "there is no variable nope")
	n.ok("other := &warehouse{\"other\"}")
	refused("%%sql\nSELECT 1", "which of the sessions other, w? Write %%sql other")
	if got := shown("%%sql other\nSELECT 1"); got != `other: "SELECT 1"` {
		t.Errorf("got %s", got)
	}
}
