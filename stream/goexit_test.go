package stream_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	. "cancha/stream"
)

// leaving is a source that ends the goroutine which calls the method it names.
type leaving struct {
	*MemorySource
	in string
}

func (l leaving) at(method string) {
	if l.in == method {
		runtime.Goexit()
	}
}

func (l leaving) Description() string { l.at("Description"); return "leaving" }

// distant is an engine: its Run is not a source's.
type distant struct{ leaving }

func (a distant) Start(context.Context, Job) (Remote, error) { return a, nil }

func (a distant) String() string { return "distant" }

func (a distant) Stop(context.Context) error { return nil }

func (a distant) Run(context.Context, Receiver) error { a.at("Run"); return nil }

// TestGoexitOfMethods: a method of a program's own type that ends its goroutine ends no goroutine of the query.
func TestGoexitOfMethods(t *testing.T) {
	source := func(in string) leaving { return leaving{Memory("m", [][]Record{{{Value: []byte(`{"id":1}`)}}}), in} }
	for _, tt := range []struct {
		name  string
		query *Query
		want  string
	}{
		{"a source's Description", From(source("Description")).Select("id"), ""},
		{"an engine's Run", From(source("")).Select("id").On(distant{source("Run")}), "runtime.Goexit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := tt.query.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = r.Wait(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it ends with %v, want %q", err, tt.want)
			}
		})
	}
}
