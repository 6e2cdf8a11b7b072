package tester

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
)

// suite is one of each kind.
func suite() Suite {
	return Suite{
		Name: "cell 3",
		Tests: []testing.InternalTest{
			{Name: "TestGood", F: func(t *testing.T) { fmt.Println("printed"); t.Log("logged") }},
			{Name: "TestBad", F: func(t *testing.T) {
				t.Run("sub", func(t *testing.T) { t.Parallel(); log.New(log.Writer(), "", 0).Print("to stderr"); t.FailNow() })
			}},
			{Name: "TestShort", F: func(t *testing.T) {
				if testing.Short() {
					t.Skip("short")
				}
			}},
		},
		Benchmarks: []testing.InternalBenchmark{{Name: "BenchmarkLoop", F: func(b *testing.B) {
			for b.Loop() {
			}
		}}},
		Fuzz: []testing.InternalFuzzTarget{{Name: "FuzzSeeds", Fn: func(f *testing.F) {
			f.Add(1)
			f.Fuzz(func(t *testing.T, n int) { fmt.Println("seed", n) })
		}}},
		Examples: []testing.InternalExample{{Name: "ExampleX", F: func() { fmt.Println("a") }, Output: "a\n"}},
	}
}

var times = regexp.MustCompile(`\d+\.\d+s?\b( ns/op)?`)

func TestRun(t *testing.T) {
	tests := []struct {
		name, flags string
		failed      bool
		want        string
	}{
		{"all", "", true, "printed\nto stderr\n--- FAIL: TestBad (T)\n    --- FAIL: TestBad/sub (T)\nseed 1\nFAIL\nFAIL\tcell 3\tT\n"},
		{"one", "-run Good", false, "printed\nPASS\nok  \tcell 3\tT\n"},
		{"twice", "-run=Good --count 2", false, "printed\nprinted\nPASS\nok  \tcell 3\tT\n"},
		{"verbose", "-v -run ^(TestShort|ExampleX)$ -short", false, "=== RUN   TestShort\n    tester_test.go:N: short\n--- SKIP: TestShort (T)\n=== RUN   ExampleX\n--- PASS: ExampleX (T)\nPASS\nok  \tcell 3\tT\n"},
		{"a subtest that is not there", "-run Bad/other", false, "testing: warning: no tests to run\nPASS\nok  \tcell 3\tT\n"},
		{"benchmark", "-run=^$ -bench=. -benchtime=7x", false, "BenchmarkLoop"},
		{"list", "-list .", false, "TestGood\nTestBad\nTestShort\nBenchmarkLoop\nFuzzSeeds\nExampleX\nok  \tcell 3\tT\n"},
		{"none", "-run Nothing", false, "testing: warning: no tests to run\nPASS\nok  \tcell 3\tT\n"},
	}
	stdout, flags, verbose := os.Stdout, flag.CommandLine, testing.Verbose()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			failed, err := suite().Run(strings.Fields(tt.flags), &out)
			if err != nil || failed != tt.failed {
				t.Errorf("failed %v, error %v; want %v", failed, err, tt.failed)
			}
			got := regexp.MustCompile(`go:\d+`).ReplaceAllString(times.ReplaceAllString(out.String(), "T"), "go:N")
			if tt.name == "benchmark" && strings.Contains(got, tt.want) && strings.Contains(got, "       7\t") {
				return
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	if os.Stdout != stdout || flag.CommandLine != flags || testing.Verbose() != verbose {
		t.Error("the process's output or flags are not as they were")
	}
}

// signal tells of the first write.
type signal struct{ once chan struct{} }

func (s signal) Write(p []byte) (int, error) {
	select {
	case s.once <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestRunInterrupted: a command that a test leaves behind has the output open, which an interrupt does not wait for.
func TestRunInterrupted(t *testing.T) {
	child := exec.Command("sleep", "600")
	s := Suite{Tests: []testing.InternalTest{{Name: "TestChild", F: func(t *testing.T) {
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			t.Skip(err)
		}
		fmt.Println("started")
	}}}}
	run, out := cellio.NewRun(1), signal{make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run.Do(func() { _, _ = s.Run(nil, out) })
	}()
	<-out.once
	run.Interrupt()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the run waits for the command")
	}
	if child.Process != nil {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
}

func TestCheck(t *testing.T) {
	for flags, want := range map[string]string{
		"-v -run Good -count=3 -benchmem": "",
		"-run '('":                        "-run: error parsing regexp",
		"-run a/*":                        "-run: error parsing regexp",
		"-run (a/b)":                      "",
		"-fuzz x":                         "there is no flag -fuzz; there are -bench",
		"TestGood":                        `"TestGood" is not a flag`,
		"-run":                            "-run needs a value",
		"-count many":                     `invalid value "many" for -count: parse error`,
		"-benchtime soon":                 "-benchtime",
		"-parallel 0":                     "-parallel takes a positive number",
		"-v=perhaps":                      "-v",
	} {
		err := Check(strings.Fields(flags))
		if want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "test.") {
			continue
		}
		t.Errorf("%s: got %v, want %q", flags, err, want)
	}
}
