package kerneltest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
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

// soakVariable says how long to soak, such as 5m; soakSeedVariable gives another order of the turns.
const (
	soakVariable     = "SOAK"
	soakSeedVariable = "SOAK_SEED"
)

// What may grow, between the second quarter of a soak and the last: below these it is noise of the collector, above it is
// a leak. An engine keeps what each cell has declared and the code of each cell, so its bound is by the cell.
const (
	soakKernelMemory = 24 << 20 // bytes
	soakEngineMemory = 24 << 20 // bytes, and
	soakCellMemory   = 64 << 10 // bytes for each cell
	soakFiles        = 4
	soakThreads      = 8
	soakGoroutines   = 8
)

// soakTurn is how long one turn may take: thousands of times what it takes on a machine with nothing else to do.
const soakTurn = 5 * time.Second

// TestSoak keeps a kernel busy for the time in SOAK, a half with one engine and a half with engines that die, and fails where
// memory, files, threads or goroutines go on growing: SOAK=5m CANCHA_PROGRAM=bin/cancha (an absolute path).
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv(soakVariable))
	if err != nil {
		t.Skipf("%s is %q, no duration such as 5m", soakVariable, os.Getenv(soakVariable))
	}
	program := os.Getenv(programVariable)
	if program == "" {
		t.Fatal(programVariable + " does not name a cancha binary")
	}
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc to measure with: ", err)
	}
	target := Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()}
	for _, half := range []struct {
		name  string
		turns []turn
	}{
		{"one engine", soakTurns()},
		{"engines that die", append(soakTurns(), turn{"death", 2, (*soaker).death})},
	} {
		t.Run(half.name, func(t *testing.T) {
			c := target.Config
			c.Stderr = &logBuffer{} // what is refused is logged, and garbage is refused all the time
			s := &soaker{subject: start(t, target, c), random: rand.New(rand.NewPCG(soakSeed(t), 0)), deaths: half.name != "one engine"}
			s.soak(t, duration/2, half.turns)
		})
	}
}

func soakSeed(t *testing.T) uint64 {
	text := os.Getenv(soakSeedVariable)
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", soakSeedVariable, err)
	}
	return seed
}

// turn is one thing that is done again and again; weight says how often, beside the others.
type turn struct {
	name   string
	weight int
	do     func(s *soaker, t *testing.T)
}

func soakTurns() []turn {
	return []turn{
		{"value", 30, func(s *soaker, t *testing.T) { s.cell(t, fmt.Sprintf("%d + 1", s.random.Int32()), cell.OK) }},
		{"variable", 10, func(s *soaker, t *testing.T) { s.cell(t, "list := make([]int, 1000)\nlen(list)", cell.OK) }},
		{"function", 5, func(s *soaker, t *testing.T) { s.cell(t, "func twice(x int) int { return 2 * x }\ntwice(4)", cell.OK) }},
		{"output", 5, func(s *soaker, t *testing.T) {
			s.cell(t, "for i := 0; i < 2_000; i++ {\n\tfmt.Println(i, \"of a line\")\n}", cell.OK)
		}},
		{"late output", 5, func(s *soaker, t *testing.T) { s.cell(t, s.Late, cell.OK) }},
		{"display", 5, func(s *soaker, t *testing.T) { s.cell(t, s.Rich, cell.OK) }},
		{"failure", 5, func(s *soaker, t *testing.T) { s.cell(t, s.Fail, cell.Failed) }},
		{"compile error", 5, func(s *soaker, t *testing.T) { s.cell(t, "undefinedName + 1", cell.Failed) }},
		{"questions", 10, (*soaker).questions},
		{"interrupt", 3, (*soaker).interrupt},
		{"client", 5, (*soaker).another},
		{"garbage", 5, (*soaker).garbage},
	}
}

// soaker does the turns and counts.
type soaker struct {
	*subject
	random *rand.Rand
	cells  int
	deaths bool // engines die: only the kernel is measured
	done   map[string]int
}

// soak does turns until the time is over and judges what was measured on the way.
func (s *soaker) soak(t *testing.T, duration time.Duration, turns []turn) {
	const measures = 24
	s.done = map[string]int{}
	begin := time.Now()
	var all []usage
	for time.Since(begin) < duration && !t.Failed() {
		next, started := s.pick(turns), time.Now()
		next.do(s, t)
		if took := time.Since(started); took > soakTurn {
			t.Errorf("%s took %v after %v", next.name, took, time.Since(begin))
		}
		s.seen.take() // the suite's record of messages is not the kernel's memory
		if time.Since(begin) >= time.Duration(len(all))*duration/measures {
			all = append(all, s.measure(t, time.Since(begin)))
		}
	}
	s.report(t, all)
	if !t.Failed() {
		s.judge(t, all)
	}
}

// pick draws a turn by its weight.
func (s *soaker) pick(turns []turn) turn {
	total := 0
	for _, u := range turns {
		total += u.weight
	}
	n := s.random.IntN(total)
	for _, u := range turns {
		if n -= u.weight; n < 0 {
			s.done[u.name]++
			return u
		}
	}
	panic("the weights do not add up")
}

func (s *soaker) cell(t *testing.T, code string, status cell.Status) {
	r, _ := s.run(t, code)
	s.cells++
	want(t, code, r.Status, status)
}

func (s *soaker) questions(t *testing.T) {
	s.ask(t, client.Shell, "complete_request", map[string]any{"code": s.Complete.Code, "cursor_pos": s.Complete.Cursor})
	s.ask(t, client.Shell, "inspect_request", map[string]any{"code": s.Known, "cursor_pos": len(s.Known)})
	s.ask(t, client.Shell, "is_complete_request", map[string]any{"code": s.Unfinished[0]})
	s.ask(t, client.Shell, "history_request", map[string]any{"hist_access_type": "tail", "n": 10})
	s.ask(t, client.Control, "kernel_info_request", struct{}{})
}

func (s *soaker) interrupt(t *testing.T) {
	r := s.whileRunning(t, s.Endless, func() {
		if err := s.client.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	})
	s.cells++
	want(t, "interrupted", r.Status, cell.Failed)
}

// another connects one more client, has it ask something and go.
func (s *soaker) another(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := s.kernel.Connect(ctx, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// garbage sends noise to each port and leaves in different ways.
func (s *soaker) garbage(t *testing.T) {
	noise := make([]byte, 1+s.random.IntN(4096))
	for i := range noise {
		noise[i] = byte(s.random.Uint32())
	}
	for _, port := range s.ports() {
		network, address := s.kernel.Connection().Address(port)
		conn, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(noise) // it may be closed by then
		if s.random.IntN(2) == 0 {
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, _ = conn.Read(make([]byte, 100))
		}
		_ = conn.Close()
	}
}

func (s *soaker) death(t *testing.T) { s.cell(t, "os.Exit(3)", cell.Failed) }

// usage is what two processes hold at one time.
type usage struct {
	at             time.Duration
	cells          int
	kernel, engine process
	goroutines     int // of the engine
}

// process is what one process holds, as /proc tells.
type process struct{ memory, files, threads int }

// measure asks the engine for itself, after a collection, and /proc for both.
func (s *soaker) measure(t *testing.T, at time.Duration) usage {
	t.Helper()
	_, ms := s.run(t, "import (\n\t\"runtime\"\n\t\"runtime/debug\"\n)\ndebug.FreeOSMemory()\nfmt.Println(os.Getpid(), runtime.NumGoroutine())")
	s.cells++
	u := usage{at: at, cells: s.cells, kernel: look(t, s.kernel.PID())}
	pid := 0
	if _, err := fmt.Sscan(printed(ms, "stdout"), &pid, &u.goroutines); err != nil {
		t.Fatalf("what the engine said of itself, %q: %v", printed(ms, "stdout"), err)
	}
	u.engine = look(t, pid)
	return u
}

func look(t *testing.T, pid int) (p process) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		fields := strings.Fields(string(line))
		switch {
		case len(fields) < 2:
		case fields[0] == "VmRSS:": // kB
			p.memory, _ = strconv.Atoi(fields[1])
			p.memory <<= 10
		case fields[0] == "Threads:":
			p.threads, _ = strconv.Atoi(fields[1])
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	p.files = len(files)
	return p
}

func (s *soaker) report(t *testing.T, all []usage) {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %7s | kernel %8s %6s %8s | engine %8s %6s %8s %11s\n", "time", "cells", "MB", "files", "threads", "MB", "files", "threads", "goroutines")
	for _, u := range all {
		fmt.Fprintf(&b, "%8s %7d | %15.1f %6d %8d | %15.1f %6d %8d %11d\n", u.at.Round(100*time.Millisecond), u.cells,
			float64(u.kernel.memory)/(1<<20), u.kernel.files, u.kernel.threads,
			float64(u.engine.memory)/(1<<20), u.engine.files, u.engine.threads, u.goroutines)
	}
	t.Logf("turns %v\n%s", s.done, &b)
}

// judge compares the medians of the second quarter with those of the last: the first quarter warms up.
func (s *soaker) judge(t *testing.T, all []usage) {
	if len(all) < 12 {
		t.Fatalf("%d measurements are too few to judge by: soak longer", len(all))
	}
	n := len(all) / 4
	early, last := all[n:2*n], all[len(all)-n:]
	grown := func(what string, limit int, of func(usage) int) {
		from, to := median(early, of), median(last, of)
		if to-from > limit {
			t.Errorf("%s: grown from %d to %d, by more than %d", what, from, to, limit)
		}
	}
	grown("kernel's memory", soakKernelMemory, func(u usage) int { return u.kernel.memory })
	grown("kernel's files", soakFiles, func(u usage) int { return u.kernel.files })
	grown("kernel's threads", soakThreads, func(u usage) int { return u.kernel.threads })
	if s.deaths {
		return
	}
	cells := median(last, func(u usage) int { return u.cells }) - median(early, func(u usage) int { return u.cells })
	memory := func(u usage) int { return u.engine.memory }
	t.Logf("the engine grows by %.1f kB a cell", float64(median(last, memory)-median(early, memory))/1024/float64(max(1, cells)))
	grown("engine's memory", soakEngineMemory+cells*soakCellMemory, memory)
	grown("engine's files", soakFiles, func(u usage) int { return u.engine.files })
	grown("engine's threads", soakThreads, func(u usage) int { return u.engine.threads })
	grown("engine's goroutines", soakGoroutines, func(u usage) int { return u.goroutines })
}

func median(us []usage, of func(usage) int) int {
	var values []int
	for _, u := range us {
		values = append(values, of(u))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
