package foreign

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/placement"
	"cancha/jobs/report"
)

// contractBodies are the four submissions of the contract's documents, without ids, by the field that says how much is done.
var contractBodies = []struct{ name, body, grows string }{
	{job.MatrixMultiply, `{"job_type": "matrix_multiply", "size": 1000, "iterations": %d}`, "iterations"},
	{job.NeuralNetwork, `{"job_type": "neural_network", "epochs": %d, "batch_size": 64, "input_size": 784, "hidden_size": 256, "output_size": 10}`, "epochs"},
	{job.VectorAddition, `{"job_type": "vector_addition", "size": 10000000, "iterations": %d}`, "iterations"},
	{job.ImageProcessing, `{"job_type": "image_processing", "batch_size": 32, "image_size": 224, "iterations": %d}`, "iterations"},
	{job.ImageProcessing, `{"job_type": "image_processing", "batch_size": %d, "image_size": 224, "iterations": 20}`, "batch_size"},
}

// usual is what the documents say of each, but for the batch.
var usual = []int{10, 5, 100, 50, 32}

// envQuiet says that nothing else runs on the machine, so that times mean something.
const envQuiet = "CANCHA_QUIET"

// metrics are those of the contract, which each result has by these names.
var metrics = []string{"job_id", "job_type", "worker_id", "worker_type", "processing_time", "device", "status"}

// TestBodies: the contract's submissions are done as they say, by pika, with each metric by its name. What is done grows with iterations and batch_size as the
// session's own count has it, and so does the first prediction; on a quiet machine the time, within a fifth. Of five epochs the first weights are a good part, so those
// are not held to that.
func TestBodies(t *testing.T) {
	p := newPlace(t)
	p.house()
	p.pika(`{"job_id": "warm", "job_type": "image_processing"}`+"\n", "submit") // the first job pays for what is loaded
	p.pika("", "results", job.QueueResults, "1")
	for i, c := range contractBodies {
		t.Run(c.name+" by "+c.grows, func(t *testing.T) {
			at := &place{T: t, url: p.url, broker: p.broker} // of this part
			few, many := at.one(fmt.Sprintf(c.body, usual[i]), c.name), at.one(fmt.Sprintf(c.body, 4*usual[i]), c.name)
			p.ended = append(p.ended, at.ended...)
			once, more := at.computed(few), at.computed(many)
			grown := map[string]float64{"iterations": ratio(more.Iterations, once.Iterations), "epochs": ratio(more.Iterations, once.Iterations), "batch_size": ratio(more.Batch, once.Batch)}[c.grows]
			if grown != 4 || once.Ignored != nil {
				t.Errorf("got %+v, and four times as much as %+v", once, more)
			}
			if predicted := at.predicted(many) / at.predicted(few); !(predicted > 1.5) {
				t.Errorf("predicted %v times as long for four times as much", predicted)
			}
			took := at.least(fmt.Sprintf(c.body, 4*usual[i]), c.name, &more) / at.least(fmt.Sprintf(c.body, usual[i]), c.name, &once)
			t.Logf("%d %s: %.4f s, %.3g FLOPS, %.3g bytes/s, transfer %.4f s, processing_time %v; four times as many: %.4f s, %.2f times as long", usual[i], c.grows,
				once.Seconds, once.FLOPS, once.Bandwidth, once.Transfer, string(few.fields["processing_time"]), more.Seconds, took)
			if os.Getenv(envQuiet) != "" && c.grows != "epochs" && math.Abs(took/4-1) > .2 {
				t.Errorf("it took %.2f times as long for four times as much; on a quiet machine, which %s says this is, within a fifth of 4", took, envQuiet)
			}
		})
	}
	p.aggregates()
}

// tries is of how many runs the least time counts, on a quiet machine: what else there is can make a run longer, and never shorter.
const tries = 5

// least is the shortest time in which a body was computed, without the copies, which are the same however often it is. The first of its results is there.
func (p *place) least(body, name string, first *operation.Result) float64 {
	p.Helper()
	seconds := first.Seconds - first.Transfer
	for range tries - 1 {
		if os.Getenv(envQuiet) == "" {
			break
		}
		r := p.computed(p.one(body, name))
		seconds = min(seconds, r.Seconds-r.Transfer)
	}
	return seconds
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }

// one has pika submit one body, which has no id, and read its result, which has each metric of the contract.
func (p *place) one(body, name string) answer {
	p.Helper()
	p.pika(body+"\n", "submit")
	all := p.answers(p.pika("", "results", job.QueueResults, "1"))
	a := slices.Collect(maps.Values(all))[0]
	for _, name := range metrics {
		if text := string(a.fields[name]); text == "" || text == `""` || text == "0" {
			p.Errorf("%s has no %s: %s", name, name, a.Body)
		}
	}
	if a.JobType != name || a.Status != "completed" || a.WorkerType != placement.CPU || string(a.fields["processing_time"]) != string(a.fields["execution_time"]) {
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

// aggregates: the results, as a file of them, give what the contract counts: by job type and worker type how many, their mean, least and longest, and a rate.
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
