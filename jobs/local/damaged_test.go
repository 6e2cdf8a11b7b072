package local

import (
	"bytes"
	"errors"
	"testing"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// TestDamagedMessage: a message that is not what was written is a dead letter, with what is left of it; those beside it come.
func TestDamagedMessage(t *testing.T) {
	folder := t.TempDir()
	b, err := Open(folder, Options{})
	if err == nil {
		_, err = b.Declare(t.Context(), queue.Spec{Name: "q", Priorities: true})
	}
	for _, id := range []string{"1", "2", "3"} {
		err = errors.Join(err, b.Publish(t.Context(), "q", queue.Message{ID: id, Body: []byte("body"), Priority: 5}))
	}
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(folder, 0)
	if err == nil {
		err = f.disk.Write(0, func(tx *disk.Tx) error {
			messages, marks := inside(tx, "q")
			text := append(bytes.Clone(messages.Get(key(2))), "more"...)
			return errors.Join(messages.Put(key(2), text), marks.Put(key(3), []byte{255}))
		})
	}
	if err := errors.Join(err, f.close()); err != nil {
		t.Fatal(err)
	}
	if b, err = Open(folder, Options{}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	next := func(name string) *queue.Delivery {
		t.Helper()
		c, err := b.Consume(t.Context(), name, 2)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Next(t.Context())
		if err == nil {
			err = d.Ack(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, want := range []string{"1", "3"} {
		if d := next("q"); d.ID != want || string(d.Body) != "body" || d.Count != 1 {
			t.Errorf("got %+v, delivery %d, want %s", d.Message, d.Count, want)
		}
	}
	if d := next(queue.DeadLetters); d.Death == nil || d.Death.Reason != reasonDamaged || d.Death.Queue != "q" || !bytes.HasSuffix(d.Body, []byte("bodymore")) {
		t.Errorf("got %q, %+v", d.Body, d.Death)
	}
}
