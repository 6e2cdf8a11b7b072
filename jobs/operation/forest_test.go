package operation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/worker"
	"cancha/ml/forest"
	"cancha/runtime/gpu"
)

// folder has a file of points, and of what they are worth.
func folder(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("x,y,side,sum\n")
	for i := range 200 {
		x, y := i%20, i/20
		fmt.Fprintf(&text, "%d,%d,%s,%d\n", x, y, map[bool]string{true: "above", false: "below"}[y > x], x+y)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "points.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fit runs a job that grows a forest.
func fit(t *testing.T, dir, parameters string) (*operation.Fitted, error) {
	t.Helper()
	s, err := gpu.NewSession(t.Context(), gpu.Config{Device: gpu.CPU, Cores: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	spec := job.Spec{ID: "j1", Type: operation.ForestFit, Parameters: json.RawMessage(parameters)}
	got, err := operation.Forests(dir, s)(t.Context(), worker.NewTask(spec, nil))
	if err != nil {
		return nil, err
	}
	return got.(*operation.Fitted), nil
}

// A job grows the forest that a cell would, and its model answers.
func TestForestFit(t *testing.T) {
	dir := folder(t)
	got, err := fit(t, dir, `{"data":"points.csv","label":"side","drop":["sum"],"n_estimators":20,"random_state":5}`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Out != "models/j1.forest" || got.Rows != 200 || got.Trees != 20 ||
		fmt.Sprint(got.Features, got.Classes) != "[x y] [above below]" || got.OOBScore == nil || *got.OOBScore < .9 {
		t.Errorf("%+v", got)
	}
	model, err := forest.OpenClassifier(filepath.Join(dir, got.Out))
	if err != nil {
		t.Fatal(err)
	}
	var p [2]float64
	if model.ProbaTo(p[:], []float32{2, 9}); p[0] < .9 {
		t.Errorf("above: %v", p)
	}
	if _, err := fit(t, dir, `{"data":"points.csv","label":"side","drop":["sum"],"n_estimators":3}`); err != nil {
		t.Errorf("the job again: %v", err)
	}
	number, err := fit(t, dir, `{"data":"points.csv","out":"sums.forest","target":"sum","drop":["side"],"n_estimators":20}`)
	if err != nil || number.Classes != nil || *number.OOBScore < .9 {
		t.Errorf("%+v, %v", number, err)
	}
}

// What cannot be done is told, and not tried again.
func TestForestFitRefuses(t *testing.T) {
	dir := folder(t)
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "shop"), 0o700), os.WriteFile(filepath.Join(dir, "shop", "go.mod"), []byte("module shop\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.forest"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	zeros := filepath.Join(dir, "zeros.csv") // it takes no room
	if err := errors.Join(os.WriteFile(zeros, nil, 0o600), os.Truncate(zeros, 20<<30)); err != nil {
		t.Fatal(err)
	}
	for parameters, want := range map[string]string{
		`{"data":"zeros.csv","label":"side"}`:                                  "a line of more than 16 MB",
		`{"data":"link.csv","label":"side"}`:                                   "escapes",
		`{"data":"pipe.csv","label":"side"}`:                                   "pipe.csv is a pipe, and no file",
		`{"data":"elsewhere","label":"side"}`:                                  "escapes",
		`{"data":".","label":"side"}`:                                          "is a folder, and no file",
		`{"data":"points.csv","label":"side","out":"elsewhere/x.forest"}`:      "escapes",
		`{"data":"points.csv","label":"side","out":"points.csv"}`:              "end it with .forest",
		`{"data":"points.csv","label":"side","out":"mine.forest"}`:             "mine.forest is there, and no job has written it",
		`{"data":"points.csv","label":"side","out":"shop/m.go"}`:               "something that jobs run",
		`{"data":"points.csv","label":"side","out":"shop/vendor/x.forest"}`:    "vendor is a folder that the go command reads",
		`{"data":"points.csv","label":"side","out":".git/x.forest"}`:           "begin with a dot",
		`{"data":"../points.csv","label":"side"}`:                              "no file inside the worker's folder",
		`{"data":"/etc/passwd","label":"side"}`:                                "no file inside the worker's folder",
		`{"data":"points.csv","label":"side","out":"../../x.forest"}`:          "no file inside the worker's folder",
		`{"data":"none.csv","label":"side"}`:                                   "no none.csv in the worker's folder",
		`{"data":"points.csv"}`:                                                "name the column to learn",
		`{"data":"points.csv","label":"side","target":"sum"}`:                  "name the column to learn",
		`{"data":"points.csv","label":"colour"}`:                               "colour",
		`{"data":"points.csv","label":"side","OUT":"x.forest"}`:                `unknown field "OUT"; is "out" meant?`,
		`{"data":"points.csv","label":"side","data":"far.csv"}`:                `"data" is there twice`,
		`{"data":"points.csv","label":"side","trees":3}`:                       `unknown field "trees"`,
		`{"data":"points.csv","label":"side","n_estimators":-3}`:               "-3 trees",
		`{"data":"points.csv","label":"side","n_estimators":1000000000000000}`: "1000000 are possible",
	} {
		if _, err := fit(t, dir, parameters); err == nil || !worker.IsFinal(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", parameters, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "mine.forest")); err != nil || string(text) != "mine" {
		t.Errorf("got %q, %v", text, err)
	}
	if there, err := os.ReadDir(filepath.Join(dir, "shop")); err != nil || len(there) != 1 {
		t.Errorf("in the module there is %v, %v", there, err)
	}
}

// A model never has the name of something that jobs run, or that the go command reads, whatever a later release may read.
func TestForestOutExtensions(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"shop/m.go", "shop/zz.syso", "shop/x.S", "shop/x.cpp", "shop/x.CC", "shop/x.swig", "shop/x.swigcxx", "shop/x.f90", "shop/x.m",
		"vendor/modules.txt", "shop/go.mod", "go.work", "x.ipynb", "shop/lib.a", "Makefile", "x", "x.forest/y", "x.forest.go", "q.json"} {
		_, err := fit(t, dir, `{"data":"points.csv","label":"side","out":"`+name+`"}`)
		if err == nil || !worker.IsFinal(err) || !strings.Contains(err.Error(), "end it with .forest") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if _, err := fit(t, dir, `{"data":"points.csv","label":"side","out":"UP.FOREST","drop":["sum"],"n_estimators":1}`); err != nil {
		t.Error(err)
	}
}
