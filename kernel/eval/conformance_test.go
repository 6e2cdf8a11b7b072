package eval_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// archived is a case of a text archive: "=== name", cells separated by "---", "-- expect --" and the whole of stdout.
type archived struct {
	name   string
	cells  []string
	expect string
}

func readArchive(t *testing.T, file string) []archived {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []archived
	for _, block := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		name, body, _ := strings.Cut(block, "\n")
		body, expect, _ := strings.Cut(body, "-- expect --\n")
		c := archived{name: strings.TrimSpace(name), expect: expect}
		for _, code := range strings.Split("\n"+body, "\n---\n") {
			c.cells = append(c.cells, strings.Trim(code, "\n"))
		}
		cases = append(cases, c)
	}
	return cases
}

// runArchive runs each case in a program of its own and returns what it printed and how its cells failed.
func runCase(t *testing.T, c archived) (stdout string, failures []string) {
	n := newNotebook(t)
	release := n.catch()
	defer release() // what the test itself prints is not the cells' output
	for _, code := range c.cells {
		done := make(chan cell.Result, 1)
		go func() { done <- n.run(code) }()
		select {
		case r := <-done:
			if r.Err != nil {
				failures = append(failures, strings.Join(r.Err.Traceback, "\n"))
			}
		case <-time.After(20 * time.Second):
			n.program.Interrupt()
			return n.stream("stdout"), append(failures, "the cell did not end in 20 s")
		}
	}
	n.program.Interrupt()
	return n.stream("stdout"), failures
}

// TestCells runs our own archives, every case of which passes: cells.txt is about notebooks; what programs.txt expects was printed
// by the same code compiled; errors.txt is about errors that cells leave behind; sessions.txt is about what cells use of earlier ones.
// In short it runs some of each.
func TestCells(t *testing.T) {
	every := 8
	if tools(t) != nil {
		every = 24
	}
	for _, file := range []string{"testdata/cells.txt", "testdata/programs.txt", "testdata/errors.txt", "native/testdata/sessions.txt"} {
		for i, c := range readArchive(t, file) {
			if testing.Short() && i%every != 0 {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				got, failures := runCase(t, c)
				if strings.TrimSpace(got) != strings.TrimSpace(c.expect) || len(failures) > 0 {
					t.Errorf("%s\nfailures: %s", firstDifference(got, c.expect), strings.Join(failures, "\n"))
				}
			})
		}
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(strings.TrimSpace(got), "\n"), strings.Split(strings.TrimSpace(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, strings.Join(g[min(i, len(g)):], "\n"), strings.Join(w[min(i, len(w)):], "\n"))
		}
	}
	return ""
}

// TestConformance runs a foreign archive, named by CANCHA_CONFORMANCE, and counts: the cells that fail are known and listed
// in the package's notes.
func TestConformance(t *testing.T) {
	file := os.Getenv("CANCHA_CONFORMANCE")
	if file == "" {
		t.Skip("CANCHA_CONFORMANCE names no archive of cells")
	}
	passed, wrong := 0, 0
	cases := readArchive(t, file)
	for _, c := range cases {
		got, failures := runCase(t, c)
		switch {
		case strings.TrimSpace(got) == strings.TrimSpace(c.expect) && len(failures) == 0:
			passed++
			continue
		case len(failures) == 0:
			wrong++
		}
		t.Logf("%s\ngot:  %q\nwant: %q\nfailures: %s", c.name, got, c.expect, strings.Join(failures, "\n"))
	}
	t.Logf("%d of %d pass, %d print something else without an error", passed, len(cases), wrong)
}
