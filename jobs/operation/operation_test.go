package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/worker"
	"cancha/runtime/gpu"
)

func run(t *testing.T, name, parameters string) (*operation.Result, error) {
	t.Helper()
	s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU, Cores: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := operation.Funcs(s)[name](t.Context(), worker.NewTask(job.Spec{Type: name, Parameters: json.RawMessage(parameters)}, nil))
	if err != nil {
		return nil, err
	}
	return got.(*operation.Result), nil
}

// The results are those of formulas, and the same each time.
func TestOperations(t *testing.T) {
	const identity = 1e-6
	for _, test := range []struct{ name, parameters, shape string }{
		{job.MatrixMultiply, `{"m":30,"n":20,"k":10,"seed":3}`, "[30 20]"},
		{job.VectorAddition, `{"size":1000}`, "[1000]"},
		{job.ImageProcessing, `{"width":40,"height":30,"operation":"blur","iterations":2}`, "[30 40]"},
		{job.ImageProcessing, `{"width":40,"height":30,"operation":"blur","iterations":3}`, "[30 40]"},
		{job.ImageProcessing, `{"width":40,"height":30,"operation":"edges"}`, "[30 40]"},
		{job.ImageProcessing, `{"width":40,"height":30,"operation":"grayscale","iterations":4}`, "[30 40]"},
		{job.NeuralNetwork, `{"input_size":12,"hidden_size":8,"output_size":3,"batch_size":16,"epochs":5}`, "[12 8 3]"},
	} {
		one, err := run(t, test.name, test.parameters)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		two, err := run(t, test.name, test.parameters)
		if err != nil || fmt.Sprint(one.Shape) != test.shape || math.Abs(one.Mean-two.Mean) > identity ||
			fmt.Sprint(one.First) != fmt.Sprint(two.First) || len(one.First) == 0 {
			t.Errorf("%s %s: %+v, then %+v, %v", test.name, test.parameters, one, two, err)
		}
	}
	learned, err := run(t, job.NeuralNetwork, `{"input_size":4,"hidden_size":16,"output_size":2,"batch_size":64,"epochs":100}`)
	if err != nil || len(learned.Loss) != 100 || learned.Loss[99] >= learned.Loss[0] {
		t.Errorf("it learns nothing: %+v, %v", learned, err)
	}
}

// A parameter that is none is told, for the job was done without it.
func TestIgnored(t *testing.T) {
	r, err := run(t, job.VectorAddition, `{"size":10,"sise":20}`)
	if err != nil || fmt.Sprint(r.Ignored) != "[sise]" || fmt.Sprint(r.Shape) != "[10]" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// What no device can do fails for good, and says why.
func TestTooLarge(t *testing.T) {
	for name, parameters := range map[string]string{
		job.VectorAddition: `{"size":3000000000}`, job.MatrixMultiply: `{"size":50000}`, job.NeuralNetwork: `{"input_size":1000000,"batch_size":1000000}`,
	} {
		if _, err := run(t, name, parameters); err == nil || !strings.Contains(err.Error(), "at most") &&
			!strings.Contains(err.Error(), "counts to") || !worker.IsFinal(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := operation.Funcs(s)[job.MatrixMultiply](ctx, worker.NewTask(job.Spec{Type: job.MatrixMultiply}, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
