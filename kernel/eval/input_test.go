package eval_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
	"cancha/kernel/eval"
	"cancha/kernel/eval/stdin"
)

// taken is the standard input of this test program, which is one for all tests.
var taken = sync.OnceValues(stdin.Take)

// newAskingNotebook returns one whose cells may ask. What they ask goes to answer, which is false to leave a question open.
func newAskingNotebook(t *testing.T, answer func(cellio.Input) (cellio.InputReply, bool)) *notebook {
	t.Helper()
	input, err := taken()
	if err != nil {
		t.Fatal(err)
	}
	var n *notebook
	asker := cellio.NewAsker(func(f cellio.Frame) error {
		var in cellio.Input
		if err := json.Unmarshal(f.Body, &in); err != nil {
			return err
		}
		go func() {
			if reply, ok := answer(in); ok {
				n.program.AnswerInput(f.Seq, reply)
			}
		}()
		return nil
	})
	cellio.AttachAsker(asker)
	t.Cleanup(func() { cellio.AttachAsker(nil) })
	n = newConfiguredNotebook(t, eval.Config{Slow: time.Hour, Asker: asker, Stdin: input})
	return n
}

// lines answers questions one after another; after the last it says EOF.
func lines(answers ...string) func(cellio.Input) (cellio.InputReply, bool) {
	var mu sync.Mutex
	return func(cellio.Input) (cellio.InputReply, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) == 0 {
			return cellio.InputReply{EOF: true}, true
		}
		a := answers[0]
		answers = answers[1:]
		return cellio.InputReply{Value: a}, true
	}
}

const (
	scanLine = "var word string\nn, err := fmt.Scanln(&word)\nfmt.Println(n, err, word)"
	scanFunc = "func scan() {\n\tvar word string\n\tn, err := fmt.Scanln(&word)\n\tfmt.Println(n, err, word)\n}\nscan()"
	askLine  = "import \"cancha/runtime/session\"\nline, err := session.Input(\"?\")\nfmt.Println(line, err)"
)

func TestInput(t *testing.T) {
	for _, c := range []struct {
		name, code, want string
		answers          []string
	}{
		{"Scanln", scanLine, "1 <nil> ø𝔊\n", []string{"ø𝔊"}},
		{"Scanln in a function", scanFunc, "1 <nil> x\n", []string{"x"}},
		{"Scan of values in one line", "var a, b, c int\nfmt.Scan(&a, &b, &c)\nfmt.Println(a + b + c)", "42\n", []string{"1 2 39"}},
		{"a scanner to the end", "import \"bufio\"\ns := bufio.NewScanner(os.Stdin)\nfor s.Scan() {\n\tfmt.Println(s.Text())\n}\nfmt.Println(s.Err())",
			"x\ny z\n<nil>\n", []string{"x", "y z"}},
		{"ReadAll", "b, err := io.ReadAll(os.Stdin)\nfmt.Printf(\"%q %v\\n\", b, err)", "\"x\\ny\\n\" <nil>\n", []string{"x", "y"}},
		{"a declared reader", "import \"bufio\"\ntype in struct{ *bufio.Reader }\nfunc (i in) line() string { s, _ := i.ReadString('\\n'); return s }\nfmt.Print(in{bufio.NewReader(os.Stdin)}.line())",
			"x\n", []string{"x"}},
		{"a library", "import \"encoding/json\"\nvar m map[string]int\nerr := json.NewDecoder(os.Stdin).Decode(&m)\nfmt.Println(m[\"a\"], err)",
			"7 <nil>\n", []string{"{\"a\":", "7}"}},
		{"session.Input", askLine, "Ada <nil>\n", []string{"Ada"}},
		{"session.Input at the end", askLine, " EOF\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newAskingNotebook(t, lines(c.answers...))
			n.ok(c.code)
			if got := n.stream("stdout"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestInputAcrossCells: what is unread at a cell's end is dropped, and an end of input is the end of nothing but its read.
func TestInputAcrossCells(t *testing.T) {
	n := newAskingNotebook(t, lines("one two three", "four"))
	n.ok("var word string\nfmt.Scan(&word)\nfmt.Println(word)", "fmt.Scan(&word)\nfmt.Println(word)", "_, err := fmt.Scan(&word)\nfmt.Println(err)")
	n.ok("m, err := fmt.Scan(&word)\nfmt.Println(m, err)")
	if got, want := n.stream("stdout"), "one\nfour\nEOF\n0 EOF\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInputDenied: a cell that reads os.Stdin where nobody can be asked fails, and says why.
func TestInputDenied(t *testing.T) {
	const why = "the front end does not allow it"
	for name, code := range map[string]string{"statements": scanLine, "a function": scanFunc} {
		t.Run(name, func(t *testing.T) {
			n := newAskingNotebook(t, func(cellio.Input) (cellio.InputReply, bool) { return cellio.InputReply{Err: why}, true })
			r := n.run(code)
			if r.Status != cell.Failed || r.Err.Name != "no input" || !strings.Contains(r.Err.Value, why) {
				t.Errorf("got %s, %v, want an error that says %q", r.Status, r.Err, why)
			}
			n.ok(askLine)
			if got := n.stream("stdout"); !strings.HasSuffix(got, why+"\n") {
				t.Errorf("session.Input: got %q, want the reason", got)
			}
		})
	}
}

// TestInputInterrupted: a cell that waits for the user is stopped at once, however it asks, and the next one asks anew.
func TestInputInterrupted(t *testing.T) {
	for name, code := range map[string]string{"statements": scanLine, "a function": scanFunc, "session.Input": askLine} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan bool)
			answers := lines("next")
			n := newAskingNotebook(t, func(in cellio.Input) (cellio.InputReply, bool) {
				if <-asked {
					return answers(in)
				}
				return cellio.InputReply{}, false
			})
			done := make(chan cell.Result, 1)
			go func() { done <- n.run(code) }()
			select {
			case asked <- false:
			case r := <-done:
				t.Fatalf("the cell has ended without asking: %v", r.Err)
			}
			began := time.Now()
			n.program.Interrupt()
			r := <-done
			if r.Status != cell.Failed || r.Err.Name != "interrupted" {
				t.Errorf("got %s, %v, want interrupted", r.Status, r.Err)
			}
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("the cell ended %v after the interrupt", took)
			}
			go func() { asked <- true }()
			n.ok(code)
			if got := n.stream("stdout"); !strings.Contains(got, "next") {
				t.Errorf("got %q, want the next cell's answer in it", got)
			}
		})
	}
}

// TestInputInterruptHandled: where the cell handles the interrupt the read ends with EOF, and the cell asks again.
func TestInputInterruptHandled(t *testing.T) {
	asked := make(chan bool)
	n := newAskingNotebook(t, func(cellio.Input) (cellio.InputReply, bool) {
		return cellio.InputReply{Value: "again"}, <-asked
	})
	done := make(chan cell.Result, 1)
	go func() {
		done <- n.run("import \"cancha/runtime/session\"\nctx, stop := session.NotifyInterrupt(session.Context())\nvar word string\n" +
			"m, err := fmt.Scanln(&word)\nfmt.Println(m, err, ctx.Err())\nstop()\nfmt.Scanln(&word)\nfmt.Println(word)")
	}()
	for _, answered := range []bool{false, true} {
		select {
		case asked <- answered:
		case r := <-done:
			t.Fatalf("the cell has ended without asking: %v", r.Err)
		}
		if !answered {
			n.program.Interrupt()
		}
	}
	if r := <-done; r.Status != cell.OK {
		t.Fatalf("got %v", r.Err)
	}
	if got, want := n.stream("stdout"), "0 EOF context canceled\nagain\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInputAfterCell: nobody can be asked for a goroutine whose cell has ended, and its reads end at once.
func TestInputAfterCell(t *testing.T) {
	n := newAskingNotebook(t, func(cellio.Input) (cellio.InputReply, bool) {
		t.Error("somebody was asked")
		return cellio.InputReply{}, false
	})
	n.ok("import \"cancha/runtime/session\"\ngoOn := make(chan bool)\ngo func() {\n\t<-goOn\n\t_, err := session.Input(\"?\")\n\tfmt.Println(err)\n" +
		"\tvar word string\n\t_, err = fmt.Scanln(&word)\n\tfmt.Println(err)\n\tfmt.Println(\"over\")\n}()")
	n.ok("go func() { time.Sleep(20 * time.Millisecond); goOn <- true }()")
	n.await("stdout", "over\n")
	if got := n.stream("stdout"); !strings.Contains(got, "nobody can be asked for input: its cell does not run\n") {
		t.Errorf("got %q", got)
	}
}
