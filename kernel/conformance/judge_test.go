package main

import (
	"strings"
	"testing"

	"cancha/kernel/cell"
)

func TestJudge(t *testing.T) {
	panicked := func(value string) *cell.Error { return &cell.Error{Name: "panic", Value: value} }
	left := func(value string) *cell.Error {
		return &cell.Error{Name: "engine died", Value: value + "; all variables are lost, a fresh engine runs the next cell"}
	}
	for _, test := range []struct {
		name string
		got  played
		want behaviour
		is   verdict
	}{
		{"the same output", played{stdout: "1\n", stderr: "2\n"}, behaviour{Stdout: "1\n", Stderr: "2"}, equal},
		{"other addresses", played{stdout: "at 0xc000012345"}, behaviour{Stdout: "at 0xc000054321"}, equal},
		{"what the kernel notes", played{stderr: "note: it is so\nx\n"}, behaviour{Stderr: "x\n"}, equal},
		{"another output", played{stdout: "1"}, behaviour{Stdout: "2"}, wrong},
		{"another error output", played{stderr: "1"}, behaviour{}, wrong},
		{"nothing came", played{}, behaviour{Stderr: sentinel}, wrong},
		{"refused", played{failure: &cell.Error{Name: "compile error"}}, behaviour{Stdout: "1"}, refused},
		{"late", played{late: true, stdout: "1"}, behaviour{Stdout: "1"}, tooSlow},
		{"the same panic", played{failure: panicked("boom")}, behaviour{Exit: 2, Panic: "boom"}, equal},
		{"one that was recovered before", played{failure: panicked("boom")}, behaviour{Exit: 2, Panic: "boom [recovered, repanicked]"}, equal},
		{"a panic of a struct", played{failure: panicked("{1}")}, behaviour{Exit: 2, Panic: "(main.T) 0xc000012345"}, equal},
		{"a struct's panic in place of which nothing came", played{}, behaviour{Exit: 2, Panic: "(main.T) 0xc000012345"}, wrong},
		{"a panic of two lines", played{failure: panicked("a\nb\n")}, behaviour{Exit: 2, Panic: "a\n\tb"}, equal},
		{"a panic of a deferred call", played{failure: panicked("b")}, behaviour{Exit: 2, Panic: "a\n\tpanic: b"}, equal},
		{"the first of two panics", played{failure: panicked("a")}, behaviour{Exit: 2, Panic: "a\n\tpanic: b"}, wrong},
		{"another panic", played{failure: panicked("boom")}, behaviour{Exit: 2, Panic: "bang"}, wrong},
		{"a panic that the program does not have", played{failure: panicked("boom")}, behaviour{}, wrong},
		{"no panic where the program has one", played{}, behaviour{Exit: 2, Panic: "boom"}, wrong},
		{"the same exit", played{failure: left("the cell ended the process with exit status 3 (by syscall.Exit)")}, behaviour{Exit: 3}, equal},
		{"exit 0", played{failure: left("the cell ended the process (exit status 0, by syscall.Exit)")}, behaviour{}, equal},
		{"another exit", played{failure: left("the cell ended the process with exit status 1 (by syscall.Exit)")}, behaviour{Exit: 3}, wrong},
		{"the cell exits", played{failure: &cell.Error{Name: "exit status", Value: "3"}}, behaviour{Exit: 3}, equal},
		{"the cell exits with another", played{failure: &cell.Error{Name: "exit status", Value: "0"}}, behaviour{Exit: 3}, wrong},
		{"the engine died", played{failure: left("fatal error: no")}, behaviour{}, died},
	} {
		if got, detail := judge(test.got, test.want); got != test.is {
			t.Errorf("%s: got %s (%s), want %s", test.name, got, detail, test.is)
		}
	}
}

func TestCutReport(t *testing.T) {
	for _, test := range []struct{ stderr, before, panicked string }{
		{"a\n", "a\n", ""},
		{"a\npanic: boom\n\ngoroutine 1 [running]:\nmain.main()\n", "a\n", "boom"},
		{"panic: a\n\tpanic: b\n\ngoroutine 1 [running]:\n", "", "a\n\tpanic: b"},
		{"panic: runtime error: x\n[signal SIGSEGV: …]\n\ngoroutine 1 [running]:\n", "", "runtime error: x"},
		{"a, panic: bpanic: boom\n\ngoroutine 1 [running]:\n", "a, panic: b", "boom"},
		{"a\nSIGTRAP: trace trap\nPC=0x47 m=0 sigcode=128\n\ngoroutine 1 gp=0xc [running]:\n", "a\n", "SIGTRAP: trace trap"},
		{"a, panic: b\n", "a, panic: b\n", ""},
		{"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n", "", "all goroutines are asleep - deadlock!"},
	} {
		if before, panicked := cutReport(test.stderr); before != test.before || panicked != test.panicked {
			t.Errorf("%q: got %q and %q, want %q and %q", test.stderr, before, panicked, test.before, test.panicked)
		}
	}
}

func TestArchive(t *testing.T) {
	cases, err := readArchive("# head\n=== one\na := 1\n---\n\nb\n-- expect --\n1\n2\n=== two\n-- expect --\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 2 || len(cases[0].cells) != 2 || cases[0].cells[1] != "b" || cases[0].expect != "1\n2" {
		t.Fatalf("got %+v", cases)
	}
	refusal := &cell.Error{Name: "compile error"}
	for _, test := range []struct {
		name string
		got  played
		is   verdict
	}{
		{"as expected", played{stdout: "1\n2\n"}, equal},
		{"with a failure that belongs to it", played{stdout: "1\n2\n", failure: &cell.Error{Name: "panic"}}, equal},
		{"refused at once", played{failure: refusal}, refused},
		{"refused in the middle", played{stdout: "1\n3\n", before: "1\n", failure: refusal}, refused},
		{"wrong before it was refused", played{stdout: "3\n", before: "3\n", failure: refusal}, wrong},
		{"another output", played{stdout: "1\n"}, wrong},
		{"late", played{stdout: "1\n2\n", late: true}, tooSlow},
	} {
		if got, _ := cases[0].judge(test.got); got != test.is {
			t.Errorf("%s: got %s, want %s", test.name, got, test.is)
		}
	}
	if _, err := readArchive("=== one\nx\n"); err == nil {
		t.Error("a case without expectation: got no error")
	}
}

func TestPrograms(t *testing.T) {
	for _, test := range []struct {
		name, source string
		runs         bool
	}{
		{"plain", "// run\n\npackage main\n", true},
		{"behind constraints", "\n//go:build !nothing\n\n// run\n\npackage main\n", true},
		{"a constraint that does not hold", "// run\n\n//go:build nothing\n\npackage main\n", false},
		{"with flags", "// run -race\n\npackage main\n", false},
		{"another action", "// compile\n\n// run\n\npackage main\n", false},
	} {
		if got := (program{source: test.source}).runs(); got != test.runs {
			t.Errorf("%s: got %v, want %v", test.name, got, test.runs)
		}
	}
}

// TestExclusions: what is left out exists, has a reason, and is at most 8 % of all.
func TestExclusions(t *testing.T) {
	causes, err := readExclusions(exclusionsText)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := findTree("")
	if err != nil {
		t.Skip(err)
	}
	programs, err := readTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range programs {
		names[p.name] = true
	}
	for name := range causes {
		if file, _, _ := strings.Cut(name, " "); !names[file] {
			t.Errorf("exclusions.txt names %s, which is no program that runs here", name)
		}
	}
	for _, s := range []shape{whole, split} {
		left := 0
		for _, p := range programs {
			if causes[p.name] != "" || causes[p.name+" "+string(s)] != "" {
				left++
			}
		}
		if limit := len(programs) * 8 / 100; left > limit {
			t.Errorf("shape %s: %d of %d programs left out, want at most %d", s, left, len(programs), limit)
		}
	}
}
