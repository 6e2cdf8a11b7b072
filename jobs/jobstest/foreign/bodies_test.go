package foreign

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/placement"
	"cancha/jobs/report"
)

// contractBodies are the four submissions of the contract's documents, without ids, by the field that says how much is done.
var contractBodies = []struct {
	name, body, grows string
	usual             int    // as much as the documents say
	long              string // one whose work takes ten times as long as the making of its data, and more
	much              int
}{
	{job.MatrixMultiply, `{"job_type": "matrix_multiply", "size": 1000, "iterations": %d}`, "iterations", 10,
		`{"job_type": "matrix_multiply", "size": 1000, "iterations": %d}`, 10},
	{job.NeuralNetwork, `{"job_type": "neural_network", "epochs": %d, "batch_size": 64, "input_size": 784, "hidden_size": 256, "output_size": 10}`, "epochs", 5,
		`{"job_type": "neural_network", "epochs": %d, "batch_size": 64, "input_size": 784, "hidden_size": 256, "output_size": 10}`, 400},
	{job.VectorAddition, `{"job_type": "vector_addition", "size": 10000000, "iterations": %d}`, "iterations", 100,
		`{"job_type": "vector_addition", "size": 1000000, "iterations": %d}`, 1000},
	{job.ImageProcessing, `{"job_type": "image_processing", "batch_size": 32, "image_size": 224, "iterations": %d}`, "iterations", 50,
		`{"job_type": "image_processing", "batch_size": 32, "image_size": 224, "iterations": %d}`, 100},
	{job.ImageProcessing, `{"job_type": "image_processing", "batch_size": %d, "image_size": 224, "iterations": 20}`, "batch_size", 32,
		`{"job_type": "image_processing", "batch_size": %d, "image_size": 224, "iterations": 100}`, 32},
}

// envQuiet says that nothing else runs on the machine, so that times mean something.
const envQuiet = "CANCHA_QUIET"

// metrics are those of the contract, which each result has by these names.
var metrics = []string{"job_id", "job_type", "worker_id", "worker_type", "processing_time", "device", "status"}

// TestBodies: the contract's submissions are done as they say, by pika, with each metric by its name. What is done grows with iterations,
// epochs and batch_size as the session's own count has it, and so do the first prediction and the processor's time; on a quiet machine the
// time is in proportion.
func TestBodies(t *testing.T) {
	p := newPlace(t)
	p.house()
	p.pika(`{"job_id": "warm", "job_type": "image_processing"}`+"\n", "submit") // the first job pays for what is loaded
	p.pika("", "results", job.QueueResults, "1")
	for _, c := range contractBodies {
		t.Run(c.name+" by "+c.grows, func(t *testing.T) {
			at := &place{T: t, url: p.url, broker: p.broker} // of this part
			few, many := at.one(fmt.Sprintf(c.body, c.usual), c.name), at.one(fmt.Sprintf(c.body, 4*c.usual), c.name)
			once, more := at.computed(few), at.computed(many)
			grown := map[string]float64{"iterations": ratio(more.Iterations, once.Iterations),
				"epochs": ratio(more.Iterations, once.Iterations), "batch_size": ratio(more.Batch, once.Batch)}[c.grows]
			if grown != 4 || once.Ignored != nil {
				t.Errorf("got %+v, and four times as much as %+v", once, more)
			}
			if predicted := at.predicted(many) / at.predicted(few); !(predicted > 1.5) {
				t.Errorf("predicted %v times as long for four times as much", predicted)
			}
			t.Logf("%d %s: %.4f s, %.3g FLOPS, %.3g bytes/s, transfer %.4f s, processing_time %v; four times as many: %.4f s", c.usual, c.grows,
				once.Seconds, once.FLOPS, once.Bandwidth, once.Transfer, string(few.fields["processing_time"]), more.Seconds)
			if !(many.cpu > few.cpu) {
				t.Errorf("%v of the processor for once as much, and %v for four times", few.cpu, many.cpu)
			}
			if os.Getenv(envQuiet) != "" {
				at.proportional(c.long, c.name, c.much)
			}
			p.ended = append(p.ended, at.ended...)
		})
	}
	p.aggregates()
}

// pairs is how many pairs of runs are compared: what else there is on a machine makes some of them longer, and not most.
const pairs = 7

// proportional: four times as much takes four times as long within a fifth, by the processing_time and by the time of the processor. The
// runs of a pair follow one another, and the median of the pairs counts.
func (p *place) proportional(body, name string, much int) {
	p.Helper()
	var took, computed []float64
	for i := range pairs {
		both := [2]answer{}
		for k := range both {
			k ^= i % 2 // the second run of a pair may find the machine warmer, or busier
			both[k] = p.called(fmt.Sprintf(body, much*[2]int{1, 4}[k]), name)
		}
		took = append(took, p.processing(both[1])/p.processing(both[0]))
		computed = append(computed, both[1].cpu.Seconds()/both[0].cpu.Seconds())
	}
	slices.Sort(took)
	slices.Sort(computed)
	p.Logf("four times %d takes %.2f times the processor's time, of the pairs %.2f, and processing_time %.2f, %.2f", much,
		computed[pairs/2], computed, took[pairs/2], took)
	in := func(all []float64) bool { return math.Abs(all[pairs/2]/4-1) <= .2 }
	switch {
	case !in(computed):
		p.Errorf("four times %d takes %.2f times as long of the processor (%.2f), want 4 within a fifth", much, computed[pairs/2], computed)
	case !in(took):
		p.Errorf("four times %d takes %.2f times the processing_time (%.2f), want 4 within a fifth. Of the processor it takes %.2f times: other programs have used the machine, which %s says is quiet",
			much, took[pairs/2], took, computed[pairs/2], envQuiet)
	}
}

// processing is the processing_time of a result.
func (p *place) processing(a answer) (seconds float64) {
	p.Helper()
	if err := json.Unmarshal(a.fields["processing_time"], &seconds); err != nil {
		p.Fatalf("%s: %v", a.Body, err)
	}
	return seconds
}

// processor is how long this process has used the processor: the worker is in it. Other programs take time from a job, and hardly any of this.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil { // it cannot fail for this process
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }

// one has pika submit one body, which has no id, and another client read its result.
func (p *place) one(body, name string) answer {
	p.Helper()
	return p.done(body, name, func() []string {
		p.pika(body+"\n", "submit")
		return p.pika("", "results", job.QueueResults, "1")
	})
}

// called is one, by a single client: another, which begins while the job runs, takes a tenth of a second of the machine.
func (p *place) called(body, name string) answer {
	p.Helper()
	return p.done(body, name, func() []string { return p.pika(body+"\n", "call") })
}

// done checks the answer, which has each metric of the contract, and notes how long the processor worked for it.
func (p *place) done(body, name string, do func() []string) answer {
	p.Helper()
	before := processor()
	all := p.answers(do())
	a := slices.Collect(maps.Values(all))[0]
	a.cpu = processor() - before
	for _, name := range metrics {
		if text := string(a.fields[name]); text == "" || text == `""` || text == "0" {
			p.Errorf("%s has no %s: %s", name, name, a.Body)
		}
	}
	if a.JobType != name || a.Status != "completed" || a.WorkerType != placement.CPU ||
		string(a.fields["processing_time"]) != string(a.fields["execution_time"]) {
		p.Fatalf("%s: got %s", body, a.Body)
	}
	p.ended = append(p.ended, a.Body)
	return a
}

func (p *place) computed(a answer) (r operation.Result) {
	p.Helper()
	if err := json.Unmarshal(a.Result, &r); err != nil || !(r.Seconds > 0 && r.FLOPS > 0 && r.Bandwidth > 0) {
		p.Fatalf("%s: %v", a.Body, err)
	}
	return r
}

func (p *place) predicted(a answer) float64 {
	p.Helper()
	var all map[placement.Device]float64
	if err := json.Unmarshal(a.fields["predicted"], &all); err != nil || !(all[placement.CPU] > 0) {
		p.Fatalf("%s: %v", a.Body, err)
	}
	return all[placement.CPU]
}

// aggregates: the results, as a file of them, give what the contract counts: by job type and worker type how many, their mean, least and
// longest, and a rate.
func (p *place) aggregates() {
	p.Helper()
	path := p.TempDir() + "/results.jsonl"
	if err := os.WriteFile(path, []byte(strings.Join(p.ended, "\n")+"\n"), 0o600); err != nil {
		p.Fatal(err)
	}
	f, err := report.ReadFile(path)
	if err != nil {
		p.Fatal(err)
	}
	var m report.Measures
	for i := range f.Records {
		m.Add(&f.Records[i])
	}
	if all := m.Statistics(); len(all) != 4 || !(m.Throughput() > 0) {
		p.Errorf("got %+v, %v jobs a second", all, m.Throughput())
	}
	for _, s := range m.Statistics() {
		if s.Device != placement.CPU || s.Completed < 2 || !(s.Min > 0 && s.Min <= s.Mean && s.Mean <= s.Max) {
			p.Errorf("got %+v", s)
		}
	}
}
