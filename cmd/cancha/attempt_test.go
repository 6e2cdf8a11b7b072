//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/worker"
)

// standsIn is a program that is run in the place of this one.
func standsIn(t *testing.T, script string) apart {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nread order\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return apart{program: path, slots: 1}
}

// A process that ignores all that can be ignored is killed when nobody wants its job any more, by the cause of that.
func TestAttemptKilled(t *testing.T) {
	enough := errors.New("enough")
	a := standsIn(t, `trap "" INT TERM HUP; echo "{\"Share\":0.5,\"Doing\":\"$$\"}"; while :; do sleep 1000; done`)
	ctx, cancel := context.WithCancelCause(t.Context())
	pid := 0
	_, err := a.run(ctx, worker.NewTask(job.Spec{Type: "t"}, func(share float64, doing string) {
		if _, err := fmt.Sscan(doing, &pid); err != nil || share != 0.5 {
			t.Errorf("got %v, %q", share, doing)
		}
		cancel(enough)
	}))
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if pid == 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Errorf("process %d is still there", pid)
	}
}

// How a process has ended is how the job has.
func TestAttemptEnds(t *testing.T) {
	for _, c := range []struct {
		name, script, result, why string
		final                     bool
	}{
		{"a result", `echo '{"Ended":true,"Result":{"n":1}}'`, `{"n":1}`, "", false},
		{"an error", `echo '{"Ended":true,"Error":"no such file"}'`, "", "no such file", false},
		{"one that would come again", `echo '{"Ended":true,"Error":"no such column","Final":true}'`, "", "no such column", true},
		{"a crash", `echo 'fatal error: all is lost' >&2; exit 2`, "", "without a result: exit status 2\nfatal error: all is lost", false},
		{"a kill", `kill -9 $$`, "", "for want of memory", false},
		{"no JSON", `echo hello`, "", "invalid character", false},
		{"no JSON, and no end", `while echo hello; do :; done`, "", "invalid character", false},
		{"a result, and no end", `echo '{"Ended":true,"Result":{"n":1}}'; while echo hello; do :; done`, `{"n":1}`, "", false},
		{"a result, and a wait", `echo '{"Ended":true,"Result":{"n":1}}'; cat`, `{"n":1}`, "", false},
		{"nothing", ``, "", "without a result", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := standsIn(t, c.script).run(t.Context(), worker.NewTask(job.Spec{Type: "t"}, nil))
			text, _ := result.(json.RawMessage)
			if string(text) != c.result || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) || worker.IsFinal(err) != c.final {
				t.Errorf("got %s, %v (final %v)", text, err, worker.IsFinal(err))
			}
		})
	}
}

// The real process: it reads an order, and writes what has come of it.
func TestAttempt(t *testing.T) {
	for _, c := range []struct{ kind, parameters, want string }{
		{"vector_addition", `{"size":100}`, `"shape":[100]`},
		{"vector_addition", `{"size":-1}`, `"Final":true`},
		{"notebook", `{}`, `is no type that runs in a process of its own`},
	} {
		order, err := json.Marshal(attemptOrder{Spec: job.Spec{ID: "a", Type: c.kind, Parameters: json.RawMessage(c.parameters)}, Number: 2, Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, out := cancha(t, t.TempDir(), "attempt"), &strings.Builder{}
		p.Stdout = out
		in, err := p.StdinPipe()
		if err == nil {
			err = p.Start()
		}
		if err == nil {
			_, err = in.Write(append(order, '\n')) // and the input does not end
		}
		if err == nil {
			err = p.Wait()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), `"Ended":true`) {
			t.Errorf("%s: got %s, want %s", c.kind, out, c.want)
		}
	}
}

// It ends with its worker, whatever it does.
func TestAttemptWithoutWorker(t *testing.T) {
	order, err := json.Marshal(attemptOrder{Spec: job.Spec{ID: "a", Type: job.NeuralNetwork,
		Parameters: json.RawMessage(`{"input_size":4,"hidden_size":4,"output_size":2,"batch_size":8,"epochs":1000000}`)}, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := cancha(t, t.TempDir(), "attempt")
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err == nil {
		_, err = in.Write(append(order, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, out, "epoch")
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := p.Wait(); err == nil || p.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v", err)
	}
}

// What reads files runs in a process of its own, and so do operations on much data; others run in the worker.
func TestApart(t *testing.T) {
	a := standsIn(t, `echo '{"Ended":true,"Result":"apart"}'`)
	here := func(context.Context, *worker.Task) (any, error) { return "here", nil }
	funcs := map[string]worker.Func{"forest_fit": here, "notebook": here}
	for _, name := range job.Types() {
		funcs[name] = here
	}
	a.put(funcs)
	for _, c := range []struct{ kind, parameters, want string }{
		{"forest_fit", `{}`, "apart"},
		{"notebook", `{}`, "here"},
		{"vector_addition", `{"size":1000}`, "here"},
		{"vector_addition", `{"size":100000000}`, "apart"},
		{"matrix_multiply", `{"size":10000}`, "apart"},
		{"matrix_multiply", `{"size":"wrong"}`, "here"},
	} {
		got, err := funcs[c.kind](t.Context(), worker.NewTask(job.Spec{Type: c.kind, Parameters: json.RawMessage(c.parameters)}, nil))
		if text, is := got.(json.RawMessage); is {
			got = strings.Trim(string(text), `"`)
		}
		if got != c.want || err != nil {
			t.Errorf("%s %s: got %v, %v, want %s", c.kind, c.parameters, got, err, c.want)
		}
	}
}
