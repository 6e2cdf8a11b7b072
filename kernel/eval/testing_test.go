package eval_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
)

var testTime = regexp.MustCompile(`\b\d+\.\d\d+s`)

const testCells = `import ("testing"; "testing/synctest")
limit := 3
func double(x int) int { return 2 * x }
func TestDouble(t *testing.T) {
	fmt.Println("printed")
	if got := double(2); got != 4 {
		t.Errorf("got %d", got)
	}
}
func TestVariable(t *testing.T) { t.Log(limit) }
func FuzzDouble(f *testing.F) {
	f.Add(2)
	f.Fuzz(func(t *testing.T, x int) { t.Log(double(x)) })
}
func BenchmarkDouble(b *testing.B) { for b.Loop() { double(2) } }
func ExampleDouble() {
	fmt.Println(double(3))
	// Output: 6
}`

// TestTests runs cells with %test and %bench in one program; times are written T.
func TestTests(t *testing.T) {
	if tools(t) == nil {
		r := newNotebook(t).run("import \"testing\"\nfunc TestX(t *testing.T) {}\n%test")
		if r.Err == nil || !strings.Contains(r.Err.Value, "%test runs compiled functions: cells are interpreted") {
			t.Errorf("got %v", r.Err)
		}
		return
	}
	tests := []struct{ name, code, want, fault string }{
		{"of the cell", testCells + "\n%test", "printed\nPASS\nok  \tcell 1\tT\n", ""},
		{"of all cells, verbose", "%test -v", "=== RUN   TestDouble\nprinted\n--- PASS: TestDouble (T)\n=== RUN   TestVariable\n    cell 1:10: 3\n--- PASS: TestVariable (T)\n" +
			"=== RUN   FuzzDouble\n=== RUN   FuzzDouble/seed#0\n    cell 1:13: 4\n--- PASS: FuzzDouble (T)\n    --- PASS: FuzzDouble/seed#0 (T)\n" +
			"=== RUN   ExampleDouble\n--- PASS: ExampleDouble (T)\nPASS\nok  \tcell 2\tT\n", ""},
		{"a variable of now", "limit++\n%test -v -run=Variable", "=== RUN   TestVariable\n    cell 1:10: 4\n--- PASS: TestVariable (T)\nPASS\nok  \tcell 3\tT\n", ""},
		{"a failure", "%%test\nfunc TestWrong(t *testing.T) {\n\tt.Run(\"sub one\", func(t *testing.T) { t.Errorf(\"got %d, want 5\", double(2)) })\n}\nfunc helper() {}",
			"--- FAIL: TestWrong (T)\n    --- FAIL: TestWrong/sub_one (T)\n        cell 4:3: got 4, want 5\nFAIL\nFAIL\tcell 4\tT\n", "TestWrong failed"},
		{"panics", "func TestOne(t *testing.T) {\n\tvar p *struct{ x int }\n\tt.Log(p.x)\n}\nfunc TestSub(t *testing.T) { t.Run(\"s\", func(t *testing.T) { panic(\"boom\") }) }\n" +
			"func TestLast(t *testing.T) { t.Cleanup(func() { panic(\"late\") }) }\n%test",
			"--- FAIL: TestOne (T)\n    panic: runtime error: invalid memory address or nil pointer dereference\n        in TestOne (cell 5:3)\n        3 | \tt.Log(p.x)\n          | \t^\n" +
				"--- FAIL: TestSub (T)\n    --- FAIL: TestSub/s (T)\n        panic: boom\n            in TestSub (cell 5:5)\n" +
				"            5 | func TestSub(t *testing.T) { t.Run(\"s\", func(t *testing.T) { panic(\"boom\") }) }\n              | ^\n" +
				"--- FAIL: TestLast (T)\n    panic: late\n        in TestLast (cell 5:6)\n" +
				"        6 | func TestLast(t *testing.T) { t.Cleanup(func() { panic(\"late\") }) }\n          | ^\nFAIL\nFAIL\tcell 5\tT\n",
			"TestOne, TestSub, TestLast failed"},
		{"ends of goroutines", "func TestSkip(t *testing.T) { t.Skip() }\nfunc TestExit(t *testing.T) { runtime.Goexit() }\n" +
			"func TestParent(t *testing.T) { t.Run(\"s\", func(*testing.T) { t.FailNow() }); fmt.Println(\"never\") }\n%test",
			"--- FAIL: TestExit (T)\n    test executed panic(nil) or runtime.Goexit\n--- FAIL: TestParent (T)\n    --- FAIL: TestParent/s (T)\n" +
				"        testing.go:N: test executed panic(nil) or runtime.Goexit: subtest may have called FailNow on a parent test\nFAIL\nFAIL\tcell 6\tT\n",
			"TestExit, TestParent failed"},
		{"parallel", "func TestParallel(t *testing.T) {\n\tvar n atomic.Int32\n\tt.Cleanup(func() { fmt.Println(n.Load()) })\n\tfor range 3 {\n\t\tt.Run(\"s\", func(t *testing.T) { t.Parallel(); n.Add(1) })\n\t}\n}\n%test",
			"3\nPASS\nok  \tcell 7\tT\n", ""},
		{"a bubble's clock", "func TestHour(t *testing.T) {\n\tsynctest.Test(t, func(t *testing.T) {\n\t\tdone, begin := make(chan bool), time.Now()\n\t\tgo func() { time.Sleep(time.Hour); done <- true }()\n" +
			"\t\t<-done\n\t\tfmt.Println(time.Since(begin))\n\t})\n}\n%test", "1h0m0s\nPASS\nok  \tcell 8\tT\n", ""},
		{"examples", "func ExampleOrder() {\n\tfmt.Println(\"b\")\n\tfmt.Println(\"a\")\n\t// Unordered output:\n\t// a\n\t// b\n}\nfunc ExampleWrong() {\n\tfmt.Println(\"c\")\n\t// Output: d\n}\n" +
			"func ExampleSilent() { panic(\"is not run\") }\n%test", "--- FAIL: ExampleWrong (T)\ngot:\nc\nwant:\nd\nFAIL\nFAIL\tcell 9\tT\n", "an example failed"},
		{"a test that no cell has", "%test -run Nothing", "testing: warning: no tests to run\nPASS\nok  \tcell 10\tT\n", ""},
		{"wrong signature", "func TestOther(x int) {}\n%test", "", "%test: wrong signature for TestOther (cell 11:1), must be: func TestOther(t *testing.T)"},
		{"wrong flag", "%test -bogus", "", "%test: there is no flag -bogus; there are -bench"},
		{"panics of reflect, and errors", "func TestReflect(t *testing.T) { reflect.ValueOf(1).Len() }\nfunc TestCheck(t *testing.T) { must(os.Open(\"nope\")) }\n" +
			"func ExampleReflect() {\n\treflect.ValueOf(1).Len()\n\t// Output:\n}\n%test",
			"--- FAIL: TestReflect (T)\n    panic: reflect: call of reflect.Value.Len on int Value\n        in TestReflect (cell 13:1)\n" +
				"        1 | func TestReflect(t *testing.T) { reflect.ValueOf(1).Len() }\n          | ^\n" +
				"--- FAIL: TestCheck (T)\n    error: open nope: no such file or directory (*fs.PathError)\n        in TestCheck (cell 13:2)\n" +
				"        2 | func TestCheck(t *testing.T) { must(os.Open(\"nope\")) }\n          | ^\n" +
				"--- FAIL: ExampleReflect (T)\ngot:\npanic: reflect: call of reflect.Value.Len on int Value\n    in ExampleReflect (cell 13:4)\n" +
				"    4 | \treflect.ValueOf(1).Len()\n      | \t^\nwant:\n\nFAIL\nFAIL\tcell 13\tT\n",
			"TestReflect, TestCheck failed"},
		{"a quote that is not closed", "%test -run 'Dou", "", "%test: a quote (') is not closed"},
		{"on the first line", "%test -v\nfunc TestBelow(t *testing.T) {}", "=== RUN   TestBelow\n--- PASS: TestBelow (T)\nPASS\nok  \tcell 15\tT\n", ""},
		{"afterwards", "fmt.Println(os.Stdout.Name(), flag.Lookup(\"test.bogus\"))", "/dev/stdout <nil>\n", ""},
	}
	n := newNotebook(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			before := len(n.stream("stdout"))
			r := n.run(tt.code)
			fault := ""
			if r.Err != nil {
				fault = r.Err.Value
			}
			if fault != tt.fault && (tt.fault == "" || !strings.HasPrefix(fault, tt.fault)) {
				t.Errorf("error %q, want %q", fault, tt.fault)
			}
			got := testTime.ReplaceAllString(n.stream("stdout")[before:], "T")
			if got = regexp.MustCompile(`testing.go:\d+`).ReplaceAllString(got, "testing.go:N"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestBench(t *testing.T) {
	if tools(t) == nil {
		t.Skip("benchmarks are compiled")
	}
	n := newNotebook(t)
	n.ok(testCells, "func BenchmarkParallel(b *testing.B) { b.RunParallel(func(pb *testing.PB) { for pb.Next() { double(2) } }) }")
	n.ok("%bench -bench=. -benchtime=20x -benchmem")
	want := regexp.MustCompile(`(?s)^goos: \w+\ngoarch: \w+\npkg: main\n.*BenchmarkDouble\S* +\t +20\t.* ns/op\t +\d+ B/op\t +0 allocs/op\nBenchmarkParallel\S* +\t +20\t.*PASS\nok  \tcell 3\t`)
	if got := n.stream("stdout"); !want.MatchString(got) {
		t.Errorf("got\n%s", got)
	}
	r := n.run("func BenchmarkPanics(b *testing.B) { b.RunParallel(func(pb *testing.PB) { panic(\"boom\") }) }\n%bench -benchtime=20x")
	if r.Err == nil || r.Err.Name != "test failure" || !strings.Contains(n.stream("stdout"), "panic: boom") {
		t.Errorf("error %v, output\n%s", r.Err, n.stream("stdout"))
	}
}

func TestInterruptedTests(t *testing.T) {
	if tools(t) == nil {
		t.Skip("tests are compiled")
	}
	n := newNotebook(t)
	n.ok(`import "testing"
func TestLoop(t *testing.T) { fmt.Println("begun"); for { } }
func TestWait(t *testing.T) { t.Run("s", func(t *testing.T) { fmt.Println("begun"); <-make(chan int) }) }
func TestNext(t *testing.T) { fmt.Println("no more") }`)
	for _, name := range []string{"Loop", "Wait"} {
		before := len(n.stream("stdout"))
		done := make(chan cell.Result, 1)
		go func() { done <- n.run("%test -run '" + name + "|Next'") }()
		for !strings.Contains(n.stream("stdout")[before:], "begun") {
			time.Sleep(time.Millisecond) // polls: the test is in the cell
		}
		n.program.Interrupt()
		if r := <-done; r.Err == nil || r.Err.Name != "interrupted" {
			t.Errorf("%s: got %v, want an interrupt", name, r.Err)
		}
		if strings.Contains(n.stream("stdout"), "no more") {
			t.Error("a test began after the interrupt")
		}
	}
	n.ok("fmt.Println(os.Stdout.Name())")
}
