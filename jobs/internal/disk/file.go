package disk

import (
	"encoding/binary"
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

// Tx is a transaction, Bucket one of its buckets, and Cursor goes through one. What they return lasts no longer than the transaction.
type (
	Tx     = bbolt.Tx
	Bucket = bbolt.Bucket
	Cursor = bbolt.Cursor
)

// ErrNoBucket is what DeleteBucket returns where there is none.
var ErrNoBucket = bolterrors.ErrBucketNotFound

// ErrDamaged tells that a file is not what was written.
var ErrDamaged = errors.New("the file is damaged; move it away to begin anew")

// bucketAbout has the file's form, and the number of the last transaction.
var (
	bucketAbout = []byte("about")
	keyForm     = []byte("form")
	keyBatch    = []byte("batch")
)

// Reserve is by how much what makes room may exceed a file's limit: it needs some for that.
const Reserve = 8 << 20

// growth is by how much the file grows at once, bytes; of a limit it is a sixteenth at most.
const growth = 4 << 20

// Options say what a file is.
type Options struct {
	Form    string   // of what lies in the buckets; a file of another one is refused
	Buckets []string // which there are; those of a new file are made
	Limit   int      // bytes; 0: none
}

// File has the buckets. One goroutine writes; any may read.
type File struct {
	path    string
	options Options
	batch   uint64 // number of the last transaction; the writer's

	mu     sync.RWMutex // held by who reads, and against them while db is replaced
	db     *bbolt.DB
	broken error // why nothing more is read or written
}

// Open opens a file, and makes it where it is not there. The error is ErrHeld where another process has it, and ErrDamaged where it is not whole.
func Open(path string, o Options) (*File, error) {
	f := &File{path: path, options: o}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := guarded(f.prepare); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.path, full(err)), f.Close())
	}
	return f, nil
}

func (f *File) open() error {
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
		if f.options.Limit > 0 {
			f.db.AllocSize = min(growth, f.options.Limit/16)
		}
		return nil
	})
}

// prepare makes the buckets of a new file, and refuses what another program has written.
func (f *File) prepare() error {
	if isNew, err := f.known(); !isNew || err != nil {
		return err
	}
	return f.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range append([]string{string(bucketAbout)}, f.options.Buckets...) {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketAbout).Put(keyForm, []byte(f.options.Form))
	})
}

// known looks whether a file is one of ours; it writes nothing, so that a full disk can be read.
func (f *File) known() (isNew bool, err error) {
	err = f.db.View(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		if isNew = first == nil; isNew {
			return nil
		}
		about := tx.Bucket(bucketAbout)
		if about == nil || string(about.Get(keyForm)) != f.options.Form {
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

// guarded turns what bbolt does about a damaged file into an error: it panics, and a file that was cut short is a fault of memory.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
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

// Write makes one transaction; extra is how far it may exceed the limit. After an error nothing of it is in the file; it is queue.ErrFull where there is no
// room. do may be called in a transaction that fails, so it changes nothing else.
func (f *File) Write(extra int, do func(*Tx) error) error {
	if f.broken != nil {
		return f.broken
	}
	if f.options.Limit > 0 {
		f.db.MaxSize = f.options.Limit + extra
	}
	err := guarded(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			if err := do(tx); err != nil {
				return err
			}
			return tx.Bucket(bucketAbout).Put(keyBatch, binary.BigEndian.AppendUint64(nil, f.batch+1))
		})
	})
	if err == nil {
		f.batch++
		return nil
	}
	written, again := f.anew(err)
	if again != nil {
		return again
	}
	if written {
		return nil
	}
	return full(err)
}

// anew opens the file again after a commit that failed, of which bbolt's memory and the disk may tell different things, and looks whether it is there.
func (f *File) anew(failed error) (written bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(failed, ErrDamaged) { // closing would wait for the transaction that has panicked
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

func (f *File) reopen() error {
	if err := guarded(f.db.Close); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	return guarded(f.number)
}

// number reads which transaction is the last one.
func (f *File) number() error {
	return f.db.View(func(tx *bbolt.Tx) error {
		f.batch = lastBatch(tx.Bucket(bucketAbout))
		return nil
	})
}

// Read looks into the buckets.
func (f *File) Read(do func(*Tx) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.broken != nil {
		return f.broken
	}
	return guarded(func() error { return f.db.View(do) })
}

// Close closes the file. Nobody reads or writes any more.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil // there is nothing to be closed, or it would wait for ever; the calls that found it have told
	}
	return guarded(f.db.Close)
}

// MakeFolder makes a folder that only its user can look into.
func MakeFolder(folder string) error {
	if err := os.MkdirAll(filepath.Clean(folder), 0o700); err != nil {
		return full(err)
	}
	return nil
}
