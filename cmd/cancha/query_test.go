//go:build !windows

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cancha/stream/broker"
	"cancha/stream/kafka"
)

// writeFile makes a file in a folder.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestQuery: how processes end that no signal ends.
func TestQuery(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "n.csv", "n\n1\n2\n3\n")
	const query = `import (
	"cancha/stream"
	"cancha/stream/file"
)
numbers := stream.From(file.Source("n.csv")).Name("numbers").Select("n")
`
	writeFile(t, dir, "cell.go", query+`running := must(numbers.To(stream.SinkFunc(func(_ int64, rows *stream.Rows) error {
	fmt.Println(rows.Len(), "rows")
	return nil
})).Start(context.Background()))`)
	writeFile(t, dir, "broken.go", query+`must(numbers.To(stream.SinkFunc(func(int64, *stream.Rows) error {
	return errors.New("the disk is full")
})).Start(context.Background()))`)
	writeFile(t, dir, "fail.go", "fmt.Println(\"before\")\nvar s []int\ns[2] = 1")
	writeFile(t, dir, "none.go", "package main\n\nfunc main() { fmt.Println(os.Getenv(\"CANCHA_QUERIES\") + \"on stdout\") }")
	writeFile(t, dir, "script.go", "#!/usr/local/bin/cancha query\npackage main // that is all\n\nfunc main() { fmt.Println(\"it runs\") }")
	writeFile(t, dir, "part.go", "package part")
	writeFile(t, dir, "words.go", "This is no Go.")
	writeFile(t, dir, "words.txt", "This is no Go.")
	write(t, filepath.Join(dir, "n.ipynb"), `path := ""`, strings.Replace(query, `"n.csv"`, "path", 1), `must(numbers.Start(context.Background()))`)
	for _, c := range []struct {
		name, args     string
		code           int
		stdout, stderr string
	}{
		{"a query that ends", "cell.go", 0, "3 rows\n", `query "numbers" has ended: 3 records, 0 late, 0 bad, 3 rows out`},
		{"a notebook", "-p path=n.csv n.ipynb", 0, "", `query "numbers" starts: `},
		{"a query that fails", "broken.go", 1, "", "the disk is full: 3 records"},
		{"a failing cell", "fail.go", 1, "before\n", "fail.go: cell 1 of 1 failed:\n\n    fmt.Println(\"before\")"},
		{"no query", "none.go", 1, "on stdout\n", "none.go has started no query, so there is nothing to stay for: must("},
		{"a command", "script.go", 1, "it runs\n", "script.go has started no query"},
		{"no Go", "words.go", 1, "", "words.go: cell 1 of 1 failed"},
		{"another package", "part.go", 1, "", "part.go is of package part: "},
		{"another file", "words.txt", 1, "", "words.txt is neither a notebook (.ipynb) nor a file of Go (.go)"},
		{"no file", "gone.go", 1, "", "gone.go: no such file"},
		{"parameters of a file", "-p n=2 cell.go", 1, "", "cell.go can ask os.Getenv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := outcome(t, dir, append([]string{"query"}, strings.Fields(c.args)...)...)
			if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %q, want %q\nstderr: %s\nwant in it: %s", code, c.code, stdout, c.stdout, stderr, c.stderr)
			}
		})
	}
}

// minutes is a program whose query over a topic ends after 2,000 records. It waits for that in its cell, which must hold up nothing.
const minutes = `package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"cancha/stream"
	"cancha/stream/checkpoint"
	"cancha/stream/file"
	"cancha/stream/kafka"
)

func main() {
	check(os.WriteFile("pids.new", fmt.Append(nil, os.Getppid(), " ", os.Getpid(), " ", 0), 0o600))
	check(os.Rename("pids.new", "pids"))
	source := kafka.Source(kafka.Config{Brokers: kafka.Brokers(os.Getenv("KAFKA_BROKERS")), Topic: "moves"})
	running := must(stream.From(source).Name("minutes").EventTime(stream.Field("ts").UnixMillis()).
		GroupBy("k").Window(stream.Tumbling(time.Minute)).Agg(stream.Count("n"), stream.Sum("x", stream.Field("x"))).
		Checkpoint(checkpoint.Folder("snapshots")).Epoch(50 * time.Millisecond).MaxRecords(2000).
		To(file.JSONLines("rows.jsonl")).Start(context.Background()))
	check(running.Wait(context.Background()))
}`

// TestQueryGoesOn ends a process midway, by signals that stop it and by one that kills it: the next one goes on, the rows are those of a
// run without a break, and no engine is left.
func TestQueryGoesOn(t *testing.T) {
	b, err := broker.Start(broker.Config{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	t.Setenv("KAFKA_BROKERS", b.Addr())
	produce(t, b.Addr(), 0, 1000)
	var folders []string
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		if signal.Ignored(end) {
			continue // nohup has it ignored, by these tests and by what they start
		}
		dir := t.TempDir()
		writeFile(t, dir, "minutes.go", minutes)
		endMidway(t, dir, end)
		folders = append(folders, dir)
	}
	produce(t, b.Addr(), 1000, 2000)
	calm := t.TempDir()
	writeFile(t, calm, "minutes.go", minutes)
	var want []string
	for _, dir := range append([]string{calm}, folders...) {
		code, _, stderr := outcome(t, dir, "query", "minutes.go")
		got := rowsOf(t, dir)
		if want == nil {
			want = got
		}
		if code != 0 || len(got) < 50 || !slices.Equal(got, want) {
			t.Errorf("exit code %d, %d rows, want %d\n%s", code, len(got), len(want), stderr)
		}
		if goesOn := strings.Contains(stderr, `query "minutes" It goes on from epoch`); goesOn != (dir != calm) {
			t.Errorf("it says that it goes on: %v\n%s", goesOn, stderr)
		}
	}
}

// endMidway starts a process, and ends it by a signal once it has given out rows.
func endMidway(t *testing.T, dir string, end syscall.Signal) {
	t.Helper()
	c := cancha(t, dir, "query", "-progress", "50ms", "minutes.go")
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	text := until(t, said, ": 1000 records, ")
	pids := readPIDs(t, filepath.Join(dir, "pids"))
	for deadline := time.Now().Add(patience); len(rowsOf(t, dir)) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // polls
	}
	if err := c.Process.Signal(end); err != nil {
		t.Fatal(err)
	}
	if end == syscall.SIGHUP {
		_ = c.Process.Signal(end) // a closed terminal sends two
	}
	rest, _ := io.ReadAll(said) // a pipe that is closed is at its end
	orderly := end != syscall.SIGKILL
	if err := c.Wait(); (err == nil) != orderly {
		t.Errorf("%v: %v\n%s%s", end, err, text, rest)
	}
	if stops := strings.Contains(string(rest), `query "minutes" has ended: 1000 records`); stops != orderly {
		t.Errorf("%v: it says that the query has ended: %v\n%s", end, stops, rest)
	}
	gone(t, pids[:2])
}

// until reads lines up to one with a text.
func until(t *testing.T, from io.Reader, text string) string {
	t.Helper()
	read := ""
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		read += line
		if strings.Contains(line, text) {
			return read
		}
		if err != nil {
			t.Fatalf("no line with %q: %v\n%s", text, err, read)
		}
	}
}

// rowsOf are the rows that a folder's processes have given out, in an order that does not matter.
func rowsOf(t *testing.T, dir string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return slices.Sorted(strings.Lines(string(raw)))
}

// produce sends the records from one number to another: of 7 keys, ten a minute.
func produce(t *testing.T, addr string, from, to int) {
	t.Helper()
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{addr}, Topic: "moves", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < to; i++ {
		key := fmt.Sprint("k", i%7)
		value := fmt.Sprintf(`{"k":%q,"x":%d,"ts":%d}`, key, i, time.Date(2026, 5, 1, 12, 0, 6*i, 0, time.UTC).UnixMilli())
		if err := p.Send(t.Context(), []byte(key), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestQueryLosesItsEngine: an engine that is ended by force is an error, which says how, also when the process is asked to end in that moment.
func TestQueryLosesItsEngine(t *testing.T) {
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	t.Setenv("KAFKA_BROKERS", b.Addr())
	produce(t, b.Addr(), 0, 10)
	for _, asked := range []bool{false, true} {
		dir := t.TempDir()
		writeFile(t, dir, "minutes.go", strings.Replace(minutes, "check(running.Wait(context.Background()))", "_ = running", 1))
		c := cancha(t, dir, "query", "-progress", "50ms", "minutes.go")
		said, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, said, ": 10 records, ")
		pids := readPIDs(t, filepath.Join(dir, "pids"))
		_ = syscall.Kill(pids[1], syscall.SIGKILL)
		if asked {
			_ = c.Process.Signal(syscall.SIGTERM)
		}
		rest, _ := io.ReadAll(said) // a pipe that is closed is at its end
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(rest), "killed (signal 9)") || !strings.Contains(string(rest), "cancha query: the engine has ended") {
			t.Errorf("asked to end %v: exit code %d, want 1\n%s", asked, code, rest)
		}
		gone(t, pids[:2])
	}
}

// TestQuerySecondSignal: a sink that never returns holds up an orderly end, and a second signal does not wait for it.
func TestQuerySecondSignal(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "n.csv", "n\n1\n")
	writeFile(t, dir, "stuck.go", `import (
	"cancha/stream"
	"cancha/stream/file"
)
check(os.WriteFile("pids.new", fmt.Append(nil, os.Getppid(), " ", os.Getpid(), " ", 0), 0o600))
check(os.Rename("pids.new", "pids"))
source := file.Source("n.csv")
must(stream.From(source).Name("stuck").Select("n").To(stream.SinkFunc(func(int64, *stream.Rows) error {
	fmt.Println("stuck")
	select {}
})).Start(context.Background()))`)
	c := cancha(t, dir, "query", "stuck.go")
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, said, "stuck")
	pids := readPIDs(t, filepath.Join(dir, "pids"))
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	_ = c.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		t.Errorf("the first signal has ended it: %v", err)
	case <-time.After(300 * time.Millisecond): // it waits for the query, or it would have ended in less
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err, ok := (<-ended).(*exec.ExitError); !ok || err.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("got %v, want an end by the signal", err)
	}
	gone(t, pids[:2])
}

// TestQueryFailsBesideAStuckOne: a sink that never returns does not keep the process from ending once another query has failed and a signal has
// asked for that.
func TestQueryFailsBesideAStuckOne(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "n.csv", "n\n1\n")
	writeFile(t, dir, "both.go", `import (
	"cancha/stream"
	"cancha/stream/file"
)
holds := make(chan bool)
source := file.Source("n.csv")
must(stream.From(source).Name("stuck").Select("n").To(stream.SinkFunc(func(int64, *stream.Rows) error {
	close(holds)
	select {}
})).Start(context.Background()))
must(stream.From(source).Name("fails").Select("n").To(stream.SinkFunc(func(int64, *stream.Rows) error {
	<-holds
	return errors.New("the disk is full")
})).Start(context.Background()))`)
	c := cancha(t, dir, "query", "both.go")
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	defer ended.Stop()
	text := until(t, said, `query "fails" has failed: `)
	_ = c.Process.Signal(syscall.SIGTERM)
	rest, _ := io.ReadAll(said) // a pipe that is closed is at its end
	_ = c.Wait()
	const want = `query "stuck" does not end`
	if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(rest), want) {
		t.Errorf("exit code %d, want 1\n%s%s\nwant in it: %s", code, text, rest, want)
	}
}

// TestWaiting: after a failure there is a limit, and a shorter one after a signal; without one there is none.
func TestWaiting(t *testing.T) {
	failure := errors.New("the disk is full")
	for _, c := range []struct {
		name    string
		failure error
		asked   bool
		want    time.Duration // 0: for ever
	}{
		{"a failure", failure, false, time.Minute},
		{"a failure, then a signal", failure, true, askedGrace},
		{"a signal alone", nil, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, ask := context.WithCancel(t.Context())
				defer ask()
				all, cancel := waiting(ctx, c.failure, time.Minute)
				defer cancel()
				if c.asked {
					ask()
				}
				begin, got := time.Now(), time.Duration(0)
				select {
				case <-all.Done():
					got = time.Since(begin)
				case <-time.After(time.Hour):
				}
				if got != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestQueryOutlivesItsReader: neither a closed stdout nor, with nohup, a closed terminal ends the queries.
func TestQueryOutlivesItsReader(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "n.csv", "n\n1\n")
	write(t, filepath.Join(dir, "prints.ipynb"), `fmt.Println("first")
for _, err := os.Stat("closed"); err != nil; _, err = os.Stat("closed") {
	time.Sleep(10 * time.Millisecond)
}`, `import (
	"cancha/stream"
	"cancha/stream/file"
)
source := file.Source("n.csv")
must(stream.From(source).Name("prints").Select("n").To(stream.SinkFunc(func(int64, *stream.Rows) error {
	for range 10 {
		fmt.Println("for nobody")
		time.Sleep(10 * time.Millisecond)
	}
	return nil
})).Start(context.Background()))`)
	c := cancha(t, dir, "query", "prints.ipynb")
	c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, append([]string{c.Path}, c.Args[1:]...)...)
	var lines strings.Builder
	c.Stderr = &lines
	printed, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, printed, "first")
	_ = c.Process.Signal(syscall.SIGHUP)
	printed.Close()
	writeFile(t, dir, "closed", "")
	if err := c.Wait(); err != nil || !strings.Contains(lines.String(), `query "prints" has ended: 1 records`) {
		t.Errorf("got %v, want its end in order\n%s", err, lines.String())
	}
}
