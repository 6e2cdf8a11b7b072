package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// childFolder, in the environment, has a test be the process that is killed.
const (
	childFolder = "CANCHA_TEST_JOBS_FOLDER"
	childSocket = "CANCHA_TEST_JOBS_SOCKET"
	killQueue   = "work"
)

// child starts a test of this program as a process of its own, and gives its lines.
func child(t *testing.T, test string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // most are dead by then
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// journal is what the killed processes have said, up to the last line that came whole.
type journal struct {
	tried, confirmed, settling, settled map[string]bool
	count                               map[string]int // the least that the next delivery must have
	wrong                               []string
}

func (j *journal) add(line string) {
	var what, id string
	var count int
	if n, _ := fmt.Sscan(line, &what, &id, &count); n < 3 {
		return // the test's own words
	}
	switch what {
	case "publish":
		j.tried[id] = true
	case "published":
		j.confirmed[id] = true
	case "got":
		if !j.tried[id] || j.settled[id] || count < j.count[id] {
			j.wrong = append(j.wrong, fmt.Sprintf("%s (published: %v, settled: %v, at least %d)", line, j.tried[id], j.settled[id], j.count[id]))
		}
	case "retried":
		j.count[id] = count + 1
	case "settle":
		j.settling[id] = true
	case "settled":
		j.settled[id] = true
	}
}

// TestKilled kills a process that publishes, takes, retries and acknowledges, at random moments, and lets the next one go on. Nothing that
// was confirmed is lost, and nothing comes again that was settled.
func TestKilled(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv(childFolder); folder != "" {
		work(t, folder)
		return
	}
	folder, seed := t.TempDir(), rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	j := &journal{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]int{}, nil}
	rounds := 6
	if os.Getenv(long) != "" {
		rounds = 60
	}
	for round := range rounds {
		cmd, lines := child(t, "TestKilled", childFolder+"="+folder, fmt.Sprintf("ROUND=%d", round))
		for range 1 + random.IntN(1500) {
			if !lines.Scan() {
				t.Fatalf("seed %d: the process has ended by itself: %v", seed, errors.Join(lines.Err(), cmd.Wait()))
			}
			j.add(lines.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			j.add(lines.Text())
		}
		_ = cmd.Wait() // it says that the process was killed
	}
	j.compare(t, folder)
	t.Logf("seed %d: %d published, %d of them confirmed, %d settled", seed, len(j.tried), len(j.confirmed), len(j.settled))
}

// compare takes what is left in the folder.
func (j *journal) compare(t *testing.T, folder string) {
	b := opened(t, folder, local.Options{})
	info, err := b.Inspect(t.Context(), killQueue)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), killQueue, queue.MaxPrefetch) // all that is left
	if err != nil {
		t.Fatal(err)
	}
	left, latest := map[string]bool{}, map[string]int{}
	for range info.Ready + info.Delayed { // some retried ones may have a millisecond left
		d, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j.add(fmt.Sprintf("got %s %d", d.ID, d.Count))
		var round, producer, n int
		if _, err := fmt.Sscanf(d.ID, "%d.%d.%d", &round, &producer, &n); err != nil || left[d.ID] || string(d.Body) != strings.Repeat(d.ID, 20) {
			t.Errorf("left: %q with %d bytes, %v, twice: %v", d.ID, len(d.Body), err, left[d.ID])
		}
		left[d.ID] = true
		if from := fmt.Sprintf("%d.%d", round, producer); d.Count == 1 && n < latest[from] {
			t.Errorf("message %s comes behind message %d", d.ID, latest[from])
		} else if d.Count == 1 {
			latest[from] = n
		}
	}
	for id := range j.confirmed {
		if !left[id] && !j.settling[id] {
			t.Errorf("message %s was confirmed, and is lost", id)
		}
	}
	for _, wrong := range j.wrong {
		t.Errorf("it was not to come, or not so: %s", wrong)
	}
	if len(j.confirmed) < 100 || len(j.settled) < 100 {
		t.Errorf("%d confirmed, %d settled: too few to say anything", len(j.confirmed), len(j.settled))
	}
}

// work is the process that is killed. It says what it does before and after.
func work(t *testing.T, folder string) {
	b, err := local.Open(folder, local.Options{})
	if err == nil {
		_, err = b.Declare(t.Context(), queue.Spec{Name: killQueue})
	}
	var c queue.Consumer
	if err == nil {
		c, err = b.Consume(t.Context(), killQueue, 8)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for producer := range 4 {
		all.Go(func() {
			for i := range 1_000_000 {
				id := fmt.Sprintf("%s.%d.%d", os.Getenv("ROUND"), producer, i)
				say("publish", id, 0)
				if err := b.Publish(t.Context(), killQueue, queue.Message{ID: id, Body: []byte(strings.Repeat(id, 20))}); err != nil {
					t.Error(err)
					return
				}
				say("published", id, 0)
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for {
				d, err := c.Next(t.Context())
				if err == nil {
					err = settle(t.Context(), d)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func say(what, id string, count int) { fmt.Fprintf(os.Stdout, "%s %s %d\n", what, id, count) } // one write each

func settle(ctx context.Context, d *queue.Delivery) error {
	say("got", d.ID, d.Count)
	if rand.IntN(3) == 0 {
		if err := d.Retry(ctx, time.Duration(rand.IntN(2))*time.Millisecond); err != nil {
			return err
		}
		say("retried", d.ID, d.Count)
		return nil
	}
	say("settle", d.ID, d.Count)
	if err := d.Ack(ctx); err != nil {
		return err
	}
	say("settled", d.ID, d.Count)
	return nil
}

// TestKilledWorker: what a process had in hand comes again when it is killed, until it has come often enough.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	if address := os.Getenv(childSocket); address != "" {
		take(t, address)
		return
	}
	s := newServed(t, socket(t), "")
	b := s.Connect(t)
	if _, err := b.Declare(t.Context(), queue.Spec{Name: killQueue, MaxDeliveries: 3}); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), killQueue, queue.Message{ID: "poison"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		cmd, lines := child(t, "TestKilledWorker", childSocket+"="+s.server.Address())
		if !lines.Scan() || lines.Text() != fmt.Sprintf("got poison %d", i+1) {
			t.Fatalf("got %q, want delivery %d", lines.Text(), i+1)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := b.Consume(t.Context(), queue.DeadLetters, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dead.Next(t.Context())
	if err != nil || d.ID != "poison" || d.Death == nil || d.Death.Reason != queue.ReasonLimit || d.Death.Count != 3 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// take takes one message and does not end.
func take(t *testing.T, address string) {
	b, err := local.Dial(t.Context(), address, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), killQueue, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	say("got", d.ID, d.Count)
	select {}
}

// TestKilledServer: who uses a broker of another process goes on when that is killed and started again. Each message gets through; twice
// only around a kill.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv(childFolder); folder != "" {
		hold(t, folder, os.Getenv(childSocket))
		return
	}
	folder, address := t.TempDir(), socket(t)
	start := func() *exec.Cmd {
		cmd, lines := child(t, "TestKilledServer", childFolder+"="+folder, childSocket+"="+address)
		if !lines.Scan() || lines.Text() != "serves" {
			t.Fatalf("the server says %q", lines.Text())
		}
		return cmd
	}
	const messages, kills = 300, 4
	server := start()
	b, err := local.Dial(t.Context(), address, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Declare(t.Context(), queue.Spec{Name: killQueue}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	progress, settled := make(chan struct{}, messages), map[string]int{}
	all.Go(func() { publishAll(t, b, messages) })
	all.Go(func() { settleAll(t, b, messages, settled, progress) })
	for range kills {
		for range messages / (kills + 1) {
			<-progress
		}
		if err := server.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = server.Wait() // it says that the process was killed
		server = start()
	}
	all.Wait()
	if len(settled) != messages {
		t.Errorf("%d messages got through, want %d", len(settled), messages)
	}
}

func publishAll(t *testing.T, b queue.Broker, n int) {
	for i := range n {
		if err := b.Publish(t.Context(), killQueue, queue.Message{ID: fmt.Sprint(i)}); err != nil {
			t.Error(err)
			return
		}
	}
}

// settleAll takes messages until all have been settled, and tells of each that is new.
func settleAll(t *testing.T, b queue.Broker, n int, settled map[string]int, progress chan<- struct{}) {
	defer close(progress)
	c, err := b.Consume(t.Context(), killQueue, 4)
	if err != nil {
		t.Error(err)
		return
	}
	for len(settled) < n {
		d, err := c.Next(t.Context())
		if err == nil {
			err = d.Ack(t.Context())
		}
		if errors.Is(err, queue.ErrLost) {
			continue // it comes again
		}
		if err != nil {
			t.Error(err)
			return
		}
		if settled[d.ID]++; settled[d.ID] == 1 {
			progress <- struct{}{}
		}
	}
}

// hold serves a folder until it is killed.
func hold(t *testing.T, folder, address string) {
	b, err := local.Open(folder, local.Options{})
	if err == nil {
		_, err = local.Serve(b, address, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, "serves")
	select {}
}
