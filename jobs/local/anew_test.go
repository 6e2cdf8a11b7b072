package local

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"cancha/jobs/queue"
)

// TestAnew: after a commit that failed the file tells whether it is there. (What fails there is a disk's sync, which a test cannot have fail.)
func TestAnew(t *testing.T) {
	f, err := openFile(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	one := []request{{change: &declare{spec: queue.Spec{Name: "q"}}}}
	if _, err := f.write(one, 0); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("sync failed")
	if written, err := f.anew(failed); written || err != nil {
		t.Errorf("nothing was written: got %v, %v", written, err)
	}
	f.batch-- // as if the one that is there had failed
	if written, err := f.anew(failed); !written || err != nil {
		t.Errorf("it is there: got %v, %v", written, err)
	}
	if _, err := f.write(one, 0); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

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
		err = f.db.Update(func(tx *bbolt.Tx) error {
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

// TestBroken: a file that cannot be opened anew is left alone, and each call says why.
func TestBroken(t *testing.T) {
	f, err := openFile(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(f.path), os.WriteFile(f.path, []byte(strings.Repeat("another file\n", 1000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("sync failed")
	_, anew := f.anew(failed)
	_, written := f.write(nil, 0)
	_, _, read := f.read("q", 1)
	for what, err := range map[string]error{"anew": anew, "write": written, "read": read} {
		if !errors.Is(err, failed) || !strings.Contains(err.Error(), "cannot be opened anew") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}
