//go:build !windows

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
		if slices.Contains([]string{"scheduler", "worker", "job"}, words[0]) {
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
	if want := map[string]int{"scheduler": 2, "worker": 4, "job": 3}; !maps.Equal(seen, want) {
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
