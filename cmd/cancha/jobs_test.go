//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// started are the command lines of this program in a file of Compose or Kubernetes, each without the program's name.
func started(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)(?:command|args|test): \[([^]]*)\]`).FindAllStringSubmatch(string(text), -1) {
		words := strings.Fields(strings.NewReplacer(",", " ", `"`, "", "CMD", "", "/usr/local/bin/cancha", "cancha").Replace(m[1]))
		if words[0] == "cancha" {
			words = words[1:]
		}
		if slices.Contains([]string{"scheduler", "worker", "job", "monitor"}, words[0]) {
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}

// What Compose and Kubernetes start is what this program takes.
func TestDeployedCommands(t *testing.T) {
	t.Setenv(rabbitVariable, "rabbitmq")
	seen := map[string]int{}
	files, err := filepath.Glob("../../deploy/kubernetes/*/*/*.yaml")
	base, baseErr := filepath.Glob("../../deploy/kubernetes/base/*.yaml")
	if err := errors.Join(err, baseErr); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(append(files, base...), "../../docker-compose.yml") {
		for _, line := range started(t, file) {
			verb, rest, _ := strings.Cut(line, " ")
			seen[verb]++
			if err := takes(verb, strings.Fields(rest)); err != nil {
				t.Errorf("%s: cancha %s: %v", file, line, err)
			}
		}
	}
	if want := map[string]int{"scheduler": 2, "worker": 4, "job": 4, "monitor": 2}; !maps.Equal(seen, want) {
		t.Errorf("got %v, want %v: the files have been misread, or start something else", seen, want)
	}
	if err := takes("worker", []string{"-typ", "cpu"}); err == nil {
		t.Error("a flag that is none is taken")
	}
}

// takes has a command's own flags read its arguments.
func takes(verb string, args []string) error {
	switch verb {
	case "scheduler":
		o, err := parseScheduler(args)
		if err == nil && o.folder == "" {
			err = errors.New("it keeps jobs nowhere")
		}
		return err
	case "worker":
		o, err := parseWorker(args)
		if err == nil && o.folder != "" {
			err = fmt.Errorf("it works for %s, not for RabbitMQ", o.folder)
		}
		return err
	case "monitor":
		o, err := parseMonitor(args)
		if err == nil && (o.folder != "" || o.out == "") {
			err = fmt.Errorf("it follows %q, and writes to %q", o.folder, o.out)
		}
		return err
	case "job":
		if len(args) == 0 || args[0] != "list" {
			return fmt.Errorf("%v is not tested", args)
		}
		_, err := parseList(args[1:])
		return err
	}
	return fmt.Errorf("no command %s", verb)
}

// Each variable of jobs that Compose and Kubernetes set is one that a program reads, and the contract's are all set.
func TestDeployedEnvironment(t *testing.T) {
	read := ""
	for _, folder := range []string{".", "../../jobs", "../../jobs/rabbitmq"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				read += string(text)
			}
		}
	}
	for _, files := range []string{"../../docker-compose.yml", "../../deploy/kubernetes/*/*.yaml ../../deploy/kubernetes/*/*/*.yaml"} {
		set := map[string]bool{}
		for _, pattern := range strings.Fields(files) {
			found, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range found {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range regexp.MustCompile(`(?m)(?:^ +|name: )((?:RABBITMQ|WORKER|CANCHA_JOBS)[A-Z_]*)(?:[:,]|$)`).FindAllStringSubmatch(string(text), -1) {
					set[m[1]] = true
				}
			}
		}
		for name := range set {
			if !strings.HasPrefix(name, "RABBITMQ_DEFAULT_") && !strings.Contains(read, `"`+name+`"`) { // those are the image's
				t.Errorf("%s: nothing reads %s", files, name)
			}
		}
		for _, name := range []string{"RABBITMQ_HOST", "RABBITMQ_PORT", "RABBITMQ_USER", "RABBITMQ_PASS", workerTypeVariable, jobsVariable, jobsHTTPVariable, jobsTokenVariable} {
			if !set[name] {
				t.Errorf("%s: nobody is told %s", files, name)
			}
		}
	}
}

// The environment says what a worker is and where its jobs are, and flags come before it; a folder and a RabbitMQ at once are refused.
func TestJobsEnvironment(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	t.Setenv(jobsVariable, "/there")
	t.Setenv(workerTypeVariable, "gpu")
	t.Setenv(workerIDVariable, "w7")
	if o, err := parseWorker(nil); err != nil || o.folder != "/there" || o.kind != "gpu" || o.id != "w7" {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err := parseWorker([]string{"-jobs", "/here", "-type", "cpu", "-id", "w8"}); err != nil || o.folder != "/here" || o.kind != "cpu" || o.id != "w8" {
		t.Errorf("got %+v, %v", o, err)
	}
	t.Setenv(workerTypeVariable, "tpu")
	if _, err := parseWorker(nil); err == nil || !strings.Contains(err.Error(), "$WORKER_TYPE") {
		t.Errorf("got %v", err)
	}
	t.Setenv(rabbitVariable, "rabbitmq")
	if _, err := parseList([]string{"-n", "-3"}); err == nil || !strings.Contains(err.Error(), "-n -3: it is from 1") {
		t.Errorf("a list of fewer than none: %v", err)
	}
	if o, err := parseList(nil); err != nil || o.folder != "" {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := parseList([]string{"-jobs", "/here"}); err == nil || !strings.Contains(err.Error(), "leave out one of both") {
		t.Errorf("got %v", err)
	}
	if o, err := parseScheduler(nil); err != nil || o.folder != "/there" {
		t.Errorf("got %+v, %v", o, err)
	}
}

// block is the indented lines of a page behind a line of it.
func block(t *testing.T, page, behind string) (lines []string) {
	t.Helper()
	_, rest, ok := strings.Cut(page, behind+"\n\n")
	if !ok {
		t.Fatalf("no line %q", behind)
	}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "    ") {
			break
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// The commands of docs/jobs.md for one machine run as they stand there.
func TestJobsPage(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(rabbitVariable, "")
	runPage(t, folder, func() { awaitServed(t, folder) })
}

// On a RabbitMQ, CANCHA_RABBITMQ, they do the same: nothing but the environment differs.
func TestJobsPageOnRabbitMQ(t *testing.T) {
	server := os.Getenv("CANCHA_RABBITMQ")
	if server == "" {
		t.Skip("CANCHA_RABBITMQ names no RabbitMQ: scripts/rabbitmq.sh with go test -run RabbitMQ ./cmd/cancha")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	pass, _ := u.User.Password()
	for name, value := range map[string]string{rabbitVariable: u.Hostname(), "RABBITMQ_PORT": u.Port(), "RABBITMQ_USER": u.User.Username(), "RABBITMQ_PASS": pass} {
		t.Setenv(name, value)
	}
	folder := t.TempDir()
	runPage(t, folder, func() {
		for end := time.Now().Add(30 * time.Second); ; {
			code, _, said := outcome(t, folder, "job", "list")
			if code == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatal(said)
			}
		}
	})
}

// runPage runs the commands: those that stay first, and then, when they are there, one after another those that end.
func runPage(t *testing.T, folder string, there func()) {
	t.Helper()
	text, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(jobsVariable, filepath.Join(folder, "jobs"))
	t.Setenv(jobsHTTPVariable, "127.0.0.1:0")
	page := string(text)
	for _, line := range block(t, page, "and so does each worker:") {
		stays(t, folder, line)
	}
	lines := append(block(t, page, "From a third:"), block(t, page, "it prints the table once more.")...)
	if len(lines) != 9 {
		t.Fatalf("%d commands: the page has been misread", len(lines))
	}
	there()
	for _, line := range lines {
		code, stdout, stderr := outcome(t, folder, strings.Fields(line)[1:]...)
		if code != 0 {
			t.Errorf("%s: exit code %d, %s%s", line, code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "report/report.md")); err != nil || !strings.Contains(string(text), "4 jobs (3 completed, 1 cancelled)") {
		t.Errorf("%v\n%s", err, text)
	}
}

// stays starts a command that runs until the end of the test, when it hears ^C.
func stays(t *testing.T, folder, line string) {
	t.Helper()
	c := cancha(t, folder, strings.Fields(line)[1:]...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Wait(); c.ProcessState.ExitCode() != 0 {
			t.Errorf("%s: %v", line, err)
		}
	})
}

// awaitServed waits until the scheduler serves its folder, as a person does who reads that it is there.
func awaitServed(t *testing.T, folder string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := waitForJobs(ctx, filepath.Join(folder, "jobs"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
