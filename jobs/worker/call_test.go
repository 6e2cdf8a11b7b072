package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/worker"
)

type square struct{ Side int }

// called is what a function of Go answers to parameters, as JSON, or the error.
func called(t *testing.T, f any, parameters string) string {
	t.Helper()
	call, err := worker.Call(f)
	if err != nil {
		return "no: " + err.Error()
	}
	result, err := call(t.Context(), worker.NewTask(job.Spec{Parameters: json.RawMessage(parameters)}, nil))
	if err != nil {
		return map[bool]string{true: "final: ", false: "again: "}[worker.IsFinal(err)] + err.Error()
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		f                any
		parameters, want string
	}{
		"all":           {func(_ context.Context, s square) (int, error) { return s.Side * s.Side, nil }, `{"Side": 12}`, "144"},
		"argument":      {func(s *square) square { return *s }, `{"side": 3}`, `{"Side":3}`},
		"number":        {func(n float64) float64 { return n / 2 }, "5", "2.5"},
		"nothing":       {func() {}, "", "null"},
		"context alone": {func(ctx context.Context) bool { return ctx.Err() == nil }, `{}`, "true"},
		"error":         {func() (int, error) { return 1, errors.New("the shop is closed") }, "", "again: the shop is closed"},
		"final":         {func(square) error { return worker.Final(errors.New("no such city")) }, `{}`, "final: no such city"},
		"misspelt":      {func(square) {}, `{"Sied": 1}`, `final: the parameters are no worker_test.square: json: unknown field "Sied"`},
		"named twice":   {func(square) {}, `{"Side": 1, "side": 2}`, `final: the parameters are no worker_test.square: json: "Side" and "side" are both the field "Side"`},
		"no argument":   {func(square) {}, "", "final: the parameters are no worker_test.square: there are none"},
		"no function":   {7, "", "no: jobs/worker: call: int is no function"},
		"nil":           {(func())(nil), "", "no: jobs/worker: call: func() is no function"},
		"two arguments": {func(a, b int) {}, "", "no: jobs/worker: call: func(int, int) takes or returns too much"},
		"variadic":      {func(...int) {}, "", "no: jobs/worker: call: func(...int) takes or returns too much"},
		"two results":   {func() (a, b int) { return }, "", "no: jobs/worker: call: func() (int, int) takes or returns too much"},
	} {
		if got := called(t, c.f, c.parameters); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
