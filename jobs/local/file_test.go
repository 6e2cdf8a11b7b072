package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cancha/jobs/local"
	"cancha/jobs/queue"
)

// TestMaxBytes: a file that is as large as it may be refuses messages; what makes room goes on, and then messages do.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	b := opened(t, t.TempDir(), local.Options{MaxBytes: 1 << 20})
	n, err := fill(t, b)
	if n < 50 || !strings.Contains(err.Error(), "Options.MaxBytes is reached") {
		t.Errorf("%d messages, %v", n, err)
	}
	drain(t, b, n)
	if again, _ := fill(t, b); again < n/2 {
		t.Errorf("%d messages in the room of %d", again, n)
	}
}

// fill publishes until there is no room, and returns how many messages are there.
func fill(t *testing.T, b *local.Broker) (n int, err error) {
	t.Helper()
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "full"}); err != nil {
		t.Fatal(err)
	}
	for ; ; n++ {
		err := b.Publish(t.Context(), "full", queue.Message{ID: fmt.Sprint(n), Body: make([]byte, 10_000)})
		if errors.Is(err, queue.ErrFull) {
			return n, err
		}
		if err != nil || n > 100_000 {
			t.Fatalf("message %d: %v", n, err)
		}
	}
}

// drain checks that n messages are there, in order, and settles them.
func drain(t *testing.T, b *local.Broker, n int) {
	t.Helper()
	c, err := b.Consume(t.Context(), "full", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		d, err := c.Next(t.Context())
		if err != nil || d.ID != fmt.Sprint(i) {
			t.Fatalf("message %d of %d: %v, %v", i, n, d, err)
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatalf("message %d of %d: %v", i, n, err)
		}
	}
	if info, err := b.Inspect(t.Context(), "full"); err != nil || info.Ready > 0 {
		t.Errorf("left: %+v, %v", info, err)
	}
}

// TestHeld: a second process is told who holds the folder, and may open it when that has closed it.
func TestHeld(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "here")
	first, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = local.Open(folder, local.Options{})
	if who := fmt.Sprintf("held by process %d since ", os.Getpid()); !errors.Is(err, local.ErrHeld) ||
		!strings.Contains(err.Error(), who) || !strings.Contains(err.Error(), folder) {
		t.Errorf("got %v, want ErrHeld with %q", err, who)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	opened(t, folder, local.Options{})
	for name, want := range map[string]os.FileMode{"": 0o700, "lock": 0o600, "queues.db": 0o600} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

// TestDamagedFile: a file that lacks its end, or has pages of zeros or of something else, as a disk that lied or another program leaves
// them: its opening and use end with an error or without, and the process lives.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	whole, page := written(t), os.Getpagesize()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	refused := 0
	for i := range 30 {
		content := bytes.Clone(whole)
		switch from := page * (2 + random.IntN(len(content)/page-2)); i % 3 { // behind the two roots, of which one stands in for the other
		case 0:
			content = content[:random.IntN(len(content))]
		case 1:
			clear(content[from : from+page])
		case 2:
			for i := range page {
				content[from+i] = byte(random.IntN(256))
			}
		}
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "queues.db"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := use(t, folder); err != nil {
			refused++
		}
	}
	t.Logf("seed %d: %d of 30 were refused", seed, refused)
	if refused == 0 {
		t.Error("no damage was found")
	}
}

// written is a file with some messages.
func written(t *testing.T) []byte {
	t.Helper()
	folder := t.TempDir()
	b := opened(t, folder, local.Options{})
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := b.Publish(t.Context(), "q", queue.Message{ID: fmt.Sprint(i), Body: make([]byte, 700)}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "queues.db"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// use does with a folder what a program does, until there is an error.
func use(t *testing.T, folder string) error {
	b, err := local.Open(folder, local.Options{})
	if err != nil {
		return err
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // a damaged message is no dead end, but the last one has none behind it
	defer cancel()
	c, err := b.Consume(ctx, "q", 100)
	if err != nil {
		return err
	}
	for i := range 30 {
		if info, err := b.Inspect(t.Context(), "q"); err != nil || info.Ready == 0 {
			return fmt.Errorf("message %d of 30: %+v, %w", i, info, err)
		}
		d, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if err := d.Ack(ctx); err != nil {
			return err
		}
	}
	return b.Publish(ctx, "q", queue.Message{ID: "new"})
}

// TestPoison: a message that kills the process that has the broker is noted, comes so often and no more, and is then a dead letter.
func TestPoison(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := opened(t, folder, local.Options{})
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "q", MaxDeliveries: 2}); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "q", queue.Message{ID: "poison"}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		c, err := b.Consume(t.Context(), "q", 1)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := c.Next(t.Context()); err != nil || d.ID != "poison" || d.Count != i+1 {
			t.Fatalf("got %v, %v, want delivery %d", d, err, i+1)
		}
		if err := b.Publish(t.Context(), "q", queue.Message{ID: "behind"}); err != nil { // the note is on the disk when this is
			t.Fatal(err)
		}
		folder = copied(t, folder)
		b = opened(t, folder, local.Options{})
	}
	dead, err := b.Consume(t.Context(), queue.DeadLetters, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dead.Next(t.Context())
	if err != nil || d.ID != "poison" || d.Death == nil || d.Death.Reason != queue.ReasonLimit || d.Death.Count != 2 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestCountOutlivesConsumer: that a message was handed out is noted, too, where its consumer ended at once.
func TestCountOutlivesConsumer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := opened(t, folder, local.Options{})
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "q", queue.Message{ID: "begun"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c, err := b.Consume(t.Context(), "q", 1)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := c.Next(t.Context()); err != nil || d.ID != "begun" || d.Count != i+1 {
			t.Fatalf("got %v, %v, want delivery %d", d, err, i+1)
		}
		if err := errors.Join(c.Close(), b.Publish(t.Context(), "q", queue.Message{ID: "behind"})); err != nil { // the note is on the disk when this is
			t.Fatal(err)
		}
		folder = copied(t, folder)
		b = opened(t, folder, local.Options{})
	}
}

// TestOpenLater: what Retry keeps away stays away over a restart, and comes then; a queue's end is counted anew.
func TestOpenLater(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b, err := local.Open(folder, local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Declare(t.Context(), queue.Spec{Name: "q", Expires: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "q", queue.Message{ID: "late"}, queue.Message{ID: "later"}); err != nil {
		t.Fatal(err)
	}
	c, err := b.Consume(t.Context(), "q", 2)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	for _, after := range []time.Duration{300 * time.Millisecond, time.Hour} {
		d, err := c.Next(t.Context())
		if err == nil {
			err = d.Retry(t.Context(), after)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = opened(t, folder, local.Options{})
	if info, err := b.Inspect(t.Context(), "q"); err != nil || info.Delayed == 0 || info.Delayed+info.Ready != 2 {
		t.Errorf("%+v, %v, want two that are kept away", info, err)
	}
	if c, err = b.Consume(t.Context(), "q", 2); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Next(t.Context()); err != nil || d.ID != "late" || d.Count != 2 || time.Since(from) < 300*time.Millisecond {
		t.Errorf("got %+v, %v after %v", d, err, time.Since(from))
	}
}
