package worker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/worker"
)

// act is what a method of a result, or of an error, does.
type act func()

// These are results and errors, one method of which acts.
type (
	ownJSON  struct{ act }
	ownText  struct{ act }
	ownError struct{ act }
	ownAs    struct{ act }
	ownWrap  struct{ act }
)

func (r ownJSON) MarshalJSON() ([]byte, error) { r.act(); return []byte("1"), nil }
func (r ownText) MarshalText() ([]byte, error) { r.act(); return []byte("1"), nil }
func (e ownError) Error() string               { e.act(); return "it failed" }
func (ownAs) Error() string                    { return "it failed" }
func (e ownAs) As(any) bool                    { e.act(); return false }
func (ownWrap) Error() string                  { return "it failed" }
func (e ownWrap) Unwrap() error                { e.act(); return nil }

// returning are functions that return such results and errors.
func returning(a act) map[string]worker.Func {
	result := func(r any) worker.Func { return func(context.Context, *worker.Task) (any, error) { return r, nil } }
	failure := func(err error) worker.Func {
		return func(context.Context, *worker.Task) (any, error) { return nil, err }
	}
	return map[string]worker.Func{
		"JSON": result(ownJSON{a}), "JSON inside": result(map[string]any{"a": []any{1, &ownJSON{a}}}), "text": result(ownText{a}),
		"the error of its JSON": result(badJSON{ownError{a}}),
		"error":                 failure(ownError{a}), "As": failure(ownAs{a}), "Unwrap": failure(ownWrap{a}), "wrapped": failure(fmt.Errorf("so: %w", ownAs{a})),
		"final": failure(worker.Final(ownError{a})), "joined": failure(errors.Join(errors.New("one"), ownWrap{a})),
		"a panic's value": func(context.Context, *worker.Task) (any, error) { panic(ownError{a}) },
		"a panic's As":    func(context.Context, *worker.Task) (any, error) { panic(ownAs{a}) },
	}
}

type badJSON struct{ err error }

func (b badJSON) MarshalJSON() ([]byte, error) { return nil, b.err }

// TestMethodsPanic: a panic in a method of what a function returns is an error of its attempt, as one in the function is, and so is the end
// of the goroutine; the slot takes the next job.
func TestMethodsPanic(t *testing.T) {
	b := newBench(t)
	funcs := map[string]worker.Func{"other": nothing}
	var names []string
	for what, a := range map[string]act{"panics": func() { panic("boom") }, "leaves": runtime.Goexit} {
		for name, f := range returning(a) {
			names = append(names, name+" "+what)
			funcs[name+" "+what] = f
		}
	}
	b.start(1, funcs)
	for _, name := range names {
		b.give(name, `{"job_id":"`+name+`","job_type":"`+name+`"}`)
		r := b.next()
		if r.Job != name || r.Error == "" || len(r.Result) > 0 {
			t.Errorf("%s: got %+v", name, r)
		}
		if ofResult := strings.Contains(name, "JSON") || strings.HasPrefix(name, "text"); ofResult && !r.Final {
			t.Errorf("%s: a result that cannot be written is tried again: %+v", name, r)
		}
		if name == "final panics" && !r.Final {
			t.Errorf("an error that is final is tried again: %+v", r)
		}
		if strings.HasSuffix(name, "leaves") && !strings.Contains(r.Error, "Goexit") {
			t.Errorf("%s: got %q", name, r.Error)
		}
	}
	b.give("b", `{"job_id":"b","job_type":"other"}`)
	if r := b.next(); r.Job != "b" || r.Error != "" {
		t.Errorf("got %+v", r)
	}
}

// TestMethodsNotEnding: such a method that does not return ends with its attempt's time, as the function does: the slot is lost, and said
// to be, and the worker can be closed.
func TestMethodsNotEnding(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, f := range returning(func() { <-over }) {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			w := b.startWith(worker.Config{Funcs: map[string]worker.Func{"deaf": f}})
			b.give("a", `{"job_id":"a","job_type":"deaf","timeout":0.01}`)
			r := b.next()
			if r.Job != "a" || r.Final || len(r.Result) > 0 || !strings.Contains(r.Error, "longer than its timeout, 10ms") {
				t.Errorf("got %+v", r)
			}
			if got, want := strings.Contains(r.Error, "a method of what the function"), name != "a panic's value"; got != want {
				t.Errorf("got %q", r.Error)
			}
			<-w.Stuck()
			b.says("a slot is lost", stuck(1))
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseWhileWriting: without a timeout such a method ends with the worker.
func TestCloseWhileWriting(t *testing.T) {
	over, begun := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over) })
	b := newBench(t)
	w := b.startWith(worker.Config{Funcs: map[string]worker.Func{"deaf": func(context.Context, *worker.Task) (any, error) {
		return ownJSON{func() { close(begun); <-over }}, nil
	}}})
	b.give("a", `{"job_id":"a","job_type":"deaf"}`)
	<-begun
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	b.says("it is gone", func(beat *job.Beat) bool { return beat.Gone })
}
