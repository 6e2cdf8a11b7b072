package kerneltest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/kernel/client"
)

// programVariable names the cancha binary to test, kernelVariable a kernelspec instead and samplesVariable its samples,
// pythonVariable a Python that has pyzmq, whose sockets are then those of the suite.
const (
	programVariable = "CANCHA_PROGRAM"
	kernelVariable  = "KERNELTEST_KERNEL"
	samplesVariable = "KERNELTEST_SAMPLES"
	pythonVariable  = "CANCHA_PYTHON"
)

// sockets returns libzmq's where a Python is named that can lend them, else nil.
func sockets(t *testing.T) Sockets {
	t.Helper()
	if python := os.Getenv(pythonVariable); python != "" {
		return startBridge(t, python)
	}
	t.Logf("%s names no Python: the sockets are those of kernel/zmq", pythonVariable)
	return nil
}

// TestCancha runs the suite against the real kernel: CANCHA_PROGRAM=bin/cancha (an absolute path).
func TestCancha(t *testing.T) {
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip(programVariable + " does not name a cancha binary")
	}
	Run(t, Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples(), Sockets: sockets(t)})
}

// TestCanchaEncrypted is the same where the client encrypts all channels.
func TestCanchaEncrypted(t *testing.T) {
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skip(programVariable + " does not name a cancha binary")
	}
	t.Setenv(tableVariable, "") // the table is TestCancha's
	config := client.Config{Argv: []string{program, "kernel", "{connection_file}"}, Encrypted: true}
	Run(t, Target{Config: config, Samples: goSamples(), Sockets: sockets(t)})
}

// TestInstalled runs the suite against another kernel: KERNELTEST_KERNEL is the name of a kernelspec, or the path of a kernel.json or
// of its folder. Its samples are in KERNELTEST_SAMPLES, a file of Samples as JSON, or in testdata under the name of its language.
func TestInstalled(t *testing.T) {
	name := os.Getenv(kernelVariable)
	if name == "" {
		t.Skip(kernelVariable + " does not name a kernelspec")
	}
	spec, err := findSpec(name)
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv(samplesVariable)
	if path == "" {
		path = filepath.Join("testdata", spec.Language+".json")
	}
	samples := goSamples()
	if !strings.Contains(strings.ToLower(spec.DisplayName), "cancha") || os.Getenv(samplesVariable) != "" {
		if samples, err = readSamples(path); err != nil {
			t.Fatal(err)
		}
	}
	Run(t, Target{Config: client.FromSpec(spec), Samples: samples, Sockets: sockets(t)})
}

func findSpec(name string) (client.Spec, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return client.ReadSpec(strings.TrimSuffix(name, "kernel.json"))
	}
	return client.FindSpec(name)
}

func readSamples(path string) (s Samples, err error) {
	file, err := os.Open(path)
	if err != nil {
		return Samples{}, fmt.Errorf("samples: %w", err)
	}
	defer file.Close()
	d := json.NewDecoder(file)
	d.DisallowUnknownFields() // a misspelt field would be a case that is never run
	if err := d.Decode(&s); err != nil {
		return Samples{}, fmt.Errorf("samples: %s: %w", path, err)
	}
	return s, nil
}

// TestSamples reads the files of samples, and wants what no kernel can do without.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		s, err := readSamples(path)
		if err != nil {
			t.Error(err)
		}
		if s.Hello == "" || s.Value == "" || s.ValueText == "" || s.Fail == "" || s.Endless == "" {
			t.Errorf("%s lacks Hello, Value, ValueText, Fail or Endless", path)
		}
	}
}

func goSamples() Samples {
	withDisplay := func(code string) string { return "import \"cancha/runtime/display\"\n" + code }
	return Samples{
		Hello: `fmt.Println("hello")`, Value: "1 + 2 + 3", ValueText: "6",
		Fail: `panic("boom")`, Fails: `os.ReadFile("no such file")`, SlowFail: "time.Sleep(300 * time.Millisecond)\npanic(\"boom\")",
		Endless: "fmt.Println(\"on\")\nfor {\n}",
		Keep:    `kept := "kept"`, Kept: `fmt.Println(kept)`,
		Lines:   "for i := 0; i < 100_000; i++ {\n\tfmt.Println(i)\n}",
		Partial: "fmt.Print(\"partial\")\ntime.Sleep(time.Second)",
		Mixed:   withDisplay("fmt.Println(1)\ndisplay.Show(display.HTML(\"<b>x</b>\"))\nfmt.Println(2)\nfmt.Fprintln(os.Stderr, 3)"),
		Late:    "go func() {\n\ttime.Sleep(50 * time.Millisecond)\n\tfmt.Println(\"late\")\n}()",
		Slow:    "for i := 0; i < 200; i++ {\n\tfmt.Println(\"tick\")\n\ttime.Sleep(5 * time.Millisecond)\n}",
		Rich:    withDisplay(`display.HTML("<b>x</b>")`),
		JSON:    withDisplay(`display.Show(display.JSON(map[string]int{"x": 1}))`),
		Show:    withDisplay(`display.ShowAs("d", display.HTML("0"))`),
		Update:  withDisplay("for i := 1; i <= 3; i++ {\n\tdisplay.Update(\"d\", display.HTML(fmt.Sprint(i)))\n}"),
		Animate: withDisplay("for i := 0; i < 100; i++ {\n\tdisplay.Clear(true)\n\tdisplay.Show(display.HTML(fmt.Sprint(i)))\n}"),
		Large:   withDisplay(`display.Show(display.HTML(strings.Repeat("x", 20<<20)))`),
		Page:    "?fmt.Println",
		Deadly: map[string]string{
			"an exit":               "syscall.Exit(3)",
			"an exit with 0":        "syscall.Exit(0)",
			"endless recursion":     "func down(n int) int { return down(n+1) + 1 }\ndown(0)",
			"no memory":             "b := make([]byte, 1<<46)\nlen(b)",
			"a signal":              "syscall.Kill(os.Getpid(), syscall.SIGTERM)\ntime.Sleep(time.Minute)",
			"its connection closed": "for fd := 3; fd < 20; fd++ {\n\tsyscall.Close(fd)\n}\ntime.Sleep(time.Minute)",
		},
		Panics: "go func() { panic(\"boom\") }()\ntime.Sleep(200 * time.Millisecond)",
		Waits: map[string]string{
			"a sleep":        "fmt.Println(\"on\")\ntime.Sleep(time.Hour)",
			"a channel":      "fmt.Println(\"on\")\nnever := make(chan int)\n<-never",
			"a send":         "fmt.Println(\"on\")\nnobody := make(chan int)\nnobody <- 1",
			"a select":       "fmt.Println(\"on\")\nselect {}",
			"a timer":        "fmt.Println(\"on\")\n<-time.After(time.Hour)",
			"a range":        "fmt.Println(\"on\")\nquiet := make(chan int)\nfor range quiet {\n}",
			"a nested loop":  "fmt.Println(\"on\")\nfunc() {\n\tfor i := 0; ; i++ {\n\t}\n}()",
			"a read of HTTP": "server, _ := net.Listen(\"tcp\", \"127.0.0.1:0\")\nfmt.Println(\"on\")\nhttp.Get(\"http://\" + server.Addr().String())",
			"a WaitGroup":    "fmt.Println(\"on\")\nvar group sync.WaitGroup\ngroup.Add(1)\ngroup.Wait()",
			"a Mutex":        "fmt.Println(\"on\")\nvar lock sync.Mutex\nlock.Lock()\nlock.Lock()",
		},
		PID:       "fmt.Println(os.Getpid())",
		Questions: goQuestions(),

		Complete: Completion{Code: `s := "𝔊𝔊"; fmt.Printl`, Cursor: 21, Match: "Println", Start: 15, End: 21},
		Completes: []Completion{
			{Code: "fmt.Printl(1)", Cursor: 7, Match: "Println", Start: 4, End: 10},
			{Code: "strings.NewReader(\"\").Le", Cursor: 24, Match: "Len", Start: 22, End: 24},
			{Code: "type pair struct{ left, right int }\nvar p pair\np.le", Cursor: 51, Match: "left", Start: 49, End: 51},
			{Code: "import \"bytes\"\nvar b bytes.Buffer\nb.", Cursor: 36, Match: "Len", Start: 36, End: 36, Hidden: []string{"buf", "off", "grow"}},
			{Code: "fmt.", Cursor: 4, Match: "Println", Start: 4, End: 4, Hidden: []string{"newPrinter", "pp"}},
			{Code: "aé := 1\naé", Cursor: 10, Match: "aé", Start: 8, End: 10},
			{Code: "strin", Cursor: 5, Match: "strings", Start: 0, End: 5},
		},
		Nothing: []Completion{{Code: `s := "fmt.Pri"`, Cursor: 13}, {Code: "// fmt.Pri", Cursor: 10}},
		Known:   "fmt.Println", KnownSource: "Fprintln(os.Stdout", Unknown: "nothingOfThatName",
		Comms:      Comms{Target: goTarget, Open: goOpen},
		Whole:      []string{"x := 1", "", "// no more than this", "for i := range 3 {\n\tfmt.Println(i)\n}"},
		Unfinished: []string{"for i := 0; i < 3; i++ {", "s := `open", "/* open", "x :=", "fmt.Println(1,"},
		Indents: map[string]string{
			"for i := 0; i < 3; i++ {": "\t", "s := `open": "", "/* open": "", "x :=": "", "fmt.Println(1,": "\t",
		},
		Invalid:  []string{"import = 7q", "x := )"},
		GoodExpr: "1 + 1", BadExpr: "nothingOfThatName", Ignored: "message ignored",
	}
}

// goTarget and goOpen are the samples of comms.
const (
	goTarget = `import "cancha/runtime/live/comm"
echo := func(c *comm.Comm) func(comm.Message) {
	return func(m comm.Message) {
		fmt.Println("echo")
		switch string(m.Data) {
		case "\"fail\"":
			panic("comm")
		case "\"loop\"":
			for {
			}
		}
		c.Send(m.Data, nil, m.Buffers...)
	}
}
comm.RegisterTarget("echo", func(c *comm.Comm, open comm.Message) { c.OnMessage(echo(c)) })`
	goOpen = `made := comm.New("front")
made.OnMessage(echo(made))
made.Open(map[string]string{"made": "in a cell"}, map[string]string{"version": "1"})`
)
