package eval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/eval"
)

// TestExitOfTests: os.Exit in a test ends the cell that runs it with the status, as go test ends with it: no other test is begun, the process
// lives, and the next %test runs. Whatever else ends a test's goroutine fails the test alone.
func TestExitOfTests(t *testing.T) {
	longCompiled(t)
	if tools(t) == nil {
		t.Skip("tests are compiled")
	}
	exits := func(status int) string { return fmt.Sprint(eval.ExitStatus, " ", status) }
	tests := []struct{ name, code, want string }{
		{"os.Exit", "func TestA(t *testing.T) { os.Exit(3) }", exits(3)},
		{"without an error", "func TestA(t *testing.T) { os.Exit(0) }", exits(0)},
		{"log.Fatal", "func TestA(t *testing.T) { log.Fatal(\"no\") }", exits(1)},
		{"in a part of a test", "func TestA(t *testing.T) { t.Run(\"s\", func(t *testing.T) { os.Exit(3) }); fmt.Println(\"NEVER\") }", exits(3)},
		{"in parallel parts", "func TestA(t *testing.T) { for range 3 { t.Run(\"s\", func(t *testing.T) { t.Parallel(); os.Exit(3) }) } }", exits(3)},
		{"in a cleanup", "func TestA(t *testing.T) { t.Cleanup(func() { os.Exit(3) }) }", exits(3)},
		{"deferred", "func TestA(t *testing.T) { defer os.Exit(3); panic(\"lost\") }", exits(3)},
		{"under what is deferred", "func TestA(t *testing.T) { defer fmt.Println(\"NEVER\"); os.Exit(3) }", exits(3)},
		{"in a goroutine", "func TestA(t *testing.T) { go os.Exit(3); select {} }", exits(3)},
		{"on a bubble's clock", "func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(time.Hour); os.Exit(3) }) }", exits(3)},
		{"in an example", "func ExampleA() {\n\tos.Exit(3)\n\t// Output: x\n}", exits(3)},
		{"in a fuzz test", "func FuzzA(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) { os.Exit(3) }) }", exits(3)},
		{"in a benchmark", "func BenchmarkA(b *testing.B) { os.Exit(3) }", exits(3)},
		{"runtime.Goexit", "func TestA(t *testing.T) { runtime.Goexit() }", "test failure A"},
		{"FailNow", "func TestA(t *testing.T) { t.FailNow() }", "test failure A"},
		{"FailNow in a goroutine", "func TestA(t *testing.T) { var wg sync.WaitGroup; wg.Go(t.FailNow); wg.Wait() }", "test failure A"},
		{"FailNow in a cleanup", "func TestA(t *testing.T) { t.Cleanup(t.FailNow) }", "test failure A"},
	}
	n := newNotebook(t)
	n.ok("keep := 41")
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			name := fmt.Sprintf("A%d", i)
			for _, kind := range []string{"Test", "Example", "Fuzz", "Benchmark"} {
				tt.code = strings.ReplaceAll(tt.code, kind+"A(", kind+name+"(")
			}
			command := "%test"
			if strings.HasPrefix(tt.code, "func Benchmark") {
				command = "%bench"
			}
			from := n.sentSoFar()
			r := n.within(time.Minute, tt.code+fmt.Sprintf("\nfunc TestZ%d(t *testing.T) { fmt.Println(\"NEXT\") }\n%s", i, command))
			if r.Status != cell.Failed {
				t.Fatalf("got %+v, want a failure", r)
			}
			text, failed := n.since(from), strings.HasPrefix(tt.want, "test failure")
			if got := r.Err.Name + " " + r.Err.Value; !failed && got != tt.want || failed && !strings.HasPrefix(got, "test failure") {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			isTest := strings.HasPrefix(tt.code, "func Test") // which come first
			if strings.Contains(text, "NEVER") || isTest && strings.Contains(text, "NEXT") != failed {
				t.Errorf("the cell prints\n%s", text)
			}
			n.ok(fmt.Sprintf("keep++; fmt.Println(keep)\nfunc TestY%d(t *testing.T) {}\n%%test", i))
			if got := n.since(from); !strings.Contains(got, fmt.Sprintf(`%d\n`, 42+i)) {
				t.Errorf("the variable is lost:\n%s", got)
			}
		})
	}
	if len(n.exited) > 0 {
		t.Errorf("the process was ended: %v", n.exited)
	}
}

// within runs a cell that is to end in time, which fails the test otherwise.
func (n *notebook) within(most time.Duration, code string) cell.Result {
	n.t.Helper()
	done := make(chan cell.Result, 1)
	go func() { done <- n.run(code) }()
	select {
	case r := <-done:
		return r
	case <-time.After(most):
		n.t.Fatal("the cell does not end")
		return cell.Result{}
	}
}
