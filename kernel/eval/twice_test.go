package eval_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/eval/evaltest"
)

// A cell that is run again declares again what is declared already, and then runs its statements. If its declarations do as they should,
// that is the same as to run its statements alone. So two sessions are compared: in one, cells are run again as they are, in the other
// without their declarations. No list of cells whose statements do something else the second time is needed.

// archives are those whose cells are run again. CANCHA_CONFORMANCE adds one, as for TestConformance.
func archives() []string {
	list := []string{"testdata/cells.txt", "testdata/programs.txt", "testdata/errors.txt", "native/testdata/sessions.txt"}
	if file := os.Getenv("CANCHA_CONFORMANCE"); file != "" {
		list = append(list, file)
	}
	return list
}

// TestEachCellTwice runs each cell of the archives twice in place.
func TestEachCellTwice(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, file := range archives() {
		for _, c := range readArchive(t, file) {
			t.Run(c.name, func(t *testing.T) {
				var runs []rerun
				declares := false
				for i, code := range c.cells {
					bare, left := without(code, true)
					declares = declares || len(left) > 0 || bare != code
					runs = append(runs, rerun{code, code, -1}, rerun{code, bare, 2 * i})
				}
				if !declares {
					t.Skip("no cell declares a type, constant or function")
				}
				compareSessions(t, runs, c.expect)
			})
		}
	}
}

// TestAllCellsTwice runs all cells of each case and then all of them again; functions are declared again in both sessions, since those of
// one cell may mention what another has declared since. Left out are cases that declare a type or method in two cells: there the second turn
// begins with what the name meant last.
func TestAllCellsTwice(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, file := range archives() {
		for _, c := range readArchive(t, file) {
			t.Run(c.name, func(t *testing.T) {
				var first, second []rerun
				seen := map[string]bool{}
				for i, code := range c.cells {
					bare, left := without(code, false)
					for _, name := range left {
						if seen[name] {
							t.Skipf("%s is declared in two cells", name)
						}
					}
					for _, name := range left {
						seen[name] = true
					}
					first, second = append(first, rerun{code, code, -1}), append(second, rerun{code, bare, i})
				}
				if len(seen) == 0 {
					t.Skip("no cell declares a type")
				}
				compareSessions(t, slices.Concat(first, second), c.expect)
			})
		}
	}
}

// rerun is one run of a cell. Bare is the cell without its declarations where it has been run before, as run number before.
type rerun struct {
	cell, bare string
	before     int
}

func without(code string, all bool) (again string, left []string) {
	if evaltest.HasMagics(code) {
		return code, nil
	}
	return evaltest.Without(code, all)
}

// compareSessions runs cells as they are. If all print what they are to, and the same when they are run again, that is that. Else some do something
// else the second time: they are run without their declarations in another session, and compared one by one.
func compareSessions(t *testing.T, runs []rerun, expect string) {
	t.Helper()
	got, stdout := runAll(t, runs, func(r rerun) string { return r.cell })
	same := strings.TrimSpace(stdout) == strings.TrimSpace(expect)
	for i, r := range runs {
		same = same && (r.before < 0 || got[i] == got[r.before])
	}
	if same {
		return
	}
	want, _ := runAll(t, runs, func(r rerun) string { return r.bare })
	for i := range runs {
		if got[i] == want[i] {
			continue
		}
		if slices.ContainsFunc(runs, func(r rerun) bool { return chance.MatchString(r.cell) }) {
			t.Skipf("the cells depend on the clock, or on which goroutine comes first, and run %d was not the same in both sessions", i+1)
		}
		t.Fatalf("run %d: got %s\nwant %s\nthe cell:\n%s", i+1, got[i], want[i], runs[i].cell)
	}
}

// runAll runs cells in a program of their own. It returns what came of each, and what all together printed when they were run first.
func runAll(t *testing.T, runs []rerun, code func(rerun) string) (outcomes []string, stdout string) {
	n := newNotebook(t)
	n.catch()
	defer n.program.Interrupt()
	for _, r := range runs {
		before := len(n.stream("stdout"))
		outcomes = append(outcomes, outcome(n, code(r)))
		if r.before < 0 {
			stdout += n.stream("stdout")[before:]
		}
	}
	return outcomes, stdout
}

// chance matches cells that need not do the same each time.
var chance = regexp.MustCompile(`\btime\.|\bselect\b|\bgo (func|\w+\()`)

// where are the places in errors that depend on which run of a cell has declared something, and addresses.
var where = regexp.MustCompile(`(?m)cell \d+(:\d+)*|, line \d+|0x[0-9a-f]+|^ *\d+ \|.*\n|goroutine \d+`)

// outcome runs a cell and returns what it wrote, showed and failed with, as far as that does not tell how often it has been run.
func outcome(n *notebook, code string) string {
	stdout, results := len(n.stream("stdout")), len(n.results())
	done := make(chan cell.Result, 1)
	go func() { done <- n.run(code) }()
	failure := ""
	select {
	case r := <-done:
		if r.Err != nil {
			failure = r.Err.Value
		}
	case <-time.After(time.Minute): // which no cell of the archives takes
		n.program.Interrupt()
		<-done
		failure = "the cell did not end"
	}
	text := n.stream("stdout")[stdout:] + strings.Join(n.results()[results:], "\n") + failure
	return where.ReplaceAllString(text, "…")
}
