package eval_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/eval"
)

// newCompilingNotebook returns a notebook with a folder of its own for what it compiles; the test is skipped where nothing can be.
func newCompilingNotebook(t *testing.T) (n *notebook, folder string) {
	t.Helper()
	has := tools(t)
	if has == nil {
		t.Skip("cells cannot be compiled")
	}
	own := *has
	own.Cache = t.TempDir()
	return newConfiguredNotebook(t, eval.Config{Slow: time.Hour, Native: &own}), own.Cache
}

// builtCells are the cells that have been compiled into a toolchain's folder.
func builtCells(t *testing.T, folder string) (cells []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			cells = append(cells, e.Name())
		}
	}
	return cells
}

// TestShortCellsRunApart: where cells can be compiled, a short one of another shell is interpreted beside one that is interpreted and
// waits: it waits neither for that nor for the compiler, uses the same variables, fails and is interrupted by itself. One that may take
// longer is compiled.
func TestShortCellsRunApart(t *testing.T) {
	n, folder := newCompilingNotebook(t)
	n.ok("gate := make(chan int)\ncount := 41\nwords := map[string]int{}")
	first := n.begin(false, "fmt.Println(\"go\")\ncount += <-gate\ncount")
	n.await("stdout", "go\n")
	for code, want := range map[string]string{
		"count":                            "41",
		"words[\"a\"]++\nlen(words)":       "1",
		"q, r := 17 / 5, 17 % 5\nq*10 + r": "32",
		"total := 0\nfor i := range 10 { total += i }\ntotal": "45",
		"type point struct{ x, y int }\npoint{1, 2}.x":        "1",
	} {
		serial := n.serial + 1
		before := len(builtCells(t, folder))
		if r := n.ended(n.begin(true, code)); r.Status != cell.OK {
			t.Fatalf("%s: %+v", code, r.Err)
		}
		if got := n.value(serial); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
		if got := len(builtCells(t, folder)) - before; got != strings.Count(code, "type ") {
			t.Errorf("%s: %d cells were compiled", code, got)
		}
	}
	if r := n.ended(n.begin(true, "var none map[string]int\nnone[\"a\"] = count")); r.Err == nil || !strings.Contains(strings.Join(r.Err.Traceback, "\n"), "cell 8:2") {
		t.Errorf("a cell that panics: got %+v, want its line", r.Err)
	}
	n.ended(n.begin(true, "gate <- 1"))
	if r := n.ended(first); r.Status != cell.OK || n.value(2) != "42" {
		t.Errorf("the first cell: %+v, value %s", r.Err, n.value(2))
	}
	n.ok("fmt.Println(q, r, total, point{}, len(words))")
	if got := lastLine(n.stream("stdout")); got != "3 2 45 {0 0} 1" {
		t.Errorf("a later cell got %q", got)
	}
	if got := n.stream("stderr"); got != "" {
		t.Errorf("on stderr got %q", got)
	}
}
