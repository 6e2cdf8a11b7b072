package eval_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// interrupt runs a cell, interrupts it once it has printed "go" and returns how it ended and how long it took to.
func (n *notebook) interrupt(code string) (cell.Result, time.Duration) {
	n.t.Helper()
	before := strings.Count(n.stream("stdout"), "go\n")
	done := make(chan cell.Result, 1)
	go func() { done <- n.run(code) }()
	deadline := time.Now().Add(10 * time.Second)
	for strings.Count(n.stream("stdout"), "go\n") == before {
		if time.Now().After(deadline) {
			n.t.Fatalf("cell did not start:\n%s", code)
		}
		time.Sleep(time.Millisecond) // polls; how long does not matter
	}
	start := time.Now()
	n.program.Interrupt()
	select {
	case r := <-done:
		return r, time.Since(start)
	case <-time.After(10 * time.Second):
		n.t.Fatalf("cell was not stopped:\n%s", code)
	}
	return cell.Result{}, 0
}

// promptly is how soon an interrupted cell ends at the latest where others use the machine, too: it takes 100 ms alone.
const promptly = 5 * time.Second

// TestInterrupt stops what cells wait in, and keeps what earlier cells have made: variables, functions and goroutines.
func TestInterrupt(t *testing.T) {
	longCompiled(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	tests := []struct{ name, code string }{
		{"empty loop", `fmt.Println("go"); for {}`},
		{"loop in a function", `spin := func() { for i := 0; ; i++ { } }; fmt.Println("go"); spin()`},
		{"range over int", `fmt.Println("go"); for range 1 << 40 { }`},
		{"loop that counts", "func sum(n int) (s int) {\n\tfor i := 0; i < n; i++ {\n\t\ts += i & 3\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); sum(1 << 60)"},
		{"loop down to the smallest number", "func down(n uint) (s uint) {\n\tfor i := n; i >= 0; i-- {\n\t\ts += i & 3\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); down(5)"},
		{"loop that makes no step", "func steps(n, by int) (s int) {\n\tfor i := 0; i < n; i += by {\n\t\ts += i & 3\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); steps(5, 0)"},
		{"loop with a condition", "func until(n int) (s int) {\n\tfor s >= 0 {\n\t\ts = (s + n) & 7\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); until(3)"},
		{"loop that writes a text", "fmt.Println(\"go\")\nfor b := new(strings.Builder); ; {\n\tb.WriteByte('x')\n\tb.WriteString(\"yz\")\n\tif b.Len() > 1<<20 {\n\t\tb = new(strings.Builder)\n\t}\n}"},
		{"loop in a function that writes bytes", "func write(n int) (b bytes.Buffer) {\n\tfor i := 0; i < n; i++ {\n\t\tif b.WriteByte('x'); b.Len() == 9 {\n\t\t\tb = bytes.Buffer{}\n\t\t}\n\t}\n\treturn b\n}\nfmt.Println(\"go\"); write(1 << 60)"},
		{"range in a function", "func ranges(n int) (s int) {\n\tfor i := range n {\n\t\ts += i & 3\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); ranges(1 << 60)"},
		{"loop down past 0 from a small number", "func past() (s int) {\n\tfor i := uint(9); i >= 0; i-- {\n\t\ts++\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); past()"},
		{"loop around a loop", "func around(n int) (s int) {\n\tfor i := 0; i < n; i++ {\n\t\tfor j := i; j < i+500; j++ {\n\t\t\ts += j & 3\n\t\t}\n\t}\n\treturn s\n}\nfmt.Println(\"go\"); around(1 << 60)"},
		{"literal that a library calls", "no := func(struct{}) bool { return false }\nfmt.Println(\"go\"); slices.ContainsFunc(make([]struct{}, 1<<60), no)"},
		{"goto", "fmt.Println(\"go\")\nagain:\n\tgoto again"},
		{"goto in a function", "func again() {\n\tfmt.Println(\"go\")\nagain:\n\tgoto again\n}\nagain()"},
		{"goto at a cell's end", "type label int\nfmt.Println(\"go\")\nagain:\n\tgoto again"},
		{"recursion in a loop", `var even, odd func(int) bool; even = func(n int) bool { return n == 0 || odd(n-1) }; odd = func(n int) bool { return n != 0 && even(n-1) }; fmt.Println("go"); for { even(50) }`},
		{"receive", `fmt.Println("go"); <-never`},
		{"receive in an expression", `fmt.Println("go"); fmt.Println(1 + <-never)`},
		{"receive with ok", `fmt.Println("go"); v, ok := <-never; fmt.Println(v, ok)`},
		{"send", `fmt.Println("go"); never <- 1`},
		{"nil channel", `var null chan int; fmt.Println("go"); <-null`},
		{"range over channel", `fmt.Println("go"); for range never { }`},
		{"select", `fmt.Println("go"); select { case v := <-never: fmt.Println(v); case never <- 1: }`},
		{"empty select", `fmt.Println("go"); select {}`},
		{"sleep", `fmt.Println("go"); time.Sleep(time.Hour)`},
		{"mutex", `var mu sync.Mutex; mu.Lock(); fmt.Println("go"); mu.Lock()`},
		{"mutex in a struct", `type safe struct { sync.RWMutex; n int }; s := &safe{}; s.RLock(); fmt.Println("go"); s.Lock()`},
		{"condition", `var cmu sync.Mutex; cond := sync.NewCond(&cmu); waitFor := func() { cmu.Lock(); defer cmu.Unlock(); fmt.Println("go"); cond.Wait() }; waitFor()`},
		{"wait group", `var wg sync.WaitGroup; wg.Add(1); fmt.Println("go"); wg.Wait()`},
		{"range over function", `fmt.Println("go"); for range func(yield func() bool) { for yield() {} } { }`},
		{"callback of compiled code", `fmt.Println("go"); sort.Slice(make([]int, 1<<20), func(i, j int) bool { for { } })`},
		{"callback that computes", `fmt.Println("go"); sort.Slice(make([]int, 1<<24), func(i, j int) bool { return i*j%7 < 3 })`},
		{"declared callback that computes", "func order(a, b string) int { return len(a) - len(b) }\nfmt.Println(\"go\"); slices.SortFunc(slices.Repeat([]string{\"ab\", \"a\", \"abc\"}, 1<<20), order)"},
		{"recover does not help", `fmt.Println("go"); for { func() { defer func() { recover() }(); for {} }() }`},
		{"a value's own String", "type Loop struct{}\nfunc (Loop) String() string { fmt.Println(\"go\"); for {} }\nLoop{}"},
	}
	n := newNotebook(t)
	n.ok("never := make(chan int)", "keep := 41\nfunc bump() int { keep++; return keep }\nclosure := func() int { return keep * 2 }",
		`var ticks atomic.Int64
asked, answered := make(chan int), make(chan int)
go func() { for v := range asked { ticks.Add(1); answered <- v + keep } }()`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			r, took := n.interrupt(tt.code)
			if r.Err == nil || r.Err.Name != "interrupted" {
				t.Fatalf("got %+v, want an error called interrupted", r)
			}
			if took > promptly {
				t.Errorf("took %v", took)
			}
			n.ok("x := 6 * 7")
		})
	}
	n.t = t
	n.ok("asked <- 1\nfmt.Println(keep, closure(), <-answered, ticks.Load())")
	if got, want := lastLine(n.stream("stdout")), "41 82 42 1"; got != want {
		t.Errorf("after the interrupts got %q, want %q", got, want)
	}
}

// TestLeftBehind tells where a cell is that does not stop, and goes on with the next one.
func TestLeftBehind(t *testing.T) {
	once(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	tests := []struct{ name, code, in string }{
		{"read", "pr, pw := io.Pipe()\nfmt.Println(\"go\")\nio.ReadAll(pr)", "io.ReadAll"},
		{"in a function", "pr, pw := io.Pipe()\nfunc read() { bufio.NewScanner(pr).Scan() }\nfmt.Println(\"go\")\nread()", "bufio.Scanner.Scan"},
		{"once", "var once sync.Once\ngo1 := make(chan bool)\nvar pw io.Closer = io.NopCloser(nil)\n_ = 0\nonce.Do(func() { fmt.Println(\"go\"); <-go1 })", "sync.Once.Do"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNotebook(t)
			r, took := n.interrupt(tt.code)
			if r.Err == nil || r.Err.Name != "interrupted" {
				t.Fatalf("got %+v, want an error called interrupted", r)
			}
			want := "still in " + tt.in + "; its goroutine was left behind; restart the kernel to be rid of it"
			if r.Err.Value != want {
				t.Errorf("got %q, want %q", r.Err.Value, want)
			}
			lines := strings.Count(tt.code, "\n") + 1
			if got := strings.Join(r.Err.Traceback, "\n"); !strings.Contains(got, "at cell 1:"+strconv.Itoa(lines)) {
				t.Errorf("got\n%s\nwant line %d", got, lines)
			}
			if took < testGrace || took > testGrace+2*time.Second {
				t.Errorf("took %v", took)
			}
			n.ok("x := 6 * 7\npw.Close()") // and what was left behind ends
		})
	}
}

// TestCallbacksAreNotTorn lets a library that may hold a lock come to an end before the cell is stopped.
func TestCallbacksAreNotTorn(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	n.ok("var once sync.Once\nstep, torn := 0, 0", "work := func() { fmt.Println(\"go\"); for i := range 300_000 { step = i + 1 } }")
	r, _ := n.interrupt("once.Do(work)\nfor {\n}")
	if r.Err == nil || r.Err.Name != "interrupted" {
		t.Fatalf("got %+v, want an error called interrupted", r)
	}
	n.ok("once.Do(func() { torn++ })\nfmt.Println(step, torn)")
	if got := lastLine(n.stream("stdout")); got != "300000 0" {
		t.Errorf("got %q, want 300000 0: the function of Once.Do did not end", got)
	}
	r, took := n.interrupt("fmt.Println(\"go\")\nsort.Slice(make([]int, 1<<20), func(i, j int) bool { return i < j })")
	if r.Err == nil || took > promptly {
		t.Errorf("sort.Slice: got %+v after %v", r, took)
	}
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndex(s, "\n")+1:]
}

// TestInterruptRunsDeferredCalls has an interrupted function clean up.
func TestInterruptRunsDeferredCalls(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	n.interrupt("func f() { defer fmt.Println(\"cleaned\"); fmt.Println(\"go\"); for {} }\nf()")
	if got := lastLine(n.stream("stdout")); got != "cleaned" {
		t.Errorf("got %q, want cleaned", got)
	}
}

// TestGroupAgain runs a cell again whose wait for a group was interrupted: its group is a new one in the place of the old, where a
// goroutine still waits.
func TestGroupAgain(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	for range 3 {
		n.interrupt("var group sync.WaitGroup\ngroup.Add(1)\nfmt.Println(\"go\")\ngroup.Wait()")
	}
	for range 3 {
		hangs := time.AfterFunc(10*time.Second, n.program.Interrupt)
		n.ok("var group sync.WaitGroup\nfor range 3 {\n\tgroup.Add(1)\n\tgo func() { defer group.Done() }()\n}\ngroup.Wait()")
		hangs.Stop()
	}
}
