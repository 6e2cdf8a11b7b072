package kerneltest

import (
	"os"
	"strings"
	"testing"

	"cancha/kernel/client"
)

// programVariable names the cancha binary to test, kernelVariable an installed kernelspec instead.
const (
	programVariable = "CANCHA_PROGRAM"
	kernelVariable  = "KERNELTEST_KERNEL"
)

// TestCancha runs the suite against the real kernel: CANCHA_PROGRAM=bin/cancha (an absolute path).
func TestCancha(t *testing.T) {
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip(programVariable + " does not name a cancha binary")
	}
	Run(t, Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()})
}

// TestInstalled runs the suite, with the samples of our own kernel or of Python's, against KERNELTEST_KERNEL=name.
func TestInstalled(t *testing.T) {
	name := os.Getenv(kernelVariable)
	if name == "" {
		t.Skip(kernelVariable + " does not name a kernelspec")
	}
	spec, err := client.FindSpec(name)
	if err != nil {
		t.Fatal(err)
	}
	samples := goSamples()
	if spec.Language == "python" {
		samples = pythonSamples()
	}
	Run(t, Target{Config: client.FromSpec(spec), Samples: samples})
}

func goSamples() Samples {
	withDisplay := func(code string) string { return "import \"cancha/runtime/display\"\n" + code }
	return Samples{
		Hello: `fmt.Println("hello")`, Value: "1 + 2 + 3", ValueText: "6",
		Fail: `panic("boom")`, SlowFail: "time.Sleep(300 * time.Millisecond)\npanic(\"boom\")",
		Endless: "fmt.Println(\"on\")\nfor {\n}",
		Keep:    `kept := "kept"`, Kept: `fmt.Println(kept)`,
		Lines:   "for i := 0; i < 100_000; i++ {\n\tfmt.Println(i)\n}",
		Partial: "fmt.Print(\"partial\")\ntime.Sleep(time.Second)",
		Mixed:   withDisplay("fmt.Println(1)\ndisplay.Show(display.HTML(\"<b>x</b>\"))\nfmt.Println(2)\nfmt.Fprintln(os.Stderr, 3)"),
		Late:    "go func() {\n\ttime.Sleep(50 * time.Millisecond)\n\tfmt.Println(\"late\")\n}()",
		Show:    withDisplay(`display.ShowAs("d", display.HTML("0"))`),
		Update:  withDisplay("for i := 1; i <= 3; i++ {\n\tdisplay.Update(\"d\", display.HTML(fmt.Sprint(i)))\n}"),
		Animate: withDisplay("for i := 0; i < 100; i++ {\n\tdisplay.Clear(true)\n\tdisplay.Show(display.HTML(fmt.Sprint(i)))\n}"),
		Large:   withDisplay(`display.Show(display.HTML(strings.Repeat("x", 20<<20)))`),
		Page:    "?fmt.Println",
		Deadly: map[string]string{
			"os.Exit":              "os.Exit(3)",
			"endless recursion":    "func down(n int) int { return down(n+1) + 1 }\ndown(0)",
			"panic in a goroutine": "go func() { panic(\"boom\") }()\ntime.Sleep(5 * time.Second)",
		},
		PID:      "fmt.Println(os.Getpid())",
		Complete: Completion{Code: `s := "𝔊𝔊"; fmt.Printl`, Cursor: 21, Match: "Println", Start: 15, End: 21},
		Known:    "fmt.Println", Unknown: "nothingOfThatName",
		Whole: "x := 1", Unfinished: "for i := 0; i < 3; i++ {", Invalid: "import = 7q",
		GoodExpr: "1 + 1", BadExpr: "nothingOfThatName",
	}
}

// pythonSamples are for ipykernel, the reference: what it does shows whether a case asks for too much.
func pythonSamples() Samples {
	show := "from IPython.display import display, HTML, clear_output\n"
	return Samples{
		Hello: "print('hello')", Value: "1+2+3", ValueText: "6", Fail: "raise RuntimeError('boom')",
		SlowFail: "import time; time.sleep(.3); 1/0", Endless: "print('on', flush=True)\nwhile True: pass",
		Keep: "kept = 'kept'", Kept: "print(kept)", Lines: "for i in range(100000): print(i)",
		Partial: "import time; print('partial', end='', flush=True); time.sleep(1)",
		Mixed:   show + "import sys\nprint(1); display(HTML('x')); print(2); print(3, file=sys.stderr)",
		Show:    show + "h = display(HTML('0'), display_id='d')",
		Update:  "for i in range(3): h.update(HTML(str(i)))",
		Animate: show + "for i in range(100): clear_output(wait=True); display(HTML(str(i)))",
		Large:   show + "display(HTML('x'*(20<<20)))", Page: "print?",
		Complete: Completion{Code: "s = '" + strings.Repeat("𝔊", 2) + "'; pri", Cursor: 13, Match: "print", Start: 10, End: 13},
		Known:    "print", Unknown: "nothing_of_that_name", Whole: "x = 1", Unfinished: "for i in range(3):", Invalid: "import = 7q",
		GoodExpr: "1+1", BadExpr: "nothing_of_that_name",
	}
}
