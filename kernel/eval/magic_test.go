package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/kernel/cell"
)

// TestMagicOutput runs cells with magics in one program; each row's output is compared.
func TestMagicOutput(t *testing.T) {
	once(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("CANCHA_MAGIC", "set before")
	tests := []struct{ name, code, want string }{
		{"order", "fmt.Println(\"a\")\n!echo b\nfmt.Println(\"c\")", "a\nb\nc\n"},
		{"variables pass from piece to piece", "x := 1\n%pwd\nx++\nfmt.Println(x)", dir + "\n2\n"},
		{"the function of a later piece is not there yet", "%pwd\nfunc later() int { return 3 }\nfmt.Println(later())", dir + "\n3\n"},
		{"shell in the directory of the cells", "!pwd", dir + "\n"},
		{"shell pipe", "!printf 'a\\nb\\n' | wc -l | tr -d ' '", "2\n"},
		{"shell over lines", "!echo a \\\n  b", "a b\n"},
		{"shell sees the environment", "%env CANCHA_MAGIC=now\n!echo $CANCHA_MAGIC", "env: CANCHA_MAGIC=now\nnow\n"},
		{"Go sees the environment", "%env CANCHA_MAGIC then\nfmt.Println(os.Getenv(\"CANCHA_MAGIC\"))", "env: CANCHA_MAGIC=then\nthen\n"},
		{"one variable", "%env CANCHA_MAGIC", "then\n"},
		{"writefile", "%%writefile sub.txt\n%pwd\n  x := `\n", "Writing sub.txt\n"},
		{"as it was written", "!cat sub.txt", "%pwd\n  x := `\n"},
		{"writefile again", "%%writefile sub.txt\nnew", "Overwriting sub.txt\n"},
		{"writefile, added", "%%writefile -a sub.txt\nmore", "Appending to sub.txt\n"},
		{"both", "!cat sub.txt", "new\nmore\n"},
		{"cd", "!mkdir d\n%cd d", filepath.Join(dir, "d") + "\n"},
		{"cd back", "%cd -", dir + "\n"},
		{"who", "a1, b1 := 1, 2\n%who", "a1  b1  later  x\n"},
		{"who at its place", "%who\nc1 := 3", "a1  b1  later  x\n"},
		{"reset", "%reset -f\n%who", "all names are forgotten; what runs in the background goes on\nno names are declared\n"},
		{"names are free after reset", "%reset\nx := \"s\"\nfmt.Println(x)", "all names are forgotten; what runs in the background goes on\ns\n"},
		{"help", "%help pwd", "%pwd\n\nPrint the working directory.\n"},
		{"engine", "%engine interp", "interp: cells are interpreted, as asked for\n"},
		{"and then as before", "%engine auto", "auto: AUTO\n"},
		{"one cell interpreted", "%%interp\nfmt.Println(1)\n%engine", "1\ninterp: cells are interpreted, as asked for\n"},
		{"and then as before", "%engine", "auto: AUTO\n"},
	}
	n := newNotebook(t)
	_, auto := n.program.Engine() // it depends on the tools at hand
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			before := len(n.stream("stdout"))
			n.ok(tt.code)
			if got, want := n.stream("stdout")[before:], strings.Replace(tt.want, "AUTO", auto, 1); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// TestEnvironmentHidesSecrets: a list of all variables shows no value that lets its reader in, by its name or by what it holds.
func TestEnvironmentHidesSecrets(t *testing.T) {
	once(t)
	t.Setenv("CANCHA_UI_TOKEN", "s3cret")
	t.Setenv("CANCHA_MASTER", "sc://spark:15002/;token=s3cret")
	n := newNotebook(t)
	n.ok("%env")
	got := n.stream("stdout")
	if strings.Contains(got, "s3cret") || !strings.Contains(got, "CANCHA_MASTER=<hidden>\n") {
		t.Errorf("got %s", got)
	}
	n.ok("%env CANCHA_MASTER sc://spark:15002/;x-let-in=s3cret;token=s3cret", "%env CANCHA_MASTER", "%env CANCHA_MASTER=sc://spark:15002/;x-let-in=s3cret", "%env")
	if got := n.stream("stdout"); strings.Contains(got, "s3cret") || os.Getenv("CANCHA_MASTER") != "sc://spark:15002/;x-let-in=s3cret" {
		t.Errorf("of a master: got %s", got)
	}
}

// TestReset leaves what runs in the background alone.
func TestReset(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("ask := make(chan string)\nkeep := ask\ngo func() { for s := range ask { fmt.Println(s) } }()", "timer := time.AfterFunc(50*time.Millisecond, func() { ask <- \"still here\" })\n_ = timer", "%reset", "keep := 1\nkeep")
	n.await("stdout", "still here\n")
	if got := n.results(); !slices.Equal(got, []string{"1"}) {
		t.Errorf("got %q, want 1", got)
	}
}

// TestMagicErrors refuses cells before anything of them runs, and points at the line.
func TestMagicErrors(t *testing.T) {
	once(t)
	tests := []struct{ name, code, want string }{
		{"unknown", "x++\n%tme x", "cell %d:2: there is no magic %%tme; there is %%time (%%lsmagic lists all)\n    2 | %%tme x"},
		{"unknown, nothing near", "x++\n%zzzzzzzz", "there is no magic %%zzzzzzzz; %%lsmagic lists all"},
		{"unknown cell magic", "%%perl\nprint", "there is no magic %%%%perl; %%lsmagic lists all"},
		{"cell magic as line magic", "x++\n%writefile a", "%%writefile is written %%%%writefile"},
		{"line magic as cell magic", "%%pwd\nx++", "%%%%pwd is written %%pwd"},
		{"cell magic further down", "x++\n%%time\nx++", "%%%%time belongs on the first line of a cell"},
		{"Go behind a magic", "x++\n%pwd\nnope()", "cell %d:3:1: undefined: nope\n    3 | nope()\n      | ^"},
		{"a function declared anew in front", "func g() int { return 2 }\n%pwd\nnope()", "undefined: nope"},
		{"a loop behind", "func g() int { return 3 }\n%timeit return", "what is timed cannot leave its cell"},
		{"Go in a magic", "x++\n%time nope()", "cell %d:2:7: undefined: nope\n    2 | %%time nope()\n      |       ^"},
		{"Go in a loop", "x++\n%timeit -n 2 nope()", "cell %d:2:14: undefined: nope\n    2 | %%timeit -n 2 nope()\n      |              ^"},
		{"Go of a cell magic", "%%time\nx++\nnope()", "cell %d:3:1: undefined: nope"},
		{"no command", "x++\n!", "! needs a command, such as !ls"},
		{"no statement", "x++\n%time", "%%time needs a statement: %%time STATEMENT"},
		{"bad option", "x++\n%timeit -n 0 x", "%%timeit: -n takes a number from 1 to 1,000,000,000"},
		{"unknown option", "x++\n%timeit -q 3 x", "%%timeit: there is no option -q"},
		{"arguments", "x++\n%pwd a", "%%pwd takes no arguments"},
		{"writefile without a path", "%%writefile -a\nx", "usage: %%%%writefile [-a] PATH"},
		{"other magics in %%timeit", "%%timeit\nx++\n%pwd", "%%%%timeit times Go"},
		{"return between", "x++\nif x > 0 { return }\n%pwd", "cell %d:2:1: return and defer concern a whole cell"},
		{"magic in a block", "for range 3 {\n\t%pwd\n}", "cell %d:2:2: syntax error: expected statement, found '%%' (a magic belongs at the top level of a cell)"},
		{"no such engine", "x++\n%engine fast", "%%engine: there is no engine \"fast\": use native, interp or auto"},
		{"no such directory", "%cd nowhere", "%%cd nowhere: no such file or directory"},
		{"no such variable", "%env CANCHA_NONE", "%%env CANCHA_NONE: there is no such environment variable"},
		{"modules", "%get github.com/google/uuid@v1.6.0", "%%get github.com/google/uuid@v1.6.0: "},
		{"no module", "%get", "usage: %%get [-replace] MODULE[@VERSION] or %%get ./DIR"},
		{"no such folder", "%%writefile no/such/file\nx", "%%%%writefile no/such/file: no such file or directory"},
		{"a panic in a statement", "%time panic(\"p\")", "panic: p\n    at cell %d:1\n    1 | %%time panic(\"p\")"},
	}
	n := newNotebook(t)
	n.ok("x := 0\nfunc g() int { return 1 }")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if raceEnabled && strings.HasPrefix(tt.want, "panic: ") {
				t.Skip("without lines: see raceEnabled")
			}
			r := n.run(tt.code)
			if r.Err == nil {
				t.Fatal("the cell ran")
			}
			want := strings.ReplaceAll(strings.ReplaceAll(tt.want, "%%", "\x00"), "%d", fmt.Sprint(n.serial))
			if got := strings.Join(r.Err.Traceback, "\n"); !strings.Contains(got, strings.ReplaceAll(want, "\x00", "%")) {
				t.Errorf("got\n%s\nwant in it\n%s", got, strings.ReplaceAll(want, "\x00", "%"))
			}
		})
	}
	n.ok("fmt.Print(x, g())")
	if got := n.stream("stdout"); got != "0 1" {
		t.Errorf("output %q, want 0 1: a refused cell has run in part", got)
	}
}

// TestNativeWithoutCompiler says why nothing is compiled.
func TestNativeWithoutCompiler(t *testing.T) {
	once(t)
	n := newNotebook(t)
	if n.program.SetEngine("native") == nil {
		t.Skip("this engine has one")
	}
	for _, code := range []string{"%%native\nx := 1", "%engine native"} {
		r := n.run(code)
		if r.Err == nil || !strings.Contains(r.Err.Value, "cells cannot be compiled: there is no compiler for them") {
			t.Errorf("%s: got %v, want the reason", code, r.Err)
		}
	}
}

// TestTime measures, keeps what the statement declares, and shows its value.
func TestTime(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("%time y := make([]byte, 1<<20)\nfmt.Println(len(y))", "%time len(y)", "%%time\ntime.Sleep(20 * time.Millisecond)\nlen(y) + 1")
	got := n.stream("stdout")
	form := regexp.MustCompile(`^(CPU times: user [\d.]+ [nµm]?s, sys: [\d.]+ [nµm]?s, total: [\d.]+ [nµm]?s\nWall time: ([\d.]+ [nµm]?s)\nAllocations: [\d,]+, [\d.]+ [kM]?B\n(1048576\n)?){3}$`)
	m := form.FindStringSubmatch(got)
	if m == nil {
		t.Fatalf("got %q", got)
	}
	if wall, err := time.ParseDuration(strings.ReplaceAll(m[2], " ", "")); err != nil || wall < 20*time.Millisecond || wall > 20*time.Second {
		t.Errorf("a sleep of 20 ms took %q", m[2])
	}
	if !strings.Contains(got, "1.05 MB") && !strings.Contains(got, "1.06 MB") && !strings.Contains(got, "1.1 MB") {
		t.Errorf("got %q, want the allocation of a megabyte in it", got)
	}
	if want := []string{"1048576", "1048577"}; !slices.Equal(n.results(), want) {
		t.Errorf("got %q, want %q", n.results(), want)
	}
}

// TestTimeit runs what it is told to, as often as it is told, and declares nothing.
func TestTimeit(t *testing.T) {
	once(t)
	tests := []struct{ name, code, form string }{
		{"statement", "%timeit -n 10 -r 3 n++", `^[\d.]+ [nµm]?s ± [\d.]+ [nµm]?s per loop \(mean ± std\. dev\. of 3 runs, 10 loops each\)\n$`},
		{"value", "%timeit -n1 -r1 n + 1", `of 1 run, 1 loop each\)\n$`},
		{"declaration", "%timeit -n 4 -r 2 n := n + 1", `of 2 runs, 4 loops each\)\n$`},
		{"cell", "%%timeit -n 5 -r 2\nn++\ns := 0\nfor i := range 10 {\n\ts += i\n}\ns", `of 2 runs, 5 loops each\)\n$`},
		{"by itself", "%timeit -r 1 time.Sleep(30 * time.Millisecond)", `^([3-9]\d|\d{3})(\.\d+)? ms ± 0 ns per loop \(mean ± std\. dev\. of 1 run, (10|5|2) loops each\)\n$`}, // fewer on a busy machine
	}
	n := newNotebook(t)
	n.ok("n := 0")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.t = t
			before := len(n.stream("stdout"))
			n.ok(tt.code)
			if got := n.stream("stdout")[before:]; !regexp.MustCompile(tt.form).MatchString(got) {
				t.Errorf("got %q, want %s", got, tt.form)
			}
		})
	}
	n.t = t
	n.ok("n")
	if got, want := n.results(), []string{"40"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: 3 runs of 10 loops and 2 of 5", got, want)
	}
}

// TestWhos lists values in short, and types with the cells of those that were declared anew.
func TestWhos(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("type P struct{ X int; name string }\np := P{1, \"a\"}\nlong := strings.Repeat(\"a\", 1000)\nfunc f(x int) error { return nil }",
		"var held any = p\ntype P struct{}\nconst big = 1 << 80\nconst e = 2.5\nch := make(chan P)\nvar none error\nvar nilMap map[string]int\nmany := make([]int, 1_000_000)", "%whos")
	got := n.stream("stdout")
	for _, want := range []string{
		`Name +Type +Value +Cell`, `P +type +struct\{\} +2`, `big +untyped int +2`, `ch +chan P +0x[0-9a-f]+ +2`, `e +untyped float +2.5 +2`, `f +func\(x int\) error +1`, `held +any +P \(cell 1\) \{X:1 name:a\} +2`,
		`long +string +a{47}… +1`, `many +\[\]int +\[0 0 .*… +2`, `nilMap +map\[string\]int +0 entries +2`, `none +error +<nil> +2`, `p +P \(cell 1\) +\{X:1 name:a\} +1`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(got) {
			t.Errorf("got\n%s\nwant in it %s", got, want)
		}
	}
}

// TestShellStatus tells a status other than 0 and goes on.
func TestShellStatus(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("!echo out; echo err >&2; exit 3\nfmt.Println(\"on\")")
	if got, want := n.stream("stdout"), "out\non\n"; got != want {
		t.Errorf("stdout: got %q, want %q", got, want)
	}
	if got, want := n.stream("stderr"), "err\n!echo out; echo err >&2; exit 3: exit status 3\n"; got != want {
		t.Errorf("stderr: got %q, want %q", got, want)
	}
}

// TestShellIsLive sends a command's output while it runs, and an interrupt ends it with all that it has started.
func TestShellIsLive(t *testing.T) {
	once(t)
	n := newNotebook(t)
	n.ok("x := 1")
	done := make(chan cell.Result, 1)
	file := filepath.Join(t.TempDir(), "late")
	go func() {
		done <- n.program.Run(cell.Request{Cell: 50, Count: 50, Code: "!echo started; (sleep 30; touch " + file + ") & sleep 30\nx = 2"})
	}()
	n.await("stdout", "started\n")
	start := time.Now()
	n.program.Interrupt()
	r := <-done
	if r.Err == nil || r.Err.Name != "interrupted" || strings.Contains(r.Err.Value, "left behind") {
		t.Errorf("got %v, want interrupted", r.Err)
	}
	if took := time.Since(start); took > 700*time.Millisecond {
		t.Errorf("the interrupt took %v", took)
	}
	n.ok("fmt.Println(x)")
	if got, want := n.stream("stdout"), "started\n1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a process of the command went on")
	}
}

// TestClose ends a command that runs when the engine ends.
func TestClose(t *testing.T) {
	once(t)
	n := newNotebook(t)
	done := make(chan cell.Result, 1)
	go func() {
		done <- n.program.Run(cell.Request{Cell: 50, Count: 50, Code: "!echo started; sleep 30\n!echo after"})
	}()
	n.await("stdout", "started\n")
	n.program.Close()
	if r := <-done; r.Err == nil || !strings.Contains(r.Err.Value, "the engine is ending") {
		t.Errorf("got %v, want the second command refused", r.Err)
	}
	if got, want := n.stream("stdout"), "started\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInterruptTimeit ends a loop that would go on for minutes.
func TestInterruptTimeit(t *testing.T) {
	once(t)
	if raceEnabled {
		t.Skip("interrupts are a race by design: see raceEnabled")
	}
	n := newNotebook(t)
	done := make(chan cell.Result, 1)
	go func() {
		done <- n.program.Run(cell.Request{Cell: 50, Count: 50, Code: "said := false\n%timeit -n 1000000000 if !said { said = true; fmt.Println(\"in\") }"})
	}()
	n.await("stdout", "in\n")
	n.program.Interrupt()
	if r := <-done; r.Err == nil || r.Err.Name != "interrupted" {
		t.Errorf("got %v, want interrupted", r.Err)
	}
}

// TestHelpPages explains names and magics.
func TestHelpPages(t *testing.T) {
	once(t)
	n := newNotebook(t)
	r := n.run("x := 1\n?x\n%time?\n?%tme\nnope?")
	var got []string
	for _, p := range r.Pages {
		text, _, _ := strings.Cut(p["text/plain"].(string), "\n")
		got = append(got, text)
	}
	want := []string{"var x int", "%time STATEMENT", "there is no magic %tme; there is %time (%lsmagic lists all)", "nope: nothing is known by that name"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q (%v)\nwant %q", got, r.Err, want)
	}
}

// TestMagicComplete completes magics and their arguments; the cursor is ‸.
func TestMagicComplete(t *testing.T) {
	once(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("CANCHA_MAGIC", "1")
	for _, name := range []string{"data.txt", ".hidden", "düne.go"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, code, replaced, want string }{
		{"magic", "%ti‸", "%ti", "%time %timeit"},
		{"cell magic", "%%‸", "%%", "%%bench %%interp %%native %%sql %%test %%time %%timeit %%writefile"},
		{"below Go beyond ASCII", "s := \"日本\"\n%ti‸", "%ti", "%time %timeit"},
		{"path", "%%writefile d‸", "d", "data.txt dir/ düne.go"},
		{"path behind an option", "%%writefile -a da‸", "da", "data.txt"},
		{"folder", "%cd ‸", "", "dir/"},
		{"path below one", "%cd dir/‸", "", ""},
		{"absolute path", "%cd " + dir + "/d‸", dir + "/d", dir + "/dir/"},
		{"hidden", "!cat .h‸", ".h", ".hidden"},
		{"environment", "%env CANCHA_MA‸", "CANCHA_MA", "CANCHA_MAGIC"},
		{"engine", "%engine n‸", "n", "native"},
		{"session of SQL", "%%sql ‸", "", "-o"},
		{"errors", "%errors ‸", "", "fail show off"},
		{"help of magics", "%help w‸", "w", "%who %whos"},
		{"question", "?who‸", "", ""},
		{"question about a magic", "?%who‸", "%who", "%who %whos"},
		{"question about a name", "?strings.TrimSp‸", "TrimSp", "TrimSpace"},
		{"Go in a magic", "%time fmt.Printl‸", "Printl", "Println"},
		{"Go behind a magic beyond ASCII", "!echo 日本\nfmt.Printl‸", "Printl", "Println"},
		{"Go in the body of a magic", "%%time\nfmt.Printl‸", "Printl", "Println"},
		{"no Go in a file", "%%writefile a\nfmt.Printl‸", "", ""},
	}
	n := newNotebook(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after, _ := strings.Cut(tt.code, "‸")
			code := []rune(before + after)
			c := n.program.Complete(cell.Question{Code: string(code), Cursor: len([]rune(before))})
			var texts []string
			for _, m := range c.Matches {
				texts = append(texts, m.Text)
			}
			if got := strings.Join(texts, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := string(code[c.Start:c.End]); got != tt.replaced {
				t.Errorf("replaces %q, want %q", got, tt.replaced)
			}
		})
	}
}

func TestMagicInspect(t *testing.T) {
	once(t)
	n := newNotebook(t)
	for code, want := range map[string]string{
		"%time": "%time STATEMENT", "?%time": "%time STATEMENT", "%%writefile a": "%%writefile [-a] PATH", "!echo 日\nfmt.Println": "func fmt.Println(a ...any) (n int, err error)",
		"?fmt.Println": "func fmt.Println(a ...any) (n int, err error)", "%tme": "", "!ls": "",
	} {
		in := n.program.Inspect(cell.Question{Code: code, Cursor: len([]rune(code))})
		text, _ := in.Data["text/plain"].(string)
		if got, _, _ := strings.Cut(text, "\n"); got != want || in.Found != (want != "") {
			t.Errorf("%q: got %q, want %q", code, got, want)
		}
	}
}

func TestMagicIsComplete(t *testing.T) {
	once(t)
	n := newNotebook(t)
	for code, want := range map[string]string{
		"%pwd": "complete", "%time f(x)": "complete", "%time for {": "incomplete", "%tme": "complete", "!ls \"": "complete", "!ls \\": "incomplete", "?x": "complete",
		"%%time\nf(": "incomplete", "%%writefile a\nx": "incomplete", "%%writefile a\nx\n\n": "complete", "%%perl\nx": "complete", "x := )\n%pwd": "invalid",
	} {
		if got := n.program.IsComplete(code).Status; got != want {
			t.Errorf("%q: got %s, want %s", code, got, want)
		}
	}
}
