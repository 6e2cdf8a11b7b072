package compare

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/runtime/gpu"
)

// small compares on the CPU only: no GPU is called so.
func small() Config {
	return Config{Session: gpu.Config{GPU: "none"}, Elements: 100, Matrix: 8, Images: 1, Times: 2}
}

// TestRunWithoutGPU: the CPU is measured, and why there is no GPU is told.
func TestRunWithoutGPU(t *testing.T) {
	c, times := small(), 0
	c.Works = []Work{{Name: "own", Size: "1", Run: func(context.Context, *gpu.Session) error { times++; return nil }}}
	var last, total int
	c.Progress = func(done, all int) { last, total = done, all }
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if times != 3 || last != 8 || total != 8 {
		t.Errorf("own work ran %d times, progress ended at %d of %d; want 3, and 8 of 8", times, last, total)
	}
	for _, row := range r.Rows[:3] {
		if row.CPU == nil || row.CPU.Funcs <= 0 || row.CPU.Whole < row.CPU.Funcs || row.GPU != nil {
			t.Errorf("%s: got %+v, %+v, want times of the CPU only", row.Work, row.CPU, row.GPU)
		}
	}
	if r.GPU.Missing == "" || r.CPU.Device == "" || !strings.Contains(r.String(), r.GPU.Missing) {
		t.Errorf("got %+v, want why there is no GPU:\n%v", r.GPU, r)
	}
	if c, err := r.Bars(); err != nil || !strings.Contains(c.String(), "own") {
		t.Errorf("bars: got %v, %v", c, err)
	}
}

// TestRunFails: what fails is named, with where it did.
func TestRunFails(t *testing.T) {
	broken := errors.New("broken")
	c := small()
	c.Works = []Work{{Name: "own", Run: func(context.Context, *gpu.Session) error { return broken }}}
	if _, err := Run(t.Context(), c); !errors.Is(err, broken) || !strings.Contains(err.Error(), "own on the cpu") {
		t.Errorf("got %v", err)
	}
	if _, err := Run(t.Context(), Config{Matrix: -1}); err == nil {
		t.Error("a matrix of -1 rows was taken")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	if _, err := Run(ctx, small()); !errors.Is(err, broken) {
		t.Errorf("interrupted: got %v", err)
	}
}

// stored is a result of a GPU, as a bench has written it.
func stored(date string, m Machine, funcs time.Duration) *Result {
	return &Result{Date: date, GPU: m, Rows: []Row{
		{Work: "vector add", Size: "100 elements", GPU: &Times{funcs, 4 * funcs}}, {Work: "matrix multiply", Size: "another", GPU: &Times{1, 1}},
	}}
}

// TestComplete: the newest result of a real GPU counts, for works of the same size, and says when it was measured.
func TestComplete(t *testing.T) {
	folder := t.TempDir()
	for name, r := range map[string]*Result{
		"gpu-a.json": stored("2026-01-01", Machine{Device: "old"}, 1000),
		"gpu-b.json": stored("2026-02-01", Machine{Device: "real", Driver: "570"}, 2000),
		"gpu-c.json": stored("2026-03-01", Machine{Device: "played", Emulated: true}, 3000),
		"gpu-d.json": stored("2026-04-01", Machine{Missing: "no driver"}, 4000),
		"cpu.json":   stored("2026-05-01", Machine{Device: "another kind of file"}, 5000),
	} {
		if err := r.Save(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), small())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(folder); err != nil {
		t.Fatal(err)
	}
	if got, want := r.device(), "real, 0 multiprocessors, matrices by , driver 570, measured 2026-02-01"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(r.Stored.Rows) != 1 || r.Stored.Rows[0].GPU.Funcs != 2000 {
		t.Errorf("got %+v, want the stored result's vector add, and no multiplication of another size", r.Stored.Rows)
	}
	if text := r.String(); !strings.Contains(text, "0.002 ms") || !strings.Contains(text, "No ratios") {
		t.Errorf("no time of the stored result, or no word of ratios, in:\n%s", text)
	}
	if row := r.grid().Rows[0]; row[2] == "" || row[4] != "" || row[5] != "" {
		t.Errorf("got %q, want no ratio of two machines", row)
	}
	if err := withCPU("2026-06-01").Save(filepath.Join(folder, "gpu-e.json")); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(folder); err != nil {
		t.Fatal(err)
	}
	if row := r.grid().Rows[0]; row[2] != "0.024 ms" || row[5] != "3×" || row[6] != "12×" || !strings.Contains(r.String(), "CPU there: its own, 16 cores, matrices by . The ratios compare the two there.") {
		t.Errorf("got %q, want the ratios of the GPU's own machine, and that they are:\n%s", row, r)
	}
	figure, err := r.Bars()
	if err != nil {
		t.Fatal(err)
	}
	if got := figure.String(); !strings.Contains(got, "CPU: vector add 0.024") || !strings.Contains(got, "CPU: its own, 16 cores") {
		t.Errorf("the GPU does not stand beside its own machine's CPU: %s", got)
	}
	if got := r.title(); got != "On another machine: the GPU is up to 3 times as fast (vector add)" {
		t.Errorf("title: got %s", got)
	}
}

// withCPU is a stored result whose machine's CPU was measured too.
func withCPU(date string) *Result {
	r := stored(date, Machine{Device: "real", Driver: "570"}, 2001)
	r.CPU, r.Rows[0].CPU = Machine{Device: "its own", Cores: 16}, &Times{Funcs: 23000, Whole: 24012}
	return r
}

// TestSaveCompleted: a stored GPU is written beside the CPU of its own machine, under its own date, and reads as it did; no row of the file has
// the times of two machines, and no later run takes the file for a result of that GPU.
func TestSaveCompleted(t *testing.T) {
	folder := t.TempDir()
	if err := withCPU("2026-06-01").Save(filepath.Join(folder, "gpu-a.json")); err != nil {
		t.Fatal(err)
	}
	here := func(date string) *Result {
		return &Result{Date: date, CPU: Machine{Device: "here", Cores: 2}, GPU: Machine{Missing: "no driver"}, Rows: []Row{
			{Work: "vector add", Size: "100 elements", CPU: &Times{Funcs: 900_000, Whole: 900_000}},
		}}
	}
	r := here("2026-11-29")
	if err := r.Complete(folder); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "gpu-b.json")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type plain struct { // what any reader sees
		Date string
		CPU  struct{ Device string }
		GPU  struct{ Device, Missing string }
		Rows []struct{ CPU, GPU map[string]float64 }
	}
	var got struct {
		plain
		Stored plain
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.GPU.Device != "" || got.GPU.Missing != "no driver" || got.Rows[0].GPU != nil {
		t.Errorf("this machine has no GPU, and its file says %+v, %v", got.GPU, got.Rows[0].GPU)
	}
	with := got.Stored
	if with.Date != "2026-06-01" || with.CPU.Device != "its own" || with.GPU.Device != "real" || len(with.Rows) != 1 {
		t.Fatalf("got %+v, want the machine and date of the stored result", with)
	}
	if of := with.Rows[0]; of.CPU["wholeNanoseconds"] != 24012 || of.GPU["wholeNanoseconds"] != 8004 {
		t.Errorf("got %v, want the times there", of)
	}
	back := &Result{}
	if err := json.Unmarshal(raw, back); err != nil {
		t.Fatal(err)
	}
	if back.String() != r.String() || back.title() != r.title() {
		t.Errorf("got %s:\n%s\nwant %s:\n%s", back.title(), back, r.title(), r)
	}
	next := here("2026-11-30")
	if err := next.Complete(folder); err != nil {
		t.Fatal(err)
	}
	if next.Stored == nil || next.Stored.Date != "2026-06-01" || next.Stored.CPU.Device != "its own" {
		t.Errorf("got %+v, want the result of the machine that has the GPU", next.Stored)
	}
}

// TestCompleteWithCopies: a file of the time when Save wrote a stored GPU as the run's own is no result of that GPU, and all others are read.
func TestCompleteWithCopies(t *testing.T) {
	folder := t.TempDir()
	copied := withCPU("2026-11-29")
	copied.CPU, copied.Rows[0].CPU = Machine{Device: "here", Cores: 2}, &Times{Funcs: 900_000, Whole: 900_000}
	copied.Rows = append(copied.Rows, Row{Work: "forest fit", CPU: &Times{1, 1}})
	for name, r := range map[string]*Result{"gpu-a.json": copied, "gpu-b.json": withCPU("2026-06-01")} {
		if err := r.Save(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		save *Result
		want string
	}{
		{"a copy", nil, "2026-06-01"},
		{"one that was measured anew", stored("2026-12-01", Machine{Device: "real", Driver: "570"}, 2002), "2026-12-01"},
	} {
		if test.save != nil {
			if err := test.save.Save(filepath.Join(folder, "gpu-c.json")); err != nil {
				t.Fatal(err)
			}
		}
		r := &Result{GPU: Machine{Missing: "no driver"}, Rows: []Row{{Work: "vector add", Size: "100 elements"}}}
		if err := r.Complete(folder); err != nil {
			t.Fatal(err)
		}
		if r.Stored == nil || r.Stored.Date != test.want {
			t.Errorf("%s: got %+v, want that of %s", test.name, r.Stored, test.want)
		}
	}
}

// TestSameNames: works of one name and size keep times of their own.
func TestSameNames(t *testing.T) {
	r := &Result{Rows: []Row{{Work: "own", CPU: &Times{1000, 1000}}, {Work: "own", CPU: &Times{3000, 3000}}}}
	if rows := r.grid().Rows; rows[0][1] != "0.001 ms" || rows[1][1] != "0.003 ms" {
		t.Errorf("got %q", rows)
	}
	if c, err := r.Bars(); err != nil || !strings.Contains(c.String(), "own 0.001, own 0.003") {
		t.Errorf("got %v, %v", c, err)
	}
}

// TestBarsOfSome: works that only one device did are not drawn beside those that both did, and are named.
func TestBarsOfSome(t *testing.T) {
	r := &Result{GPU: Machine{Device: "real", Driver: "570"}, Rows: []Row{
		{Work: "vector add", Size: "100 elements", CPU: &Times{1000, 2000}, GPU: &Times{1000, 4000}},
		{Work: "matrix multiply", Size: "8 × 8", CPU: &Times{1000, 2000}},
	}}
	c, err := r.Bars()
	if err != nil {
		t.Fatal(err)
	}
	if text := c.String(); !strings.Contains(text, "GPU, funcs only") || !strings.Contains(text, "Not measured on both: matrix multiply, 8 × 8.") {
		t.Errorf("got\n%s", text)
	}
}

// TestDigits: large ratios and times have no exponent.
func TestDigits(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{ratio(234*time.Second, time.Second), "234×"}, {ratio(1, 64), "0.0156×"}, {ratio(9996*time.Millisecond, time.Second), "10×"},
		{ratio(4321*time.Second, time.Second), "4320×"}, {ratio(7, 0), "7×"},
		{brief(2340 * time.Millisecond), "2.34 s"}, {brief(234 * time.Second), "234 s"}, {brief(1234 * time.Microsecond), "1.23 ms"}, {brief(0), "0 ms"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
	r := &Result{Rows: []Row{{Work: "own", CPU: &Times{1, 234_000}, GPU: &Times{1, 1000}}}}
	if got, want := r.title(), "The GPU is up to 234 times as fast (own)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEmulatedIsNamed: no heading, legend or title of an emulated run says GPU alone.
func TestEmulatedIsNamed(t *testing.T) {
	m := Machine{Device: "played", Driver: "1", Emulated: true}
	r := &Result{GPU: m, Rows: []Row{{Work: "own", Size: "1", CPU: &Times{1, 4000}, GPU: &Times{1, 1000}}}}
	if got := r.grid().Header; got[2] != "CPU emulation" || got[3] != "CPU emulation, funcs" {
		t.Errorf("headings: got %q", got)
	}
	if got := r.title(); !strings.Contains(got, "CPU emulation") || strings.Contains(got, "times as fast") {
		t.Errorf("title: got %s", got)
	}
	sensed := gpu.Samples{Device: "played (CPU emulation)", List: []gpu.Sample{{At: 1}, {At: 2}}}
	for i := range sensed.List {
		sensed.List[i].Power = float64(i + 1)
	}
	if c, err := Sensors(sensed); err != nil || strings.Contains(c.String(), "What the GPU sensed") {
		t.Errorf("title of readings: got %v, %v", c, err)
	}
	c, err := r.Bars()
	if err != nil || !strings.Contains(c.String(), "CPU emulation, funcs only") || strings.Contains(c.String(), ">GPU") {
		t.Errorf("legend: got %v, %v", c, err)
	}
}

// TestCompleteOtherSizes: a stored result of other sizes leaves the CPU alone, and says why.
func TestCompleteOtherSizes(t *testing.T) {
	folder := t.TempDir()
	if err := stored("2026-02-01", Machine{Device: "real", Driver: "570"}, 2000).Save(filepath.Join(folder, "gpu-a.json")); err != nil {
		t.Fatal(err)
	}
	r := &Result{GPU: Machine{Missing: "no driver"}, Rows: []Row{{Work: "vector add", Size: "7 elements", CPU: &Times{1, 1}}}}
	if err := r.Complete(folder); err != nil {
		t.Fatal(err)
	}
	if want := "no driver; and the stored result of real, 2026-02-01, is of other sizes"; r.GPU.Missing != want || r.Stored != nil {
		t.Errorf("got %+v, want %s", r.GPU, want)
	}
	if got := r.title(); !strings.Contains(got, "The CPU alone") {
		t.Errorf("title: got %s", got)
	}
}

// TestCompleteWithout: a folder without results leaves the reason; a broken file is named.
func TestCompleteWithout(t *testing.T) {
	folder := t.TempDir()
	r := &Result{GPU: Machine{Missing: "no driver"}}
	if err := r.Complete(filepath.Join(folder, "nowhere")); err != nil || !strings.Contains(r.GPU.Missing, "no driver; and no result") {
		t.Errorf("got %q, %v", r.GPU.Missing, err)
	}
	path := filepath.Join(folder, "gpu-x.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(folder); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the file's name", err)
	}
}
