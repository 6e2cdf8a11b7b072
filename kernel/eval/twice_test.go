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
	for _, file := range archives() {
		for _, c := range readArchive(t, file) {
			t.Run(c.name, func(t *testing.T) {
				var whole, bare []string
				for _, code := range c.cells {
					again, _ := without(code, true)
					whole, bare = append(whole, code, code), append(bare, code, again)
				}
				if slices.Equal(whole, bare) {
					t.Skip("no cell declares a type, constant or function")
				}
				compareSessions(t, whole, bare)
			})
		}
	}
}

// TestAllCellsTwice runs all cells of each case and then all of them again; functions are declared again in both sessions, since those of
// one cell may mention what another has declared since. Left out are cases that declare a type or method in two cells: there the second turn
// begins with what the name meant last.
func TestAllCellsTwice(t *testing.T) {
	for _, file := range archives() {
		for _, c := range readArchive(t, file) {
			t.Run(c.name, func(t *testing.T) {
				bare, seen := slices.Clone(c.cells), map[string]bool{}
				for _, code := range c.cells {
					again, declared := without(code, false)
					for _, name := range declared {
						if seen[name] {
							t.Skipf("%s is declared in two cells", name)
						}
					}
					for _, name := range declared {
						seen[name] = true
					}
					bare = append(bare, again)
				}
				if len(seen) == 0 {
					t.Skip("no cell declares a type")
				}
				compareSessions(t, slices.Concat(c.cells, c.cells), bare)
			})
		}
	}
}

func without(code string, all bool) (again string, left []string) {
	if evaltest.HasMagics(code) {
		return code, nil
	}
	return evaltest.Without(code, all)
}

// compareSessions runs two lists of cells, each in a program of its own, and compares what comes of them cell by cell.
func compareSessions(t *testing.T, cells, want []string) {
	t.Helper()
	outcomes := [2][]string{}
	for i, list := range [][]string{cells, want} {
		n := newNotebook(t)
		n.catch()
		for _, code := range list {
			outcomes[i] = append(outcomes[i], outcome(n, code))
		}
		n.program.Interrupt()
	}
	for i, got := range outcomes[0] {
		if got != outcomes[1][i] {
			t.Fatalf("run %d: got %s\nwant %s\nthe cell:\n%s", i+1, got, outcomes[1][i], cells[i])
		}
	}
}

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
