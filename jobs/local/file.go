package local

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"cancha/jobs/internal/disk"
	"cancha/jobs/queue"
)

// The buckets of the file. messages and marks have one inside for each queue.
var (
	bucketQueues   = []byte("queues")   // Spec in JSON, by name
	bucketMessages = []byte("messages") // records by place
	bucketMarks    = []byte("marks")    // marks by place, of messages that have been handed out
)

// file has the queues. One goroutine writes; any may read.
type file struct{ disk *disk.File }

func openFile(folder string, limit int) (*file, error) {
	f, err := disk.Open(filepath.Join(folder, "queues.db"), disk.Options{Form: "1", Limit: limit,
		Buckets: []string{string(bucketQueues), string(bucketMessages), string(bucketMarks)}})
	return &file{f}, err
}

// write writes changes in one transaction; extra is how far it may exceed the limit. refused has the errors of those that were not to be
// made, which changed nothing. After another error, none of the changes is in the file.
func (f *file) write(changes []request, extra int) (refused []error, err error) {
	refused = make([]error, len(changes))
	err = f.disk.Write(extra, func(tx *disk.Tx) error { return put(tx, changes, refused) })
	return refused, err
}

func put(tx *disk.Tx, changes []request, refused []error) error {
	for i, c := range changes {
		err := c.write(tx)
		if errors.Is(err, queue.ErrUnknownQueue) {
			refused[i] = err
		} else if err != nil {
			return err
		}
	}
	return nil
}

// read returns a message.
func (f *file) read(name string, seq uint64) (m queue.Message, death *queue.Death, err error) {
	err = f.disk.Read(func(tx *disk.Tx) error {
		b := tx.Bucket(bucketMessages).Bucket([]byte(name))
		if b == nil {
			return queue.ErrUnknownQueue
		}
		m, death, err = decodeRecord(b.Get(key(seq)))
		return err
	})
	return m, death, err
}

// load reads what the index is made of: each queue, and then its messages.
func (f *file) load(now time.Time, line func(queue.Spec), message func(name string, seq uint64, priority int, m mark)) error {
	return f.disk.Read(func(tx *disk.Tx) error {
		return tx.Bucket(bucketQueues).ForEach(func(name, text []byte) error {
			var spec queue.Spec
			if err := json.Unmarshal(text, &spec); err != nil {
				return fmt.Errorf("queue %q: %w", name, err)
			}
			line(spec)
			return loadQueue(tx, now, spec.Name, message)
		})
	})
}

func loadQueue(tx *disk.Tx, now time.Time, name string, message func(name string, seq uint64, priority int, m mark)) error {
	messages, marks := inside(tx, name)
	return messages.ForEach(func(k, record []byte) error {
		if len(k) != 8 {
			return fmt.Errorf("%w: queue %q has a message at %x", disk.ErrDamaged, name, k)
		}
		var m mark
		if text := marks.Get(k); text != nil {
			m, _ = decodeMark(text, now) // a damaged one says nothing: as if the message had not been handed out
		}
		message(name, binary.BigEndian.Uint64(k), recordPriority(record), m)
		return nil
	})
}

func (f *file) close() error { return f.disk.Close() }
