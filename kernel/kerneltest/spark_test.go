package kerneltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"cancha/kernel/client"
	"cancha/kernel/wire"
)

// orphanLimit bounds how long a server may go on with what nobody waits for any more.
const orphanLimit = 10 * time.Second

// hours is a query that takes hours on one core, and has one stage; see endlessSQL in spark/internal/connect.
const hours = "select id from range(0, 1000000000000000, 1, 1) where (id ^ 7) % 1000003 = -1"

// TestSparkOrphans ends notebooks that have a query and a streaming query on Spark in each way that there is, and asks the server what it runs then:
// CANCHA_PROGRAM=bin/cancha (an absolute path) scripts/spark.sh with go test -run TestSparkOrphans ./kernel/kerneltest
func TestSparkOrphans(t *testing.T) {
	program, master := os.Getenv(programVariable), os.Getenv("CANCHA_SPARK")
	if program == "" || master == "" {
		t.Skip(programVariable + " does not name a cancha binary, or CANCHA_SPARK no server")
	}
	server := sparkPage{os.Getenv("CANCHA_SPARK_UI")}
	for _, test := range []struct {
		name string
		end  func(t *testing.T, n *sparkNotebook)
	}{
		{"the cell is interrupted", func(t *testing.T, n *sparkNotebook) {
			done := make(chan client.Reply, 1)
			go func() { done <- n.cell(t, "endless.Collect(ctx)") }()
			server.await(t, "runs the cell's query", func(w sparkWork) bool { return w.running > 0 })
			if err := n.client.Interrupt(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := <-done; r.Status == "ok" {
				t.Errorf("the cell ended with %+v", r)
			}
		}},
		{"the kernel is restarted", func(t *testing.T, n *sparkNotebook) {
			n.busy(t, server)
			if _, err := n.client.Request(t.Context(), client.Control, "shutdown_request", map[string]bool{"restart": true}, nil); err != nil {
				t.Fatal(err)
			}
			<-n.kernel.Exited()
		}},
		{"the kernel is shut down", func(t *testing.T, n *sparkNotebook) {
			n.busy(t, server)
			if err := n.kernel.Shutdown(t.Context(), n.client); err != nil {
				t.Fatal(err)
			}
		}},
		{"the engine is killed", func(t *testing.T, n *sparkNotebook) {
			n.busy(t, server)
			kill(t, n.engine)
		}},
		{"the kernel is killed", func(t *testing.T, n *sparkNotebook) {
			n.busy(t, server)
			kill(t, n.kernelPID)
			<-n.kernel.Exited()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := startSparkNotebook(t, program, master)
			test.end(t, n)
			began := time.Now()
			server.await(t, "is idle", func(w sparkWork) bool { return w.running == 0 })
			took := time.Since(began)
			if took > orphanLimit {
				t.Errorf("the server went on for %v", took)
			}
			before := server.work(t)
			time.Sleep(2 * time.Second) // a streaming query would have begun some jobs
			if after := server.work(t); after != before {
				t.Errorf("the server had %+v, and two seconds later %+v", before, after)
			}
			t.Logf("idle after %v", took.Round(10*time.Millisecond))
		})
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// sparkNotebook is a kernel with a session on Spark: ctx, s and the frame endless.
type sparkNotebook struct {
	kernel            *client.Kernel
	client            *client.Client
	kernelPID, engine int
}

func startSparkNotebook(t *testing.T, program, master string) *sparkNotebook {
	t.Helper()
	k, err := client.Start(client.Config{Argv: []string{program, "kernel", "{connection_file}"}, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Kill)
	n := &sparkNotebook{kernel: k}
	if n.client, err = k.Connect(t.Context(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.client.Close() })
	n.ok(t, fmt.Sprintf(`import ("cancha/spark"; "context"; "fmt"; "os")
ctx := context.Background()
s, err := spark.Connect(ctx, %q)
if err != nil {
	panic(err)
}
endless, err := s.SQL(ctx, %q)
if err != nil {
	panic(err)
}`, master, hours))
	if _, err := fmt.Sscan(n.ok(t, "fmt.Println(os.Getppid(), os.Getpid())"), &n.kernelPID, &n.engine); err != nil {
		t.Fatal(err)
	}
	return n
}

// cell runs a cell and drops what it prints.
func (n *sparkNotebook) cell(t *testing.T, code string) client.Reply {
	reply, err := n.client.Execute(t.Context(), code, nil)
	if err != nil {
		t.Error(err)
	}
	return reply
}

// ok runs a cell that must not fail, and returns what it prints.
func (n *sparkNotebook) ok(t *testing.T, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the first builds the room in
	defer cancel()
	var ms []wire.Message
	reply, err := n.client.Execute(ctx, code, func(m wire.Message) { ms = append(ms, m) })
	if err != nil || reply.Status != "ok" {
		t.Fatalf("%s\n%+v, %v", code, reply, err)
	}
	return printed(ms, "stdout")
}

// busy begins a query and a streaming query beside the cells, and waits until both run.
func (n *sparkNotebook) busy(t *testing.T, server sparkPage) {
	t.Helper()
	before := server.work(t).begun
	n.ok(t, `go endless.Collect(ctx)
q, err := s.ReadStream(spark.Source{Format: "rate"}).Start(ctx, spark.Stream{Format: "noop"})
if err != nil {
	panic(err)
}`)
	server.await(t, "runs both", func(w sparkWork) bool { return w.running > 0 && w.begun >= before+3 })
}

// sparkPage is the REST API of a server's page (https://spark.apache.org/docs/4.0.0/monitoring.html#rest-api).
type sparkPage struct{ url string }

// sparkWork is what a server has to do: its jobs, which queries and batches of streaming queries consist of.
type sparkWork struct{ running, begun int }

func (p sparkPage) work(t *testing.T) (w sparkWork) {
	t.Helper()
	var apps []struct{ ID string }
	p.get(t, "", &apps)
	if len(apps) != 1 {
		t.Fatalf("the server has the applications %v", apps)
	}
	var jobs []struct {
		JobID  int
		Status string
	}
	p.get(t, "/"+apps[0].ID+"/jobs", &jobs)
	for _, j := range jobs {
		w.begun = max(w.begun, j.JobID+1)
		if j.Status == "RUNNING" {
			w.running++
		}
	}
	return w
}

func (p sparkPage) get(t *testing.T, path string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(p.url, "/")+"/api/v1/applications"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// await asks again and again: nobody tells.
func (p sparkPage) await(t *testing.T, what string, done func(sparkWork) bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		w := p.work(t)
		if done(w) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server never %s: %+v", what, w)
		}
	}
}
