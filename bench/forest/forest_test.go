package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
)

// TestReadNPY: a file of NumPy's (made with numpy.save of NumPy 2.4) is read, and what is none or of another type is refused.
func TestReadNPY(t *testing.T) {
	const head = "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
	whole := head + strings.Repeat(" ", 128-len(head)-1) + "\n" + "\x00\x00\x80\x3f" + "\x00\x00\x00\x40" + "\x00\x00\x40\x40" + strings.Repeat("\x00", 12)
	for _, test := range []struct{ name, text, want string }{
		{"whole", whole, ""},
		{"cut short", whole[:len(whole)-1], "23 bytes for 2 x 3"},
		{"header cut short", whole[:100], "its header is"},
		{"another file", "PK\x03\x04" + whole, "no array of NumPy"},
		{"empty", "", "no array of NumPy"},
		{"another type", strings.Replace(whole, "<f4", "<f8", 1), "of <f4 is needed"},
		{"column after column", strings.Replace(whole, "False", "True ", 1), "row after row"},
	} {
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := os.WriteFile(path, []byte(test.text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, columns, err := readFloat32(path)
		switch {
		case test.want == "" && (err != nil || columns != 3 || !slices.Equal(got, []float32{1, 2, 3, 0, 0, 0})):
			t.Errorf("%s: got %v of %d columns, %v", test.name, got, columns, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestJudge: probabilities that were written are read back and scored; of equal ones the first class counts.
func TestJudge(t *testing.T) {
	dir := t.TempDir()
	p, y := filepath.Join(dir, "p.npy"), filepath.Join(dir, "y.npy")
	if err := writeFloat64(p, []float64{0.5, 0.5, 0.25, 0.75, 1, 0}, 2); err != nil {
		t.Fatal(err)
	}
	const head = "\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }"
	labels := head + strings.Repeat(" ", 128-len(head)-1) + "\n" + "\x00\x00\x00\x00" + "\x01\x00\x00\x00" + "\x01\x00\x00\x00"
	if err := os.WriteFile(y, []byte(labels), 0o666); err != nil {
		t.Fatal(err)
	}
	accuracy, loss, err := judge(p, y)
	if err != nil {
		t.Fatal(err)
	}
	want := -(math.Log(0.5) + math.Log(0.75) + math.Log(0x1p-52)) / 3
	if accuracy != 2.0/3 || math.Abs(loss-want) > 1e-12 {
		t.Errorf("got %v and %v, want 2/3 and %v", accuracy, loss, want)
	}
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	if begin := slices.Index(data, '\n') + 1; begin%64 != 0 {
		t.Errorf("the numbers begin at byte %d; NumPy wants a multiple of 64", begin)
	}
}

// TestFitAndAnswer: a turn of ours measures each step.
func TestFitAndAnswer(t *testing.T) {
	d := &ml.Dataset{Features: []string{"a", "b"}, Classes: []string{"0", "1"}}
	for i := range 200 {
		d.Values, d.Labels = append(d.Values, float32(i%20), float32(i)), append(d.Labels, i%20/10)
	}
	r, p, err := fitAndAnswer(func() (*forest.Classifier, error) {
		return forest.FitClassifier(t.Context(), d, forest.Config{Trees: 5})
	}, d)
	if err != nil {
		if strings.Contains(err.Error(), "Linux") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	if len(p) != 400 || r.Fit.Seconds <= 0 || r.Fit.Peak < r.Fit.Before || r.Fit.Before < 1<<20 || r.Predict.Seconds <= 0 || r.OneRow <= 0 || r.OneRowTimes != 200 {
		t.Errorf("got %d probabilities, %+v, fit %+v", len(p), r, *r.Fit)
	}
}

// TestTable: medians of what did not fail, and the reason of what did.
func TestTable(t *testing.T) {
	var b strings.Builder
	for i, r := range []result{
		{Fit: &step{3, 6, 10 << 20, 90 << 20}, Predict: step{Seconds: 0.5}, OneRow: 4e-6, Accuracy: 0.5, LogLoss: 1},
		{Fit: &step{1, 2, 10 << 20, 70 << 20}, Predict: step{Seconds: 0.1}, OneRow: 2e-6, Accuracy: 0.7, LogLoss: 2},
		{Fit: &step{2, 9, 10 << 20, 80 << 20}, Predict: step{Seconds: 0.2}, OneRow: 3e-6, Accuracy: 0.6, LogLoss: 3, Note: "it says so"},
		{Failed: "no memory"},
	} {
		r.task, r.When = task{[]string{ours, ours, ours, "LightGBM"}[i], "100k", 0, 100, 2}, time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC)
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := readResults(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := table(all, "a machine")
	for _, want := range []string{
		"2026-01-02 03:00 to 2026-01-02 03:03 UTC; a machine; 2 threads each",
		"## 100k rows, 100 trees, unlimited depth\n",
		"| cancha | 3 | 2.00 (1.00 to 3.00) | 6.00 | 80 (10) | 100000 | 0.000 | 0 (0) | 3.0 | 0.6000 | 2.0000 |\n",
		"| LightGBM | - |", "cancha: it says so.\n", "LightGBM: 1 turns failed: no memory.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table has no %q:\n%s", want, got)
		}
	}
}

// TestParse refuses what is no library and no depth.
func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-libraries", "cancha,mllib"}, {"-depths", "deep"}, {"-depths", "-1"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	s, err := parse([]string{"-rows", "10k", "-depths", "3,0", "-libraries", "oneDAL,cancha"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.cases(); len(got) != 4 || got[1].String() != "cancha, 10k rows, depth 3" || got[2].Depth != 0 {
		t.Errorf("got %v", got)
	}
}
