package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
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
	Form string // of what lies in the buckets: a name and a version, such as "jobs 2"; a file of another one is refused
	// Older makes the next newer form of a file of an older one, each under the form that it takes. A file is changed whole or not at all.
	Older   map[string]Migration
	Buckets []string // which there are; those of a new file are made
	Limit   int      // bytes; 0: none
}

// File has the buckets. One goroutine writes; any may read.
type File struct {
	path    string // absolute: the process may go to another folder
	options Options
	batch   uint64      // number of the last transaction; the writer's
	opened  os.FileInfo // what was at the path then
	looked  time.Time   // when it was seen there; the writer's

	mu     sync.RWMutex // held by who reads, and against them while db is replaced
	db     *bbolt.DB
	broken error // why nothing more is read or written
}

// Open opens a file, and makes it where it is not there. The error is ErrHeld where another process has it, and ErrDamaged where it is not
// whole. Only whoever has the hold of the folder makes files there.
func Open(path string, o Options) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := ensure(path, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, full(err))
	}
	f := &File{path: path, options: o}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := guarded(f.recognize); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.path, full(err)), f.Close())
	}
	return f, nil
}

// ensure makes the file where it is not there: under another name at first, so that one that a full disk or a crash has left half made is
// in nobody's way. So an empty one has lost what it had.
func ensure(path string, o Options) error {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 {
		return fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := guarded(func() error { return prepare(draft, o) }); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder has the names in a folder outlive a loss of power, too: that of a file is not in the file.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrPermission) { // one may make a name in a folder that one may not read
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) { // a file system that keeps them by itself
		err = nil
	}
	return errors.Join(err, f.Close())
}

func (f *File) open() error {
	return guarded(func() (err error) {
		// The list of free pages is kept in the file: without it bbolt looks for them in a goroutine of its own, where a damaged page ends
		// the process.
		f.db, err = bbolt.Open(f.path, 0o600, &bbolt.Options{Timeout: 250 * time.Millisecond, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			OpenFile: openThere})
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
		f.opened, err = os.Stat(f.path)
		return err
	})
}

// openThere makes no file: one that is gone when it is opened anew is missed.
func openThere(name string, flag int, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag&^os.O_CREATE, mode)
}

// prepare makes a new file, with its buckets.
func prepare(path string, o Options) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 250 * time.Millisecond, FreelistType: bbolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range append([]string{string(bucketAbout)}, o.Buckets...) {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketAbout).Put(keyForm, []byte(o.Form))
	})
	return errors.Join(err, db.Close())
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

// Write makes one transaction; extra is how far it may exceed the limit. After an error nothing of it is in the file; it is queue.ErrFull
// where there is no room, and ErrLost where the file is no more where it was opened, for 20 ms at least. do may be called in a transaction
// that fails, so it changes nothing else.
func (f *File) Write(extra int, do func(*Tx) error) error {
	if f.broken != nil {
		return f.broken
	}
	if err := f.still(); err != nil {
		return err
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

// looks is how often the writer looks at the path. Before each commit it made those a tenth of a millisecond longer (of half a millisecond,
// measured on ext4).
const looks = 20 * time.Millisecond

// still looks whether what is written will be found: a file that was moved or removed takes all that comes, and nobody looks into it.
func (f *File) still() error {
	now := time.Now()
	if now.Sub(f.looked) < looks {
		return nil
	}
	err := same(f.path, f.opened)
	if err == nil {
		f.looked = now
	}
	return err
}

// anew opens the file again after a commit that failed, of which bbolt's memory and the disk may tell different things, and looks whether
// it is there.
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
	if err := errors.Join(guarded(f.db.Close), same(f.path, f.opened)); err != nil {
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
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := MakeFolder(filepath.Dir(folder)); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return full(err)
	}
	return syncFolder(filepath.Dir(folder))
}
