package gpu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cancha/internal/flock"
)

// ErrHeld reports that another session holds the GPU; the text names it. Wait for it, end it, or work on the CPU.
var ErrHeld = errors.New("the GPU is held")

// Holder is who holds a GPU.
type Holder struct {
	PID      int       `json:"pid"`
	Program  string    `json:"program"`
	Notebook string    `json:"notebook,omitempty"`
	Since    time.Time `json:"since"`
}

// String is how a message names the holder.
func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	text := fmt.Sprintf("process %d (%s", h.PID, cmp.Or(h.Program, "unknown program"))
	if h.Notebook != "" {
		text += ", notebook " + h.Notebook
	}
	return text + ") since " + h.Since.Format("15:04:05")
}

// lock is one GPU held. The system releases it when the process ends, however it ends.
type lock struct{ file *os.File }

// tryEvery is how often a held GPU is asked for again: the system tells nobody that a lock is free but who blocks in a call that
// nothing ends.
const tryEvery = 50 * time.Millisecond

// lockFolder is where locks are, unless a session is told: the same for every user and job of the machine, whatever its folder for temporary
// files is, or two of them would hold one GPU. CANCHA_LOCKS names another, for all who are to see each other.
func lockFolder(told string) string { return cmp.Or(told, os.Getenv("CANCHA_LOCKS"), "/tmp") }

func lockPath(folder, uuid string) string {
	return filepath.Join(lockFolder(folder), "cancha-gpu-"+strings.ReplaceAll(uuid, "/", "_")+".lock")
}

// HeldBy tells which session holds the GPU, of those that lock it in the machine's usual place; held is false where none does.
func (d Device) HeldBy() (h Holder, held bool) {
	f, err := os.OpenFile(lockPath("", d.UUID), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a FIFO there must not hold anybody
	if err != nil {
		return Holder{}, false // nobody has ever held it
	}
	defer flock.Close(f)
	if free, err := flock.Try(f, flock.Shared); err == nil && !free {
		return holderIn(f), true
	}
	return Holder{}, false
}

// acquire takes the lock of a GPU, which all users of the machine share. While another process holds it, it waits as long as that is
// asked for, and fails then with ErrHeld.
func acquire(ctx context.Context, folder, uuid string, me Holder, wait time.Duration) (*lock, error) {
	path := lockPath(folder, uuid)
	deadline := time.Now().Add(wait)
	for {
		l, by, err := try(path, me)
		if err != nil {
			return nil, fmt.Errorf("lock GPU %s: %w", uuid, err)
		}
		if l != nil {
			return l, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("lock GPU %s: %w by %s", uuid, ErrHeld, by)
		}
		select {
		case <-time.After(tryEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for GPU %s, which %s holds: %w", uuid, by, context.Cause(ctx))
		}
	}
}

// try takes the lock, or tells who holds it.
func try(path string, me Holder) (*lock, Holder, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, Holder{}, err
	}
	switch held, err := flock.Try(f, flock.Exclusive); {
	case err != nil:
		return nil, Holder{}, errors.Join(err, f.Close())
	case !held:
		return nil, holderIn(f), f.Close()
	case !isAt(path, f): // somebody has removed the file, and others lock another one
		return nil, Holder{}, flock.Close(f)
	}
	l := &lock{f}
	if err := l.write(me); err != nil {
		return nil, Holder{}, errors.Join(err, l.release())
	}
	return l, me, nil
}

// isAt tells whether a file is the one at a path.
func isAt(path string, f *os.File) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(have, there)
}

// openShared opens a file that every user may lock and write to. Where it is there already it is not created: some systems refuse
// that in a shared folder for files of others.
func openShared(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666)
	if err == nil {
		_ = f.Chmod(0o666) // what the umask took away; fails for a file that another user made just now, who does the same
	}
	return f, err
}

func (l *lock) write(h Holder) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(raw, 0)
	return err
}

// release lets another process have the GPU. The file stays: who waits has it open.
func (l *lock) release() error { return errors.Join(l.file.Truncate(0), flock.Close(l.file)) }

// holderIn reads who holds a lock; the zero Holder where that cannot be told.
func holderIn(f *os.File) (h Holder) {
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, 4<<10))
	if err != nil || json.Unmarshal(raw, &h) != nil {
		return Holder{}
	}
	return h
}
