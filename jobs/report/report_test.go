package report

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/placement"
)

var renew = flag.Bool("renew", false, "write testdata anew")

// begun is when the made-up jobs began.
var begun = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ended are 120 made-up jobs of three types, of which the GPU has the large ones, and a few that have not completed.
func ended() (all []*job.Job, events []uint64) {
	at := begun
	for i := range 120 {
		size := []int{100, 200, 400, 800}[i%4]
		j := &job.Job{Spec: job.Spec{ID: fmt.Sprintf("j%03d", i), Type: []string{job.MatrixMultiply, job.VectorAddition, "notebook"}[i%3]},
			State: job.Completed, Begun: 1, Attempt: 1,
			Worker: "c1", WorkerType: placement.CPU, Submitted: at.Add(-time.Second)}
		j.Parameters = json.RawMessage(fmt.Sprintf(`{"size":%d}`, size*1000))
		j.Ran = 0.002 * float64(size) * (1 + float64(i%7)/10)
		if j.Type == job.MatrixMultiply {
			j.Parameters = json.RawMessage(fmt.Sprintf(`{"size":%d}`, size))
		}
		if j.Type != "notebook" && (size > 200 || i%5 == 0) {
			j.Worker, j.WorkerType, j.Ran = "g1", placement.GPU, j.Ran/8
		}
		j.Predicted = map[placement.Device]float64{j.WorkerType: j.Ran * (0.8 + float64(i%9)/10)}
		j.Started, at = at, at.Add(time.Duration(j.Ran*1e9))
		switch j.Ended = at; i {
		case 17:
			j.State, j.Error = job.Dead, "its worker died"
		case 40:
			j.State, j.Error, j.Worker, j.WorkerType, j.Started, j.Ran = job.Failed, "deadline", "", "", time.Time{}, 0
		}
		all, events = append(all, j), append(events, uint64(4*i+4))
	}
	return all, events
}

func records(t *testing.T) []Record {
	t.Helper()
	j, err := OpenJournal("", nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := j.Append(ended())
	if err != nil || len(all) != 120 {
		t.Fatalf("%d of 120: %v", len(all), err)
	}
	return all
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *renew {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s is not as it was (go test ./jobs/report -renew): %v\n%s", path, err, got)
	}
}

// A job that has the result of one before it, by its key, has no time of its own: it counts as completed, and nothing is measured of it.
func TestSameAs(t *testing.T) {
	var m, alone Measures
	var all []Record
	for i, same := range []string{"", "", "j0", "j0"} {
		j := &job.Job{Spec: job.Spec{ID: fmt.Sprint("j", i), Type: "t", Key: "k"}, State: job.Completed, SameAs: same, Worker: "w", WorkerType: placement.CPU,
			Ran: float64(i + 1), Submitted: begun, Started: begun.Add(time.Duration(i) * time.Minute), Ended: begun.Add(time.Duration(i+1) * time.Minute),
			Predicted: map[placement.Device]float64{placement.CPU: 10}}
		line, err := Line(j, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := parse(line)
		if err != nil || r.SameAs != same {
			t.Fatalf("%s: got %+v, %v", line, r, err)
		}
		m.Add(&r)
		if same == "" {
			alone.Add(&r)
		}
		all = append(all, r)
	}
	got, want := m.Statistics()[0], alone.Statistics()[0]
	if got.Jobs != 4 || got.Completed != 4 {
		t.Errorf("got %+v, want 4 of 4", got)
	}
	if got.Jobs, got.Completed = want.Jobs, want.Completed; got != want || m.Throughput() != alone.Throughput() {
		t.Errorf("got %+v, %g, want %+v, %g", got, m.Throughput(), want, alone.Throughput())
	}
	only := Measures{}
	only.Add(&all[3])
	if s := only.Statistics()[0]; !math.IsNaN(s.Mean) || !math.IsNaN(only.Throughput()) {
		t.Errorf("got %+v", s)
	}
	if err := Write(t.TempDir(), all[2:], "results.jsonl"); err != nil {
		t.Error(err)
	}
}

// A report has its tables as they were, and figures of its own alone.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	old := filepath.Join(folder, "speedup.png")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	all := records(t)
	if err := Write(folder, all, "x/results.jsonl"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.md", "report.json", "statistics.csv", "comparison.csv"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, string(text))
	}
	pngs, err := filepath.Glob(filepath.Join(folder, "*.png"))
	if err != nil || len(pngs) != 4 {
		t.Errorf("%v, %v", pngs, err)
	}
	for _, png := range pngs {
		if raw, err := os.ReadFile(png); err != nil || !strings.HasPrefix(string(raw), "\x89PNG") {
			t.Errorf("%s is no picture: %v", png, err)
		}
	}
	alone := slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Device != placement.CPU })
	if err := Write(folder, alone, "x/results.jsonl"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a speed-up of a CPU alone: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "report.md"))
	if err != nil || !strings.Contains(string(text), "No job type has completed on a GPU and on a CPU: all ran on a CPU.") {
		t.Errorf("%v\n%s", err, text)
	}
}

// A report of one job has what there is of it, and one of none is refused.
func TestFew(t *testing.T) {
	all := records(t)
	for _, test := range []struct {
		of   []Record
		want string
	}{
		{all[:1], "1 job (1 completed)"}, {all[40:41], "1 job (1 failed)"},
	} {
		folder := t.TempDir()
		if err := Write(folder, test.of, "r"); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "report.md")); err != nil || !strings.Contains(string(text), test.want) ||
			strings.Contains(string(text), "NaN") {
			t.Errorf("%v, want %q in\n%s", err, test.want, text)
		}
	}
	if err := Write(t.TempDir(), nil, "r"); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "cancha monitor -o") {
		t.Errorf("got %v", err)
	}
}

func TestPrint(t *testing.T) {
	m, all := &Measures{}, records(t)
	var out strings.Builder
	if err := m.Print(&out); err != nil || out.String() != "no job has ended yet\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	for i := range all {
		m.Add(&all[i])
	}
	out.Reset()
	if err := m.Print(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "print.txt", out.String())
}

// Percentiles are NumPy's: numpy.percentile([…], 95).
func TestQuantile(t *testing.T) {
	values := []float64{1, 2, 4, 8, 16, 32, 64}
	for p, want := range map[float64]float64{0: 1, 0.25: 3, 0.5: 8, 0.95: 54.4, 1: 64} {
		if got := Quantile(values, p); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g: got %g, want %g", p, got, want)
		}
	}
	if got := Quantile([]float64{7}, 0.95); got != 7 {
		t.Errorf("of one: got %g", got)
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of none: got %g", got)
	}
}

// A GPU that has the large jobs alone looks slow, and is told to be fast at the same work.
func TestSameWork(t *testing.T) {
	m := &Measures{}
	for _, r := range []Record{
		{Type: "t", Device: "cpu", Ran: 1, Work: "small"}, {Type: "t", Device: "gpu", Ran: 0.5, Work: "small"},
		{Type: "t", Device: "cpu", Ran: 8, Work: "large"},
		{Type: "t", Device: "gpu", Ran: 1, Work: "large"}, {Type: "t", Device: "gpu", Ran: 98.5, Work: "huge"},
	} {
		r.Status, r.Completed = job.Completed, 1000
		m.Add(&r)
	}
	got := m.Comparisons()
	if len(got) != 1 || got[0].Works != 2 || math.Abs(got[0].SameWork-4) > 1e-12 || math.Abs(got[0].SpeedUp-4.5/(100.0/3)) > 1e-12 {
		t.Errorf("got %+v", got)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const good = `{"job_id":"a","job_type":"t","status":"completed","worker_type":"cpu","execution_time":0.5,"completed_at":1000}` + "\n"

// What is no result is told with its file and line; a last line that is being written is passed over.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		good + "{}\n": `:2: no result of a job: job_id is missing; mend the line`,
		"\n" + good + `{"job_id":"b","job_type":"t","status":"running","completed_at":1}` + "\n": `:3: job "b" has not ended: status is "running"`,
		"nonsense\n":                             ":1: no result of a job: invalid character",
		"[]\n":                                   ":1: no result of a job: ",
		strings.Replace(good, "cpu", "tpu", 1):   `:1: job "a": worker_type is "tpu"`,
		strings.Replace(good, "0.5", "-1", 1):    `:1: job "a": execution_time is -1`,
		strings.Replace(good, "1000", "1e99", 1): `:1: job "a": completed_at is 1e+99`,
	} {
		path := write(t, text)
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path+want) {
			t.Errorf("%q: got %v, want %s%s", text, err, path, want)
		}
	}
	if f, err := ReadFile(write(t, good+good[:20])); err != nil || len(f.Records) != 1 || !f.Torn {
		t.Errorf("got %+v, %v", f, err)
	}
	if f, err := ReadFile(write(t, "")); err != nil || len(f.Records) != 0 || f.Torn {
		t.Errorf("got %+v, %v", f, err)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A journal that was cut off while it was written goes on, and has each end once.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	all, events := ended()
	j := journal(t, path, 0)
	if added, err := j.Append(all[:50], events[:50]); err != nil || len(added) != 50 {
		t.Fatalf("%d, %v", len(added), err)
	}
	if _, err := OpenJournal(path, nil); !errors.Is(err, ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-7], 0o644); err != nil {
		t.Fatal(err)
	}
	j = journal(t, path, 49)
	if last := j.Last(); last.Event != events[48] || last.ID != "j048" || j.Torn() == 0 {
		t.Errorf("got %+v, %d bytes cut off", last, j.Torn())
	}
	again := *all[3] // was replayed, and has ended again
	again.Ended = again.Ended.Add(time.Hour)
	added, err := j.Append(append(all, &again), append(events, 999))
	if err != nil || len(added) != 72 || added[0].ID != "j049" || added[71].ID != "j003" {
		t.Errorf("%d, %v", len(added), err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil || len(f.Records) != 121 || f.Torn {
		t.Errorf("%d records, %v", len(f.Records), err)
	}
}

func journal(t *testing.T, path string, want int) *Journal {
	t.Helper()
	n := 0
	j, err := OpenJournal(path, func(*Record) { n++ })
	if err != nil || n != want {
		t.Fatalf("%d of %d were there: %v", n, want, err)
	}
	return j
}

// A line is the contract's result, with the submission's own fields as they were written.
// A device is read for ever, and a terminal until a person types.
func TestJournalIsFile(t *testing.T) {
	if j, err := OpenJournal("/dev/zero", nil); err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("%v, %v", j, err)
	}
}

func TestLine(t *testing.T) {
	all, _ := ended()
	all[0].Unknown = map[string]json.RawMessage{"ticket": json.RawMessage("12345678901234567890123"), fieldEvent: json.RawMessage("7")}
	line, err := Line(all[0], 4)
	if err != nil || !strings.Contains(string(line), `"ticket":12345678901234567890123`) || !strings.Contains(string(line), `"cancha_event":4,`) {
		t.Errorf("got %s, %v", line, err)
	}
	a, b := job.Spec{Type: "t", Parameters: json.RawMessage(`{"a":1,"b":2}`)}, job.Spec{Type: "t", Parameters: json.RawMessage(`{ "b":2, "a":1 }`)}
	if workOf(&a) != workOf(&b) || workOf(&a) == workOf(&job.Spec{Type: "t"}) {
		t.Errorf("got %q and %q", workOf(&a), workOf(&b))
	}
}

func ExampleWrite() {
	folder, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	results := filepath.Join(folder, "results.jsonl")
	if err := os.WriteFile(results, []byte(good), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	f, err := ReadFile(results)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = Write(folder, f.Records, results)
	made, _ := filepath.Glob(filepath.Join(folder, "*.*"))
	for _, path := range made {
		fmt.Println(filepath.Base(path))
	}
	fmt.Println(err)
	// Output:
	// comparison.csv
	// report.json
	// report.md
	// results.jsonl
	// statistics.csv
	// times.png
	// <nil>
}

func ExampleMeasures() {
	m := &Measures{}
	for _, r := range []Record{{Device: "cpu", Ran: 3}, {Device: "cpu", Ran: 5}, {Device: "gpu", Ran: 0.5}} {
		r.Type, r.Status, r.Completed = "fit", job.Completed, 1000
		m.Add(&r)
	}
	for _, s := range m.Statistics() {
		fmt.Println(s.Type, s.Device, s.Completed, s.Mean, s.P95)
	}
	fmt.Println(m.Comparisons()[0].SpeedUp)
	// Output:
	// fit gpu 1 0.5 0.5
	// fit cpu 2 4 4.9
	// 8
}
