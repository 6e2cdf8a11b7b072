package foreign

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	randv2 "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/jobs/job"
	"cancha/jobs/operation"
	"cancha/jobs/placement"
	"cancha/jobs/queue"
	"cancha/jobs/rabbitmq"
	"cancha/jobs/scheduler"
	"cancha/jobs/store"
	"cancha/jobs/worker"
	"cancha/runtime/gpu"
)

// What scripts/pika.sh sets.
const (
	envServer = "CANCHA_RABBITMQ"     // the server's address
	envAPI    = "CANCHA_RABBITMQ_API" // of its management
	envPython = "CANCHA_PIKA"         // a Python that has pika
)

// place is a vhost of the server that only one test uses, so that the contract's queues are its own.
type place struct {
	*testing.T
	url    string
	broker *rabbitmq.Broker
	ended  []string // bodies of results that were read
}

func newPlace(t *testing.T) *place {
	t.Helper()
	address, api := os.Getenv(envServer), os.Getenv(envAPI)
	if address == "" || api == "" || os.Getenv(envPython) == "" {
		t.Skip(envServer + ", " + envAPI + " and " + envPython + " name no RabbitMQ and no Python with pika; scripts/pika.sh does")
	}
	name := "pika-" + strings.ToLower(rand.Text()[:10])
	p := &place{T: t, url: strings.TrimSuffix(address, "/") + "/" + name}
	p.manage(http.MethodPut, api+"/api/vhosts/"+name, "")
	t.Cleanup(func() { p.manage(http.MethodDelete, api+"/api/vhosts/"+name, "") })
	p.manage(http.MethodPut, api+"/api/permissions/"+name+"/guest", `{"configure":".*","write":".*","read":".*"}`)
	return p
}

func (p *place) manage(method, address, body string) {
	p.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= 300 {
		p.Fatalf("%s %s: %s: %s", method, r.URL.Redacted(), answer.Status, text)
	}
}

// lease is shorter than usual, for a test waits for one; below twice the time in which a claim is made again, a busy machine would lose jobs by it.
const lease = 3 * time.Second

// house starts a scheduler, and a worker that computes on a CPU.
func (p *place) house() {
	p.Helper()
	ctx := p.Context()
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("CANCHA_LOG") != "" {
		logger = slog.Default()
	}
	p.broker = must(rabbitmq.Dial(ctx, rabbitmq.Config{URL: p.url, Logger: logger}))(p)
	closes(p, p.broker.Close)
	st := must(store.Open(p.TempDir()))(p)
	closes(p, st.Close)
	closes(p, must(scheduler.Start(ctx, p.broker, st, scheduler.Settings{Lease: lease}, logger))(p).Close)
	session := must(gpu.NewSession(ctx, gpu.Config{Device: gpu.CPU}))(p)
	closes(p, session.Close)
	self := placement.Worker{ID: "ours", Device: placement.CPU, Model: "test"}
	closes(p, must(worker.Start(ctx, worker.Config{Broker: p.broker, Worker: self, Funcs: operation.Funcs(session), Beat: lease / 5, Logger: logger}))(p).Close)
}

func must[T any](v T, err error) func(*place) T {
	return func(p *place) T {
		p.Helper()
		if err != nil {
			p.Fatal(err)
		}
		return v
	}
}

func closes(p *place, f func() error) {
	p.Cleanup(func() {
		if err := f(); err != nil {
			p.Error(err)
		}
	})
}

// pika runs client.py, and returns the lines that it prints.
func (p *place) pika(stdin string, args ...string) []string {
	p.Helper()
	lines, err := p.run(stdin, args...)
	if err != nil {
		p.Fatal(err)
	}
	return lines
}

func (p *place) run(stdin string, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(p.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Getenv(envPython), append([]string{"testdata/client.py", p.url}, args...)...)
	c.Stdin = strings.NewReader(stdin)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("client.py %v: %w\n%s", args, err, said.Bytes())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// answer is a message as pika has it, with its body read.
type answer struct {
	Body     string `json:"body"`
	Mode     int    `json:"delivery_mode"`
	Type     string `json:"content_type"`
	ID       string `json:"message_id"`
	Question string `json:"correlation_id"`
	fields   map[string]json.RawMessage
	cpu      time.Duration // that this process used of the processor meanwhile
	result
}

// result is what a consumer of the contract reads of a result.
type result struct {
	Job        string           `json:"job_id"`
	JobType    string           `json:"job_type"`
	Status     string           `json:"status"`
	Error      string           `json:"error"`
	Worker     string           `json:"worker_id"`
	WorkerType placement.Device `json:"worker_type"`
	Took       float64          `json:"execution_time"`
	Submitted  float64          `json:"submitted_at"`
	Completed  float64          `json:"completed_at"`
	Result     json.RawMessage  `json:"result"`
}

func (p *place) answers(lines []string) map[string]answer {
	p.Helper()
	all := map[string]answer{}
	for _, line := range lines {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			p.Fatalf("%s: %v", line, err)
		}
		for _, to := range []any{&a.result, &a.fields} {
			if err := json.Unmarshal([]byte(a.Body), to); err != nil {
				p.Fatalf("%s: %v", a.Body, err)
			}
		}
		all[a.Job] = a
	}
	return all
}

// bodies are one of each type, with the layouts of parameters that producers use; client.py is to have no say in how they are written.
const bodies = `{"job_id": "mm", "job_type": "matrix_multiply", "prefer_gpu": true, "parameters": {"size": 64, "seed": 3}}
{"job_id": "nn", "job_type": "neural_network", "prefer_gpu": true, "parameters": {"input_size": 12, "hidden_size": 8, "output_size": 3, "batch_size": 16, "epochs": 5}}
{"job_id": "va", "job_type": "vector_addition", "prefer_gpu": false, "size": 1000, "seed": 7}
{"job_id": "ip", "job_type": "image_processing", "prefer_gpu": false, "data": {"width": 40, "height": 30, "operation": "blur"}, "user": {"name": "ana", "id": 9007199254740993}}
`

// TestOrder: pika declares the four queues as ever, before us and after us, and the jobs of all four types come back with what they computed.
func TestOrder(t *testing.T) {
	for _, first := range []string{"pika", "ours"} {
		t.Run(first+" first", func(t *testing.T) {
			p := newPlace(t)
			if first == "pika" {
				p.pika(bodies, "submit") // what is there is taken in
			}
			p.house()
			if first == "ours" {
				p.pika(bodies, "submit")
			}
			p.check(p.answers(p.pika("", "results", job.QueueResults, "4")))
		})
	}
}

func (p *place) check(all map[string]answer) {
	p.Helper()
	for id, name := range map[string]string{"mm": job.MatrixMultiply, "nn": job.NeuralNetwork, "va": job.VectorAddition, "ip": job.ImageProcessing} {
		a := all[id]
		if a.JobType != name || a.Status != "completed" || a.Worker != "ours" || a.WorkerType != placement.CPU || !(a.Took > 0) || a.Error != "" {
			p.Errorf("%s: got %s", name, a.Body)
		}
		if a.Mode != 2 || a.Type != "application/json" || a.ID != id || a.Question != id || a.Submitted > a.Completed || a.Submitted < 1.7e9 {
			p.Errorf("%s: got %+v", name, a)
		}
		var r operation.Result
		if err := json.Unmarshal(a.Result, &r); err != nil {
			p.Fatalf("%s: %s: %v", name, a.Body, err)
		}
		if want := expected[name]; want != nil {
			want(p, &r)
		}
	}
	if user := string(all["ip"].fields["user"]); user != `{"name":"ana","id":9007199254740993}` {
		p.Errorf("the producer's own field came back as %s", user)
	}
}

// expected compute results once more, by their definitions.
var expected = map[string]func(*place, *operation.Result){
	job.MatrixMultiply: func(p *place, r *operation.Result) {
		const n = 64
		a, b, c := draw(n*n, 3), draw(n*n, 4), make([]float64, n*n)
		for i := range c {
			for k := range n {
				c[i] += a[i/n*n+k] * b[k*n+i%n]
			}
		}
		p.same(r, []int64{n, n}, c)
	},
	job.VectorAddition: func(p *place, r *operation.Result) {
		a, b := draw(1000, 7), draw(1000, 8)
		for i := range a {
			a[i] += b[i]
		}
		p.same(r, []int64{1000}, a)
	},
	job.ImageProcessing: func(p *place, r *operation.Result) {
		const w, h = 40, 30
		from, to := draw(w*h, 0), make([]float64, w*h)
		for i := range to {
			for _, d := range [9][2]int{{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 0}, {0, 1}, {1, -1}, {1, 0}, {1, 1}} {
				if y, x := i/w+d[0], i%w+d[1]; y >= 0 && y < h && x >= 0 && x < w {
					to[i] += from[y*w+x] / 9
				}
			}
		}
		p.same(r, []int64{h, w}, to)
	},
	job.NeuralNetwork: func(p *place, r *operation.Result) {
		if !slices.Equal(r.Shape, []int64{12, 8, 3}) || len(r.Loss) != 5 || !(r.Loss[4] < r.Loss[0]) {
			p.Errorf("got %+v", r)
		}
	},
}

// draw is what package operation says of its numbers: pseudo-random by the seed, from -0.5 to 0.5.
func draw(n int, seed uint64) []float64 {
	r, all := randv2.New(randv2.NewPCG(seed, 0x6a6f62)), make([]float64, n)
	for i := range all {
		all[i] = float64(r.Float32() - .5)
	}
	return all
}

func (p *place) same(r *operation.Result, shape []int64, want []float64) {
	p.Helper()
	mean, near := 0.0, func(a, b float64) bool { return math.Abs(a-b) < 1e-5 }
	for _, v := range want {
		mean += v / float64(len(want))
	}
	if !slices.Equal(r.Shape, shape) || !near(r.Mean, mean) || len(r.First) != 4 {
		p.Errorf("got %+v, want the shape %v and a mean of %v", r, shape, mean)
		return
	}
	for i, v := range r.First {
		if !near(float64(v), want[i]) {
			p.Errorf("got %v, want %v", r.First, want[:4])
		}
	}
}

// TestOdd: messages as programs write them that mean no harm. What is no job gets a result that says so; what has no properties is a job
// all the same.
func TestOdd(t *testing.T) {
	p := newPlace(t)
	p.house()
	var in strings.Builder
	for _, m := range []map[string]any{
		{"body": `{"job_type": "vector_addition", "size": 10, "job_id": 17}`},
		{"body": `{"job_type": "vector_addition", "size": 10, "job_id": "named", "id": 123456789012345678901234567890, "pi": 3.14159265358979323846, "é": "ü", "nil": null}`, "priority": 9},
		{"body": `{"job_type": "vector_addition", "size": 10}`, "message_id": "by-property", "content_type": "text/plain", "delivery_mode": 1},
		{"body": "\ufeff" + `{"job_type": "vector_addition", "size": 10, "job_id": "marked"}`},
		{"body": "matrix_multiply, please", "message_id": "prose"},
		{"body": "", "message_id": "empty"},
		{"body": `{"job_type": "vector_addition", "size": "1000", "job_id": "text"}`},
		{"body": `{"job_type": "vector_addition", "size": 11, "job_id": 17}`, "correlation_id": "clash"},
		{"body": `{"job_type": "make_coffee", "job_id": "coffee", "deadline": 1}`},
	} {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&in, "%s\n", line)
	}
	p.pika(in.String(), "send")
	lines := p.pika("", "results", job.QueueResults, "9")
	clash := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"correlation_id": "clash"`) })
	if clash < 0 || !strings.Contains(lines[clash], "other parameters") {
		t.Fatalf("the second job of one id: %q", lines)
	}
	all := p.answers(slices.Delete(lines, clash, clash+1))
	for id, want := range map[string]string{
		"17": "completed", "named": "completed", "by-property": "completed", "marked": "completed", "text": `"1000"; it is a whole number`,
		"prose": "want a JSON object", "empty": "want a JSON object", "coffee": "has passed",
	} {
		a, ok := all[id]
		if !ok || a.Status != want && !(a.Status == "failed" && strings.Contains(a.Error, want)) {
			t.Errorf("%s: got %s, want %s", id, a.Body, want)
		}
	}
	for name, want := range map[string]string{"id": "123456789012345678901234567890", "pi": "3.14159265358979323846", "é": `"ü"`, "nil": "null", "size": "10"} {
		if got := string(all["named"].fields[name]); got != want {
			t.Errorf("%s came back as %s, want %s", name, got, want)
		}
	}
	p.until("the four that are refused are dead letters, and not the one that came too late", func() bool {
		info, err := p.broker.Inspect(t.Context(), queue.DeadLetters)
		return err == nil && info.Ready == 4
	})
}

// until waits until something is so.
func (p *place) until(what string, is func() bool) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("%s: it does not become so", what)
		}
	}
}

// TestCall: an answer goes to a queue that the server has named, as RabbitMQ's own examples of a remote call have it.
func TestCall(t *testing.T) {
	p := newPlace(t)
	p.house()
	lines := p.pika(`{"job_type": "vector_addition", "size": 10, "job_id": "rpc"}`, "call")
	if a := p.answers(lines)["rpc"]; a.Status != "completed" || a.Question != "42" {
		t.Errorf("got %q", lines)
	}
}

// TestWorker: a program that takes from cpu_queue what is meant for workers, and answers into result_queue itself, asks nobody and tells
// nobody else. Whoever reads results has its answer; the job is sent once more, past that program, and the job's own result comes as well.
func TestWorker(t *testing.T) {
	p := newPlace(t)
	p.house()
	var lines []string
	var err error
	var work sync.WaitGroup
	work.Go(func() { lines, err = p.run("", "worker", job.QueueCPU, "1") })
	p.until("pika takes from cpu_queue", func() bool {
		info, err := p.broker.Inspect(t.Context(), job.QueueCPU)
		return err == nil && info.Consumers == 2
	})
	var in strings.Builder
	for i := range 8 { // some of which pika gets
		fmt.Fprintf(&in, `{"job_type": "vector_addition", "size": 10, "job_id": "%d"}`+"\n", i)
	}
	p.pika(in.String(), "submit")
	work.Wait()
	if err != nil || len(lines) != 1 {
		t.Fatalf("pika took %q, %v", lines, err)
	}
	taken := p.answers(lines)
	ours := map[string]int{}
	for _, line := range p.pika("", "results", job.QueueResults, "9") {
		for id, a := range p.answers([]string{line}) {
			if a.Worker == "ours" && a.Status == "completed" {
				ours[id]++
			} else if a.Worker != "pika-1" || taken[id].Body == "" {
				t.Errorf("got %s", a.Body)
			}
		}
	}
	if len(ours) != 8 {
		t.Errorf("ours ended %v, want each of 8 jobs once", ours)
	}
}
