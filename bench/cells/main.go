// Command cells measures compiled cells beside the same code compiled by "go build" and run in turns with it:
//
//	go run ./bench/cells [-run REGEXP] [-turns 9] [-out FILE.md]
//
// Each program of programs.txt is measured in two forms: its work in a function, and the same work in a cell's statements. What is
// compared is timed inside, by the cell and by the program, around the same code. Of several turns the fastest counts on both sides,
// since what else the machine does can only slow one down. It ends with 1 where cell and program differ in their results.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/client"
	"cancha/kernel/wire"
)

//go:embed programs.txt
var programs string

func main() {
	kernel := flag.String("kernel", "bin/cancha", "the `program` whose command \"kernel\" serves")
	run := flag.String("run", "", "only programs whose name this regular expression matches")
	turns := flag.Int("turns", 9, "how often each form runs")
	out := flag.String("out", "", "write the table into this `file` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *kernel, *run, *turns, *out); err != nil {
		fmt.Fprintln(os.Stderr, "cells:", err)
		stop()
		os.Exit(1)
	}
}

// measure prints a row for each form of each program as soon as it is known.
func measure(ctx context.Context, kernel, run string, turns int, out string) error {
	only, err := regexp.Compile(run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	var table strings.Builder
	row := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Print(text)
		table.WriteString(text)
	}
	row("| program | form | go build, ms | cell, ms | cell / go build |\n| --- | --- | ---: | ---: | ---: |\n")
	for _, p := range read(programs) {
		if !only.MatchString(p.name) {
			continue
		}
		for _, form := range []string{"call", "statements"} {
			if p.parts[form] == "" {
				continue
			}
			c, err := p.compare(ctx, kernel, form, turns)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, form, err)
			}
			row("| %s | %s | %.1f | %.1f | %.2f |\n", p.name, map[string]string{"call": "function", "statements": "statements"}[form],
				float64(c.program)/1e6, float64(c.cell)/1e6, float64(c.cell)/float64(c.program))
		}
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(out, []byte(table.String()), 0o644)
}

// program is a block of programs.txt: its parts are "declare", "setup", "call" and "statements". The last two leave a result.
type program struct {
	name  string
	parts map[string]string
}

func read(text string) (list []program) {
	for _, block := range strings.Split("\n"+text, "\n=== ")[1:] {
		name, body, _ := strings.Cut(block, "\n")
		p := program{strings.TrimSpace(name), map[string]string{}}
		for _, part := range strings.Split("\n"+body, "\n-- ")[1:] {
			title, code, _ := strings.Cut(part, " --\n")
			p.parts[title] = strings.TrimSpace(code) + "\n"
		}
		list = append(list, p)
	}
	return list
}

// rounds is how often a call is timed in one turn.
const rounds = 20

// timed is a form's statements, which print how long they took, and their result. Calls are timed several times; statements are a cell's
// own, not those of a block.
func (p program) timed(form string) string {
	const show = "fmt.Println(best.Nanoseconds(), result)\n"
	if form == "statements" {
		return "begin := time.Now()\n" + p.parts[form] + "best := time.Since(begin)\n" + show
	}
	return "best := time.Hour\nvar last any\nfor range " + strconv.Itoa(rounds) + " {\nbegin := time.Now()\n" + p.parts[form] +
		"best = min(best, time.Since(begin))\nlast = result\n}\nfmt.Println(best.Nanoseconds(), last)\n"
}

// imports is the import declaration of code: of the packages that programs use, those that it names.
func imports(code string) string {
	text := "import (\n"
	for _, name := range []string{"fmt", "sort", "strings", "time"} {
		if strings.Contains(code, name+".") {
			text += "\t\"" + name + "\"\n"
		}
	}
	return text + ")\n"
}

// compared is the fastest of a form's turns on either side, in nanoseconds.
type compared struct{ program, cell int64 }

// compare runs a form as a program and as cells, in turns.
func (p program) compare(ctx context.Context, kernel, form string, turns int) (best compared, err error) {
	dir, err := os.MkdirTemp("", "cells-")
	if err != nil {
		return best, err
	}
	defer os.RemoveAll(dir)
	binary, err := p.build(ctx, dir, form)
	if err != nil {
		return best, err
	}
	n, err := start(ctx, kernel, dir)
	if err != nil {
		return best, err
	}
	defer n.close()
	code := p.timed(form)
	for _, before := range []string{imports(p.parts["declare"] + p.parts["setup"] + code), p.parts["declare"], p.parts["setup"]} {
		if _, err := n.run(ctx, before); err != nil {
			return best, err
		}
	}
	var times [2][]int64
	var results [2]string
	for range turns {
		for side, say := range []func() (string, error){
			func() (string, error) { return said(exec.CommandContext(ctx, binary)) },
			func() (string, error) { return n.run(ctx, code) },
		} {
			text, err := say()
			if err != nil {
				return best, err
			}
			taken, result, _ := strings.Cut(strings.TrimSpace(text), " ")
			t, err := strconv.ParseInt(taken, 10, 64)
			if err != nil {
				return best, fmt.Errorf("it printed %q: %w", text, err)
			}
			times[side], results[side] = append(times[side], t), result
		}
		if results[0] != results[1] {
			return best, fmt.Errorf("the program gives %s, the cell %s", results[0], results[1])
		}
	}
	return compared{slices.Min(times[0]), slices.Min(times[1])}, nil
}

// build builds a form as a program.
func (p program) build(ctx context.Context, dir, form string) (string, error) {
	code := p.timed(form)
	all := p.parts["declare"] + "\nfunc main() {\n" + p.parts["setup"] + code + "}\n"
	file, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte("package main\n\n"+imports(all)+"\n"+all), 0o644); err != nil {
		return "", err
	}
	_, err := said(exec.CommandContext(ctx, "go", "build", "-o", binary, file))
	return binary, err
}

// said runs a command that must succeed, and returns what it printed.
func said(cmd *exec.Cmd) (string, error) {
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, errs.String())
	}
	return string(out), nil
}

// notebook is a kernel and its client.
type notebook struct {
	kernel *client.Kernel
	client *client.Client
}

// patience bounds the start of a kernel.
const patience = 5 * time.Minute

func start(ctx context.Context, program, dir string) (*notebook, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	k, err := client.Start(client.Config{
		Argv: []string{program, "kernel", "{connection_file}"}, Dir: dir, Env: []string{"CANCHA_HISTORY=off"}, Transport: "ipc",
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := k.Connect(ctx, client.Options{})
	if err != nil {
		k.Kill()
		return nil, err
	}
	return &notebook{k, c}, nil
}

func (n *notebook) close() {
	n.client.Close()
	n.kernel.Kill()
}

// run runs a cell that must succeed, and returns what it printed to stdout. An empty one is not run.
func (n *notebook) run(ctx context.Context, code string) (string, error) {
	var printed strings.Builder
	if code == "" {
		return "", nil
	}
	reply, err := n.client.Execute(ctx, code, func(m wire.Message) {
		var s struct{ Name, Text string }
		if m.Header.Type == "stream" && json.Unmarshal(m.Content, &s) == nil && s.Name == "stdout" {
			printed.WriteString(s.Text)
		}
	})
	if err == nil && reply.Status != cell.OK {
		err = reply.Err
	}
	return printed.String(), err
}
