package kerneltest

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/client"
)

// cellsVariable says how many cells to run in one session, such as 500; half of them declare.
const cellsVariable = "CELLS_SOAK"

// What a cell may cost in a long session, and what may not grow at all.
const (
	declarationMemory = 4 << 20 // bytes of resident memory for a cell that declares: plugins are never unloaded
	statementMemory   = 5 << 10 // bytes of heap for a cell that does not
	cellsSlowdown     = 1.5     // median latency of the last tenth to that of the first
	cellsFiles        = 4
	cellsGoroutines   = 4
	cellsThreads      = 8
)

// TestManyCells runs a session of many cells on an engine that compiles: first rounds of a declaration and a statement in turn,
// whose times are compared from end to end, then as many statements alone, so that each kind's memory is measured by itself.
// CELLS_SOAK=500 CANCHA_PROGRAM=bin/cancha (an absolute path).
func TestManyCells(t *testing.T) {
	total, err := strconv.Atoi(os.Getenv(cellsVariable))
	if err != nil || total < 100 {
		t.Skipf("%s is %q, no number from 100", cellsVariable, os.Getenv(cellsVariable))
	}
	program := os.Getenv(programVariable)
	if program == "" {
		t.Fatal(programVariable + " does not name a cancha binary")
	}
	target := Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()}
	s := &longSession{subject: start(t, target, target.Config), salt: time.Now().UnixNano() % 1_000_000_007}
	s.keep(t)
	const warm = 10 // what is loaded once
	for i := range warm {
		s.declaration(t, i)
		s.statement(t, i)
	}
	s.declarations, s.statements = nil, nil
	before := s.measure(t)
	for i := range total / 2 {
		s.declaration(t, warm+i)
		s.statement(t, warm+i)
	}
	mixed := s.measure(t)
	for i := range total { // alone, and as many again, so that little is seen
		s.statement(t, total+i)
	}
	after := s.measure(t)
	s.judge(t, total, before, mixed, after)
}

// longSession runs cells that no session has run before, since built cells are kept.
type longSession struct {
	*subject
	salt                     int64
	declarations, statements []time.Duration
}

// held is what an engine holds.
type held struct {
	process
	anonymous  int // resident bytes that are of no file
	heap       int // bytes alive after a collection
	goroutines int
}

func (s *longSession) keep(t *testing.T) {
	s.ok(t, "import (\n\t\"runtime\"\n\t\"runtime/debug\"\n\t\"cmp\"\n)\ntotal, list := 0, []int{3, 1, 2}")
}

func (s *longSession) ok(t *testing.T, code string) (took time.Duration, out string) {
	t.Helper()
	begin := time.Now()
	r, ms := s.run(t, code)
	took = time.Since(begin)
	if r.Status != cell.OK {
		t.Fatalf("cell\n%s\nfailed: %s", code, textOf(r))
	}
	s.seen.take()
	return took, printed(ms, "stdout")
}

// declaration runs a cell that declares: functions, types with methods, functions of earlier types, generic ones.
func (s *longSession) declaration(t *testing.T, i int) {
	forms := []string{
		"func f_I(n int) int {\n\tsum := SALT\n\tfor i := range n {\n\t\tsum += i * I\n\t}\n\treturn sum\n}",
		"type T_I struct {\n\tName string\n\tn    int\n}\n\nfunc (t *T_I) Add(n int) { t.n += n % SALT }\n\nfunc (t T_I) String() string { return fmt.Sprint(t.Name, t.n) }",
		"func least_I[T cmp.Ordered](of []T) (least T, salt int) { return slices.Min(of), SALT }\nleast_I(list)",
		"type P_I struct{ X, Y float64 }\n\nfunc near_I(p, q P_I) bool { return math.Hypot(p.X-q.X, p.Y-q.Y) < SALT }",
		"func redeclared(n int) int { return n + SALT + I }\nredeclared(total)",
	}
	fill := strings.NewReplacer("SALT", strconv.FormatInt(s.salt, 10), "_I", strconv.Itoa(i), " I", " "+strconv.Itoa(i))
	took, _ := s.ok(t, fill.Replace(forms[i%len(forms)]))
	s.declarations = append(s.declarations, took)
}

// statement runs a cell of statements, with variables of earlier cells and new ones under a few names.
func (s *longSession) statement(t *testing.T, i int) {
	forms := []string{
		"total += %d\ntotal",
		"x := %d * 2\nfmt.Println(x)",
		"list = append(list[:0], %d, 2, 1)\nslices.Sort(list)\nlist",
		"names := map[string]int{\"a\": %d}\nnames[\"b\"]++\nlen(names)",
		"if total > %d {\n\ttotal = 0\n}",
	}
	took, _ := s.ok(t, fmt.Sprintf(forms[i%len(forms)], i))
	s.statements = append(s.statements, took)
}

// measure asks the engine for itself, after a collection, and /proc for the rest.
func (s *longSession) measure(t *testing.T) (h held) {
	t.Helper()
	_, out := s.ok(t, "debug.FreeOSMemory()\nvar memory runtime.MemStats\nruntime.ReadMemStats(&memory)\nfmt.Println(os.Getpid(), runtime.NumGoroutine(), memory.HeapAlloc)")
	pid := 0
	if _, err := fmt.Sscan(out, &pid, &h.goroutines, &h.heap); err != nil {
		t.Fatalf("what the engine said of itself, %q: %v", out, err)
	}
	h.process = look(t, pid)
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if fields := strings.Fields(string(line)); len(fields) > 1 && fields[0] == "RssAnon:" { // kB
			h.anonymous, _ = strconv.Atoi(fields[1])
			h.anonymous <<= 10
		}
	}
	return h
}

func (s *longSession) judge(t *testing.T, total int, before, mixed, after held) {
	each := func(of func(held) int) (declaration, statement float64) {
		statement = float64(of(after)-of(mixed)) / float64(total)
		return (float64(of(mixed)-of(before)) - statement*float64(total/2)) / float64(total/2), statement
	}
	resident, _ := each(func(h held) int { return h.memory })
	anonymous, _ := each(func(h held) int { return h.anonymous })
	heapD, heapS := each(func(h held) int { return h.heap })
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("load %s", load)
	t.Logf("a declaration cell: %.0f kB resident (limit %d), of these %.0f anonymous; heap %.1f kB", resident/1024, declarationMemory>>10, anonymous/1024, heapD/1024)
	t.Logf("a statement cell: heap %.1f kB (limit %d)", heapS/1024, statementMemory>>10)
	for _, h := range []held{before, mixed, after} {
		t.Logf("resident %d MB, anonymous %d MB, heap %.1f MB, %d goroutines, %d files, %d threads", h.memory>>20, h.anonymous>>20, float64(h.heap)/(1<<20), h.goroutines, h.files, h.threads)
	}
	if resident > declarationMemory {
		t.Errorf("a declaration cell takes %.1f MB", resident/(1<<20))
	}
	if heapS > statementMemory {
		t.Errorf("a statement cell takes %.1f kB of heap", heapS/1024)
	}
	if n := after.goroutines - before.goroutines; n > cellsGoroutines {
		t.Errorf("%d goroutines more", n)
	}
	if n := after.files - before.files; n > cellsFiles {
		t.Errorf("%d files more", n)
	}
	if n := after.threads - before.threads; n > cellsThreads {
		t.Errorf("%d threads more", n)
	}
	slower(t, "declarations", s.declarations)
	slower(t, "statements beside declarations", s.statements[:total/2])
	slower(t, "statements alone", s.statements[total/2:])
}

// slower compares the first tenth of the cells with the last, at least 25 of each.
func slower(t *testing.T, what string, all []time.Duration) {
	n := max(25, min(50, len(all)/5))
	first, last := middle(all[:n]), middle(all[len(all)-n:])
	t.Logf("%s: median of the first %d %v, of the last %v: %.2fx", what, n, first, last, float64(last)/math.Max(1, float64(first)))
	if float64(last) > cellsSlowdown*float64(first) {
		t.Errorf("%s: from %v to %v", what, first, last)
	}
}

func middle(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
