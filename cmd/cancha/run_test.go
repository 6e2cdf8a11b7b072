//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// write makes a notebook of code cells; the first one is tagged "parameters".
func write(t *testing.T, path string, cells ...string) {
	t.Helper()
	list := []any{}
	for i, source := range cells {
		tags := []string{}
		if i == 0 {
			tags = append(tags, "parameters")
		}
		list = append(list, map[string]any{
			"cell_type": "code", "id": fmt.Sprint("c", i), "source": source, "outputs": []any{}, "execution_count": nil,
			"metadata": map[string]any{"tags": tags},
		})
	}
	raw, err := json.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": map[string]any{}, "cells": list})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("sum.ipynb"), "n := 2\nname := \"x\"", "fmt.Println(name, n)\nn * 21")
	write(t, at("fail.ipynb"), "n := 2", "fmt.Println(\"before\")\nvar s []int\ns[n] = 1", "fmt.Println(\"after\")")
	write(t, at("exit.ipynb"), "n := 2", "os.Exit(3)", "fmt.Println(\"after\")")
	write(t, at("done.ipynb"), "n := 2", "os.Exit(0)", "panic(\"after\")")
	write(t, at("leave.ipynb"), "n := 2", "syscall.Exit(3)")
	write(t, at("endless.ipynb"), "n := 2", "fmt.Println(\"on\")\nfor {\n}")
	write(t, at("ask.ipynb"), "n := 2", "var name string\nfmt.Scanln(&name)\nfmt.Println(\"not reached\")")
	write(t, at("waiting.ipynb"), "n := 2", "func f() int { return g() + n }", "fmt.Println(n)")
	write(t, at("downwards.ipynb"), "n := 2", "func f() int { return g() + n }", "func g() int { return 40 }", "fmt.Println(f())")
	if err := os.WriteFile(at("python.ipynb"), []byte(`{"nbformat":4,"cells":[],"metadata":{"kernelspec":{"language":"python"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("file.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args     string
		code           int
		stdout, stderr string
		written        string // into out.ipynb, part of it
	}{
		{"two cells", "sum.ipynb", 0, "sum.ipynb: 2 cells in", "", ""},
		{"parameters", "-p n=4 sum.ipynb -p name=y -o out.ipynb", 0, "wrote out.ipynb", "", `"84"`},
		{"a failing cell", "-o out.ipynb fail.ipynb", 1, "wrote out.ipynb", "fail.ipynb: cell 2 of 3 failed:\n\n    fmt.Println(\"before\")", "index out of range [2]"},
		{"the second notebook fails", "sum.ipynb fail.ipynb", 1, "sum.ipynb: 2 cells", "fail.ipynb: cell 2 of 3", ""},
		{"a cell that exits", "-o out.ipynb exit.ipynb", 3, "wrote out.ipynb", "exit status 3", `"ename": "exit status"`},
		{"a cell that exits without an error", "done.ipynb", 0, "done.ipynb: cell 2 of 3 has called os.Exit(0), which ends the run", "", ""},
		{"a cell that leaves the process", "leave.ipynb", 1, "", "exit status 3", ""},
		{"a cell that asks", "-o out.ipynb ask.ipynb", 1, "wrote out.ipynb", "no input: os.Stdin was read, and nobody can be asked for input", "allow_stdin is false"},
		{"too long", "-timeout 5s -o out.ipynb endless.ipynb", 1, "wrote out.ipynb", "cell 2 of 2 was interrupted: the notebook ran longer than 5s", `"on\n"`},
		{"a declaration that waits at the end", "-o out.ipynb waiting.ipynb", 1, "wrote out.ipynb", "waiting.ipynb: no cell declares what is needed by\n    f (cell 2) waits for g", "undefined: g"},
		{"written from the top down", "-o out.ipynb downwards.ipynb", 0, "downwards.ipynb: 4 cells in", "", `"42\n"`},
		{"unknown parameter", "-p m=4 sum.ipynb", 1, "", `no parameter "m"; it has n, name`, ""},
		{"wrong kind", "-p n=y sum.ipynb", 1, "", "y is not a whole number; its default is 2", ""},
		{"another language", "python.ipynb", 1, "", "python.ipynb: it is a notebook in python", ""},
		{"a file of Go", "file.go", 1, "", `"cancha query" runs a file of Go`, ""},
		{"a missing file is told before anything runs", "sum.ipynb none.ipynb", 1, "", "none.ipynb: no such file", ""},
		{"one outcome for two", "-o . sum.ipynb ./sum.ipynb", 1, "", "would both be sum.ipynb", ""},
		{"a device to write", "-o /dev/null sum.ipynb", 1, "", "/dev/null cannot be written: it is there, and no file", ""},
		{"nowhere to write", "-o /dev/null/x.ipynb sum.ipynb", 1, "", "-o: /dev/null/x.ipynb cannot be written", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.Remove(at("out.ipynb"))
			code, stdout, stderr := outcome(t, dir, append([]string{"run"}, strings.Fields(c.args)...)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nwant in it: %s\nstderr: %s\nwant in it: %s", code, c.code, stdout, c.stdout, stderr, c.stderr)
			}
			if c.stdout == "" && stdout != "" && c.code != 0 && c.name != "a cell that leaves the process" {
				t.Errorf("something ran: %s", stdout)
			}
			written, _ := os.ReadFile(at("out.ipynb")) // nothing where nothing was to be written
			if !strings.Contains(string(written), c.written) {
				t.Errorf("out.ipynb has no %s:\n%s", c.written, written)
			}
		})
	}
}

// TestStopper: the first ^C interrupts a cell, the second one ends the run, and so does one while no cell runs.
func TestStopper(t *testing.T) {
	var out strings.Builder
	ctx, s := newStopper(t.Context(), &out)
	interrupts := 0
	for range 2 { // two cells
		s.running(func() { interrupts++ })
		s.stop()
		s.running(nil)
	}
	if interrupts != 2 || ctx.Err() != nil {
		t.Errorf("%d interrupts, %v; want 2 and a run that goes on", interrupts, ctx.Err())
	}
	s.running(func() { interrupts++ })
	s.stop()
	s.stop()
	s.close()
	if cause := context.Cause(ctx); interrupts != 3 || !errors.Is(cause, errTwice) {
		t.Errorf("%d interrupts, ended by %v; want 3 and %v", interrupts, cause, errTwice)
	}
	ctx, s = newStopper(t.Context(), &out)
	s.stop()
	s.close()
	if cause := context.Cause(ctx); !errors.Is(cause, errOnce) {
		t.Errorf("between cells: ended by %v, want %v", cause, errOnce)
	}
}

// TestNothingIsLeft kills the client, and the kernel, by force while a cell runs: kernel, engine and what a cell has started
// must end by themselves.
func TestNothingIsLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		victim int // among client, kernel, engine, child
	}{{"the client is killed", 0}, {"the kernel is killed", 1}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "n.ipynb"), "n := 1", `child := exec.Command("sleep", "300")
if err := child.Start(); err != nil {
	panic(err)
}
pids := fmt.Sprint(os.Getppid(), " ", os.Getpid(), " ", child.Process.Pid)
os.WriteFile("pids.new", []byte(pids), 0o600)
os.Rename("pids.new", "pids")
for {
}`)
			run := cancha(t, dir, "run", "n.ipynb")
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- run.Wait() }()
			pids := append([]int{run.Process.Pid}, readPIDs(t, filepath.Join(dir, "pids"))...)
			if err := syscall.Kill(pids[c.victim], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil {
				t.Error("the run has succeeded")
			}
			gone(t, pids[1:])
		})
	}
}

// gone waits until the processes that readPIDs has read have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for i, pid := range pids {
		for deadline := time.Now().Add(patience); lives(pid); time.Sleep(20 * time.Millisecond) { // polls
			if time.Now().After(deadline) {
				t.Errorf("the %s is left", []string{"kernel", "engine", "engine's child"}[i])
				syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// readPIDs waits for a file of process ids.
func readPIDs(t *testing.T, path string) (pids []int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // polls
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pids = make([]int, 3)
		if _, err := fmt.Sscan(string(raw), &pids[0], &pids[1], &pids[2]); err != nil {
			t.Fatal(err)
		}
		return pids
	}
	t.Fatal("the cell has not told its processes")
	return nil
}

// lives reports whether a process runs; one that has ended and that nobody has waited for does not.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // not Linux
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !slices.Contains([]string{"Z", "X"}, after[:1])
}
