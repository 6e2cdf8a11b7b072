package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// stressVariable says how often to hurt the kernel, such as 200; STRESS_SEED gives another order.
const (
	stressVariable     = "STRESS"
	stressSeedVariable = "STRESS_SEED"
)

// interruptLimit bounds how long an interrupt takes, to the reply, on a machine that does other things too; what it is to take
// with nothing else to do is 100 ms.
const interruptLimit = time.Second

// TestStress hurts one kernel again and again, by panicking, recursions, kills and interrupts in any order, and wants an answer
// after each, with the variables of before where the engine has lived: STRESS=200 CANCHA_PROGRAM=bin/cancha (an absolute path).
func TestStress(t *testing.T) {
	s := newStresser(t)
	times, err := strconv.Atoi(os.Getenv(stressVariable))
	if err != nil {
		t.Fatalf("%s: %v", stressVariable, err)
	}
	s.keep(t)
	for range times {
		next := s.pick()
		if !next.do(s, t) {
			s.keep(t)
		}
		s.answers(t, next.name)
		if t.Failed() {
			break
		}
	}
	t.Logf("hurts %v", s.done)
	s.report(t)
}

// TestInterruptsLoseNoCount interrupts 50 cells in a row while goroutines of an earlier cell count, and wants every number.
func TestInterruptsLoseNoCount(t *testing.T) {
	s := newStresser(t)
	s.ok(t, `numbers, total, lost := make(chan int), new(atomic.Int64), new(atomic.Int64)
go func() {
	for i := 0; ; i++ {
		numbers <- i
	}
}()
go func() {
	for want := 0; ; want++ {
		if got := <-numbers; got != want {
			lost.Add(1)
		}
		total.Add(1)
	}
}()`)
	before := 0
	for i := range 50 {
		s.interruptOne(t)
		counted, lost := 0, 0
		_, ms := s.run(t, "fmt.Println(total.Load(), lost.Load())")
		if _, err := fmt.Sscan(printed(ms, "stdout"), &counted, &lost); err != nil {
			t.Fatal(err)
		}
		if counted <= before || lost != 0 {
			t.Fatalf("after %d interrupts %d numbers counted (%d before), %d lost", i+1, counted, before, lost)
		}
		before = counted
	}
	t.Logf("%d numbers, none lost", before)
	s.report(t)
}

// stresser hurts a kernel.
type stresser struct {
	*subject
	random    *rand.Rand
	kept      int // what the variable kept is
	done      map[string]int
	latencies []time.Duration // from an interrupt to the reply
}

func newStresser(t *testing.T) *stresser {
	t.Helper()
	if os.Getenv(stressVariable) == "" {
		t.Skip(stressVariable + " is not set")
	}
	program := os.Getenv(programVariable)
	if program == "" {
		t.Fatal(programVariable + " does not name a cancha binary")
	}
	target := Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()}
	seed := uint64(1)
	if text := os.Getenv(stressSeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", stressSeedVariable, err)
		}
	}
	return &stresser{subject: start(t, target, target.Config), random: rand.New(rand.NewPCG(seed, 0)), done: map[string]int{}}
}

// hurt is one way to hurt; do reports whether the engine has lived.
type hurt struct {
	name   string
	weight int
	do     func(s *stresser, t *testing.T) (lived bool)
}

func hurts() []hurt {
	return []hurt{
		{"interrupt", 8, (*stresser).interruptOne},
		{"panic", 6, func(s *stresser, t *testing.T) bool { return s.fails(t, s.random.IntN(len(panicking)), panicking) }},
		{"panic in a goroutine", 2, func(s *stresser, t *testing.T) bool { s.ok(t, s.Panics); return true }},
		{"recursion", 2, (*stresser).recursion},
		{"kill", 1, (*stresser).kill},
		{"kill while busy", 1, (*stresser).killBusy},
		{"exit", 1, func(s *stresser, t *testing.T) bool { s.fails(t, 0, []string{"syscall.Exit(3)"}); return false }},
	}
}

// panicking are cells that end in one, out of their own functions, methods, literals and libraries.
var panicking = []string{
	"var m map[string]int\nm[\"a\"] = 1",
	"list := []int{1}\nfor i := range 3 {\n\tlist[i]++\n}",
	"func boom() { panic(\"boom\") }\nfunc around() { defer func() { panic(\"again\") }(); boom() }\naround()",
	"sort.Slice(make([]int, 100), func(i, j int) bool { panic(fmt.Errorf(\"less %d\", 1)) })",
	"type T struct{ p *int }\nfunc (t *T) Get() int { return *t.p }\n(&T{}).Get()",
	"zero := 0\nfmt.Println(1 / zero)",
	"var a any = 1\n_ = a.(string)",
}

// interruptible are cells that print something and then run until they are interrupted.
var interruptible = []string{
	"fmt.Println(1)\nfor {\n}",
	"fmt.Println(1)\n<-make(chan int)",
	"fmt.Println(1)\nselect {}",
	"fmt.Println(1)\ntime.Sleep(time.Hour)",
	"locked := new(sync.Mutex)\nlocked.Lock()\nfmt.Println(1)\nlocked.Lock()",
	"fmt.Println(1)\nsort.Slice(make([]int, 100), func(i, j int) bool { for { } })",
	"func spin(n int) int { for i := 0; ; i++ { n ^= i } }\nfmt.Println(1)\nspin(3)",
	"fmt.Println(1)\nfor { func() { defer func() { recover() }(); for { } }() }",
	"group := new(sync.WaitGroup)\ngroup.Add(1)\nfmt.Println(1)\ngroup.Wait()",
}

func (s *stresser) pick() hurt {
	all, total := hurts(), 0
	for _, h := range all {
		total += h.weight
	}
	n := s.random.IntN(total)
	i := slices.IndexFunc(all, func(h hurt) bool { n -= h.weight; return n < 0 })
	s.done[all[i].name]++
	return all[i]
}

func (s *stresser) ok(t *testing.T, code string) []wire.Message {
	t.Helper()
	r, ms := s.run(t, code)
	if r.Status != cell.OK {
		t.Fatalf("cell\n%s\nfailed: %s", code, textOf(r))
	}
	return ms
}

func (s *stresser) fails(t *testing.T, i int, cells []string) bool {
	t.Helper()
	r, _ := s.run(t, cells[i])
	want(t, cells[i], r.Status, cell.Failed)
	return true
}

// keep sets a variable to something new.
func (s *stresser) keep(t *testing.T) {
	s.kept = s.random.IntN(1 << 30)
	code := fmt.Sprintf("kept := %d", s.kept)
	if r, _ := s.run(t, code); nameOf(r) == "engine died" {
		s.ok(t, code) // the kernel had not yet seen it die
	}
}

// answers wants the variable back.
func (s *stresser) answers(t *testing.T, after string) {
	t.Helper()
	ms := s.ok(t, "fmt.Println(kept)")
	want(t, "kept after "+after, strings.TrimSpace(printed(ms, "stdout")), strconv.Itoa(s.kept))
}

func (s *stresser) interruptOne(t *testing.T) bool {
	t.Helper()
	code := interruptible[s.random.IntN(len(interruptible))]
	var begun time.Time
	r := s.whileRunning(t, code, func() {
		time.Sleep(time.Duration(s.random.IntN(20)) * time.Millisecond) // at any place
		begun = time.Now()
		if err := s.client.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	})
	took := time.Since(begun)
	s.latencies = append(s.latencies, took)
	if r.Status != cell.Failed || nameOf(r) != "interrupted" {
		t.Errorf("interrupted\n%s\ngot %s %s: %s", code, r.Status, nameOf(r), textOf(r))
	}
	if took > interruptLimit {
		t.Errorf("the interrupt took %v of\n%s", took, code)
	}
	return true
}

// recursion does not end; an interpreted one is ended with the engine alive, a compiled one takes the engine with it.
func (s *stresser) recursion(t *testing.T) bool {
	r, _ := s.run(t, "func down(n int) int { return down(n+1) + 1 }\ndown(0)")
	want(t, "recursion", r.Status, cell.Failed)
	return nameOf(r) != "engine died"
}

func (s *stresser) kill(t *testing.T) bool {
	s.killEngine(t, s.enginePID(t))
	return false
}

func (s *stresser) killBusy(t *testing.T) bool {
	pid := s.enginePID(t)
	r := s.whileRunning(t, interruptible[0], func() { s.killEngine(t, pid) })
	want(t, "killed while busy", nameOf(r), "engine died")
	return false
}

func (s *stresser) enginePID(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(printed(s.ok(t, "fmt.Println(os.Getpid())"), "stdout")))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (s *stresser) killEngine(t *testing.T, pid int) {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// nameOf and textOf are those of a reply's error, "" where there is none.
func nameOf(r client.Reply) string {
	if r.Err == nil {
		return ""
	}
	return r.Err.Name
}

func textOf(r client.Reply) string {
	if r.Err == nil {
		return ""
	}
	return r.Err.Value
}

func (s *stresser) report(t *testing.T) {
	if len(s.latencies) == 0 {
		return
	}
	slices.Sort(s.latencies)
	at := func(p int) time.Duration { return s.latencies[(len(s.latencies)-1)*p/100] }
	t.Logf("%d interrupts, to the reply: median %v, p99 %v, longest %v", len(s.latencies), at(50), at(99), at(100))
}
