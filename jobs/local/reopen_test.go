package local

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// TestClockBack: a message that Retry keeps away for a moment is not kept away for as long as the clock has gone back while nobody had the folder.
func TestClockBack(t *testing.T) {
	folder := t.TempDir()
	b, err := Open(folder, Options{})
	if err == nil {
		_, err = b.Declare(t.Context(), queue.Spec{Name: "q"})
	}
	if err == nil {
		err = b.Publish(t.Context(), "q", queue.Message{ID: "1"})
	}
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(folder, 0)
	if err == nil {
		err = f.disk.Write(0, func(tx *disk.Tx) error {
			_, marks := inside(tx, "q")
			text := binary.AppendVarint([]byte{1}, time.Now().Add(time.Hour).UnixMilli()) // by a clock an hour ahead
			return marks.Put(key(1), binary.AppendVarint(text, 50))
		})
	}
	if err := errors.Join(err, f.close()); err != nil {
		t.Fatal(err)
	}
	if b, err = Open(folder, Options{}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := b.Consume(t.Context(), "q", 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if d, err := c.Next(ctx); err != nil || d.Count != 2 {
		t.Errorf("got %+v, %v, want delivery 2", d, err)
	}
}

// removal removes a queue under the hands of those who use it, as its expiry does when they come at its last moment.
type removal struct{ expire }

func (r *removal) write(tx *disk.Tx) error {
	name := []byte(r.line.name)
	return errors.Join(tx.Bucket(bucketMessages).DeleteBucket(name), tx.Bucket(bucketMarks).DeleteBucket(name), tx.Bucket(bucketQueues).Delete(name))
}

// TestAnotherOfItsName: who still has a message of a queue that has expired touches nothing of the next queue of that name.
func TestAnotherOfItsName(t *testing.T) {
	folder := t.TempDir()
	b, err := Open(folder, Options{})
	if err == nil {
		_, err = b.Declare(t.Context(), queue.Spec{Name: "q", MaxDeliveries: 1})
	}
	for _, id := range []string{"1", "2", "3"} {
		err = errors.Join(err, b.Publish(t.Context(), "q", queue.Message{ID: "old " + id}))
	}
	c, err2 := b.Consume(t.Context(), "q", 3)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var old []*queue.Delivery
	for range 3 {
		d, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		old = append(old, d)
	}
	err = <-b.commits.submit(&removal{expire{b: b, line: b.lines["q"], gone: true}})
	_, err2 = b.Declare(t.Context(), queue.Spec{Name: "q"})
	for _, id := range []string{"1", "2", "3"} {
		err = errors.Join(err, b.Publish(t.Context(), "q", queue.Message{ID: "new " + id}))
	}
	if err := errors.Join(err, err2, old[0].Ack(t.Context()), old[1].Retry(t.Context(), 0), old[2].Dead(t.Context(), "why"), b.Close()); err != nil {
		t.Fatal(err)
	}
	if b, err = Open(folder, Options{}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if c, err2 = b.Consume(t.Context(), "q", 3); err2 != nil {
		t.Fatal(err2)
	}
	for _, id := range []string{"1", "2", "3"} {
		if info, err := b.Inspect(t.Context(), "q"); err != nil || info.Ready == 0 {
			t.Fatalf("%+v, %v, want new %s", info, err, id)
		}
		if d, err := c.Next(t.Context()); err != nil || d.ID != "new "+id || d.Count != 1 {
			t.Errorf("got %+v, %v, want new %s for the first time", d, err, id)
		}
	}
	if info, err := b.Inspect(t.Context(), queue.DeadLetters); err != nil || info.Ready > 0 {
		t.Errorf("dead letters: %+v, %v", info, err)
	}
}
