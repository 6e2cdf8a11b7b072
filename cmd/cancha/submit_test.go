//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/jobs"
	"cancha/jobs/job"
)

// Each field of a Spec has a flag, but for those of other doors.
func TestSubmitFlags(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	set := map[string][2]string{ // the flag and its value, by field
		"ID": {"id", "j"}, "Type": {"type", "t"}, "Device": {"device", "gpu"}, "PreferGPU": {"prefer-gpu", "true"}, "Priority": {"priority", "9"}, "Key": {"key", "k"},
		"NotBefore": {"not-before", "90s"}, "Deadline": {"deadline", "2026-05-02T00:00:00Z"}, "Timeout": {"timeout", "3s"}, "Attempts": {"attempts", "2"},
		"After": {"after", "a,b"}, "ResultTTL": {"result-ttl", "1h"}, "ReplyTo": {"reply-to", "mine"}, "Correlation": {"correlation-id", "c"},
	}
	for f := range reflect.TypeFor[jobs.Spec]().Fields() {
		if f.Name == "Parameters" || f.Name == "Unknown" { // -p sets the one; the other is of foreign programs
			continue
		}
		var s jobs.Spec
		flags := flag.NewFlagSet("submit", flag.ContinueOnError)
		specFlags(flags, &s, now)
		with, ok := set[f.Name]
		if !ok {
			t.Errorf("%s has no flag", f.Name)
			continue
		}
		if err := flags.Set(with[0], with[1]); err != nil || reflect.ValueOf(s).FieldByIndex(f.Index).IsZero() {
			t.Errorf("-%s %s: got %+v, %v", with[0], with[1], s, err)
		}
	}
	var s jobs.Spec
	flags := flag.NewFlagSet("submit", flag.ContinueOnError)
	specFlags(flags, &s, now)
	for _, with := range []string{"not-before=90s", "deadline=2026-05-02T00:00:00Z", "after=a,b", "after=c"} {
		name, value, _ := strings.Cut(with, "=")
		if err := flags.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	if !s.NotBefore.Equal(now.Add(90*time.Second)) || !s.Deadline.Equal(time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)) || fmt.Sprint(s.After) != "[a b c]" {
		t.Errorf("got %+v", s)
	}
	if err := flags.Set("deadline", "tomorrow"); err == nil {
		t.Error("no error about a time that is none")
	}
}

// What cannot be submitted is refused before anybody is asked.
func TestSubmitRefuses(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	for _, c := range []struct{ args, want string }{
		{"", "job_type: missing"}, {"-type t -priority 10", "priority: 10"}, {"-type t -wait -reply-to mine", "leave out one of both"}, {"-type t -deadline 1s -not-before 2s", "is not after not_before"},
		{"-type t -after ,", "after: an empty job_id"}, {"-type matrix_multiply -p size=0", "size: 0"},
	} {
		if _, err := parseSubmit(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.args, err, c.want)
		}
	}
}

// lines is a log that a test reads line by line.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	told chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		l.told <- line
	}
	return l.text.Write(p)
}

// Who waits for a job hears what it waits for, and a type that is misspelled is refused; one that a worker has registered is not.
func TestSubmitTells(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	k, err := jobs.Open(t.Context(), jobs.Config{Folder: t.TempDir(), NoWorkers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	log := &lines{told: make(chan string, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- submit(ctx, log, log, k, jobs.Spec{ID: "j", Type: "mine"}, true) }()
	if got := <-log.told; got != "job j waits: no worker is there\n" {
		t.Errorf("got %q", got)
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
	if err := submit(t.Context(), log, log, k, jobs.Spec{Type: "matrix_multipy"}, false); err == nil || !strings.Contains(err.Error(), `is "matrix_multiply" meant?`) {
		t.Errorf("misspelled: got %v", err)
	}
	if err := k.Register(t.Context(), "matrix_multipy", func(context.Context, *jobs.Task) (any, error) { return 3, nil }, 1); err != nil {
		t.Fatal(err)
	}
	for heard := false; !heard; { // the worker tells of itself
		all, err := k.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		heard = len(all) > 0
	}
	if err := submit(t.Context(), log, log, k, jobs.Spec{Type: "matrix_multipy"}, true); err != nil {
		t.Errorf("registered: %v", err)
	}
}

// What the scheduler would refuse is refused, with an error and without an id, whoever has the scheduler; the same job again is not.
func TestSubmitTaken(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	folder := t.TempDir()
	here, err := jobs.Open(t.Context(), jobs.Config{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	b, err := waitForJobs(t.Context(), folder, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	elsewhere, err := jobs.Open(t.Context(), jobs.Config{Broker: b})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	notebook := func(context.Context, *jobs.Task) (any, error) { return 3, nil } // as a worker with a folder has it
	if err := here.Register(t.Context(), "notebook", notebook, 1); err != nil {
		t.Fatal(err)
	}
	sum := func(id, key string, size int) jobs.Spec {
		return jobs.Spec{ID: id, Key: key, Type: job.VectorAddition, Parameters: jobs.Parameters{"size": size}.JSON()}
	}
	if err := submit(t.Context(), io.Discard, io.Discard, here, sum("b4", "k", 10), true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		spec jobs.Spec
		want string
	}{
		{"another size", sum("b4", "", 20), `job_id: "b4" is of another job, which has other parameters`},
		{"another type", jobs.Spec{ID: "b4", Type: "notebook"}, `job_id: "b4" is of another job, which is a vector_addition`},
		{"another size of a key", sum("", "k", 20), `key: "k" is of job "b4", which has other parameters`},
		{"a misspelled type of a folder", jobs.Spec{Type: "notebok"}, `is "notebook" meant?`},
		{"a misspelled type", jobs.Spec{Type: "matrix_multipy"}, `is "matrix_multiply" meant?`},
		{"the same", sum("b4", "", 10), ""},
		{"the same of a key", sum("", "k", 10), ""},
	} {
		for where, k := range map[string]*jobs.Cluster{"here": here, "elsewhere": elsewhere} {
			var out strings.Builder
			err := submit(t.Context(), &out, io.Discard, k, c.spec, false)
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) || (err == nil) != (out.Len() > 0) {
				t.Errorf("%s, %s: got %q, %v, want %s", c.name, where, out.String(), err, c.want)
			}
		}
	}
}

// A job is submitted before there is a scheduler, as a worker may be started before; it is shown under the contract's names, without what is empty.
func TestSubmitWaits(t *testing.T) {
	t.Setenv(rabbitVariable, "")
	dir := t.TempDir()
	t.Setenv(jobsVariable, filepath.Join(dir, "jobs"))
	c := cancha(t, dir, "job", "submit", "-type", job.VectorAddition, "-p", "size=3", "-id", "early", "-key", "k")
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, said, "waiting for a scheduler of")
	stays(t, dir, "cancha scheduler -http off")
	if err := c.Wait(); err != nil || out.String() != "early\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	code, shown, stderr := outcome(t, dir, "job", "show", "early")
	var fields map[string]any
	if err := json.Unmarshal([]byte(shown), &fields); err != nil || code != 0 {
		t.Fatalf("%d, %v: %s%s", code, err, shown, stderr)
	}
	if fields["job_id"] != "early" || fields["job_type"] != job.VectorAddition || fields["state"] != "queued" || fields["key"] != "k" || strings.Contains(shown, "0001-01-01") || fields["NotBefore"] != nil {
		t.Errorf("got %s", shown)
	}
}
