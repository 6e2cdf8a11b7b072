package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"cancha/kernel/cell"
	"cancha/kernel/eval"
)

// TestExit: os.Exit, wherever a cell calls it, ends the cell with an error that has the status, and nothing else: variables are kept, what
// the cell has deferred is not run, and nothing runs after the call.
func TestExit(t *testing.T) {
	once(t)
	tests := []struct {
		name, code string
		want       int
	}{
		{"os.Exit", `fmt.Println("before"); os.Exit(3); fmt.Println("after")`, 3},
		{"without an error", `fmt.Println("before"); os.Exit(0); fmt.Println("after")`, 0},
		{"log.Fatal", `fmt.Println("before"); log.Fatal("no"); fmt.Println("after")`, 1},
		{"log.Fatalf", `fmt.Println("before"); log.Fatalf("no %d", 1); fmt.Println("after")`, 1},
		{"a logger", `l := log.New(io.Discard, "", 0); fmt.Println("before"); l.Fatalln("no"); fmt.Println("after")`, 1},
		{"flags", `flag.CommandLine.Init("x", flag.ExitOnError); flag.CommandLine.SetOutput(io.Discard); fmt.Println("before"); flag.CommandLine.Parse([]string{"-zz"}); fmt.Println("after")`, 2},
		{"a set of flags", `fs := flag.NewFlagSet("x", flag.ExitOnError); fs.SetOutput(io.Discard); fmt.Println("before"); fs.Parse([]string{"-zz"}); fmt.Println("after")`, 2},
		{"help", `fh := flag.NewFlagSet("x", flag.ExitOnError); fh.SetOutput(io.Discard); fmt.Println("before"); fh.Parse([]string{"-h"}); fmt.Println("after")`, 0},
		{"as a value", `end := os.Exit; fmt.Println("before"); end(5); fmt.Println("after")`, 5},
		{"in a function", "func inner() { os.Exit(3) }\nfunc outer() { fmt.Println(\"before\"); inner(); fmt.Println(\"after\") }\nouter()", 3},
		{"deferred", "func end() { os.Exit(4) }\nfunc f() { defer end(); fmt.Println(\"before\") }\nf()", 4},
		{"deferred itself", "func g() { defer os.Exit(4); fmt.Println(\"before\") }\ng()", 4},
		{"deferred under a panic", "func h() { defer os.Exit(6); fmt.Println(\"before\"); panic(\"lost\") }\nh()", 6},
		{"deferred calls", "type closer struct{}\nfunc (closer) Close() { fmt.Println(\"closed\") }\nfunc quick() { keep = 100 }\n" +
			"func d() {\n\tdefer fmt.Println(\"deferred\")\n\tdefer func() { keep = 100 }()\n\tdefer quick()\n\tdefer closer{}.Close()\n\tdefer func() { fmt.Println(recover()) }()\n" +
			"\tdefer func(n int) { keep = n }(100)\n\tfmt.Println(\"before\")\n\tos.Exit(3)\n}\nd()", 3},
		{"statements that defer", "func() {\n\tdefer fmt.Println(\"deferred\")\n\tdefer func() { keep = 100 }()\n\tfmt.Println(\"before\")\n\tos.Exit(3)\n}()", 3},
		{"below recover", "func safe(f func()) { defer func() { if p := recover(); p != nil { fmt.Println(\"recovered\", p) } }(); f() }\nfmt.Println(\"before\")\nsafe(func() { os.Exit(7) })\nfmt.Println(\"after\")", 7},
		{"in a goroutine", `fmt.Println("before"); done := make(chan bool); go func() { os.Exit(8) }(); <-done; fmt.Println("after")`, 8},
		{"in a goroutine while the cell computes", `fmt.Println("before"); go func() { os.Exit(8) }(); for { }`, 8},
		{"in a goroutine of a goroutine", `fmt.Println("before"); go func() { go os.Exit(9); select {} }(); select {}`, 9},
		{"while compiled statements wait", "func dies() { go os.Exit(8) }\nfmt.Println(\"before\")\ndies()\nselect {}", 8},
		{"in a group", `fmt.Println("before"); var wg sync.WaitGroup; wg.Go(func() { os.Exit(2) }); wg.Wait(); fmt.Println("after"); select {}`, 2},
		{"in a timer", `fmt.Println("before"); time.AfterFunc(time.Millisecond, func() { os.Exit(2) }); select {}`, 2},
		{"in a sort", `fmt.Println("before"); sort.Slice([]int{2, 1}, func(i, j int) bool { os.Exit(3); return true }); fmt.Println("after")`, 3},
		{"in a once", `var once sync.Once; fmt.Println("before"); once.Do(func() { os.Exit(3) }); fmt.Println("after")`, 3},
		{"in a handler", "srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { os.Exit(3) }))\nfmt.Println(\"before\")\nhttp.Get(srv.URL)\nfmt.Println(\"after\")\nselect {}", 3},
		{"in a method that fmt calls", "type shy struct{}\nfunc (shy) String() string { os.Exit(3); return \"\" }\nfmt.Println(\"before\")\nfmt.Println(shy{})\nfmt.Println(\"after\")", 3},
		{"in a method that json calls", "type bad struct{}\nfunc (bad) MarshalJSON() ([]byte, error) { os.Exit(3); return nil, nil }\nfmt.Println(\"before\")\njson.Marshal(bad{})\nfmt.Println(\"after\")", 3},
		{"in the shown value", "type shown struct{}\nfunc (shown) String() string { os.Exit(3); return \"\" }\nfmt.Println(\"before\")\nshown{}", 3},
		{"in a type's method as a value", "type door struct{ n int }\nfunc (d door) out() { os.Exit(d.n) }\nfmt.Println(\"before\")\nf3 := door{3}.out\nf3()", 3},
		{"in a generic function", "func out[T any](v T) T { os.Exit(3); return v }\nfmt.Println(\"before\")\nout(1)", 3},
		{"in a range over a function", "fmt.Println(\"before\")\nfor range func(yield func(int) bool) { yield(1) } { os.Exit(3) }", 3},
		{"in init", "func init() { fmt.Println(\"before\"); os.Exit(3) }", 3},
		{"in a declaration", "func give() int { fmt.Println(\"before\"); os.Exit(3); return 1 }\nvar given = give()", 3},
		{"while others wait", "fmt.Println(\"before\")\nvar mu sync.Mutex\nmu.Lock()\nfor range 3 { go func() { mu.Lock(); fmt.Println(\"got\") }() }\nos.Exit(3)", 3},
	}
	n := newNotebook(t)
	n.ok("keep := 41")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			before := len(n.stream("stdout"))
			r := n.run(tt.code)
			if r.Status != cell.Failed || r.Err.Name != eval.ExitStatus || r.Err.Value != fmt.Sprint(tt.want) {
				t.Fatalf("got %+v, want an error %s %d", r.Err, eval.ExitStatus, tt.want)
			}
			if got := n.stream("stdout")[before:]; got != "before\n" {
				t.Errorf("it prints %q, want before alone", got)
			}
			before = len(n.stream("stdout"))
			n.ok("keep++; fmt.Println(keep > 41 && keep < 100)")
			if got := n.stream("stdout")[before:]; got != "true\n" {
				t.Errorf("the variable is lost, or was changed: %q", got)
			}
		})
	}
	if len(n.exited) > 0 {
		t.Errorf("the process was ended: %v", n.exited)
	}
}

// TestExitTells: the error names the functions and the line.
func TestExitTells(t *testing.T) {
	once(t)
	n := newNotebook(t)
	r := n.run("func inner() {\n\tos.Exit(3)\n}\nfunc outer() { inner() }\nouter()")
	if got := strings.Join(r.Err.Traceback, "\n"); !strings.HasPrefix(got, "exit status 3\n") || !strings.Contains(got, "in inner (cell 1:2)") || !strings.Contains(got, "in outer (cell 1:4)") {
		t.Errorf("got %s", got)
	}
}

// TestExitGivesBack: what a library's deferred function gives back is given back, a lock for one.
func TestExitGivesBack(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("var mu sync.Mutex\nfunc locked() { mu.Lock(); defer mu.Unlock(); os.Exit(3) }")
	if r := n.run("locked()"); r.Err == nil || r.Err.Name != eval.ExitStatus {
		t.Fatalf("got %+v", r.Err)
	}
	n.ok("mu.Lock(); mu.Unlock()")
}

// TestExitOfGoroutine: os.Exit in a goroutine whose cell has ended ends what that cell has left, and nothing of others.
func TestExitOfGoroutine(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("end, other := make(chan bool), make(chan bool)\ngo func() { <-end; os.Exit(3) }()\ngo func() { for { time.Sleep(time.Millisecond) } }()",
		"answer := make(chan int)\ngo func() { <-other; answer <- 42 }()",
		"end <- true")
	n.await("stderr", "exit status 3 in goroutine")
	n.ok("other <- true; fmt.Println(<-answer)")
	if got := n.stream("stdout"); got != "42\n" || len(n.exited) > 0 {
		t.Errorf("got %q, exits %v", got, n.exited)
	}
}
