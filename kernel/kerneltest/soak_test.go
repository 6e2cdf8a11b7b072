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
	"syscall"
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

// What may grow, between the second quarter of a part and its last: below these it is noise of the collector, above it is a leak.
// An engine keeps what each cell has declared and the code of each cell; what that may take is in cells_test.go.
const (
	soakKernelMemory     = 24 << 20 // bytes
	soakKernelHeap       = 6 << 20  // what it remembers of requests and cells is bounded, and fills up in a soak
	soakEngineMemory     = 24 << 20 // bytes, and for each cell statementMemory or declarationMemory
	soakFiles            = 6        // beside the part's own connections, which come and go
	soakThreads          = 8
	soakGoroutines       = 8
	soakKernelGoroutines = 24 // of connections that have just been refused
)

// soakTurn is how long one turn may take: thousands of times what it takes on a machine with nothing else to do.
const soakTurn = 5 * time.Second

// What a soak of half an hour is to do at least; a shorter one its share. It goes on until it has, up to twice its time.
const (
	soakCells      = 10_000
	soakReconnects = 1_000
	soakWhole      = 30 * time.Minute
)

// soakPart is a soak of one kernel with its own mix.
type soakPart struct {
	name     string
	share    int // of the time, in percent
	declares bool
	deaths   bool // engines die: only the kernel is measured
	turns    []turn
}

func soakParts() []soakPart {
	declare := turn{"declaration", 60, (*soaker).declaration}
	return []soakPart{
		{"statements", 70, false, false, soakTurns()},
		{"declarations", 15, true, false, append(soakTurns(), declare)},
		{"engines that die", 15, false, true, append(soakTurns(), turn{"death", 4, (*soaker).death})},
	}
}

// TestSoak keeps kernels busy for the time in SOAK, beside a subscriber that hardly reads, peers that say nothing and a client
// that asks for a heartbeat all the time, and fails where memory, files, threads or goroutines go on growing, or a heartbeat is
// late: SOAK=5m CANCHA_PROGRAM=bin/cancha (an absolute path).
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
	for _, part := range soakParts() {
		t.Run(part.name, func(t *testing.T) {
			c, log := target.Config, &logBuffer{} // what is refused is logged, and garbage is refused all the time
			c.Stderr = log
			s := &soaker{subject: start(t, target, c), part: part, log: log, random: rand.New(rand.NewPCG(soakSeed(t), 0))}
			s.soak(t, duration*time.Duration(part.share)/100)
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
		{"value", 40, func(s *soaker, t *testing.T) { s.cell(t, fmt.Sprintf("%d + 1", s.random.Int32()), cell.OK) }},
		{"variable", 10, func(s *soaker, t *testing.T) { s.cell(t, "list := make([]int, 1000)\nlen(list)", cell.OK) }},
		{"output", 10, func(s *soaker, t *testing.T) {
			s.cell(t, "fmt.Print(strings.Repeat(\"a line of two thousand\\n\", 2000))", cell.OK)
		}},
		{"late output", 5, func(s *soaker, t *testing.T) { s.cell(t, s.Late, cell.OK) }},
		{"display", 5, func(s *soaker, t *testing.T) { s.cell(t, s.Rich, cell.OK) }},
		{"large display", 3, func(s *soaker, t *testing.T) {
			s.cell(t, "import \"cancha/runtime/display\"\ndisplay.Show(display.HTML(strings.Repeat(\"x\", 2<<20)))", cell.OK)
		}},
		{"failure", 5, func(s *soaker, t *testing.T) { s.cell(t, s.Fail, cell.Failed) }},
		{"compile error", 5, func(s *soaker, t *testing.T) { s.cell(t, "undefinedName + 1", cell.Failed) }},
		{"questions", 10, (*soaker).questions},
		{"interrupt", 3, (*soaker).interrupt},
		{"reconnect", 14, (*soaker).another},
		{"garbage", 5, (*soaker).garbage},
	}
}

// soaker does the turns and counts.
type soaker struct {
	*subject
	part     soakPart
	log      *logBuffer
	random   *rand.Rand
	cells    int
	declared int
	done     map[string]int
}

// soak does turns until the time is over, and as many as there should be in it, and judges what was measured on the way.
func (s *soaker) soak(t *testing.T, duration time.Duration) {
	const measures = 24
	s.done = map[string]int{}
	for _, u := range s.part.turns { // what is built and loaded at its first use is no turn's fault
		u.do(s, t)
	}
	beside := s.startBeside(t)
	begin := time.Now()
	var all []usage
	for !t.Failed() && (time.Since(begin) < duration || s.behind(duration) && time.Since(begin) < 2*duration) {
		next, started := s.pick(s.part.turns), time.Now()
		next.do(s, t)
		if took := time.Since(started); took > soakTurn {
			t.Errorf("%s took %v after %v", next.name, took, time.Since(begin))
		}
		s.seen.take() // the suite's record of messages is not the kernel's memory
		if time.Since(begin) >= time.Duration(len(all))*duration/measures {
			beside.letGo() // what waits for a slow subscriber is bounded, and not what is looked for
			all = append(all, s.measure(t, time.Since(begin)))
		}
	}
	beside.end()
	s.report(t, all)
	beside.report(t)
	if !t.Failed() {
		s.judge(t, all)
		beside.judge(t)
	}
	if s.behind(duration) {
		t.Errorf("%d cells and %d reconnects are fewer than there should be in %v", s.cells, s.done["reconnect"], duration)
	}
}

// behind tells whether there were fewer cells or reconnects than there should be in the time.
func (s *soaker) behind(duration time.Duration) bool {
	share := float64(duration) / float64(soakWhole)
	return float64(s.cells) < share*soakCells || float64(s.done["reconnect"]) < share*soakReconnects
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

// declaration runs a cell that no session has run before, since built cells are kept.
func (s *soaker) declaration(t *testing.T) {
	s.cell(t, fmt.Sprintf("func declared%d(x int) int { return %d * x }", s.declared, s.random.Int64()), cell.OK)
	s.declared++
}

func (s *soaker) death(t *testing.T) { s.cell(t, "syscall.Exit(3)", cell.Failed) }

// usage is what two processes hold at one time.
type usage struct {
	at              time.Duration
	cells, declared int
	kernel, engine  process
	inside          [2]inside // of kernel and engine
}

// inside is what a process says of itself, after a collection.
type inside struct{ goroutines, heap int }

// process is what one process holds, as /proc tells.
type process struct{ memory, files, threads int }

// measure asks the engine for itself, after a collection, and /proc for both.
func (s *soaker) measure(t *testing.T, at time.Duration) usage {
	t.Helper()
	if s.part.declares { // cells that are compiled beside are no leak: one that renews a function waits for them
		s.cell(t, fmt.Sprintf("func renewed() int { return %d }", s.random.Int64()), cell.OK)
		s.declared++
	}
	_, ms := s.run(t, "import (\n\t\"runtime\"\n\t\"runtime/debug\"\n)\ndebug.FreeOSMemory()\nvar memory runtime.MemStats\nruntime.ReadMemStats(&memory)\nfmt.Println(os.Getpid(), runtime.NumGoroutine(), memory.HeapAlloc)")
	s.cells++
	u := usage{at: at, cells: s.cells, declared: s.declared}
	pid := 0
	if _, err := fmt.Sscan(printed(ms, "stdout"), &pid, &u.inside[1].goroutines, &u.inside[1].heap); err != nil {
		t.Fatalf("what the engine said of itself, %q: %v", printed(ms, "stdout"), err)
	}
	u.engine = look(t, pid)
	u.inside[0] = s.kernelFigures(t)
	u.kernel = look(t, s.kernel.PID())
	return u
}

// kernelFigures has the kernel log what it holds.
func (s *soaker) kernelFigures(t *testing.T) (in inside) {
	t.Helper()
	const mark = "msg=figures goroutines="
	before := strings.Count(s.log.String(), mark)
	if err := syscall.Kill(s.kernel.PID(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) { // polls: a log does not tell
		text := s.log.String()
		if strings.Count(text, mark) > before {
			if _, err := fmt.Sscanf(text[strings.LastIndex(text, mark)+len(mark):], "%d heap=%d", &in.goroutines, &in.heap); err == nil {
				return in
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the kernel does not say what it holds")
		}
	}
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
	fmt.Fprintf(&b, "%8s %7s %6s | kernel %6s %7s %6s %8s %11s | engine %6s %7s %6s %8s %11s\n", "time", "cells", "decl.",
		"MB", "heap MB", "files", "threads", "goroutines", "MB", "heap MB", "files", "threads", "goroutines")
	for _, u := range all {
		fmt.Fprintf(&b, "%8s %7d %6d |", u.at.Round(100*time.Millisecond), u.cells, u.declared)
		for i, p := range []process{u.kernel, u.engine} {
			fmt.Fprintf(&b, " %13.1f %7.1f %6d %8d %11d |", float64(p.memory)/(1<<20), float64(u.inside[i].heap)/(1<<20), p.files, p.threads, u.inside[i].goroutines)
		}
		b.WriteByte('\n')
	}
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("turns %v, load %s\n%s", s.done, load, &b)
}

// judge compares the medians of the second quarter with those of the last: the first quarter warms up.
func (s *soaker) judge(t *testing.T, all []usage) {
	if len(all) < 12 {
		t.Fatalf("%d measurements are too few to judge by: soak longer", len(all))
	}
	n := len(all) / 4
	early, last := all[n:2*n], all[len(all)-n:]
	growth := func(of func(usage) int) int { return median(last, of) - median(early, of) }
	grown := func(what string, limit int, of func(usage) int) {
		if growth(of) > limit {
			t.Errorf("%s: grown from %d to %d, by more than %d", what, median(early, of), median(last, of), limit)
		}
	}
	grown("kernel's memory", soakKernelMemory, func(u usage) int { return u.kernel.memory })
	grown("kernel's heap", soakKernelHeap, func(u usage) int { return u.inside[0].heap })
	grown("kernel's files", soakFiles, func(u usage) int { return u.kernel.files })
	grown("kernel's threads", soakThreads, func(u usage) int { return u.kernel.threads })
	grown("kernel's goroutines", soakKernelGoroutines, func(u usage) int { return u.inside[0].goroutines })
	if s.part.deaths {
		return
	}
	cells, declared := growth(func(u usage) int { return u.cells - u.declared }), growth(func(u usage) int { return u.declared })
	memory, heap := func(u usage) int { return u.engine.memory }, func(u usage) int { return u.inside[1].heap }
	if s.part.declares {
		t.Logf("the engine grows by %.2f MB resident for each cell that declares (%d)", float64(growth(memory))/(1<<20)/float64(max(1, declared)), declared)
		grown("engine's memory", soakEngineMemory+declared*declarationMemory, memory)
	} else {
		t.Logf("the engine's heap grows by %.2f kB for each cell (%d), its memory, with what is compiled, by %.0f kB",
			float64(growth(heap))/1024/float64(max(1, cells)), cells, float64(growth(memory))/1024/float64(max(1, cells)))
		grown("engine's heap", cells*statementMemory+1<<20, heap)
	}
	grown("engine's files", soakFiles, func(u usage) int { return u.engine.files })
	grown("engine's threads", soakThreads, func(u usage) int { return u.engine.threads })
	grown("engine's goroutines", soakGoroutines, func(u usage) int { return u.inside[1].goroutines })
}

func median(us []usage, of func(usage) int) int {
	var values []int
	for _, u := range us {
		values = append(values, of(u))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
