package local

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"cancha/jobs/queue"
)

// The buckets of the file. messages and marks have one inside for each queue.
var (
	bucketAbout    = []byte("about")    // form: of the file; batch: number of the last transaction
	bucketQueues   = []byte("queues")   // Spec in JSON, by name
	bucketMessages = []byte("messages") // records by place
	bucketMarks    = []byte("marks")    // marks by place, of messages that have been handed out
	keyForm        = []byte("form")
	keyBatch       = []byte("batch")
)

const fileForm = "1"

// reserve is by how much settling may exceed Options.MaxBytes: it makes room, and needs some for that.
const reserve = 8 << 20

// growth is by how much the file grows at once, bytes; of a limit it is a sixteenth at most.
const growth = 4 << 20

// file is the door to bbolt. One goroutine writes; any may read.
type file struct {
	path  string
	limit int // bytes; 0: none

	batch uint64 // number of the last transaction; the writer's

	mu     sync.RWMutex // held by who reads, and against them while db is replaced
	db     *bbolt.DB
	broken error // why nothing more is read or written
}

func openFile(folder string, limit int) (*file, error) {
	f := &file{path: filepath.Join(folder, "queues.db"), limit: limit}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := guarded(f.prepare); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.path, full(err)), f.close())
	}
	return f, nil
}

func (f *file) open() error {
	return guarded(func() (err error) {
		// The list of free pages is kept in the file: without it bbolt looks for them in a goroutine of its own, where a damaged page ends the process.
		f.db, err = bbolt.Open(f.path, 0o600, &bbolt.Options{Timeout: 250 * time.Millisecond, FreelistType: bbolt.FreelistMapType, NoStatistics: true})
		if errors.Is(err, bolterrors.ErrTimeout) {
			return fmt.Errorf("%s: %w", f.path, ErrHeld)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, full(err))
		}
		f.db.AllocSize = growth
		if f.limit > 0 {
			f.db.AllocSize = min(growth, f.limit/16)
		}
		return nil
	})
}

// prepare makes the buckets of a new file, and refuses what another program has written.
func (f *file) prepare() error {
	if isNew, err := f.known(); !isNew || err != nil {
		return err
	}
	return f.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketAbout, bucketQueues, bucketMessages, bucketMarks} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketAbout).Put(keyForm, []byte(fileForm))
	})
}

// known looks whether a file is one of ours; it writes nothing, so that a full disk can be read.
func (f *file) known() (isNew bool, err error) {
	err = f.db.View(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		if isNew = first == nil; isNew {
			return nil
		}
		about := tx.Bucket(bucketAbout)
		if about == nil || string(about.Get(keyForm)) != fileForm {
			return errors.New("it was written by another program, or a newer version of this one; give another folder")
		}
		f.batch = lastBatch(about)
		return nil
	})
	return isNew, err
}

func lastBatch(about *bbolt.Bucket) uint64 {
	if b := about.Get(keyBatch); len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

var errDamaged = errors.New("the file is damaged; move it away to begin anew")

// guarded turns what bbolt does about a damaged file into an error: it panics, and a file that was cut short is a fault of memory.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

// full says what to do where an error means that there is no room. bbolt wraps only some.
func full(err error) error {
	if err == nil {
		return nil
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, errno) || strings.Contains(err.Error(), errno.Error()) {
			return fmt.Errorf("the disk is full: %w (%w)", queue.ErrFull, err)
		}
	}
	if errors.Is(err, bolterrors.ErrMaxSizeReached) {
		return fmt.Errorf("Options.MaxBytes is reached: %w", queue.ErrFull)
	}
	return err
}

// write writes changes in one transaction; extra is how far it may exceed the limit. refused has the errors of those that were not to be made, which changed
// nothing. After another error, none of the changes is in the file.
func (f *file) write(changes []request, extra int) (refused []error, err error) {
	if f.broken != nil {
		return nil, f.broken
	}
	refused = make([]error, len(changes))
	if f.limit > 0 {
		f.db.MaxSize = f.limit + extra
	}
	err = guarded(func() error { return f.db.Update(func(tx *bbolt.Tx) error { return f.put(tx, changes, refused) }) })
	if err == nil {
		f.batch++
		return refused, nil
	}
	written, again := f.anew(err)
	if again != nil {
		return nil, again
	}
	if written {
		return refused, nil
	}
	return nil, full(err)
}

func (f *file) put(tx *bbolt.Tx, changes []request, refused []error) error {
	for i, c := range changes {
		err := c.write(tx)
		if errors.Is(err, queue.ErrUnknownQueue) {
			refused[i] = err
		} else if err != nil {
			return err
		}
	}
	return tx.Bucket(bucketAbout).Put(keyBatch, binary.BigEndian.AppendUint64(nil, f.batch+1))
}

// anew opens the file again after a commit that failed, of which bbolt's memory and the disk may tell different things, and looks whether it is there.
func (f *file) anew(failed error) (written bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(failed, errDamaged) { // closing would wait for the transaction that has panicked
		f.broken = failed
		return false, failed
	}
	before := f.batch
	if err := f.reopen(); err != nil {
		f.broken = fmt.Errorf("a commit failed (%w), and the file cannot be opened anew: %w", full(failed), err)
		return false, f.broken
	}
	return f.batch != before, nil
}

func (f *file) reopen() error {
	if err := guarded(f.db.Close); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	return guarded(f.number)
}

// number reads which transaction is the last one.
func (f *file) number() error {
	return f.db.View(func(tx *bbolt.Tx) error {
		f.batch = lastBatch(tx.Bucket(bucketAbout))
		return nil
	})
}

// read returns a message.
func (f *file) read(name string, seq uint64) (m queue.Message, death *queue.Death, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.broken != nil {
		return m, nil, f.broken
	}
	err = guarded(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketMessages).Bucket([]byte(name))
			if b == nil {
				return queue.ErrUnknownQueue
			}
			m, death, err = decodeRecord(b.Get(key(seq)))
			return err
		})
	})
	return m, death, err
}

// load reads what the index is made of: each queue, and then its messages.
func (f *file) load(line func(queue.Spec), message func(name string, seq uint64, priority int, m mark)) error {
	return guarded(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketQueues).ForEach(func(name, text []byte) error {
				var spec queue.Spec
				if err := json.Unmarshal(text, &spec); err != nil {
					return fmt.Errorf("queue %q: %w", name, err)
				}
				line(spec)
				return loadQueue(tx, spec.Name, message)
			})
		})
	})
}

func loadQueue(tx *bbolt.Tx, name string, message func(name string, seq uint64, priority int, m mark)) error {
	messages, marks := tx.Bucket(bucketMessages).Bucket([]byte(name)), tx.Bucket(bucketMarks).Bucket([]byte(name))
	return messages.ForEach(func(k, record []byte) error {
		if len(k) != 8 {
			return fmt.Errorf("%w: queue %q has a message at %x", errDamaged, name, k)
		}
		var m mark
		if text := marks.Get(k); text != nil {
			m, _ = decodeMark(text) // a damaged one says nothing: as if the message had not been handed out
		}
		message(name, binary.BigEndian.Uint64(k), recordPriority(record), m)
		return nil
	})
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil // there is nothing to be closed, or it would wait for ever; the calls that found it have told
	}
	return guarded(f.db.Close)
}

// makeFolder makes a folder that only its user can look into.
func makeFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return full(err)
	}
	return nil
}
